// A libnvidia-ml.so.1 for machines with no GPU: the values of a busy H200 (driver 580.159.04), with faults on order.
//
// The file named by FAKE_NVML is read again whenever it changes; one word and its numbers a line:
//   gpus N | init CODE | driver CODE (every call fails) | lost GPU | lacks GPU METRIC | pcie_ms N | mig GPU COUNT
//   vgpu GPU | power GPU MILLIWATT | reasons GPU MASK | process GPU PID MEBIBYTES | xid SEQUENCE GPU CODE | jitter 1
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef unsigned int u32;
typedef unsigned long long u64;
#define GPUS 16
#define PROCESSES 64
enum { OK, UNINITIALIZED, INVALID, NOT_SUPPORTED, NOT_FOUND = 6, TOO_SMALL = 7, TIMEOUT = 10, LOST = 15 };

static struct {
    int gpus, init, driver, jitter, pcie_ms, lost[GPUS], mig[GPUS], vgpu[GPUS], xid_sequence, xid_gpu, xid_code, processes;
    char lacks[GPUS][256];
    u32 power[GPUS], reasons[GPUS];
    struct { int gpu; u32 pid; u64 mebibytes; } process[PROCESSES];
} script;
static struct timespec script_time = {-1, 0};
static int xid_told;
static int device_storage[GPUS][9];  // the address of an element is a handle: [gpu][0], or [gpu][1 + MIG instance]

static void read_script(void) {
    const char *path = getenv("FAKE_NVML");
    struct stat status;
    if (!path || stat(path, &status) != 0) { if (script_time.tv_sec < 0) { script.gpus = 8; script.pcie_ms = 20; } return; }
    if (!memcmp(&status.st_mtim, &script_time, sizeof script_time)) return;
    FILE *file = fopen(path, "r");
    if (!file) return;
    script_time = status.st_mtim;
    memset(&script, 0, sizeof script);
    script.gpus = 8;
    for (int i = 0; i < GPUS; i++) { script.power[i] = 696150; script.reasons[i] = 4; }
    char line[256], word[64], name[64];
    while (fgets(line, sizeof line, file)) {
        long long a = 0, b = 0, c = 0;
        sscanf(line, "%63s %lld %lld %lld", word, &a, &b, &c);
        if (!strcmp(word, "gpus")) script.gpus = a;
        else if (!strcmp(word, "init")) script.init = a;
        else if (!strcmp(word, "driver")) script.driver = a;
        else if (!strcmp(word, "jitter")) script.jitter = a;
        else if (!strcmp(word, "pcie_ms")) script.pcie_ms = a;
        else if (!strcmp(word, "lost")) script.lost[a] = 1;
        else if (!strcmp(word, "mig")) script.mig[a] = b;
        else if (!strcmp(word, "vgpu")) script.vgpu[a] = 1;
        else if (!strcmp(word, "power")) script.power[a] = b;
        else if (!strcmp(word, "reasons")) script.reasons[a] = b;
        else if (!strcmp(word, "xid")) { script.xid_sequence = a; script.xid_gpu = b; script.xid_code = c; }
        else if (!strcmp(word, "lacks") && sscanf(line, "%*s %*d %63s", name) == 1) { strcat(script.lacks[a], name); strcat(script.lacks[a], " "); }
        else if (!strcmp(word, "process") && script.processes < PROCESSES) {
            script.process[script.processes].gpu = a; script.process[script.processes].pid = b;
            script.process[script.processes++].mebibytes = c;
        }
    }
    fclose(file);
}

static u32 wobble(int seed, u32 value, u32 by) {
    if (!script.jitter) return value;
    u32 x = (u32)time(0) * 2654435761u ^ seed * 40503u;
    x ^= x >> 13; x *= 0x5bd1e995; x ^= x >> 15;
    return value - x % (by + 1);
}
static int index_of(void *handle) { return (int)(((int *)handle - &device_storage[0][0]) / 9); }
static int instance_of(void *handle) { return (int)(((int *)handle - &device_storage[0][0]) % 9); }
static int trouble(void *handle, const char *metric) {
    read_script();
    if (script.driver) return script.driver;
    int gpu = index_of(handle);
    if (gpu < 0 || gpu >= script.gpus) return INVALID;
    if (script.lost[gpu]) return LOST;
    char word[66];
    snprintf(word, sizeof word, "%s ", metric);
    if (strstr(script.lacks[gpu], word)) return NOT_SUPPORTED;
    return instance_of(handle) && strcmp(metric, "memory") && strcmp(metric, "identity") ? NOT_SUPPORTED : OK;
}
#define CHECK(metric) do { int code = trouble(handle, metric); if (code) return code; } while (0)
#define NUMBER(function, type, metric, value) int function(void *handle, type *out) { CHECK(metric); *out = (value); return OK; }
static int text(char *out, u32 size, const char *value) { snprintf(out, size, "%s", value); return OK; }

int nvmlInitWithFlags(u32 flags) { (void)flags; read_script(); return script.init; }
int nvmlInit_v2(void) { return nvmlInitWithFlags(0); }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) {
    return code == 3 ? "Not Supported" : code == 15 ? "GPU is lost" : code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}
int nvmlSystemGetDriverVersion(char *out, u32 size) { return text(out, size, "580.159.04"); }
int nvmlSystemGetNVMLVersion(char *out, u32 size) { return text(out, size, "13.580.159.04"); }
int nvmlDeviceGetCount_v2(u32 *out) { read_script(); *out = script.gpus; return script.driver; }
int nvmlDeviceGetHandleByIndex_v2(u32 index, void **out) { *out = &device_storage[index][0]; return trouble(*out, "identity"); }
int nvmlDeviceGetName(void *handle, char *out, u32 size) {
    CHECK("identity");
    return text(out, size, instance_of(handle) ? "NVIDIA H200 MIG 1g.18gb" : "NVIDIA H200");
}
int nvmlDeviceGetUUID(void *handle, char *out, u32 size) {
    char value[80];
    CHECK("identity");
    snprintf(value, sizeof value, "%s-00000000-0000-0000-%04d-%012d", instance_of(handle) ? "MIG" : "GPU", instance_of(handle), index_of(handle));
    return text(out, size, value);
}
struct pci { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; };
int nvmlDeviceGetPciInfo_v3(void *handle, struct pci *out) {
    CHECK("pci");
    memset(out, 0, sizeof *out);
    out->bus = 0x18 + index_of(handle);
    snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", out->bus);
    return OK;
}
struct memory { u64 total, free, used; };
struct memory_v2 { u32 version; u64 total, reserved, free, used; };
static u64 used_bytes(void *handle) {
    u64 used = 0;
    for (int i = 0; i < script.processes; i++) if (script.process[i].gpu == index_of(handle)) used += script.process[i].mebibytes << 20;
    return used ? used : 1059913728ull;
}
int nvmlDeviceGetMemoryInfo(void *handle, struct memory *out) {
    CHECK("memory");
    out->total = 150754820096ull; out->used = used_bytes(handle) + 644939776ull; out->free = out->total - out->used;
    return OK;
}
int nvmlDeviceGetMemoryInfo_v2(void *handle, struct memory_v2 *out) {
    CHECK("memory"); CHECK("memory_v2");
    out->total = 150754820096ull; out->reserved = 644939776ull; out->used = used_bytes(handle);
    out->free = out->total - out->used - out->reserved;
    return OK;
}
struct rates { u32 gpu, memory; };
int nvmlDeviceGetUtilizationRates(void *handle, struct rates *out) {
    CHECK("utilization");
    out->gpu = wobble(index_of(handle) + 1, 100, 30); out->memory = 23;
    return OK;
}
NUMBER(nvmlDeviceGetPowerUsage, u32, "power", wobble(index_of(handle) + 2, script.power[index_of(handle)], 40000))
NUMBER(nvmlDeviceGetEnforcedPowerLimit, u32, "power_limit", 700000)
NUMBER(nvmlDeviceGetFanSpeed, u32, "fan", 30)
NUMBER(nvmlDeviceGetPersistenceMode, u32, "persistence", 1)
NUMBER(nvmlDeviceGetVirtualizationMode, u32, "virtualization", script.vgpu[index_of(handle)] ? 2 : 1)
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, u32, "pcie", 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, u32, "pcie", 16)
NUMBER(nvmlDeviceGetTotalEnergyConsumption, u64, "energy", 4787834)
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, u64, "reasons", script.reasons[index_of(handle)])
NUMBER(nvmlDeviceGetSupportedEventTypes, u64, "events", 65439)
NUMBER(nvmlDeviceGetMaxMigDeviceCount, u32, "mig", 7)
int nvmlDeviceGetTemperature(void *handle, int sensor, u32 *out) { (void)sensor; CHECK("temperature"); *out = wobble(index_of(handle) + 3, 64, 4); return OK; }
int nvmlDeviceGetTemperatureThreshold(void *handle, int which, u32 *out) { CHECK("thresholds"); *out = which ? 89 : 95; return OK; }
int nvmlDeviceGetClockInfo(void *handle, int clock, u32 *out) { CHECK("clocks"); *out = clock == 2 ? 3201 : wobble(index_of(handle) + 4, 1500, 60); return OK; }
int nvmlDeviceGetMaxClockInfo(void *handle, int clock, u32 *out) { CHECK("clocks"); *out = clock == 2 ? 3201 : 1980; return OK; }
int nvmlDeviceGetEccMode(void *handle, u32 *current, u32 *pending) { CHECK("ecc"); *current = *pending = 1; return OK; }
int nvmlDeviceGetMigMode(void *handle, u32 *current, u32 *pending) {
    CHECK("mig");
    *current = *pending = script.mig[index_of(handle)] > 0;
    return OK;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void *handle, u32 index, void **out) {
    CHECK("mig");
    if ((int)index >= script.mig[index_of(handle)]) return NOT_FOUND;
    *out = &device_storage[index_of(handle)][1 + index];
    return OK;
}
int nvmlDeviceGetTotalEccErrors(void *handle, int kind, int counter, u64 *out) { (void)kind; (void)counter; CHECK("ecc"); *out = 0; return OK; }
int nvmlDeviceGetRemappedRows(void *handle, u32 *corrected, u32 *uncorrected, u32 *pending, u32 *failed) {
    CHECK("remap");
    *corrected = *uncorrected = *pending = *failed = 0;
    return OK;
}
int nvmlDeviceGetNvLinkState(void *handle, u32 link, u32 *out) { CHECK("nvlink"); if (link >= 18) return INVALID; *out = 1; return OK; }
int nvmlDeviceGetPcieThroughput(void *handle, int direction, u32 *out) {
    CHECK("pcie");
    usleep(script.pcie_ms * 1000);
    *out = direction ? 16770 : 7673;
    return OK;
}
struct field { u32 id, scope; long long at, latency; u32 type, code; u64 value; };
int nvmlDeviceGetFieldValues(void *handle, int count, struct field *fields) {
    CHECK("fields");
    for (struct field *field = fields; field < fields + count; field++) {
        field->value = 0; field->type = 1; field->code = OK;
        if (field->id == 186) { field->code = trouble(handle, "power"); field->value = wobble(index_of(handle) + 2, script.power[index_of(handle)], 40000); }
        else if (field->id == 82) { field->code = trouble(handle, "memory_temperature"); field->value = 52; }
        else if (field->id == 138 || field->id == 139) { field->type = 3; field->code = trouble(handle, "nvlink"); field->value = (u64)time(0) << 20; }
        else if (field->id != 230) field->code = NOT_SUPPORTED;
    }
    return OK;
}
struct process { u32 pid; u64 used; u32 gpu_instance, compute_instance; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, u32 *count, struct process *out) {
    CHECK("processes");
    u32 room = *count, found = 0;
    for (int i = 0; i < script.processes; i++) {
        if (script.process[i].gpu != index_of(handle)) continue;
        if (out && found < room) { out[found].pid = script.process[i].pid; out[found].used = script.process[i].mebibytes << 20; }
        found++;
    }
    *count = found;
    return found > room || (found && !out) ? TOO_SMALL : OK;
}
int nvmlEventSetCreate(void **out) { static int storage; *out = &storage; return OK; }
int nvmlEventSetFree(void *set) { (void)set; return OK; }
int nvmlDeviceRegisterEvents(void *handle, u64 kinds, void *set) { (void)kinds; (void)set; CHECK("events"); return OK; }
struct event { void *device; u64 kind, data; u32 gpu_instance, compute_instance; };
int nvmlEventSetWait_v2(void *set, struct event *out, u32 timeout_ms) {
    (void)set;
    for (u32 waited = 0;; waited += 100) {
        read_script();
        if (script.driver) return script.driver;
        if (script.xid_sequence > xid_told) {
            xid_told = script.xid_sequence;
            out->device = &device_storage[script.xid_gpu][0]; out->kind = 8; out->data = script.xid_code;
            return OK;
        }
        if (waited >= timeout_ms) return TIMEOUT;
        usleep(100000);
    }
}

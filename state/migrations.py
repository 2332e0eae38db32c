"""The schema, one step at a time. A step that has shipped is never edited: a change is a new step at the end.

Each new step raises `state.database.SCHEMA_VERSION` by one; without that an old database is not migrated.
"""

from typing import TYPE_CHECKING

from sqlite_utils.migrations import Migrations

if TYPE_CHECKING:
    from sqlite_utils import Database

migrations = Migrations("alula")


@migrations()
def create_commands(db: "Database") -> None:
    """What consoles ask of the engine."""
    db.execute("""
        CREATE TABLE command (
            id INTEGER PRIMARY KEY, kind TEXT NOT NULL, arguments TEXT NOT NULL, issued_by TEXT NOT NULL,
            issued_at REAL NOT NULL, answered_at REAL, outcome TEXT, answer TEXT NOT NULL DEFAULT '{}'
        )""")
    db.execute("CREATE INDEX command_open ON command (id) WHERE answered_at IS NULL")


@migrations()
def create_engine(db: "Database") -> None:
    """The engine and its parts."""
    db.execute("""
        CREATE TABLE engine (
            id INTEGER PRIMARY KEY CHECK (id = 1), pid INTEGER NOT NULL, pid_started_at REAL NOT NULL,
            boot_id TEXT NOT NULL, version TEXT NOT NULL, started_at REAL NOT NULL, heartbeat_at REAL NOT NULL,
            stopped_at REAL
        )""")
    db.execute("""
        CREATE TABLE engine_part (
            name TEXT PRIMARY KEY, state TEXT NOT NULL, since REAL NOT NULL, restarts INTEGER NOT NULL,
            last_error TEXT, retry_at REAL
        )""")


@migrations()
def create_jobs(db: "Database") -> None:
    """Jobs and their timelines."""
    db.execute("""
        CREATE TABLE job (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, argv TEXT NOT NULL,
            working_dir TEXT NOT NULL, environment TEXT NOT NULL, run_folder TEXT NOT NULL, grace_s REAL NOT NULL,
            created_at REAL NOT NULL, started_at REAL, ended_at REAL, stop_requested_at REAL,
            pid INTEGER, pid_started_at REAL, runner_pid INTEGER, runner_started_at REAL, boot_id TEXT,
            exit_code INTEGER, exit_signal INTEGER, reason TEXT, retry_of INTEGER REFERENCES job (id)
        )""")
    db.execute("CREATE INDEX job_state ON job (state)")
    db.execute("""
        CREATE TABLE job_event (
            id INTEGER PRIMARY KEY, job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE, at REAL NOT NULL,
            state TEXT NOT NULL, message TEXT NOT NULL
        )""")
    db.execute("CREATE INDEX job_event_job ON job_event (job_id)")


@migrations()
def create_alerts(db: "Database") -> None:
    """Alerts, cleared ones included."""
    db.execute("""
        CREATE TABLE alert (
            id INTEGER PRIMARY KEY, rule TEXT NOT NULL, subject TEXT NOT NULL, severity TEXT NOT NULL,
            title TEXT NOT NULL, cause TEXT NOT NULL, remedy TEXT NOT NULL, since REAL NOT NULL,
            last_seen_at REAL NOT NULL, cleared_at REAL, acknowledged_at REAL
        )""")
    db.execute("CREATE UNIQUE INDEX alert_open ON alert (rule, subject) WHERE cleared_at IS NULL")


@migrations()
def create_host(db: "Database") -> None:
    """Host and disk samples, with their roll-ups."""
    columns = """
        taken_at REAL PRIMARY KEY, cpu_percent REAL, load_1m REAL, load_5m REAL, load_15m REAL, cores INTEGER,
        memory_used_bytes INTEGER, memory_total_bytes INTEGER, swap_used_bytes INTEGER, swap_total_bytes INTEGER,
        network_received_bytes_per_s REAL, network_sent_bytes_per_s REAL, pressure_cpu_percent REAL,
        pressure_memory_percent REAL, pressure_io_percent REAL"""
    for table in ("host_sample", "host_sample_10s", "host_sample_60s"):
        db.execute(f"CREATE TABLE {table} ({columns})")
    db.execute("""
        CREATE TABLE disk_sample (
            mount TEXT PRIMARY KEY, taken_at REAL NOT NULL, purpose TEXT NOT NULL, used_bytes INTEGER NOT NULL,
            total_bytes INTEGER NOT NULL, free_bytes INTEGER NOT NULL, inodes_free INTEGER, inodes_total INTEGER,
            full_in_s REAL
        )""")


@migrations()
def create_gpus(db: "Database") -> None:
    """GPUs, their samples, processes and events. Samples name their GPU by a small number, which keeps them short."""
    db.execute("""
        CREATE TABLE gpu_status (
            id INTEGER PRIMARY KEY CHECK (id = 1), taken_at REAL NOT NULL, availability TEXT NOT NULL,
            message TEXT NOT NULL, remedy TEXT NOT NULL, driver_version TEXT, library_version TEXT
        )""")
    db.execute("""
        CREATE TABLE gpu (
            id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, "index" INTEGER NOT NULL, name TEXT NOT NULL,
            pci_bus_id TEXT, memory_total_bytes INTEGER, unified_memory INTEGER NOT NULL, power_limit_w REAL,
            sm_clock_max_mhz INTEGER, mig_enabled INTEGER, ecc_enabled INTEGER, persistence INTEGER,
            seen_at REAL NOT NULL, lost_at REAL, parent_uuid TEXT, slowdown_c REAL, virtualization TEXT
        )""")
    measured = """
        utilization_percent REAL, memory_used_bytes INTEGER, power_w REAL, temperature_c REAL,
        memory_temperature_c REAL, sm_clock_mhz INTEGER, memory_clock_mhz INTEGER, throttle_reasons INTEGER"""
    db.execute(f"""
        CREATE TABLE gpu_sample (
            taken_at REAL NOT NULL, gpu_id INTEGER NOT NULL, {measured}, memory_reserved_bytes INTEGER,
            memory_total_bytes INTEGER, power_limit_w REAL, fan_percent REAL, PRIMARY KEY (taken_at, gpu_id)
        ) WITHOUT ROWID""")
    for table in ("gpu_sample_10s", "gpu_sample_60s"):
        db.execute(f"""
            CREATE TABLE {table} (gpu_id INTEGER NOT NULL, taken_at REAL NOT NULL, {measured},
            PRIMARY KEY (gpu_id, taken_at)) WITHOUT ROWID""")
    db.execute("""
        CREATE TABLE gpu_health (
            uuid TEXT PRIMARY KEY, taken_at REAL NOT NULL, ecc_corrected INTEGER, ecc_uncorrected INTEGER,
            remapped_rows INTEGER, remap_pending INTEGER, remap_failed INTEGER, recovery_action INTEGER, energy_j REAL,
            pcie_generation INTEGER, pcie_width INTEGER, pcie_sent_bytes_per_s REAL, pcie_received_bytes_per_s REAL,
            nvlinks_active INTEGER, nvlinks_total INTEGER, nvlink_sent_bytes_per_s REAL,
            nvlink_received_bytes_per_s REAL, absences TEXT NOT NULL
        )""")
    db.execute("""
        CREATE TABLE gpu_process (
            uuid TEXT NOT NULL, pid INTEGER NOT NULL, taken_at REAL NOT NULL, memory_bytes INTEGER, user TEXT,
            command TEXT, started_at REAL, job_id INTEGER, PRIMARY KEY (uuid, pid)
        )""")
    db.execute("""
        CREATE TABLE gpu_event (
            id INTEGER PRIMARY KEY, uuid TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, code INTEGER,
            message TEXT NOT NULL
        )""")


@migrations()
def create_servers(db: "Database") -> None:
    """Inference servers, their samples, ranks and events."""
    db.execute("""
        CREATE TABLE server (
            id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, framework TEXT, version TEXT, model TEXT,
            draft_model TEXT, speculative_algorithm TEXT, pid INTEGER, job_id INTEGER, started_at REAL,
            found_by TEXT NOT NULL, seen_at REAL NOT NULL, health TEXT NOT NULL, health_message TEXT NOT NULL,
            flags TEXT NOT NULL, metrics_enabled INTEGER
        )""")
    for table in ("server_sample", "server_sample_10s", "server_sample_60s"):
        db.execute(f"""
            CREATE TABLE {table} (
                server_id INTEGER NOT NULL REFERENCES server (id) ON DELETE CASCADE, taken_at REAL NOT NULL,
                tokens_per_s REAL, running_requests INTEGER, queued_requests INTEGER, token_usage REAL,
                cache_hit_rate REAL, accept_length REAL, accept_rate REAL, ttft_p50_s REAL, ttft_p95_s REAL,
                itl_p50_s REAL, itl_p95_s REAL, PRIMARY KEY (server_id, taken_at)
            ) WITHOUT ROWID""")
    db.execute("""
        CREATE TABLE server_rank (
            url TEXT NOT NULL REFERENCES server (url) ON DELETE CASCADE, rank INTEGER NOT NULL, taken_at REAL NOT NULL,
            tokens_per_s REAL, running_requests INTEGER, queued_requests INTEGER, token_usage REAL,
            accept_length REAL, outlier TEXT, PRIMARY KEY (url, rank)
        )""")
    db.execute("""
        CREATE TABLE server_event (
            id INTEGER PRIMARY KEY, url TEXT NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, message TEXT NOT NULL
        )""")


@migrations()
def create_regenerations(db: "Database") -> None:
    """Regenerations and their progress."""
    db.execute("""
        CREATE TABLE regeneration (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, run_folder TEXT NOT NULL,
            job_id INTEGER REFERENCES job (id), inputs TEXT NOT NULL, server_url TEXT NOT NULL, model TEXT,
            sampling TEXT NOT NULL, concurrency INTEGER NOT NULL, total INTEGER NOT NULL, rejected INTEGER NOT NULL,
            created_at REAL NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL
        )""")
    db.execute("""
        CREATE TABLE regeneration_progress (
            run_id INTEGER NOT NULL REFERENCES regeneration (id) ON DELETE CASCADE, taken_at REAL NOT NULL,
            done INTEGER NOT NULL, failed INTEGER NOT NULL, failed_by_kind TEXT NOT NULL, in_flight INTEGER NOT NULL,
            completion_tokens INTEGER NOT NULL, tokens_per_s_now REAL, tokens_per_s_overall REAL, eta_s REAL,
            eta_low_s REAL, eta_high_s REAL, PRIMARY KEY (run_id, taken_at)
        ) WITHOUT ROWID""")


@migrations()
def create_benches(db: "Database") -> None:
    """Benchmarks and their progress."""
    db.execute("""
        CREATE TABLE bench (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, run_folder TEXT NOT NULL,
            job_id INTEGER REFERENCES job (id), points INTEGER NOT NULL, cells INTEGER NOT NULL,
            created_at REAL NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL
        )""")
    db.execute("""
        CREATE TABLE bench_progress (
            bench_id INTEGER NOT NULL REFERENCES bench (id) ON DELETE CASCADE, taken_at REAL NOT NULL,
            cells_done INTEGER NOT NULL, cell TEXT NOT NULL, requests_done INTEGER NOT NULL, requests_total INTEGER,
            failed INTEGER NOT NULL, in_flight INTEGER NOT NULL, tokens_per_s_now REAL, eta_s REAL,
            PRIMARY KEY (bench_id, taken_at)
        ) WITHOUT ROWID""")


@migrations()
def detail_regenerations(db: "Database") -> None:
    """Speed of five minutes, and the newest state of a run beside its figures."""
    db.execute("ALTER TABLE regeneration_progress ADD COLUMN tokens_per_s_5m REAL")
    db.execute("""
        CREATE TABLE regeneration_detail (
            run_id INTEGER PRIMARY KEY REFERENCES regeneration (id) ON DELETE CASCADE, sources TEXT NOT NULL,
            slowest TEXT NOT NULL, moved TEXT NOT NULL, concurrency INTEGER NOT NULL, servers TEXT NOT NULL
        )""")


@migrations()
def create_data(db: "Database") -> None:
    """Searches of the hub, preparations of training data, and answers of the hub that are kept."""
    db.execute("""
        CREATE TABLE data_search (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, run_folder TEXT NOT NULL, created_at REAL NOT NULL,
            ended_at REAL, state TEXT NOT NULL, message TEXT NOT NULL, sets TEXT NOT NULL
        )""")
    db.execute("""
        CREATE TABLE data_scout (
            search_id INTEGER NOT NULL REFERENCES data_search (id) ON DELETE CASCADE, scout TEXT NOT NULL,
            round TEXT NOT NULL, state TEXT NOT NULL, asked INTEGER NOT NULL, to_ask INTEGER NOT NULL,
            found INTEGER NOT NULL, kept INTEGER NOT NULL, message TEXT NOT NULL, updated_at REAL NOT NULL,
            PRIMARY KEY (search_id, scout)
        ) WITHOUT ROWID""")
    db.execute("""
        CREATE TABLE data_preparation (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, run_folder TEXT NOT NULL, plan_path TEXT NOT NULL,
            output_folder TEXT NOT NULL, created_at REAL NOT NULL, ended_at REAL, job_id INTEGER REFERENCES job (id),
            state TEXT NOT NULL, message TEXT NOT NULL, stage TEXT NOT NULL, rows_read INTEGER NOT NULL,
            rows_per_s REAL, updated_at REAL NOT NULL, funnel TEXT NOT NULL, shares TEXT NOT NULL,
            manifest TEXT NOT NULL
        )""")
    db.execute("CREATE TABLE hub_answer (question TEXT PRIMARY KEY, answer TEXT NOT NULL, asked_at REAL NOT NULL)")


@migrations()
def schedule_jobs(db: "Database") -> None:
    """Recipes, GPUs, times, tries and readiness of jobs, and whether the queue is paused."""
    for column in (
        "recipe TEXT",
        "parameters TEXT NOT NULL DEFAULT '{}'",
        "schedule TEXT NOT NULL DEFAULT '{}'",
        "gpus TEXT NOT NULL DEFAULT '[]'",
        "not_before REAL",
        "attempt INTEGER NOT NULL DEFAULT 0",
        "ready_at REAL",
        "follow_up INTEGER NOT NULL DEFAULT 0",
        "stop_reason TEXT",
    ):
        db.execute(f"ALTER TABLE job ADD COLUMN {column}")
    db.execute("CREATE INDEX job_follow_up ON job (id) WHERE follow_up")
    db.execute("CREATE INDEX job_retry_of ON job (retry_of) WHERE retry_of IS NOT NULL")
    db.execute("CREATE TABLE job_queue (id INTEGER PRIMARY KEY CHECK (id = 1), paused_at REAL, paused_by TEXT)")
    db.execute("INSERT INTO job_queue (id) VALUES (1)")


@migrations()
def place_jobs(db: "Database") -> None:
    """Which cluster a job runs on, and its name there."""
    db.execute("ALTER TABLE job ADD COLUMN backend TEXT NOT NULL DEFAULT 'local'")
    db.execute("ALTER TABLE job ADD COLUMN backend_address TEXT NOT NULL DEFAULT ''")
    db.execute("ALTER TABLE job ADD COLUMN backend_id TEXT")


@migrations()
def create_campaigns(db: "Database") -> None:
    """Campaigns and their steps."""
    db.execute("""
        CREATE TABLE campaign (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, folder TEXT NOT NULL, specification TEXT NOT NULL,
            created_at REAL NOT NULL, ended_at REAL, state TEXT NOT NULL, message TEXT NOT NULL,
            single_step INTEGER NOT NULL
        )""")
    db.execute("""
        CREATE TABLE campaign_step (
            id INTEGER PRIMARY KEY, campaign_id INTEGER NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
            position INTEGER NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL,
            attempts INTEGER NOT NULL, command TEXT NOT NULL, arguments TEXT NOT NULL, job_ids TEXT NOT NULL,
            work TEXT NOT NULL, began_at REAL, ended_at REAL, message TEXT NOT NULL, inputs TEXT NOT NULL,
            outputs TEXT NOT NULL, digests TEXT NOT NULL, figures TEXT NOT NULL, UNIQUE (campaign_id, position)
        )""")


@migrations()
def share_regenerations(db: "Database") -> None:
    """Which runs share the samples of one fleet."""
    db.execute("ALTER TABLE regeneration ADD COLUMN fleet TEXT")

"""The NVIDIA driver as NVML sees it from this process."""

import threading

from engine.doctor.records import Examination
from engine.watch.driver_status import DriverUnavailable
from engine.watch.nvml import open_session

AREA = "GPUs"
LIMIT_S = 10.0


def examine_gpus(limit_s: float = LIMIT_S) -> list[Examination]:
    """Driver, library and devices. A driver that hangs is told after `limit_s` seconds."""
    found: list[Examination] = []
    worker = threading.Thread(target=lambda: found.extend(_look()), name="doctor-nvml", daemon=True)
    worker.start()
    worker.join(limit_s)
    if worker.is_alive():
        return [Examination(AREA, "driver", "problem", f"NVML has not answered for {limit_s:.0f} s",
                            "look at dmesg for Xid lines; nvidia-smi hangs too")]  # fmt: skip
    return found


def _look() -> list[Examination]:
    try:
        session = open_session()
    except DriverUnavailable as unavailable:
        status = unavailable.status
        verdict = "note" if status.availability in ("no_driver", "unsupported_vendor") else "problem"
        return [Examination(AREA, "driver", verdict, status.message, status.remedy)]  # type: ignore[arg-type]
    try:
        devices = session.devices()
        driver = Examination(AREA, "driver", "good", f"driver {session.driver_version}, NVML {session.library_version}")
        if not devices:
            return [driver, Examination(AREA, "devices", "problem", "none is shown to this process",
                                        "in a container: --gpus all")]  # fmt: skip
        return [driver, Examination(AREA, "devices", "good", f"{len(devices)}")]
    finally:
        session.close()

"""Looks at everything, in the order an operator would."""

from engine.doctor.engine_process import examine_engine
from engine.doctor.gpus import examine_gpus
from engine.doctor.records import Examination
from engine.doctor.serving import examine_serving
from engine.doctor.software import examine_software
from engine.doctor.storage import examine_storage
from engine.doctor.terminal import examine_terminal, this_terminal


def examine() -> list[Examination]:
    """Every examination. None of them changes anything, besides making the state folder where it is missing."""
    return [
        *examine_terminal(this_terminal()),
        *examine_storage(),
        *examine_gpus(),
        *examine_engine(),
        *examine_serving(),
        *examine_software(),
    ]

"""Which screens there are: name to title and class, each class imported when its screen is first opened."""

import importlib

from console.screens.frame import FrameScreen

SCREENS: dict[str, tuple[str, str]] = {
    "overview": ("Overview", "console.screens.overview:OverviewScreen"),
    "gpus": ("GPUs", "console.screens.gpus:GpusScreen"),
    "servers": ("Servers", "console.screens.servers:ServersScreen"),
    "jobs": ("Jobs", "console.screens.jobs:JobsScreen"),
    "regenerations": ("Regenerations", "console.screens.regenerations:RegenerationsScreen"),
    "check": ("Check", "console.screens.check:CheckScreen"),
    "alerts": ("Alerts", "console.screens.alerts:AlertsScreen"),
    "bench": ("Bench", "console.screens.bench:BenchScreen"),
    "data": ("Data", "console.screens.data:DataScreen"),
    "campaign": ("Campaign", "console.screens.campaign:CampaignScreen"),
}


def screen_class(name: str) -> type[FrameScreen]:
    """The class of a screen."""
    module, _, attribute = SCREENS[name][1].partition(":")
    found: type[FrameScreen] = getattr(importlib.import_module(module), attribute)
    return found

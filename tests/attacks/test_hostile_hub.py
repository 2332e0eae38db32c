"""A mirror of the hub under somebody else's control: it can neither fill the memory nor hold a search up for ever."""

import asyncio
import time
from pathlib import Path

import pytest

from tests.attacks.test_hostile_servers import HOSTILE, peak_mib
from tests.data.test_discovery import searched
from tests.watch.http_servers import serving

UNPACKED_AT_ONCE_MIB = 384
"""The answer so far, one network read of a bomb unpacked, and what Python keeps of both."""


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_search_of_it_ends_and_stays_small(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, begun = peak_mib(), time.monotonic()
    async with serving(HOSTILE[name]) as url:
        for variable in ("HF_ENDPOINT", "ALULA_DATASET_VIEWER"):
            monkeypatch.setenv(variable, url)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        outcome = await asyncio.wait_for(asyncio.to_thread(searched, tmp_path, timeout_s=0.2), 60)
    assert outcome.state != "running" and not any(one.found_by for one in outcome.sets), "only the built-in catalogue"
    assert peak_mib() - before < UNPACKED_AT_ONCE_MIB, f"after {time.monotonic() - begun:.0f} s"

"""Alerts sent to a webhook and to a program, and the settings that say so."""

import json
from pathlib import Path

import pytest
from aiohttp import web

from engine.watch.alert_state import Symptom
from engine.watch.notify import notice, send
from state.errors import StateError
from state.settings import Notifications, Settings, load_settings
from tests.watch.http_servers import serving

SYMPTOM = Symptom(rule="gpu-hot", subject="gpu 0", severity="warning", title="hot", cause="c", remedy="r")


async def test_a_webhook_and_a_program_get_the_alert(tmp_path: Path) -> None:
    got: list[dict[str, str]] = []

    async def hook(request: web.Request) -> web.StreamResponse:
        got.append(await request.json())
        return web.Response()

    out = tmp_path / "alert.json"
    async with serving(hook) as url:
        where = Notifications(webhook=url, command=("tee", str(out)))
        await send([notice("raised", SYMPTOM), notice("cleared", SYMPTOM)], where)
    assert [(item["event"], item["rule"], item["title"]) for item in got] == [
        ("raised", "gpu-hot", "hot"),
        ("cleared", "gpu-hot", "hot"),
    ]
    assert json.loads(out.read_text()) == got[1]


async def test_what_cannot_be_sent_is_logged_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    await send([notice("raised", SYMPTOM)], Notifications(webhook="http://127.0.0.1:1", command=("/does/not/exist",)))
    await send([notice("raised", SYMPTOM)], Notifications(command=("false",)))
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "alert not sent to http",
        "alert not sent to /does/not/exist",
        "alert not sent to false",
    ]


def test_settings(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    assert load_settings(path) == Settings()
    path.write_text(
        '[notify]\nwebhook = "http://h"\ncommand = ["mail", "ops"]\n[watch]\ndisks = ["/data"]\ndisk_full_hours = 6\n'
    )
    settings = load_settings(path)
    assert settings.notify == Notifications(webhook="http://h", command=("mail", "ops"))
    assert (settings.watch.disks, settings.watch.disk_full_hours) == (("/data",), 6)


@pytest.mark.parametrize("text", ["[notify]\nwebhok = 'x'\n", "not toml", "[watch]\ndisks = 3\n"])
def test_a_slip_in_the_settings_names_the_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(text)
    with pytest.raises(StateError, match=r"settings\.toml"):
        load_settings(path)

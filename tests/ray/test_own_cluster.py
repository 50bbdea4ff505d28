"""The cluster that rig begins on this machine: nobody else can reach it, and nothing of it is left behind."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import small_talks

from rig.config.schemes import place_of
from rig.core.errors import RigError
from rig.plugins.ray import on_ray

STARTS = """
import json, os, subprocess, sys, psutil
from rig.plugins.ray.workers import RAY
from rig.methods.scripted import Scripted
notes = []
model = RAY.elsewhere("ray", lambda notify: Scripted(lambda request: None))(notes.append)
processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
listening = [
    connection.laddr.ip
    for process in processes
    for connection in process.net_connections("tcp")
    if connection.status == psutil.CONN_LISTEN
]
if "die" in sys.argv:
    os.kill(os.getpid(), 9)
import ray
address = ray.get_runtime_context().gcs_address
strange = "import ray; ray.init(address=%r, logging_level='ERROR')" % address
bare = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
refused = subprocess.run([sys.executable, "-c", strange], env=bare, capture_output=True).returncode
model.close()
RAY.disconnect()
print(json.dumps({"listening": listening, "notes": notes, "refused": refused}))
"""


def start(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"TMPDIR": str(folder)}
    command = [sys.executable, "-c", STARTS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)


def sessions(folder: Path) -> list[str]:
    return [path.name for path in folder.glob("rig-ray-*/ray/session_*")]


@pytest.mark.slow
def test_it_listens_on_loopback_and_leaves_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    pytest.importorskip("ray")

    # Paths of sockets are short, and those of pytest's folders are not.
    with tempfile.TemporaryDirectory(dir="/tmp", ignore_cleanup_errors=True) as place:
        folder = Path(place)
        assert start(folder, "die").returncode == -9
        assert len(sessions(folder)) == 2  # and the link to the latest
        done = start(folder)
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout.splitlines()[-1])
        assert len(seen["listening"]) > 3
        assert all(map(on_ray.is_loopback, seen["listening"]))
        assert seen["refused"], "a process without the token must not get in"
        assert sessions(folder) == []
        (own,) = folder.glob("rig-ray-*")
        assert own.stat().st_mode & 0o777 == 0o700, "nobody else may reach its sockets"


@pytest.mark.parametrize("ip", ["127.0.0.1", "127.8.0.9", "::1", "::ffff:127.0.0.1"])
def test_addresses_that_only_this_machine_reaches(ip: str) -> None:
    assert on_ray.is_loopback(ip)


@pytest.mark.parametrize("ip", ["0.0.0.0", "::", "192.0.2.2", "::ffff:192.0.2.2", "fe80::1%eth0"])
def test_addresses_that_others_reach(ip: str) -> None:
    assert not on_ray.is_loopback(ip)


def made_up_ray(monkeypatch: pytest.MonkeyPatch, failure: Exception | None = None) -> list[str]:
    """A module `ray` that starts nothing, or fails to; what is called of it is listed."""
    calls: list[str] = []

    def init(**options: Any) -> None:
        calls.append(options["address"])
        if failure is not None:
            raise failure

    ray = SimpleNamespace(
        is_initialized=lambda: False,
        init=init,
        shutdown=lambda: calls.append("shutdown"),
        _private=SimpleNamespace(worker=SimpleNamespace()),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", on_ray._LOOPBACK):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    return calls


def load(where: str, notes: list[str]) -> None:
    place_of(where).elsewhere(where, lambda notify: small_talks.oracle())(notes.append)


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.2"])
def test_a_listener_off_loopback_ends_the_cluster(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str
) -> None:
    listener = SimpleNamespace(status=psutil.CONN_LISTEN, laddr=SimpleNamespace(ip=address, port=4711))
    process = SimpleNamespace(
        name=lambda: "gcs_server", net_connections=lambda kind: [listener], children=lambda recursive: []
    )
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    calls = made_up_ray(monkeypatch)
    monkeypatch.setattr(psutil, "Process", lambda *_: process)
    with pytest.raises(RigError, match=f"gcs_server at {address}:4711") as error:
        load("ray", [])
    assert "\n" not in str(error.value)
    assert calls[0] == "local"
    assert "shutdown" in calls


def test_what_cannot_be_seen_is_not_trusted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def denied(_: str) -> Any:
        raise psutil.AccessDenied

    process = SimpleNamespace(name=lambda: "raylet", net_connections=denied, children=lambda recursive: [])
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    made_up_ray(monkeypatch)
    monkeypatch.setattr(psutil, "Process", lambda *_: process)
    with pytest.raises(RigError, match="cannot be seen"):
        load("ray", [])


@pytest.mark.parametrize("where", ["ray", "ray:head"])
@pytest.mark.parametrize("text", ["The current node timed out during startup.\nMore of it.", ""])
def test_ray_that_starts_too_slowly_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str, text: str
) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    calls = made_up_ray(monkeypatch, Exception(text))
    with pytest.raises(RigError, match="see `rig docs cluster`") as error:
        load(where, [])
    assert "\n" not in str(error.value)
    assert (text.splitlines() or ["Exception"])[0] in str(error.value)
    assert calls[-1] == "shutdown"


def test_the_folder_of_sessions_must_be_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "theirs").mkdir()
    on_ray._own_folder().symlink_to(tmp_path / "theirs")
    made_up_ray(monkeypatch)
    with pytest.raises(RigError, match="belongs to another user"):
        load("ray", [])


@pytest.mark.parametrize(
    ("environment", "says", "offers"),
    [
        ({}, "whoever reaches its ports can run code there, and whoever sees", "RAY_AUTH_MODE=token"),
        ({"RAY_AUTH_MODE": "token"}, "whoever has the token can run code there", "RAY_USE_TLS=1"),
        ({"RAY_USE_TLS": "1"}, "whoever reaches its ports can run code there; ", "RAY_AUTH_MODE=token"),
        ({"RAY_USE_TLS": "1", "RAY_AUTH_MODE": "token"}, "take a token", "are encrypted"),
    ],
)
def test_what_is_open_to_whom_is_said(environment: dict[str, str], says: str, offers: str) -> None:
    assert says in on_ray.openness(environment)
    assert offers in on_ray.openness(environment)

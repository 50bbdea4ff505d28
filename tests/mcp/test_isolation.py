"""What `rig tools info` says of a server's sandbox is what a hostile server in it can do, line by line."""

import ctypes
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from rig.config.schemes import ServerUse
from rig.core.calls import Call
from rig.plugins.mcp import isolation, sandbox
from rig.plugins.mcp.isolation import PROMISES
from rig.world.toolbox import Simulator

Play = Callable[..., Simulator]
Box = Callable[..., Path]
WAYS = ("bubblewrap", "namespaces", "landlock", "none")


@pytest.fixture
def victims(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What a server outside a sandbox would reach, by the names of promises."""
    with ExitStack() as stack:
        port = stack.enter_context(closing(socket.create_server(("127.0.0.1", 0)))).getsockname()[1]
        named = stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
        place = Path(isolation.gettempdir()) / f"rig-{os.getpid()}.socket"
        stack.callback(place.unlink)
        named.bind(str(place))
        named.listen()
        nameless = stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
        nameless.bind(f"\0rig-{os.getpid()}")
        nameless.listen()
        one, other = os.openpty()
        stack.callback(os.close, one)
        stack.callback(os.close, other)
        library = ctypes.CDLL(None)
        shared = library.shmget(0, 4096, 0o1600)
        stack.callback(library.shmctl, shared, 0, None)
        _, _, _, add_key = sandbox._MACHINES[os.uname().machine]
        key = library.syscall(add_key, b"user", b"rig", b"mine", 4, -3)
        (tmp_path / "secret").write_text("mine")
        secret = str(tmp_path / "secret")
        yield {
            "network": str(port),
            "machine": "",
            "writes": secret,
            "reads": secret,
            "modes": secret,
            "sockets": str(place),
            "abstract": f"@rig-{os.getpid()}",
            "services": str(shared),
            "keys": f"{add_key + 2} {key}",
            "terminal": os.ttyname(other),
            "kernel": "/proc/sys/vm/swappiness",
            "processes": f"/proc/{os.getpid()}/stat",
            "signals": str(os.getpid()),
        }


@pytest.mark.parametrize("network", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_each_promise_is_kept_in_each_sandbox(
    way: str, network: bool, victims: dict[str, str], play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sys.platform != "linux":
        pytest.skip("these ways are those of Linux")
    left = isolation._openings(way, network=network)
    if way != "none" and left == frozenset(PROMISES):
        pytest.skip(f"{way} does not work here")
    assert network <= ("network" in left)
    monkeypatch.setattr(isolation, "sandbox", lambda **_: (way, left))
    simulator = play(use=ServerUse("live", network))
    assert victims.keys() == PROMISES.keys()
    for name, target in victims.items():
        if name == "network" and network:
            continue
        if name == "machine" and way == "none":
            continue  # not every kernel has such sockets
        outcome = simulator.execute(Call("attack", {"way": name, "target": target})).outcome
        assert (outcome.response == "it works") == (name in left), (name, outcome)


def test_the_best_sandbox_leaves_nothing_open() -> None:
    isolation.sandbox.cache_clear()
    way, left = isolation.sandbox(network=False)
    lines = isolation.confinement(network=False)
    if "namespaces" not in way and "bubblewrap" not in way:
        pytest.skip("this system has no namespaces for users")
    assert left == frozenset()
    assert lines == [
        f"servers run in a sandbox ({way}) and cannot",
        *(f"  - {text}" for text in PROMISES.values()),
    ]


def test_without_bubblewrap_a_sandbox_promises_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    if isolation._openings("namespaces", network=False) == frozenset(PROMISES):
        pytest.skip("namespaces do not work here")
    found = isolation.shutil.which
    monkeypatch.setattr(isolation.shutil, "which", lambda name: None if name == "bwrap" else found(name))
    isolation.sandbox.cache_clear()
    assert isolation.sandbox(network=False) == ("namespaces", frozenset())
    assert isolation.sandbox(network=True) == ("namespaces", frozenset({"network"}))
    isolation.sandbox.cache_clear()


@pytest.mark.parametrize("way", WAYS[:3])
def test_sockets_are_of_families_that_are_known(way: str, tmp_path: Path) -> None:
    code = """
import itertools, socket
for family, kind in itertools.product(range(64), range(1, 11)):
    try:
        socket.socket(family, kind).close()
    except OSError:
        continue
    print(family)
"""
    done = run(way, (sys.executable, "-I", "-S", "-c", code), tmp_path)
    known = () if way == "landlock" else (*sandbox._UNIX, *sandbox._NETWORK)
    assert {*map(int, done.stdout.split())} <= {*known}, done.stderr


def test_a_mac_shuts_the_network_alone_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its system as rig sees it: no /proc, no namespaces, and a profile that refuses to connect."""

    class Refused(socket.socket):
        def connect(self, address: Any) -> None:
            raise PermissionError

    (tmp_path / "file").touch()
    opened = os.open

    def no_proc(path: str, *words: int) -> int:
        if path.startswith(("/proc", "/sys", "/dev/kmsg", "/dev/mem")):
            raise FileNotFoundError
        return opened(path, *words)

    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    monkeypatch.setattr(sandbox.socket, "socket", Refused)
    monkeypatch.setattr(sandbox.os, "open", no_proc)
    monkeypatch.setattr(sandbox.os, "geteuid", lambda: 501)
    file = str(tmp_path / "file")
    facts = {"file": file, "socket": "/tmp/s", "terminal": "", "process": os.getpid(), "namespaces": {}}
    left = set(sandbox.openings({**facts, "way": "sandbox-exec"})) - {"machine", "terminal"}
    assert left == {"writes", "modes", "reads", "services", "processes", "signals"}


def test_what_is_open_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "sandbox", lambda network: ("landlock", frozenset({"modes", "network"})))
    closed, wished = isolation.confinement(network=False), isolation.confinement(network=True)
    title = "servers CAN, since this system does not prevent it,"
    assert closed[closed.index(title) + 1 :] == [f"  - {PROMISES[name]}" for name in ("network", "modes")]
    assert wished[wished.index(title) + 1 :] == [f"  - {PROMISES['modes']}"]
    assert "servers can, since --server-network is given," in wished


def test_what_does_not_work_here_is_not_relied_upon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "_SANDBOX", ("/bin/false",))
    assert isolation._openings("namespaces", network=False) == frozenset(PROMISES)


def run(way: str, words: tuple[str, ...], place: Path, **more: Any) -> "subprocess.CompletedProcess[str]":
    if isolation._openings(way, network=False) == frozenset(PROMISES):
        pytest.skip(f"{way} does not work here")
    command = isolation._confined(way, words, (place,), more.get("shared", ()), network=False)
    return subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=30, check=False)


@pytest.mark.parametrize("way", WAYS[:2])
def test_what_a_server_sees(way: str, tmp_path: Path) -> None:
    own, shared = tmp_path / "own", tmp_path / "shared"
    for folder in (own, shared, tmp_path / "hidden"):
        folder.mkdir()
        (folder / "file").write_text(folder.name)
    command = f"cat file {shared}/file; ls {tmp_path} /tmp; echo x > {shared}/file; echo new > file; exit 7"
    done = run(way, ("/bin/sh", "-c", command), own, shared=(shared,))
    assert done.returncode == 7
    assert done.stdout.startswith("ownshared")
    assert "hidden" not in done.stdout
    assert (shared / "file").read_text() == "shared"
    assert (own / "file").read_text() == "new\n"


@pytest.mark.parametrize("way", WAYS[:3])
def test_limits_and_rights(way: str, tmp_path: Path) -> None:
    words = ("/bin/sh", "-c", "ulimit -c; grep -E 'Cap(Prm|Bnd)|NoNewPrivs' /proc/self/status | cut -f 2")
    done = run(way, words, tmp_path)
    assert done.stdout.split() == ["0", "0" * 16, "0" * 16, "1"]


@pytest.mark.parametrize("way", WAYS[:3])
def test_sockets_come_by_no_other_way(way: str, tmp_path: Path) -> None:
    """io_uring opens sockets past a filter of `socket`; 41 is the number of that in x86-64's other form."""
    code = "import ctypes; l = ctypes.CDLL(None, use_errno=True); "
    code += "print([(l.syscall(n, 8, 0), ctypes.get_errno()) for n in (425, 0x40000000 + 41)])"
    done = run(way, (sys.executable, "-I", "-S", "-c", code), tmp_path)
    assert done.stdout.split("\n")[0] == "[(-1, 38), (-1, 38)]"


def test_the_folder_of_a_program_is_seen_and_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    for name in ("app/src/server.py", "alone.py", "tool/bin/run", "plain/server.py", "venv/bin/start"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("")
    (home / "app" / "package.json").touch()
    (home / "venv" / "pyvenv.cfg").touch()
    (home / "venv" / "bin" / "start").write_text(f"#!{home}/python/bin/python3\n")
    (home / "python" / "bin").mkdir(parents=True)
    (home / "python" / "bin" / "python3").touch()
    (home / "link").symlink_to("tool/bin/run")
    packages = home / "venv" / "lib" / "python3" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "mine.pth").write_text(f"import sys\n{home}/plain\n")
    monkeypatch.setenv("HOME", str(home))
    for program, places in (
        ("app/src/server.py", {"app"}),
        ("alone.py", {"alone.py"}),
        ("link", {"link", "tool"}),
        ("plain/server.py", {"plain"}),
        ("venv/bin/start", {"venv", "python", "plain"}),
    ):
        assert isolation._homes(home / program) == {home / place for place in places}, program


def test_seccomp_knows_this_machine() -> None:
    assert sys.platform != "linux" or os.uname().machine in sandbox._MACHINES

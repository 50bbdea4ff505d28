"""The confinement of servers: no network if the system supports that, their own environment, and limits.

`npx` and `uvx` fetch programs when they start. They are asked for the path of the program that they fetched
before, and that program is started instead.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from rig.core.budget import parse_json
from rig.core.errors import RigError
from rig.core.files import beginning, read_json
from rig.plugins.mcp.sandbox import LARGEST_FILE

_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt", "/nix", "/gnu", "/snap"),
    *("/run/current-system", "/var/lib/ca-certificates", os.path.realpath("/etc/resolv.conf")),
)
"""Where programs are installed for everybody, and what they look names and certificates up in."""
_PROJECT = ("package.json", "node_modules", "pyproject.toml", "pyvenv.cfg", ".git")
"""What marks the folder that a program needs whole."""
_MAC = "(version 1)(allow default)(deny network*)"

PROMISES = {
    "network": "reach your network",
    "machine": "reach the host of this virtual machine, or the kernel's cryptography",
    "writes": "write outside their own files",
    "modes": "change the dates and permissions of other files",
    "reads": "read your files outside the folders of programs and of the server",
    "sockets": "reach sockets outside those folders, such as those of D-Bus, docker or an SSH agent",
    "abstract": "reach sockets of yours that have no path",
    "services": "reach other programs by shared memory, message queues or Mach services",
    "keys": "use the keys that the kernel keeps for you",
    "terminal": "write to your terminals",
    "kernel": "open settings of the kernel for writing",
    "processes": "see which processes you run",
    "signals": "send signals to your processes",
}
"""What servers are kept from, where the system can do that."""
_FETCH_S = 300.0


@lru_cache(maxsize=2)
def sandbox(*, network: bool) -> tuple[str, frozenset[str]]:
    """Return how servers are kept apart here, and what that leaves open, by the names of promises.

    What is open is tried from inside. bubblewrap is preferred, then namespaces, then Landlock alone.
    """
    ways = ["bubblewrap"] if shutil.which("bwrap") else []
    ways += ["namespaces", "landlock"] if sys.platform == "linux" else []
    ways += ["sandbox-exec"] if shutil.which("sandbox-exec") else []
    best = "none", _openings("none", network=network)
    for way in ways:
        if len(left := _openings(way, network=network)) < len(best[1]):
            best = way, left
    return best


def _openings(way: str, *, network: bool) -> frozenset[str]:
    """Return what this way leaves open; everything if it does not work here."""
    with TemporaryDirectory(prefix="rig-") as folder, ExitStack() as stack:
        own, outside = Path(folder) / "own", Path(folder) / "outside"
        own.mkdir()
        outside.touch()
        terminal = ""
        with suppress(OSError):
            one, other = os.openpty()
            stack.callback(os.close, one)
            stack.callback(os.close, other)
            terminal = os.ttyname(other)
        place = ""
        listening = stack.enter_context(socket.socket(socket.AF_UNIX))
        with suppress(OSError):  # of a path that is too long
            listening.bind(f"{folder}/socket")
            listening.listen()
            place = f"{folder}/socket"
        kinds = ("net", "ipc", "pid") if sys.platform == "linux" else ()
        facts = {
            "file": str(outside),
            "socket": place,
            "terminal": terminal,
            "process": os.getpid(),
            "namespaces": {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in kinds},
        }
        probe = (*_SANDBOX, json.dumps({"probe": {**facts, "way": way}}))
        command = _confined(way, probe, (own,), (), network=network)
        try:
            done = subprocess.run(command, cwd=own, capture_output=True, timeout=20, check=True)
            left = frozenset(parse_json(done.stdout))
        except (OSError, subprocess.SubprocessError, ValueError):
            return frozenset(PROMISES)
        return left


def confined(
    command: Sequence[str], writable: Sequence[Path], *, network: bool, shared: Sequence[Path] = ()
) -> list[str]:
    """Return the whole command that starts a server which writes to these folders alone.

    It also reads its program, and what is `shared`.
    """
    return _confined(sandbox(network=network)[0], command, writable, shared, network=network)


_SANDBOX = (sys.executable, "-I", "-S", str(Path(__file__).with_name("sandbox.py")))


def _confined(
    way: str, command: Sequence[str], writable: Sequence[Path], shared: Sequence[Path], *, network: bool
) -> list[str]:
    places = _places(command, shared)
    readable = [(str(place), os.path.realpath(place)) for place in places]
    own = [str(folder) for folder in writable]
    spec = {"way": way, "network": network, "readable": readable, "writable": own}
    inner = [*_SANDBOX, json.dumps(spec), *command]
    if way == "sandbox-exec":
        inner = [*_SANDBOX, json.dumps({**spec, "way": "none"}), *command]
        return inner if network else [way, "-p", _MAC, *inner]
    if way != "bubblewrap":
        return inner
    apart = ("user", "ipc", "pid", "uts", *(() if network else ("net",)))
    words = ["bwrap", *(f"--unshare-{name}" for name in apart), "--die-with-parent", "--cap-drop", "ALL"]
    words += ["--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev"]
    for place in ("/dev/shm", "/tmp"):
        words += ["--size", str(LARGEST_FILE), "--tmpfs", place]
    for place, real in readable:
        words += ["--ro-bind", real, place]
    for place in own:
        words += ["--bind", place, place]
    return [*words, "--remount-ro", "/", "--", *inner]


def _places(command: Sequence[str], shared: Sequence[Path]) -> list[Path]:
    """Return the folders and files that a command is to see, parents first and nothing twice."""
    places = {Path(place) for place in _SYSTEM if os.path.exists(place)}
    places |= {Path(os.path.abspath(place)) for place in shared if place.exists()}
    for word in (*_SANDBOX, *command):
        value = word.rpartition("=")[2] if word.startswith("-") else word
        if os.path.isabs(value) and os.path.isfile(value):
            places |= _homes(Path(os.path.abspath(value)))
    chosen: list[Path] = []
    for place in sorted(places):
        # What a link in a folder leads to is seen there only if that is in view as well, so that each counts.
        if not any(place.is_relative_to(outer) for outer in chosen):
            chosen.append(place)
    return chosen


def _homes(program: Path) -> set[Path]:
    """Return what a program needs to run: the folder of its project or installation, of each link to it, and
    of its interpreter.
    """
    homes: set[Path] = set()
    for _ in range(_MOST_LINKS):
        real = Path(os.path.realpath(program.parent), program.name)
        homes |= {_home(program), _home(real)}
        if not real.is_symlink():
            break
        program = Path(os.path.normpath(real.parent / os.readlink(real)))
    for home in list(homes):
        # Packages that are installed in place.
        for path in home.glob("lib/python*/site-packages/*.pth") if (home / "pyvenv.cfg").is_file() else ():
            lines = (Path(line) for line in beginning(path).splitlines() if os.path.isabs(line))
            homes |= {line for line in lines if line.is_dir()}
    first, *_ = beginning(program, 256).splitlines() or [""]
    interpreter = first.removeprefix("#!").strip().partition(" ")[0]
    if first.startswith("#!") and os.path.isabs(interpreter) and os.path.isfile(interpreter):
        homes |= _homes(Path(interpreter))
    return homes


_MOST_LINKS = 16


def _home(program: Path) -> Path:
    """Return the folder to see for a program; the program alone if that would be a whole home."""
    private = {*Path.home().parents, Path.home(), Path(gettempdir()), Path("/tmp"), Path("/var/tmp")}
    folders = [folder for folder in program.parents if folder not in private]
    for folder in reversed(folders):
        if any((folder / name).exists() for name in _PROJECT):
            return folder
    if program.parent.name == "bin" and program.parent.parent in folders:
        return program.parent.parent
    return program.parent if program.parent in folders else program


def confinement(*, network: bool) -> list[str]:
    """Describe in lines what servers are kept from here, and what they are not."""
    way, left = sandbox(network=network)
    open_by_wish = {"network"} & left if network else set()
    parts = {
        f"servers run in a sandbox ({way}) and cannot": [name for name in PROMISES if name not in left],
        "servers can, since --server-network is given,": [*open_by_wish],
        "servers CAN, since this system does not prevent it,": [
            name for name in PROMISES if name in left and name not in open_by_wish
        ],
    }
    return [
        line
        for title, names in parts.items()
        if names
        for line in (title, *(f"  - {PROMISES[name]}" for name in names))
    ]


def environment(program: str, home: Path, temporary: Path, named: Mapping[str, str]) -> dict[str, str]:
    """Return the whole environment of a server: where programs are, its home, and the `named` variables."""
    places = dict.fromkeys([str(Path(program).parent), "/usr/local/bin", "/usr/bin", "/bin"])
    plain = {"PATH": os.pathsep.join(places), "LANG": "C.UTF-8", "TZ": "UTC", "GIT_CONFIG_NOSYSTEM": "1"}
    return {**plain, "HOME": str(home), "TMPDIR": str(temporary), "PYTHONHASHSEED": "0", **named}


@lru_cache(maxsize=16)
def program_of(command: tuple[str, ...], folder: Path, *, network: bool) -> tuple[str, ...]:
    """Return a command with the absolute path of its program. Raises RigError if the program does not exist.

    npx and uvx are asked for the path of theirs, and may fetch it if `network` is true.
    """
    name = Path(command[0]).name.removesuffix(".cmd")
    if name in _LAUNCHERS:
        return _LAUNCHERS[name](command[0], command[1:], network)
    program = str(folder / command[0]) if os.sep in command[0] else shutil.which(command[0])
    if program is None or not os.access(program, os.X_OK):
        raise RigError(f"{command[0]}: no such program; give its path, or install it")
    return (os.path.abspath(program), *command[1:])


_VALUED = ("-p", "--package", "--from", "--with", "--python", "-c", "--call")


def _asked(words: Sequence[str]) -> tuple[str, int, str]:
    """Return a launcher's package, where the program's own arguments begin, and the program's name."""
    package = ""
    number = 0
    while number < len(words) and words[number].startswith("-"):
        name, _, value = words[number].partition("=")
        if name in _VALUED:
            number += not value
            package = (value or words[min(number, len(words) - 1)]) if name in _VALUED[:3] else package
        number += 1
    if number >= len(words):
        raise RigError("npx or uvx without the name of a package; give the whole command")
    return package or words[number], number + 1, words[number]


def _npx(launcher: str, words: Sequence[str], network: bool) -> tuple[str, ...]:
    package, first, word = _asked(words)
    options = "--yes", "--package", package, "--", "node", "-p", "process.env.PATH"
    places = _output(launcher, options, package, network).split(os.pathsep)
    name = re.sub(r"(?<=.)@[^/]*$", "", package)
    every = (Path(place).parent for place in places)
    modules = next((place for place in every if (place / name / "package.json").is_file()), None)
    if modules is None:
        raise RigError(f"npx {package}: npx does not say where it is; install it, and give its program")
    about = read_json(modules / name / "package.json")
    programs = about.get("bin") if isinstance(about, dict) else None
    programs = {name.rpartition("/")[2]: programs} if isinstance(programs, str) else programs
    if not isinstance(programs, dict) or not programs:
        raise RigError(f"npx {package}: the package has no program")
    script = programs.get(word) or next(iter(programs.values()))
    return (shutil.which("node") or "node", str(modules / name / str(script)), *words[first:])


def _uvx(launcher: str, words: Sequence[str], network: bool) -> tuple[str, ...]:
    package, first, word = _asked(words)
    options = "--from", package, "python", "-c", "import sys; print(sys.prefix)"
    name = re.split(r"[@=<>~\[!]", word)[0]
    return (str(Path(_output(launcher, options, package, network)) / "bin" / name), *words[first:])


_LAUNCHERS = {"npx": _npx, "uvx": _uvx}


def _output(launcher: str, options: Sequence[str], package: str, network: bool) -> str:
    command = [launcher, *(() if network else ("--offline",)), *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RigError(f"{launcher}: cannot be asked for {package}: {error}") from error
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["it says nothing"])[0][:200]
        remedy = "" if network else "; fetch it once with --server-network"
        raise RigError(f"{Path(launcher).name} does not have {package} here: {why}{remedy}")
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""

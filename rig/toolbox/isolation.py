"""The confinement of servers: no network if the system supports that, their own environment, and limits.

`npx` and `uvx` fetch programs when they start. They are asked for the path of the program that they fetched
before, and that program is started instead.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from rig.errors import RigError
from rig.files import read_json

_LARGEST_FILE = 1 << 30
"""The most bytes that a server may write into one file."""
_BOUNDED = ("/bin/sh", "-c", f'ulimit -f {_LARGEST_FILE // 512}; ulimit -c 0; exec "$@"', "sh")
_WAYS: tuple[tuple[str, ...], ...] = (
    ("unshare", "--map-current-user", "--net", "--pid", "--fork", "--kill-child", "--"),
    ("unshare", "--map-root-user", "--net", "--"),
    ("sandbox-exec", "-p", "(version 1)(allow default)(deny network*)"),
)
"""Programs that start another one without a network, best first."""
_SEALED = """\
world=$1; shift
mount --bind "$world" "$world" || exit 125
while read -r _ point kind options _; do
  case $kind in proc|sysfs|devpts|devtmpfs|mqueue|cgroup*) continue;; esac
  [ "$point" = "$world" ] && continue
  kept=ro
  for flag in nosuid nodev noexec noatime relatime nodiratime; do
    case ",$options," in *",$flag,"*) kept=$kept,$flag;; esac
  done
  mount -o "remount,bind,$kept" "$point" || exit 125
done < /proc/self/mounts
cd "$PWD" && exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs -- "$@"
"""
"""Makes everything but a world's folder read-only, in a private view of the file systems."""
_FETCH_S = 300.0


@lru_cache(maxsize=1)
def without_network() -> tuple[str, ...] | None:
    """Return the words to put before a command to run it without a network; None if the system has no way."""
    for way in _WAYS:
        if shutil.which(way[0]) and _succeeds([*way, "/bin/sh", "-c", ":"]):
            return way
    return None


@lru_cache(maxsize=1)
def writes_elsewhere() -> bool:
    """Return whether servers can write outside their own files because this system cannot prevent it."""
    with TemporaryDirectory(prefix="rig-") as folder:
        inside = ["/bin/sh", "-c", f"touch {folder}/in && ! touch {folder}/../rig-{os.getpid()} 2>/dev/null"]
        return sys.platform != "linux" or not _succeeds([*_sealed(Path(folder), network=False), *inside])


def _sealed(world: Path, *, network: bool) -> tuple[str, ...]:
    net = () if network else ("--net",)
    way = ("unshare", "--map-root-user", "--mount", *net, "--pid", "--fork", "--kill-child", "--")
    return (*way, "/bin/sh", "-c", _SEALED, "sh", str(world))


def confined(command: Sequence[str], world: Path, *, network: bool) -> list[str]:
    """Return the whole command that starts a server whose files are in a world's folder."""
    if not writes_elsewhere():
        return [*_sealed(world, network=network), *_BOUNDED, *command]
    way = () if network else without_network() or ()
    return [*way, *_BOUNDED, *command]


def network_of(*, network: bool) -> str:
    """Describe in words which network servers have, and where they can write."""
    where = "wherever you can" if writes_elsewhere() else "only to their own files"
    reach = "servers have your network (--server-network)"
    if not network:
        reach = "servers are not kept from your network: this system has neither unshare nor sandbox-exec"
        reach = f"servers have no network ({way[0]})" if (way := without_network()) else reach
    return f"{reach}, and write {where}"


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


def _succeeds(command: Sequence[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False

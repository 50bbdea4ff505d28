"""Which files and servers of a run store rig opens: those that somebody named on the command line.

A store may come from anywhere, and anyone may have written the paths in it: a toolbox is code, a model is
megabytes of untrusted binary. So a verb opens what a store names only if the user names it, too, with `rig
--open` or an option of the verb. `rig run --resume` also opens what a run names that was started here. A file
in the cache remembers that; no store can claim it for itself. The same holds for servers. Hosts other than
this machine, and keys, have to be named each time.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rig.core.errors import RigError
from rig.core.paths import cache_directory, expanded, real

COMMAND = "mcp:"
"""The prefix of a server's command in place of a toolbox's name. It is never opened as a path."""

_named: set[Path | str] = set()
_hosts: set[str] = set()
_key_variables: list[str] = []


def is_url(text: str) -> bool:
    """Return whether a model's name is the address of a server."""
    return text.startswith(("http://", "https://"))


def name(place: Path | str) -> None:
    """Note that the user named a file, a folder with all that is in it, or a server."""
    text = str(place)
    _named.add(_server(text) or real(expanded(text)))


def allow_hosts(hosts: Iterable[str]) -> None:
    """Let rig connect to these hosts besides this machine."""
    _hosts.update(host.lower().strip("[]") for host in hosts)


def is_allowed(host: str) -> bool:
    """Return whether the user allowed this host."""
    return host.lower() in _hosts


def use_key(variable: str) -> None:
    """Use the key for servers in this environment variable. Raises RigError if it is not set, or empty."""
    if not os.environ.get(variable):
        raise RigError(f"--key-from {variable}: no such environment variable, or it is empty; set it")
    _key_variables.append(variable)


def key() -> str | None:
    """Return the key for servers; None if the user named none. It is read anew each time and kept nowhere."""
    return os.environ.get(_key_variables[-1]) if _key_variables else None


def forget() -> None:
    """Forget what was named, as another command begins."""
    for names in (_named, _hosts, _key_variables):
        names.clear()


def require_named(
    run: str, values: Mapping[str, Any], names: Iterable[str] = (), models: Iterable[str] = ()
) -> None:
    """Raise RigError if options of a stored run name a place that the user did not.

    `values` are options by name. `names` are registered names, which are not places. The options `models`
    name models, and the user has to name even registered ones.
    """
    places = [(option, place) for option, value in values.items() for place in _places(value)]
    for option in models:
        value = values.get(option)
        places += [(option, name) for name in (value if isinstance(value, list | tuple) else [value]) if name]
    if hidden := [(option, place) for option, place in places if place not in names and not _is_named(place)]:
        opened = " ".join(dict.fromkeys(f"--open {shlex.quote(place)}" for _, place in hidden))
        what = ", ".join(dict.fromkeys(option for option, _ in hidden))
        raise RigError(
            f"run {run} names files ({what}), and rig opens what a store names only if you name it, too:"
            f" begin with `rig {opened}`"
        )


def note_started(run: str, settings: Mapping[str, Any]) -> None:
    """Remember that a run was started here."""
    # If nothing can be remembered, the user has to name the files again.
    with suppress(OSError):
        _started_file().parent.mkdir(parents=True, exist_ok=True)
        with _started_file().open("a", encoding="ascii") as file:
            file.write(f"{_digest(run, settings)}\n")


def was_started_here(run: str, settings: Mapping[str, Any]) -> bool:
    """Return whether a run with these settings was started here."""
    try:
        with _started_file().open(encoding="ascii") as file:
            return any(line.strip() == _digest(run, settings) for line in file)
    except (OSError, ValueError):
        return False


def _is_named(place: str) -> bool:
    if server := _server(place):
        return server in _named
    path = real(expanded(place))
    return not _named.isdisjoint((path, *path.parents))


def _server(place: str) -> str:
    """Return the command or address of a server; empty for a file."""
    if place.startswith(COMMAND):
        return place
    return place.partition("#")[0].rstrip("/") if is_url(place) else ""


def _started_file() -> Path:
    return cache_directory() / "started-runs"


def _digest(run: str, settings: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps([run, settings], sort_keys=True, default=str).encode()).hexdigest()


def _places(value: Any) -> Iterator[str]:
    """Return the parts of a value that are servers or existing paths, as in `distilbert:DIR@0.5`."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _places(part)
    elif isinstance(value, str) and value.startswith(COMMAND):
        yield value
    elif isinstance(value, str | Path):
        for part in dict.fromkeys(_parts(str(value))):
            # Such as a name that no file can have.
            with suppress(OSError, ValueError):
                if part and (is_url(part) or expanded(part).exists()):
                    yield part


def _parts(text: str) -> Iterator[str]:
    """Return a text and what may be a path in it, as in `ROLE=PLACE`, `NAME=KIND:PLACE` or `PLACE@VALUE`."""
    value = text.partition("=")[2]
    if is_url(text) or is_url(value):
        yield text if is_url(text) else value
        return
    for begun in (text, value, text.partition(":")[2], value.partition(":")[2]):
        yield from (begun, begun.rpartition(":")[0], begun.rpartition("@")[0])

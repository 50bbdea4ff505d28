"""Read which servers a folder names, and how each is started: from `mcp.json`, or from a command.

A server never works on your own files: what its command names is copied into the folder first.
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias, get_args

from rig.calls import JsonObject
from rig.documents import DocumentPart, read
from rig.errors import RigError
from rig.files import write
from rig.opening import COMMAND

CONFIG = "mcp.json"
_PROGRAMS = (".js", ".mjs", ".cjs", ".ts", ".py", ".jar", ".rb", ".php", ".sh", ".exe", ".wasm")
"""Endings of files that are programs, not data to work on."""
_VARIABLE = re.compile(r"\$\{(?:env:)?(\w+)\}")
_SETTING = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)

Restart: TypeAlias = Literal["turn", "never", "replay"]
"""When a process is restarted: whenever a world is restored (`turn`); `never`, if its files are all it knows;
or whenever a world is restored, with the earlier calls made again (`replay`), if it keeps their effects in
memory.
"""


@dataclass(frozen=True)
class Server:
    """How a server is started, and the `state` that it works on, as paths in the folder.

    `unseen` are patterns of paths that are not compared. `volatile` are JSON pointers to parts of each tool's
    answers that are not compared. `listing` is the hash of what it lists, if that is known. `shared` are
    paths elsewhere that it may read.
    """

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    state: tuple[str, ...] = ()
    restart: Restart = "turn"
    seconds: float = 30.0
    unseen: tuple[str, ...] = ()
    volatile: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    listing: str = ""
    shared: tuple[str, ...] = ()


def read_config(folder: Path, *, is_started: bool = True) -> dict[str, Server]:
    """Read the servers in a folder's mcp.json, by name. Raises RigError, with the place.

    Variables may be missing if no server `is_started`.
    """
    file = folder / CONFIG
    document = read(file)[0]
    outer = document.fields()
    inner = next((outer[name] for name in ("mcpServers", "servers") if name in outer), None)
    if inner is None:
        raise document.fault("names no servers: needs `mcpServers`, an object with a server under each name")
    servers = {
        name: _server(name, part, folder, is_started)
        for name, part in inner.fields().items()
        if not ("disabled" in part.fields() and part.fields()["disabled"].flag())
    }
    if not servers:
        raise inner.fault("names no server")
    return servers


def _server(name: str, part: DocumentPart, folder: Path, is_started: bool) -> Server:
    fields = part.fields()
    if "command" not in fields:
        raise part.fault("needs a command; rig only speaks to servers that it starts itself, over stdio")
    env = fields["env"].fields() if "env" in fields and fields["env"].value else {}
    environment = {key: _filled(value, folder, is_started) for key, value in env.items()}
    args = [_filled(word, folder, is_started) for word in fields["args"].items()] if "args" in fields else []
    state = tuple(_inside(path) for path in fields["state"].items()) if "state" in fields else ()
    restart = fields["restart"].text() if "restart" in fields else "turn"
    if restart not in get_args(Restart):
        raise fields["restart"].fault(f"is one of {', '.join(get_args(Restart))}, not {restart!r}")
    seconds = fields["seconds"].value if "seconds" in fields else 30.0
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= 3600:
        raise fields["seconds"].fault("needs a number of seconds up to 3600")
    volatile = fields["volatile"].fields() if "volatile" in fields else {}
    shared = fields["shared"].texts() if "shared" in fields else []
    for word in (*args, *environment.values()):
        if (path := _worked_on(word, folder, state)) is not None and str(path) not in shared:
            raise part.fault(
                f"works on {path} itself; put a copy into {folder}, use its path there instead, and name it"
                f' in "state" (or in "shared", if the server only reads it)'
            )
    return Server(
        name,
        (_filled(fields["command"], folder, is_started), *args),
        environment,
        state,
        restart,  # type: ignore[arg-type]
        float(seconds),
        tuple(fields["ignore"].texts()) if "ignore" in fields else (),
        {tool: tuple(pointers.texts()) for tool, pointers in volatile.items()},
        fields["listing"].text() if "listing" in fields else "",
        tuple(shared),
    )


def _filled(part: DocumentPart, folder: Path, is_started: bool) -> str:
    """Return a text with each `${…}` replaced by the folder or an environment variable. Raises RigError."""
    text = part.text().replace("${workspaceFolder}", str(folder))
    for name in _VARIABLE.findall(text):
        if is_started and name not in os.environ:
            raise part.fault(f"${{{name}}} is not set in your environment; set it, or write its value")
    return _VARIABLE.sub(lambda match: os.environ.get(match[1], match[0]), text)


def _inside(part: DocumentPart) -> str:
    path = PurePosixPath(part.text())
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise part.fault(f"{part.text()!r}: `state` has paths in this folder")
    return path.as_posix()


def _worked_on(word: str, folder: Path, state: tuple[str, ...]) -> Path | None:
    """Return the file or folder that a word of a command names as data; None if none outside the state."""
    value = word.rpartition("=")[2] if word.startswith("-") else word
    if not value or value.startswith("$STATE"):
        return None
    place = folder / value
    path = os.path.relpath(place, folder)
    if any(path == name or path.startswith(f"{name}/") for name in state):
        return None
    try:
        is_file = place.is_file() and not value.endswith(_PROGRAMS) and not os.access(place, os.X_OK)
        return place if is_file or place.is_dir() else None
    except (OSError, ValueError):
        return None


def own_path(word: str, folder: Path, state: tuple[str, ...], root: Path) -> str:
    """Return a word of a command for a server whose state is at `root`.

    Paths in the state, such as `./data` or `--db=data/x`, point there; programs keep their place.
    """
    option, equals, value = word.rpartition("=") if word.startswith("-") else ("", "", word)
    path = os.path.relpath(folder / value, folder) if value else ""
    if any(path == name or path.startswith(f"{name}/") for name in state):
        return f"{option}{equals}{root / path}"
    if value and not os.path.isabs(value) and (folder / value).is_file():
        value = str(folder / value)
    return f"{option}{equals}{value}".replace("$STATE", str(root))


def server_of(text: str, folder: Path) -> tuple[Server, dict[str, Path]]:
    """Return the server of `mcp:COMMAND`, and by name the files and folders to copy as its state.

    Words of the form `NAME=VALUE` before the command are its environment. Raises RigError.
    """
    try:
        words = shlex.split(text.removeprefix(COMMAND))
    except ValueError as error:
        raise RigError(f"{text}: {error}; quote the command as a shell takes it") from error
    environment: dict[str, str] = {}
    while words and _SETTING.fullmatch(words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    if not words:
        raise RigError(
            f"{text}: names no program; for example mcp:npx -y @modelcontextprotocol/server-memory"
        )
    copied: dict[str, Path] = {}

    def copy(word: str) -> str:
        place = _worked_on(word, folder, ())
        if place is None:
            # A program is started from elsewhere.
            return str(folder / word) if not word.startswith("-") and (folder / word).is_file() else word
        place = Path(os.path.abspath(place))
        name = place.name or "root"
        while copied.get(name, place) != place:
            name = f"{name}-2"
        copied[name] = place
        return f"{word.rpartition('=')[0]}={name}" if word.startswith("-") and "=" in word else name

    args = [copy(word) for word in words[1:]]
    environment = {key: copy(value) for key, value in environment.items()}
    state = tuple(copied)
    program = copy(words[0]) if "/" in words[0] else words[0]
    return Server(_name(words), (program, *args), environment, state), copied


def _name(words: list[str]) -> str:
    """Return a short name for a server, from its package or else its program."""
    plain = [word for word in words if not word.startswith("-")]
    launches = Path(plain[0]).name in ("npx", "uvx", "node", "python", "python3")
    word = plain[1] if launches and plain[1:] else plain[0]
    general = ("dist", "build", "src", "/", "bin", "index.js")
    parts = [part for part in Path(word).parts if part not in general]
    name = re.sub(r"@[^/@]*$|\.\w+$", "", parts[-1] if parts else "server")
    name = re.sub(r"^(mcp-server-|server-|mcp-)|(-mcp-server|-mcp|-server)$", "", name)
    return re.sub(r"\W", "_", name) or "server"


def write_config(folder: Path, servers: Mapping[str, Server], copied: Mapping[str, Path]) -> None:
    """Write mcp.json and the state that it names into a folder. Raises RigError."""
    try:
        for name, place in copied.items():
            if place.is_dir():
                shutil.copytree(place, folder / name, symlinks=True)
            else:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(place, folder / name)
    except (OSError, shutil.Error) as error:
        raise RigError(f"{folder}: the state cannot be copied: {error}") from error
    default = asdict(Server("", ()))
    keys = {"environment": "env", "unseen": "ignore"}
    config: JsonObject = {}
    for server in servers.values():
        fields = ((name, value) for name, value in asdict(server).items() if value != default[name])
        further = {keys.get(name, name): value for name, value in fields if name not in ("name", "command")}
        config[server.name] = {"command": server.command[0], "args": server.command[1:], **further}
    text = json.dumps({"mcpServers": config}, indent=2, ensure_ascii=False)
    write(f"{text}\n", folder / CONFIG, force=True, folders=True)

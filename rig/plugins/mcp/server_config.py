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

from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.files import read_text, write
from rig.core.opening import COMMAND
from rig.plugins.documents.documents import DocumentPart, from_json

CONFIG = "mcp.json"
_PROGRAMS = (".js", ".mjs", ".cjs", ".ts", ".py", ".jar", ".rb", ".php", ".sh", ".exe", ".wasm")
"""Endings of files that are programs, not data to work on."""
_NAMES = ("mcpServers", "servers", "context_servers")
"""What Claude, Cursor, Cline and LM Studio call the servers; what VS Code does; what Zed does."""
_URLS = ("url", "serverUrl", "httpUrl")
_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_COMMENT = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|//[^\n]*|/\*(?:.*?\*/|.*\Z)', re.DOTALL)
_TRAILING = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|,(?=\s*[}\]])', re.DOTALL)
"""A text, which stays, or what JSON does not have: a comment, or a comma after the last item."""
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
    start_seconds: float = 60.0


def read_config(folder: Path, *, is_started: bool = True) -> dict[str, Server]:
    """Read the servers in a folder's mcp.json, by name. Raises RigError, with the place.

    Servers that are disabled or behind a URL are left out. Variables may be missing unless one `is_started`.
    """
    inner = _entries(folder)
    servers = {
        name: _server(name, part, folder, is_started)
        for name, part in inner.fields().items()
        if not (_is_disabled(part) or _is_remote(part))
    }
    if not servers:
        text = " that rig can start: a server needs a command and speaks over stdio" if remote(folder) else ""
        raise inner.fault(f"names no server{text}")
    return servers


def remote(folder: Path) -> list[str]:
    """Return the names of the servers in a folder's mcp.json that are behind a URL. Raises RigError."""
    parts = _entries(folder).fields()
    return [name for name, part in parts.items() if not _is_disabled(part) and _is_remote(part)]


def _entries(folder: Path) -> DocumentPart:
    """Return the object that holds the servers, in whatever form an editor writes it. Raises RigError."""
    file = folder / CONFIG
    text = read_text(file).removeprefix("\ufeff")
    for pattern in (_COMMENT, _TRAILING):
        text = pattern.sub(lambda match: match[1] or " " + "\n" * match[0].count("\n"), text)
    document = DocumentPart(from_json(text, str(file)), file)
    outer = document.fields()
    if "mcp" in outer:  # in the settings of VS Code
        outer |= outer["mcp"].fields()
    inner = next((outer[name] for name in _NAMES if name in outer), None)
    if inner is None:
        raise document.fault("names no servers: needs `mcpServers`, an object with a server under each name")
    return inner


def _is_disabled(part: DocumentPart) -> bool:
    fields = part.fields()
    return ("disabled" in fields and fields["disabled"].flag()) or (
        "enabled" in fields and not fields["enabled"].flag()
    )


def _is_remote(part: DocumentPart) -> bool:
    fields = part.fields()
    return "command" not in fields and any(name in fields for name in _URLS)


def _server(name: str, part: DocumentPart, folder: Path, is_started: bool) -> Server:
    fields = {key: value for key, value in part.fields().items() if value.value is not None}
    if "command" not in fields:
        raise part.fault("needs a command; rig only speaks to servers that it starts itself, over stdio")
    command = fields["command"]
    if isinstance(command.value, dict):  # Zed's older form
        inner = command.fields()
        fields = {**fields, **inner}
        if "path" not in inner:
            raise command.fault("needs a path")
        command = inner["path"]
    words = list(command.items()) if isinstance(command.value, list) else [command]
    words += fields["args"].items() if "args" in fields else ()
    program, *args = [_filled(word, folder, is_started) for word in words] or [""]
    if not program:
        raise command.fault("needs the name or path of a program")
    environment = _environment(fields, folder, is_started)
    state = tuple(_inside(path) for path in fields["state"].items()) if "state" in fields else ()
    restart = fields["restart"].text() if "restart" in fields else "turn"
    if restart not in get_args(Restart):
        raise fields["restart"].fault(f"is one of {', '.join(get_args(Restart))}, not {restart!r}")
    volatile = fields["volatile"].fields() if "volatile" in fields else {}
    shared = fields["shared"].texts() if "shared" in fields else []
    if "cwd" in fields:
        # Its files are found from there; it works in the folder of its state nevertheless.
        base = folder / _filled(fields["cwd"], folder, is_started)
        args = [str(base / word) if (base / word).is_file() else word for word in args]
    for word in (*args, *environment.values()):
        if (path := _worked_on(word, folder, state)) is not None and str(path) not in shared:
            raise part.fault(
                f"works on {path} itself; put a copy into {folder}, use its path there instead, and name it"
                f' in "state" (or in "shared", if the server only reads it)'
            )
    return Server(
        name,
        (program, *args),
        environment,
        state,
        restart,  # type: ignore[arg-type]
        _seconds(fields, "seconds", 30.0),
        tuple(fields["ignore"].texts()) if "ignore" in fields else (),
        {tool: tuple(pointers.texts()) for tool, pointers in volatile.items()},
        fields["listing"].text() if "listing" in fields else "",
        tuple(shared),
        _seconds(fields, "start_seconds", 60.0),
    )


def _seconds(fields: Mapping[str, DocumentPart], name: str, default: float) -> float:
    value = fields[name].value if name in fields else default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 3600:
        raise fields[name].fault("needs a number of seconds up to 3600")
    return float(value)


def _environment(fields: Mapping[str, DocumentPart], folder: Path, is_started: bool) -> dict[str, str]:
    """Return what `envFile` and `env` name, where `env` wins. Raises RigError, with the place."""
    environment: dict[str, str] = {}
    if "envFile" in fields and is_started:
        file = folder / _filled(fields["envFile"], folder, is_started)
        for line in read_text(file).splitlines():
            name, equals, value = line.strip().removeprefix("export ").partition("=")
            if equals and re.fullmatch(r"\w+", name.strip()):
                value = value.strip()
                is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
                environment[name.strip()] = value[1:-1] if is_quoted else value
    named = fields["env"].fields() if "env" in fields else {}
    return environment | {
        key: _filled(value, folder, is_started) for key, value in named.items() if value.value is not None
    }


def _filled(part: DocumentPart, folder: Path, is_started: bool) -> str:
    """Return a text with each `${…}` replaced by what it stands for. Raises RigError.

    A number, true and false are texts as JSON writes them.
    """
    value = part.value
    text = value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, dict | list | None) or "\0" in text:
        raise part.fault("needs a text without null characters")
    places = {
        "workspaceFolder": str(folder),
        "userHome": str(Path.home()),
        "pathSeparator": os.sep,
        "/": os.sep,
    }

    def filled(match: re.Match[str]) -> str:
        name = match[1]
        if name in places:
            return places[name]
        kind, _, rest = name.partition(":")
        variable, _, default = (rest if kind == "env" else name).partition(":-")
        if re.fullmatch(r"\w+", variable):
            value = os.environ.get(variable, default or None)
            if value is None and is_started:
                raise part.fault(f"{match[0]} is not set in your environment; set it, or write its value")
            return match[0] if value is None else value
        if not is_started:
            return match[0]
        example = re.sub(r"\W", "_", rest or name).upper()
        why = "which your editor asks you for" if kind == "input" else "which rig does not know"
        raise part.fault(f"{match[0]}, {why}; write ${{env:{example}}}, and set that in your environment")

    return _VARIABLE.sub(filled, text)


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
    except (OSError, shutil.Error, RecursionError) as error:
        reason = "its folders lie too deep" if isinstance(error, RecursionError) else str(error)
        raise RigError(f"{folder}: the state cannot be copied: {reason}") from error
    default = asdict(Server("", ()))
    keys = {"environment": "env", "unseen": "ignore"}
    config: JsonObject = {}
    for server in servers.values():
        fields = ((name, value) for name, value in asdict(server).items() if value != default[name])
        further = {keys.get(name, name): value for name, value in fields if name not in ("name", "command")}
        config[server.name] = {"command": server.command[0], "args": server.command[1:], **further}
    text = json.dumps({"mcpServers": config}, indent=2, ensure_ascii=False)
    write(f"{text}\n", folder / CONFIG, force=True, folders=True)

"""MCP servers as a toolbox: of a command (`mcp:COMMAND`), or of a folder with `mcp.json`.

Nothing is started until a tool is called, or a listing is needed. docs/how-to/mcp.md shows how it is used.
"""

import atexit
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import gettempdir

from rig.config.schemes import Scheme, ServerUse
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import read_bytes, temporary_folder
from rig.core.paths import real
from rig.plugins.documents.documents import DocumentPart
from rig.plugins.mcp.cassette import Cassette, redactor, restorer
from rig.plugins.mcp.isolation import sandbox
from rig.plugins.mcp.server_config import CONFIG, Server, read_config, remote, server_of, write_config
from rig.plugins.mcp.server_world import Servers, ServerWorld, sha256_of_listing
from rig.plugins.own_tools.listing import NAME, Listing, listing_of, read_listing
from rig.world.spec import FREE_TEXT
from rig.world.toolbox import Toolbox
from rig.world.world import World

CASSETTE = "calls.jsonl"


def holds_servers(place: Path) -> bool:
    """Return whether a folder names servers."""
    names = (b'"command"', b'"url"', b'"serverUrl"', b'"httpUrl"')
    return (place / CONFIG).is_file() and any(name in read_bytes(place / CONFIG) for name in names)


def load_servers(place: Path, use: ServerUse, suites: tuple[Path, ...], sha256: str, file: Path) -> Toolbox:
    """Load the toolbox of a folder with mcp.json; `sha256` is the folder's hash. Raises RigError, with the
    place.

    The tools are read from `file` (tools.json) if it exists; otherwise from the cassette or the servers.
    """
    config = read_config(place, is_started=use.answers != "replay")
    cassette = None
    if use.answers != "live":
        if not (place / CASSETTE).is_file():
            raise RigError(f"{place / CASSETTE}: no such file; `rig tools record {place}` makes it")
        cassette = Cassette.read(place / CASSETTE)
    hidden = _hidden(config)
    way = use.answers, use.network, cassette, redactor(hidden, use.redacted), restorer(hidden)
    servers = Servers(place, config, _folder_once(), *way)
    if file.is_file():
        listing = read_listing(file)
    elif cassette is not None:
        listed = {name: of["tools"] for name, of in cassette.listings.items()}
        listing = _declared(place / CASSETTE, listed)
    else:
        listing = _asked(servers, place / CONFIG)
    far = (f"the server {name} is behind a URL, and rig only starts its own" for name in remote(place))
    listing = replace(listing, left_out=(*far, *listing.left_out))
    return _toolbox(place.name, servers, listing, suites, sha256)


def of_command(text: str, use: ServerUse) -> Toolbox:
    """Return the toolbox of `mcp:COMMAND`, on copies of the files and folders it names. Raises RigError."""
    servers, _ = _of_command(text, use)
    listing = _asked(servers, Path(text))
    content = json.dumps([text, [tool.as_json() for tool in listing.tools]])
    (name,) = servers.servers
    return _toolbox(name, servers, listing, (), hashlib.sha256(content.encode()).hexdigest())


def imported(text: str, use: ServerUse, folder: Path) -> tuple[Listing, Callable[[], None]]:
    """Return the tools of `mcp:COMMAND`, and a function that writes mcp.json and state. Raises RigError."""
    servers, copied = _of_command(text, use)
    listing = _asked(servers, Path(text))
    pinned = {
        name: replace(server, listing=sha256_of_listing(servers.listings[name]))
        for name, server in servers.servers.items()
    }
    return listing, partial(write_config, folder, pinned, copied)


def _of_command(text: str, use: ServerUse) -> tuple[Servers, Mapping[str, Path]]:
    """Return the servers of a command, on a copy of what it names, and the copied paths by their names."""
    if use.answers != "live":
        raise RigError(
            "--servers needs what was recorded, which is in a folder; begin with `rig tools import`"
        )
    server, copied = server_of(text, Path.cwd())
    folder = _folder_once()
    write_config(folder() / "box", {server.name: server}, copied)
    return Servers(folder() / "box", {server.name: server}, folder, network=use.network), copied


class Mcp(Scheme):
    """Toolboxes whose tools are those of MCP servers."""

    name = "mcp"
    marker = CONFIG

    def toolbox(self, text: str, use: ServerUse) -> Toolbox:
        return of_command(text, use)

    def holds(self, folder: Path) -> bool:
        return holds_servers(folder)

    def toolbox_of(
        self, folder: Path, use: ServerUse, suites: tuple[Path, ...], sha256: str, listing: Path
    ) -> Toolbox:
        return load_servers(folder, use, suites, sha256, listing)


MCP = Mcp()


def servers_of(toolbox: Toolbox) -> Servers | None:
    """Return the servers of a toolbox; None if it has none."""
    return toolbox.servers if isinstance(toolbox, _ServerToolbox) else None


def record_into(servers: Servers) -> Cassette:
    """Record the calls made from now on in the worlds of these servers, and return that cassette."""
    _asked(servers, servers.folder / CONFIG)
    listings = {name: {"name": name, **of._asdict()} for name, of in servers.listings.items()}
    world = ServerWorld(servers)
    servers.recording = Cassette(listings, world.state)
    world.close()
    return servers.recording


class _ServerToolbox(Toolbox):
    servers: Servers


def _toolbox(name: str, servers: Servers, listing: Listing, suites: tuple[Path, ...], sha256: str) -> Toolbox:
    tools = listing.tools
    first = next(iter(servers.servers))
    routes = {of.name: replace(of, server=of.server or first, tool=of.tool or of.name) for of in tools}
    for tool, route in routes.items():
        if route.server not in servers.servers:
            raise RigError(
                f"{servers.folder / CONFIG}: there is no server {route.server}, whose tool is {tool}"
            )
    servers.routes = routes
    toolbox = _ServerToolbox(
        name,
        [tool.made(name, partial(_call, tool.name)) for tool in tools],
        new_world=partial(ServerWorld, servers),
        suites=suites,
        texts=(FREE_TEXT,),
        sha256=sha256,
        fingerprint=_fingerprint(servers),
        left_out=listing.left_out,
    )
    toolbox.servers = servers
    return toolbox


def _call(tool: str, world: World, /, **arguments: Json) -> Json:
    assert isinstance(world, ServerWorld)
    return world.call(tool, arguments)


def _fingerprint(servers: Servers) -> JsonObject:
    """Return what can change an answer besides the folder's files: who answers, and from what."""
    parts: JsonObject = {"servers": servers.answers}
    if servers.cassette is not None:
        parts["cassette_sha256"] = hashlib.sha256(read_bytes(servers.folder / CASSETTE)).hexdigest()
    if servers.answers != "replay":
        _, left = sandbox(network=servers.network)
        listed = {name: sha256_of_listing(of) for name, of in servers.listings.items()}
        pinned = {name: server.listing for name, server in servers.servers.items()}
        parts["server_network"] = "open" if "network" in left else "none"
        parts["server_writes"] = "anywhere" if "writes" in left else "own files"
        parts["server_reads"] = "anywhere" if "reads" in left else "programs and own files"
        parts["listing_sha256"] = ", ".join(f"{name} {(pinned | listed)[name]}" for name in servers.servers)
        world = ServerWorld(servers)
        parts["state_sha256"] = world.state
        world.close()
    return parts


def _hidden(config: Mapping[str, Server]) -> dict[str, str]:
    """Return the values in the servers' environments to keep out of cassettes: all but paths of the state."""
    named = ((name, value) for server in config.values() for name, value in server.environment.items())
    paths = {path for server in config.values() for path in server.state}
    return {name: of for name, of in named if of.removeprefix("./") not in paths and "$STATE" not in of}


def _asked(servers: Servers, place: Path) -> Listing:
    """Start the servers and return the tools they list. `place` is named in messages about faults."""
    world = ServerWorld(servers)
    world.list_tools()
    world.close()
    return _declared(place, {name: of.tools for name, of in servers.listings.items()})


def _declared(file: Path, listed: Mapping[str, Sequence[Json]]) -> Listing:
    """Read the tools of servers, under names that are unique and that rig accepts."""
    every = ((server, tool) for server, of_server in listed.items() for tool in of_server)
    names = Counter(str(tool.get("name")) for _, tool in every if isinstance(tool, dict))
    used: dict[str, int] = {}
    tools: list[Json] = []
    for server, of_server in listed.items():
        for tool in of_server:
            if not isinstance(tool, dict):
                tools.append(tool)  # What is no tool is left out below, and that is said.
                continue
            own = str(tool.get("name"))
            name = _name(own if names[own] == 1 or len(listed) == 1 else f"{server}.{own}", used)
            schema = tool.get("inputSchema")
            tools.append(
                {
                    "name": name,
                    "description": tool["description"] if isinstance(tool.get("description"), str) else "",
                    "inputSchema": {} if schema is None else schema,
                    "annotations": tool.get("annotations"),
                    "server": server,
                    **({"tool": own} if own != name else {}),
                }
            )
    return listing_of(DocumentPart({"tools": tools}, file))


def _name(text: str, used: dict[str, int]) -> str:
    """Return a name for a tool that rig accepts and no other tool has."""
    own = name = "".join(letter if NAME.fullmatch(letter) else "_" for letter in text)[:190] or "_"
    while own in used:
        used[name] += 1
        own = f"{name}_{used[name]}"
    used[own] = 1
    return own


@cache
def _folders() -> ExitStack:
    """The temporary folders, which are removed when rig ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack


def _folder_once() -> Callable[[], Path]:
    """Return a function that makes a folder for the files of servers when it is first called.

    No part of its path begins with a dot, since some servers refuse hidden paths.
    """

    @cache
    def folder() -> Path:
        places = (real(Path(place)) for place in (gettempdir(), "/var/tmp", "/tmp"))
        plain = [place for place in places if place.is_dir() and not re.search(r"/\.", str(place))]
        directory = plain[0] if plain else Path(gettempdir())
        return real(_folders().enter_context(temporary_folder(directory, "rig-servers", hidden=False)))

    return folder

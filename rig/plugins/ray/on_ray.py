"""Ray: what runs in each actor, how many there is room for, and how to call them.

This is the only file that imports Ray. A model's file is found on a node by its SHA-256, or sent once through
the object store.

A cluster of this machine listens on the loopback interface alone and requires a token that only its own
processes have. Its session folder names the process that began it; the next cluster removes the folders of
those that were killed.
"""

import faulthandler
import os
import secrets
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shutil import rmtree
from socket import create_connection
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from rig.core.calls import Json
from rig.core.errors import RigError, counted
from rig.core.files import put_in_place, started_s, temporary_folder
from rig.core.models import Model, Notify, Piece, Prediction, Request
from rig.core.paths import cache_directory, models_directory
from rig.plugins import llama
from rig.plugins.llama.files.caches import sha256_of
from rig.plugins.served.wire.address import is_loopback

if TYPE_CHECKING:
    import psutil

PATIENCE_S = 0.1
"""The seconds that an actor works before it returns what it has, so the live view shows text this often."""
PART = 256 * 2**20
"""The bytes of a file that are sent in one piece."""
Progress = tuple[list[tuple[int, Piece]], list[tuple[int, Prediction]]]
"""New text and finished steps, each by slot."""
MOST = 1_024
"""The most actors of a cluster."""
ANSWERS_S = 10.0
"""The seconds in which a cluster must accept a connection."""

_RESOURCES = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}
"""Ray's names for the needs of an actor when it lists what is free."""
_RAY = "ray"
_LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""If this is 0, Ray uses the loopback address for everything, as on Windows and macOS."""


def disconnect() -> None:
    """Disconnect from Ray if this process is connected, and end a cluster that it began.

    Otherwise such a cluster would be killed with the thread that began it, and leave processes behind.
    """
    if "ray" not in sys.modules:
        return
    sys.modules["ray"].shutdown()
    for session in _sessions():
        if _pid(session) == os.getpid():
            rmtree(session, ignore_errors=True)
    latest = _own_folder() / _RAY / "session_latest"
    if not latest.exists():
        latest.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Weights:
    """A model file on the machine that runs rig."""

    path: Path
    sha256: str
    size: int

    @classmethod
    def of(cls, path: Path) -> "Weights":
        """Return the file at a path. Raises RigError if it cannot be read."""
        return cls(path.absolute(), sha256_of(path), path.stat().st_size)

    def parts(self) -> Iterator[bytes]:
        """Yield the file's content, piece by piece."""
        with self.path.open("rb") as file:
            while part := file.read(PART):
                yield part

    def find(self) -> Path | None:
        """Return where the file is on this machine: at its own path, among the models, or as it was sent."""
        folders = (models_directory(), self._sent.parent)
        others = (path for folder in folders if folder.is_dir() for path in sorted(folder.glob("*.gguf")))
        for path in (self.path, *others):
            if path.is_file() and path.stat().st_size == self.size and sha256_of(path) == self.sha256:
                return path
        return None

    def keep(self, parts: Iterable[bytes]) -> Path:
        """Write the parts that were sent and return the file's path. Raises RigError if they are damaged."""
        with temporary_folder(self._sent.parent, "sent") as folder:
            copy = folder / self._sent.name
            with copy.open("wb") as file:
                file.writelines(parts)
            if sha256_of(copy, fresh=True) != self.sha256:
                raise RigError(f"{self.path.name}: arrived damaged; start the run again")
            put_in_place(copy, self._sent)
        return self._sent

    @property
    def _sent(self) -> Path:
        return cache_directory() / "sent" / self.sha256 / self.path.name


class Worker:
    """A model in its own process, with the pieces of text that nobody has fetched yet."""

    def __init__(self, load: Callable[..., Model], weights: Weights | None) -> None:
        self._load = load
        self._weights = weights
        self._pieces: list[tuple[int, Piece]] = []

    def process(self) -> int:
        """Return the id of this process on its machine."""
        return os.getpid()

    def lacks_weights(self) -> bool:
        """Return whether the model's file has to be sent here."""
        return self._weights is not None and self._weights.find() is None

    def keep(self, *parts: bytes) -> None:
        """Store the model's file."""
        assert self._weights is not None
        self._weights.keep(parts)

    def load(self) -> tuple[str, list[str]]:
        """Load the model. Return its name, and notes for people."""
        notes: list[str] = []
        if self._weights is None:
            self._model = self._load(notes.append)
        else:
            self._model = self._load(self._weights.find(), notify=notes.append)
        return self._model.name, notes

    def prepare(
        self, opening: Request, slots: int | None, before: Mapping[str, Json] | None
    ) -> tuple[dict[str, Json], int]:
        """Prepare the model. Return its fingerprint and its number of slots."""
        self._model.prepare(opening, slots, before)
        return dict(self._model.fingerprint), self._model.slots

    def obstacle(self, opening: Request) -> str | None:
        """Return why no prompt that begins like this can be answered; None if it can."""
        return self._model.obstacle(opening)

    def advance(self, begun: Sequence[tuple[int, Request]]) -> Progress:
        """Begin steps, by slot, and continue all current ones until there is something to return."""
        for slot, request in begun:
            self._model.begin(slot, request, partial(self._listen, slot))
        until = monotonic() + PATIENCE_S
        finished: list[tuple[int, Prediction]] = []
        while not finished and monotonic() < until:
            finished = self._model.advance()
        pieces, self._pieces = self._pieces, []
        return pieces, finished

    def _listen(self, slot: int, piece: Piece) -> None:
        self._pieces.append((slot, piece))


class WorkerLost(Exception):
    """An actor has ended, or its machine has."""


class RayCluster:
    """The part of a Ray cluster's functions that a model in several actors needs."""

    def __init__(self, load: Callable[[Notify], Model], address: str, notify: Notify) -> None:
        self._ray = _connected(address, notify)
        self._is_local = not address
        self._load: Callable[..., Model] = load
        self._weights: Weights | None = None
        self._sent: list[Any] = []
        self._needs: dict[str, float] = {"num_cpus": 1}
        if isinstance(load, partial) and load.func is llama.load:
            path, settings, name = load.args
            self._weights = Weights.of(path)
            self._load = partial(llama.load, settings=settings, name=name)
            self._needs = {"num_cpus": settings.n_threads, "memory": 1.2 * self._weights.size}
            if settings.n_gpu_layers != 0 and self._ray.cluster_resources().get("GPU"):
                self._needs = {"num_gpus": 1, "num_cpus": 1}

    def spawn(self, notify: Notify, *, patience_s: float) -> tuple[str, list[Any]]:
        """Return the model's name, and actors that have loaded it: as many as there is room for.

        Raises RigError if there is room for none.
        """
        count = self._room(patience_s)
        kind = self._ray.remote(**self._needs)(Worker)
        actors = [kind.remote(self._load, self._weights) for _ in range(count)]
        try:
            for actor in actors:
                if self._weights and self.result(actor.lacks_weights.remote()):
                    # The file is put into the object store once for all actors that lack it.
                    self._sent = self._sent or [self._ray.put(part) for part in self._weights.parts()]
                    self.result(actor.keep.remote(*self._sent))
            if self._is_local:
                _check_listeners(self._ray)
            loaded = [self.result(call) for call in [actor.load.remote() for actor in actors]]
        except WorkerLost:
            raise RigError("a Ray actor was lost while it loaded its model; start again") from None
        name, notes = loaded[0]
        for note in notes:
            notify(note)
        notify(f"{name}: in {counted(count, 'Ray actor')}")
        return name, actors

    def call(self, actor: Any, name: str, *values: Any) -> Any:
        """Begin a call of an actor and return it, for `result`."""
        return getattr(actor, name).remote(*values)

    def first(self, calls: Sequence[Any], patience_s: float) -> Any | None:
        """Return one of these calls that has ended; None if none has."""
        ended, _ = self._ray.wait(list(calls), num_returns=1, timeout=patience_s)
        return ended[0] if ended else None

    def result(self, call: Any) -> Any:
        """Return the result of a call. Raises WorkerLost, and whatever the call raised."""
        try:
            return self._ray.get(call)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None
        except self._ray.exceptions.RayError as error:
            raise WorkerLost(str(error)) from None

    def end(self, actor: Any) -> None:
        self._ray.kill(actor)

    def _room(self, patience_s: float) -> int:
        until = monotonic() + patience_s
        while True:
            free = self._ray._private.state.available_resources_per_node().values()
            count = min(sum(actors_on(node, self._needs) for node in free), MOST)
            if count:
                return count
            if monotonic() >= until:
                needs = ", ".join(f"{name} {value:g}" for name, value in self._needs.items())
                raise RigError(f"no node of the cluster has room for an actor ({needs}); see `ray status`")
            sleep(0.2)


def actors_on(node: Mapping[str, float], needs: Mapping[str, float]) -> int:
    """Return how many actors with these needs a node has room for."""
    return int(min(node.get(_RESOURCES[name], 0) // need for name, need in needs.items()))


def _connected(address: str, notify: Notify) -> Any:
    """Return Ray, connected to a cluster. Raises RigError if that is not possible."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if not address:
        os.environ[_LOOPBACK] = "0"
        if "RAY_AUTH_MODE" not in os.environ:
            os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        import ray
    except ImportError:
        raise RigError("--on ray needs Ray; install it with `pip install ray`") from None
    if ray.is_initialized():
        return ray
    if sys.__stderr__ and not faulthandler.is_enabled():
        # Ray would pass sys.stderr, which the live view has replaced by something that is not a file.
        faulthandler.enable(sys.__stderr__, all_threads=False)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    # Otherwise Ray prints about lost nodes to the terminal, which `Workers` reports already.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    try:
        if address:
            host, _, port = address.rpartition(":")
            if host and "/" not in host and port.isdecimal():  # Ray itself would go on trying for minutes
                create_connection((host.strip("[]"), int(port)), timeout=ANSWERS_S).close()
            ray.init(address=address, **quiet)
            notify(f"--on ray:{address}: {openness(os.environ)}")
        else:
            ray.init(address="local", include_dashboard=False, _temp_dir=str(_session_folder()), **quiet)
            _check_listeners(ray)
    except RigError:
        disconnect()
        raise
    except Exception as error:  # Ray also raises plain ones if it starts too slowly
        disconnect()
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        where = f"ray:{address}: no cluster answers" if address else "ray: Ray does not start on this machine"
        raise RigError(f"--on {where}: {reason}; see `rig docs cluster`") from None
    return ray


def openness(environment: Mapping[str, str]) -> str:
    """Describe who can reach a cluster that listens on the network, given Ray's security settings."""
    has_token = environment.get("RAY_AUTH_MODE") == "token"
    is_encrypted = environment.get("RAY_USE_TLS", "").lower() in ("1", "true")
    if has_token and is_encrypted:
        return "its ports take a token (RAY_AUTH_MODE) and are encrypted (RAY_USE_TLS)"
    who = "whoever has the token" if has_token else "whoever reaches its ports"
    reads = "" if is_encrypted else ", and whoever sees the network can read all of it"
    missing = [] if has_token else ["a token (RAY_AUTH_MODE=token)"]
    missing += [] if is_encrypted else ["encryption (RAY_USE_TLS=1)"]
    return f"{who} can run code there{reads}; Ray offers {' and '.join(missing)}, see `rig docs cluster`"


def _check_listeners(ray: Any) -> None:
    """Raise RigError, and end the cluster, unless its processes listen on the loopback interface alone.

    The processes are this one and its children.
    """
    import psutil

    this = psutil.Process()
    try:
        processes = (this, *this.children(recursive=True))
        reachable = sorted(
            {f"{process.name()} at {address}" for process in processes for address in _listeners(process)}
        )
    except psutil.Error as error:
        reachable = [f"what it listens on cannot be seen ({type(error).__name__})"]
    if reachable:
        ray.shutdown()
        raise RigError(
            f"--on ray: Ray listens beyond this machine ({', '.join(reachable[:3])}), so it was ended;"
            " give the address of a cluster that you trust the network of (`rig docs cluster`)"
        )


def _listeners(process: "psutil.Process") -> Iterator[str]:
    """Yield the addresses off the loopback interface at which a process listens; none if it has ended."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        for connection in process.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and not is_loopback(connection.laddr.ip):
                yield f"{connection.laddr.ip}:{connection.laddr.port}"


def _sessions() -> list[Path]:
    """Return the folders of the clusters that rig began for this user on this machine."""
    return list((_own_folder() / _RAY).glob("session_*_*"))


def _own_folder() -> Path:
    # Ray's sockets are in there, whose paths must be short.
    return Path(tempfile.gettempdir()) / f"rig-ray-{os.getuid()}"


def _session_folder() -> Path:
    """Return where Ray keeps its session, after removing those of processes that are gone.

    Ray lets everybody write there, even to its sockets, so it is in a folder that only this user can enter.
    Raises RigError if that folder is somebody else's.
    """
    folder = _own_folder()
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise RigError(f"{folder}: belongs to another user; remove it, or set TMPDIR")
    folder.chmod(0o700)
    for session in _sessions():
        if started_s(_pid(session)) is None and not session.is_symlink():
            rmtree(session, ignore_errors=True)
    return folder / _RAY


def _pid(session: Path) -> int:
    """Return the process that began a session: 25760 in `session_2026-11-24_22-20-12_258272_25760`."""
    number = session.name.rpartition("_")[2]
    return int(number) if number.isdecimal() else 0

"""Ray: how many actors there is room for, and how to call them. The only file that imports it."""

import faulthandler
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from socket import create_connection
from time import monotonic, sleep
from typing import Any

from rig import engine
from rig.cluster.crew import Crew, Lost
from rig.cluster.hosted import Hosted
from rig.cluster.weights import Weights
from rig.errors import RigError
from rig.models import Model, Notify
from rig.words import counted

MOST = 1_024
"""Actors at most."""

ANSWERS_S = 10.0
"""How many seconds a cluster may take to accept a connection."""


def placed(load: Callable[[Notify], Model], where: str) -> Callable[[Notify], Model]:
    """What loads the same model in actors of Ray, as in `ray` or `ray:ADDRESS`. Raises RigError for others.

    `ray` alone is a cluster of this machine, which ends with the run.
    """
    kind, _, address = where.partition(":")
    if kind != "ray":
        raise RigError(f"--on {where}: give ray, or ray:ADDRESS of a cluster that is running")
    return partial(_crew, load, address)


def leave() -> None:
    """Disconnect from Ray where this process is connected, and end a cluster that it began.

    Otherwise such a cluster would be killed with the thread that began it, and leave processes behind.
    """
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


def _crew(load: Callable[[Notify], Model], address: str, notify: Notify) -> Model:
    return Crew(OnRay(load, address), notify)


class OnRay:
    """A cluster, as far as a crew needs it."""

    def __init__(self, load: Callable[[Notify], Model], address: str) -> None:
        self._ray = _connected(address)
        self._load: Callable[..., Model] = load
        self._weights: Weights | None = None
        self._sent: list[Any] = []
        self._needs: dict[str, float] = {"num_cpus": 1}
        if isinstance(load, partial) and load.func is engine.load:
            path, settings, name = load.args
            self._weights = Weights.of(path)
            self._load = partial(_load_file, settings=settings, name=name)
            self._needs = {"num_cpus": settings.n_threads, "memory": 1.2 * self._weights.size}
            if settings.n_gpu_layers != 0 and self._ray.cluster_resources().get("GPU"):
                self._needs = {"num_gpus": 1, "num_cpus": 1}

    def spawn(self, notify: Notify, *, patience_s: float) -> tuple[str, list[Any]]:
        """The model's name, and actors for all the room there is. Raises RigError if there is none."""
        count = self._room(patience_s)
        kind = self._ray.remote(**self._needs)(Hosted)
        actors = [kind.remote(self._load, self._weights) for _ in range(count)]
        try:
            for actor in actors:
                if self.result(actor.lacks_weights.remote()):
                    self.result(actor.keep.remote(*self._parts()))
            found = [self.result(call) for call in [actor.load.remote() for actor in actors]]
        except Lost:
            raise RigError("a Ray actor was lost while it loaded its model; start again") from None
        name, notes = found[0]
        for note in notes:
            notify(note)
        notify(f"{name}: in {counted(count, 'Ray actor')}")
        return name, actors

    def call(self, actor: Any, name: str, *values: Any) -> Any:
        return getattr(actor, name).remote(*values)

    def first(self, calls: Sequence[Any], patience_s: float) -> Any | None:
        ended, _ = self._ray.wait(list(calls), num_returns=1, timeout=patience_s)
        return ended[0] if ended else None

    def result(self, call: Any) -> Any:
        try:
            return self._ray.get(call)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause if isinstance(error.cause, Exception) else error from None
        except self._ray.exceptions.RayError as error:
            raise Lost(str(error)) from None

    def end(self, actor: Any) -> None:
        self._ray.kill(actor)

    def _parts(self) -> list[Any]:
        """The file of the model in the object store, put there once for all actors that lack it."""
        if not self._sent and self._weights:
            self._sent = [self._ray.put(part) for part in self._weights.parts()]
        return self._sent

    def _room(self, patience_s: float) -> int:
        until = monotonic() + patience_s
        while True:
            free = self._ray._private.state.available_resources_per_node().values()
            count = min(sum(_fitting(node, self._needs) for node in free), MOST)
            if count:
                return count
            if monotonic() >= until:
                needs = ", ".join(f"{name} {value:g}" for name, value in self._needs.items())
                raise RigError(f"no node of the cluster has room for an actor ({needs}); see `ray status`")
            sleep(0.2)


def _load_file(path: Any, *, settings: Any, name: str, notify: Notify) -> Model:
    """On the node: load the file from where it lies there."""
    return engine.load(path, settings, name, notify)


_NAMES = {"num_cpus": "CPU", "num_gpus": "GPU", "memory": "memory"}


def _fitting(node: Mapping[str, float], needs: Mapping[str, float]) -> int:
    """How many actors with these needs a node has room for."""
    return int(min(node.get(_NAMES[name], 0) // need for name, need in needs.items()))


def _connected(address: str) -> Any:
    """Ray, connected to a cluster. Raises RigError if that is not possible."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError:
        raise RigError("--on ray needs Ray; install it with `pip install ray`") from None
    if ray.is_initialized():
        return ray
    if sys.__stderr__ and not faulthandler.is_enabled():
        # Ray would give it sys.stderr, which the live view has replaced by what is no file.
        faulthandler.enable(sys.__stderr__, all_threads=False)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    # What else Ray has to say of lost nodes goes to the terminal of whoever watches; the crew says it.
    ray._private.worker.print_to_stdstream = lambda *_, **__: None
    try:
        if address:
            _knock(address)
            ray.init(address=address, **quiet)
        else:
            ray.init(address="local", include_dashboard=False, _node_ip_address="127.0.0.1", **quiet)
    except (OSError, OverflowError, ValueError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise RigError(f"--on ray:{address}: no cluster answers: {reason}; see docs/cluster.md") from None
    return ray


def _knock(address: str) -> None:
    """Raises OSError if nobody listens at HOST:PORT. Ray itself would go on trying for minutes."""
    host, _, port = address.rpartition(":")
    if host and "/" not in host and port.isdecimal():
        create_connection((host.strip("[]"), int(port)), timeout=ANSWERS_S).close()

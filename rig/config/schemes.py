"""Schemes: what a name such as `http://127.0.0.1:8080` stands for, and how that is loaded.

A plugin registers a scheme for names of its own (`registry.schemes`): models, as `http` and files are;
toolboxes, as `mcp` is; or other machines that models are loaded on, as `ray` is. A name without a registered
scheme is that of a file.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from rig.config.options import Answers, RunConfig
from rig.core import registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.models import Model, Notify, Request

FILE = "file"
"""The scheme of names that have none."""

Loader: TypeAlias = Callable[[Notify], Model]
"""Loads a model when its turn comes; the argument receives notes for people. Raises RigError."""


class ArmWeights:
    """What arms of a run share in memory besides loaded models. These here are those of a model without any.

    Equal weights are the same.
    """

    def kept(self) -> AbstractContextManager[None]:
        """A context that keeps the weights loaded, if they are, for an arm that uses them as well."""
        return nullcontext()

    def has_room(self) -> bool:
        """Return whether they can be loaded beside what is loaded already, exactly as if they were alone."""
        return True

    def read_ahead(self) -> AbstractContextManager[None]:
        """A context that reads them ahead of time, if there is memory for it."""
        return nullcontext()


NO_WEIGHTS = ArmWeights()

AGAIN, EXACT = "again", "exact"
"""How the labels of the settings end that `rig noise` adds. Those with `again` are arms of their own."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A model under one name: its loaders by the label of the engine's settings, and how to adapt it."""

    name: str
    loaders: Mapping[str, Loader]
    adapt: Callable[[Model], None] | None = None
    weights: ArmWeights = NO_WEIGHTS

    def load(self, label: str, notify: Notify) -> Model:
        """Load the model, and adapt it."""
        model = self.loaders[label](notify)
        if self.adapt is not None:
            self.adapt(model)
        return model


class ServerUse(NamedTuple):
    """Who answers calls of servers, whether servers get your network, and which patterns are redacted."""

    answers: Answers = "live"
    network: bool = False
    redacted: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "ServerUse":
        """Return how a run with these options uses servers."""
        return cls(values["servers"], values["server_network"])


LIVE = ServerUse()


class Scheme:
    """What names of one scheme stand for. What a class does not override, its names do not stand for.

    `config` has the options of a run, and `settings` those of arms by what their names say of them.
    """

    name = FILE

    def adapted(self, config: RunConfig) -> RunConfig:
        """Return a run's options as they hold if one of its models is of this scheme."""
        return config

    def check(self, config: RunConfig) -> None:
        """Raise RigError for options that none of its models could run with."""

    def sizes_context(self, config: RunConfig) -> bool:
        """Return whether the contexts of its models are to be as long as the prompts of a run need."""
        return False

    def alike(self, config: RunConfig) -> Mapping[str, RunConfig]:
        """Return settings under which models should answer as under these, by the end of their label."""
        return {}

    def names(self) -> Sequence[str]:
        """Return the names of models that are here, for completion. Raises RigError."""
        return ()

    def narrowed(self, schema: JsonObject, tool: str) -> JsonObject:
        """Return the schema of the calls of a tool that its models can write under a grammar."""
        return schema

    def stored(self, text: str) -> str:
        """Return a model's name as the store keeps it, for resuming from anywhere. Raises RigError."""
        return text

    def stored_adapter(self, text: str) -> str:
        """Return an adapter as the store keeps it. Raises RigError if there is none."""
        return text

    def variants(
        self,
        text: str,
        settings: Mapping[str, RunConfig],
        adapters: Sequence[str] = (),
        prompts: Sequence[Request] = (),
    ) -> Sequence[Variant]:
        """Return a model with each of the adapters; it has a loader for each of the settings, by label.

        `prompts` are the longest requests, if they size the context. Nothing is loaded. Raises RigError.
        """
        raise RigError(f"{text}: names with {self.name}: are no models")

    def toolbox(self, text: str, use: ServerUse) -> Any:
        """Return the toolbox of a name. Raises RigError."""
        raise RigError(f"{text}: names with {self.name}: are no toolboxes")

    def holds(self, folder: Path) -> bool:
        """Return whether a folder, which has the scheme's `marker`, is a toolbox of this scheme."""
        return False

    def toolbox_of(
        self, folder: Path, use: ServerUse, suites: tuple[Path, ...], sha256: str, listing: Path
    ) -> Any:
        """Return the toolbox of a folder that it holds; `sha256` is the folder's hash. Raises RigError.

        The tools are read from the file `listing` if it exists.
        """
        raise NotImplementedError

    def elsewhere(self, where: str, load: Loader) -> Loader:
        """Return a loader of the same model on other machines. Nothing is connected yet. Raises RigError."""
        schemes = registry.registered().schemes
        places = [name for name in schemes if schemes.attribute(name, "is_place")]
        ways = ", or ".join(way for name in places for way in (name, f"{name}:ADDRESS"))
        raise RigError(f"--on {where}: give {ways} of a cluster that is running")

    is_place = False
    """Whether models can be loaded there; registrations say so, too."""
    marker = ""
    """The file that marks folders with toolboxes of this scheme; registrations say so, too."""

    def disconnect(self) -> None:
        """End what loading models elsewhere began."""


def scheme_of(text: str) -> Scheme:
    """Return the scheme of a name."""
    schemes = registry.registered().schemes
    name, colon, _ = text.partition(":")
    scheme: Scheme = schemes[name if colon and name in schemes else FILE]
    return scheme


def place_of(where: str) -> Scheme:
    """Return the scheme of a place to load models on, such as `ray` or `ray:ADDRESS`."""
    return scheme_of(where if ":" in where else f"{where}:")

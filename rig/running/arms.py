"""The arms of a run: every model with every combination of its settings."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from rig.engine import EngineSettings, apply_adapter, load
from rig.errors import RigError
from rig.methods.base import Method, Settings
from rig.models import Model, Notify
from rig.running.person import HUMAN, Person
from rig.running.plan import Arm, Loader
from rig.tasks import Task

if TYPE_CHECKING:
    from rig.engine.files.adapters import Adapter


@dataclass(frozen=True, slots=True)
class _Variant:
    """A model under one name: its loaders, by the label of the engine's settings, and what is set then."""

    name: str
    loaders: Mapping[str, Loader]
    adapt: Callable[[Model], None] | None = None
    file: Path | None = None

    def load(self, label: str, notify: Notify) -> Model:
        """Load it with all that is to be set."""
        model = self.loaders[label](notify)
        if self.adapt is not None:
            self.adapt(model)
        return model


def make_arms(
    models: Sequence[str],
    engines: Mapping[str, EngineSettings],
    settings: Mapping[str, Settings],
    method: Method,
    tasks: Sequence[Task],
    roles: Mapping[str, Sequence[str]],
    adapters: Sequence["Adapter | None"] = (),
) -> tuple[Arm, ...]:
    """Models × settings of the engine × adapters × settings of the method × players, in this order.

    The settings are by label: what an arm's name says of them, empty if there is only one. Arms that
    differ in adapters and the method's settings alone share a loader, and so the weights; a model that the
    method knows has no engine to be set, and takes no adapter. `roles` say who plays the roles that are not
    evaluated, one or several for each, with the first engine's settings. Raises RigError for a model that is
    none, for an adapter that does not fit one, and for a role that nobody plays.
    """
    loaders: dict[str, Loader] = {name: partial(_known, make) for name, make in method.models(tasks).items()}
    casts = _casts(method, roles, settings)
    players: dict[str, Loader] = {HUMAN: partial(_known, Person), **loaders}
    every = (cast.values() for of_label in casts.values() for cast in of_label.values())
    for player in (player for names in every for player in names):
        if player not in players:
            engine = next(iter(engines.values()))
            players[player] = partial(_engine_variants(player, {"": engine}, ())[0].load, "")
    arms: list[Arm] = []
    for text in models:
        variants = [_Variant(text, {"": loaders[text]})] if text in loaders else None
        variants = variants or _engine_variants(text, engines, adapters)
        labels = [
            (engine, variant, label, cast)
            for engine in variants[0].loaders
            for variant in variants
            for label in settings
            for cast in casts[label]
        ]
        names_before = {arm.name for arm in arms}
        suffix, number = "", 2
        while not names_before.isdisjoint(names := _names(suffix, labels)):
            suffix, number = f"-{number}", number + 1
        arms += [
            Arm(
                arm,
                variant.loaders[engine],
                settings[label],
                variant.adapt,
                {role: players[player] for role, player in casts[label][cast].items()},
                variant.file,
            )
            for arm, (engine, variant, label, cast) in zip(names, labels, strict=True)
        ]
    return tuple(arms)


def _casts(
    method: Method, roles: Mapping[str, Sequence[str]], settings: Mapping[str, Settings]
) -> dict[str, dict[str, dict[str, str]]]:
    """Who can play with whom, by the label of the settings: players by role, by what an arm's name says."""
    unknown = sorted(roles.keys() - set(method.roles[1:]))
    if unknown:
        others = ", ".join(method.roles[1:]) or "none"
        raise RigError(f"--role {unknown[0]}: not a role of the method {method.name}; its roles: {others}")
    casts_by_label = {}
    for label, of_label in settings.items():
        players = {
            role: tuple(roles.get(role, filter(None, [default])))
            for role, default in method.cast(of_label).items()
        }
        missing = [role for role, names in players.items() if not names]
        if missing:
            raise RigError(f"who plays the {missing[0]}? Give --role {missing[0]}=MODEL")
        varied = [role for role, names in players.items() if len(names) > 1]
        casts = (dict(zip(players, names, strict=True)) for names in product(*players.values()))
        casts_by_label[label] = {
            " ".join(f"{role}={_stem(cast[role])}" for role in varied): cast for cast in casts
        }
    return casts_by_label


def _stem(model: str) -> str:
    """A model's name, or that of its file."""
    return Path(model).stem if model.endswith(".gguf") else model


def _names(suffix: str, labels: Sequence[tuple[str, _Variant, str, str]]) -> list[str]:
    return [
        " ".join(filter(None, (variant.name + suffix, engine, label, cast)))
        for engine, variant, label, cast in labels
    ]


def _known(make: Callable[[], Model], _: Notify) -> Model:
    return make()


def _engine_variants(
    text: str, engines: Mapping[str, EngineSettings], adapters: Sequence["Adapter | None"]
) -> list[_Variant]:
    """A model file without an adapter, or with each of several; all of them share loaders."""
    # Kept from the oracle, which is to start fast: reading GGUF files takes an import of its own.
    from rig.engine.files.info import inspect
    from rig.engine.files.registry import resolve

    resolved = resolve(text)
    inspect(resolved.path)
    loaders: dict[str, Loader] = {
        label: partial(load, resolved.path, engine, resolved.base) for label, engine in engines.items()
    }
    return [
        _Variant(
            with_adapter.name.encode("utf-8", "backslashreplace").decode(),
            loaders,
            partial(apply_adapter, with_adapter.adapter),
            resolved.path,
        )
        for with_adapter in resolved.with_adapters(adapters)
    ]

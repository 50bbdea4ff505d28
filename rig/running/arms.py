"""The arms of a run: every model with every one of the settings it is to be tried with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rig.engine import EngineSettings, load, wear
from rig.errors import RigError
from rig.methods.base import Method, Settings
from rig.models import Model, Notify
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
    roles: Mapping[str, str],
    adapters: Sequence["Adapter | None"] = (),
) -> tuple[Arm, ...]:
    """Models × settings of the engine × adapters × settings of the method, in this order.

    The settings are by label: what an arm's name says of them, empty where there is only one. Arms that
    differ in adapters and the method's settings alone share a loader, and so the weights; a model that the
    method knows has no engine to be set, and takes no adapter. `roles` say who plays the roles that are not
    evaluated, with the first engine's settings. Raises RigError for a model that is none, for an adapter that
    does not fit one, and for a role that nobody plays.
    """
    known: dict[str, Loader] = {name: partial(_known, make) for name, make in method.models(tasks).items()}
    others = _others(method, roles, known, next(iter(engines.values())))
    arms: list[Arm] = []
    for text in models:
        if text in known:
            variants: tuple[_Variant, ...] = (_Variant(text, {"": known[text]}),)
        else:
            variants = _engine_variants(text, engines, adapters)
        labels = [
            (engine, variant, label)
            for engine in variants[0].loaders
            for variant in variants
            for label in settings
        ]
        taken = {arm.name for arm in arms}
        names = _names("", labels)
        number = 2
        while not taken.isdisjoint(names):
            names = _names(f"-{number}", labels)
            number += 1
        arms += [
            Arm(arm, variant.loaders[engine], settings[label], variant.adapt, others)
            for arm, (engine, variant, label) in zip(names, labels, strict=True)
        ]
    return tuple(arms)


def _others(
    method: Method, roles: Mapping[str, str], known: Mapping[str, Loader], engine: EngineSettings
) -> dict[str, Loader]:
    unknown = sorted(roles.keys() - set(method.roles[1:]))
    if unknown:
        names = ", ".join(method.roles[1:]) or "none but the one that is evaluated"
        raise RigError(f"--role {unknown[0]}: no role of the method {method.name}; there are: {names}")
    missing = [role for role in method.roles[1:] if role not in roles]
    if missing:
        raise RigError(f"who plays the {missing[0]}? Give --role {missing[0]}=MODEL")
    return {
        role: known[model]
        if model in known
        else partial(_engine_variants(model, {"": engine}, ())[0].load, "")
        for role, model in roles.items()
    }


def _names(suffix: str, labels: Sequence[tuple[str, _Variant, str]]) -> list[str]:
    return [
        " ".join(filter(None, (variant.name + suffix, engine, label))) for engine, variant, label in labels
    ]


def _known(make: Callable[[], Model], _: Notify) -> Model:
    return make()


def _engine_variants(
    text: str, engines: Mapping[str, EngineSettings], adapters: Sequence["Adapter | None"]
) -> tuple[_Variant, ...]:
    """A model file without an adapter, or with each of several; all of them share loaders."""
    # Kept from the oracle, which is to start fast: reading GGUF files takes an import of its own.
    from rig.engine.files.registry import resolve
    from rig.engine.gguf.info import inspect

    resolved = resolve(text)
    inspect(resolved.path)
    loaders: dict[str, Loader] = {
        label: partial(load, resolved.path, engine, resolved.base) for label, engine in engines.items()
    }
    return tuple(
        _Variant(each.name.encode("utf-8", "backslashreplace").decode(), loaders, partial(wear, each.adapter))
        for each in resolved.with_adapters(adapters)
    )

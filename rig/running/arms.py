"""The arms of a run: every model with every one of the settings it is to be tried with."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rig.engine import EngineSettings, load
from rig.errors import RigError
from rig.methods.base import Method, Settings
from rig.models import Model, Notify
from rig.running.plan import Arm, Loader
from rig.tasks import Task


def make_arms(
    models: Sequence[str],
    engines: Mapping[str, EngineSettings],
    settings: Mapping[str, Settings],
    method: Method,
    tasks: Sequence[Task],
    roles: Mapping[str, str],
) -> tuple[Arm, ...]:
    """Models × settings of the engine × settings of the method, in this order.

    The settings are by label: what an arm's name says of them, empty where there is only one. Arms that
    differ in the method's settings alone share a loader, and so the weights; a model that the method knows
    has no engine to be set. `roles` say who plays the roles that are not evaluated, with the first engine's
    settings. Raises RigError for a model that is none, and for a role that nobody plays.
    """
    known: dict[str, Loader] = {name: partial(_known, make) for name, make in method.models(tasks).items()}
    others = _others(method, roles, known, next(iter(engines.values())))
    arms: list[Arm] = []
    for text in models:
        if text in known:
            name, loaders = text, {"": known[text]}
        else:
            name, loaders = _engine_loaders(text, engines)
        labels = [(engine, label) for engine in loaders for label in settings]
        taken = {arm.name for arm in arms}
        names = _names(name, labels)
        number = 2
        while not taken.isdisjoint(names):
            names = _names(f"{name}-{number}", labels)
            number += 1
        arms += [
            Arm(arm, loaders[engine], settings[label], others)
            for arm, (engine, label) in zip(names, labels, strict=True)
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
        role: known[model] if model in known else _engine_loaders(model, {"": engine})[1][""]
        for role, model in roles.items()
    }


def _names(model: str, labels: Sequence[tuple[str, str]]) -> list[str]:
    return [" ".join(filter(None, (model, *parts))) for parts in labels]


def _known(make: Callable[[], Model], _: Notify) -> Model:
    return make()


def _engine_loaders(text: str, engines: Mapping[str, EngineSettings]) -> tuple[str, dict[str, Loader]]:
    # Kept from the oracle, which is to start fast: reading GGUF files takes an import of its own.
    from rig.engine.files.registry import resolve
    from rig.engine.gguf.info import inspect

    resolved = resolve(text)
    inspect(resolved.path)
    # A file's name need not be text, an arm's must be.
    name = resolved.name.encode("utf-8", "backslashreplace").decode()
    return name, {label: partial(load, resolved.path, engine, name) for label, engine in engines.items()}

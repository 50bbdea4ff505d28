"""The arms of a run: every model with every one of the settings it is to be tried with."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rig.conversations import Conversation
from rig.engine import EngineSettings, load
from rig.methods.scripted import Oracle
from rig.methods.tooltalk.prompt import Settings
from rig.models import Model, Notify
from rig.running.plan import Arm

ORACLE = "oracle"


def make_arms(
    models: Sequence[str],
    engines: Mapping[str, EngineSettings],
    protocols: Mapping[str, Settings],
    conversations: tuple[Conversation, ...],
) -> tuple[Arm, ...]:
    """Models × settings of the engine × settings of the protocol, in this order.

    The settings are by label: what an arm's name says of them, empty where there is only one. Arms that
    differ in the protocol alone share a loader, and so the weights; the oracle has no engine to be set.
    Raises RigError for a model that is none.
    """
    arms: list[Arm] = []
    for text in models:
        if text == ORACLE:
            name, loaders = ORACLE, {"": _oracle(conversations)}
        else:
            name, loaders = _engine_loaders(text, engines)
        labels = [(engine, protocol) for engine in loaders for protocol in protocols]
        taken = {arm.name for arm in arms}
        names = _names(name, labels)
        number = 2
        while not taken.isdisjoint(names):
            names = _names(f"{name}-{number}", labels)
            number += 1
        arms += [
            Arm(arm, loaders[engine], protocols[protocol])
            for arm, (engine, protocol) in zip(names, labels, strict=True)
        ]
    return tuple(arms)


def _names(model: str, labels: Sequence[tuple[str, str]]) -> list[str]:
    return [" ".join(filter(None, (model, *parts))) for parts in labels]


def _oracle(conversations: tuple[Conversation, ...]) -> Callable[[Notify], Model]:
    return lambda _: Oracle(conversations)


def _engine_loaders(
    text: str, engines: Mapping[str, EngineSettings]
) -> tuple[str, dict[str, Callable[[Notify], Model]]]:
    # Kept from the oracle, which is to start fast: reading GGUF files takes an import of its own.
    from rig.engine.files.registry import resolve
    from rig.engine.gguf.info import inspect

    resolved = resolve(text)
    inspect(resolved.path)
    # A file's name need not be text, an arm's must be.
    name = resolved.name.encode("utf-8", "backslashreplace").decode()
    return name, {label: partial(load, resolved.path, engine, name) for label, engine in engines.items()}

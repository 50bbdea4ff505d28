"""The command that plays stored options again."""

import shlex
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.config.options import TABLE
from rig.core.calls import JsonObject
from rig.running.planning import config_of

CHOICE = frozenset({"suite", "conversations", "only", "limit", "without", "until", "sweep"})
"""The options that say which conversations are played."""


def models_of(arm: str, settings: JsonObject) -> Sequence[str]:
    """Return the model that an arm of this name was made from, or all models of its run if none is clear."""
    models: Sequence[str] = settings.get("models", ())
    own = [name for name in models if arm.startswith(Path(name).stem)]
    return [max(own, key=len)] if own else models


def command(
    models: Iterable[str],
    settings: JsonObject,
    values: Mapping[str, Any],
    without: Container[str] = (),
    *,
    in_folders: bool = True,
) -> str:
    """Return the command that plays these models with the settings of a run, but `without` some options.

    `values` has, by place, the one value of an option that made several arms. Unless `in_folders`, files are
    named without their folders.
    """
    config = config_of(settings)
    words = ["rig", "run", *models]
    for name, option in TABLE.items():
        if not option.help or name in without or not config.is_changed(name):
            continue
        several = config.values(name)
        if len(several) > 1 and not option.listed and option.place in values:
            several = (values[option.place],)
        for one in map(option.word, several):
            is_place = option.opens or option.kind is Path
            text = Path(str(one)).name if is_place and not in_folders else str(one)
            no = f"--{option.off or f'no-{name}'.replace('_', '-')}"
            words += [no] if one is False else [option.flag] if one is True else [option.flag, text]
    return shlex.join(words)

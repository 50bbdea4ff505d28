"""Values for variables of chat templates, as users set them: `--template-set reasoning_effort=low,high`."""

import itertools
import re
from collections.abc import Iterable
from contextlib import suppress

from rig.budget import parse_json
from rig.calls import Json, JsonObject
from rig.errors import RigError

GIVEN = frozenset(
    (
        *("messages", "tools", "xml_tools", "functions", "add_generation_prompt"),
        *("bos_token", "eos_token", "strftime_now", "datetime", "raise_exception"),
    )
)
"""The names that rig gives to every template itself."""
_NAME = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_TYPED = re.compile(r'true|false|null|-?\d{1,15}(?:\.\d{1,15})?|".*"', re.DOTALL)


def assignments(text: str | None) -> JsonObject:
    """Return the values of an arm by name, from `NAME=VALUE,NAME=VALUE`. Raises RigError."""
    return {name: typed(values[0]) for name, values in _read(text).items()}


def arms_of(texts: Iterable[str | None]) -> list[str | None]:
    """Return the arms that `NAME=VALUE,VALUE` make: every combination of what several variables are set to.

    Texts about the same variables are further arms. Raises RigError.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for text in texts:
        read = _read(text)
        if read:
            made = itertools.product(*([f"{name}={value}" for value in read[name]] for name in read))
            groups.setdefault(tuple(sorted(read)), []).extend(map(",".join, made))
    arms = [",".join(parts) for parts in itertools.product(*map(dict.fromkeys, groups.values()))]
    for arm in arms:
        _read(arm, once=True)
    return list(dict.fromkeys(arms)) if groups else [None]


def typed(text: str) -> Json:
    """Return a value as JSON if it is a truth value, a number, null or in quotes; else it is a text."""
    with suppress(ValueError):
        value: Json = parse_json(text) if _TYPED.fullmatch(text) else text
        return value
    return text


def _read(text: str | None, *, once: bool = False) -> dict[str, list[str]]:
    read: dict[str, list[str]] = {}
    for part in text.split(",") if text else ():
        if match := _NAME.fullmatch(part.strip()):
            if match[1] in read:
                raise RigError(f"--template-set {text}: {match[1]} is there twice")
            if match[1] in GIVEN:
                raise RigError(f"--template-set {match[1]}: rig itself sets that")
            read[match[1]] = [match[2]]
        elif read:
            read[next(reversed(read))].append(part)
        else:
            raise RigError(f"--template-set {text}: give NAME=VALUE, or NAME=VALUE,VALUE for an arm each")
    if once and any(len(values) > 1 for values in read.values()):
        raise RigError(f"--template-set {text}: two of the variables are set in two ways")
    return read

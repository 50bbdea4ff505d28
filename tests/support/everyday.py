"""Everyday questions to the scripted user, and whether an answer is right, as `everyday.txt` says."""

import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from rig.core.calls import Json
from rig.plugins.autode.scenarios import Scenario


class Asked(NamedTuple):
    """A question of an assistant's in a scenario, and what is right to answer."""

    scenario: str
    right: str
    text: str

    @property
    def is_held_out(self) -> bool:
        """Whether the question belongs to the half that the rules were made without."""
        return zlib.crc32(self.text.encode()) % 2 == 1


def asked() -> Iterator[Asked]:
    """All questions, in order."""
    lines = Path(__file__).with_name("everyday.txt").read_text(encoding="utf-8").splitlines()
    return (Asked(*line.split(" | ", 2)) for line in lines if line and not line.startswith("#"))


class Fresh(NamedTuple):
    """A question whose answer has to match patterns; `kind` is as the file says."""

    scenario: str
    kind: str
    text: str
    has: tuple[str, ...]
    has_not: str
    set: int


def fresh() -> Iterator[Fresh]:
    """All questions of the later sets, in order."""
    lines = Path(__file__).with_name("everyday_fresh.txt").read_text(encoding="utf-8").splitlines()
    number = 0
    for line in lines:
        if line.startswith("# set "):
            number = int(line.removeprefix("# set "))
        elif not line.startswith("#"):
            scenario, kind, text, has, has_not = (part.strip() for part in f"{line} ".split(" | ", 4))
            yield Fresh(scenario, kind, text, tuple(has.rstrip(" |").split(" ; ")), has_not, number)


def is_answered(answer: str, question: Fresh) -> bool:
    """Whether an answer has what it must; what is partly false gets no yes, and nothing a mere request."""
    agrees = re.match(r"yes\b(?!.*\b(?:but|only|though|not)\b)", answer, re.IGNORECASE)
    return (
        all(re.search(pattern.strip(), answer, re.IGNORECASE) for pattern in question.has)
        and not (question.has_not and re.search(question.has_not, answer, re.IGNORECASE))
        and not (question.kind == "P" and agrees)
        and "Can you do that for me" not in answer
    )


def is_right(answer: str, question: Asked, scenario: Scenario) -> bool:
    """Whether an answer is one of those that are right."""
    return any(_fits(answer, right.split(), question, scenario) for right in question.right.split(" or "))


def _fits(answer: str, rules: list[str], question: Asked, scenario: Scenario) -> bool:
    first = re.split(r"\W+", answer.strip().casefold())[0]
    knows = "don't know" not in answer
    told = {name for name, value in scenario.slots.items() if _says(answer, value)}
    asked_with = {name for name, value in scenario.slots.items() if _says(question.text, value)}
    for rule in rules:
        kind, _, rest = rule.partition(":")
        names = set(rest.split(","))
        if kind in ("yes", "no") and first != kind:
            return False
        if kind == "unknown" and (knows or told):
            return False
        if kind == "says" and (rest.casefold() not in answer.casefold() or not knows):
            return False
        if kind == "story" and not (knows and _shares(answer, scenario)):
            return False
        if kind == "tells":
            may = names | asked_with | {name for name in told if _within(scenario.slots, name, names)}
            if not (names <= told <= may and knows):
                return False
    return True if "yes" in rules or "no" in rules else first != "no" or "don't know" in answer


def _says(text: str, value: Json) -> bool:
    if not isinstance(value, str):
        return False
    return re.search(rf"(?<!\w){re.escape(value.casefold().rstrip('.'))}(?!\w)", text.casefold()) is not None


def _within(slots: Mapping[str, Json], name: str, names: set[str]) -> bool:
    """Whether a value is part of another that was asked for, so that it is told with it."""
    return any(other != name and _says(str(slots[other]), slots[name]) for other in names & slots.keys())


def _shares(answer: str, scenario: Scenario) -> bool:
    story = f"{scenario.purpose} {scenario.background} {scenario.query}".casefold()
    words = {
        word for word in re.findall(r"\w{4,}", answer.casefold()) if word not in ("don't", "know", "that")
    }
    return len([word for word in words if word in story]) >= 2

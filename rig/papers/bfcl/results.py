"""BFCL's result files: a line for each entry, with a model's answer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from rig.calls import Call, ExecutedCall, Outcome
from rig.episodes import PlayedTurn, Step
from rig.errors import RigError
from rig.files import files_below
from rig.methods.bfcl.answers import Undecodable, decode, output_of
from rig.methods.bfcl.checker import is_calls
from rig.methods.bfcl.data import Entry, lines
from rig.methods.bfcl.prompt import Settings
from rig.models import Prediction


class _Entry(Protocol):
    """What has a name that lines of results call it by."""

    @property
    def name(self) -> str: ...


Named = TypeVar("Named", bound=_Entry)


def read_results(place: Path, entries: Sequence[Entry]) -> list[tuple[Entry, dict[int, PlayedTurn]]]:
    """The entries that files of results have an answer to, with what was answered. Raises RigError."""
    return [
        (entry, {0: PlayedTurn(0, tuple(steps(result, entry.as_truth(underscores=False).language)))})
        for entry, result in answered(place, entries)
    ]


def answered(place: Path, entries: Sequence[Named], *, of_turns: bool = False) -> list[tuple[Named, Any]]:
    """The entries that files of results have an answer to, with this. Raises RigError if there is none."""
    by_name = {entry.name: entry for entry in entries}
    every = (line for path in files_of(place, of_turns=of_turns) for line, _ in lines(path))
    answers = [(by_name[line["id"]], line.get("result")) for line in every if line["id"] in by_name]
    if not answers:
        raise RigError(f"{place}: holds no answer to these entries (BFCL_v4_CATEGORY_result.json)")
    return answers


def line_of(entry: Entry, turns: Mapping[int, PlayedTurn], settings: Settings) -> str:
    """A line of such a file: calls with their arguments as texts, or what was said instead."""
    steps = [step for turn in turns.values() for step in turn.steps]
    calls = [step.executed.call for step in steps if step.executed is not None]
    words = next(
        (step.prediction.reply or step.prediction.raw for step in steps if step.executed is None), ""
    )
    output = output_of(calls, entry, settings)
    return json.dumps({"id": entry.name, "result": as_texts(output) or words}, ensure_ascii=False)


def as_texts(calls: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Calls with their arguments as texts."""
    return [{name: json.dumps(value) for name, value in call.items()} for call in calls]


def files_of(place: Path, *, of_turns: bool) -> list[Path]:
    """The files of results at a place: those of several turns, or the others."""
    paths = [place] if place.is_file() else files_below(place, "_result.json")
    return [path for path in paths if ("multi_turn" in path.name) is of_turns]


def steps(result: Any, language: str = "python") -> Iterator[Step]:
    """What a message of a model says, call by call, or what it said instead."""
    raw = result if isinstance(result, str) else json.dumps(result)
    try:
        output = decode(result, language)
    except Undecodable:
        output = None
    if not is_calls(output) or not output:
        yield Step(Prediction(raw=raw, reply=raw))
        return
    for part, call in enumerate(output):
        ((name, arguments),) = call.items()
        asked = Call(name, arguments)
        yield Step(
            Prediction(raw=raw if not part else "", call=asked, part=part), ExecutedCall(asked, Outcome())
        )

"""BFCL's files of results: a line for each entry, with what a model answered."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.calls import Call, ExecutedCall, Outcome
from rig.episodes import PlayedTurn, Step
from rig.errors import RigError
from rig.methods.bfcl.answers import Undecodable, decode, output_of
from rig.methods.bfcl.checker import is_calls
from rig.methods.bfcl.data import Entry, lines
from rig.methods.bfcl.prompt import Settings
from rig.models import Prediction


def read_results(place: Path, entries: Sequence[Entry]) -> list[tuple[Entry, dict[int, PlayedTurn]]]:
    """The entries that files of results have an answer to, with what was answered. Raises RigError."""
    known = {entry.name: entry for entry in entries}
    found = []
    for path in _files(place):
        for line in lines(path):
            if line["id"] in known:
                found.append((known[line["id"]], {0: PlayedTurn(0, tuple(_steps(line.get("result"))))}))
    if not found:
        raise RigError(f"{place}: holds no answer to these entries (BFCL_v4_CATEGORY_result.json)")
    return found


def line_of(entry: Entry, turns: Mapping[int, PlayedTurn], settings: Settings) -> str:
    """A line of such a file: calls with their arguments as texts, or what was said instead."""
    steps = [step for turn in turns.values() for step in turn.steps]
    calls = [step.executed.call for step in steps if step.executed is not None]
    said = next((step.prediction.reply or step.prediction.raw for step in steps if step.executed is None), "")
    output = output_of(calls, entry, settings)
    told = [{name: json.dumps(value) for name, value in call.items()} for call in output]
    return json.dumps({"id": entry.name, "result": told or said}, ensure_ascii=False)


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return sorted(path for path in place.rglob("*_result.json") if path.is_file())


def _steps(result: Any) -> Iterator[Step]:
    raw = result if isinstance(result, str) else json.dumps(result)
    try:
        output = decode(result)
    except Undecodable:
        output = None
    if not is_calls(output) or not output:
        yield Step(Prediction(raw=raw, reply=raw))
        return
    for part, call in enumerate(output):
        ((name, arguments),) = call.items()
        made = Call(name, arguments)
        yield Step(
            Prediction(raw=raw if not part else "", call=made, part=part), ExecutedCall(made, Outcome())
        )

"""BFCL's result files of several turns: for each turn, the messages of a model, with calls or words."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rig.episodes import PlayedTurn, Step
from rig.methods.bfcl.turns.data import Talk
from rig.papers.bfcl.results import answered, as_texts, steps


def read_results(place: Path, talks: Sequence[Talk]) -> list[tuple[Talk, dict[int, PlayedTurn]]]:
    """The entries that files of results have an answer to, with what was played of each. Raises RigError.

    Answers of more turns or fewer than there are were given up; nothing of them is judged.
    """
    return [(talk, dict(_turns(talk, result))) for talk, result in answered(place, talks, of_turns=True)]


def _turns(talk: Talk, result: Any) -> Iterator[tuple[int, PlayedTurn]]:
    if not isinstance(result, list) or len(result) != len(talk.turns):
        return
    for number, messages in enumerate(result):
        several = messages if isinstance(messages, list) else [messages]
        yield number, PlayedTurn(number, tuple(step for message in several for step in steps(message)))


def line_of(talk: Talk, turns: Mapping[int, PlayedTurn]) -> str:
    """A line of such a file. If the entry was given up in a turn, that turn is left out, so that you can
    tell.
    """
    played = [list(_messages(turns[number].steps)) for number in sorted(turns) if not turns[number].error]
    return json.dumps({"id": talk.name, "result": played}, ensure_ascii=False)


def _messages(turn_steps: Sequence[Step]) -> Iterator[Any]:
    """The messages of a turn: each with the calls that were made in it, or with words."""
    calls: list[dict[str, Any]] = []
    for step in turn_steps:
        if calls and (step.executed is None or step.prediction.part == 0):
            yield as_texts(calls)
            calls = []
        if step.executed is None:
            yield step.prediction.reply or step.prediction.raw
        else:
            calls.append({step.executed.call.name: step.executed.call.arguments})
    if calls:
        yield as_texts(calls)

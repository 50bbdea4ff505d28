"""The first token in which two played turns differ, and what it is a part of."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from math import exp
from os.path import commonprefix
from typing import Any, NamedTuple

from rig.core.calls import ByName, Call, Json, Outcome, without_token
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn, Step
from rig.plugins.matching.agreement import first_difference

_LONGEST = 60


class TurnMessage(NamedTuple):
    """What a model wrote at once: the calls of one message are one prediction again. `step` is the first of
    its steps, `outcomes` are what its calls returned.
    """

    step: int
    prediction: Prediction
    outcomes: tuple[Outcome, ...]


def messages(steps: Iterable[Step], role: str | None = None) -> list[TurnMessage]:
    """Return the steps of a turn by message; with a role, only its own."""
    result: list[TurnMessage] = []
    for number, step in enumerate(steps):
        if role is not None and step.role != role:
            continue
        outcomes = (step.executed.outcome,) if step.executed else ()
        call = step.prediction.call
        if step.prediction.part and call is not None and result:
            last = result[-1]
            joined = replace(last.prediction, further=(*last.prediction.further, call))
            result[-1] = TurnMessage(last.step, joined, (*last.outcomes, *outcomes))
        else:
            result.append(TurnMessage(number, step.prediction, outcomes))
    return result


@dataclass(frozen=True, slots=True)
class PathSide(ByName):
    """What one arm wrote where two part. `value` is the whole of what differs, `text` the token there.

    `token` counts the tokens of the message from 1, and `start` is the place of its first character. The
    `probability` is that among the tokens that the grammar allowed, None if none was recorded, as of servers.
    """

    value: str
    text: str
    start: int
    token: int | None = None
    probability: float | None = None
    forced: bool = False


@dataclass(frozen=True, slots=True)
class PathDifference(ByName):
    """Where two arms part: `what` differs in their message number `message` of a turn, both counted from 1.

    `steps` are the steps of the turn, from 0, that the messages begin with.
    """

    turn: int
    message: int
    what: str
    sides: tuple[PathSide, PathSide]
    steps: tuple[int, int]

    @property
    def words(self) -> str:
        """The place and both values in a line, as in ``argument `time`, token 41: 10:30 against 10:00``."""
        first, second = self.sides
        numbers = list(dict.fromkeys(side.token for side in self.sides if side.token is not None))
        token = f", token {' and '.join(map(str, numbers))}" if numbers else ""
        place = f", message {self.message}" if self.message > 1 else ""
        return f"turn {self.turn}{place}, {self.what}{token}: {first.value} against {second.value}"

    @property
    def chances(self) -> str:
        """What is recorded of the probabilities, in words."""
        sides = [side for side in self.sides if side.token]
        told = [f"{json.dumps(side.text, ensure_ascii=False)} {_chance(side)}" for side in sides]
        if not told:
            return "no tokens were recorded"
        return f"each took its own token: {' against '.join(told)}"


def _chance(side: PathSide) -> str:
    if side.forced:
        return "(forced by the grammar)"
    return "(no probability recorded)" if side.probability is None else f"at {side.probability:.2f}"


def same_calls(first: PlayedTurn, second: PlayedTurn, role: str) -> bool:
    """Return whether two turns make the same calls in the same order."""
    sides = ([call for one in messages(of.steps, role) for call in _calls(one)] for of in (first, second))
    return next(sides) == next(sides)


def difference(first: PlayedTurn, second: PlayedTurn, number: int, role: str) -> PathDifference | None:
    """Return where two turns part, which people know by a number; None if they do not."""
    pairs = zip_longest(messages(first.steps, role), messages(second.steps, role))
    for place, (mine, theirs) in enumerate(pairs, 1):
        if mine is None or theirs is None:
            sides = tuple(PathSide(_brief(one) if one else "nothing", "", 0) for one in (mine, theirs))
            steps = tuple(one.step if one else len(of.steps) for one, of in ((mine, first), (theirs, second)))
            return PathDifference(
                number, place, "what comes next", (sides[0], sides[1]), (steps[0], steps[1])
            )
        if _written(mine.prediction) != _written(theirs.prediction):
            return _parted(number, place, mine, theirs)
        if mine.outcomes != theirs.outcomes:
            told = (_values(mine.outcomes[0].as_json()), _values(theirs.outcomes[0].as_json()))
            for one, other in zip(mine.outcomes, theirs.outcomes, strict=False):
                if one != other:
                    _, *values = first_difference(one.as_json(), other.as_json())
                    told = _values(values[0]), _values(values[1])
                    break
            sides = PathSide(told[0], "", 0), PathSide(told[1], "", 0)
            what = "what the same call returned"
            return PathDifference(number, place, what, sides, (mine.step, theirs.step))
    return None


def _written(prediction: Prediction) -> tuple[Any, ...]:
    """Return everything in which two predictions can differ."""
    told = prediction.calls, prediction.reply, prediction.error, prediction.content
    return (prediction.raw, prediction.token_ids, *told) if prediction.raw else told


def _parted(number: int, place: int, mine: TurnMessage, theirs: TurnMessage) -> PathDifference:
    raws = mine.prediction.raw, theirs.prediction.raw
    index = _first_token(mine.prediction, theirs.prediction)
    if index is None:
        start = len(commonprefix(raws))  # noqa: RUF071 - they are no paths
        tokens = [_token_at(one.prediction, start) for one in (mine, theirs)]
    else:
        tokens = [index, index]
        start = min(_starts(one.prediction)[index] for one in (mine, theirs))
    what, values = _what(mine.prediction, theirs.prediction, start)
    sides = [
        _side(one.prediction, value, token, start)
        for one, value, token in zip((mine, theirs), values, tokens, strict=True)
    ]
    return PathDifference(number, place, what, (sides[0], sides[1]), (mine.step, theirs.step))


def _first_token(mine: Prediction, theirs: Prediction) -> int | None:
    """Return the number of the first token that differs, if both have tokens of the same vocabulary."""
    if not _has_tokens(mine) or not _has_tokens(theirs) or not _share_vocabulary(mine, theirs):
        return None
    pairs = zip_longest(mine.token_ids, theirs.token_ids)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), None)


def _has_tokens(prediction: Prediction) -> bool:
    return bool(prediction.token_ids) and len(prediction.token_ids) == len(prediction.token_chars)


def _share_vocabulary(mine: Prediction, theirs: Prediction) -> bool:
    """Return whether no token is a different text in the two, and they begin alike if their texts do."""
    texts: dict[int, str] = {}
    for prediction in (mine, theirs):
        for token, text in zip(prediction.token_ids, _texts(prediction), strict=True):
            if text and "\ufffd" not in text and texts.setdefault(token, text).strip() != text.strip():
                return False
    firsts = [_texts(prediction)[0] for prediction in (mine, theirs)]
    return firsts[0] != firsts[1] or mine.token_ids[0] == theirs.token_ids[0]


def _starts(prediction: Prediction) -> list[int]:
    """Return the place in the text of each token, and of its end."""
    starts = [0]
    for chars in prediction.token_chars:
        starts.append(starts[-1] + chars)
    return starts


def _texts(prediction: Prediction) -> list[str]:
    starts = _starts(prediction)
    return [prediction.raw[one:other] for one, other in pairwise(starts)]


def _token_at(prediction: Prediction, start: int) -> int | None:
    """Return the number of the token that a character is in; None if none was recorded."""
    if not _has_tokens(prediction):
        return None
    ends = _starts(prediction)[1:]
    return next((number for number, end in enumerate(ends) if end > start), len(ends))


def _side(prediction: Prediction, value: str, token: int | None, start: int) -> PathSide:
    if token is None:
        return PathSide(value, prediction.raw[start : start + 20], start)
    starts = _starts(prediction)
    if token >= len(prediction.token_ids):  # it ended there
        return PathSide(value, "", len(prediction.raw), token + 1)
    text = prediction.raw[starts[token] : starts[token + 1]]
    forced = len(prediction.token_forced) > token and prediction.token_forced[token]
    has_logprobs = len(prediction.logprobs) > token
    chance = exp(prediction.logprobs[token]) if has_logprobs else None
    return PathSide(value, text, starts[token], token + 1, chance, forced)


def _what(mine: Prediction, theirs: Prediction, start: int) -> tuple[str, tuple[str, str]]:
    """Return what differs from a character on, and its values in both."""
    if mine.kind != theirs.kind:
        return "what is done", (_brief_of(mine), _brief_of(theirs))
    if mine.reasoning != theirs.reasoning and start <= max(
        one.raw.find(one.reasoning[:40]) + len(one.reasoning) for one in (mine, theirs)
    ):
        return "thinking", (_from(mine.raw, start), _from(theirs.raw, start))
    for one, other in zip(mine.calls, theirs.calls, strict=False):
        if one.name != other.name:
            return "tool", (one.name, other.name)
        if (argument := _argument(one, other, mine.raw[:start])) is not None:
            return argument
    if len(mine.calls) != len(theirs.calls):
        return "calls of one message", (str(len(mine.calls)), str(len(theirs.calls)))
    what = {"call": "the form of the call", "reply": "reply", "error": "a failed answer"}[mine.kind]
    return what, (_from(mine.raw, start), _from(theirs.raw, start))


def _argument(one: Call, other: Call, before: str) -> tuple[str, tuple[str, str]] | None:
    """Return the argument that two calls of a tool differ in, the last that is named before they part."""
    mine, theirs = without_token(one.arguments), without_token(other.arguments)
    if mine == theirs:
        return None
    if not (isinstance(mine, dict) and isinstance(theirs, dict)):
        return "arguments", (_values(mine), _values(theirs))
    names = [name for name in {**mine, **theirs} if _absent(mine, name) != _absent(theirs, name)]
    named = [(_last(name, before), name) for name in names]
    place, name = max(named)
    if place < 0:
        # They part before the name of an argument: in which one comes next, or whether one does.
        name = names[0]
    if name in mine and name in theirs:
        path, *values = first_difference(mine[name], theirs[name])
        return f"argument `{name}{path}`", (_values(values[0]), _values(values[1]))
    return f"argument `{name}`", tuple(  # type: ignore[return-value]
        _values(of[name]) if name in of else "none" for of in (mine, theirs)
    )


def _absent(arguments: Mapping[str, Json], name: str) -> tuple[bool, Json]:
    return name in arguments, arguments.get(name)


def _last(name: str, before: str) -> int:
    """Return where a name was written last; -1 if it was not."""
    places = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", before)]
    return places[-1] if places else -1


def _calls(message: TurnMessage) -> Sequence[tuple[str, Json]]:
    return [(call.name, without_token(call.arguments)) for call in message.prediction.calls]


def _brief(message: TurnMessage) -> str:
    return _brief_of(message.prediction)


def _brief_of(prediction: Prediction) -> str:
    if prediction.call is not None:
        return f"call {prediction.call.name}"
    return f"error {prediction.error}" if prediction.error else f"reply {_short(prediction.reply or '')}"


def _from(text: str, start: int) -> str:
    """Return a text from the beginning of the word at a place on."""
    word = max(text.rfind(" ", 0, start), text.rfind("\n", 0, start)) + 1
    return _short(text[word:]) or "the end"


def _values(value: Json) -> str:
    return _short(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

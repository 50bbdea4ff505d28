"""The score of a live conversation: how the world ended, and whether everything asked for was said."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rig.core import times
from rig.core.calls import Call, ExecutedCall, Fault, FaultKind, Json, Verdict, leaves
from rig.core.metrics import Counts, Declaration, Metric, NamedCount, Part, Score
from rig.core.models import CallMessage, ReplyMessage
from rig.core.tasks import PlayedTurn
from rig.plugins.dynamic.script import LiveTask
from rig.plugins.dynamic.talk import DynamicSettings, LiveTalk
from rig.plugins.matching import worlds
from rig.plugins.matching.matching import Grader
from rig.plugins.matching.worlds import Differences
from rig.plugins.stress.dial import Presentation
from rig.plugins.tooltalk.scoring import INCORRECT_ACTIONS
from rig.plugins.tooltalk.setup import replay
from rig.world.toolbox import Simulator, is_declared
from rig.world.world import Snapshot

LONGEST = 200
"""The most characters of a text that counts as a fact; longer ones are not repeated word by word."""

_CLOCK = re.compile(r"\b(\d{1,2})(?:[:.](\d{2})(?::\d{2})?)?\s*([ap])\.?m\b|\b(\d{1,2}):(\d{2})(?::\d{2})?\b")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
_WORDS = re.compile(r"[^\W_]+")
_NOON = {"noon": (12, 0), "midday": (12, 0), "midnight": (0, 0)}


class Heard:
    """The words, numbers and times of day in some texts, extracted once."""

    def __init__(self, texts: Iterable[str]) -> None:
        text = "\n".join(texts).casefold()
        self._words = _WORDS.findall(text)
        self._plain = f" {' '.join(self._words)} "
        self._numbers = {float(number.replace(",", "")) for number in _NUMBER.findall(text)}
        self._numbers |= {
            float(word[:-2]) for word in self._words if re.fullmatch(r"\d+(?:st|nd|rd|th)", word)
        }
        self._clocks = {clock for match in _CLOCK.finditer(text) for clock in _clocks(match)}
        self._clocks |= {clock for word, clock in _NOON.items() if word in self._words}

    def tells(self, fact: "ReturnedValue") -> bool:
        """Return whether the texts state a fact."""
        value = fact.value
        if isinstance(value, str):
            words = " ".join(_WORDS.findall(value.casefold()))
            return bool(words) and f" {words} " in self._plain
        if not isinstance(value, datetime):
            return not {float(value), float(round(value))}.isdisjoint(self._numbers)
        if fact.is_clock:
            return (value.hour, value.minute) in self._clocks
        months = {f"{value:%B}".casefold(), f"{value:%b}".casefold()}
        is_dated = value.day in self._numbers and not months.isdisjoint(self._words)
        return f"{value:%A}".casefold() in self._words or f" {value:%Y %m %d} " in self._plain or is_dated


@dataclass(frozen=True, slots=True)
class ReturnedValue:
    """A value that a tool returned: a text, a number, a day, or with `is_clock` a time of day."""

    value: str | float | datetime
    is_clock: bool = False

    def __str__(self) -> str:
        if isinstance(self.value, datetime):
            return f"{self.value:%H:%M}" if self.is_clock else f"{self.value:%Y-%m-%d}"
        return str(self.value)


def asked_for(
    turns: Iterable[tuple[Sequence[str], Sequence[ExecutedCall], str]], drawn: frozenset[str]
) -> tuple[ReturnedValue, ...]:
    """Return the tools' values that true replies state. A turn has the user's words, calls and a reply.

    Values that the user has said before are left out, and so are the `drawn` ids, which may differ.
    """
    own: list[str] = []
    due: dict[ReturnedValue, None] = {}
    for words, calls, reply in turns:
        own += words
        user, told = Heard(own), Heard([reply])
        for fact in (fact for call in calls for fact in facts(call.response)):
            if str(fact.value) not in drawn and told.tells(fact) and not user.tells(fact):
                due[fact] = None
    return tuple(due)


def unsaid(due: Iterable[ReturnedValue], replies: Iterable[str]) -> tuple[ReturnedValue, ...]:
    """Return the facts that no reply states."""
    heard = Heard(replies)
    return tuple(fact for fact in due if not heard.tells(fact))


def facts(value: Json) -> Iterator[ReturnedValue]:
    """Yield the values in a call's response that a reply could state. Truth values are left out."""
    for leaf in leaves(value):
        if isinstance(leaf, str):
            yield from _of_text(leaf)
        elif isinstance(leaf, int | float) and not isinstance(leaf, bool):
            yield ReturnedValue(float(leaf))


def _of_text(text: str) -> Iterator[ReturnedValue]:
    if (read := times.read_any(text)) is None:
        if 1 < len(text.strip()) <= LONGEST:
            yield ReturnedValue(text)
        return
    moment, has_day, has_time = read
    if has_time:
        yield ReturnedValue(moment, is_clock=True)
    if has_day:
        yield ReturnedValue(moment.replace(hour=0, minute=0, second=0))


def _clocks(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield the hours and minutes that a matched time can mean: 3:00 is at night or in the afternoon."""
    hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
    if match[3]:
        yield hour % 12 + (12 if match[3] == "p" else 0), minute
    else:
        yield hour, minute
        if 1 <= hour <= 12:
            yield hour % 12 + 12, minute
            yield hour % 12, minute


BROKEN_OFF = ("malformed", "call_limit", "round_limit", "context_full", "assistant_failed", "user_failed")
"""The ways in which a conversation ends without the user ending it."""

VERSION = "1"
"""The version of the judgement; raise it with any change that can change a score."""

DECLARATION = Declaration(
    method="dynamic",
    metrics=(
        Metric("success_rate", "success", "successes"),
        Metric("world_rate", "right worlds", "right_world", label="world right"),
        Metric("said_rate", "answers said", "all_said", label="all said"),
        Metric("recall", "recall", "matches", "ground_truths", place="meters"),
        Metric("precision", "precision", "matches", "predictions", place="tables"),
        INCORRECT_ACTIONS._replace(place="tables"),
        Metric("fact_rate", "facts said", "facts_said", "facts", place="tables"),
        Metric("length", "length in messages", "messages", better="lower", format="number", place="tables"),
        *(
            Metric(f"{end}_rate", end.replace("_", " "), end, better="lower", place="tables")
            for end in BROKEN_OFF
        ),
    ),
    success="successes",
    counts=(
        NamedCount("predictions", "calls predicted"),
        NamedCount("ground_truths", "calls wanted"),
        NamedCount("world_differences", "records that differ"),
    ),
    outcome=(
        Part("matches", "calls matched", "ground_truths", short="calls"),
        Part("world_differences", "records that differ", short="differ", better="lower"),
        Part("facts_unsaid", "facts not said", short="unsaid", better="lower"),
        *(Part(end, end.replace("_", " "), better="lower") for end in BROKEN_OFF),
    ),
)


def judge(
    presentation: Presentation,
    task: LiveTask,
    turns: Sequence[PlayedTurn],
    simulator: Simulator,
    grader: Grader,
    settings: DynamicSettings,
) -> Score:
    """Score a finished conversation as it was put to the model, with the counts of its dials.

    All calls are made again, so the simulator's world changes.
    """
    played = presentation.cleaned_turns(turns)
    talk = LiveTalk(task, settings.max_rounds, played)
    matching = grader.start(task.truths(grader.toolbox))
    calls = [(turn.turn, call) for turn in played for call in turn.executed]
    for turn, call in calls:
        matching.add(turn, call)
    verdicts, left_out = list(matching.verdicts()), matching.optional()
    world, told = true_end(task, simulator)
    differences, by_call = ended(task, [call for _, call in calls], verdicts, world, simulator)
    left = unsaid(told, [message.text for message in talk.messages if isinstance(message, ReplyMessage)])
    for number, changed in by_call.items():
        did = [
            *(f"adds {record.told(changed.missing)}" for record in changed.extra),
            *(f"takes away {record.told(changed.extra)}" for record in changed.missing),
        ]
        verdicts[number] = replace(verdicts[number], reason="; ".join([verdicts[number].reason, *did]))
    judged = zip(calls, verdicts, strict=True)
    actions = [
        verdict
        for (_, call), verdict in judged
        if grader.toolbox.is_action(call.name) and not is_declared(call)
    ]
    answered = talk.end not in ("malformed", "call_limit", "context_full", "assistant_failed")
    counts: Counts = {
        "successes": int(not differences and not left and answered),
        "right_world": int(not differences),
        "world_differences": len(differences.missing) + len(differences.extra),
        "all_said": int(not left),
        "facts": len(told),
        "facts_said": len(told) - len(left),
        "facts_unsaid": len(left),
        "predictions": len(calls) - len(left_out),
        "ground_truths": task.ground_truth_count,
        "matches": sum(verdict.match for verdict in verdicts),
        "actions": len(actions),
        "bad_actions": sum(verdict.bad_action for verdict in actions),
        "messages": sum(not isinstance(message, CallMessage) for message in talk.messages),
        **{end: int(talk.end == end) for end in BROKEN_OFF},
    }
    last = played[-1].turn if played else 0
    faults = [Fault(FaultKind.WORLD_DIFFERS, last, line) for line in differences.lines]
    for fact in left:
        faults.append(Fault(FaultKind.NOT_SAID, last, f"the user was not told {fact}", expected=str(fact)))
    return presentation.scored(Score(counts, tuple(verdicts), faults=tuple(faults)), turns)


def true_end(task: LiveTask, simulator: Simulator) -> tuple[Snapshot, tuple[ReturnedValue, ...]]:
    """Return the world after the true conversation, and the returned values that the user was told."""
    turns: list[tuple[list[str], Sequence[ExecutedCall], str]] = []
    words: list[str] = []
    world = None
    for _, turn, before, calls in replay(task.conversation, simulator):
        # The calls of an assistant's turn were executed last.
        world = simulator.snapshot() if calls else before
        if turn.role == "user":
            words.append(turn.text)
        else:
            turns.append((words, calls, turn.text))
            words = []
    assert world is not None
    return world, asked_for(turns, worlds.drawn(simulator, world))


def ended(
    task: LiveTask,
    calls: Sequence[ExecutedCall],
    verdicts: Sequence[Verdict],
    expected: Snapshot,
    simulator: Simulator,
) -> tuple[Differences, dict[int, Differences]]:
    """Return how the final world differs from the expected one, and what each unmatched call changed.

    A call that matches a true one is executed as the true one, so that equivalent texts make no difference.
    """
    truths = dict(task.truths(simulator.toolbox))
    injected = simulator.toolbox.injected
    simulator.start(*task.conversation.start, recorded=task.conversation.ground_truth)
    by_call = {}
    for number, (call, verdict) in enumerate(zip(calls, verdicts, strict=True)):
        true = truths[verdict.ground_truth] if verdict.ground_truth is not None else None
        again = (true or call).call
        if isinstance(again.arguments, dict):
            written = {name: value for name, value in again.arguments.items() if name not in injected}
            again = Call(again.name, written)
        before = simulator.snapshot()
        if not is_declared(call):
            simulator.execute(again)
        if true is None and (changed := worlds.compare(simulator, before, simulator.snapshot())):
            by_call[number] = changed
    return worlds.compare(simulator, expected, simulator.snapshot()), by_call

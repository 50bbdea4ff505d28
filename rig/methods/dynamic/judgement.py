"""The score of a live conversation: how the world ended, and whether everything asked for was said."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rig.episodes import PlayedTurn
from rig.methods.dynamic.ends import Ended, ended, true_end
from rig.methods.dynamic.prompt import Settings
from rig.methods.dynamic.said import Fact, unsaid
from rig.methods.dynamic.talk import Talk
from rig.methods.dynamic.tasks import LiveTask
from rig.metrics import Counts, Declaration, Metric, NamedCount, Part, Score
from rig.models import UserMessage
from rig.scoring import Grader
from rig.toolbox.simulator import Simulator
from rig.verdicts import Fault, FaultKind, Verdict

BROKEN_OFF = ("malformed", "call_limit", "round_limit", "context_full", "assistant_failed", "user_failed")
"""The ways to end without the user's ending it."""

VERSION = "2"
"""Of what is made of the world and of what was said; to be raised with any change that can change a score."""

DECLARATION = Declaration(
    method="dynamic",
    metrics=(
        Metric("success_rate", "success", "successes"),
        Metric("world_rate", "right worlds", "right_world", label="world right"),
        Metric("said_rate", "answers said", "all_said", label="all said"),
        Metric("recall", "recall", "matches", "ground_truths", place="meters"),
        Metric("precision", "precision", "matches", "predictions", place="tables"),
        Metric(
            "incorrect_action_rate",
            "incorrect action rate",
            "bad_actions",
            "actions",
            better="lower",
            label="incorrect actions",
            place="tables",
        ),
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
    task: LiveTask,
    played: Sequence[PlayedTurn],
    simulator: Simulator,
    grader: Grader,
    settings: Settings,
) -> Score:
    """The score of a finished conversation. Everything happens again, so the simulator's world is changed."""
    talk = Talk(task, settings.max_rounds).extend(played)
    matching = grader.start(task.truths(grader.toolbox))
    calls = [(turn.turn, call) for turn in played for call in turn.executed]
    for turn, call in calls:
        matching.add(turn, call)
    verdicts = matching.verdicts()
    true = true_end(task, simulator)
    found = ended(task, [call for _, call in calls], verdicts, true.world, simulator)
    left = unsaid(true.told, talk.replies)
    verdicts = [_with_world(verdict, found, number) for number, verdict in enumerate(verdicts)]
    actions = [
        verdict
        for (_, call), verdict in zip(calls, verdicts, strict=True)
        if grader.toolbox.is_action(call.name)
    ]
    is_right = not found.differences
    answered = talk.end not in ("malformed", "call_limit", "context_full", "assistant_failed")
    counts: Counts = {
        "successes": int(is_right and not left and answered),
        "right_world": int(is_right),
        "world_differences": len(found.differences.missing) + len(found.differences.extra),
        "all_said": int(not left),
        "facts": len(true.told),
        "facts_said": len(true.told) - len(left),
        "facts_unsaid": len(left),
        "predictions": len(calls),
        "ground_truths": task.ground_truth_count,
        "matches": sum(verdict.match for verdict in verdicts),
        "actions": len(actions),
        "bad_actions": sum(verdict.bad_action for verdict in actions),
        "messages": len(list(talk.replies))
        + sum(isinstance(message, UserMessage) for message in talk.messages),
        **{end: int(talk.end == end) for end in BROKEN_OFF},
    }
    last = played[-1].turn if played else 0
    return Score(counts, tuple(verdicts), faults=tuple(_faults(found, left, last)))


def _with_world(verdict: Verdict, found: Ended, number: int) -> Verdict:
    """A verdict that also says what the call did to the world, if it was not due."""
    changed = found.by_call.get(number)
    if changed is None:
        return verdict
    did = [
        *(f"adds {record}" for record in changed.extra),
        *(f"takes away {each}" for each in changed.missing),
    ]
    return replace(verdict, reason="; ".join([verdict.reason, *did]))


def _faults(found: Ended, left: Sequence[Fact], turn: int) -> Iterator[Fault]:
    for line in found.differences.lines:
        yield Fault(FaultKind.WORLD_DIFFERS, turn, line)
    for fact in left:
        yield Fault(FaultKind.NOT_SAID, turn, f"the user was not told {fact}", expected=str(fact))

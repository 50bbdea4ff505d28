"""ToolTalk's scoring of calls: who made them, which were right, and what went wrong.

The counts and metrics are those of the paper's section 3.4 and Algorithm 2, the types of error those of its
section 4.2. Counts add up over conversations, so the rates are micro averages (upstream's summary), except
success and soft success, which are means over conversations. `soft_success` is from ToolTalk's repository
(2024-05). Who made a call is inferred from the outcomes of earlier calls, so no world is needed.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from enum import StrEnum

from rig.core.calls import CallPlace, Doubt, ExecutedCall, Fault, FaultKind, Verdict
from rig.core.metrics import Counts, Declaration, Metric, NamedCount, Part, Score
from rig.core.tasks import PlayedTurn
from rig.plugins.matching import worlds
from rig.plugins.matching.matching import Grader, Matching
from rig.plugins.mcp.cassette import NOT_RECORDED
from rig.plugins.tooltalk.conversations import Conversation, User
from rig.plugins.tooltalk.faults import Acted, Truths, find_faults
from rig.plugins.tooltalk.written import Expected
from rig.world.rules import is_optional
from rig.world.toolbox import Simulator, Toolbox, is_declared
from rig.world.world import Snapshot

RECALL = Metric("recall", "recall", "matches", "ground_truths")
INCORRECT_ACTIONS = Metric(
    "incorrect_action_rate",
    "incorrect action rate",
    "bad_actions",
    "actions",
    better="lower",
    label="incorrect actions",
)

DECLARATION = Declaration(
    method="tooltalk",
    metrics=(
        Metric("success_rate", "success", "successes"),
        Metric("soft_success", "soft success", "soft_successes", place="tables"),
        RECALL,
        Metric("precision", "precision", "matches", "predictions", place="meters"),
        INCORRECT_ACTIONS,
        Metric("action_precision", "action precision", "valid_actions", "actions", place="json"),
    ),
    success="successes",
    counts=(NamedCount("predictions", "calls predicted"), NamedCount("ground_truths", "calls wanted")),
    outcome=(
        Part("matches", "calls matched", "ground_truths", short="calls"),
        Part("bad_actions", "incorrect actions", short="incorrect", better="lower"),
    ),
    error_types="errors, ToolTalk's types",
)


def declaration_of(tasks: Iterable[Conversation]) -> Declaration:
    """Return the declaration, with counts of forbidden calls and of turn ends if any task has them."""
    declaration, every = DECLARATION, list(tasks)
    if any(task.terms.forbidden for task in every):
        forbidden = Part("forbidden", "forbidden calls", short="forbidden", better="lower")
        declaration = declaration._replace(outcome=(*declaration.outcome, forbidden))
    if any(turn.expects_end for task in every for turn in task.turns):
        rate = Metric("end_rate", "ends right", "right_ends", "ends", label="ends right")
        ends = Part("right_ends", "turns end right", "ends", short="ends")
        metrics, outcome = (*declaration.metrics, rate), (*declaration.outcome, ends)
        declaration = declaration._replace(metrics=metrics, outcome=outcome)
    return declaration


def count(
    judged: Iterable[tuple[ExecutedCall, Verdict]],
    ground_truths: int,
    is_action: Callable[[str], bool],
    forbidden: int | None = None,
) -> Counts:
    """Return the counts of a conversation with `ground_truths` due calls; `is_action` tells which tools act.

    Failed calls of action tools count as actions, as in ToolTalk's code. A conversation that needs no calls
    is a success if nothing bad was done, and its recall counts as 1. `forbidden` is the number of forbidden
    calls that were made; None if no calls are forbidden.
    """
    calls = list(judged)
    matches = sum(verdict.match for _, verdict in calls)
    actions = [verdict for call, verdict in calls if is_action(call.name)]
    bad_actions = sum(verdict.bad_action for verdict in actions)
    counts = {
        "predictions": len(calls),
        "ground_truths": ground_truths,
        "matches": matches,
        "actions": len(actions),
        "valid_actions": sum(verdict.match for verdict in actions),
        "bad_actions": bad_actions,
    }
    recall = RECALL.rate(counts)
    recall = 1.0 if recall is None else recall
    return {
        "successes": int(matches == ground_truths and not bad_actions and not forbidden),
        "soft_successes": recall * (1 - bad_actions / len(actions)) if actions else recall,
        **counts,
        **({} if forbidden is None else {"forbidden": forbidden}),
    }


class Session:
    """The user who is logged in, followed through the recorded outcomes of calls."""

    def __init__(self, user: User, toolbox: Toolbox) -> None:
        self._toolbox = toolbox
        self.username: str | None = user.username if user.session_token is not None else None

    def follow(self, executed: ExecutedCall) -> ExecutedCall:
        """Return a call with the user who was logged in when it was made, and apply its login or logout."""
        named = replace(executed, username=self.username)
        tool = self._toolbox.tools.get(executed.name)
        login = None if tool is None or executed.exception is not None else tool.login
        if login == "out":
            self.username = None
        elif login == "in":
            arguments = executed.arguments if isinstance(executed.arguments, dict) else {}
            self.username = str(arguments.get("username"))
        return named


def name_truths(conversation: Conversation, toolbox: Toolbox) -> list[tuple[CallPlace, ExecutedCall]]:
    """Return the ground-truth calls with their places, each with the user who was logged in."""
    session = Session(conversation.user, toolbox)
    calls = [session.follow(truth) for truth in conversation.ground_truth]
    return list(zip(conversation.ground_truth_positions(), calls, strict=True))


def name_callers(
    conversation: Conversation, played: Mapping[int, PlayedTurn], toolbox: Toolbox
) -> dict[int, PlayedTurn]:
    """Return the turns with the user of each call. A turn begins with the login that the truth left."""
    truth = Session(conversation.user, toolbox)
    named: dict[int, PlayedTurn] = {}
    for index, turn in enumerate(conversation.turns):
        if index in played:
            session = copy(truth)
            steps = (
                replace(step, executed=session.follow(step.executed)) if step.executed else step
                for step in played[index].steps
            )
            named[index] = replace(played[index], steps=tuple(steps))
        for call in turn.calls:
            truth.follow(call)
    return named


class ErrorType(StrEnum):
    """What went wrong in a turn of a failed conversation."""

    PREMATURE_CALL = "premature call"
    """A bad action in a turn that calls for none. Each such call counts."""
    FAULTY_PLANNING = "faulty planning"
    """A tool was left out, was not needed, or was called too often."""
    INCORRECT_INVOCATION = "incorrect invocation"
    """The right tools were called, but not as they should have been."""


def error_types(acted: Mapping[int, Acted], truths: Truths) -> Mapping[int, Counter[ErrorType]]:
    """Return the errors of one conversation by turn, given what was `acted`; none for a success."""
    calls = {
        turn: [(executed, verdict) for executed, verdict in done.calls if not is_declared(executed)]
        for turn, done in acted.items()
    }
    held = {verdict.ground_truth for of_turn in calls.values() for _, verdict in of_turn}
    due = {position.turn for position, _ in truths}
    missed: defaultdict[int, list[str]] = defaultdict(list)
    for position, truth in truths:
        if position not in held:
            missed[position.turn].append(truth.name)
    bad_actions = any(verdict.bad_action for of_turn in calls.values() for _, verdict in of_turn)
    if not missed and not bad_actions:
        return {}
    types: dict[int, Counter[ErrorType]] = {}
    for turn in sorted({*calls, *due}):
        of_turn = calls.get(turn, ())
        wrong = Counter(executed.name for executed, verdict in of_turn if not verdict.match)
        lacking = Counter(missed[turn])
        if turn not in due:
            premature = sum(verdict.bad_action for _, verdict in of_turn)
            types[turn] = +Counter({ErrorType.PREMATURE_CALL: premature})
        elif wrong or lacking:
            # The same names are wrong and missed, and none was called more often than it was missed.
            is_planned = wrong.keys() == lacking.keys() and wrong <= lacking
            types[turn] = Counter(
                [ErrorType.INCORRECT_INVOCATION if is_planned else ErrorType.FAULTY_PLANNING]
            )
    return {turn: errors for turn, errors in types.items() if errors}


def judge(
    conversation: Conversation,
    turns: Sequence[PlayedTurn],
    truths: Truths,
    grader: Grader,
    ended: Mapping[int, tuple[str, ...]],
    matching: Matching | None = None,
) -> Score:
    """Score turns that were played. A `matching` must already have their calls, in this order.

    `ended` has the turns whose end is judged, each with a line on everything that is not as expected.
    """
    if matching is None:
        matching = grader.start(truths, conversation.terms, conversation.name)
        for turn in turns:
            for executed in turn.executed:
                matching.add(turn.turn, executed)
    verdicts = matching.verdicts()
    left = iter(verdicts)
    acted = {
        turn.turn: Acted(
            tuple((executed, next(left)) for executed in turn.executed),
            turn.steps[-1].prediction.reply if turn.steps else None,
            turn.error,
        )
        for turn in turns
    }
    due = [truth for truth in truths if not is_optional(truth[1])]
    types = error_types(acted, due)
    counts = _counts(conversation, matching, grader)
    places = [(turn.turn, step, executed) for turn in turns for step, executed in enumerate(turn.executed)]
    doubts = []
    for number, truth, difference in matching.unclear():
        index, step, executed = places[number]
        texts = str(difference.expected), str(difference.got)
        doubts.append(
            Doubt(index, step, truth, executed.name, difference.what, *texts, difference.note or "")
        )
    faults = find_faults(conversation, acted, due, matching)
    unrecorded = [
        Fault(FaultKind.NOT_RECORDED, turn, f"no answer is recorded to {executed.name}", step)
        for turn, step, executed in places
        if executed.exception == NOT_RECORDED
    ]
    named = {turn: {str(kind): n for kind, n in kinds.items()} for turn, kinds in types.items()}
    # By how much each count would change if unclear texts counted as the same.
    would = _counts(conversation, matching.if_same(), grader) if doubts else {}
    unclear = {name: value - counts[name] for name, value in would.items()}
    ends = {"ends": len(ended), "right_ends": sum(not lines for lines in ended.values())} if ended else {}
    differs = [Fault(FaultKind.WORLD_DIFFERS, turn, line) for turn, lines in ended.items() for line in lines]
    every = *faults, *unrecorded, *differs
    score = Score(counts, tuple(verdicts), named, every, tuple(doubts), unclear)
    return replace(score, counts={**score.counts, **ends})


def _counts(conversation: Conversation, matching: Matching, grader: Grader) -> Counts:
    """Return the counts of a conversation, in which optional calls are ignored, made or not."""
    optional = matching.optional()
    judged = [pair for number, pair in enumerate(matching.judged()) if number not in optional]
    forbidden = matching.forbidden() if conversation.terms.forbidden else None
    return count(judged, len(matching.due()), grader.toolbox.is_action, forbidden)


def unmet(expected: Expected, simulator: Simulator, true_end: Snapshot) -> tuple[str, ...]:
    """Return a line on everything that does not hold at the end of a turn, in the simulator's world."""
    if expected is None:
        return worlds.compare(simulator, true_end, simulator.snapshot()).lines
    return tuple(filter(None, (expectation.unmet(simulator) for expectation in expected)))

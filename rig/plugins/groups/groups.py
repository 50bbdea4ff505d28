"""Where models succeed: by tool, skill of calling, tag and suite, with a number for each arm."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

from rig.core.calls import CallPlace, JsonObject
from rig.core.errors import RigError
from rig.core.metrics import UNPLAYED, rate

if TYPE_CHECKING:
    from rig.store import Runs, StoredRun, Transcript

By: TypeAlias = Literal["tool", "skill", "tag", "suite"]
WAYS: tuple[By, ...] = get_args(By)

UNTAGGED = "(no tag)"
WHAT: dict[By, str] = {
    "tool": "true calls of each tool that were made",
    "skill": "parts of calling tools that went right, turn by turn",
    "tag": "conversations with each tag that succeeded",
    "suite": "conversations of each suite that succeeded",
}
"""What is counted."""

SKILLS = ("tool selection", "argument correctness", "abstention", "trigger precision", "trigger F1")
"""The skills that calling a tool takes. docs/reference/metrics.md defines them."""


class Share(NamedTuple):
    """A count as a part of another."""

    part: int = 0
    whole: int = 0

    @property
    def rate(self) -> float | None:
        """The share as a fraction; None if there is nothing to divide by."""
        return rate(self.part, self.whole)


class Groups(NamedTuple):
    """Shares by the name of a group, one for each arm; the largest groups come first."""

    by: By
    arms: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Share, ...]], ...]

    def as_json(self) -> JsonObject:
        """Return everything by name."""
        rows = []
        for name, shares in self.rows:
            arms = zip(self.arms, shares, strict=True)
            of_arms = [{"arm": arm, **share._asdict(), "rate": share.rate} for arm, share in arms]
            rows.append({"group": name, "arms": of_arms})
        return {"by": self.by, "what": WHAT[self.by], "groups": rows}


def groups_of(runs: Runs, run: StoredRun, by: By) -> Groups:
    """Return what the arms of a run got right, by group. Raises RigError if there is nothing to group."""
    played = (
        (
            runs.transcript(run, conversation, arm.position, repeat)
            for conversation in run.conversations
            for repeat in range(run.repeats)
        )
        # Of an arm that stopped by its results, no share would be fair.
        for arm in run.arms
        if UNPLAYED not in arm.counts
    )
    names = [arm.name for arm in run.arms if UNPLAYED not in arm.counts]
    if not names:
        raise RigError(f"--by {by}: results chose what arms of {run.id} played, so shares say nothing")
    if grouped := next(groups([by], names, played), None):
        return grouped
    faults = {
        "tool": "it is not known which true calls were made",
        "skill": "it is not known in which turns a call was due",
    }
    fault = faults.get(by, "nothing is scored yet")
    raise RigError(f"--by {by}: {fault}, so that there is nothing to group")


def groups(
    ways: Sequence[By], arms: Sequence[str], played: Iterable[Iterable[Transcript]]
) -> Iterator[Groups]:
    """Group what arms played, in each of these ways in which there is something to group.

    `played` are the transcripts of each arm; those that are not scored yet are left out.
    """
    by_way: dict[By, dict[str, list[Share]]] = {by: defaultdict(lambda: [Share()] * len(arms)) for by in ways}
    is_paired = True
    for arm, transcripts in enumerate(played):
        for transcript in transcripts:
            if transcript.counts is None:
                continue
            is_paired = is_paired and transcript.pairs_calls
            succeeded = transcript.declaration.succeeded(transcript.counts)
            for by, shares in by_way.items():
                for name, right, of in _named(by, transcript, succeeded):
                    part, whole = shares[name][arm]
                    shares[name][arm] = Share(part + right, whole + of)
    if not is_paired:  # nobody knows which true calls were made
        by_way.pop("tool", None)
        by_way.get("skill", {}).pop(SKILLS[1], None)
    for by, shares in by_way.items():
        ordered = sorted(shares.items(), key=lambda row: (-max(share.whole for share in row[1]), row[0]))
        if by == "skill":
            # Of a turn without a true call nobody knows whether one was due.
            is_known = any(share.whole for share in shares[SKILLS[0]])
            ordered = [(name, shares[name]) for name in SKILLS] if is_known else []
        if ordered:
            yield Groups(by, tuple(arms), tuple((name, tuple(of_arms)) for name, of_arms in ordered))


def _named(by: By, transcript: Transcript, succeeded: bool) -> Iterator[tuple[str, int, int]]:
    """Yield the groups of a conversation, each with how much was right, out of how much: by suite and tag,
    the success; by tool, each true call that is due, and whether a call matched it; by skill, what turns
    got right.
    """
    from rig.world.rules import is_optional

    if by == "suite":
        yield transcript.conversation.suite or "-", succeeded, 1
        return
    if by == "skill":
        yield from _skills(transcript)
        return
    if by == "tag":
        tags = transcript.conversation.source.get("tags")
        texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
        yield from ((tag, succeeded, 1) for tag in texts or [UNTAGGED])
        return
    verdicts = (step.verdict for turn in transcript.turns.values() for step in turn.steps)
    held = {verdict.ground_truth for verdict in verdicts if verdict is not None and verdict.match}
    task = transcript.conversation
    for turn in transcript.turn_numbers:
        for number, call in enumerate(task.expected(turn).calls):
            if not is_optional(call):
                yield call.name, CallPlace(turn, number) in held, 1


def _skills(transcript: Transcript) -> Iterator[tuple[str, int, int]]:
    """Yield what went right in each turn that was played. Optional calls are neither due nor wrong.

    Where nobody knows in advance in which turn a call is due, all that was played is one turn.
    """
    from rig.world.rules import is_optional

    task, played = transcript.conversation, transcript.turns
    for numbers in [[number] for number in played] if task.known_turns else [list(played)]:
        truth = {
            CallPlace(number, place): call
            for number in numbers
            for place, call in enumerate(task.expected(number).calls)
        }
        steps = [step for number in numbers for step in played[number].steps]
        due = Counter(call.name for call in truth.values() if not is_optional(call))
        called = Counter(step.executed.name for step in steps if step.executed is not None)
        if not due and truth:
            continue
        matches = {
            step.verdict.ground_truth for step in steps if step.verdict is not None and step.verdict.match
        }
        right = sum(place in matches and not is_optional(call) for place, call in truth.items())
        selected = max((due & called).total(), right)
        yield "tool selection", selected, due.total()
        yield "argument correctness", right, selected
        yield "abstention", not (due or called), not due
        yield "trigger precision", bool(due and called), bool(called)
        yield "trigger F1", 2 * bool(due and called), bool(due) + bool(called)

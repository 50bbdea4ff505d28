"""Where models succeed: by tool, by the tags of conversations, and by suite, with a number for each arm."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from rig.calls import CallPlace, JsonObject
from rig.errors import RigError
from rig.metrics import rate
from rig.store import Runs, StoredRun, Transcript
from rig.toolbox.rules import is_optional

By: TypeAlias = Literal["tool", "tag", "suite"]
WAYS: tuple[By, ...] = get_args(By)

UNTAGGED = "(no tag)"
WHAT: dict[By, str] = {
    "tool": "true calls of each tool that were made",
    "tag": "conversations with each tag that succeeded",
    "suite": "conversations of each suite that succeeded",
}
"""What is counted."""


class Share(NamedTuple):
    """A count out of another."""

    part: int = 0
    whole: int = 0

    @property
    def rate(self) -> float | None:
        """The share; None if there is nothing to divide by."""
        return rate(self.part, self.whole)


class Groups(NamedTuple):
    """Shares by the name of a group, one for each arm, groups with most to divide by first."""

    by: By
    arms: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Share, ...]], ...]

    def as_json(self) -> JsonObject:
        """All of it by name."""
        rows = []
        for name, shares in self.rows:
            arms = zip(self.arms, shares, strict=True)
            of_arms = [{"arm": arm, **share._asdict(), "rate": share.rate} for arm, share in arms]
            rows.append({"group": name, "arms": of_arms})
        return {"by": self.by, "what": WHAT[self.by], "groups": rows}


def groups_of(runs: Runs, run: StoredRun, by: By) -> Groups:
    """What the arms of a run got right, group by group. Raises RigError if there is nothing to group."""
    played = (
        (
            runs.transcript(run, conversation, arm.position, repeat)
            for conversation in run.conversations
            for repeat in range(run.repeats)
        )
        for arm in run.arms
    )
    return groups(by, [arm.name for arm in run.arms], played)


def groups(by: By, arms: Sequence[str], played: Iterable[Iterable[Transcript]]) -> Groups:
    """Group what arms played, each conversation for itself. Raises RigError if there is nothing to group.

    `played` are the transcripts of each arm; those that are not scored yet are left out.
    """
    shares: defaultdict[str, list[Share]] = defaultdict(lambda: [Share()] * len(arms))
    for arm, transcripts in enumerate(played):
        for transcript in transcripts:
            if transcript.counts is not None:
                succeeded = transcript.declaration.succeeded(transcript.counts)
                for name, is_right in _named(by, transcript, succeeded):
                    part, whole = shares[name][arm]
                    shares[name][arm] = Share(part + is_right, whole + 1)
    if not shares:
        fault = "no true call is known" if by == "tool" else "nothing is scored yet"
        raise RigError(f"--by {by}: {fault}, so that there is nothing to group")
    ordered = sorted(shares.items(), key=lambda row: (-max(share.whole for share in row[1]), row[0]))
    return Groups(by, tuple(arms), tuple((name, tuple(of_arms)) for name, of_arms in ordered))


def _named(by: By, transcript: Transcript, succeeded: bool) -> Iterator[tuple[str, bool]]:
    """The groups of a conversation and whether it succeeded; of tools each true call that is due, and whether
    some call was matched with it.
    """
    if by == "suite":
        yield transcript.conversation.suite or "-", succeeded
        return
    if by == "tag":
        tags = transcript.conversation.source.get("tags")
        texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
        yield from ((tag, succeeded) for tag in texts or [UNTAGGED])
        return
    verdicts = (step.verdict for turn in transcript.turns.values() for step in turn.steps)
    held = {verdict.ground_truth for verdict in verdicts if verdict is not None and verdict.match}
    task = transcript.conversation
    for turn in transcript.turn_numbers:
        for number, call in enumerate(task.expected(turn).calls):
            if not is_optional(call):
                yield call.name, CallPlace(turn, number) in held

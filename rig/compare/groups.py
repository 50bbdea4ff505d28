"""Where models succeed: by tool, by the tags of conversations, and by suite, with a number for each arm."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

from rig.calls import JsonObject
from rig.errors import RigError
from rig.store import Runs, StoredArm, StoredRun, Transcript
from rig.tasks import Task
from rig.toolbox.rules import is_optional
from rig.verdicts import CallPlace

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
        return self.part / self.whole if self.whole else None

    def plus(self, other: "Share") -> "Share":
        return Share(self.part + other.part, self.whole + other.whole)


class Groups(NamedTuple):
    """Shares by the name of a group, one for each arm, groups with most to divide by first."""

    by: By
    arms: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Share, ...]], ...]

    def as_json(self) -> JsonObject:
        """All of it by name."""
        rows = [
            {
                "group": name,
                "arms": [
                    {"arm": arm, "part": share.part, "whole": share.whole, "rate": share.rate}
                    for arm, share in zip(self.arms, shares, strict=True)
                ],
            }
            for name, shares in self.rows
        ]
        return {"by": self.by, "what": WHAT[self.by], "groups": rows}


def groups_of(runs: Runs, run: StoredRun, by: By) -> Groups:
    """What the arms of a run got right, group by group. Raises RigError if there is nothing to group."""
    return groups(by, [arm.name for arm in run.arms], (_played(runs, run, arm) for arm in run.arms))


def _played(runs: Runs, run: StoredRun, arm: StoredArm) -> Iterator[Transcript]:
    """What an arm did, one conversation in memory."""
    for conversation in run.conversations:
        for repeat in range(run.repeats):
            yield runs.transcript(run, conversation, arm.position, repeat)


def groups(by: By, arms: Sequence[str], played: Iterable[Iterable[Transcript]]) -> Groups:
    """Group what arms played, each conversation for itself. Raises RigError if there is nothing to group.

    `played` are the transcripts of each arm; those that are not scored yet are left out.
    """
    found: defaultdict[str, list[Share]] = defaultdict(lambda: [Share()] * len(arms))
    for arm, transcripts in enumerate(played):
        for transcript in transcripts:
            if transcript.counts is not None:
                for name, share in _shares(by, transcript):
                    found[name][arm] = found[name][arm].plus(share)
    if not found:
        fault = "no true call is known" if by == "tool" else "nothing is scored yet"
        raise RigError(f"--by {by}: {fault}, so that there is nothing to group")
    size = {name: -max(share.whole for share in shares) for name, shares in found.items()}
    ordered = sorted(found.items(), key=lambda row: (size[row[0]], row[0]))
    return Groups(by, tuple(arms), tuple((name, tuple(shares)) for name, shares in ordered))


def _shares(by: By, transcript: Transcript) -> Iterator[tuple[str, Share]]:
    if by == "tool":
        yield from _by_tool(transcript)
        return
    succeeded = Share(int(transcript.declaration.succeeded(transcript.counts or {})), 1)
    names = _tags(transcript.conversation) if by == "tag" else [transcript.conversation.suite or "-"]
    yield from ((name, succeeded) for name in names)


def _by_tool(transcript: Transcript) -> Iterator[tuple[str, Share]]:
    """Each true call that is due, by its tool, and whether some call was matched with it."""
    verdicts = (step.verdict for turn in transcript.turns.values() for step in turn.steps)
    held = {verdict.ground_truth for verdict in verdicts if verdict is not None and verdict.match}
    task = transcript.conversation
    for turn in transcript.turn_numbers:
        for number, call in enumerate(task.expected(turn).calls):
            if not is_optional(call):
                yield call.name, Share(int(CallPlace(turn, number) in held), 1)


def _tags(task: Task) -> Sequence[str]:
    tags = task.source.get("tags")
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return texts or [UNTAGGED]

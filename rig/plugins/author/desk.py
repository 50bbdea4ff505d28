"""Checking proposed conversations: each is kept, or thrown away for a reason.

Generators and models both propose their conversations here. The checks are code. A proposal is kept only if
it passes all of them, and those that are thrown away are counted by reason.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from rig import methods
from rig.core.calls import JsonObject, leaves
from rig.core.errors import RigError
from rig.plugins.author.draft import ToolRefusal
from rig.plugins.matching.seen import Seen
from rig.world.toolbox import Simulator


@dataclass(frozen=True, slots=True)
class Proposal:
    """A conversation in ToolTalk's shape, and the names of the scenes that it was made from."""

    source: JsonObject
    scenes: tuple[str, ...]

    @property
    def name(self) -> str:
        return str(self.source["name"])


class Rejected(Exception):
    """A proposal that is not kept. The `reason` is one word for counting."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


@dataclass
class Desk:
    """The place where proposals are checked in a simulator.

    `thrown` counts the rejected ones by reason. No `kept` conversation is nearly the same as an earlier one.
    """

    simulator: Simulator
    kept: list[Proposal] = field(default_factory=list)
    thrown: Counter[str] = field(default_factory=Counter)
    latest: dict[str, str] = field(default_factory=dict)
    """For each reason, what was wrong with the last proposal thrown away for it."""
    nearest: list[float] = field(default_factory=list)
    """For each kept proposal, its greatest likeness to an earlier one."""

    def __post_init__(self) -> None:
        self._grams: list[frozenset[tuple[str, ...]]] = []
        self._having: dict[tuple[str, ...], list[int]] = defaultdict(list)

    def offer(self, make: Callable[[], Proposal]) -> Proposal | None:
        """Make a proposal and check it. Returns it if it is kept, else None."""
        try:
            proposal = make()
            prove(proposal, self.simulator)
            grams = _grams(proposal)
            likeness = self._likeness(grams)
            if likeness >= ALIKE:
                raise Rejected("alike", f"{likeness:.2f}")
        except (Rejected, ToolRefusal) as error:
            reason = error.reason if isinstance(error, Rejected) else "refused"
            self.thrown[reason] += 1
            self.latest[reason] = str(error)
            return None
        self._keep(proposal, grams, likeness)
        return proposal

    def take(self, proposal: Proposal) -> None:
        """Keep a proposal that was checked before."""
        grams = _grams(proposal)
        self._keep(proposal, grams, self._likeness(grams))

    def _keep(self, proposal: Proposal, grams: frozenset[tuple[str, ...]], likeness: float) -> None:
        self.kept.append(proposal)
        self.nearest.append(likeness)
        for gram in grams:
            self._having[gram].append(len(self._grams))
        self._grams.append(grams)

    def _likeness(self, grams: frozenset[tuple[str, ...]]) -> float:
        shared = Counter(number for gram in grams for number in self._having.get(gram, ()))
        return max(
            (count / (len(grams) + len(self._grams[number]) - count) for number, count in shared.items()),
            default=0.0,
        )


def prove(proposal: Proposal, simulator: Simulator) -> None:
    """Repeat every call in the conversation's own world, and check where its values come from.

    Raises Rejected unless each call does what is recorded both times it is made, and each of its values was
    said by somebody or returned by a tool before the call.
    """
    try:
        task = methods.first().parse(proposal.source, proposal.name, "")
        now, username, credentials, seeds = task.start
        for _ in range(2):
            simulator.start(now, username, credentials, seeds, task.ground_truth)
            for truth in task.ground_truth:
                executed = simulator.execute(truth.call)
                if executed.outcome != truth.outcome or executed.arguments != truth.arguments:
                    raise Rejected("replay", f"{truth.name} gives {executed.outcome}")
    except RigError as error:
        raise Rejected("shape", str(error)) from error
    seen = Seen(*task.metadata.facts)
    for turn in task.turns:
        for call in turn.calls:
            if (tool := simulator.toolbox.tools.get(call.name)) is None:
                raise Rejected("unknown", f"no tool is named {call.name}")
            for name, value in call.arguments.items():
                if name not in tool.injected and not seen.speaks_for(tool, name, value):
                    raise Rejected("unsaid", f"{call.name}: {name} {value!r}")
            seen.answer(call)
            for leaf in leaves(call.response):
                seen.say(str(leaf))  # the words of a mail count as said, too
        seen.say(turn.text)


GRAM = 3
"""The number of words in the runs by which conversations are compared."""
ALIKE = 0.5
"""The share of common runs (Jaccard index) at which two conversations count as alike."""


def _grams(proposal: Proposal) -> frozenset[tuple[str, ...]]:
    """Return the runs of GRAM words in the user's lines."""
    grams: set[tuple[str, ...]] = set()
    for turn in proposal.source["conversation"]:
        if turn["role"] == "user":
            words = re.findall(r"[\w'@.:-]*\w", turn["text"].lower())
            grams.update(tuple(words[at : at + GRAM]) for at in range(max(1, len(words) - GRAM + 1)))
    return frozenset(grams)

"""What votes on an answer are worth: upstream's decision table, with every rule a setting.

Source: ToolBench's `eval_pass_rate.py`, and StableToolBench's SoPR for `solvable_score`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from statistics import fmean, pvariance
from typing import Literal, NamedTuple, TypeAlias, get_args

from rig.calls import JsonObject
from rig.errors import RigError
from rig.solutions.solution import Solution

AnswerStatus: TypeAlias = Literal["Solved", "Unsure", "Unsolved"]
TaskStatus: TypeAlias = Literal["Solvable", "Unsure", "Unsolvable"]
Decision: TypeAlias = Literal["pass", "fail", "unsure"]

Ties = Literal["pass", "fail", "coin"]
Unsure = Literal["half", "pass", "fail", "coin"]
Unsolvable = Literal["pass", "fail"]


class Vote(NamedTuple):
    """One evaluation of one answer. `is_certain` where nobody had to be asked: there is no answer."""

    answer: AnswerStatus
    task: TaskStatus = "Solvable"
    is_certain: bool = False


@dataclass(frozen=True, slots=True)
class VoteRules:
    """How votes become a pass.

    `ties`: what an answer is that has as many votes for it as against. `unsure`: what a vote counts that does
    not know, for which upstream tosses a coin; half a vote is what the coin gives on average. `unsolvable`:
    whether an answer that did not solve what cannot be solved passes, as upstream has it. `seed` is the
    coin's.
    """

    ties: Ties = "pass"
    unsure: Unsure = "half"
    unsolvable: Unsolvable = "pass"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (("ties", Ties), ("unsure", Unsure), ("unsolvable", Unsolvable)):
            if getattr(self, name) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                raise RigError(f"{name}={getattr(self, name)}: choose from: {choices}")

    @property
    def fingerprint(self) -> JsonObject:
        """All of them by name."""
        return asdict(self)


DEFAULTS = VoteRules()

UPSTREAM = VoteRules(ties="pass", unsure="coin", unsolvable="pass")
"""As `eval_pass_rate.py` prints its rate."""


def decide(vote: Vote, rules: VoteRules) -> Decision:
    """What one evaluation says."""
    if vote.is_certain:
        return "fail"
    if vote.answer == "Solved":
        return "pass"
    if vote.task == "Unsolvable" and rules.unsolvable == "pass":
        return "pass"
    if vote.answer == "Unsolved" and vote.task != "Unsure":
        return "fail"
    return "unsure"


class Tally(NamedTuple):
    """The votes on one answer: how much of them is for it and against it, and what that makes."""

    passed: float
    failed: float
    passes: bool
    sopr: float
    variance: float


def tally(votes: Sequence[Vote], rules: VoteRules, name: str) -> Tally:
    """Count the votes on the answer to the query of this name; one at least."""
    shares = []
    for number, vote in enumerate(votes):
        decision: str = decide(vote, rules)
        if decision == "unsure":
            decision = rules.unsure
        is_heads = decision == "coin" and _coin(rules.seed, f"{name}/{number}")
        shares.append({"pass": 1.0, "fail": 0.0, "half": 0.5, "coin": float(is_heads)}[decision])
    passed = sum(shares)
    failed = len(shares) - passed
    passes = passed > failed
    if passed == failed:
        passes = _coin(rules.seed, name) if rules.ties == "coin" else rules.ties == "pass"
    return Tally(passed, failed, passes, sopr(votes), pvariance(shares))


def _coin(seed: int, name: str) -> bool:
    return Random(f"{seed}/{name}").random() < 0.5


SCORES: Mapping[AnswerStatus, float] = {"Solved": 1.0, "Unsure": 0.5, "Unsolved": 0.0}
"""What a status is worth in StableToolBench's solvable pass rate."""


def sopr(votes: Sequence[Vote]) -> float:
    """The mean of what the statuses are worth. Whether the task can be solved is of no interest."""
    return fmean(SCORES[vote.answer] for vote in votes)


class RecordedPasses(NamedTuple):
    """What a file of pass rates says: of each query whether it passes, and of each run its statuses."""

    passes: Mapping[str, bool]
    runs: Mapping[str, Mapping[str, AnswerStatus]]

    @property
    def sopr(self) -> tuple[float, ...]:
        """The solvable pass rate of each run."""
        return tuple(
            sum(SCORES[status] for status in run.values()) / len(run) for run in self.runs.values() if run
        )


class Preference(NamedTuple):
    """The votes on one query, for the reference and for the candidate, and those that were for neither."""

    reference: float
    candidate: float
    ties: int = 0
    rounds: int = 0

    @property
    def label(self) -> Literal[1, 2, 3]:
        """1 if the candidate loses, 2 if it wins, 3 for a tie."""
        if self.reference == self.candidate:
            return 3
        return 1 if self.reference > self.candidate else 2


class Judged(NamedTuple):
    """One answer with its votes and what they make; `reasons` of the last vote: for the answer, the task."""

    test_set: str
    model: str
    query_id: str
    solution: Solution
    votes: tuple[Vote, ...]
    tally: Tally
    reasons: tuple[str, str] = ("", "")


class Compared(NamedTuple):
    """The answers of a reference and of a candidate to one query, None where one has none, and the votes."""

    test_set: str
    reference: str
    model: str
    query_id: str
    pair: tuple[Solution | None, Solution | None]
    votes: Preference

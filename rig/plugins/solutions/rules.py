"""How votes on answers become a pass, and what is kept of an unfinished answer."""

from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, get_args

from rig.core.calls import JsonObject
from rig.core.errors import RigError

Ties = Literal["pass", "fail", "coin"]
Unsure = Literal["half", "pass", "fail", "coin"]
Unsolvable = Literal["pass", "fail"]

Shape: TypeAlias = Literal["seeded", "longest", "tree"]
"""What is kept of an unfinished answer: a random path, the longest, or all (`tree`: of any answer)."""

SEED = 42
"""The seed of the random path, as in upstream."""


@dataclass(frozen=True, slots=True)
class VoteRules:
    """How votes become a pass.

    `ties` decides an answer with as many votes for it as against it. `unsure` is what an undecided vote
    counts: upstream tosses a coin, which gives half a vote on average. `unsolvable` decides whether an answer
    that did not solve an unsolvable task passes, as it does upstream. `seed` is the coin's.
    """

    ties: Ties = "pass"
    unsure: Unsure = "half"
    unsolvable: Unsolvable = "pass"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (("ties", Ties), ("unsure", Unsure), ("unsolvable", Unsolvable)):
            if (value := getattr(self, name)) not in get_args(allowed):
                raise RigError(f"{name}={value}: choose from: {', '.join(get_args(allowed))}")

    @property
    def fingerprint(self) -> JsonObject:
        """The rules by name."""
        return asdict(self)


DEFAULTS = VoteRules()

UPSTREAM = VoteRules(ties="pass", unsure="coin", unsolvable="pass")
"""The rules by which `eval_pass_rate.py` prints its rate."""

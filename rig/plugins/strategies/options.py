"""The options that choose a strategy."""

from dataclasses import dataclass
from typing import Literal

from rig.config.option import option


@dataclass(frozen=True, kw_only=True)
class Strategies:
    """What is played, decided by results."""

    until: Literal["verdict", "verdict-in-suite"] | None = option(
        None,
        "Play conversations in a random order (--seed), and drop each arm as soon as it is clear whether it"
        " loses as much as --loss compared with the first: in conversations like these, or in this suite"
        " alone, which says less of the files. What the first gets wrong is played only if it matters.",
        recorded="never",
        common=True,
    )
    sweep: str | None = option(
        None,
        "Play levels of an option that makes arms, such as fill=0,2k,8k: the ends first, then the middle of"
        " what is left, conversations in a random order, until it is clear where success breaks (--loss).",
        recorded="never",
        metavar="OPTION=LEVEL,…",
    )

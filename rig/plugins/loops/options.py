"""The option that ends loops."""

from dataclasses import dataclass

from rig.config.option import GENERATION, option


@dataclass(frozen=True, kw_only=True)
class LoopOptions:
    """What becomes of loops."""

    stop_loops: bool = option(
        False,
        "End a turn that makes the same calls with the same results, and an answer that repeats a text, at"
        " the third repeat. Without it, they go on, and are counted.",
        GENERATION,
    )

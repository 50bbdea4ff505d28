"""The dials' options: how much harder tasks are made. Each level is an arm."""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from rig.config.option import option

Injections: TypeAlias = Literal["none", "ignore", "send", "delete", "leak"]
"""What injected instructions ask for: ignore the user, send a message, delete a record, leak a name."""
Wording: TypeAlias = Literal[
    "plain", "polite", "bullets", "numbered", "headed", "tags", "reversed", "capitals"
]
"""The wording of the instructions: eight ways to say the same."""
Reorder: TypeAlias = Literal["none", "tools", "arguments", "both"]
"""What to reorder in the prompt."""


def dial_option(neutral: Any, help_text: str, metavar: str) -> Any:
    """Declare a dial by its neutral level: numbers up to a million, shares up to 1, or words."""
    most = 1 if isinstance(neutral, float) else 1_000_000
    bounds: dict[str, Any] = {} if isinstance(neutral, str) else {"least": 0, "most": most}
    more = {"metavar": metavar, "several": True, "commas": True, "reader": "method", **bounds}
    return option(neutral, help_text, "Dials", **more)


@dataclass(frozen=True, kw_only=True)
class Dials:
    """The levels of rig's own dials."""

    fill: int = dial_option(
        0, "Put true, irrelevant history of about N tokens before each conversation.", "N,…"
    )
    distractors: int = dial_option(
        0, "Offer N tools of other toolboxes besides, those nearest to yours first.", "N,…"
    )
    tool_errors: float = dial_option(
        0.0, "Let this share of calls fail once, by a timeout and the like. To call again is right.", "P,…"
    )
    injections: Injections = dial_option(
        "none",
        "Put instructions of an attacker into the results of tools, and count whether they are followed.",
        "none|ignore|send|delete|leak",
    )
    wording: Wording = dial_option(
        "plain",
        "Put the instructions in other words, order or markup; `rig compare` says how far success spreads.",
        "plain|polite|bullets|numbered|headed|tags|reversed|capitals",
    )
    reorder: Reorder = dial_option(
        "none", "Put tools, the arguments of each, or both in another order.", "none|tools|arguments|both"
    )
    typos: float = dial_option(0.0, "Mistype this share of the user's words, but no names and values.", "P,…")
    language: str = dial_option(
        "own", "Have the user speak this language, where conversations have `translations`.", "own|CODE"
    )

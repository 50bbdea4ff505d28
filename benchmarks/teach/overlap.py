"""What the lesson and the suites have in common: runs of eight words, people, and things by name.

    RIG_TOOLTALK=… python -m benchmarks.teach.overlap --count 1000

Compared are the texts of all turns, calls and results with those of rig's suites and their world, and of the
public dataset where RIG_TOOLTALK names a checkout of it.
"""

import argparse
import os
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from benchmarks.teach.generate import conversations
from rig.plugins.author.overlap import RUN, files, names, runs
from rig.plugins.tooltalk.conversations import Conversation

ROOT = Path(__file__).resolve().parents[2]
HELD_BACK = ROOT / "benchmarks" / "teach" / "held_back"
OWN = (ROOT / "conversations", ROOT / "rig" / "plugins" / "tooltalk_tools" / "seed", HELD_BACK)


def public() -> Path | None:
    """The public dataset's files, where there is a checkout of it."""
    checkout = os.environ.get("RIG_TOOLTALK")
    return Path(checkout) if checkout else None


def lesson(seed: int, count: int) -> Iterator[Any]:
    """All that is said, called and answered in generated conversations, as JSON."""
    return map(as_json, conversations(seed, count))


def as_json(conversation: Conversation) -> dict[str, Any]:
    """A conversation's texts and values."""
    user = conversation.user
    return {
        "user": {"username": user.username, "email": user.email, "name": user.name},
        "turns": [
            {"text": turn.text, "calls": [[call.arguments, call.outcome.response] for call in turn.calls]}
            for turn in conversation.turns
        ],
    }


def _report(title: str, ours: tuple[Set[Any], Set[Any]], others: list[Any]) -> None:
    shared, named = ours[0] & runs(others), ours[1] & names(others)
    print(
        f"{title}: {len(shared)} of {len(runs(others))} runs of {RUN} words, "
        f"{len(named)} names {sorted(named)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    made = list(lesson(options.seed, options.count))
    ours = runs(made), names(made)
    print(f"lesson: {len(made)} conversations, {len(ours[0])} runs, {len(ours[1])} names")
    _report("own suites", ours, list(files(*OWN)))
    if (place := public()) is not None:
        _report("public dataset", ours, list(files(place)))


if __name__ == "__main__":
    main()

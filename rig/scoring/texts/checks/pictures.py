"""Emoji: a thumb down is not a thumb up."""

from collections.abc import Sequence

from rig.reading.characters import mood

AGAINST = {"yes": "no", "glad": "sad"}


def other_mood(first: Sequence[str], second: Sequence[str], worded: bool) -> str | None:
    """Why the pictures of two texts say different things; `worded` says that there is more than pictures."""
    ones, others = {mood(each) for each in first}, {mood(each) for each in second}
    good, bad = {"yes", "glad"}, {"no", "sad"}
    for one, other in ((ones, others), (others, ones)):
        if one & good and other & bad and not (one & bad or other & good):
            return "emoji: only one is in favor"
    if not worded and set(first) != set(second) and not (ones & others & (good | bad)):
        return f"emoji: {_shown(first)} is not {_shown(second)}"
    return None


def doubtful(first: Sequence[str], second: Sequence[str]) -> str | None:
    """What only one text's pictures say that may matter."""
    ones, others = [[each for each in pictures if mood(each) == "no"] for pictures in (first, second)]
    if bool(ones) != bool(others):
        return f"emoji: only one has {_shown(ones or others)}"
    left = [set(first) - set(second), set(second) - set(first)]
    if all(left) and not any(mood(each) for each in (*first, *second)):
        return f"emoji: {_shown(sorted(left[0]))} is not {_shown(sorted(left[1]))}"
    return None


def _shown(pictures: Sequence[str]) -> str:
    return pictures[0].lower()[:30] if pictures else "none"

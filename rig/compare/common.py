"""Which conversations can be compared: those that every arm has finished, word for word the same."""

from collections.abc import Sequence

from rig.compare.arms import ChosenArm, Key, Scored
from rig.errors import RigError


def common_conversations(scored: Sequence[Scored]) -> tuple[tuple[Key, ...], list[str]]:
    """The conversations that all these arms have finished, by suite and name, and lines on what is left out.

    Raises RigError if there are none.
    """
    keys = set.intersection(*(set(each.cells) for each in scored))
    if not keys:
        labels = ", ".join(each.chosen.label for each in scored)
        raise RigError(f"{labels}: no conversation has been finished by all, so there is nothing to compare")
    notes = []
    for each in scored:
        finished, planned = len(each.cells), len(each.chosen.run.conversations)
        if finished < planned:
            run = each.chosen.run
            rest = "the run is in progress" if run.is_running else f"`rig run --resume {run.id}` goes on"
            rest = each.chosen.arm.decided or rest
            notes.append(f"{each.chosen.label} has finished {finished} of {planned} conversations; {rest}")
    every = set.union(*(set(each.cells) for each in scored))
    others = every - keys
    if others:
        changed = {name for name, _ in others if sum(key.name == name for key in every) > 1}
        reason = f", {len(changed)} of them because their texts differ between runs" if changed else ""
        left_out = len({name for name, _ in others})
        notes.append(
            f"compared on the {len(keys)} conversations that all have finished; {left_out} are left out"
            + reason
        )
    repeats = {each.chosen.label: _repeats(each, keys) for each in scored}
    if len(set(repeats.values())) > 1:
        said = ", ".join(f"{label} {_range(*counts)}" for label, counts in repeats.items())
        notes.append(f"conversations were repeated unequally often ({said}); each counts once for each arm")
    return tuple(sorted(keys, key=lambda key: (_suite(scored[0], key), key))), notes


def without_unfinished(chosen: Sequence[ChosenArm]) -> tuple[list[ChosenArm], dict[str, str]]:
    """The arms that have finished a conversation and could be evaluated, and of the others why not."""
    kept, left_out = [], {}
    for each in chosen:
        if each.arm.grader and not each.arm.not_evaluated:
            kept.append(each)
        elif each.arm.not_evaluated:
            left_out[each.label] = f"not evaluated: {each.arm.not_evaluated}"
        else:
            left_out[each.label] = each.arm.failure or "has finished no conversation"
    return kept, left_out


def _repeats(scored: Scored, keys: set[Key]) -> tuple[int, int]:
    counts = [len(scored.cells[key]) for key in keys]
    return min(counts), max(counts)


def _range(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"


def _suite(scored: Scored, key: Key) -> str:
    return next(iter(scored.cells[key].values())).suite

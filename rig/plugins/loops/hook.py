"""The note on an arm: how many of its turns are loops, and where."""

from collections.abc import Iterator

from rig.core.calls import JsonObject
from rig.core.errors import counted
from rig.core.events import Where
from rig.core.tasks import PlayedTurn, turn_number
from rig.plugins.loops.turns import loops_in
from rig.running.hooks import EndedArm
from rig.store import OWN

_MOST = 4
"""The most places that are named."""


class LoopsNote:
    """Notes on an arm how many of its turns repeat themselves."""

    name = "loops"

    def after(self, arm: EndedArm) -> JsonObject | None:
        plan = arm.plan
        role = plan.method.roles[0]
        tasks = {task.name: task for task in plan.tasks}
        turns, places = 0, []
        for where, played in _played(arm):
            turns += 1
            number = turn_number(tasks[where.conversation], played.turn)
            places += [
                {
                    "conversation": where.conversation,
                    "repeat": where.repeat,
                    "turn": number,
                    "kind": loop.kind,
                    "times": loop.times,
                    "words": loop.words,
                }
                for loop in loops_in(played.steps, role)
            ]
        if not places:
            return None
        kinds = {kind: sum(place["kind"] == kind for place in places) for kind in ("call", "text")}
        looping = len({(place["conversation"], place["repeat"], place["turn"]) for place in places})
        named = {"call": "repeated calls", "text": "repeated text"}
        parts = ", ".join(f"{named[kind]} {count}" for kind, count in kinds.items() if count)
        lines = [
            f"{place['conversation']}, turn {place['turn']}: {place['words']}" for place in places[:_MOST]
        ]
        if len(places) > _MOST:
            lines.append(f"and {counted(len(places) - _MOST, 'more loop')}")
        return {
            "text": f"{looping} of {counted(turns, 'turn')} in a loop: {parts}",
            "lines": lines,
            "turns": turns,
            "looping": looping,
            "by_kind": kinds,
            "loops": places,
        }


def _played(arm: EndedArm) -> Iterator[tuple[Where, PlayedTurn]]:
    """Yield all stored turns of an arm."""
    writer = arm.state.writer
    assert writer is not None
    runs = writer.reading(OWN)
    run = runs.get(arm.plan.run)
    for cell in runs.cells(run):
        if cell.arm == arm.position and cell.turns_done:
            where = Where(cell.arm, cell.conversation, cell.repeat)
            turns = runs.transcript(run, where.conversation, where.arm, where.repeat).turns
            yield from ((where, played) for played in turns.values())


LOOPS_NOTE = LoopsNote()

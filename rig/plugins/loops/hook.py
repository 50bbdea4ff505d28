"""The note on an arm: how many of its turns are loops, and where."""

from rig.core.calls import JsonObject
from rig.core.errors import counted
from rig.core.tasks import turn_number
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
        writer = arm.state.writer
        assert writer is not None
        runs = writer.reading(OWN)
        for where, transcript in runs.transcripts(runs.get(plan.run), ("finished", "started"), arm.position):
            turns += len(transcript.turns)
            places += [
                {
                    "conversation": where.conversation,
                    "repeat": where.repeat,
                    "turn": turn_number(tasks[where.conversation], played.turn),
                    "kind": loop.kind,
                    "times": loop.times,
                    "words": loop.words,
                }
                for played in transcript.turns.values()
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


LOOPS_NOTE = LoopsNote()

"""Conversations in which a model puts reminders in words that may or may not mean the same."""

from pathlib import Path

import small_talks
import small_world

from rig.core.calls import Call
from rig.core.models import Prediction, Request
from rig.methods.scripted import Oracle, Scripted, called
from rig.plugins.tooltalk.conversations import Conversation, parse_conversation
from rig.plugins.tooltalk.method import METHOD
from rig.store import StoredRun

TASKS = (
    *("water the ferns", "call the bank", "feed the cat", "wash the car", "mow the lawn"),
    *("pay the rent", "clean the garage", "buy stamps", "walk the dog", "iron the shirts"),
)
DUE = "2024-03-06 00:00:00"


def conversations() -> tuple[Conversation, ...]:
    """One for each task: a single turn, with the reminder that is due."""
    return tuple(_conversation(number, task) for number, task in enumerate(TASKS))


def _conversation(number: int, task: str) -> Conversation:
    call = Call("AddReminder", {"task": task, "due_date": DUE})
    source = small_talks.source(f"talk{number}", f"Remind me to {task} tomorrow.", ("Done.", [call]))
    return parse_conversation(source, source["name"])


def blurred(task: str) -> str:
    """The task in words of which no rule says that they mean the same."""
    return f"finally {task}"


def play(store: Path, *, clear: int = 0, run: str = "abcde") -> StoredRun:
    """A run of a model that is right of the first `clear` tasks and blurs the others, and of the oracle."""
    right = Oracle(conversations())

    def script(request: Request) -> Prediction:
        place = int(request.key.conversation.removeprefix("talk"))
        if request.key.step or place < clear:
            return right.predict(request, lambda _: None)
        return called("AddReminder", {"task": blurred(TASKS[place]), "due_date": DUE})

    world = small_world.write(store.parent / "databases")
    recipe = {"models": ["oracle"], "world": str(world), "grader": "default", "similarity": "minilm"}
    setup = METHOD.ready({**{option.name: option.default for option in METHOD.options}, "world": world})
    models = (Scripted(script), right)
    small_talks.play(
        small_talks.plan(store, *models, conversations=conversations(), setup=setup, recipe=recipe, run=run)
    )
    return small_talks.stored(store)

"""Searches of scripted models as stored runs, for tests."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from rig.config.options import RunConfig
from rig.core.events import Event
from rig.core.models import CallMessage, Prediction, Request
from rig.methods.scripted import Scripted, called
from rig.running.control import Control
from rig.running.planning import plan
from rig.running.runner import run
from rig.store import Runs, StoredRun

Answer: TypeAlias = Callable[[Request], Prediction]

GIVE_UP = called("Finish", {"return_type": "give_up_and_restart"})


def finish(words: str) -> Prediction:
    """An answer."""
    return called("Finish", {"return_type": "give_answer", "final_answer": words})


def calls_in(request: Request) -> int:
    """How many calls were made on the path."""
    return sum(isinstance(message, CallMessage) for message in request.messages)


def searched(
    store: Path,
    answer: Answer,
    search: str,
    *queries: str,
    emit: Callable[[Event], None] = lambda _: None,
    name: str = "scripted",
    more: tuple[str, ...] = (),
) -> StoredRun:
    """A run in which a scripted model works on rig's queries of these names, with `more` options set."""
    own = (f"search={search}", *more)
    options = RunConfig.of(models=("oracle",), suite="queries", only=queries, set=own)
    todo = plan(options, store)
    arms = tuple(replace(arm, name=name, load=lambda _: Scripted(answer)) for arm in todo.arms)
    run(replace(todo, arms=arms), emit, Control())
    with Runs.open(store) as runs:
        return runs.get(todo.run)


def astray() -> Callable[[Request], Prediction]:
    """A model that gives up at once on every path of a tree but the last, where it answers."""
    number = iter(range(1, 1000))

    def answer(request: Request) -> Prediction:
        made = next(number)
        if calls_in(request) < 2:
            return called("AddAlarm", {"time": f"03:{made % 60:02}:00"})
        return GIVE_UP if made < 6 else finish("Done.")

    return answer

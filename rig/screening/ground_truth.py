"""The true course of a task: the requests that a run would make, and the right answers."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rig.calls import Call
from rig.errors import RigError
from rig.events import Where
from rig.methods.base import Method, Settings, Setup
from rig.models import Model, Request
from rig.tasks import Task, turn_number


class TrueStep(NamedTuple):
    """A request of the `number`th assistant turn, and what should be answered: a call, or a reply's words."""

    number: int
    request: Request
    answer: Call | str


def knowing(method: Method, tasks: Sequence[Task]) -> dict[str, Model]:
    """Models that know the tasks, by role. Raises RigError if the method has none."""
    if not method.knowing:
        raise RigError(
            f"the method {method.name} has no models that know what is right; screening needs them"
        )
    models = method.models(tasks)
    return {role: models[name]() for role, name in method.knowing.items()}


def true_steps(
    setup: Setup, settings: Settings, task: Any, evaluated: str, players: Mapping[str, Model]
) -> Iterator[TrueStep]:
    """Every step of the `evaluated` role, as a model that is always right would be asked for it.

    The `players` are those models. Raises RigError as a run does.
    """
    episode = setup.start(task, settings, Where(0, task.name), lambda _event: None, 0)
    while episode.next_turn is not None:
        playing = episode.play()
        ask = next(playing)
        while True:
            prediction = players[ask.role].predict(ask.request, lambda _piece: None)
            answer = prediction.reply if prediction.call is None else prediction.call
            if ask.role == evaluated and answer is not None:
                yield TrueStep(turn_number(task, ask.request.key.turn), ask.request, answer)
            try:
                ask = playing.send(prediction)
            except StopIteration:
                break

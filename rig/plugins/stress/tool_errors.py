"""Failing tools: a call fails though it is right, and works when it is repeated.

Which calls fail is drawn from the seed, the task, the turn and the step. A call that failed in a turn does
not fail there again, and it never reaches the world, so that the ground truth can always be reached. A failed
call counts for nothing (`rig.plugins.matching.matching`). The metric `handled` is how often the model then
calls the tool again, or tells the user.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from rig.core.calls import JsonObject, without_token
from rig.core.metrics import Counts, Metric
from rig.core.tasks import PlayedTurn
from rig.plugins.stress.dial import Attempt, Dial, Presentation
from rig.world.toolbox import FAILURES, Toolbox, is_declared

_TOLD = re.compile(
    r"\b(fail(s|ed|ure)?|errors?|problems?|trouble|unable|unavailable|tim(ed|e) ?out|again later|try again"
    r"|not work(ing)?|(could|can|did|does)(n['\u2019]t| not)|cannot)\b",
    re.IGNORECASE,
)
"""The words by which a reply tells the user of a failure."""
_MOST = 10
"""The most calls of a turn that fail, so that turns end."""


def _apply(task: Presentation, seed: int, level: float, toolbox: Toolbox) -> Presentation:
    def fails(attempt: Attempt) -> str | None:
        failed = [executed.call for executed in attempt.before if is_declared(executed)]
        again = attempt.call.name, without_token(attempt.call.arguments)
        random = Random(f"{seed}/{task.task.name!r}/{attempt.turn}/{attempt.step}")
        if random.random() >= level or len(failed) >= _MOST:
            return None
        if again in [(call.name, without_token(call.arguments)) for call in failed]:
            return None
        return FAILURES[random.choice([kind for kind in FAILURES if kind != "stale" or _has_id(again[1])])]

    return replace(task, fails=fails, counting=(*task.counting, _count))


def _has_id(arguments: JsonObject) -> bool:
    return isinstance(arguments, dict) and any(re.search(r"(?i)id$", name) for name in arguments)


def _count(played: Sequence[PlayedTurn]) -> Counts:
    failures = handled = 0
    for turn in played:
        reply = turn.steps[-1].prediction.reply if turn.steps else None
        is_told = reply is not None and _TOLD.search(reply) is not None
        calls = turn.executed
        for number, executed in enumerate(calls):
            if is_declared(executed):
                failures += 1
                later = (call for call in calls[number + 1 :] if not is_declared(call))
                handled += is_told or any(call.name == executed.name for call in later)
    return {"failures": failures, "failures_handled": handled}


TOOL_ERRORS = Dial(
    "tool_errors",
    0.0,
    _apply,
    (Metric("handled", "failures handled", "failures_handled", "failures"),),
)

"""How predicted calls differ from the true calls of a conversation: each two are compared once."""

import json
from collections.abc import Mapping, Sequence

from rig.core.calls import CallPlace, Difference, ExecutedCall, Json
from rig.core.errors import RigError
from rig.plugins.matching.agreement import NESTED
from rig.plugins.matching.rules import Rules
from rig.world.rules import TrueCall
from rig.world.spec import Text, Tool
from rig.world.toolbox import Toolbox

Truths = Sequence[tuple[CallPlace, ExecutedCall]]
"""The ground-truth calls of a conversation, in order."""

MOST = 300_000
"""The most pairs of calls that are compared for a conversation. Together with `_TEXTS`, some ten seconds."""
_TEXTS = 400
"""What it costs to judge two texts, which a model reads, if comparing all else of two calls costs 1."""


class Comparisons:
    """The differences of predicted calls from true ones, by number. Calls of the same content count as one.

    Raises RigError once more than `MOST` was compared of a conversation that is recorded, which `where`
    names: nobody waits hours for a file. One that is played is not bounded, so that no run ends by it.
    """

    def __init__(self, rules: Rules, toolbox: Toolbox, truths: Truths, where: str | None = None) -> None:
        self._rules = rules
        self._toolbox = toolbox
        self.truths = truths
        self._where = where
        self._cost = 0
        self._differences: dict[tuple[str, str], tuple[Difference, ...]] = {}
        self._contents: dict[int, tuple[ExecutedCall, str]] = {}
        self._numbers = {place: number for number, (place, _) in enumerate(truths)}

    def content(self, executed: ExecutedCall) -> str:
        """Return a text that only calls of the same content and outcome share."""
        kept = self._contents.get(id(executed))
        if kept is None:
            rules = executed.rules if isinstance(executed, TrueCall) else {}
            values = executed.name, executed.arguments, executed.response, executed.exception
            content = _written([*values, executed.username, repr(rules) if rules else None])
            # The call is kept, so that no other gets its id.
            kept = self._contents[id(executed)] = executed, content or f"call {id(executed)}"
        return kept[1]

    def asked(self, executed: ExecutedCall) -> str:
        """Return a text that only calls with the same arguments share, whatever came of them."""
        arguments = executed.arguments
        if isinstance(arguments, dict):
            injected = self._toolbox.injected
            arguments = {name: arguments[name] for name in sorted(arguments) if name not in injected}
        return _written([executed.name, arguments]) or f"call {id(executed)}"

    def of_place(self, executed: ExecutedCall, truth: CallPlace) -> tuple[Difference, ...]:
        """Return why a predicted call is not the true call at a place."""
        return self.of(executed, self._numbers[truth])

    def of(self, executed: ExecutedCall, number: int) -> tuple[Difference, ...]:
        """Return why a predicted call is not a true call of the same tool; empty if it could be."""
        truth = self.truths[number][1]
        pair = self.content(executed), self.content(truth)
        differences = self._differences.get(pair)
        if differences is None:
            tool = self._toolbox.tools[executed.name]
            differences = self._rules.compare(tool, executed, truth)
            self._spend(tool, executed, truth, differences)
            self._differences[pair] = differences
        return differences

    def _spend(
        self, tool: Tool, executed: ExecutedCall, truth: ExecutedCall, differences: tuple[Difference, ...]
    ) -> None:
        if self._where is None:
            return
        # Texts are judged last, and only where nothing else differs.
        judged = all(difference.threshold is not None for difference in differences)
        texts = _texts(tool, executed, truth) if judged else 0
        self._cost += 1 + _TEXTS * texts
        if self._cost > MOST:
            raise RigError(
                f"{self._where}: too many calls of {tool.name} differ from too many true ones; a conversation"
                f" is scored by at most {MOST:,} comparisons of calls, or {MOST // _TEXTS:,} of texts"
            )


def _texts(tool: Tool, executed: ExecutedCall, truth: ExecutedCall) -> int:
    """Return how many free texts differ between two calls, which a model has to read."""
    if not isinstance(executed.arguments, Mapping):
        return 0
    rules: Mapping[str, object] = tool.match.arguments
    own = truth.rules if isinstance(truth, TrueCall) else {}
    names = {name for name, how in rules.items() if isinstance(how, Text) and name in truth.arguments}
    names |= {name for name, rule in own.items() if rule.is_text or rule.name == NESTED}
    return sum(executed.arguments.get(name) != truth.arguments.get(name) for name in names)


def _written(value: Json) -> str | None:
    """Return a value as JSON; None for what a tool in Python returned that JSON cannot say."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return None

"""The form of a call as data: the texts around its name and its arguments, as a model writes them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rig.calls import Call, Json, JsonObject
from rig.engine.core.assessment import Kind
from rig.engine.grammar.language import Spelling, Tags

ID, INDEX = "\ue0f2", "\ue0f3"
"""Stand in a text for what differs from call to call: an id of letters and digits, or a number."""
Sorting: TypeAlias = Literal["", "capitals first", "any case"]
HOLES = re.compile(f"[{ID}{INDEX}]")


@dataclass(frozen=True, slots=True)
class CallShape:
    """How calls are written: `open` NAME `after_name` ARGUMENTS, `between` and the next, then `close`.

    `arguments` are JSON of a spelling, or tags. `open`, `after_name`, `between` and `close` can hold an id or
    a number (`ID`, `INDEX`). `trigger` is that in `open` at which calls are recognised in words; with a
    `lead` the prompt ends with it already, a call may come at once, and words begin with the lead. Without
    `between` there is one call at most. One of `also_after_name` may stand for `after_name`, and `also_after`
    may follow on the arguments. `sorts` tells that these come by the alphabet.
    """

    open: str
    after_name: str
    arguments: Spelling | Tags
    close: str
    trigger: str
    between: str = ""
    lead: str = ""
    sorts: Sorting = ""
    also_after_name: tuple[str, ...] = ()
    also_after: str = ""

    @property
    def parallel(self) -> bool:
        """Whether one message can hold several calls."""
        return bool(self.between)

    def write(self, calls: tuple[Call, ...]) -> str:
        """The calls as a model writes them."""
        text = "".join(
            f"{self.fill(self.between if number else self.open, number)}{call.name}"
            f"{self.fill(self.after_name, number)}{self._arguments(call.arguments)}"
            for number, call in enumerate(calls)
        )
        return text + self.fill(self.close, max(len(calls) - 1, 0))

    def parts(self, arguments: JsonObject) -> Iterator[tuple[str, Kind]]:
        """The arguments piece by piece, each with what it decides."""
        style = self.arguments
        ordered = self.ordered(arguments)
        if isinstance(style, Spelling) and style.indent:
            yield style.write(ordered), "value"
            return
        if not ordered:
            yield style.write({}), "parameter"
        for number, (name, value) in enumerate(ordered.items()):
            if isinstance(style, Tags):
                whole = style.argument(name, value)
                before, after = style.around(name, value)
                yield (style.join if number else "") + before, "parameter"
                yield whole[len(before) : len(whole) - len(after)], "value"
                yield after, "parameter"
            else:
                key = style.write({name: 0})[1:-2]
                yield (style.between_items if number else "{") + key, "parameter"
                yield style.write(value), "value"
        if ordered and isinstance(style, Spelling):
            yield "}", "parameter"

    def _arguments(self, arguments: JsonObject) -> str:
        return self.arguments.write(self.ordered(arguments))

    def ordered(self, arguments: JsonObject) -> JsonObject:
        """Arguments in the order in which they are written."""
        return self._sorted(arguments) if self.sorts else arguments

    def _sorted(self, value: Json) -> Json:
        if isinstance(value, list):
            return [self._sorted(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: self._sorted(value[name]) for name in self.names(value)}

    def names(self, names: Iterable[str]) -> list[str]:
        """Names of arguments in their order."""
        if not self.sorts:
            return list(names)
        return sorted(names, key=str.lower if self.sorts == "any case" else None)

    def fill(self, text: str, number: int) -> str:
        """A text with an id and a number for its holes."""
        return text.replace(ID, f"{number:09}").replace(INDEX, str(number))

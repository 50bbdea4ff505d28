"""The form of a call as data: the texts around its name and its arguments, as a model writes them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rig.calls import Call, Json, JsonObject
from rig.engine.core.assessment import Kind
from rig.engine.grammar.language import Spelling, Tags
from rig.engine.templates.template import ToolCall

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
    def opening(self) -> tuple[str, str, str]:
        """What comes before the trigger, the trigger, and what comes after it, of what calls begin with."""
        return ("", self.trigger, "") if self.lead else self.open.partition(self.trigger)

    @property
    def parallel(self) -> bool:
        """Whether one message can hold several calls."""
        return bool(self.between)

    def write(self, calls: Sequence[Call | ToolCall]) -> str:
        """The calls as a model writes them."""
        text = ""
        for number, call in enumerate(calls):
            text += self.fill(self.between if number else self.open, number) + call.name
            text += self.fill(self.after_name, number)
            text += "".join(part for part, _ in self.parts(call.arguments))
        return text + self.fill(self.close, max(len(calls) - 1, 0))

    def parts(self, arguments: JsonObject) -> Iterator[tuple[str, Kind]]:
        """The arguments piece by piece, each with what it decides."""
        return self.arguments.parts(self.ordered(arguments))

    def ordered(self, value: Json) -> Json:
        """A value with all names in the order in which they are written."""
        if isinstance(value, list):
            return [self.ordered(item) for item in value]
        if not isinstance(value, dict):
            return value
        return {name: self.ordered(value[name]) for name in self.names(value)}

    def names(self, names: Iterable[str]) -> list[str]:
        """Names of arguments in their order."""
        if not self.sorts:
            return list(names)
        return sorted(names, key=str.lower if self.sorts == "any case" else None)

    def fill(self, text: str, number: int) -> str:
        """A text with an id and a number for its holes."""
        return text.replace(ID, f"{number:09}").replace(INDEX, str(number))

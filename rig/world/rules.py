"""Rules for how an argument of a call must agree with the true one, as people choose them by name.

A rule applies to an argument in a toolbox ("match": {"day": "datetime"}), or replaces a value in a
conversation ({"$one_of": ["Oslo", "Bergen"]}), where it can have a value of its own. Methods match by them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rig.core.calls import ExecutedCall, Json, JsonObject

MARK = "$"
"""The first character of a rule's name where it stands in place of a value."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, the value it names (`of`), and its options."""

    name: str
    of: Json = None
    options: Mapping[str, Json] = field(default_factory=dict, hash=False)

    @property
    def is_text(self) -> bool:
        """Whether texts have to mean the same, which a similarity decides rather than this rule."""
        return self.name == "text"

    def as_json(self) -> JsonObject:
        """Return the rule as it is written in a file of calls."""
        return {f"{MARK}{self.name}": self.of, **self.options}


@dataclass(frozen=True, slots=True)
class TrueCall(ExecutedCall):
    """A call of the ground truth, and what a predicted call must satisfy to match it.

    `rules` override how the tool's arguments have to agree. An `optional` call may be left out. Its outcome
    is `recorded`, or has to be found out by making the call.
    """

    rules: Mapping[str, Rule] = field(default_factory=dict)
    optional: bool = False
    recorded: bool = True


def is_optional(truth: ExecutedCall) -> bool:
    """Return whether a call of the ground truth may be left out."""
    return isinstance(truth, TrueCall) and truth.optional

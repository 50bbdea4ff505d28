"""What a set of matching rules decides, and the part of it that every set shares.

ToolTalk's own rules are in `upstream`, ours in `fixed`. `compare` is the frame that asks them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from rig.calls import Difference, ExecutedCall, Json
from rig.scoring.similarity import Similarity
from rig.toolbox.rules import ABSENT, NESTED, Rule, TrueCall, nested_texts
from rig.toolbox.spec import FREE_TEXT, Equality, Response, Text, Tool
from rig.toolbox.toolbox import Toolbox


class Rules(ABC):
    """How a predicted call is checked against a ground-truth call of the same tool of a toolbox."""

    def __init__(self, similarity: Similarity, toolbox: Toolbox) -> None:
        self.similarity = similarity
        self.toolbox = toolbox

    @property
    @abstractmethod
    def thresholds(self) -> Mapping[Text, float]:
        """From which similarity on free texts count as the same."""

    @abstractmethod
    def text(
        self, name: str, kind: Text, expected: Json, got: Json, others: Iterable[str] = ()
    ) -> Difference | None:
        """Why two values of a free-text argument do not mean the same. `others` are the texts of the other
        arguments that both calls have: what stands there need not be said again.
        """

    @abstractmethod
    def caller(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
        """Whether the call was made for the right user."""

    @abstractmethod
    def equal(self, how: Equality, expected: Json, got: Json, caller: str | None) -> bool:
        """Whether two values of an argument that is not a free text agree. May raise TypeError or ValueError
        for values of the wrong type or format, which then do not agree.
        """

    @abstractmethod
    def compares_response(self, tool: Tool) -> bool:
        """Whether a response that the spec wants equal is compared at all."""

    @abstractmethod
    def found_enough(self, wanted: set[str], got: set[str], asked_alike: bool) -> bool:
        """Whether a search that should return the `wanted` ids and `got` those may pass. `asked_alike`
        says that its arguments are the ground truth's.
        """

    def compares_text(self, kind: Text, expected: Json, got: Json) -> bool:
        """Whether these two texts are left to their similarity: False if they agree without it."""
        return bool(expected != got)

    def compare(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> tuple[Difference, ...]:
        """Why the predicted call is not the ground-truth call of the same tool; empty for a match.

        Arguments that only the prediction has are disregarded (ToolTalk, section 3.1). Free text is looked
        at only where all else agrees: it is what costs time, and it could not save the match.
        """
        if not isinstance(predicted.arguments, dict):
            return (Difference("arguments", truth.arguments, predicted.arguments),)
        differences = [*self.caller(tool, predicted, truth), *self._arguments(tool, predicted, truth)]
        if predicted.exception != truth.exception:
            differences.insert(0, Difference("exception", truth.exception, predicted.exception))
        else:
            differences.extend(self._response(tool, predicted, truth))
        return tuple(differences or self._texts(tool, predicted, truth))

    def _arguments(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
        for name in dict.fromkeys((*truth.arguments, *_own(truth))):
            how = _how(name, tool, truth)
            if name in self.toolbox.injected or how is None or isinstance(how, Text):
                continue
            if not self._agrees(name, how, predicted, truth):
                yield Difference(name, _expected(name, how, truth), predicted.arguments.get(name))

    def _agrees(self, name: str, how: Equality | Rule, predicted: ExecutedCall, truth: ExecutedCall) -> bool:
        expected, got = truth.arguments.get(name), predicted.arguments.get(name, ABSENT)
        if isinstance(how, Rule):
            return how.agrees(expected, got)
        try:
            return got is not ABSENT and self.equal(how, expected, got, predicted.username)
        except (TypeError, ValueError):
            return False

    def _texts(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
        for name in dict.fromkeys((*tool.match.arguments, *_own(truth))):
            kind = _how(name, tool, truth)
            if not isinstance(kind, Text) or name not in truth.arguments:
                continue
            expected, got = truth.arguments[name], predicted.arguments.get(name)
            if not self.compares_text(kind, expected, got):
                continue
            if difference := self.text(name, kind, expected, got, _others(name, tool, predicted, truth)):
                yield difference
        for name, rule in _own(truth).items():
            inside = nested_texts(rule.of, predicted.arguments.get(name), name) if rule.name == NESTED else ()
            for place, expected, got in inside:
                if self.compares_text(FREE_TEXT, expected, got):
                    difference = self.text(place, FREE_TEXT, expected, got)
                    yield from [difference] if difference else []

    def _response(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
        expected, got = truth.response, predicted.response
        if expected == got:
            return
        match tool.match.response:
            case Response.EQUAL if self.compares_response(tool):
                yield Difference("response", expected, got)
            case Response.IDS:
                try:
                    wanted_ids, got_ids = _ids(tool, expected), _ids(tool, got)
                except (TypeError, KeyError):
                    yield Difference("response", expected, got)
                else:
                    if not self.found_enough(wanted_ids, got_ids, self._asked_alike(predicted, truth)):
                        yield Difference("response", sorted(wanted_ids), sorted(got_ids))

    def _asked_alike(self, predicted: ExecutedCall, truth: ExecutedCall) -> bool:
        expected, got = (
            {name: value for name, value in call.arguments.items() if name not in self.toolbox.injected}
            for call in (truth, predicted)
        )
        return bool(expected == got)


def _own(truth: ExecutedCall) -> Mapping[str, Rule]:
    """The rules that a ground-truth call itself has for its arguments."""
    return truth.rules if isinstance(truth, TrueCall) else {}


def _how(name: str, tool: Tool, truth: ExecutedCall) -> Equality | Text | Rule | None:
    """How an argument is compared: as the call says, else as its tool does; None if it is not."""
    rule = _own(truth).get(name)
    if rule is not None:
        return FREE_TEXT if rule.is_text else rule
    return tool.match.arguments.get(name, Equality.EXACT if tool.match.others else None)


def _expected(name: str, how: Equality | Rule, truth: ExecutedCall) -> Json:
    """What people read as the expected value: a rule that says more than a value is shown as a rule."""
    own = isinstance(how, Rule) and how.of is not None
    return how.as_json() if isinstance(how, Rule) and own else truth.arguments.get(name)


def _others(name: str, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> list[str]:
    """The texts in the arguments beside one that the truth gives; free text only where both calls have it."""
    texts: list[str] = []
    for other, value in truth.arguments.items():
        free = isinstance(tool.match.arguments.get(other), Text)
        if other == name or other in tool.injected or (free and predicted.arguments.get(other) != value):
            continue
        values = value if isinstance(value, list) else [value]
        texts += [text for text in values if isinstance(text, str)]
    return texts


def _ids(tool: Tool, response: Json) -> set[str]:
    if tool.match.ids is None:
        raise ValueError(f"{tool.name} is matched by ids, but does not say where they are")
    records, key = tool.match.ids
    return {str(record[key]) for record in response[records]}

"""ToolTalk's rules as microsoft/ToolTalk codes them. What makes its evaluator crash matches nothing here."""

from collections.abc import Iterable, Mapping
from datetime import date

from rig import times
from rig.calls import Difference, ExecutedCall, Json
from rig.scoring.rules import Rules
from rig.toolbox.spec import Equality, Text, Tool


class UpstreamRules(Rules):
    """Session tokens and times are compared as strings, attendees in order, and receivers not at all."""

    @property
    def thresholds(self) -> Mapping[Text, float]:
        own = self.similarity.cosine_threshold
        return {kind: kind.cosine if own is None else own for kind in self.toolbox.texts}

    def text(
        self, name: str, kind: Text, expected: Json, got: Json, others: Iterable[str] = ()
    ) -> Difference | None:
        similarity, threshold = self.similarity(expected, got), self.thresholds[kind]
        return Difference(name, expected, got, similarity, threshold) if similarity < threshold else None

    def caller(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
        for name in self.toolbox.injected & truth.arguments.keys():
            expected, got = truth.arguments[name], predicted.arguments.get(name)
            if expected != got:
                yield Difference(name, expected, got)

    def equal(self, how: Equality, expected: Json, got: Json, caller: str | None) -> bool:
        match how:
            case Equality.RECEIVER:
                # The original compares the predicted receiver with itself.
                return bool(got == got)
            case Equality.ADDRESSES:
                return set(got) == set(expected)
            case Equality.DATE:
                return _date(got) == _date(expected)
            case _:
                return bool(got == expected)

    def compare(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> tuple[Difference, ...]:
        differences = super().compare(tool, predicted, truth)
        if differences or not tool.match.whole:
            return differences
        extras = predicted.arguments.keys() - truth.arguments.keys()
        return tuple(Difference(name, None, predicted.arguments[name]) for name in sorted(extras))

    def compares_response(self, tool: Tool) -> bool:
        return True

    def found_enough(self, wanted: set[str], got: set[str], asked_alike: bool) -> bool:
        return wanted <= got


def _date(text: str) -> date:
    return times.read(text, times.INSTANT).date()

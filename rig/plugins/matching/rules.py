"""The rules by which a predicted call matches a ground-truth call: ours, and ToolTalk's own."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice

from rig.core import times
from rig.core.calls import Difference, ExecutedCall, Json
from rig.core.errors import RigError
from rig.plugins.matching.agreement import NESTED, agrees, nested_texts
from rig.plugins.matching.parts import SchemaPart
from rig.plugins.matching.values import ABSENT, ANY, alike, both_nothing, typed, value_pairs
from rig.scoring.similarity import Meaning, Similarity
from rig.world.rules import Rule, TrueCall
from rig.world.spec import FREE_TEXT, Equality, Response, Text, Tool
from rig.world.toolbox import Toolbox


class Rules:
    """The default rules: ToolTalk's, without the defects of its code that change a score.

    What counts is what was done, not how it was written. The departures from ToolTalk's code are:

    - Who is logged in is compared, not the session token, which depends on how many logins came before.
    - The response of an action only says that it worked, and so does the absence of an exception; it is not
      compared. So a second login may be the right one, and a registration may give more than was asked.
    - Receivers of messages are compared. Attendees are a set, in which the caller may be or not.
    - Times and instants are equal if they mean the same. A reminder is due at its time of day, unless the
      ground truth has none.
    - Places, and locations of events, are compared without regard to case and spaces.
    - Texts mean the same by a calibrated measure of their wording, unless a check finds that they state
      different facts, say the contrary or swap who does what. If neither settles it, the texts are unclear,
      which counts as no match (docs/explanation/free-text.md).
    - An empty text in the ground truth stands for any text.
    - A search that should find nothing is not matched by one that finds something, unless it was asked alike.

    `thresholds` are the similarities from which free texts count as the same. Raises RigError if one is not
    known.
    """

    def __init__(self, similarity: Similarity, toolbox: Toolbox) -> None:
        self.similarity = similarity
        self.toolbox = toolbox
        thresholds = {kind: self._threshold(kind) for kind in toolbox.texts}
        self.thresholds = {kind: value for kind, value in thresholds.items() if value is not None}
        if len(self.thresholds) < len(thresholds):
            raise RigError(
                f"the threshold of similarity is not known for {similarity.name}: name one, as in"
                " --similarity NAME@0.8"
            )

    def _threshold(self, kind: Text) -> float | None:
        """Return the threshold of a kind, which need not be a tool's: a ground-truth call can ask for it."""
        return self.similarity.threshold(kind)

    def text(
        self, name: str, kind: Text, expected: Json, got: Json, others: Iterable[str] = ()
    ) -> Difference | None:
        """Return why two values of a free-text argument do not mean the same; None if they do. `others` are
        the texts in the other arguments that both calls have: what they say need not be repeated.
        """
        own = self._threshold(kind)
        threshold = 1.0 if own is None else own
        if not (isinstance(expected, str) and isinstance(got, str)):
            return Difference(name, expected, got, 0.0, threshold)
        judged = self.similarity.judge(kind, expected, got, others)
        if judged.meaning is Meaning.SAME:
            return None
        unclear = judged.meaning is Meaning.UNCLEAR
        return Difference(name, expected, got, judged.likeness, threshold, judged.note, unclear)

    def caller(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
        """Yield how the call's user differs from the right one."""
        if not tool.auth:
            return
        if predicted.username is not None and truth.username is not None:
            if predicted.username != truth.username:
                yield Difference("logged-in user", truth.username, predicted.username)
            return
        # Calls read from a file do not say who made them; the token is the next best evidence.
        for name in tool.injected:
            expected, got = truth.arguments.get(name), predicted.arguments.get(name)
            if expected != got:
                yield Difference(name, expected, got)

    def equal(self, how: Equality, expected: Json, got: Json, caller: str | None) -> bool:
        """Return whether two values of an argument that is not a free text agree. May raise TypeError or
        ValueError for values of the wrong type or format, which do not agree.
        """
        if expected == got or alike(expected, got):
            return True
        match how:
            case Equality.TIME:
                return times.read(expected, times.TIME) == times.read(got, times.TIME)
            case Equality.INSTANT:
                return times.read(expected, times.INSTANT) == times.read(got, times.INSTANT)
            case Equality.DATE:
                due, other = times.read(expected, times.INSTANT), times.read(got, times.INSTANT)
                is_day = times.minute_of(due) in times.WHOLE_DAY
                return due.date() == other.date() if is_day else due == other
            case Equality.PLACE:
                return _folded(expected) == _folded(got)
            case Equality.USERS:
                return _members(expected) - {caller} == _members(got) - {caller}
            case Equality.ADDRESSES:
                return _members(expected) == _members(got)
            case _:
                return False

    def compares_response(self, tool: Tool) -> bool:
        """Return whether a response that should be equal by the spec is compared at all."""
        return not tool.action

    def found_enough(self, wanted: set[str], got: set[str], asked_alike: bool) -> bool:
        """Return whether a search that should return the `wanted` ids and returned the `got` ids passes.
        `asked_alike` means that its arguments are the ground truth's.
        """
        return wanted <= got if wanted else not got or asked_alike

    def compares_text(self, kind: Text, expected: Json, got: Json) -> bool:
        """Return whether these two texts have to be judged by similarity: False if they agree without it."""
        if isinstance(expected, str) and not expected.strip():
            return False
        if kind.place and isinstance(expected, str) and isinstance(got, str):
            return _folded(expected) != _folded(got)
        return not alike(expected, got)

    def compare(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> tuple[Difference, ...]:
        """Return why the predicted call is not the ground-truth call of the same tool; empty for a match.

        Of toolboxes other than ToolTalk's, what equals the schema's default is as good as left out, and an
        action has to do no more than it should: whatever else only the prediction says is a difference. In
        ToolTalk it is ignored (section 3.1). Free text is compared only if all else agrees, because it takes
        time and could not save the match.
        """
        if not isinstance(predicted.arguments, dict):
            return (Difference("arguments", truth.arguments, predicted.arguments),)
        differences = [*self.caller(tool, predicted, truth), *self._arguments(tool, predicted, truth)]
        if predicted.exception != truth.exception:
            differences.insert(0, Difference("exception", truth.exception, predicted.exception))
        else:
            differences.extend(self._response(tool, predicted, truth))
        return tuple(differences or filter(None, self._texts(tool, predicted, truth)))

    def _arguments(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
        extras = () if self.toolbox.ignores_extras or not tool.action else predicted.arguments
        for name in dict.fromkeys((*truth.arguments, *_own(truth), *extras)):
            how = _how(name, tool, truth)
            if isinstance(how, Text) and name not in truth.arguments:
                how = Equality.EXACT
            if name in self.toolbox.injected or how is None or isinstance(how, Text):
                continue
            if not self._agrees(name, how, tool, predicted, truth):
                # A rule that says more than a value is shown as a rule.
                rule = how if isinstance(how, Rule) and how.of is not None else None
                expected = rule.as_json() if rule else truth.arguments.get(name)
                yield Difference(name, expected, predicted.arguments.get(name))

    def _agrees(
        self, name: str, how: Equality | Rule, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall
    ) -> bool:
        """Return whether an argument agrees, as it is written or with the defaults of the tool's schema."""
        part = SchemaPart(tool.parameters, tool.parameters).member(name)
        for expected, got in self._values(name, tool, predicted, truth):
            if isinstance(how, Rule):
                if agrees(how, expected, got, ANY if self.toolbox.ignores_extras else part):
                    return True
                continue
            with suppress(TypeError, ValueError):
                says_none = name not in truth.arguments and both_nothing(expected, got)
                if says_none or (got is not ABSENT and self.equal(how, expected, got, predicted.username)):
                    return True
        return False

    def _values(
        self, name: str, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall
    ) -> Iterator[tuple[Json, Json]]:
        both = value_pairs(tool.parameters, name, truth.arguments, predicted.arguments)
        return islice(both, 1) if self.toolbox.ignores_extras else both

    def _texts(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference | None]:
        for name in dict.fromkeys((*tool.match.arguments, *_own(truth))):
            kind = _how(name, tool, truth)
            if not isinstance(kind, Text) or name not in truth.arguments:
                continue
            values = list(self._values(name, tool, predicted, truth))
            if all(self.compares_text(kind, *both) for both in values):
                expected, got = truth.arguments[name], predicted.arguments.get(name)
                yield self.text(name, kind, expected, got, _others(name, tool, predicted, truth))
        for name, rule in _own(truth).items():
            inside = nested_texts(rule.of, predicted.arguments.get(name), name) if rule.name == NESTED else ()
            for place, expected, got in inside:
                if self.compares_text(FREE_TEXT, expected, got):
                    yield self.text(place, FREE_TEXT, expected, got)

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


class UpstreamRules(Rules):
    """ToolTalk's rules as microsoft/ToolTalk codes them. What would crash its evaluator matches nothing.

    Session tokens and times are compared as strings, attendees in order, and receivers not at all.
    """

    def _threshold(self, kind: Text) -> float:
        own = self.similarity.cosine_threshold
        return kind.cosine if own is None else own

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
                return times.read(got, times.INSTANT).date() == times.read(expected, times.INSTANT).date()
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

    def compares_text(self, kind: Text, expected: Json, got: Json) -> bool:
        return bool(expected != got)


def _folded(place: str) -> str:
    if not isinstance(place, str):
        raise TypeError("a place is a string")
    return " ".join(typed(place).split()).casefold()


def _members(names: Json) -> set[str]:
    if not isinstance(names, list):
        raise TypeError("names come in a list")
    return set(names)


def _own(truth: ExecutedCall) -> Mapping[str, Rule]:
    """Return the rules that a ground-truth call itself has for its arguments."""
    return truth.rules if isinstance(truth, TrueCall) else {}


def _how(name: str, tool: Tool, truth: ExecutedCall) -> Equality | Text | Rule | None:
    """Return how an argument is compared, as the call or else its tool says; None if it is not compared."""
    rule = _own(truth).get(name)
    if rule is not None:
        return FREE_TEXT if rule.is_text else rule
    return tool.match.arguments.get(name, Equality.EXACT if tool.match.others else None)


def _others(name: str, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> list[str]:
    """Return the texts in the true call's other arguments; free text only if both calls have it."""
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


def rules_sha256(toolbox: Toolbox) -> str:
    """Return a hash of the rules that compare arguments of a toolbox's tools; empty if there are none."""
    rules = {
        f"{tool.name}.{name}": rule.as_json()
        for tool in toolbox.tools.values()
        for name, rule in tool.match.arguments.items()
        if isinstance(rule, Rule)
    }
    return hashlib.sha256(json.dumps(rules, sort_keys=True).encode()).hexdigest() if rules else ""

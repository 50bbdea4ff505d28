"""The default rules: ToolTalk's, without the defects of its code that change a score.

Every departure is named here and nowhere else.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from rig.calls import ExecutedCall, Json
from rig.conversations import TIMESTAMP
from rig.scoring.rules import SESSION_TOKEN, Rules
from rig.tools.spec import Equality, Text, Tool
from rig.verdicts import Difference

TIME_OF_DAY = "%H:%M:%S"
WHOLE_DAY = {(0, 0), (23, 59)}
"""Times of day (hour, minute) that stand for none: a task due "on Friday" is recorded with one of them."""


class FixedRules(Rules):
    """Who is logged in counts, not the token; values count, not how they are written.

    - A login and a registration are right by their arguments and their success: the tokens in their
      responses depend on how many came before. The same holds for every action's response, which only says
      that it worked, so a registration may carry a name or phone number that the ground truth has not.
    - A search that should find nothing is not matched by one that finds something, unless it was asked alike.
    - A reminder is due at its time of day, where the ground truth has one.
    """

    @property
    def thresholds(self) -> Mapping[Text, float]:
        return self.similarity.thresholds

    def caller(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
        if not tool.auth:
            return
        if predicted.username is not None and truth.username is not None:
            if predicted.username != truth.username:
                yield Difference("logged-in user", truth.username, predicted.username)
            return
        # Calls read from a file do not say who made them; the token is the next best evidence.
        expected, got = truth.arguments.get(SESSION_TOKEN), predicted.arguments.get(SESSION_TOKEN)
        if expected != got:
            yield Difference(SESSION_TOKEN, expected, got)

    def equal(self, how: Equality, expected: Json, got: Json, caller: str | None) -> bool:
        if expected == got:
            return True
        match how:
            case Equality.TIME:
                return _parse(expected, TIME_OF_DAY) == _parse(got, TIME_OF_DAY)
            case Equality.INSTANT:
                return _parse(expected, TIMESTAMP) == _parse(got, TIMESTAMP)
            case Equality.DATE:
                return _equally_due(_parse(expected, TIMESTAMP), _parse(got, TIMESTAMP))
            case Equality.PLACE:
                return _folded(expected) == _folded(got)
            case Equality.USERS:
                return _members(expected) - {caller} == _members(got) - {caller}
            case Equality.ADDRESSES:
                return _members(expected) == _members(got)
            case _:
                return False

    def compares_response(self, tool: Tool) -> bool:
        return not tool.action

    def found_enough(self, wanted: set[str], got: set[str], asked_alike: bool) -> bool:
        return wanted <= got if wanted else not got or asked_alike

    def compares_text(self, kind: Text, expected: Json, got: Json) -> bool:
        if isinstance(expected, str) and not expected.strip():
            return False
        if kind is Text.LOCATION and isinstance(expected, str) and isinstance(got, str):
            return _folded(expected) != _folded(got)
        return super().compares_text(kind, expected, got)


def _parse(text: str, pattern: str) -> datetime:
    return datetime.strptime(text, pattern)  # noqa: DTZ007 - the dataset has no zones


def _equally_due(expected: datetime, got: datetime) -> bool:
    if (expected.hour, expected.minute) in WHOLE_DAY:
        return expected.date() == got.date()
    return expected == got


def _folded(place: str) -> str:
    if not isinstance(place, str):
        raise TypeError("a place is a string")
    return " ".join(place.split()).casefold()


def _members(names: Json) -> set[str]:
    if not isinstance(names, list):
        raise TypeError("names come in a list")
    return set(names)

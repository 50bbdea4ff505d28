"""The default rules: ToolTalk's, without the defects of its code that change a score."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from rig import times
from rig.calls import Difference, ExecutedCall, Json
from rig.errors import RigError
from rig.scoring.rules import Rules
from rig.scoring.similarity import Similarity
from rig.scoring.texts import Meaning, beside
from rig.toolbox.spec import Equality, Text, Tool
from rig.toolbox.toolbox import Toolbox


class FixedRules(Rules):
    """What was done counts, not how it was written down. The departures from ToolTalk's code are:

    - Who is logged in is compared, not the session token, which depends on how many logins came before.
    - The response of an action only says that it worked, and so does the absence of an exception; it is not
      compared. So a second login may be the right one, and a registration may give more than was asked.
    - Receivers of messages are compared. Attendees are a set, in which the caller may stand or not.
    - Times and instants are equal if they mean the same. A reminder is due at its time of day, unless the
      ground truth has none.
    - Places, and locations of events, are equal but for case and spaces.
    - Texts mean the same by a calibrated measure of their wording, unless a check finds that they state
    different facts, say the contrary or swap who does what. Where neither settles it the texts are
    unclear, which counts as no match (docs/explanation/free-text.md).
    - An empty text in the ground truth stands for any text.
    - A search that should find nothing is not matched by one that finds something, unless it was asked alike.
    """

    def __init__(self, similarity: Similarity, toolbox: Toolbox) -> None:
        super().__init__(similarity, toolbox)
        thresholds = {kind: similarity.threshold(kind) for kind in toolbox.texts}
        self._thresholds = {kind: value for kind, value in thresholds.items() if value is not None}
        if len(self._thresholds) < len(thresholds):
            raise RigError(
                f"the threshold of similarity is not known for {similarity.name}: say so with --threshold"
            )

    @property
    def thresholds(self) -> Mapping[Text, float]:
        return self._thresholds

    def _threshold(self, kind: Text) -> float:
        """That of a kind, be it one that no tool has and only a call of the ground truth asks for."""
        threshold = self._thresholds.get(kind, self.similarity.threshold(kind))
        return 1.0 if threshold is None else threshold

    def text(
        self, name: str, kind: Text, expected: Json, got: Json, others: Iterable[str] = ()
    ) -> Difference | None:
        threshold = self._threshold(kind)
        if not (isinstance(expected, str) and isinstance(got, str)):
            return Difference(name, expected, got, 0.0, threshold)
        judged = self.similarity.judge(kind, expected, got, beside(others))
        if judged.meaning is Meaning.SAME:
            return None
        unclear = judged.meaning is Meaning.UNCLEAR
        return Difference(name, expected, got, judged.likeness, threshold, judged.note, unclear)

    def caller(self, tool: Tool, predicted: ExecutedCall, truth: ExecutedCall) -> Iterable[Difference]:
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
        if expected == got:
            return True
        match how:
            case Equality.TIME:
                return times.read(expected, times.TIME) == times.read(got, times.TIME)
            case Equality.INSTANT:
                return times.read(expected, times.INSTANT) == times.read(got, times.INSTANT)
            case Equality.DATE:
                return _equally_due(times.read(expected, times.INSTANT), times.read(got, times.INSTANT))
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
        if kind.place and isinstance(expected, str) and isinstance(got, str):
            return _folded(expected) != _folded(got)
        return super().compares_text(kind, expected, got)


def _equally_due(expected: datetime, got: datetime) -> bool:
    if times.minute_of(expected) in times.WHOLE_DAY:
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

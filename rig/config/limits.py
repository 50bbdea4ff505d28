"""The limits that answers run into, and how often they cut one off.

With more room an answer that was cut off might have been right, so every rate of its arm might be better.
All of it follows from the steps in the store and the arm's fingerprint. A limit that a fingerprint does not
have is not reported.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rig.config.options import TABLE
from rig.core.calls import ByName, JsonObject
from rig.core.errors import ErrorKind, counted
from rig.core.models import Prediction

THOUGHTS = "thinking_tokens"

LIMITS: Mapping[str, ErrorKind | None] = {
    "max_tokens": ErrorKind.TRUNCATED,
    THOUGHTS: None,
    "max_calls": ErrorKind.CALL_CAP,
    "n_ctx": ErrorKind.CONTEXT,
}
"""The error with which each limit ends a step, by its option. After cut-off thinking comes an answer."""

_OPTIONS: Mapping[str, str] = {error: name for name, error in LIMITS.items() if error}


@dataclass(frozen=True, slots=True)
class CutAnswers(ByName):
    """How many of an arm's answers one limit cut off: `option` is its name and `limit` its value.

    `failed` counts the finished conversations that have such an answer and did not succeed: those that
    more room might have changed. With repeats each is counted as often as it was played.
    """

    option: str
    limit: int
    cut: int
    answers: int
    failed: int

    @property
    def share(self) -> float:
        """The share of the answers that were cut off."""
        return self.cut / self.answers if self.answers else 0.0

    @property
    def text(self) -> str:
        """The numbers in one line, with what to do about them."""
        share = f"{self.cut} of {counted(self.answers, 'answer')} ({100 * self.share:.1f}%)"
        where = f"{counted(self.failed, 'conversation', 'no')} that failed"
        return f"{TABLE[self.option].flag} {self.limit} cut off {share}, in {where}: raise it"

    def as_json(self) -> JsonObject:
        """Return all fields by name, with the share."""
        return {**ByName.as_json(self), "share": self.share}


def limits_of(fingerprint: JsonObject) -> dict[str, int]:
    """Return the limits of an arm by option, if its fingerprint has them."""
    values: dict[str, int] = {}
    # A method's own model has no limits of the engine, but the models in other roles may have some.
    roles = [key for key in fingerprint if key.startswith("role.")]
    for name in LIMITS:
        place = TABLE[name].place
        others = (key for key in roles if key.endswith(place.removeprefix("model")))
        if holds := [key for key in (place, *others) if _holds(fingerprint, key)]:
            values[name] = fingerprint[holds[0]]
    return values


def thoughts_by_role(fingerprint: JsonObject) -> dict[str, int]:
    """Return how many tokens each role may think, by its name; the name of the evaluated role is empty."""
    places = (place for place in fingerprint if place.endswith(f".{THOUGHTS}") and _holds(fingerprint, place))
    return {
        place.removesuffix(f".{THOUGHTS}").removeprefix("model").removeprefix("role."): fingerprint[place]
        for place in places
    }


def _holds(fingerprint: JsonObject, place: str) -> bool:
    """Return whether there is a limit: thinking that is switched off has none."""
    is_off = place.endswith(THOUGHTS) and fingerprint.get(place.removesuffix("_tokens")) == "off"
    return type(fingerprint.get(place)) is int and not is_off


def cut_off(prediction: Prediction, role: str, fingerprint: JsonObject) -> list[str]:
    """Return the options of the limits that cut this answer off."""
    by_role = thoughts_by_role(fingerprint)
    most = by_role.get(role, by_role.get(""))
    names = [THOUGHTS] if most is not None and prediction.usage.reasoning_tokens > most else []
    names += by_option({prediction.error: 1} if prediction.error else {})
    return [name for name in names if name in limits_of(fingerprint)]


def by_option(errors: Mapping[str, int]) -> dict[str, int]:
    """Return how many failed steps each limit cut off, by option; `errors` are failed steps by kind."""
    return {_OPTIONS[kind]: count for kind, count in errors.items() if kind in _OPTIONS}


def cut_answers(
    fingerprint: JsonObject, answers: int, played: Iterable[tuple[Mapping[str, int], bool]]
) -> tuple[CutAnswers, ...]:
    """Return how often each of an arm's limits cut off an answer.

    `played` has for each conversation how many answers each limit cut off, by option, and whether it failed.
    """
    limits = limits_of(fingerprint)
    cut, failed = dict.fromkeys(limits, 0), dict.fromkeys(limits, 0)
    for cuts, is_failed in played:
        for name in cuts.keys() & limits.keys():
            cut[name] += cuts[name]
            failed[name] += is_failed
    return tuple(CutAnswers(name, limit, cut[name], answers, failed[name]) for name, limit in limits.items())

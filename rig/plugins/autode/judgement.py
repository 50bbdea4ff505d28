"""Score a finished conversation: AutoDE's slot scores, and what its paper leaves out.

Precision, recall and F1 are means over conversations, as in upstream, and so are the shares of conversations
that ended in some way. Micro F1 is over all slots of all conversations. Source: upstream's `calc_metrics`. A
value is right if it equals the true one in Python.
"""

import re
from collections.abc import Callable
from operator import eq
from typing import NamedTuple

from rig.core.calls import Call, CallPlace, Difference, Json, JsonObject, Verdict
from rig.core.metrics import Counts, Declaration, Metric, NamedCount, Part, Score
from rig.plugins.autode import questions
from rig.plugins.autode.scenarios import ASSISTANT, Scenario, Slots
from rig.plugins.autode.talk import Talk, usable

VERSION = "1"
"""The version of the scores; to be raised with any change that can change one."""

UPSTREAM_VERSION = "1"
"""The version of the scores as upstream computes them."""

ENDS = ("malformed", "gave_up", "round_limit", "context_full", "assistant_failed", "user_failed")
"""The ways to end without a call that could be read."""

DECLARATION = Declaration(
    method="autode",
    metrics=(
        Metric("success_rate", "success", "successes"),
        Metric("f1", "slot F1", "f1"),
        Metric("precision", "slot precision", "precision", place="meters"),
        Metric("recall", "slot recall", "recall", place="meters"),
        Metric("call_rate", "call rate", "called", label="called"),
        Metric("tolerant_f1", "tolerant F1", "tolerant_f1", place="tables"),
        Metric("micro_f1", "micro F1", "slots_right_twice", "slots_of_both", place="tables"),
        Metric("function_rate", "right function", "right_function", "called", place="tables"),
        Metric("reluctance", "reluctance", "reluctant", better="lower", place="tables"),
        Metric("illusory_rate", "illusory parameters", "illusory", better="lower", place="tables"),
        Metric(
            "redundancy",
            "redundant questions",
            "redundant_questions",
            "questions",
            better="lower",
            place="tables",
        ),
        Metric("length", "length in messages", "messages", better="lower", format="number", place="tables"),
        *(Metric(f"{end}_rate", end.replace("_", " "), end, better="lower", place="tables") for end in ENDS),
    ),
    success="successes",
    counts=(
        NamedCount("slots_right", "slots right"),
        NamedCount("slots_true", "slots wanted"),
        NamedCount("slots_predicted", "slots predicted"),
    ),
    outcome=(
        Part("slots_right", "slots right", "slots_true", short="slots"),
        *(Part(end, end.replace("_", " "), better="lower") for end in ENDS),
        Part("redundant_questions", "redundant questions", short="redundant", better="lower"),
    ),
)


def judge(scenario: Scenario, talk: Talk, compat: bool) -> Score:
    """Return the score of a finished conversation. With `compat`, drop what upstream drops from a call."""
    call = talk.call
    predicted = usable(arguments(call), compat=compat) if call else {}
    exact = count(scenario.slots, predicted)
    is_right = call is not None and call.name == scenario.call.name
    # For each message that asks for slots: whether it asks for a value that the user had already said.
    asked: list[bool] = []
    heard = ""
    for role, text in talk.said:
        if role != ASSISTANT:
            heard += f"{text}\n"
        elif names := questions.read(text, scenario.api).slots:
            values = ((scenario.slots.get(name), scenario.api.parameter(name)) for name in names)
            asked.append(any(questions.mentions(heard, *value) for value in values))
    counts: Counts = {
        "successes": int(exact.f1 == 1 and (is_right or compat)),
        "f1": exact.f1,
        "precision": exact.precision,
        "recall": exact.recall,
        "tolerant_f1": count(scenario.slots, predicted, tolerant).f1,
        "slots_right": exact.correct,
        "slots_true": len(scenario.slots),
        "slots_predicted": len(predicted),
        "slots_right_twice": 2 * exact.correct,
        "slots_of_both": len(scenario.slots) + len(predicted),
        "called": int(call is not None),
        "right_function": int(is_right),
        **{end: int(talk.end == end) for end in ENDS},
        "reluctant": int(talk.end in ("round_limit", "context_full")),
        "illusory": int(any(scenario.api.parameter(name) is None for name in predicted)),
        "questions": len(asked),
        "redundant_questions": sum(asked),
        "messages": len(talk.said),
    }
    return Score(counts, (verdict_of(scenario, call),) if call else ())


def verdict_of(scenario: Scenario, call: Call) -> Verdict:
    """Return whether a call is the true one, and how it differs. It may be made in any turn."""
    true, got = scenario.slots, arguments(call)
    names = dict.fromkeys((*true, *got))
    differences = tuple(
        Difference(name, true.get(name), got.get(name))
        for name in names
        if not (name in true and name in got and true[name] == got[name])
    )
    if call.name != scenario.call.name:
        called = call.name or "a call without a name"
        return Verdict(False, reason=f"{scenario.call.name} was wanted, not {called}")
    if differences:
        named = ", ".join(difference.what for difference in differences)
        return Verdict(False, reason=f"not as wanted: {named}", differences=differences)
    return Verdict(True, ground_truth=CallPlace(0, 0), reason="all slots are right")


def arguments(call: Call) -> JsonObject:
    """Return a call's arguments by name; none if they are not an object."""
    return call.arguments if isinstance(call.arguments, dict) else {}


class SlotCounts(NamedTuple):
    """One dialogue's number of right slots, their share of the predicted ones and of the true ones (both 1 if
    no slot is true or predicted), and the harmonic mean of the two shares (0 if both are 0).
    """

    correct: int
    precision: float
    recall: float
    f1: float


def tolerant(true: Json, predicted: Json) -> bool:
    """Return whether values are equal, ignoring case, spaces, punctuation and the type of truth values."""
    return bool(_plain(true) == _plain(predicted))


def count(true: Slots, predicted: Slots, same: Callable[[Json, Json], bool] = eq) -> SlotCounts:
    """Count how the predicted slots agree with the true ones, name by name.

    By default as in upstream: `True` and `"True"` differ, `True` and `1` do not.
    """
    correct = sum(name in true and same(true[name], value) for name, value in predicted.items())
    is_none = float(not true and not predicted)
    precision, recall = (correct / len(slots) if slots else is_none for slots in (predicted, true))
    both = precision + recall
    return SlotCounts(correct, precision, recall, 2 * precision * recall / both if both else 0.0)


def _plain(value: Json) -> Json:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(re.sub(r"[^\w\s]|_", " ", value).casefold().split()) if isinstance(value, str) else value

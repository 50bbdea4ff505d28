"""Names, negation, opposites, things and roles: what is refused, and what must not be."""

import pytest

from rig.reading.lexicon import opposite_sides, synonym_sets
from rig.scoring import Grader, load
from rig.scoring.texts import pair, refusal
from rig.scoring.texts.refusals import CHECKS
from rig.tooltalk import TOOLTALK
from rig.tooltalk.texts import BODY, EVENT, TASK
from rig.verdicts import CallPlace

REFUSED = [
    ("Lunch with Sofia", "Lunch with Sophie", "names"),
    ("Call Anna", "call hannah", "names"),
    ("Flight to Austin", "Flight to Boston", "names"),
    ("We fly with Delta on this trip.", "We fly with United on this trip.", "names"),
    ("Hi Mia, the parcel is here.", "Hi Noah, the parcel is here.", "names"),
    ("Please tell Mr. Okafor", "Please tell Mr. Olsen", "names"),
    ("I can come to the party", "I can't come to the party", "negation"),
    ("dont water the plants", "water the plants", "negation"),
    ("Take it with food", "Take it without food", "negation"),
    ("Call Bob and do not tell Alice", "Do not call Bob and tell Alice", "negation"),
    ("I ate the rice but did not touch the soup", "I touched the soup but did not eat the rice", "negation"),
    ("Cancel the table", "Confirm the table", "opposites"),
    ("Lend Max the drill", "Borrow the drill from Max", "opposites"),
    ("Turn the heating on", "Turn off the heating", "opposites"),
    ("Turn the light on when you leave", "Turn the light off when you leave", "opposites"),
    ("Lock the shed", "Unlock the shed", "opposites"),
    ("inflate the mattress", "deflate the mattress", "opposites"),
    ("East entrance", "West entrance", "opposites"),
    ("Buy milk", "Buy butter", "things of one sort"),
    ("Dentist at the mall", "Optometrist at the mall", "things of one sort"),
    ("Meet in the lobby", "Meet in the kitchen", "things of one sort"),
    ("I owe you a beer", "You owe me a beer", "roles"),
    ("Can I drive your car", "You can drive my car", "roles"),
    ("the train from Rome", "the train to Rome", "roles"),
]


@pytest.mark.parametrize(("first", "second", "name"), REFUSED)
def test_what_cannot_mean_the_same_is_refused(first: str, second: str, name: str) -> None:
    read = pair(BODY, first, second)
    assert CHECKS[name](read)
    assert refusal(read)
    assert refusal(pair(BODY, second, first)) == refusal(read)


ACCEPTED = [
    ("Call Tom", "call Thomas"),
    ("Call Maria Lopez", "Call Maria"),
    ("Seattle, WA", "Seattle, Washington"),
    ("Hi Jen, dinner is ready.\n\nBest,\nPaul", "Dinner is ready!"),
    ("Team Meeting", "team meeting"),
    ("Descale the kettle", "Decalcify the kettle"),
    ("Don't forget the milk", "Remember the milk"),
    ("I can't come", "I am unable to come"),
    ("The gym won't be open", "The gym will be closed"),
    ("Why don't we meet at the gym", "Let's meet at the gym"),
    ("Don't leave without signing", "Sign before you leave"),
    ("I can't wait to see you", "I look forward to seeing you"),
    ("Could you lend me your tent", "Can I borrow your tent"),
    ("Can I get the keys from you", "Could you get me the keys"),
    ("Mum's house", "mom's house"),
    ("organise the colour samples", "organize the color samples"),
    ("Dinner at Rosa's", "Dinner at Rosas"),
    ("No and bring the milk", "No and bring milk"),
]


@pytest.mark.parametrize(("first", "second"), ACCEPTED)
def test_what_can_mean_the_same_is_not_refused(first: str, second: str) -> None:
    assert refusal(pair(EVENT, first, second)) is None


def test_whose_it_is_counts_in_a_message_and_not_in_a_reminder() -> None:
    assert refusal(pair(BODY, "at my place", "at your place"))
    assert refusal(pair(TASK, "renew my passport", "renew your passport")) is None


def test_a_check_can_be_left_out() -> None:
    read = pair(TASK, "buy milk", "buy butter")
    assert refusal(read, without=["things of one sort"]) is None


def test_the_lexicon_does_not_contradict_itself() -> None:
    """A word that can stand for another is not its opposite."""
    sets, both = synonym_sets(), set()
    for word, sides in opposite_sides().items():
        for other, others in opposite_sides().items():
            opposed = any((number, 1 - side) in others for number, side in sides)
            if (
                word < other
                and opposed
                and not sets.get(word, frozenset()).isdisjoint(sets.get(other, frozenset()))
            ):
                both.add((word, other))
    assert both == set()


def test_the_reason_is_in_the_verdict() -> None:
    from rig.calls import Call, ExecutedCall, Outcome

    truth, wrong = (
        ExecutedCall(Call("AddReminder", {"task": task}), Outcome({"reminder_id": "1"}), "ann")
        for task in ("call mom on Friday", "call mom on Monday")
    )
    verdict = Grader("default", load("minilm"), TOOLTALK).start([(CallPlace(1, 0), truth)]).add(1, wrong)
    (difference,) = verdict.differences
    assert difference.note == "weekday: friday is not monday"
    assert difference.similarity is not None
    assert difference.threshold is not None
    assert verdict.reason == "task: weekday: friday is not monday"
    assert (
        Grader("default", load("exact"), TOOLTALK)
        .start([(CallPlace(1, 0), truth)])
        .add(1, wrong)
        .differences[0]
        .note
        is None
    )

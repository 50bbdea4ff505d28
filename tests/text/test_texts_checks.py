"""Names, negation, opposites, things and roles: what is not accepted, and what must not be refused."""

import pytest

from rig.core.calls import CallPlace
from rig.plugins.matching.matching import Grader
from rig.plugins.similarity.minilm import MiniLM
from rig.plugins.text.judge import Band, judge
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import BODY, EVENT, TASK
from rig.scoring import load
from rig.scoring.similarity import Meaning
from rig.world.spec import Text


def meaning(kind: Text, first: str, second: str) -> Meaning:
    """What the checks say: the wording is taken for alike."""
    return judge(kind, first, second, lambda *_: 1.0, Band(0.5, 0.4)).meaning


OTHERWISE = [
    ("Lunch with Sofia", "Lunch with Sophie"),
    ("Call Anna", "call hannah"),
    ("Flight to Austin", "Flight to Boston"),
    ("We fly with Delta on this trip.", "We fly with United on this trip."),
    ("Hi Mia, the parcel is here.", "Hi Noah, the parcel is here."),
    ("Please tell Mr. Okafor", "Please tell Mr. Olsen"),
    ("I can come to the party", "I can't come to the party"),
    ("dont water the plants", "water the plants"),
    ("Take it with food", "Take it without food"),
    ("Call Bob and do not tell Alice", "Do not call Bob and tell Alice"),
    ("I ate the rice but did not touch the soup", "I touched the soup but did not eat the rice"),
    ("Cancel the table", "Confirm the table"),
    ("Turn the light on when you leave", "Turn the light off when you leave"),
    ("Lock the shed", "Unlock the shed"),
    ("inflate the mattress", "deflate the mattress"),
    ("East entrance", "West entrance"),
    ("Buy milk", "Buy butter"),
    ("Dentist at the mall", "Optometrist at the mall"),
    ("Meet in the lobby", "Meet in the kitchen"),
    ("the train from Rome", "the train to Rome"),
]


@pytest.mark.parametrize(("first", "second"), OTHERWISE)
def test_what_cannot_mean_the_same_is_never_the_same(first: str, second: str) -> None:
    assert meaning(BODY, first, second) is not Meaning.SAME
    assert meaning(BODY, second, first) is meaning(BODY, first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Lend Max the drill", "Borrow the drill from Max"),
        ("I owe you a beer", "You owe me a beer"),
        ("Can I drive your car", "You can drive my car"),
        ("Both boats sank.", "One of the boats sank."),
        ("Turn the heating on", "Turn off the heating"),
        ("Igor's goat bit Vera's calf.", "Vera's calf bit Igor's goat."),
        ("I will paint the boat.", "I have painted the boat."),
        ("Ole has a big boat now, a red one.", "Ole has a small boat now, painted red."),
    ],
)
def test_the_model_reads_opposites_roles_and_times(first: str, second: str) -> None:
    assert MiniLM().judge(BODY, first, second).meaning is not Meaning.SAME


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
    assert meaning(EVENT, first, second) is not Meaning.DIFFERENT


def test_whose_it_is_counts_in_a_message_and_not_in_a_reminder() -> None:
    assert meaning(BODY, "at my place", "at your place") is not Meaning.SAME
    assert meaning(TASK, "renew my passport", "renew your passport") is Meaning.SAME


def test_the_reason_is_in_the_verdict() -> None:
    from rig.core.calls import Call, ExecutedCall, Outcome

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

"""What the scripted user's model reads in an assistant's words."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rig.plugins.autode.hearing import ADAPTER, Hearing, Likelihoods, described, hear
from rig.plugins.autode.reader import understand
from rig.plugins.autode.scenarios import ApiDocument, Parameter
from rig.plugins.autode.slots import Knowledge

API = ApiDocument(
    "SendMoney",
    "Send money to someone.",
    (Parameter("recipient", "Who gets the money"), Parameter("date", "When it is sent")),
)
VALUES = {"recipient": "Samir Haddad", "date": "3 March"}
KNOWLEDGE = Knowledge(API, VALUES, "", {"background": "Her flatmate Samir paid this month's whole rent."})
HEARING = Hearing()
TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


def test_a_question_in_other_words_asks_for_the_slot() -> None:
    assert hear(KNOWLEDGE, (), "Whose account should I pay it into?", HEARING).asked == ["recipient"]
    assert understand(KNOWLEDGE, (), "Whose account should I pay it into?").asked == []


def test_a_statement_that_the_story_contradicts_is_denied() -> None:
    understood = hear(KNOWLEDGE, (), "Your brother paid the rent, didn't he?", HEARING)
    assert understood.denied == ["background"] == understood.told
    assert not understood.is_closed


def test_the_fact_that_is_stated_decides_whatever_the_model_says() -> None:
    def read(sentence: str, thing: str) -> Likelihoods:
        return Likelihoods(0.0, 1.0, 0.0) if thing.startswith("date") else Likelihoods(0.0, 0.0, 0.0)

    assert hear(KNOWLEDGE, (), "It leaves on the third of March.", read).is_closed
    assert hear(KNOWLEDGE, (), "It leaves on 4 March.", read).false == ["date"]


def test_what_is_far_less_likely_than_the_likeliest_is_not_asked_for() -> None:
    def read(sentence: str, thing: str) -> Likelihoods:
        return Likelihoods(0.9 if thing.startswith("recipient") else 0.1, 0.0, 0.0)

    assert hear(KNOWLEDGE, (), "To whom?", read).asked == ["recipient"]


def test_what_the_model_finds_the_words_about_goes_before_the_documents_words() -> None:
    def read(sentence: str, thing: str) -> Likelihoods:
        return Likelihoods(0.9 if thing.startswith("recipient") else 0.0, 0.0, 0.0)

    assert understand(KNOWLEDGE, (), "What day is good?").asked == ["date"]
    assert hear(KNOWLEDGE, (), "What day is good?", read).asked == ["recipient"]


def test_a_wrong_fact_is_corrected_beside_what_the_model_finds() -> None:
    def read(sentence: str, thing: str) -> Likelihoods:
        return Likelihoods(0.0, 0.0, 0.9 if thing.startswith("recipient") else 0.0)

    understood = hear(KNOWLEDGE, (), "So that's Anna, on 4 March?", read)
    assert sorted(understood.false) == ["date", "recipient"]


def test_slots_are_described_with_their_value() -> None:
    assert described("startTime", "When it starts", "8 pm") == "start time: When it starts. 8 pm"
    assert described("outside", "Whether to sit outside", False) == "outside: Whether to sit outside. no"
    assert described("day", "Which day") == "day: Which day."


@settings(max_examples=25, deadline=None)
@example("\ud83d", "")
@example("a " * 1_000_000, "What? " * 1_000)
@given(TEXT, TEXT)
def test_any_two_texts_get_likelihoods_and_the_same_ones_again(sentence: str, thing: str) -> None:
    reading = HEARING(sentence, thing)
    assert all(0 <= likelihood <= 1 for likelihood in reading)
    assert sum(reading) <= 1 + 1e-6
    assert HEARING._probabilities(sentence, thing) == reading


def test_the_adapter_is_in_the_fingerprint() -> None:
    assert len(str(HEARING.fingerprint["hearing"])) == 64
    assert ADAPTER.stat().st_size < 8_000_000

"""The scripted user answers everyday questions, in either half of them."""

import pytest
from everyday import Asked, asked, is_right

from rig.methods.autode.scenarios import load_directory
from rig.methods.autode.scripted_user import answer, similarity
from rig.paths import CONVERSATIONS

SCENARIOS = {scenario.name: scenario for scenario in load_directory(CONVERSATIONS / "dynamic")}
QUESTIONS = tuple(asked())


def answered(question: Asked) -> str:
    scenario = SCENARIOS[question.scenario]
    return answer(scenario, [scenario.query], question.text, similarity())


def test_there_are_at_least_three_questions_to_every_scenario_but_a_few() -> None:
    assert len(QUESTIONS) >= 290
    assert {question.scenario for question in QUESTIONS} == SCENARIOS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("is_held_out", [False, True])
def test_most_are_answered_rightly(is_held_out: bool) -> None:
    half = [question for question in QUESTIONS if question.is_held_out == is_held_out]
    right = [is_right(answered(question), question, SCENARIOS[question.scenario]) for question in half]
    assert sum(right) / len(right) >= 0.85


@pytest.mark.parametrize(
    ("name", "heard", "said"),
    [
        ("sore-knee", "Have you seen Dr. Lind before?", "No, thanks."),
        (
            "half-the-rent",
            "You want to send 900 euros to Anna. Is that correct?",
            "No, the recipient is Samir Haddad and the amount is 450 euros.",
        ),
        ("grandma-sunday", "Where are you travelling from?", "It's Madrid Chamartin."),
        (
            "market-parking",
            "How long will you stay, and which zone are you in?",
            "The duration is 3 hours and the zone code is 4117.",
        ),
        ("broken-wrist", "Your wrist is broken. You'd like to pause for 5 months.", "No, it's 3."),
        ("warm-study", "How can I help you?", "I want my study warm until I go to bed."),
        ("green-umbrella", "What is your date of birth?", "Sorry, I don't know that."),
        ("papers-for-tax", "I'd send it by e-mail, all right?", "No, it's post."),
        (
            "papers-for-tax",
            "What period should it cover, and do you want it by e-mail or by post?",
            "The period is January to December 2025 and the delivery is post.",
        ),
        ("team-lunch", "How big is your group?", "It's 9."),
    ],
)
def test_answers_in_full(name: str, heard: str, said: str) -> None:
    assert answered(Asked(name, "", heard)) == said


def test_purposes_are_told_in_the_first_person() -> None:
    for name, scenario in SCENARIOS.items():
        told = answered(Asked(name, "", "How can I help you today?"))
        person = scenario.character.split(",")[0]
        assert told.startswith("I "), name
        assert person not in told.split()

"""The scripted user answers everyday questions, in either half of them."""

import re

import pytest
from everyday import Asked, asked, fresh, is_answered, is_right

from rig.core.paths import CONVERSATIONS
from rig.plugins.autode.clauses import content
from rig.plugins.autode.questions import mentions
from rig.plugins.autode.scenarios import load_directory
from rig.plugins.autode.scripted_user import answer, first_person, hearing, similarity

SCENARIOS = {scenario.name: scenario for scenario in load_directory(CONVERSATIONS / "dynamic")}
QUESTIONS = tuple(asked())


def answered(question: Asked) -> str:
    scenario = SCENARIOS[question.scenario]
    return answer(scenario, [scenario.query], question.text, similarity(), hearing())


def test_there_are_at_least_three_questions_to_every_scenario_but_a_few() -> None:
    assert len(QUESTIONS) >= 290
    assert {question.scenario for question in QUESTIONS} == SCENARIOS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("is_held_out", [False, True])
def test_most_are_answered_rightly(is_held_out: bool) -> None:
    half = [question for question in QUESTIONS if question.is_held_out == is_held_out]
    right = [is_right(answered(question), question, SCENARIOS[question.scenario]) for question in half]
    assert sum(right) / len(right) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sets", "count", "least"),
    [
        ((1, 2, 3), 412, 0.95),
        ((4, 5, 6), 300, 0.89),
        ((7, 8, 9), 377, 0.88),
        ((10, 11, 12), 390, 0.89),
        ((13, 14), 260, 0.87),
        ((15, 16), 260, 0.87),
    ],
)
def test_later_questions_are_answered_rightly(sets: tuple[int, ...], count: int, least: float) -> None:
    questions = [question for question in fresh() if question.set in sets]
    assert len(questions) == count
    asked = questions[::2]  # all of them take minutes
    right = [is_answered(answered(Asked(one.scenario, "", one.text)), one) for one in asked]
    assert sum(right) / len(right) >= least


@pytest.mark.parametrize(
    ("name", "heard", "said"),
    [
        ("moving-to-the-coast", "What's the reason you're leaving?", "I found a new job."),
        (
            "somewhere-cheap",
            "Who are you going with?",
            "My parents visit. My parents like Georgian food, and I pay.",
        ),
        (
            "no-hot-water",
            "Since when have you had no hot water?",
            "Since this morning only cold water comes out of the taps.",
        ),
        (
            "half-the-rent",
            "Your flatmate owes you 450 euros, right?",
            "No. My flatmate Samir paid this month's whole rent.",
        ),
        (
            "team-lunch",
            "What's the reason for the lunch?",
            "A colleague leaves and the team wants lunch together, indoors because of the rain.",
        ),
        ("sourdough-oven", "What are you baking?", "My sourdough has risen all night and is ready to bake."),
        (
            "somewhere-cheap",
            "What do you feel like eating, and in which area?",
            "The area is old town and the cuisine is Georgian.",
        ),
        ("anniversary", "Would you rather sit inside or outside?", "Outside, please."),
        (
            "curry-for-six",
            "For how many, and does it have to be vegan?",
            "The servings is 6 and the diet is vegan.",
        ),
        ("exam-group", "So that's Tuesday at 3 pm with a screen?", "No, it's 2 pm."),
        (
            "before-the-party",
            "I'll mow the back lawn on Saturday at 10 am. Fine?",
            "No, it's Friday at 10 am.",
        ),
        (
            "week-in-the-alps",
            "A sitter from 7 to 21 February, right?",
            "No, the start date is 7 February and the end date is 14 February.",
        ),
        ("dripping-tap", "A dripping tap in flat 6, low urgency. Correct?", "No, it's 9."),
        ("light-for-reading", "The bedroom light in cold white at 20 percent?", "No, it's warm white."),
        pytest.param(
            "birthday-cake",
            "A chocolate cake with nuts for 12, right?",
            "No, it's no nuts.",
            marks=pytest.mark.xfail(strict=True, reason="the model agrees: dish and number are right"),
        ),
        ("strange-noise", "Your plate is B NK 371, correct?", "No, it's B NK 731."),
        ("sore-knee", "Is there a particular day that suits you?", "It's Thursday."),
        ("sore-knee", "Have you seen Dr. Lind before?", "No, thanks."),
        (
            "half-the-rent",
            "You want to send 900 euros to Anna. Is that correct?",
            "No, the recipient is Samir Haddad and the amount is 450 euros. I want to send Samir my half.",
        ),
        ("grandma-sunday", "Where are you travelling from?", "It's Madrid Chamartin."),
        (
            "market-parking",
            "How long will you stay, and which zone are you in?",
            "The duration is 3 hours and the zone code is 4117.",
        ),
        (
            "broken-wrist",
            "Your wrist is broken. You'd like to pause for 5 months.",
            "No, it's 3. I fell off my bike. My wrist is in plaster until the summer.",
        ),
        ("warm-study", "How can I help you?", "I want my study warm until I go to bed."),
        ("green-umbrella", "What is your date of birth?", "Sorry, I don't know that."),
        ("papers-for-tax", "I'd send it by e-mail, all right?", "No, it's post. I want a statement by post."),
        (
            "papers-for-tax",
            "What period should it cover, and do you want it by e-mail or by post?",
            "The period is January to December 2025 and the delivery is post.",
        ),
        ("team-lunch", "How big is your group?", "It's 9."),
        ("blood-pressure-pills", "How many milligrams is one tablet?", "It's 5 mg."),
        ("blood-pressure-pills", "How old are you?", "I am 81."),
        ("wool-blankets", "What time would you like the machine?", "It's 1 pm."),
        ("exam-group", "Just you, on Tuesday at 2 pm?", "No, it's 4."),
        pytest.param(
            "saving-for-kayak",
            "You want to save for a canoe, correct?",
            "No, it's kayak.",
            marks=pytest.mark.xfail(strict=True, reason="the model denies the purpose, not the goal"),
        ),
        (
            "lavender-hedge",
            "You'd like 18 rose bushes?",
            "No, it's lavender. I want a hedge of lavender along the path and have a van. I want plants "
            "that I can fetch myself.",
        ),
        ("card-in-taxi", "You left it in a restaurant, is that right?", "No."),
        ("sore-knee", "You said your back hurts?", "No. My knee has hurt since I slipped on a wet step."),
        (
            "birthday-cake",
            "It's your son's birthday, right?",
            "No. My daughter turns five tomorrow and must not have nuts.",
        ),
        (
            "return-of-shoes",
            "The shoes are too big for you, I understand?",
            "The shoes are too narrow and go back to the shop.",
        ),
        (
            "check-up-again",
            "How long have you been a patient here?",
            "I have been Dr. Soto's patient for ten years.",
        ),
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


def test_the_story_is_told_in_the_first_person() -> None:
    third = re.compile(r"\b(?:he|she|him|her|his|hers|himself|herself)\b", re.IGNORECASE)
    for scenario in SCENARIOS.values():
        name = scenario.character.split(",")[0]
        for text in (scenario.background, scenario.purpose):
            told = first_person(text, name)
            assert not third.search(told), told
            assert not re.search(rf"\bI (?:{name}|has|is|wants)\b|\b(?:for|to) my\W*$", told), told


def test_the_first_query_has_a_value_as_it_stands_or_not_at_all() -> None:
    """Else one assistant asks for it, another does not, and nobody can tell which is right."""
    for scenario in SCENARIOS.values():
        query, parameter = scenario.query, scenario.api.parameter
        texts = {name: value for name, value in scenario.slots.items() if isinstance(value, str)}
        said = {name for name, value in texts.items() if mentions(query, value, parameter(name))}
        words = {word for name in said for word in content(texts[name])}
        for name, value in texts.items():
            if name not in said and not getattr(parameter(name), "enum", ()):
                assert words.issuperset({*content(value)} & {*content(query)}), (scenario.name, name)

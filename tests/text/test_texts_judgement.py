"""The judgement of whole texts, by what misled it before: the same, different, or not clear."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import in_a_moment

from rig.plugins.text.judge import Band, beside, judge
from rig.plugins.text.reading.typos import corrected
from rig.plugins.tooltalk_tools.world import BODY, KINDS, TASK
from rig.scoring.similarity import Meaning
from rig.world.spec import Text

BAND = Band(same=0.5, unclear=0.4)


def meaning(first: str, second: str, *, kind: Text = BODY, likeness: float = 1.0) -> Meaning:
    """What the checks alone say: the wording is taken for alike."""
    return judge(kind, first, second, lambda *_: likeness, BAND).meaning


DIFFERENT = {
    "negation": [
        ("The pass is valid.", "The pass is no longer valid."),
        ("We have sent the form.", "We have not yet sent the form."),
        ("I heard a sound.", "I heard no sound."),
        ("I am sure of it.", "I am not sure of it."),
        ("Wait for me.", "Do not wait for me."),
        ("He rowed home without delay.", "He did not row home without delay."),
        ("Ich schlafe.", "Ich schlafe nicht."),
        ("Она спит.", "Она не спит."),
        ("我去。", "我不去。"),
    ],
    "numbers": [
        ("Bring 2 chairs on 3 June.", "Bring 3 chairs on 3 June."),
        ("Bring 2 chairs and 5 lamps.", "Bring 5 chairs and 2 lamps."),
        ("It has 9 doors, I counted 9.", "It has 9 doors, I counted 8."),
        ("Book 4 seats for 9 May.", "Book 9 seats for 4 May."),
        ("A third of the fish died.", "A quarter of the fish died."),
    ],
    "what only one says": [
        ("Come on Thursday.", "Come."),
        ("Give Omar 30 dollars.", "Give Omar dollars."),
        ("Ask Wilma about it.", "Ask about it."),
        ("Buy rope, tar and nails", "Buy rope and tar"),
        ("Feed the hens and lock the gate.", "Feed the hens."),
    ],
    "places": [
        ("Igor thanked Vera.", "Vera thanked Igor."),
        ("The goat bit the calf.", "The calf bit the goat."),
        ("Sing at 7 and dance at 8.", "Sing at 8 and dance at 7."),
        ("Vera was thanked by Igor.", "Igor was thanked by Vera."),
        ("Eat before you swim.", "Swim before you eat."),
        ("Row in by the back gate.", "Row in by the front gate."),
    ],
    "units": [
        ("It costs 5%.", "It costs 5 euros."),
        ("It costs 5 cents.", "It costs 5 dollars."),
        ("It is 5 miles.", "It is 5 km."),
        ("It has 5 m².", "It has 5 m³."),
    ],
    "small words": [
        ("You must sing.", "You may sing."),
        ("Diving is allowed.", "Diving is forbidden."),
        ("Bring at least 3 ropes.", "Bring at most 3 ropes."),
        ("Everyone except Igor sang.", "Everyone including Igor sang."),
        ("If Igor agrees, we row.", "Igor agrees and we row."),
        ("Is the pier open?", "The pier is open."),
    ],
    "lines": [
        ("It is 25 °C.\nRowing is voluntary.", "It is 25 °C.\nRowing is compulsory."),
        ("The ratio is ¼.", "The ratio was ¼."),
    ],
    "words that belong to others": [
        ("Your jacket is in my boat.", "My jacket is in your boat."),
        ("Call Igor and do not tell Vera.", "Do not call Igor and tell Vera."),
        ("The speech comes after the dance.", "The dance comes after the speech."),
        ("Gate 17, Terminal 3", "Gate 3, Terminal 17"),
    ],
    "pictures": [("The boat: ✅", "The boat: ❌"), ("👍", "👎"), ("🍕", "🍣")],
}


@pytest.mark.parametrize(("first", "second"), [pair for pairs in DIFFERENT.values() for pair in pairs])
def test_alike_words_do_not_make_another_meaning_the_same(first: str, second: str) -> None:
    assert meaning(first, second) is not Meaning.SAME
    assert meaning(second, first) is meaning(first, second)


SAME = {
    "typos": [
        ("The restuarant is full.", "The restaurant is full."),
        ("Tommorow I row.", "Tomorrow I row."),
        ("Definately bring it.", "Definitely bring it."),
    ],
    "negation": [
        ("The engine does not run any more.", "The engine no longer runs."),
        ("I do not agree.", "I disagree."),
        ("Don't be late.", "Please be on time."),
    ],
    "times and numbers": [
        ("We row at ten to six.", "We row at 5:50."),
        ("We row at half seven.", "We row at 7:30."),
        ("The Q3 plan", "The third quarter plan"),
        ("We row at 7 in the evening.", "We row at 19:00."),
        ("It costs 1.200 EUR.", "It costs 1200 euros."),
        ("Row 3 km.", "Row three kilometres."),
        ("Half of it", "50% of it"),
    ],
    "places": [
        ("The boat was painted by Igor.", "Igor painted the boat."),
        ("Buy rope, tar and nails.", "Buy nails, rope and tar."),
        ("If it rains, we row.", "We row if it rains."),
    ],
    "characters": [
        ("Call Аnna.", "Call Anna."),
        ("Row the bo\u200bat.", "Row the boat."),
        ("It’s late.", "It's late."),
        ("Row ５ km.", "Row 5 km."),
    ],
    "two ways to say it": [
        ("The pin is 4 4 1 9.", "The pin is 4419."),
        ("The limit is 50 km/h.", "The limit is 50 kilometres per hour."),
        ("Nobody may row here.", "Nobody is allowed to row here."),
        ("You must not row here.", "You are not allowed to row here."),
        ("Bring the plates tomorow.", "Bring the plates tomorrow."),
    ],
    "courtesy": [
        ("Row the boat.", "Dear Ms Berg, I hope this email finds you well. Row the boat. Best, Igor"),
        ("The boat is late.", "Hi Igor, quick heads-up: the boat is late. Thanks!"),
        ("Row the boat", "Reminder: row the boat"),
    ],
    "pictures": [("Happy landing 🎂", "Happy landing"), ("Yes 👍", "Yes")],
    "languages": [
        ("Am Montag rudern wir nicht!", "am montag, rudern wir nicht."),
        ("三月份的报告", "3月份的报告。"),
        ("二千零二十五年", "2025年"),
        ("الطابق ١٢، شارع النيل", "الطابق 12 شارع النيل"),
        ("बैठक १० बजे", "बैठक 10 बजे"),
        ("明天下午三点开会", "明天15:00开会"),
        ("会議は午後三時半です", "会議は15時30分です。"),
        ("เจอกันบ่ายสองโมง", "เจอกัน 14:00"),
        ("ค่าห้องเจ็ดพันบาท", "ค่าห้อง 7000 บาท"),
        ("الطابق الثالث", "الطابق ٣"),
        ("ניפגש בשמונה בערב", "ניפגש ב-20:00"),
        ("Встреча в три часа дня", "Встреча в 15:00"),
        ("Двадцать пять стульев", "25 стульев"),
        ("बैठक शाम सात बजे", "बैठक 19:00"),
        ("Πέμπτος όροφος, Ερμού 23", "5 όροφος, Ερμού 23"),
        ("J'arrive vers dix-huit heures", "j'arrive vers 18 h"),
        ("Am Dienstag um drei Uhr", "am Dienstag um 3:00"),
    ],
}


@pytest.mark.parametrize(("first", "second"), [pair for pairs in SAME.values() for pair in pairs])
def test_another_way_to_write_it_is_not_refused(first: str, second: str) -> None:
    assert meaning(first, second) is Meaning.SAME
    assert meaning(second, first) is Meaning.SAME


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Refill the prednisone.", "Refill the prednisolone."),
        ("Buy Bramley apples.", "Buy Bromley apples."),
        ("buy bramley apples", "buy bromley apples"),
        ("The personnel meeting.", "The personal meeting."),
        ("A tour of the desert.", "A tour of the dessert."),
        ("不能参加会议", "才能参加会议"),
    ],
)
def test_what_may_be_meant_as_it_is_written_is_not_corrected(first: str, second: str) -> None:
    assert corrected(first, second) == (first, second)


def test_misspelled_words_are_corrected() -> None:
    assert corrected("Bring it tomorow.", "Bring it tomorrow.")[0] == "Bring it tomorrow."
    assert corrected("On Wendesday.", "On Wednesday.")[0] == "On Wednesday."


UNCLEAR = [
    ("He was released.", "He was released on bail."),
    ("The boat is late.", "The boat might be late."),
    ("会議は火曜日です。", "火曜日に会議があります。"),
    ("不能参加会议", "才能参加会议"),
    ("明天三点开会", "明天五点开会"),
    ("The shop closes at 2 pm. Il a deux enfants.", "The shop closes at 2 pm. Il a trois enfants."),
    ("Je ne viendrai pas jeudi.", "Je viendrai jeudi."),
    ("Départ à 9h30", "Départ à 10h30"),
    ("Vamos a Málaga al mediodía", "Vamos a Málaga a la tarde"),
    ("We kept bees for six years.", "We kept bees six years ago."),
    ("Đón bé lúc bốn giờ", "Đón bé lúc năm giờ"),
    ("我周五去上海。", "I go to Shanghai on Friday."),
    ("Три дня", "Третий день"),
    ("Один день", "Первый день"),
    ("Улица Ленина 23, 4 этаж", "Улица Ленина 234 этаж"),
    ("明天下午三点开会", "明天上午三点开会"),
]


@pytest.mark.parametrize(("first", "second"), UNCLEAR)
def test_what_may_or_may_not_matter_is_not_clear(first: str, second: str) -> None:
    judged = judge(BODY, first, second, lambda *_: 1.0, BAND)
    assert judged.meaning is Meaning.UNCLEAR
    assert judged.reason.startswith("not clear: ")


@pytest.mark.parametrize(
    ("likeness", "expected"), [(0.39, Meaning.DIFFERENT), (0.45, Meaning.UNCLEAR), (0.5, Meaning.SAME)]
)
def test_the_band_decides_what_no_check_does(likeness: float, expected: Meaning) -> None:
    assert meaning("Row to the pier.", "Paddle to the jetty.", likeness=likeness) is expected


def test_another_argument_can_carry_a_fact() -> None:
    def judged(*values: str) -> Meaning:
        return judge(TASK, "pay rent by Friday", "pay rent", lambda *_: 1.0, BAND, beside(values)).meaning

    assert judged() is Meaning.UNCLEAR
    assert judged("2023-09-15 00:00:00") is Meaning.SAME
    assert judged("2023-09-14 00:00:00") is Meaning.UNCLEAR


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("take the pill daily", "take the pill weekly"),
        ("last quarter's figures", "next quarter's figures"),
        ("feed the cat in the morning", "feed the cat at night"),
        ("call Igor on weekdays", "call Igor at weekends"),
        ("pay the monthly rent", "pay the rent"),
        ("send last month's bill", "send the bill"),
    ],
)
def test_a_date_elsewhere_says_neither_how_often_nor_when_in_the_day(first: str, second: str) -> None:
    dated = beside(["2025-03-06 00:00:00"])
    assert judge(TASK, first, second, lambda *_: 1.0, BAND, dated).meaning is not Meaning.SAME
    assert judge(TASK, second, first, lambda *_: 1.0, BAND, dated).meaning is not Meaning.SAME


def test_a_time_elsewhere_says_which_part_of_the_day() -> None:
    first, second = "feed the cat in the morning", "feed the cat"
    morning, evening = beside(["2025-03-06 08:00:00"]), beside(["2025-03-06 20:00:00"])
    assert judge(TASK, first, second, lambda *_: 1.0, BAND, morning).meaning is Meaning.SAME
    assert judge(TASK, first, second, lambda *_: 1.0, BAND, evening).meaning is not Meaning.SAME


SENTENCES = [
    f"The {who} painted the {what}."
    for who in ("baker", "smith", "potter")
    for what in ("wall", "gate", "boat", "barn")
]
LONG = SENTENCES * 8


def test_a_long_text_is_read_to_its_end() -> None:
    text = " ".join(LONG)
    assert meaning(text, "\n\n".join(LONG)) is Meaning.SAME
    assert meaning(text, " ".join(LONG[::-1])) is Meaning.SAME
    assert meaning(text, " ".join(LONG[:-4])) is not Meaning.SAME
    for at in (0, 40, len(LONG)):
        with_one = " ".join([*LONG[:at], "Pay Igor 4,200 francs.", *LONG[at:]])
        with_other = " ".join([*LONG[:at], "Pay Igor 2,400 francs.", *LONG[at:]])
        assert meaning(with_one, with_other) is Meaning.DIFFERENT


def test_the_worst_sentence_counts() -> None:
    def likeness(first: str, second: str) -> float:
        return 0.1 if "harp" in first + second else 0.9

    changed = [each.replace("painted the", "has put fresh paint on the") for each in SENTENCES]
    assert judge(BODY, " ".join(SENTENCES), " ".join(changed), likeness, BAND).meaning is Meaning.SAME
    changed[5] = "The smith tuned the harp."
    assert judge(BODY, " ".join(SENTENCES), " ".join(changed), likeness, BAND).meaning is Meaning.DIFFERENT


PIECES = """
I you not never Anna Bob beat 2 3 rooms at 5:50 on Tuesday May the a . ! ? , by was paid 👍 ❌ if must may
all both one $300 5 km ten to six Hi Best restuarant nicht 不 は
"""
WORDS = st.sampled_from([*PIECES.split(), "\n"])
TEXTS = st.one_of(st.text(), st.lists(WORDS, max_size=40).map(" ".join))


@settings(deadline=None)
@given(st.sampled_from([*KINDS.values()]), TEXTS, TEXTS)
def test_a_judgement_is_symmetric_and_never_raises(kind: Text, first: str, second: str) -> None:
    one, other = (judge(kind, *texts, lambda *_: 0.9, BAND) for texts in ((first, second), (second, first)))
    assert (one.meaning, one.likeness, one.note) == (other.meaning, other.likeness, other.note)
    assert one.reason.isprintable()


@settings(deadline=None)
@given(st.sampled_from([*KINDS.values()]), TEXTS)
def test_a_text_is_the_same_as_itself(kind: Text, text: str) -> None:
    assert meaning(text, text, kind=kind) is Meaning.SAME
    assert meaning(text, f"  {text}\n", kind=kind, likeness=1.0) is Meaning.SAME


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "9",
        "a'",
        "not ",
        "½",
        "Ken beat Lara and ",
        "at 3 to 4 pm ",
        "! ",
        " ",
        "x. ",
        "👍",
        "ß",
        "а",
        "5 km ",
    ],
    ids=repr,
)
def test_two_hostile_texts_are_judged_in_a_moment(piece: str) -> None:
    text = piece * (100_000 // len(piece))
    with in_a_moment():
        meaning(text, text[: len(text) // 2] + " and one more thing " + text[len(text) // 2 :])
        meaning(text, f"{text} 7")

"""What an assistant's words ask for."""

import pytest
from small_scenarios import LAMP

from rig.plugins.autode.questions import AskedSlots, mentions, read, spoken
from rig.plugins.autode.scenarios import ApiDocument

TICKET = ApiDocument.from_row(
    "Travel",
    "BookTicket",
    "Book a ticket with a certain app.",
    "deviceType: Supported device types\nappName: Name of the app\nticketType: Ticket type\n"
    "time: Time of travel\ndeparture: Departure location\ndestination: Destination\n"
    "price: Price of the ticket\nidNumber: Passport number\ncontent: Remark for the driver",
)
CHANGE = ApiDocument.from_row(
    "Plans",
    "ChangeReminder",
    "Change a reminder.",
    "originalTime: Original time\ntargetTime: Desired time\noriginalContent: Original content\n"
    "targetContent: Desired content",
)


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("What is the name of the app?", ["appName"]),
        ("Sure! Could you tell me which navigation app you would like to use?", ["appName"]),
        ("Which device are you using?", ["deviceType"]),
        ("Is it a mobile phone, tablet, TV, speaker or watch?", ["deviceType"]),
        ("What type of phone do you have?", ["deviceType"]),
        ("When do you want to leave?", ["time"]),
        ("What's your budget for the ticket?", ["price"]),
        ("Please give me the ticket type and the time.", ["ticketType", "time"]),
        ("I need your passport number.", ["idNumber"]),
        (
            "I need to know:\n1. Device type: e.g. TV\n2. The price range\n- app name",
            ["deviceType", "appName", "price"],
        ),
        ("To book the ticket on your watch, I need to know the destination.", ["destination"]),
        ("What is the destination that the app shall look for?", ["destination"]),
        ("Thank you for telling me the price. What is the destination?", ["destination"]),
        ("I can book a ticket in your app for any price.", []),
        ("Great, I have the device type now.", []),
        ("", []),
    ],
)
def test_slots_that_are_asked_for(text: str, slots: list[str]) -> None:
    assert list(read(text, TICKET).slots) == slots


@pytest.mark.parametrize(
    ("text", "slots"),
    [
        ("What is the original time?", ["originalTime"]),
        ("What's the new time, and the new content?", ["targetTime", "targetContent"]),
        ("What is the time?", ["originalTime", "targetTime"]),
        ("What should the reminder say instead?", ["originalContent", "targetContent"]),
    ],
)
def test_what_there_is_and_what_it_shall_become(text: str, slots: list[str]) -> None:
    assert list(read(text, CHANGE).slots) == slots


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Could you give me more details?", AskedSlots(is_general=True)),
        ("Is that correct?", AskedSlots(is_closed=True)),
        ("Shall I go ahead?", AskedSlots(is_closed=True)),
        ("What is your mother's maiden name?", AskedSlots()),
        ("Can I help you with anything else?", AskedSlots()),
        ("Open the settings and tap on it.", AskedSlots()),
        ("Could you please provide me with that information?", AskedSlots()),
    ],
)
def test_what_else_is_asked(text: str, question: AskedSlots) -> None:
    assert read(text, LAMP) == question


def test_embeddings_are_asked_where_the_rules_are_silent() -> None:
    heard: list[tuple[str, str]] = []

    def alike(sentence: str, phrase: str) -> float:
        heard.append((sentence, phrase))
        return 0.6 if phrase.startswith("room") else 0.2

    assert read("Whereabouts is it?", LAMP, alike).slots == ("room",)
    assert len(heard) == len(LAMP.parameters)
    heard.clear()
    assert read("Which room?", LAMP, alike).slots == ("room",)
    assert read("Is that right?", LAMP, alike).slots == ()
    assert not heard
    assert read("Whereabouts is it?", LAMP, lambda *_: 0.44) == AskedSlots()


def test_the_packaged_encoder_knows_what_a_hue_is() -> None:
    from rig.plugins.autode.scripted_user import similarity

    assert read("Which hue would please you?", LAMP, similarity()).slots == ("colour",)


@pytest.mark.parametrize(
    ("text", "name", "value", "is_said"),
    [
        ("Light in the hall, please.", "room", "hall", True),
        ("In the HALL!", "room", "hall", True),
        ("In the hallway", "room", "hall", False),
        ("on my smartwatch", "deviceType", "watch", True),
        ("on my phones", "deviceType", "mobile phone", True),
        ("It costs $20.50 or so", "colour", "$20.50", True),
        ("true", "dimmed", True, False),
        ("anything", "room", None, False),
    ],
)
def test_values_that_are_said(text: str, name: str, value: object, is_said: bool) -> None:
    parameter = LAMP.parameter(name)
    assert parameter is not None
    assert mentions(text, value, parameter) == is_said


def test_names_are_spoken_as_words() -> None:
    assert spoken("targetEmailAddress") == "target email address"
    assert spoken("start_time") == "start time"

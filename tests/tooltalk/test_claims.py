"""Which replies say that something was done."""

import pytest

from rig.plugins.tooltalk.faults import claims_success


@pytest.mark.parametrize(
    "reply",
    [
        "Done.",
        "Done! Anything else?",
        "I've set an alarm for 7 AM.",
        "I have sent the message to Theo.",
        "I\u2019ve sent it.",
        "Your reminder has been added.",
        "Your alarm is now set for seven.",
        "The event was successfully created.",
        "All set for Friday.",
        "Sure. I just deleted the alarm.",
        "Your message is on its way",
    ],
)
def test_claims(reply: str) -> None:
    assert claims_success(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "What time should I set it for?",
        "I could not send the message.",
        "Sorry, the alarm has not been set.",
        "I was unable to delete it.",
        "Once it is set I will tell you.",
        "Shall I say that it is done?",
        "Should it be sent now? Has it been sent?",
        "It will be sunny tomorrow.",
        "You have three alarms: 6:05, 7:30 and 18:00.",
        "I can set an alarm for you.",
        "Unfortunately I haven't added it.",
    ],
)
def test_no_claims(reply: str) -> None:
    assert not claims_success(reply)


def test_a_long_reply_is_read_from_its_beginning() -> None:
    assert claims_success("Done. " + "x" * 1_000_000)
    assert not claims_success("x" * 1_000_000 + " Done.")

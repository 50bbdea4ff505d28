"""A call that is made again and again is counted, not repeated."""

from rig.core.calls import Call, CallPlace, Outcome, StepPlace, Verdict
from rig.core.models import Prediction
from rig.show.steps import Called, CallVerdict, Returned
from tui.live.layout import BlockLayout, Column, LiveTranscript, Repeated, block, plain

FORM = BlockLayout(80, 2)
WRONG = Verdict(False, reason="no such call is expected")


def make(transcript: LiveTranscript, step: int, time: str = "7", verdict: Verdict | None = WRONG) -> None:
    call = Call("AddAlarm", {"time": time})
    transcript.predicted(StepPlace(1, step), Prediction(raw="", call=call))
    transcript.judged(StepPlace(1, step), Outcome(None, "no"), verdict)


def shown(transcript: LiveTranscript, form: BlockLayout = FORM) -> str:
    return plain(line for entry in transcript.entries for line in block(entry, form))


def test_the_same_call_is_told_once_and_counted() -> None:
    transcript = LiveTranscript()
    for step in range(10):
        make(transcript, step)
    assert [type(entry) for entry in transcript.entries] == [Called, Returned, CallVerdict, Repeated]
    assert shown(transcript).splitlines()[-1].strip() == "the same call, 9 more times"
    assert shown(transcript).count("AddAlarm") == 1


def test_once_more_is_said_in_words() -> None:
    transcript = LiveTranscript()
    make(transcript, 0)
    make(transcript, 1)
    assert shown(transcript).endswith("the same call, once more")


def test_what_differs_in_anything_is_told() -> None:
    transcript = LiveTranscript()
    make(transcript, 0, verdict=Verdict(True, CallPlace(1, 0)))
    make(transcript, 1)
    make(transcript, 2, time="8")
    make(transcript, 3, time="8", verdict=Verdict(False, bad_action=True))
    assert shown(transcript).count("AddAlarm") == 4
    assert not any(isinstance(entry, Repeated) for entry in transcript.entries)


def test_calls_that_nobody_judges_fold_too() -> None:
    transcript = LiveTranscript()
    for step in range(3):
        make(transcript, step, verdict=None)
    assert shown(transcript).endswith("the same call, 2 more times")


def test_all_of_them_are_there_when_everything_is_asked_for() -> None:
    transcript = LiveTranscript()
    for step in range(4):
        make(transcript, step)
    assert shown(transcript, FORM._replace(full=True)).count("AddAlarm") == 4


def test_one_that_is_judged_again_is_told_again() -> None:
    transcript = LiveTranscript()
    for step in range(3):
        make(transcript, step)
    transcript.rejudged(StepPlace(1, 2), Verdict(True, CallPlace(1, 0)))
    judged = [entry for entry in transcript.entries if isinstance(entry, CallVerdict)]
    assert [(each.place.step, each.match) for each in judged] == [(0, False), (1, False), (2, True)]
    assert transcript.edits == 1


def test_a_column_that_grows_ends_as_one_that_is_laid_out_at_once() -> None:
    transcript = LiveTranscript()
    growing = Column(transcript, FORM)
    for step in range(6):
        make(transcript, step, time="7" if step < 4 else "8")
        growing.update()
    whole = Column(transcript, FORM)
    whole.update()
    assert growing.lines == whole.lines
    assert "the same call, 3 more times" in plain(growing.lines)


def test_the_weight_is_that_of_all_of_them() -> None:
    transcript, single = LiveTranscript(), LiveTranscript()
    make(single, 0)
    for step in range(5):
        make(transcript, step)
    assert transcript.weight == 5 * single.weight

"""What is seen of a step: each outcome has one word and one sign, wherever it is shown."""

from collections.abc import Callable, Sequence

import pytest
import small_talks
from rich.cells import cell_len

from rig.core.calls import Call, CallPlace, Difference, ExecutedCall, Outcome, StepPlace, Verdict
from rig.core.errors import ErrorKind
from rig.core.metrics import UNDECLARED
from rig.core.models import Prediction
from rig.core.tasks import PlayedTurn, Step
from rig.plugins.report.material import step_box
from rig.plugins.tooltalk.scoring import DECLARATION
from rig.show import signs
from rig.show.signs import Sign
from rig.show.steps import (
    Called,
    Ended,
    Failed,
    Lengths,
    Replied,
    StepView,
    ended,
    step_view,
)
from rig.show.story import due_calls
from rig.show.transcript import transcript_text
from rig.store import Transcript
from tui.live.layout import BlockLayout, LiveTranscript, block, plain
from tui.stored.story import write_step
from tui.text.lines import Tint
from tui.text.page_writer import PageWriter

CALL = Call("AddAlarm", {"session_token": "98a5a87a", "time": "09:00:00"})
MADE = Prediction(raw='{"tool": "AddAlarm"}', call=CALL)
DONE = ExecutedCall(CALL, Outcome(response={"alarm_id": "0001"}))
REFUSED = ExecutedCall(CALL, Outcome(exception="There is no such user."))
TIME = Difference("time", "07:00:00", "09:00:00")
BODY = Difference("body", "a", "b", similarity=0.4, threshold=0.9, note="number: 2 is not 3")
SUCCEED = Difference("exception", None, "There is no such user.")

STEPS: list[tuple[str, Step, Sign, list[str]]] = [
    ("match", Step(MADE, DONE, Verdict(True, CallPlace(1, 1))), signs.MATCH, ["+ match", "expected call 2"]),
    (
        "moved",
        Step(MADE, DONE, Verdict(True, CallPlace(3, 0))),
        signs.MATCH,
        ["expected call 1 of another turn"],
    ),
    (
        "no match",
        Step(MADE, DONE, Verdict(False, reason="not due")),
        signs.NO_MATCH,
        ["x no match", "not due"],
    ),
    ("unexplained", Step(MADE, DONE, Verdict(False)), signs.NO_MATCH, ["no such call is expected"]),
    (
        "incorrect",
        Step(MADE, DONE, Verdict(False, None, True, "time: 7, 9", (TIME,))),
        signs.INCORRECT,
        ["# incorrect", "an unexpected action was carried out", "09:00:00"],
    ),
    (
        "refused",
        Step(MADE, REFUSED, Verdict(False, None, False, "failed", (SUCCEED,))),
        signs.NO_MATCH,
        ["refused"],
    ),
    ("text", Step(MADE, DONE, Verdict(False, reason="body", differences=(BODY,))), signs.NO_MATCH, ["body"]),
    ("reply", Step(Prediction(raw="Done.", reply="Done.")), signs.REPLY, ["Done."]),
    (
        "error",
        Step(Prediction(raw='{"to', error=ErrorKind.TRUNCATED, error_detail="256 tokens")),
        signs.ERROR,
        ["! error", "truncated", "256 tokens", '{"to'],
    ),
]
CASES = pytest.mark.parametrize(("name", "step", "sign", "words"), STEPS, ids=[case[0] for case in STEPS])


def live(step: Step) -> str:
    transcript = LiveTranscript()
    transcript.predicted(StepPlace(1, 0), step.prediction)
    if step.executed is not None and step.verdict is not None:
        transcript.judged(StepPlace(1, 0), step.executed.outcome, step.verdict)
    return plain(line for entry in transcript.entries for line in block(entry, BlockLayout(120)))


def stored(step: Step) -> str:
    writer = PageWriter(120)
    write_step(writer, step_view(StepPlace(1, 0), step, Lengths.of(writer.limit)), None)
    return plain(writer.lines)


def transcript_of(step: Step) -> Transcript:
    conversation = small_talks.conversations()[0]
    return Transcript("arm0", 0, conversation, {1: PlayedTurn(1, (step,))}, None, UNDECLARED)


def shown(step: Step) -> str:
    return transcript_text(transcript_of(step))


@CASES
def test_a_step_has_its_sign_and_its_words(name: str, step: Step, sign: Sign, words: Sequence[str]) -> None:
    view = step_view(StepPlace(1, 0), step, Lengths.of(2000))
    assert view.sign == sign
    assert view.is_wrong == (sign in (signs.NO_MATCH, signs.INCORRECT, signs.ERROR))


@CASES
@pytest.mark.parametrize("painter", [live, stored, shown])
def test_all_painters_say_the_same(
    name: str, step: Step, sign: Sign, words: Sequence[str], painter: Callable[[Step], str]
) -> None:
    text = painter(step)
    assert sign.label in text
    assert not [each for each in words if each not in text]
    assert "98a5a87a" not in text


@CASES
def test_the_report_says_so_too(name: str, step: Step, sign: Sign, words: Sequence[str]) -> None:
    box = step_box(step_view(StepPlace(1, 0), step, Lengths.of(2000)), "", 2000)
    assert (box.judged or box.sign) == sign
    text = f"{box.sign.label} {box.text} {box.answer} {box.judged.label if box.judged else ''} {box.reason}"
    assert name in ("match", "moved") or not [
        each for each in words if each not in text and each != "09:00:00"
    ]
    assert "98a5a87a" not in text


@pytest.mark.parametrize(
    ("successes", "bad_actions", "errors", "sign", "text"),
    [
        (1, 0, {}, signs.SUCCESS, "1 of 2 calls matched"),
        (1, 0, {"truncated": 1}, signs.ERRED, "1 of 2 calls matched; truncated 1"),
        (1, 0, {"call_cap": 1}, signs.CAPPED, "1 of 2 calls matched; call_cap 1"),
        (0, 0, {}, signs.FAILED, "1 of 2 calls matched"),
        (0, 0, {"truncated": 1, "memory": 2}, signs.ERROR, "1 of 2 calls matched; memory 2, truncated 1"),
        (0, 1, {"memory": 1}, signs.INCORRECT, "1 of 2 calls matched, 1 incorrect action; memory 1"),
    ],
)
def test_a_conversation_ends_in_the_worst_of_what_happened(
    successes: int, bad_actions: int, errors: dict[str, int], sign: Sign, text: str
) -> None:
    counts = {"successes": successes, "matches": 1, "ground_truths": 2, "bad_actions": bad_actions}
    assert ended(DECLARATION, counts, errors) == Ended(sign, text)


def test_a_method_that_says_nothing_of_a_task_has_no_words_for_its_end() -> None:
    assert ended(UNDECLARED, {}, {}) == Ended(signs.FAILED, "")


@pytest.mark.parametrize(
    ("made", "over", "sign"),
    [
        (True, True, signs.MADE),
        (True, False, signs.MADE),
        (False, True, signs.MISSED),
        (False, False, signs.OPEN),
    ],
)
def test_what_is_due_is_made_missed_or_open(made: bool, over: bool, sign: Sign) -> None:
    assert signs.due(made=made, over=over) == sign


@pytest.mark.parametrize("ascii_only", [True, False], ids=["ascii", "unicode"])
def test_outcomes_are_told_apart_without_colour_and_without_case(*, ascii_only: bool) -> None:
    signs.use(ascii_only=ascii_only)
    for several in (
        (signs.MATCH, signs.NO_MATCH, signs.INCORRECT, signs.ERROR, signs.REPLY),
        (
            signs.SUCCESS,
            signs.FAILED,
            signs.INCORRECT,
            signs.ERROR,
            signs.WAITING,
            signs.RUNNING,
            signs.SKIPPED,
        ),
        (signs.USER, signs.CALL, signs.RESPONSE, signs.REFUSED, signs.REPLY),
        (signs.MADE, signs.MISSED, signs.OPEN),
    ):
        assert len({str(each.glyph).lower() for each in several}) == len(several)
        assert len({each.word.lower() for each in several}) == len(several)
    everything = [each for each in vars(signs).values() if isinstance(each, Sign)]
    assert {each.tint for each in everything} <= set(Tint)
    glyphs = [str(each.glyph) for each in everything]
    assert all(cell_len(glyph) == 1 and glyph.isascii() >= ascii_only for glyph in glyphs)


def test_texts_are_cut_and_say_by_how_much() -> None:
    view = step_view(StepPlace(1, 0), Step(Prediction(raw="x" * 50, reply="x" * 50)), Lengths.of(20))
    assert isinstance(view.made, Replied)
    assert str(view.made.text) == "x" * 20 + " .. 30 more characters"
    assert view.words == "x" * 20


def test_a_step_in_few_words() -> None:
    assert step_view(StepPlace(1, 0), Step(MADE), Lengths.of(200)).words == "AddAlarm"
    assert step_view(StepPlace(1, 0), Step(Prediction(raw="", reply="")), Lengths.of(200)).words == "(empty)"
    failed = step_view(StepPlace(1, 0), Step(Prediction(raw="", error=ErrorKind.CALL_CAP)), Lengths.of(200))
    assert isinstance(failed.made, Failed)
    assert (failed.words, failed.made.why) == ("call cap", "call_cap")


@pytest.mark.parametrize("arguments", [["a"], None, {"a": {"b": [1]}}])
def test_arguments_of_any_kind_can_be_shown(arguments: object) -> None:
    step = Step(Prediction(raw="{}", call=Call("T", arguments)))
    view: StepView = step_view(StepPlace(1, 0), step, Lengths.of(200))
    assert isinstance(view.made, Called)
    assert bool(view.made.pairs) == isinstance(arguments, dict)
    assert view.made.place == (1, 0)


def test_what_is_expected_comes_with_what_it_gives() -> None:
    _, due = due_calls(3, (REFUSED, REFUSED), Lengths.of(200))
    call, given = due.call, due.returned
    assert given is not None
    assert (call.place, given.text.text, given.sign) == ((3, 1), "There is no such user.", signs.REFUSED)
    assert [(name.text, value.text) for name, value in call.pairs] == [("time", '"09:00:00"')]
    assert CallPlace(3, 1) == (3, 1)

"""What a local model thinks of unclear texts: asked for in a form, shown, and never taken."""

import pytest
import unclear_talks

from rig.errors import ErrorKind
from rig.methods.scripted import Scripted, called, failed, replied
from rig.models import Prediction, Request
from rig.rescore import Adjudication, Opinions, Unsettled
from rig.scoring import answers_file


@pytest.fixture(scope="module")
def question(tmp_path_factory: pytest.TempPathFactory) -> Unsettled:
    store = tmp_path_factory.mktemp("unclear") / "runs.sqlite"
    unclear_talks.play(store, clear=9)
    [found] = Adjudication(store, "latest").questions
    assert not answers_file(store).exists()
    return found


@pytest.mark.parametrize(
    ("prediction", "same", "reason"),
    [
        (called("compare_texts", {"reason": "Both iron.", "same": "y"}), True, "Both iron."),
        (called("compare_texts", {"reason": "A mistake.", "same": "n"}), False, "A mistake."),
        (called("compare_texts", ["y"]), None, "no answer"),
        (replied("I cannot say."), None, "I cannot say."),
        (failed(ErrorKind.TRUNCATED, "incomplete"), None, "incomplete"),
    ],
)
def test_an_opinion_is_what_the_model_called(
    question: Unsettled, prediction: Prediction, same: bool | None, reason: str
) -> None:
    asked: list[Request] = []

    def script(request: Request) -> Prediction:
        asked.append(request)
        return prediction

    opinion = Opinions(Scripted(script, name="small")).of(question)
    assert (opinion.model, opinion.same, opinion.reason) == ("small", same, reason)
    [request] = asked
    assert [tool.name for tool in request.tools] == ["compare_texts"]
    for text in ("iron the shirts", "iron the shirts by mistake", "task of AddReminder"):
        assert text in str(request.messages)

"""The points to predict at are those at which a run would predict, if every prediction were right."""

import pytest

from benchmarks.engine.work import Work, prefixes
from rig.core.errors import RigError
from rig.core.events import Where
from rig.core.models import Request
from rig.core.tasks import ASSISTANT
from rig.methods.episode import course
from rig.methods.scripted import Oracle
from rig.plugins.tooltalk.method import METHOD
from rig.plugins.tooltalk.prompt import ToolTalkSettings


def played(name: str) -> list[Request]:
    """What a run asks the oracle."""
    (conversation,) = (one for one in Work(suite="all", limit=None).conversations() if one.name == name)
    oracle = Oracle([conversation])
    setup = METHOD.ready(
        {**{option.name: option.default for option in METHOD.options}, "similarity": "exact"}
    )
    dialogue = setup.start(conversation, ToolTalkSettings(), Where(0, name), lambda event: None, 0)
    return [ask.request for ask, _ in course(dialogue, {ASSISTANT: oracle})]


@pytest.mark.parametrize("name", ["AddAlarm-easy", "UserLogin-easy", "rain-date", "username-taken"])
def test_prefixes_are_what_a_run_of_the_truth_asks(name: str) -> None:
    (conversation,) = (one for one in Work(suite="all", limit=None).conversations() if one.name == name)
    assert [request for _, request in prefixes(conversation)] == played(name)


def test_the_standard_work_is_thirty_prefixes_of_twelve_conversations() -> None:
    work = Work()
    requests = work.requests()
    assert len(requests) == 30
    assert {request.key.conversation for request in requests.values()} <= {
        conversation.name for conversation in work.conversations()
    }
    assert len(work.conversations()) == 12
    assert len({len(request.tools) for request in requests.values()}) == 1
    assert Work.from_json(work.as_json()) == work


def test_work_can_be_narrowed() -> None:
    assert list(Work(only=("AddAlarm-easy",), prefixes=2).requests()) == [
        "AddAlarm-easy/1/0",
        "AddAlarm-easy/3/0",
    ]
    with pytest.raises(RigError, match="NoSuch"):
        Work(only=("NoSuch",)).requests()

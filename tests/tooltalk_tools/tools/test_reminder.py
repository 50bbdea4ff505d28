import pytest
from small_world import REMINDERS, fail, log_in, respond

from rig.world.toolbox import Simulator


@pytest.mark.parametrize("due_date", [None, "2024-03-06 10:00:00", "1999-1-1 0:0:0"])
def test_add_reminder(both: Simulator, due_date: str | None) -> None:
    assert respond(both, "AddReminder", task="Call Theo", due_date=due_date) == {"reminder_id": "5b-dd80"}
    new = {"reminder_id": "5b-dd80", "task": "Call Theo", "due_date": due_date, "status": "pending"}
    assert respond(both, "GetReminders") == {"reminders": [*REMINDERS, new]}


@pytest.mark.parametrize("due_date", ["", "tomorrow", "2024-03-06", "2024-02-30 10:00:00"])
def test_add_reminder_refuses_a_bad_date(both: Simulator, due_date: str) -> None:
    assert fail(both, "AddReminder", task="x", due_date=due_date)
    assert respond(both, "GetReminders") == {"reminders": list(REMINDERS)}


def test_complete_reminder(both: Simulator) -> None:
    assert respond(both, "CompleteReminder", reminder_id="00-0001") == {"status": "success"}
    assert respond(both, "GetReminders")["reminders"][0] == {**REMINDERS[0], "status": "complete"}
    for reminder_id in ("00-0001", "00-0002", "00-0003"):
        assert fail(both, "CompleteReminder", reminder_id=reminder_id)


def test_delete_reminder(both: Simulator) -> None:
    assert respond(both, "DeleteReminder", reminder_id="00-0001") == {"status": "success"}
    assert fail(both, "DeleteReminder", reminder_id="00-0001")
    assert respond(both, "GetReminders") == {"reminders": [REMINDERS[1]]}


@pytest.mark.parametrize("tool", ["CompleteReminder", "DeleteReminder"])
def test_a_user_without_a_list(default: Simulator, upstream: Simulator, tool: str) -> None:
    for simulator, text in ((default, "There is no reminder 00-0001."), (upstream, "'newton'")):
        log_in(simulator, "newton")
        assert fail(simulator, tool, reminder_id="00-0001") == text
        assert respond(simulator, "GetReminders") == {"reminders": []}


def test_a_refused_reminder_still_makes_a_list_upstream(upstream: Simulator) -> None:
    log_in(upstream, "newton")
    assert fail(upstream, "AddReminder", task="x", due_date="tomorrow")
    assert fail(upstream, "DeleteReminder", reminder_id="00-0001") == "There is no reminder 00-0001."

"""What a file says of its turns, where it cannot be true."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shipped
from conversations.rules import RULES
from conversations.suites import check_suite

from rig.plugins.tooltalk_tools.world import ToolTalkWorld

Source = dict[str, Any]
Change = Callable[[Source], object]


def arguments(source: Source, turn: int) -> Source:
    found: Source = source["conversation"][turn]["apis"][0]["request"]["parameters"]
    return found


ANNOTATED: dict[str, tuple[str, Change, str, str]] = {
    "untagged": ("AddAlarm", lambda s: s["conversation"][1].pop("tags"), "tags", "either ask or no-tool"),
    "both": (
        "AddAlarm",
        lambda s: s["conversation"][1].update(tags=["ask", "no-tool"]),
        "tags",
        "either ask or no-tool",
    ),
    "asks nothing": ("AddAlarm", lambda s: s["conversation"][1].update(text="Hm."), "tags", "a question"),
    "asks and calls": ("AddAlarm", lambda s: s["conversation"][3].update(tags=["ask"]), "tags", "neither"),
    "no failure": (
        "AddAlarm",
        lambda s: s["conversation"][3].update(tags=["expected-error"]),
        "tags",
        "no call fails",
    ),
    "silent failure": (
        "DeleteAlarm",
        lambda s: arguments(s, 3).update(alarm_id="0000-0000"),
        "tags",
        "a call fails",
    ),
    "unknown tag": ("AddAlarm", lambda s: s["conversation"][0].update(tags=["ask"]), "tags", "cannot be"),
    "corrects nothing": (
        "AddAlarm",
        lambda s: s["conversation"][2].update(tags=["correction"]),
        "tags",
        "has to change",
    ),
    "not said": (
        "QueryCalendar",
        lambda s: s["conversation"][2].update(dates={"on Monday": "2025-07-07"}),
        "dates",
        "is not said",
    ),
    "not meant": (
        "QueryCalendar",
        lambda s: s["conversation"][2].update(dates={"tomorrow": "2025-07-06"}),
        "dates",
        "tomorrow is 2025-07-05",
    ),
    "not used": (
        "QueryCalendar",
        lambda s: s["conversation"][0].update(text="today", dates={"today": "2025-07-04"}),
        "dates",
        "no later call",
    ),
    "no date": (
        "QueryCalendar",
        lambda s: s["conversation"][2].update(dates={"tomorrow": "soon"}),
        "dates",
        "has no date",
    ),
    "no object": ("QueryCalendar", lambda s: s["conversation"][2].update(dates=[]), "dates", "an object"),
}


@pytest.mark.parametrize(("tool", "change", "kind", "text"), ANNOTATED.values(), ids=ANNOTATED)
def test_is_reported_in_a_suite(
    tool: str,
    change: Change,
    kind: str,
    text: str,
    tmp_path: Path,
    world: ToolTalkWorld,
) -> None:
    source = shipped.easy(tool)
    change(source)
    directory = shipped.write(tmp_path / "easy", source)
    report = check_suite(directory, world, "easy", RULES["easy"])
    found = [fault for fault in report.faults if fault.kind == kind]
    assert any(text in fault.text for fault in found), [str(fault) for fault in found]

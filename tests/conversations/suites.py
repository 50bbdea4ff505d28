"""The shipped suites held to what they promise, besides being sound."""

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from conversations.annotations import check_annotations
from conversations.reading import Reading
from conversations.rules import SuiteRules, check_rules

from rig.plugins.tooltalk.check import Defect, DirectoryReport, check_directory
from rig.plugins.tooltalk.conversations import load_directory
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.world import ToolTalkWorld


@dataclass(frozen=True)
class SuiteReport:
    """What checking found, and which further faults there are by the suite's own rules."""

    sound: DirectoryReport
    readings: tuple[Reading, ...]
    faults: tuple[Defect, ...]


def check_suite(directory: Path, world: ToolTalkWorld, suite: str, rules: SuiteRules) -> SuiteReport:
    """Check a directory as `rig check` does, and hold its conversations to these rules."""
    report = check_directory(directory, world, TOOLTALK)
    calls = iter(report.calls)
    readings = tuple(
        Reading(conversation, tuple(islice(calls, len(conversation.ground_truth))))
        for conversation in load_directory(directory)
    )
    annotations = (
        fault for each in readings for fault in check_annotations(f"{each.conversation.name}.json", each)
    )
    return SuiteReport(report, readings, (*report.faults, *annotations, *check_rules(suite, rules, readings)))

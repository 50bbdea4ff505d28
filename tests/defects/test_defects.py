"""Tasks that are known to be wrong: labelled, counted apart, and left out where somebody says so."""

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

import pytest

from rig.core.tasks import Task, select
from rig.plugins.bfcl.method import METHOD, counts_of
from rig.plugins.defects.defects import defects, sound_counts, sound_metrics

WRONG = "live_multiple_862-181-3"


@dataclass(frozen=True)
class Entry(Task):
    name: str
    suite: str = "live_multiple"
    source: dict[str, Any] = field(default_factory=dict)

    @property
    def defect(self) -> str:
        return defects().get(self.name, "")


TASKS = [Entry("live_multiple_1-0-1"), Entry(WRONG), Entry("parallel_1", "parallel")]


def test_every_defect_says_what_is_wrong_who_says_so_and_at_which_commit() -> None:
    assert len(defects()) >= 20
    told = r".{20,} \((?:gorilla#\d+|own check)\); (?:gorilla|tau2-bench) [0-9a-f]{8}"
    assert [text for text in defects().values() if not re.fullmatch(told, text)] == []


def test_rates_without_defects_stand_beside_those_with_them() -> None:
    (metric,) = sound_metrics(TASKS, {"live_multiple": "live multiple", "parallel": "parallel"})
    assert metric.noun == "live multiple, without 1 known to be wrong"
    counts: dict[str, float] = {}
    for task, right in zip(TASKS, (1, 0, 1), strict=True):
        for name, value in counts_of(task, right).items():
            counts[name] = counts.get(name, 0) + value
    assert metric.rate(counts) == 1.0
    usual = next(m for m in METHOD.declaration.metrics if m.name == "live_multiple")
    assert usual.rate(counts) == 0.5
    assert sound_counts(TASKS[1], "live_multiple", 1) == {}


def test_tasks_known_to_be_wrong_can_be_left_out() -> None:
    assert [task.name for task in select(TASKS, without="defects")] == [
        "live_multiple_1-0-1",
        "parallel_1",
    ]
    assert select(TASKS, limit=2, without="defects") == [TASKS[0], TASKS[2]]
    assert select(TASKS) == TASKS


def test_an_entry_says_what_is_wrong_with_it() -> None:
    function = {"name": "f", "description": "", "parameters": {"properties": {}}}
    question = [[{"role": "user", "content": "?"}]]
    source = {"entry": {"id": WRONG, "question": question, "function": [function]}, "truth": [{"f": {}}]}
    entry = METHOD.parse(source, "here", "live_multiple")
    assert entry.facts["known to be wrong"] == defects()[WRONG]
    with pytest.raises(dataclasses.FrozenInstanceError):
        entry.name = "live_multiple_1-0-1"
    assert "known to be wrong" not in dataclasses.replace(entry, name="live_multiple_1-0-1").facts

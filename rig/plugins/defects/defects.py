"""Tasks of public benchmarks that are known to be wrong. They are labelled and counted apart, never changed.

`defects.toml` lists them by benchmark and commit, each with the reason and the thread that reports it. A task
of the same name may have been mended since: the label only holds for that commit.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files

from rig.core.budget import parse_toml
from rig.core.metrics import Counts, Metric
from rig.core.tasks import Task

SOUND = "sound"
"""The prefix of counts that leave out the tasks known to be wrong."""


@cache
def defects() -> Mapping[str, str]:
    """Return what is wrong with each defective task, by the task's name."""
    text = files(__package__).joinpath("defects.toml").read_text(encoding="utf-8")
    return {
        name: f"{reason}; {commit}"
        for commit, tasks in parse_toml(text).items()
        for name, reason in tasks.items()
    }


class PublicTask(Task):
    """A task of a public benchmark."""

    @property
    def defect(self) -> str:
        return defects().get(self.name, "")

    @property
    def wrong(self) -> Mapping[str, str]:
        """What is known to be wrong with it, as one of its `facts`; empty if nothing is."""
        return {"known to be wrong": self.defect} if self.defect else {}


def sound_counts(task: Task, kind: str, right: int) -> Counts:
    """Return the extra counts of a task for its kind; none if the task is known to be wrong."""
    return {} if task.defect else {f"{SOUND}.{kind}": right, f"{SOUND}.tasks.{kind}": 1}


def sound_metrics(tasks: Iterable[Task], kinds: Mapping[str, str]) -> tuple[Metric, ...]:
    """Return a rate without the defective tasks for each kind that has some; `kinds` maps kinds to nouns."""
    wrong = Counter(task.suite for task in tasks if task.defect)
    return tuple(
        Metric(
            f"{SOUND}_{kind}",
            f"{noun}, without {count} known to be wrong",
            f"{SOUND}.{kind}",
            f"{SOUND}.tasks.{kind}",
            place="tables",
        )
        for kind, noun in kinds.items()
        if (count := wrong[kind])
    )

"""The history of a model file: its scores in all runs, oldest first."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rig.compare.leaks import leaks_of
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.metrics import TASKS
from rig.store import GraderInfo, Runs, StoredRun, StoredScore

FILE = "model.file_sha256"
_HASH = re.compile(r"[0-9a-f]{8,64}")


class PastScore(NamedTuple):
    """A score of an arm with the file. `changed` names what differs from the score before, `leaks` are
    the tasks that the file was calibrated on.
    """

    run: StoredRun
    arm: str
    score: StoredScore
    suites: tuple[str, ...]
    changed: tuple[str, ...]
    leaks: Sequence[str] = ()

    @property
    def tasks(self) -> int:
        """The number of tasks that were scored."""
        return round(self.score.counts.get(TASKS, 0))

    def as_json(self) -> JsonObject:
        """Return everything by name, with rates as the method declares them."""
        return {
            "run": self.run.id,
            "created": self.run.created.isoformat(),
            "rig": self.run.rig,
            "arm": self.arm,
            **self.score.grader.as_json(),
            "method": self.run.declaration.method,
            "suites": list(self.suites),
            "conversations": self.tasks,
            "metrics": self.run.declaration.as_json(self.score.counts),
            "changed": list(self.changed),
            "leaks": list(self.leaks),
        }


def is_hash(text: str) -> bool:
    """Return whether a text can be the beginning of a SHA-256 that is long enough to identify a file."""
    return _HASH.fullmatch(text) is not None


def history(runs: Runs, sha256: str) -> tuple[list[str], list[list[PastScore]]]:
    """Return the full hash of the file whose SHA-256 begins like this, and its scores, oldest first.

    Each list holds scores that can be compared: of one method, grader and grader version.
    Raises RigError if no run used such a file, or if several files match.
    """
    arms = [
        (run, arm)
        for run in reversed(runs.all())
        for arm in run.arms
        if str((arm.fingerprint or {}).get(FILE, "")).startswith(sha256)
    ]
    hashes = list(dict.fromkeys(str((arm.fingerprint or {})[FILE]) for _, arm in arms))
    if not arms:
        raise RigError(
            f"no run in {runs.path} is of the file with the SHA-256 {sha256[:16]}…; `rig runs` lists them"
        )
    if len(hashes) > 1:
        raise RigError(
            f"several files have a SHA-256 that begins like this: {', '.join(name[:16] for name in hashes)}"
        )
    lines: dict[tuple[str, GraderInfo], list[PastScore]] = {}
    before: dict[tuple[str, GraderInfo], JsonObject] = {}
    for run, arm in arms:
        tasks = runs.conversations(run)
        suites = tuple(dict.fromkeys(task.suite for task in tasks))
        leaks = leaks_of(arm.fingerprint, tasks)
        for score in runs.scores(run):
            if score.arm != arm.position or arm.not_evaluated:
                continue
            key = (run.declaration.method, score.grader)
            settings = {
                **(arm.fingerprint or {}),
                "suites": list(suites),
                "conversations": len(run.conversations),
            }
            # Without the grader, which all scores of a line share.
            was = before.get(key, settings)
            changed = (name for name in was.keys() | settings.keys() if was.get(name) != settings.get(name))
            named = tuple(sorted(name for name in changed if not name.startswith("grader.")))
            before[key] = settings
            lines.setdefault(key, []).append(PastScore(run, arm.name, score, suites, named, leaks))
    return hashes, list(lines.values())

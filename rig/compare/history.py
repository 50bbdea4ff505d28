"""The history of one model file: every run of it, recognized by its content, under any name."""

import re
from dataclasses import dataclass
from datetime import datetime

from rig.calls import JsonObject
from rig.errors import RigError
from rig.metrics import TASKS, Counts, Declaration
from rig.store import GraderInfo, Runs

FILE = "model.file_sha256"
_HASH = re.compile(r"[0-9a-f]{8,64}")


@dataclass(frozen=True, slots=True)
class PastScore:
    """One score of an arm with the file. `changed` is what differs from the score before, by name."""

    run: str
    created: datetime
    rig: str
    arm: str
    grader: GraderInfo
    declaration: Declaration
    suites: tuple[str, ...]
    counts: Counts
    changed: tuple[str, ...] = ()

    @property
    def tasks(self) -> int:
        """How many tasks were scored."""
        return round(self.counts.get(TASKS, 0))

    def as_json(self) -> JsonObject:
        """All of it by name, the rates as the method declares them."""
        return {
            "run": self.run,
            "created": self.created.isoformat(),
            "rig": self.rig,
            "arm": self.arm,
            **self.grader.as_json(),
            "method": self.declaration.method,
            "suites": list(self.suites),
            "conversations": self.tasks,
            "metrics": self.declaration.as_json(self.counts),
            "changed": list(self.changed),
        }


@dataclass(frozen=True, slots=True)
class ComparableScores:
    """Scores that may be compared, oldest first: one method, grader and grader version."""

    declaration: Declaration
    grader: GraderInfo
    scores: tuple[PastScore, ...]


def is_hash(text: str) -> bool:
    """Whether a text can be the beginning of a SHA-256, long enough to mean one file."""
    return _HASH.fullmatch(text) is not None


def history(runs: Runs, sha256: str) -> tuple[list[str], list[ComparableScores]]:
    """The hashes that begin with this, of one file, and its scores: one line for each that can be compared.

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
        suites = tuple(dict.fromkeys(task.suite for task in runs.conversations(run)))
        for score in runs.scores(run):
            if score.arm != arm.position or arm.not_evaluated:
                continue
            key = (run.declaration.method, score.grader)
            settings = {
                **(arm.fingerprint or {}),
                "suites": list(suites),
                "conversations": len(run.conversations),
            }
            # The grader is not among them: it is what a line has in common.
            was = before.get(key, settings)
            changed = (name for name in was.keys() | settings.keys() if was.get(name) != settings.get(name))
            named = tuple(sorted(name for name in changed if not name.startswith("grader.")))
            before[key] = settings
            of_arm = run.id, run.created, run.rig, arm.name, score.grader, run.declaration
            lines.setdefault(key, []).append(PastScore(*of_arm, suites, score.counts, named))
    return hashes, [
        ComparableScores(scores[0].declaration, grader, tuple(scores))
        for (_, grader), scores in lines.items()
    ]

"""Runs: from options to a plan, and from a plan to what is stored, with displays that listen."""

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from rig.core.errors import RigError, RigWarning

if TYPE_CHECKING:
    from rig.core.events import Emit
    from rig.running.control import Control
    from rig.running.plan import Plan
    from rig.store import StoredRun

T = TypeVar("T")


class RunView(Protocol):
    """What shows a run: it owns the main thread while a job runs, and hears the job's events."""

    def run(self, job: "Callable[[Emit], T]", control: "Control") -> T:
        """Run the job to the end, and return its result or raise what it raised."""


class RunEnd(NamedTuple):
    """A run as it is stored once it ended, and whether it was stopped before."""

    run: "StoredRun"
    is_stopped: bool


def run(plan: "Plan", view: RunView, beside: "Sequence[Emit]" = ()) -> RunEnd:
    """Run a plan under a view, and return the run as it is stored then. Raises RigError if nothing is.

    Those `beside` the view hear every event before it. Of tasks that cannot be read there are warnings.
    """
    from rig.running.control import Control
    from rig.running.runner import run as play
    from rig.store import Runs

    for fault in plan.faults:
        warnings.warn(fault, RigWarning, stacklevel=2)
    control = Control()
    view.run(lambda emit: play(plan, emit, control, beside), control)
    stored = None
    if plan.store.is_file():
        with Runs.open(plan.store) as runs:
            stored = next((run for run in runs.all() if run.id == plan.run), None)
    if stored is None:
        raise RigError("stopped before anything was stored; give the same command again")
    return RunEnd(stored, control.is_stopped)

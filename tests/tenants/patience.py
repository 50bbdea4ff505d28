"""A toy with a verb, two options, a strategy and a note: arms that get too much wrong are dropped."""

from dataclasses import dataclass

import click

from rig.cli.options import RUN, STORE
from rig.cli.verbs import verb
from rig.config.option import option
from rig.core.events import Where
from rig.running.strategy import RunStrategy, Schedule, Scheduler
from rig.store import Runs


@dataclass(frozen=True, kw_only=True)
class Patience:
    patience: int | None = option(None, "Drop an arm that gets N conversations wrong.", least=1)
    mood: str = option("calm", "What to note on an arm.", several=True)


class Dropping(Scheduler):
    def __init__(self, plan, cells, patience):
        self.plan, self.patience, self.played, self.wrong = plan, patience, set(), [0] * len(plan.arms)
        for cell in cells:
            self.finished(Where(cell.arm, cell.conversation, cell.repeat), cell.counts)

    def finished(self, where, counts):
        self.played.add(where)
        self.wrong[where.arm] += not self.plan.declaration.succeeded(counts)
        return ()

    def visits(self):
        for task in self.plan.tasks:
            for arm in range(len(self.plan.arms)):
                where = Where(arm, task.name)
                if where not in self.played and not self.is_over(arm):
                    yield arm, [(where, task)]

    def is_over(self, arm):
        return self.wrong[arm] >= self.patience

    def decided(self, arm):
        return f"dropped after {self.wrong[arm]} wrong" if self.is_over(arm) else None


@dataclass(frozen=True)
class DroppingSchedule(Schedule):
    patience: int

    def begin(self, plan, cells):
        return Dropping(plan, cells, self.patience)


class DropSome(RunStrategy):
    name = "patience"

    def schedule(self, config, arms):
        return DroppingSchedule(config.part(Patience).patience)


class Mood:
    name = "mood"

    def after(self, arm):
        return {"text": f"was {arm.plan.arms[arm.position].config.part(Patience).mood}", "lines": []}


@verb(name="moods")
def moods(run: str = RUN, runs: object = STORE) -> None:
    """Say in which mood each arm of a run was."""
    with Runs.open(runs) as opened:
        for arm in opened.get(run).arms:
            click.echo(f"{arm.name} {arm.notes['mood']['text']}")


def register(registry):
    registry.add_options("Patience", Patience)
    registry.strategies.add(DropSome())
    registry.hooks.add(Mood())
    registry.verbs.add(moods, does="Say in which mood each arm was.")

"""`rig judge answers`: votes of a judge on the answers of stored runs, or of folders of answers."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rig import displays
from rig.cli import completion, run
from rig.cli.options import (
    DISPLAY,
    JSON_AT_END,
    NAME,
    WRITTEN_STORE,
    Grouped,
    chosen_options,
    table_options,
)
from rig.cli.output import say, terminal_width
from rig.cli.verbs import argument, option, verb
from rig.displays.summary import summary, whereabouts
from rig.errors import RigError
from rig.files import json_text
from rig.judging.evaluators import DEFAULT
from rig.judging.planning import JudgingRequest, plan_judging
from rig.judging.questions import ReasonPlace
from rig.judging.votes import write_results
from rig.judging.voting import Orders
from rig.running.planning import plan_resume
from rig.solutions.decisions import DEFAULTS, Ties, Unsolvable, Unsure
from rig.solutions.judgements import SEED, Shape


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Who judges, what is judged, and by which rules."""

    judge: str | None = option("The model that judges.", "MODEL", shell_complete=completion.models)
    evaluator: str = option(
        "How to ask the judge: one of rig's evaluators (default, normalized, fn), a folder with one of"
        " ToolBench's, or a rule that needs no judge (truth, keyword, details).",
        "NAME|DIR",
        start=DEFAULT,
    )
    against: str | None = option(
        "Compare every other arm with this arm or model, and give win rates.", "NAME"
    )
    votes: int | None = option(
        "Votes on each answer or pair.  [default: 3 on an answer, 1 on a pair, in both orders]",
        "N",
        type=click.IntRange(1, 120),
    )
    reason: ReasonPlace | None = option("Ask for reasons before the verdict, after it, or not at all.")
    orders: Orders | None = option("Show two answers in both orders, or in one.")
    ties: Ties | None = option(f"What a tie of votes counts as.  [default: {DEFAULTS.ties}]")
    unsure: Unsure | None = option(f"What an unsure vote counts as.  [default: {DEFAULTS.unsure}]")
    unsolvable: Unsolvable | None = option(
        f"Whether an answer that leaves an unsolvable task unsolved passes.  [default: {DEFAULTS.unsolvable}]"
    )
    passes: str | None = option(
        "Take the passes from this earlier run of `rig judge`.", "RUN", shell_complete=completion.runs
    )
    test_ids: Path | None = option(
        "A file with the queries of each test set; a query without an answer counts as failed."
    )
    answered_only: bool = option("Leave out queries that some arm has not answered.")
    invalid: Shape = option("What stands for a raw answer that never finished.", default="seeded")
    walk_seed: int = option("The seed that picks a path of such an answer.", "N", default=SEED)

    def of(self, places: tuple[str, ...], options: dict[str, Any]) -> JudgingRequest:
        """The votes that are wanted on these answers. Raises RigError for what does not go together."""
        if not places:
            raise RigError("what is to be judged? Give a run (`rig runs`) or a folder of answers")
        is_win = self.against is not None
        unfit = ("ties",) if is_win else ("orders", "passes")
        for name in unfit:
            if getattr(self, name) is not None:
                raise RigError(f"--{name} {'has no effect with' if is_win else 'needs'} --against")
        of_method = ("reason", "orders") if is_win else ("reason", "ties", "unsure", "unsolvable")
        rules = {name: getattr(self, name) for name in of_method}
        return JudgingRequest(
            places=places,
            judge=self.judge,
            evaluator=self.evaluator,
            votes=self.votes,
            against=self.against,
            passes=self.passes,
            test_ids=self.test_ids,
            answered_only=self.answered_only,
            shape=self.invalid,
            seed=self.walk_seed,
            options=options,
            rules={name: rule for name, rule in rules.items() if rule is not None},
        )


@verb(Grouped, "answers", options=table_options("judge"))
def command(
    context: click.Context,
    *,
    places: tuple[str, ...] = argument("RUN|DIR...", shell_complete=completion.runs),
    judging: JudgeOptions,
    fail_if_worse: bool = option("Refuse a judge that is not calibrated or is no better than chance."),
    output: Path | None = option(
        "Write ToolBench's result files into this folder, which must be new or empty."
    ),
    raw: bool = option("Leave texts in its tables that a spreadsheet would execute as they are."),
    display: str = DISPLAY,
    name: str | None = NAME,
    runs: Path = WRITTEN_STORE,
    resuming: run.Resuming,
    as_json: bool = JSON_AT_END,
    **_: Any,
) -> int:
    """Judge the answers of runs, or of folders with ToolBench's raw or converted answers.

    The judge votes several times on each answer: does it solve the query? With --against, it says which of
    two answers is better. Votes are stored as a run, so you can watch them and continue with --resume. `rig
    judge calibrate` measures how far you can trust a judge.
    """
    if resuming.resume is not None:
        if places:
            raise RigError("RUN|DIR makes a new run and --resume continues one; give one of them")
        todo = plan_resume(resuming.resume, {}, runs, retry_failed=resuming.retry_failed)
    else:
        resuming.require_resume()
        todo = plan_judging(judging.of(places, chosen_options(context)), runs, name)
    if fail_if_worse and not todo.caution.decides:
        raise RigError(f"--fail-if-worse: {todo.caution.text}")
    stored, control = run.carry_out(todo, display, as_json=as_json)
    code = run.exit_code(stored, control)
    files = write_results(runs, stored, output, raw=raw) if output and not code else []
    if as_json:
        arms = [arm.as_json(stored.declaration) for arm in stored.arms]
        caution = {"caution": stored.declaration.caution, "decides": stored.declaration.decides}
        paths = [str(file) for file in files]
        click.echo(json_text({"run": stored.id, "store": str(runs), "arms": arms, **caution, "files": paths}))
    elif displays.is_watched(display):
        say(f"\n{summary(stored, terminal_width())}\n\n{whereabouts(stored, str(runs))}")
    run.say_where(stored, runs, control, is_said=displays.is_watched(display) and not as_json)
    return code

"""Plan a run from what should be judged: the judge plays, and every model is an arm."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rig import methods
from rig.config.options import RunConfig
from rig.core.errors import RigError
from rig.core.tasks import require_unique
from rig.plugins.judging import PASS, WIN, toolbench_paper
from rig.plugins.judging.calibration import SUITE, remark_on
from rig.plugins.judging.evaluators import Evaluator, find
from rig.plugins.judging.method import NOBODY
from rig.plugins.judging.questions import Question, variations
from rig.plugins.judging.stored import judgements_of_run, read_votes
from rig.plugins.llama.core.options import EngineOptions
from rig.plugins.solutions.judgements import AnswerStatus, Judgement, ModelAnswers, judgements_of
from rig.plugins.solutions.rules import SEED, Shape
from rig.plugins.solutions.solution import Solution
from rig.running.plan import Plan
from rig.running.planning import engines_of, plan_tasks
from rig.store import Runs

VOTES = {PASS: 3, WIN: 1}
"""How many votes are cast by default."""


@dataclass(frozen=True)
class JudgingRequest:
    """What a person wants judged, and how.

    `places` are runs of the store or folders of answers. With `against`, the name of a model or arm, all
    others are compared with it. `options` are those of the engine, as for a run. `rules` are options of the
    method. `judge` is None for an evaluator that needs no judge.
    """

    places: tuple[str, ...]
    judge: str | None
    evaluator: str
    votes: int | None = None
    against: str | None = None
    passes: str | None = None
    test_ids: Path | None = None
    answered_only: bool = False
    invalid: Shape = "seeded"
    walk_seed: int = SEED
    options: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)


def plan_judging(request: JudgingRequest, store: Path, name: str | None = None) -> Plan:
    """Plan a judging run. Raises RigError for anything that would stop it; writes nothing."""
    method = PASS if request.against is None else WIN
    evaluator = find(request.evaluator)
    tasks = gather(request, store, request.votes or (VOTES[method] if evaluator.kind != "rule" else 1))
    if request.passes is not None:
        tasks = _with_passes(tasks, store, request.passes)
    return plan_votes(request, evaluator, tasks, store, name)


def plan_votes(
    request: JudgingRequest,
    evaluator: Evaluator,
    tasks: Sequence[Judgement],
    store: Path,
    name: str | None = None,
) -> Plan:
    """Plan a run of these judgements, all with the same number of votes."""
    method = PASS if request.against is None else WIN
    models = list(dict.fromkeys(model for task in tasks for model in task.answers))
    if request.against is not None and request.against not in models:
        there_are = ", ".join(models)
        raise RigError(
            f"--against {request.against}: no arm of that name has answers; choose from: {there_are}"
        )
    judged = [model for model in models if model != request.against] or models
    config = _config(request, method, evaluator, judged)
    _check_votes(evaluator, method, tasks[0].votes, config)
    plan = plan_tasks(config, methods.get(method), tasks, store, name)
    is_asked = evaluator.kind != "rule" and request.places != (SUITE,)
    return replace(plan, caution=remark_on(store, plan.recipe, method)) if is_asked else plan


def gather(request: JudgingRequest, store: Path, votes: int) -> list[Judgement]:
    """Return the judgements of all places together."""
    answers: list[ModelAnswers] = []
    tasks: list[Judgement] = []
    for text in request.places:
        if Path(text).exists() and Path(text).suffix != ".sqlite":
            answers += toolbench_paper().answers(Path(text), request.invalid, request.walk_seed)
        else:
            tasks = merged(tasks, judgements_of_run(store, text, votes))
    if answers:
        ids = toolbench_paper().query_ids(request.test_ids) if request.test_ids else None
        tasks = merged(tasks, judgements_of(answers, votes, ids))
    require_unique(tasks, " ".join(request.places))
    if request.answered_only:
        tasks = [task for task in tasks if all(task.answers.values())]
    if not tasks:
        raise RigError("there is nothing to judge: no answers to any query")
    return tasks


def _with_passes(tasks: Sequence[Judgement], store: Path, text: str) -> list[Judgement]:
    """Return the judgements with the passes and statuses of answers from an earlier judging run."""
    with Runs.open(store) as runs:
        run = runs.get(text)
    rules, votes = read_votes(store, run)
    passes: dict[str, dict[str, bool]] = {}
    statuses: dict[str, dict[str, AnswerStatus]] = {}
    for row in votes:
        if row.settings.reference:
            raise RigError(f"--passes {text}: run {run.id} does not say who passes")
        counted = [vote.answer for vote in row.on_answer]
        name = row.task.query_id
        passes.setdefault(name, {})[row.model] = row.tally(rules).passes
        statuses.setdefault(name, {})[row.model] = max(counted, key=counted.count)
    return [
        replace(task, passes=passes.get(task.query_id, {}), statuses=statuses.get(task.query_id, {}))
        for task in tasks
    ]


def merged(ours: Sequence[Judgement], theirs: Sequence[Judgement]) -> list[Judgement]:
    """Merge the judgements of two places: queries by name, the answers to each side by side.

    Raises RigError if both have answers by the same model.
    """
    if not ours:
        return list(theirs)
    models = [dict.fromkeys(model for task in tasks for model in task.answers) for tasks in (ours, theirs)]
    repeated = [model for model in models[0] if model in models[1]]
    if repeated:
        raise RigError(f"there are two sets of answers by {repeated[0]}; judge them separately")
    nobody: dict[str, Solution | None] = {**models[0], **models[1]}
    by_name: dict[str, Judgement] = {}
    for task in (*ours, *theirs):
        same = by_name.get(task.name) or replace(task, answers=nobody, truths={})
        answers, truths = {**same.answers, **task.answers}, {**same.truths, **task.truths}
        by_name[task.name] = replace(same, answers=answers, truths=truths)
    return list(by_name.values())


def _config(request: JudgingRequest, method: str, evaluator: Evaluator, judged: Sequence[str]) -> RunConfig:
    if request.judge is None and evaluator.kind != "rule":
        raise RigError(f"who judges? Give --judge MODEL; --evaluator {evaluator.name} asks one")
    values: dict[str, Any] = {"evaluator": request.evaluator, **request.rules}
    if Path(request.evaluator).is_dir():
        values["evaluator"] = str(Path(request.evaluator).absolute())
    if request.against is not None:
        values["reference"] = request.against
    several = [f"answers_of={model}" for model in judged]
    defaults: dict[str, Any] = {"max_tokens": evaluator.max_tokens}
    if not request.options.get("sampling"):
        defaults["temperature"] = evaluator.temperature
    return RunConfig.of(
        models=(request.judge or NOBODY,) if evaluator.kind != "rule" else (NOBODY,),
        suite=" ".join(request.places),
        method=method,
        set=(*several, *(f"{name}={value}" for name, value in values.items())),
        format="object",
        **{**defaults, **request.options},
    )


def _check_votes(evaluator: Evaluator, method: str, votes: int, config: RunConfig) -> None:
    """Raise RigError if votes would repeat the same question to a judge that always answers alike."""
    if evaluator.kind == "rule" or all(own.part(EngineOptions).draws for own in engines_of(config).values()):
        return
    if not can_judge(evaluator, method):
        what = "whether an answer solves a query" if method == PASS else "which of two answers is better"
        raise RigError(f"the evaluator {evaluator.name} cannot say {what}")
    ways = []
    for name in _DECIDING[method]:
        if function := evaluator.functions.get(name):
            values = {} if method == PASS else dict.fromkeys(function.parameters["properties"], (0, 1))
            ways.append(variations(function, Question(name, lambda cut: {}, values)))
    most = min(ways)
    if votes > most:
        raise RigError(
            f"--votes {votes}: at temperature 0 there are {most} different ways to ask; ask for no more, or"
            " give --temperature"
        )


def can_judge(evaluator: Evaluator, method: str) -> bool:
    """Return whether an evaluator can decide whether answers pass, or which of two wins."""
    return evaluator.kind == "rule" or any(name in evaluator.functions for name in _DECIDING[method])


_DECIDING = {
    PASS: ("check_answer_status", "check_solve_query"),
    WIN: ("select_better_answer", "select_best_final_answer", "choose_preference"),
}
"""The functions that decide a vote."""

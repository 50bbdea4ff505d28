"""Exporting rates as files of results: lm-eval's, and those of model repositories on the Hugging Face Hub."""

import re
from collections import Counter
from collections.abc import Sequence
from math import sqrt
from pathlib import Path
from typing import TypeAlias

from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.files import json_text, write
from rig.core.metrics import UNPLAYED, Counts
from rig.plugins.documents.documents import to_yaml
from rig.plugins.exports import Export, ExportSource, file_name
from rig.stats import Tallied
from rig.stats.rates import clustered_variance, pooled_rate
from rig.store import StoredArm

BySuite: TypeAlias = dict[str, tuple[Tallied, int]]
"""For each suite, the tallied results of an arm and the number of planned conversations."""


def _finished_arms(source: ExportSource) -> list[tuple[StoredArm, BySuite]]:
    """Return the arms that have results. Raises RigError if none has any."""
    planned = Counter(task.suite for task in source.runs.conversations(source.run))
    rated: list[tuple[StoredArm, BySuite]] = []
    if biased := [arm.name for arm in source.run.arms if UNPLAYED in arm.counts]:
        raise RigError(
            f"results chose what {', '.join(biased)} of run {source.run.id} played, so rates would be biased;"
            " play them without --until"
        )
    for arm in source.run.arms:
        rows: dict[str, dict[str, list[Counts]]] = {}
        if arm.grader is not None and not arm.not_evaluated:
            for cell in source.runs.scored_cells(source.run, arm.grader, [arm.position]):
                rows.setdefault(cell.suite, {}).setdefault(cell.conversation, []).append(cell.counts)
        by_suite = {
            suite: (Tallied.of(list(of_suite.values()), source.run.declaration), planned[suite])
            for suite, of_suite in rows.items()
        }
        rated += [(arm, by_suite)] if by_suite else []
    if not rated:
        raise RigError(f"run {source.run.id} has no finished conversation that could be rated")
    return rated


class LmEvalExport(Export):
    """One file per arm in the format of EleutherAI's lm-evaluation-harness, with each suite as a task."""

    name = "lm-eval"
    is_folder = True

    def fill(self, source: ExportSource, folder: Path) -> Sequence[Path]:
        paths = []
        time = source.run.created.isoformat().replace(":", "-")
        for arm, by_suite in _finished_arms(source):
            path = folder / file_name(arm.name) / f"results_{time}.json"
            write(json_text(_lm_eval(source, arm, by_suite), indent=2) + "\n", path, folders=True)
            paths.append(path)
        return paths


LM_EVAL = LmEvalExport()


def _lm_eval(source: ExportSource, arm: StoredArm, by_suite: BySuite) -> JsonObject:
    run, fingerprint = source.run, arm.fingerprint or {}
    metrics = run.declaration.shown("tables")
    tasks = {suite: f"rig_{suite or run.declaration.method}" for suite in by_suite}
    results: JsonObject = {}
    for suite, (tallied, _) in by_suite.items():
        result: JsonObject = {"alias": tasks[suite]}
        for metric in metrics:
            sides = tallied.sides(metric)
            rate = pooled_rate(*sides)
            if rate is not None:
                is_known = len(sides.numerators) > 1
                result[f"{metric.name},none"] = rate
                result[f"{metric.name}_stderr,none"] = sqrt(clustered_variance(*sides)) if is_known else "N/A"
        results[tasks[suite]] = result
    model = str(fingerprint.get("model.file") or arm.name)
    settings = {key: value for key, value in fingerprint.items() if key.startswith("model.")}
    return {
        "results": results,
        "group_subtasks": {task: [] for task in results},
        "configs": {
            task: {"task": task, "num_fewshot": 0, "repeats": run.repeats, "metadata": {"run": run.id}}
            for task in results
        },
        "versions": dict.fromkeys(results, arm.grader.grader_version if arm.grader else ""),
        "n-shot": dict.fromkeys(results, 0),
        "higher_is_better": {
            task: {metric.name: metric.better == "higher" for metric in metrics} for task in results
        },
        "n-samples": {
            tasks[suite]: {"original": planned, "effective": tallied.conversations}
            for suite, (tallied, planned) in by_suite.items()
        },
        "config": {"model": "gguf", "model_args": settings, "limit": run.settings.get("limit")},
        "git_hash": None,
        "date": run.created.timestamp(),
        "task_hashes": {},
        "model_source": "rig",
        "model_name": model,
        "model_name_sanitized": re.sub(r"[\"<>:/|\\?*\[\]]+", "__", model),
        "system_instruction": None,
        "chat_template_sha": fingerprint.get("model.chat_template_sha256"),
        "total_evaluation_time_seconds": str(arm.speed.wall_s),
    }


class EvalResultsExport(Export):
    """The `.eval_results/` of a model repository: an arm's rate on a dataset that is a benchmark on the Hub.

    Source: https://huggingface.co/docs/hub/eval-results. Only the user knows which benchmark a suite is.
    """

    name = "eval-results"
    settings = ("dataset", "task_id", "revision", "metric", "url", "user", "notes")
    is_folder = True

    def fill(self, source: ExportSource, folder: Path) -> Sequence[Path]:
        values = source.values
        for name in ("dataset", "task_id"):
            if not values.get(name):
                raise RigError(
                    f"--format {self.name}: --set {name}=… is missing: the Hub's benchmark that this suite is"
                )
        metrics = {metric.name: metric for metric in source.run.declaration.shown("tables")}
        metric = source.run.declaration.success_metric
        if (chosen := values.get("metric")) is not None or metric is None:
            if chosen not in metrics:
                raise RigError(f"--set metric={chosen}: is not one of {', '.join(metrics)}")
            metric = metrics[chosen]
        about = {"id": values["dataset"], "task_id": values["task_id"], "revision": values.get("revision")}
        origin = {"url": values.get("url"), "name": "rig", "user": values.get("user")}
        paths = []
        rated = _finished_arms(source)
        for arm, by_suite in rated:
            if len(by_suite) > 1:
                raise RigError(f"{arm.name} was run on several suites, which are not one benchmark")
            ((tallied, planned),) = by_suite.values()
            if tallied.conversations < planned:
                raise RigError(f"{arm.name} has finished {tallied.conversations} of {planned} conversations")
            rate = pooled_rate(*tallied.sides(metric))
            if rate is None:
                raise RigError(f"{arm.name} has no {metric.noun}: there was nothing to divide by")
            entry = {
                "dataset": {key: value for key, value in about.items() if value},
                "value": round(metric.scale * rate, 6),
                "date": source.run.created.isoformat(timespec="seconds"),
                **({"source": {k: v for k, v in origin.items() if v}} if origin["url"] else {}),
                **({"notes": values["notes"]} if values.get("notes") else {}),
            }
            own = folder / file_name(arm.name) if len(rated) > 1 else folder
            path = own / ".eval_results" / "rig.yaml"
            write(to_yaml([entry]), path, folders=True)
            paths.append(path)
        return paths


EVAL_RESULTS = EvalResultsExport()

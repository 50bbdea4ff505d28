"""Exporting runs as logs of inspect_ai (`.eval`) for its viewer and its reader, with one log per arm.

Source: src/inspect_ai/log of UKGovernmentBEIS/inspect_ai, version 2 of the format. A log is a ZIP archive of
JSON: a header, one member per sample, and a summary of all samples.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from rig import __version__
from rig.core.calls import JsonObject, without_token
from rig.core.errors import RigError
from rig.core.files import json_text
from rig.core.metrics import UNPLAYED, Counts, Declaration, total
from rig.core.models import Usage
from rig.core.tasks import Step
from rig.plugins.exports import Export, ExportSource, file_name
from rig.store import StoredArm, Transcript

VERSION = 2
"""The version of the format. inspect's reader refuses versions that are later than its own."""

SUCCESS, COUNTS = "success", "counts"
"""The scores that samples have beside the method's rates: C or I, and every count by name."""

_STOPPED = {"stop": "stop", "length": "max_tokens", "error": "unknown"}


class InspectExport(Export):
    """Logs of inspect_ai. Repeats are epochs. Undefined rates are left out, as inspect has no null."""

    name = "inspect"
    is_folder = True

    def fill(self, source: ExportSource, folder: Path) -> Sequence[Path]:
        run = source.run
        if all(arm.grader is None for arm in run.arms):
            raise RigError(
                f"run {run.id} has no finished conversation; `rig run --resume {run.id}` continues it"
            )
        paths = []
        time = run.created.isoformat(timespec="seconds").replace(":", "-")
        for arm in run.arms:
            path = folder / f"{time}_{file_name(arm.name)}_{run.id}-{arm.position}.eval"
            _write(source, arm, path)
            paths.append(path)
        return paths


EXPORT = InspectExport()


def _write(source: ExportSource, arm: StoredArm, path: Path) -> None:
    # inspect names a model by provider and name. The path of a file is private.
    run, file = source.run, (arm.fingerprint or {}).get("model.file")
    model = f"gguf/{file}" if file else f"rig/{arm.name}"
    counts: list[Counts] = []
    summaries: list[JsonObject] = []
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for _, transcript in source.runs.transcripts(run, arm=arm.position):
            sample = _sample(transcript, model, run.id)
            counts.append(transcript.counts or {})
            summary = ("id", "epoch", "input", "target", "scores", "model_usage", "total_time", "uuid")
            messages = len(sample["messages"])
            summaries.append(
                {**{key: sample[key] for key in summary}, "completed": True, "message_count": messages}
            )
            _add(archive, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
        _add(archive, "summaries.json", summaries)
        _add(archive, "header.json", _header(source, arm, counts, model))


def _add(archive: ZipFile, name: str, value: Any) -> None:
    """Add a member with a fixed time, so that the same run gives the same bytes."""
    member = ZipInfo(name)
    member.compress_type = ZIP_DEFLATED
    archive.writestr(member, json_text(value))


def _header(source: ExportSource, arm: StoredArm, counts: Sequence[Counts], model: str) -> JsonObject:
    run, fingerprint = source.run, arm.fingerprint or {}
    tasks = source.runs.conversations(run)
    suites = "+".join(dict.fromkeys(task.suite for task in tasks if task.suite)) or run.declaration.method
    created = run.created.isoformat()
    ended = run.finished.isoformat() if run.finished else created
    planned = len(tasks) * run.repeats
    status = "error" if arm.failure else "success" if len(counts) == planned else "cancelled"
    error = {"message": arm.failure, "traceback": "", "traceback_ansi": ""} if arm.failure else None
    settings = {key.removeprefix("model."): v for key, v in fingerprint.items() if key.startswith("model.")}
    others = {key: value for key, value in fingerprint.items() if not key.startswith("model.")}
    generation = {"temperature": settings.get("temperature"), "max_tokens": settings.get("max_tokens")}
    grader = arm.grader.as_json() if arm.grader else {}
    return {
        "version": VERSION,
        "status": status,
        "eval": {
            "created": created,
            "run_id": run.id,
            "eval_id": f"{run.id}-{arm.position}",
            "task": f"rig/{suites}",
            "task_id": f"{run.id}-{arm.position}",
            "task_version": grader.get("grader_version") or 0,
            "dataset": {
                "name": suites,
                "samples": len(tasks),
                "sample_ids": [file_name(task.name) for task in tasks],
                "shuffled": False,
            },
            "model": model,
            "model_args": settings,
            "model_generate_config": {key: v for key, v in generation.items() if v is not None},
            "config": {"epochs": run.repeats, "limit": run.settings.get("limit")},
            "packages": {"rig-eval": run.rig},
            "tags": [run.name] if run.name else [],
            "metadata": {"run": run.id, "arm": arm.name, "grader": grader, **others},
        },
        "plan": {
            "name": run.declaration.method,
            "steps": [{"solver": run.declaration.method, "params": run.settings}],
            "config": {},
        },
        "results": {
            "total_samples": planned,
            "completed_samples": len(counts),
            "scores": _scores(run.declaration, counts) if UNPLAYED not in arm.counts else [],
            "metadata": {"counts": total(counts), "written_by": f"rig {__version__}"},
        },
        "stats": {"started_at": created, "completed_at": ended, "model_usage": {model: _usage([arm.speed])}},
        **({"error": error} if error else {}),
    }


def _scores(declaration: Declaration, counts: Sequence[Counts]) -> list[JsonObject]:
    """Return the rates over all samples, and how many samples have one."""
    summed = total(counts)
    scores = []
    for metric in declaration.metrics:
        value = metric.rate(summed)
        if value is not None:
            rated = sum(metric.rate(of_sample) is not None for of_sample in counts)
            name = "accuracy" if declaration.is_of_success(metric) else "rate"
            scores.append(
                {
                    "name": SUCCESS if declaration.is_of_success(metric) else metric.name,
                    "scorer": "rig",
                    "scored_samples": rated,
                    "unscored_samples": len(counts) - rated,
                    "metrics": {name: {"name": name, "value": value}},
                }
            )
    return scores


def _sample(transcript: Transcript, model: str, run: str) -> JsonObject:
    """Return a played conversation as a sample: messages, scores, and the expected calls.

    Its uuid has the run, because inspect joins the samples of several logs by it.
    """
    task, counts = transcript.conversation, transcript.counts or {}
    declaration = transcript.declaration
    messages = [{"id": f"m{n}", **message} for n, message in enumerate(_messages(transcript, model))]
    rates = {name: rate for name, rate in declaration.rates(counts).items() if rate is not None}
    success = "C" if declaration.succeeded(counts) else "I"
    text = declaration.text(counts)
    reasons = "\n".join(fault.text for fault in transcript.faults)
    steps = [step for played in transcript.turns.values() for step in played.steps]
    expected = [task.expected(turn) for turn in transcript.turn_numbers]
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    stopped = _STOPPED[steps[-1].prediction.finish_reason] if steps else "unknown"
    return {
        "id": file_name(task.name),
        "epoch": transcript.repeat + 1,
        "uuid": f"{run}-{transcript.arm}-{task.name}-{transcript.repeat}",
        "input": next((message["content"] for message in messages if message["role"] == "user"), task.name),
        "target": [
            f"{call.name} {json_text(without_token(call.arguments))}"
            for truth in expected
            for call in truth.calls
        ],
        "messages": messages,
        "output": {
            "model": model,
            "choices": [{"message": last, "stop_reason": stopped}] if last else [],
            "completion": last["content"] if last else "",
        },
        "scores": {
            SUCCESS: {"value": success, "answer": text, "explanation": reasons or text},
            **{
                metric.name: {"value": rates[metric.name]}
                for metric in declaration.metrics
                if metric.name in rates and not declaration.is_of_success(metric)
            },
            COUNTS: {"value": dict(counts)},
        },
        "metadata": {
            "suite": task.suite,
            "conversation": task.name,
            "errors": [str(s.prediction.error) for s in steps if s.prediction.error],
        },
        "model_usage": {model: _usage(step.prediction.usage for step in steps if step.role == "assistant")},
        "total_time": sum(played.wall_s for played in transcript.turns.values()),
    }


def _usage(parts: Iterable[Usage]) -> JsonObject:
    prompt = completion = cached = 0
    for part in parts:
        prompt += part.prompt_tokens
        completion += part.completion_tokens
        cached += part.cached_tokens
    tokens = {"input_tokens": prompt - cached, "output_tokens": completion, "input_tokens_cache_read": cached}
    return {**tokens, "total_tokens": prompt + completion}


def _messages(transcript: Transcript, model: str) -> Iterator[JsonObject]:
    """Yield the messages, calls and results of a conversation in order."""
    task = transcript.conversation
    for turn in transcript.turn_numbers:
        yield from ({"role": "user", "content": text} for text in task.expected(turn).said)
        played = transcript.turns.get(turn)
        for number, step in enumerate(played.steps if played else ()):
            yield from _of_step(step, f"call-{turn}-{number}", model)
    yield from ({"role": "user", "content": text} for text in task.closing)


def _of_step(step: Step, call_id: str, model: str) -> Iterator[JsonObject]:
    prediction = step.prediction
    if step.role != "assistant":
        yield {"role": "user", "content": prediction.reply or prediction.raw, "metadata": {"role": step.role}}
        return
    message: JsonObject = {
        "role": "assistant",
        "content": prediction.content,
        "model": model,
        "source": "generate",
    }
    if prediction.reasoning:
        parts = [{"type": "reasoning", "reasoning": prediction.reasoning}]
        message["content"] = [*parts, {"type": "text", "text": prediction.reply or prediction.content}]
    elif prediction.error:
        message["content"] = prediction.raw
        message["metadata"] = {"error": str(prediction.error), "detail": prediction.error_detail}
    elif prediction.reply is not None:
        message["content"] = prediction.reply
    if prediction.call is None:
        yield message
        return
    arguments = prediction.call.arguments
    is_object = isinstance(arguments, dict)
    call = {"id": call_id, "function": prediction.call.name, "type": "function"}
    call["arguments"] = arguments if is_object else {}
    if not is_object:
        call["parse_error"] = f"arguments are no JSON object: {json_text(arguments)}"
    yield {**message, "tool_calls": [call]}
    if step.executed is not None:
        outcome = step.executed.outcome
        answer: JsonObject = {"role": "tool", "tool_call_id": call_id, "function": prediction.call.name}
        answer["content"] = outcome.exception or json_text(outcome.response)
        if outcome.exception:
            answer["error"] = {"type": "unknown", "message": outcome.exception}
        yield answer

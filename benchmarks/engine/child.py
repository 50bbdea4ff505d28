"""The process of one contestant: loads it, runs it against the clock, and writes down what came of it."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

from benchmarks.engine import prompts as files
from benchmarks.engine.contestants import ENTRIES
from benchmarks.engine.external_prompts import validator
from benchmarks.engine.job import Answer, Job, Outcome
from benchmarks.engine.prompts import BenchPrompt
from benchmarks.memory import peak_memory
from rig.core.calls import Json
from rig.core.errors import RigError

RENDER = "render"
"""Stands for a contestant where the prompts are to be made ready."""


def perform(job: Job) -> Outcome:
    """Run the job's contestant. Raises RigError, or whatever the contestant raises while it loads."""
    prompts = files.read(Path(job.prompts))
    entry = ENTRIES[job.contestant]
    clock = perf_counter()
    contestant = entry.make(job, prompts)
    load_s = perf_counter() - clock
    try:
        clock, cpu = perf_counter(), process_time()
        answers = contestant.run()
        wall_s, cpu_s = perf_counter() - clock, process_time() - cpu
        return Outcome(
            load_s=load_s,
            wall_s=wall_s,
            cpu_s=cpu_s,
            rss_bytes=peak_memory(),
            answers=tuple(_judged(answers, prompts)),
            versions=entry.versions(),
            details=contestant.details(),
        )
    finally:
        contestant.close()


def _judged(answers: Sequence[Answer], prompts: Sequence[BenchPrompt]) -> list[Answer]:
    """Hold every answer that is not cut off against its schema."""
    schemas = {prompt.id: prompt.schema for prompt in prompts}
    judged = []
    for answer in answers:
        fault = validator(schemas[answer.id])(answer.text)
        detail = answer.detail or (fault if answer.finish == "stop" and fault else "")
        judged.append(replace(answer, valid=fault is None, detail=detail))
    return judged


def main() -> None:
    """`python -m benchmarks.engine.child JOB RESULT`: the result is an outcome, or a user's fault."""
    job, result = Job.read(Path(sys.argv[1])), Path(sys.argv[2])
    made: Json
    try:
        if job.contestant == RENDER:
            from benchmarks.engine.render import render

            made = {"settled": render(job)}
        else:
            made = {"outcome": perform(job).as_json()}
    except RigError as error:
        made = {"fault": str(error)}
    result.write_text(json.dumps(made))


if __name__ == "__main__":
    main()

"""rig's engine in its second start: what all prompts share is on disk, as an earlier run left it."""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.engine.contestants.engine import Engine, open_model, opening
from benchmarks.engine.external_prompts import give
from benchmarks.engine.job import Job
from benchmarks.engine.prompts import BenchPrompt


def make(job: Job, prompts: Sequence[BenchPrompt], clients: int) -> Engine:
    """The engine, after a first start whose time does not count."""
    job = replace(job, keeps_prefix=True, tape=None)
    first = open_model(job, clients)
    requests = list(job.work.requests().values()) if job.work is not None else give(first, prompts)
    first.prepare(opening(requests[0]), None)
    first.close()
    return Engine(job, prompts, clients)

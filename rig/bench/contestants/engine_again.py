"""rig's engine in its second start: what all prompts share is on disk, as an earlier run left it."""

from collections.abc import Sequence
from dataclasses import replace

from rig.bench.contestants.engine import Engine, open_model, opening
from rig.bench.job import Job
from rig.bench.prompts import BenchPrompt


def make(job: Job, prompts: Sequence[BenchPrompt], clients: int) -> Engine:
    """The engine, after a first start whose time does not count. Prompts of others share nothing on disk."""
    job = replace(job, keeps_prefix=True, tape=None)
    if job.work is not None:
        first = open_model(job, clients)
        first.prepare(opening(next(iter(job.work.requests().values()))), None)
        first.close()
    return Engine(job, prompts, clients)

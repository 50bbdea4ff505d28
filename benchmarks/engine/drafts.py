"""What drafts give: the same answers with and without, by batches, tokens and CPU time.

    .venv/bin/python -m benchmarks.engine.drafts MODEL [--sibling MODEL] [--points 10] [--threads 1]

At points of true conversations the sibling answers, then the model without drafts, with the sibling's answer
as a draft, and with what it finds in the prompt. Loading and the prompts' shared part do not count. Printed
for each way: batches and tokens that llama.cpp decoded, seconds of CPU time, the drafted tokens and the share
that was kept, and how many answers differ from those without drafts.
"""

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from time import process_time

os.environ.setdefault("GOMP_SPINCOUNT", "2000")

from benchmarks.engine.contestants.engine import opening
from benchmarks.engine.recorded import Recorded, recording
from benchmarks.engine.work import Work
from rig.core.models import Prediction, Request, Sibling
from rig.plugins.llama import apply_adapter
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.files.registry import resolve
from rig.plugins.llama.loading import load


def answers(
    text: str, requests: Sequence[Request], settings: EngineSettings
) -> tuple[list[Prediction], Recorded, float]:
    """The predictions, what llama.cpp had to do for them, and the CPU time that all of it took."""
    found = resolve(text)
    model = load(found.path, settings, found.base, lambda _: None)
    apply_adapter(found.adapter, model)
    model.prepare(opening(requests[0]), None)
    tape = Recorded()
    with recording(tape, process_time):
        clock = process_time()
        made = [model.predict(request, lambda _: None) for request in requests]
        seconds = process_time() - clock
    model.close()
    return made, tape, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="What drafts give.")
    parser.add_argument("model")
    parser.add_argument("--sibling")
    parser.add_argument("--sibling-kv", default="f16", choices=("f16", "q8_0"))
    parser.add_argument("--points", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    settings = EngineSettings(n_threads=given.threads, max_tokens=96, parallel=1)
    every = Work(limit=None, prefixes=None).requests().items()
    requests = [
        replace(request, key=replace(request.key, conversation=name, turn=0, step=0))
        for name, request in islice(every, 0, 7 * given.points, 7)
    ]
    other = replace(settings, kv_type=given.sibling_kv)
    siblings, _, _ = answers(given.sibling or given.model, requests, other)
    drafted = [
        replace(request, sibling=Sibling(made.raw, made.token_ids, made.logprobs))
        for request, made in zip(requests, siblings, strict=True)
    ]
    plain: list[Prediction] = []
    print("| drafts | batches | tokens decoded | CPU s, all | drafted | kept | other answers |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for draft in ("none", "sibling", "lookup"):
        made, tape, seconds = answers(given.model, drafted, replace(settings, draft=draft))
        plain = plain or made
        proposed = sum(each.usage.drafted_tokens for each in made)
        kept = sum(each.usage.accepted_tokens for each in made)
        differ = sum(one.token_ids != two.token_ids for one, two in zip(plain, made, strict=True))
        share = f"{kept / proposed:.0%}" if proposed else "-"
        cells = [
            draft,
            tape.batches,
            tape.tokens,
            f"{seconds:.1f}",
            proposed,
            share,
            f"{differ} of {len(made)}",
        ]
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()

"""An importance matrix from conversations as the model sees them, with true answers; or from a plain text.

Every token of a conversation counts once: what a prompt shares with the one before is not read again, as in a
run. So the descriptions of tools, which all prompts begin with, do not drown what is said and called.
"""

from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rig.compare.leaks import trace
from rig.engine.core.llama import DecodeError
from rig.engine.core.tokenizer import Tokenizer
from rig.errors import RigError, counted
from rig.models import Notify
from rig.screening.corpus import Corpus, begun, open_model
from rig.screening.screening import Progress, Screening, knowing, true_steps
from rig.tasks import part_of
from rig.tuning.activations import Activations
from rig.tuning.imatrix import CHUNK, ImportanceMatrix
from rig.tuning.quantize import require_merged

BATCH = 256
"""Tokens in a batch. The logits of all of them are computed, and take memory."""


class Calibration(NamedTuple):
    """The matrix, the tokens that it is of, and how many steps were left out, by the reason."""

    matrix: ImportanceMatrix
    tokens: int
    left_out: Counter[str]


def calibrate(request: Screening, notify: Notify, progress: Progress) -> Calibration:
    """Read the conversations with the first model, and sum what enters its weights.

    Raises RigError for conversations that are for comparing, for a model with an adapter, which llama.cpp
    could not quantize, and as loading a model does.
    """
    # Kept from the other verbs: this loads llama.cpp.
    from rig.engine.teacher import Teacher

    model = request.models[0]
    require_merged(model)
    if others := [task.name for task in request.tasks if part_of(task.name) != "calibration"]:
        raise RigError(
            f"{others[0]} is for comparing files, not for calibrating them; the others of its suite are"
            " `--part calibration`"
        )
    evaluated, players = request.method.roles[0], knowing(request.method, request.tasks)
    left_out: Counter[str] = Counter()
    tokens = 0
    engine = replace(request.engine, parallel=1)
    with closing(Teacher(model.path, engine, model.base, notify)) as teacher:
        loaded = teacher.model
        shape = {"n_ctx": loaded.context.n_ctx, "n_batch": BATCH, "n_threads": engine.n_threads}
        with Activations(loaded.weights, **shape) as activations:
            for number, task in enumerate(request.tasks):
                progress(model.name, number, len(request.tasks))
                for step in true_steps(request.setup, request.settings, task, evaluated, players):
                    try:
                        written = teacher.written(step.request, step.answer)
                        if len(written) > activations.n_ctx:
                            raise RigError(f"longer than the context of {activations.n_ctx} tokens")
                        tokens += activations.decode(written)
                    except DecodeError as error:
                        raise RigError(f"{model.name}: {error}") from error
                    except RigError as error:
                        left_out[str(error)] += 1
            progress(model.name, len(request.tasks), len(request.tasks))
    if not tokens:
        raise RigError(f"nothing could be read: {', '.join(left_out)}")
    suites = ", ".join(dict.fromkeys(task.suite for task in request.tasks if task.suite)) or "conversations"
    dataset = f"{suites}: {counted(len(request.tasks), 'conversation')}, {tokens:,} tokens"
    traces = tuple(trace(task.source) for task in request.tasks)
    return Calibration(_matrix(activations, dataset, tokens, traces), tokens, left_out)


def calibrate_on_text(request: Corpus, notify: Notify, progress: Progress) -> Calibration:
    """Read a plain text with the first model in chunks, as llama-imatrix does.

    Raises RigError as `calibrate` does, and for a text of less than two chunks.
    """
    (model, *_), text = request.models, request.text
    assert text is not None
    require_merged(model)
    with closing(open_model(model.name, model, request, request.n_ctx, notify)) as loaded:
        tokenizer = Tokenizer(loaded.model)
        chunks = request.chunks(tokenizer)
        shape = {"n_ctx": request.n_ctx, "n_batch": BATCH, "n_threads": request.engine.n_threads}
        with Activations(loaded.model, **shape) as activations:
            for number, chunk in enumerate(chunks):
                progress(model.name, number, len(chunks))
                activations.forget()
                try:
                    activations.decode(begun(chunk, tokenizer))
                except DecodeError as error:
                    raise RigError(f"{model.name}: {error}") from error
            progress(model.name, len(chunks), len(chunks))
    matrix = _matrix(activations, f"{text.name}, {chunks.size:,} tokens", chunks.size)
    return Calibration(matrix, chunks.size, Counter())


def _matrix(
    activations: Activations, dataset: str, tokens: int, traces: tuple[str, ...] = ()
) -> ImportanceMatrix:
    return ImportanceMatrix(
        sums={name: sums.astype(np.float32) for name, sums in activations.sums.items()},
        counts={name: counts.astype(np.float32) for name, counts in activations.counts.items()},
        datasets=(dataset,),
        chunks=-(-tokens // CHUNK),
        traces=traces,
    )

"""An importance matrix from conversations as the model sees them: its template, its tools, true answers.

Every token counts once: what a prompt shares with the one before is not read again, as in a run. So the
descriptions of tools, which all prompts begin with, do not drown what is said and called.
"""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rig.compare.leaks import trace
from rig.engine.core.llama import DecodeError
from rig.errors import RigError, counted
from rig.models import Notify
from rig.screening.screening import Screening, knowing, true_steps
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


def calibrate(request: Screening, notify: Notify, progress: Callable[[str, int, int], None]) -> Calibration:
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
        shape = {"n_ctx": teacher.n_ctx, "n_batch": BATCH, "n_threads": engine.n_threads}
        with Activations(teacher.weights, **shape) as activations:
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
    matrix = ImportanceMatrix(
        sums={name: sums.astype(np.float32) for name, sums in activations.sums.items()},
        counts={name: counts.astype(np.float32) for name, counts in activations.counts.items()},
        datasets=(f"{suites}: {counted(len(request.tasks), 'conversation')}, {tokens:,} tokens",),
        chunks=-(-tokens // CHUNK),
        traces=tuple(trace(task.source) for task in request.tasks),
    )
    return Calibration(matrix, tokens, left_out)

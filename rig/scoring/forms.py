"""In which form a model wrote its calls: counts beside a score, and the score of a strict reader."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from rig.core.metrics import FORMED, OTHER_FORMS, OWN_CALLS, STRICT, Declaration, Score
from rig.core.models import LEAKED, OWN, Prediction
from rig.core.tasks import PlayedTurn


def with_forms(
    score: Score,
    turns: Sequence[PlayedTurn],
    role: str,
    declaration: Declaration,
    rescored: Callable[[Sequence[PlayedTurn]], Score] | None,
) -> Score:
    """Return the score of a task with the forms of the calls that a role made in its turns.

    `rescored` scores the turns as a strict reader would have left them; None where such a reader would have
    made the task go on otherwise, so that only another run can tell. A task in which nothing was generated,
    as by an oracle, adds nothing; one without calls counts for a strict reader as it does for any other.
    """
    steps = [step for turn in turns for step in turn.steps if step.role == role]
    forms = Counter(step.prediction.form for step in steps if step.prediction.form)
    if not forms and not any(step.prediction.usage.completion_tokens for step in steps):
        return score
    counts: dict[str, float] = {}
    if forms:
        counts = {OWN_CALLS: forms.pop(OWN, 0), **forms}
        counts[FORMED] = sum(counts.values())
    is_leaked = any(form.startswith(LEAKED) for form in forms)
    unclear = dict(score.unclear)
    if rescored is not None:
        strict = rescored([_strictly(turn, role) for turn in turns]) if is_leaked else score
        for metric in (declaration.success_metric, *declaration.parts):
            if metric is not None and metric.numerator in score.counts:
                name = f"{STRICT}{metric.numerator}"
                counts[name] = strict.counts.get(metric.numerator, 0)
                unclear[name] = strict.unclear.get(metric.numerator, 0)
    assert all(name.startswith((*OTHER_FORMS, "calls.", STRICT)) for name in counts)
    return replace(score, counts={**score.counts, **counts}, unclear=unclear)


def _strictly(turn: PlayedTurn, role: str) -> PlayedTurn:
    """Return a turn in which leaked calls are words: the first of them is a reply, which ends the turn."""
    for number, step in enumerate(turn.steps):
        prediction = step.prediction
        if step.role == role and prediction.form.startswith(LEAKED) and prediction.call is not None:
            words = Prediction(raw=prediction.raw, reply=prediction.raw, form=prediction.form)
            reply = replace(step, prediction=words, executed=None, verdict=None)
            return replace(turn, steps=(*turn.steps[:number], reply))
    return turn

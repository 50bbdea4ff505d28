"""Decide which file to ship after a ladder of them; every report begins with this decision."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import sqrt
from typing import Any

from rig import methods
from rig.compare.arms import ChosenArm
from rig.compare.findings import ArmPair, ArmResult, Comparison
from rig.compare.verdict import (
    Decision,
    LargerSuite,
    Recommendation,
    RecommendationKind,
    VerdictKind,
    points,
)
from rig.core import registry
from rig.core.errors import RigError, counted
from rig.core.metrics import OTHER_FORMS, UNPLAYED, in_other_forms
from rig.stats.power import detectable_success_loss

MOST_CONVERSATIONS = 5_000
"""More conversations than this are never proposed."""

NOTHING_TO_LOSE = "the baseline's {} is as bad as can be, so there is nothing to lose"


def recommend(comparison: Comparison, loss: float) -> Recommendation | None:
    """Recommend the smallest file whose loss is at most `loss`, a fraction; None unless files of several
    sizes were compared by a share.

    Nothing is recommended if an arm has not finished, or the rates may not be used for decisions.
    """
    sizes = {arm.label: size for arm in comparison.arms if (size := file_bytes(arm.fingerprint)) is not None}
    if not comparison.pairs or len(set(sizes.values())) < 2 or comparison.metric.format != "percent":
        return None
    if reason := obstacle(comparison):
        return Recommendation(RecommendationKind.CANNOT_TELL, loss, reason=reason)
    pairs = {pair.arm: pair for pair in comparison.pairs}
    decisions = {arm: pair.verdict.decision(loss) for arm, pair in pairs.items()}
    choice, smaller = smallest_passing(sizes, comparison.baseline.label, decisions, loss)
    still_open = [pairs[arm] for arm in choice.undecided]
    suite, needed = _remedy(comparison, still_open, loss)
    decided_by = smaller if choice.kind is not RecommendationKind.SHIP else [str(choice.arm)]
    unclear = sum(pairs[arm].verdict.unclear for arm in decided_by)
    if choice.kind is RecommendationKind.CANNOT_TELL:
        choice = replace(choice, reason=_doubt(comparison, still_open, loss))
    strict = next((_strictly(comparison, arm) for arm in comparison.arms if arm.label == choice.arm), "")
    return replace(choice, unclear=unclear, suite=suite, needed=needed, strict=strict)


def _strictly(comparison: Comparison, arm: ArmResult) -> str:
    """Return what a strict reader would leave of an arm's success; empty if none of its calls leaked."""
    is_leaked = any(form.startswith(OTHER_FORMS[0]) for form in in_other_forms(arm.counts))
    return comparison.declaration.form_note(arm.rated) if is_leaked else ""


def advise(comparison: Comparison, chosen: Sequence[ChosenArm], loss: float) -> Recommendation | None:
    """Return which file to ship, with the whole command where a larger suite would tell."""
    advice = recommend(comparison, loss)
    if advice is None or advice.suite is None:
        return advice
    labels = (comparison.baseline.label, *advice.undecided)
    arms = sorted((arm for arm in chosen if arm.label in labels), key=lambda arm: labels.index(arm.label))
    return replace(advice, suite=advice.suite._replace(command=suite_command(arms, advice.suite.name)))


def smallest_passing(
    sizes: Mapping[str, int], baseline: str, decisions: Mapping[str, Decision], loss: float
) -> tuple[Recommendation, Sequence[str]]:
    """Return whether to ship the smallest arm that passes and is smaller than the baseline, without a
    reason if the evidence does not decide; also the arms smaller than that one, or than the baseline.
    """
    arms = sorted((arm for arm in decisions if arm in sizes), key=lambda arm: sizes[arm])
    limit = sizes.get(baseline, float("inf"))
    passing = (arm for arm in arms if decisions[arm] is Decision.PASSES and sizes[arm] < limit)
    shipped = next(passing, None)
    below = sizes[shipped] if shipped else limit
    smaller = [arm for arm in arms if sizes[arm] < below]
    undecided = tuple(arm for arm in smaller if decisions[arm] is Decision.CANNOT_TELL)
    if shipped is not None:
        return Recommendation(RecommendationKind.SHIP, loss, shipped, undecided), smaller
    if undecided:
        lost = tuple(arm for arm in smaller if decisions[arm] is Decision.WORSE)
        open_ = Recommendation(RecommendationKind.CANNOT_TELL, loss, None, undecided, ruled_out=lost)
        return open_, smaller
    why = f"every smaller file loses more than {points(loss)}" if smaller else "no file is smaller"
    return Recommendation(RecommendationKind.KEEP, loss, baseline, reason=why), smaller


def file_bytes(fingerprint: Mapping[str, Any]) -> int | None:
    """Return the size of an arm's file in bytes; None without a file, as for a served model."""
    size = fingerprint.get("model.file_bytes")
    return size if isinstance(size, int) and size > 0 else None


def obstacle(comparison: Comparison) -> str:
    """Return why nothing at all may be decided; empty if something may."""
    if not comparison.declaration.decides:
        return comparison.declaration.caution
    for arm in comparison.arms:
        if arm.finished < arm.planned and UNPLAYED not in arm.counts:
            return (
                f"{arm.label} has finished {arm.finished} of {counted(arm.planned, 'conversation')};"
                f" rig run --resume {arm.run} goes on"
            )
    return ""


def _doubt(comparison: Comparison, pairs: Sequence[ArmPair], loss: float) -> str:
    """Return why smaller files could be worse."""
    if all(pair.verdict.kind is VerdictKind.NOTHING_TO_LOSE for pair in pairs):
        return NOTHING_TO_LOSE.format(comparison.metric.noun)
    deciding = [pair.verdict for pair in pairs if pair.verdict.kind is VerdictKind.CANNOT_TELL]
    if len(deciding) == len(pairs) and all(verdict.unclear for verdict in deciding):
        texts = max(verdict.unclear for verdict in deciding)
        runs = " and ".join(dict.fromkeys(f"rig adjudicate {arm.run}" for arm in comparison.arms))
        return f"{counted(texts, 'unclear text')} decide it: {runs}"
    if any(pair.won is None for pair in pairs):
        return f"a loss of {points(loss)} has neither been shown nor excluded"
    played = counted(max(pair.conversations for pair in pairs), "conversation")
    return f"in {played}, a loss above {points(loss)} could have gone unseen"


def _remedy(
    comparison: Comparison, pairs: Sequence[ArmPair], loss: float
) -> tuple[LargerSuite | None, int | None]:
    """Return the smallest suite of the same method that would show such a loss, if nothing was lost; or
    else how many conversations would.
    """
    success = comparison.declaration.is_of_success(comparison.metric)
    if any(pair.won is None for pair in pairs):  # a run until a verdict played all it had
        return None, None
    if not success or not pairs or any(pair.verdict.kind is VerdictKind.NOTHING_TO_LOSE for pair in pairs):
        return None, None
    level = comparison.alpha / len(comparison.pairs)
    # A suspected loss was seen, so more conversations would not be for seeing it.
    pairs = [pair for pair in pairs if pair.verdict.kind is not VerdictKind.SUSPECTED] or pairs

    def would_tell(conversations: int) -> bool:
        return all(_expected(pair, comparison, conversations, level) <= loss for pair in pairs)

    labels = [comparison.baseline.label, *(pair.arm for pair in pairs)]
    arms = [arm for arm in comparison.arms if arm.label in labels]
    turn_s = sum(arm.turn_times.mean_s or 0.0 for arm in arms)
    played = sum(row.repeats for row in comparison.baseline.conversations)
    per_conversation = comparison.baseline.turn_times.turns / max(played, 1)
    larger = sorted(suites_of(comparison.declaration.method), key=lambda suite: suite[1])
    for name, conversations, turns in larger:
        if conversations > max(pair.conversations for pair in pairs) and would_tell(conversations):
            seconds = turn_s * (turns or per_conversation * conversations)
            return LargerSuite(name, conversations, seconds), None
    enough = 50
    while enough < MOST_CONVERSATIONS and not would_tell(enough):
        enough += enough // 50 * 10
    return None, enough if enough < MOST_CONVERSATIONS else None


def suite_command(arms: Sequence[ChosenArm], suite: str) -> str:
    """Return the command that plays a suite with the models of these arms, and the first's settings; empty
    if they have no models that rig could load, as in an imported run.
    """
    from rig.running.command import CHOICE, command, models_of  # which load every method

    models = dict.fromkeys(name for arm in arms for name in models_of(arm.arm.name, arm.run.settings))
    return f"{command(models, arms[0].run.settings, {}, CHOICE)} --suite {suite}" if models else ""


def _expected(pair: ArmPair, comparison: Comparison, conversations: int, level: float) -> float:
    """Return the loss that this many conversations would show if as many flip, and none are lost."""
    times = conversations / pair.conversations
    flips = len(pair.flips) * times / 2
    detectable = detectable_success_loss(conversations, round(flips), round(flips), level)
    difference = pair.differences[comparison.metric.name]
    half = ((difference.high or 0.0) - (difference.low or 0.0)) / 2
    return 1.0 if detectable is None else max(detectable, half / sqrt(times))


def suites_of(method: str) -> Iterator[tuple[str, int, int]]:
    """Yield the suites of a method: name, number of conversations, and number of turns, 0 if it is unknown
    before the suite is made.
    """
    on_demand = registry.registered().suites
    for name in on_demand:
        if on_demand.attribute(name, "method") == method:
            yield name, on_demand.attribute(name, "size"), 0
    with suppress(RigError):
        owner = methods.get(method)
        names = [*owner.suites()]
        for name in [*names, *([methods.ALL] if len(names) > 1 and owner is methods.first() else [])]:
            tasks = methods.load_suite(name)[1]
            yield name, len(tasks), sum(len(task.known_turns) or 1 for task in tasks)

"""The comparison of stored runs, from reading their arms to the verdicts."""

import gc
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rig.compare.arms import (
    ChosenArm,
    ComparisonOptions,
    ConversationKey,
    ScoredArm,
    choose,
    pick_baseline,
    prepare,
    shared_conversations,
    without_shared,
    without_unfinished,
)
from rig.compare.early import bounded_difference, bounded_verdict, bounds_of, is_bounded
from rig.compare.findings import Agreement, ArmPair, Comparison, arm_result, flips
from rig.compare.noise import Noise
from rig.compare.recommendation import advise
from rig.compare.trends import trends
from rig.compare.verdict import ArmVerdict, settled, verdict
from rig.config.limits import limits_of
from rig.config.options import TABLE
from rig.core.calls import JsonObject
from rig.core.errors import MACHINE, RigError
from rig.core.metrics import UNCLEAR, Counts, Declaration, Metric, if_right
from rig.stats import Estimate, Tallied, agreement, interval
from rig.stats.agreement import Interval
from rig.stats.paired import PairedBootstrap, RateDifference, exact_mcnemar, holm
from rig.stats.power import detectable_success_loss
from rig.store import Runs

Rows: TypeAlias = Sequence[Sequence[Counts]]
"""Counts by conversation and repeat."""


@contextmanager
def uncollected() -> Iterator[None]:
    """A context without Python's search for cycles, which takes a quarter of the time among the values of a
    million turns, and finds none.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def compare(
    runs: Runs,
    addresses: Sequence[str],
    question: ComparisonOptions | None = None,
    noise: Noise | None = None,
) -> Comparison:
    """Compare arms of stored runs, addressed as RUN (all of its arms) or RUN/ARM, with one of them.

    Arms that have finished nothing are left out. Raises RigError when fewer than two arms are left, when
    they have no grader or no conversation in common, and when one differs from the baseline in more than
    one thing and the question does not allow it.
    """
    return compare_chosen(runs, choose(runs, addresses), question, noise)


@uncollected()
def compare_chosen(
    runs: Runs,
    arms: Sequence[ChosenArm],
    question: ComparisonOptions | None = None,
    noise: Noise | None = None,
) -> Comparison:
    """Compare arms that were read already, as `compare` does."""
    question = question or ComparisonOptions()
    if not 0 < question.alpha < 1:
        raise RigError(f"alpha {question.alpha:g} is not a probability between 0 and 1; 0.05 is usual")
    chosen, left_out = without_unfinished(arms, question.baseline)
    if not chosen:
        reasons = "; ".join(f"{label}: {why}" for label, why in left_out.items())
        raise RigError(f"there is nothing to compare: {reasons}")
    if len(chosen) < 2 and not question.one_will_do:
        first = pick_baseline(chosen, question.baseline)
        others = "".join(f"; {label} is left out: {why}" for label, why in left_out.items())
        raise RigError(f"{first.label} is the only arm; name another run or arm to compare it with{others}")
    ready = prepare(runs, chosen, question)
    declaration = ready.declaration
    alone = without_shared(ready.scored)
    rows = [
        row
        for row in zip(ready.scored, ready.graders, ready.factors, strict=True)
        if row[0].chosen.label not in alone
    ]
    scored = [arm for arm, *_ in rows]
    shared = shared_conversations(scored)
    tallied = [
        Tallied.of(arm.rows(keys), declaration) for arm, keys in zip(scored, shared.by_arm, strict=True)
    ]
    pairings = _pairings(scored, shared.by_arm, tallied, declaration, question)
    results = []
    for (arm, grader, factors), keys, tally in zip(rows, _told(scored, shared.by_arm), tallied, strict=True):
        names = None if len(keys) == len(arm.cells) else [key.name for key in keys]
        took = runs.turn_speed(arm.chosen.run, arm.chosen.arm.position, grader, names)
        if len(keys) != tally.conversations:
            tally = Tallied.of(arm.rows(keys), declaration)
        results.append(arm_result(arm, took, declaration, tally, question.alpha, keys, factors))
    together = trends(arms, ready.scored, declaration, question)
    comparison = Comparison(
        store=runs.path,
        declaration=declaration,
        metric=ready.metric,
        alpha=question.alpha,
        grader=ready.graders[0],
        conversations=tuple((key.name, scored[0].suite(key)) for key in shared.common),
        arms=tuple(results),
        pairs=_pairs(pairings, question, declaration, ready.metric, runs),
        resamples=question.resamples,
        seed=question.seed,
        notes=(
            *(trend.text for found in together.values() for trend in found if not trend.points),
            *ready.notes,
            *_chosen_parts(scored),
            *shared.notes,
            *(f"{arm.label}: {note}" for arm in results if (note := declaration.form_note(arm.rated))),
            *failed_by_machine((arm.label, arm.errors) for arm in results),
            *unequally_cut(
                [
                    (arm.label, arm.fingerprint, [row.cuts for row in arm.conversations])
                    for arm, of_arm in zip(results, scored, strict=True)
                    if not is_bounded(scored[0], of_arm)
                ],
                question.alpha,
            ),
        ),
        noise=noise,
        left_out={**left_out, **alone},
        trends=together,
    )
    return replace(comparison, recommendation=advise(comparison, arms, question.loss / 100))


def _told(
    scored: Sequence[ScoredArm], by_arm: Sequence[Sequence[ConversationKey]]
) -> Iterator[Sequence[ConversationKey]]:
    """Yield the conversations that the results of each arm are of: those that it shares with the baseline.

    Where results chose what was played, what two arms share is no fair part of either: there they are all.
    """
    bounded = [is_bounded(scored[0], arm) for arm in scored]
    for arm, keys, is_chosen in zip(scored, by_arm, [any(bounded), *bounded[1:]], strict=True):
        yield sorted(arm.cells, key=lambda key: (arm.suite(key), key)) if is_chosen else keys


class _Pairing(NamedTuple):
    """An arm beside the baseline, over the conversations that the two share.

    `rows` are the counts by conversation and repeat, of the baseline and of the arm; `tallied` are their
    sums, with unclear texts as wrong.
    """

    rows: tuple[Rows, Rows]
    tallied: tuple[Tallied, Tallied]
    bootstrap: PairedBootstrap
    sides: tuple[ScoredArm, ScoredArm]
    keys: Sequence[ConversationKey]

    @property
    def is_bounded(self) -> bool:
        return is_bounded(*self.sides)


def _pairings(
    scored: Sequence[ScoredArm],
    by_arm: Sequence[Sequence[ConversationKey]],
    tallied: Sequence[Tallied],
    declaration: Declaration,
    question: ComparisonOptions,
) -> list[_Pairing]:
    """Pair every arm with the first. Pairs over the same conversations share their bootstrap."""
    baseline, bootstraps, pairings = scored[0], {}, []
    all_rows = baseline.rows(by_arm[0])
    for arm, keys, tally in zip(scored[1:], by_arm[1:], tallied[1:], strict=True):
        rows, before = all_rows, tallied[0]
        if keys != by_arm[0]:
            rows = baseline.rows(keys)
            before = Tallied.of(rows, declaration)
        if len(keys) not in bootstraps:
            bootstraps[len(keys)] = PairedBootstrap(len(keys), question.seed, question.resamples)
        counts, bootstrap = (rows, arm.rows(keys)), bootstraps[len(keys)]
        pairings.append(_Pairing(counts, (before, tally), bootstrap, (baseline, arm), keys))
    return pairings


def _chosen_parts(scored: Sequence[ScoredArm]) -> Iterator[str]:
    """Yield which part of a suite was played, for runs that selected one."""
    for run in {arm.chosen.run.id: arm.chosen.run for arm in scored}.values():
        if chosen := [f"--{name}" for name in ("only", "limit") if run.settings.get(name)]:
            yield f"run {run.id} played the part of its suite that {' and '.join(chosen)} chose"


def failed_by_machine(arms: Iterable[tuple[str, Counts]]) -> Iterator[str]:
    """Yield the failures of each arm, given by its label, that are the machine's and not the model's."""
    for label, errors in arms:
        kinds = {kind: count for kind, count in errors.items() if kind in MACHINE}
        if kinds:
            failures = ", ".join(f"{kind} {count}" for kind, count in kinds.items())
            yield f"{label}: failures of the machine count as its own ({failures})"


def unequally_cut(
    arms: Sequence[tuple[str, JsonObject, Sequence[Collection[str]]]], alpha: float
) -> Iterator[str]:
    """Yield where a limit cut off answers of an arm in more or fewer conversations than of the first, and
    chance does not explain it: their intervals do not touch.

    Arms are given by label and fingerprint, with the limits that cut off an answer in each conversation, in
    any repeat.
    """
    if not arms:
        return
    (baseline, fingerprint, of_first), *others = arms
    for label, of_label, of_arm in others:
        for name in limits_of(fingerprint) | limits_of(of_label):
            before, now = (_cut_share(cuts, name, alpha) for cuts in (of_first, of_arm))
            if max(before.low or 0.0, now.low or 0.0) > min(before.high or 0.0, now.high or 0.0):
                shares = [f"{100 * (share.value or 0.0):.1f}%" for share in (now, before)]
                yield (
                    f"{TABLE[name].flag} cut off answers in {shares[0]} of {label}'s conversations and in"
                    f" {shares[1]} of {baseline}'s: what they differ in may be the limit's doing"
                )


def _cut_share(cuts: Sequence[Collection[str]], option: str, alpha: float) -> Estimate:
    """Return the share of conversations in which a limit cut off an answer."""
    cut = np.array([float(option in names) for names in cuts])
    return interval(cut, np.ones(len(cut)), alpha)


def _pairs(
    pairings: Sequence[_Pairing],
    question: ComparisonOptions,
    declaration: Declaration,
    metric: Metric,
    runs: Runs,
) -> tuple[ArmPair, ...]:
    plain = [pairing for pairing in pairings if not pairing.is_bounded]
    tests = len(pairings)
    differences: dict[str, list[RateDifference]] = {}
    for compared in declaration.shown("tables"):
        uncorrected = [
            _difference(pairing.bootstrap, compared, pairing.tallied, declaration, question.alpha, tests)
            for pairing in plain
        ]
        adjusted = holm(_among(tests, [difference.p for difference in uncorrected]))
        differences[compared.name] = [
            replace(difference, p_holm=p) for difference, p in zip(uncorrected, adjusted, strict=False)
        ]
    judged = [pairing[:3] for pairing in plain]
    verdicts = iter(verdicts_of(judged, differences[metric.name], question, declaration, metric, tests))
    by_arm = zip(*differences.values(), strict=True)
    pairs = []
    for pairing in pairings:
        (baseline, arm), tallied = pairing.sides, pairing.tallied
        flipped, turns_flipped = flips(baseline, arm, pairing.keys, runs.path)
        pair = ArmPair(
            baseline=baseline.chosen.label,
            arm=arm.chosen.label,
            conversations=len(pairing.keys),
            flips=flipped,
            turn_flips=turns_flipped,
            **(
                _bounded(pairing, question, declaration, metric, tests)
                if pairing.is_bounded
                else {"differences": dict(zip(differences, next(by_arm), strict=True))}
                | {"verdict": next(verdicts)}
            ),
        )
        if not pairing.is_bounded:
            pair = replace(
                pair,
                agreement=_agreement(*tallied),
                correlation=_correlation(*tallied),
                alike=_alike(metric, *tallied, question.seed),
                won=sum(flip.outcome == "won" for flip in flipped),
                lost=sum(flip.outcome == "lost" for flip in flipped),
                flip_rate=len(flipped) / len(pairing.keys),
            )
        pairs.append(pair)
    return tuple(pairs)


def _bounded(
    pairing: _Pairing, question: ComparisonOptions, declaration: Declaration, metric: Metric, tests: int
) -> dict[str, Any]:
    """Return the differences and the verdict of a pair of which only bounds may be told."""
    alike = bounds_of(*pairing.sides, question.loss / 100, question.alpha, tests)
    metrics = declaration.shown("tables")
    return {
        "differences": {one.name: bounded_difference(one, declaration, alike) for one in metrics},
        "verdict": bounded_verdict(metric, declaration, alike, pairing.sides[0]),
    }


def _among(tests: int, p_values: Sequence[float | None]) -> list[float | None]:
    """Return p-values with those of other tests, which are made at their share of the level."""
    return [*p_values, *[1.0] * (tests - len(p_values))]


def verdicts_of(
    pairings: Sequence[tuple[tuple[Rows, Rows], tuple[Tallied, Tallied], PairedBootstrap]],
    differences: Sequence[RateDifference],
    question: ComparisonOptions,
    declaration: Declaration,
    metric: Metric,
    tests: int = 0,
) -> list[ArmVerdict]:
    """Return the verdict on each arm beside the baseline, whichever way the unclear texts are decided.

    `pairings` have the counts by conversation and repeat of both sides, and their sums; `differences` are
    those with unclear texts as wrong. `tests` are made in all, if there are others besides these.

    All rates lie between the ends: the texts of an arm are all wrong, or all right. The arms differ in most
    conversations if each text is decided against what the other did. A verdict holds if it holds at the four
    ends of the two arms and there, with the p-value corrected as if every other arm had the largest of its
    own.
    """
    is_success = declaration.is_of_success(metric)
    tests = max(tests, len(differences))
    ends: list[list[tuple[Tallied, Tallied, RateDifference]]] = []
    texts = []
    for (rows, tallied, bootstrap), counted_wrong in zip(pairings, differences, strict=True):
        unclear = [_unclear(side, metric, declaration) for side in rows]
        sides = [
            [tally, Tallied.of([[*map(if_right, row)] for row in side], declaration)] if number else [tally]
            for tally, side, number in zip(tallied, rows, unclear, strict=True)
        ]
        of_arm = [(*tallied, counted_wrong)]
        apart = [_furthest_apart(rows, sides, metric, declaration)] if any(unclear) else []
        for before, after in [*list(product(sides[0], sides[1]))[1:], *apart]:
            end = _difference(bootstrap, metric, (before, after), declaration, question.alpha, tests)
            of_arm.append((before, after, end))
        ends.append(of_arm)
        texts.append(sum(unclear))
    largest = []
    for of_arm in ends:
        numbers = [end.p for *_, end in of_arm if end.p is not None]
        largest.append(max(numbers) if len(numbers) == len(of_arm) else None)
    verdicts = []
    for place, of_arm in enumerate(ends):
        gains = [after.success - before.success for before, after, _ in of_arm]
        flipped = [(int((gain > 1e-12).sum()), int((gain < -1e-12).sum())) for gain in gains]
        at_ends = []
        for (before, _, end), won_lost in zip(of_arm, flipped, strict=True):
            p = holm(_among(tests, [*largest[:place], end.p, *largest[place + 1 :]]))[place]
            told = won_lost if any(won_lost) or not any(map(any, flipped)) else None
            judged = metric, before.rate(metric), replace(end, p_holm=p), before.conversations, told
            at_ends.append(verdict(*judged, question.alpha, is_success=is_success))
        verdicts.append(settled(at_ends, metric, texts[place]) if texts[place] else at_ends[0])
    return verdicts


def _furthest_apart(
    rows: tuple[Rows, Rows], sides: Sequence[Sequence[Tallied]], metric: Metric, declaration: Declaration
) -> tuple[Tallied, Tallied]:
    """Return the sums of both arms with the texts of every conversation decided so that they differ most."""
    of_metric = [[tally.sides(metric) for tally in of_side] for of_side in sides]
    numerators, denominators = (sum(side[0][part].sum() for side in of_metric) for part in (0, 1))
    middle = numerators / denominators if denominators else 0.0
    pulls = [
        np.stack([(one - middle * of) / (of.mean() or 1.0) for one, of in of_side]) for of_side in of_metric
    ]
    apart = np.abs(pulls[0][:, None] - pulls[1])
    chosen = np.unravel_index(apart.reshape(-1, apart.shape[-1]).argmax(axis=0), apart.shape[:2])
    decided = (
        [[*map(if_right, row)] if is_right else row for row, is_right in zip(side, choice, strict=True)]
        for side, choice in zip(rows, chosen, strict=True)
    )
    before, after = (Tallied.of(side, declaration) for side in decided)
    return before, after


def _unclear(rows: Rows, metric: Metric, declaration: Declaration) -> int:
    """Return how many texts could change this rate, or the success of a conversation."""
    names = {f"{UNCLEAR}.{name}" for name in (metric.numerator, metric.denominator, declaration.success)}
    cells = (counts for row in rows for counts in row)
    return int(sum(counts.get(UNCLEAR, 0) for counts in cells if names & counts.keys()))


def _difference(
    bootstrap: PairedBootstrap,
    metric: Metric,
    sides: tuple[Tallied, Tallied],
    declaration: Declaration,
    alpha: float,
    tests: int,
) -> RateDifference:
    is_share = metric.format == "percent"
    baseline, arm = (side.sides(metric) for side in sides)
    difference = bootstrap.difference(baseline, arm, alpha, tests, is_share=is_share)
    both = _agreement(*sides)
    if not declaration.is_of_success(metric) or both is None or difference.low is None:
        return difference
    won, lost = both.won, both.lost
    detectable = detectable_success_loss(bootstrap.conversations, won, lost, alpha / tests)
    return replace(difference, p=exact_mcnemar(won, lost), detectable=detectable, test="exact McNemar")


def _agreement(baseline: Tallied, arm: Tallied) -> Agreement | None:
    if not (baseline.is_played_once and arm.is_played_once):
        return None
    before, after = (side.success.astype(bool) for side in (baseline, arm))
    return Agreement(
        both=int((before & after).sum()),
        won=int((~before & after).sum()),
        lost=int((before & ~after).sum()),
        neither=int((~before & ~after).sum()),
    )


def _correlation(baseline: Tallied, arm: Tallied) -> float | None:
    before, after = baseline.success, arm.success
    if len(before) < 2 or not before.std() or not after.std():
        return None
    return float(np.corrcoef(before, after)[0, 1])


def _alike(metric: Metric, baseline: Tallied, arm: Tallied, seed: int) -> dict[str, Interval]:
    """Return how far the arms agree in a metric, over the conversations in which both have it."""
    (before, of_before), (after, of_after) = baseline.sides(metric), arm.sides(metric)
    both = (of_before > 0) & (of_after > 0)
    return agreement.by_task(before[both] / of_before[both], after[both] / of_after[both], seed)

"""Read the arms that the user named from the store, and find what they have in common: graders,
conversations, metrics.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rig.compare.leaks import leak_text, leaks_of
from rig.compare.settings import ArmSettings, Factor, factors, grader_differences
from rig.core.errors import RigError, did_you_mean
from rig.core.metrics import UNPLAYED, Counts, Declaration, Metric, Remark
from rig.core.tasks import Task
from rig.stats.rates import RESAMPLES, SEED, OutcomeBounds
from rig.store import FITS, GraderInfo, Runs, ScoredCell, StoredArm, StoredRun


@dataclass(frozen=True, slots=True)
class ChosenArm:
    """An arm to be compared, read without its sums, because only a part of it may be compared.

    `label` names it among the chosen: its own name, with its run's where needed.
    """

    label: str
    run: StoredRun
    arm: StoredArm

    @property
    def settings(self) -> ArmSettings:
        return ArmSettings(self.arm.fingerprint or {}, self.run.settings)

    @property
    def address(self) -> str:
        """The address of the arm in any comparison."""
        return f"{self.run.id}/{self.arm.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """All names of the arm, including that of its run alone."""
        runs = (self.run.id, *([self.run.name] if self.run.name else []))
        return (self.label, self.arm.name, *runs, *(f"{run}/{self.arm.name}" for run in runs))


class ConversationKey(NamedTuple):
    """A conversation: its name, and the SHA-256 of its file."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class ScoredArm:
    """What an arm did in the conversations it has finished, by conversation and repeat."""

    chosen: ChosenArm
    cells: Mapping[ConversationKey, Mapping[int, ScoredCell]]

    @property
    def unplayed(self) -> int:
        """How many repeats of conversations the arm left out because of results; 0 in any other run."""
        begun = self.chosen.run.begun.get(UNPLAYED, 0)
        return max(round(begun) - sum(map(len, self.cells.values())), 0)

    def rows(self, keys: Sequence[ConversationKey]) -> list[list[Counts]]:
        """Return the counts of these conversations, each by repeat."""
        return [[cell.counts for cell in self.cells[key].values()] for key in keys]

    def suite(self, key: ConversationKey) -> str:
        """Return the suite of this conversation."""
        return next(iter(self.cells[key].values())).suite

    def successes(self, key: ConversationKey) -> list[bool]:
        """Return whether this conversation succeeded, by repeat."""
        succeeded = self.chosen.run.declaration.succeeded
        return [succeeded(cell.counts) for cell in self.cells[key].values()]

    def outcomes(self, key: ConversationKey) -> list[OutcomeBounds]:
        """Return the least and the most that the arm got right in this conversation, by repeat."""
        declaration = self.chosen.run.declaration
        return [OutcomeBounds.of(declaration, cell.counts) for cell in self.cells[key].values()]


@dataclass(frozen=True, slots=True)
class ComparisonOptions:
    """The question that a comparison answers.

    `baseline` names an arm (default: the first). Verdicts are about `metric` (default: success).
    `across_settings` allows arms that differ from the baseline in more than one thing, `one_will_do` a single
    arm, which has no pairs. `loss`, in points, is what the file to ship may lose.
    """

    baseline: str | None = None
    metric: str | None = None
    alpha: float = 0.05
    across_settings: bool = False
    one_will_do: bool = False
    loss: float = 5.0
    seed: int = SEED
    resamples: int = RESAMPLES


def choose(runs: Runs, addresses: Sequence[str]) -> list[ChosenArm]:
    """Return the arms that these addresses name: RUN stands for all of its arms, RUN/ARM for one.

    RUN is what `rig show` takes, ARM the name of an arm, its beginning, or a label such as `…q8_0`. Raises
    RigError for an address that fits nothing, or several arms.
    """
    arms: dict[tuple[str, int], tuple[StoredRun, StoredArm]] = {}
    for address in addresses:
        for run, arm in _addressed(runs, address):
            arms.setdefault((run.id, arm.position), (run, arm))
    names = [arm.name for _, arm in arms.values()]
    return [
        ChosenArm(arm.name if names.count(arm.name) == 1 else f"{run.id}/{arm.name}", run, arm)
        for run, arm in arms.values()
    ]


def pick_baseline(chosen: Sequence[ChosenArm], text: str | None) -> ChosenArm:
    """Return the one arm whose name is or begins with this text, by default the first. Raises RigError."""
    if text is None:
        return chosen[0]
    for fits in FITS:
        candidates = [arm for arm in chosen if any(fits(name, text) for name in arm.names)]
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            labels = ", ".join(arm.address for arm in candidates)
            raise RigError(f"baseline {text!r} could be any of {labels}")
    labels = ", ".join(arm.label for arm in chosen)
    raise RigError(f"baseline {text!r} is not one of the compared arms, which are: {labels}")


def read(runs: Runs, chosen: Sequence[ChosenArm], graders: Sequence[GraderInfo]) -> list[ScoredArm]:
    """Read what these arms did, each by the scores of its grader."""
    scored = []
    keys: dict[ConversationKey, ConversationKey] = {}
    for arm, grader in zip(chosen, graders, strict=True):
        cells: dict[ConversationKey, dict[int, ScoredCell]] = {}
        for cell in runs.scored_cells(arm.run, grader, [arm.arm.position]):
            key = ConversationKey(cell.conversation, cell.source)
            cells.setdefault(keys.setdefault(key, key), {})[cell.repeat] = cell
        scored.append(ScoredArm(arm, cells))
    return scored


def common_graders(runs: Runs, chosen: Sequence[ChosenArm]) -> tuple[list[GraderInfo], list[str]]:
    """Return graders by the same rules for all arms, preferably those in use, and lines on anything unusual.

    Answers of people settle texts that are unclear, and a verdict holds however these are settled. So scores
    with different answers can be compared. Raises RigError if the arms have no rules in common, or one has
    finished no conversation.
    """
    graders = []
    for arm in chosen:
        if arm.arm.grader is None:
            raise RigError(f"{arm.label} has finished no conversation")
        graders.append(arm.arm.grader)
    first = graders[0]
    if all(grader.rules == first.rules for grader in graders):
        return graders, list(_differing_answers(chosen, graders))
    scored = {run.id: runs.graders(run) for run in {arm.run.id: arm.run for arm in chosen}.values()}
    by_arm: list[list[GraderInfo]] = []
    for arm, standing in zip(chosen, graders, strict=True):
        others = [grader for position, grader in scored[arm.run.id] if position == arm.arm.position]
        others.sort(key=lambda grader: not grader.has_answers)
        by_arm.append([standing, *others])
    for rules in dict.fromkeys(grader.rules for grader in by_arm[0]):
        common = [next((one for one in of_arm if one.rules == rules), None) for of_arm in by_arm]
        if all(common):
            graders = [grader for grader in common if grader]
            note = f"not all runs were graded alike; compared by what {rules} makes of all"
            return graders, [note, *_differing_answers(chosen, graders)]
    pairs = zip(chosen, graders, strict=True)
    other, grader = next((arm, grader) for arm, grader in pairs if grader.rules != first.rules)
    similarity, others_similarity = (one.rules.similarity.split(",")[0] for one in (first, grader))
    # The options with which `rig score` grades by the rules of the first.
    options = f" --grader {first.grader}" if first.grader != grader.grader else ""
    options += f" --similarity {similarity}" if similarity != others_similarity else ""
    commands = dict.fromkeys((f"rig score {chosen[0].run.id}", f"rig score {other.run.id}{options}"))
    raise RigError(
        f"{chosen[0].label} and {other.label} have no grader in common ({first}; {grader});"
        f" {' and '.join(f'`{command}`' for command in commands)} {'give' if len(commands) > 1 else 'gives'}"
        " them one"
    )


def _differing_answers(chosen: Sequence[ChosenArm], graders: Sequence[GraderInfo]) -> Iterator[str]:
    if len({grader.similarity for grader in graders}) > 1:
        commands = dict.fromkeys(f"`rig score {arm.run.id}`" for arm in chosen)
        yield (
            "unclear texts of the runs were decided by different answers; verdicts hold whatever is open."
            f" To use all answers: {' and '.join(commands)}"
        )


def _addressed(runs: Runs, address: str) -> list[tuple[StoredRun, StoredArm]]:
    fault: RigError | None = None
    # A run's name may have a slash, and so may an arm's.
    for place in (len(address), *(at for at, character in enumerate(address) if character == "/")):
        try:
            run = runs.get(address[:place], sums=False)
        except RigError as error:
            fault = fault or error
            continue
        name = address[place + 1 :]
        if place == len(address):
            return [(run, arm) for arm in run.arms]
        return [(run, run.arm(name))]
    assert fault is not None
    raise fault


class Shared(NamedTuple):
    """The conversations that arms are compared by: those that each shares with the baseline, in order.

    For the baseline, the first, these are all that it shares with any other arm; `common` are those of all
    arms.
    """

    by_arm: Sequence[Sequence[ConversationKey]]
    common: Sequence[ConversationKey]
    notes: Sequence[str]


def shared_conversations(scored: Sequence[ScoredArm]) -> Shared:
    """Return the conversations that every arm shares with the first, by suite and name: at least one each."""
    first, *others = scored
    pairs = [first.cells.keys() & arm.cells.keys() for arm in others] or [set(first.cells)]
    union, common = set.union(*pairs), set.intersection(*pairs)
    order = sorted(union, key=lambda key: (first.suite(key), key))
    by_arm = [[key for key in order if key in keys] for keys in (union, *(pairs if others else ()))]
    # Where results chose what was played, the arms are not compared by what they share.
    is_chosen = any(arm.unplayed for arm in scored)
    notes = [*_unfinished(scored), *([] if is_chosen else _left_out(scored, by_arm))]
    repeated: dict[str, list[str]] = {}
    for arm, keys in zip(scored, by_arm, strict=True):
        numbers = sorted({len(arm.cells[key]) for key in keys})
        times = " to ".join(map(str, dict.fromkeys((numbers[0], numbers[-1]))))
        repeated.setdefault(times, []).append(arm.chosen.label)
    if len(repeated) > 1:
        ranges = "; ".join(
            f"{times}: {', '.join(labels) if len(labels) < 4 else f'{len(labels)} arms'}"
            for times, labels in repeated.items()
        )
        notes.append(f"conversations were repeated unequally often ({ranges}); each counts once for each arm")
    return Shared(by_arm, [key for key in order if key in common], notes)


def without_shared(scored: Sequence[ScoredArm]) -> dict[str, str]:
    """Return the labels of arms that share no conversation with the first, with the reason to leave them out.

    Raises RigError if no arm shares one.
    """
    first, *others = scored
    alone = [arm.chosen.label for arm in others if first.cells.keys().isdisjoint(arm.cells)]
    if len(alone) == len(others) > 0:
        labels = ", ".join(arm.chosen.label for arm in scored)
        raise RigError(f"{labels}: no conversation has been finished by all, so there is nothing to compare")
    return dict.fromkeys(alone, f"has finished no conversation that {first.chosen.label} has finished")


def _unfinished(scored: Sequence[ScoredArm]) -> Iterator[str]:
    for arm in scored:
        finished, planned = len(arm.cells), len(arm.chosen.run.conversations)
        if finished < planned:
            run = arm.chosen.run
            rest = "the run is in progress" if run.is_running else f"`rig run --resume {run.id}` goes on"
            if run.begun and run.finished:
                rest = "the run ended when the others were decided"
            rest = arm.chosen.arm.decided or rest
            yield f"{arm.chosen.label} has finished {finished} of {planned} conversations; {rest}"


def _left_out(scored: Sequence[ScoredArm], by_arm: Sequence[Sequence[ConversationKey]]) -> Iterator[str]:
    """Yield a line if the arms are not compared by everything that they have finished."""
    finished = set.union(*(set(arm.cells) for arm in scored))
    is_same_for_all = len({len(keys) for keys in by_arm}) == 1
    others = finished - set(by_arm[-1] if is_same_for_all else by_arm[0])
    names = {key.name for key in others}
    changed = [name for name in names if sum(key.name == name for key in finished) > 1]
    reason = f", {len(changed)} of them because their texts differ between runs" if changed else ""
    left_out = f"; {len(names)} are left out{reason}" if others else ""
    if not is_same_for_all:
        pairs = zip(scored[1:], by_arm[1:], strict=True)
        numbers = ", ".join(f"{arm.chosen.label} on {len(keys)}" for arm, keys in pairs)
        both = f"it and {scored[0].chosen.label}"
        yield f"each arm is compared on the conversations that {both} have finished: {numbers}{left_out}"
    elif left_out:
        yield f"compared on the {len(by_arm[0])} conversations that all have finished{left_out}"


def without_unfinished(
    chosen: Sequence[ChosenArm], baseline: str | None = None
) -> tuple[list[ChosenArm], dict[str, str]]:
    """Return the arms that can be compared, and the reasons against the others, by label.

    Where no `baseline` is named and the first arm is left out, its reason says which arm takes its place.
    """
    kept, left_out = [], {}
    for arm in chosen:
        if arm.arm.grader and not arm.arm.not_evaluated:
            kept.append(arm)
        elif arm.arm.not_evaluated:
            left_out[arm.label] = f"not evaluated: {arm.arm.not_evaluated}"
        else:
            left_out[arm.label] = arm.arm.failure or arm.arm.decided or "has finished no conversation"
    if kept and baseline is None and kept[0] is not chosen[0]:
        left_out[chosen[0].label] += f"; the baseline is {kept[0].label} in its place"
    return kept, left_out


def common_declaration(chosen: Sequence[ChosenArm]) -> Declaration:
    """Return what the runs of all these arms count: the first's metrics, without those that another run
    does not have or has differently.

    Remarks on any of the runs apply to all of them together.
    Raises RigError if they are of different methods.
    """
    first = chosen[0].run.declaration
    for arm in chosen:
        if arm.run.declaration.method != first.method:
            raise RigError(
                f"{arm.label} was played by the method {arm.run.declaration.method} and {chosen[0].label}"
                f" by {first.method}; only arms of one method can be compared"
            )
    declared = [arm.run.declaration for arm in chosen]
    # A metric is identified by its name, numerator and denominator.
    others = [{(metric[0], *metric[2:4]) for metric in declaration.metrics} for declaration in declared]
    kept = (metric for metric in first.metrics if all((metric[0], *metric[2:4]) in names for names in others))
    cautions = dict.fromkeys(declaration.caution for declaration in declared if declaration.caution)
    caution = Remark("; ".join(cautions), all(declaration.decides for declaration in declared))
    return first._replace(metrics=tuple(kept)).cautioned(caution)


def metric_named(declaration: Declaration, name: str | None) -> Metric:
    """Return the metric of this name, or success if none is named. Raises RigError for another name."""
    metrics = declaration.shown("tables")
    if name is None and metrics:
        return declaration.success_metric or metrics[0]
    for metric in metrics:
        if metric.name == name:
            return metric
    if not metrics:
        raise RigError("the arms have no metric in common, so there is nothing to compare")
    names = [metric.name for metric in metrics]
    raise RigError(f"no metric {name!r}{did_you_mean(name or '', names)}; choose from: {', '.join(names)}")


class Prepared(NamedTuple):
    """Arms ready to be compared, the baseline first: what they did, by which graders, and how each
    differs from the first. `notes` say what a reader would not expect.
    """

    declaration: Declaration
    metric: Metric
    scored: list[ScoredArm]
    graders: list[GraderInfo]
    factors: list[tuple[Factor, ...]]
    notes: list[str]


def prepare(
    runs: Runs, chosen: Sequence[ChosenArm], question: ComparisonOptions, *, success_only: bool = False
) -> Prepared:
    """Read arms that have finished something, so that they can be compared.

    Raises RigError if what they count, how they were graded or their settings cannot be compared.
    """
    first = pick_baseline(chosen, question.baseline)
    ordered = [first, *(arm for arm in chosen if arm is not first)]
    declaration = common_declaration(ordered)
    metric = metric_named(declaration, question.metric)
    if success_only and not declaration.is_of_success(metric):
        raise RigError("--sequential only tests success; leave --metric out")
    differences, notes = _differing_from_first(ordered, across_settings=question.across_settings)
    graders, graded = common_graders(runs, ordered)
    scored = read(runs, ordered, graders)
    _require_no_leak(runs, scored)
    return Prepared(declaration, metric, scored, graders, differences, [*notes, *graded])


def _require_no_leak(runs: Runs, scored: Sequence[ScoredArm]) -> None:
    """Raise RigError if a model's file was calibrated on conversations that its arm has finished."""
    for arm in scored:
        if names := leaks_of(arm.chosen.arm.fingerprint, _finished_tasks(runs, arm)):
            raise RigError(
                f"{leak_text(arm.chosen.label, names, 'that are compared')}; play others, such as"
                " `rig run --without calibration`"
            )


def _finished_tasks(runs: Runs, arm: ScoredArm) -> Iterator[Task]:
    """Yield the tasks that an arm has finished. They are only read if one is asked for."""
    finished = {key.name for key in arm.cells}
    for task in runs.conversations(arm.chosen.run):
        if task.name in finished:
            yield task


def _differing_from_first(
    arms: Sequence[ChosenArm], *, across_settings: bool
) -> tuple[list[tuple[Factor, ...]], list[str]]:
    """Return in what each arm differs from the first, and lines about what a reader would not expect.

    Raises RigError if one differs in more than one thing, unless settings may differ.
    """
    first = arms[0]
    differences = [factors(first.settings, arm.settings) for arm in arms]
    notes = []
    for arm, differing in zip(arms, differences, strict=True):
        if len(differing) > 1:
            changes = ", ".join(map(str, differing))
            if not across_settings:
                raise RigError(
                    f"{arm.label} differs from {first.label} in more than one thing: {changes};"
                    " what makes the difference would be unclear; --across-settings compares anyway"
                )
            notes.append(f"{arm.label} differs from {first.label} in {changes}")
        if names := grader_differences(first.settings, arm.settings):
            notes.append(f"the grader of {arm.label} ran with another {', '.join(names)}")
    return differences, notes

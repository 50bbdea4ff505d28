"""Find the arms that the user named, and read them from the store."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rig.compare.settings import Settings
from rig.errors import RigError
from rig.metrics import Counts
from rig.store import GraderInfo, Runs, ScoredCell, StoredArm, StoredRun


@dataclass(frozen=True, slots=True)
class ChosenArm:
    """An arm to be compared, read without its sums: what is compared may be a part of it.

    `label` names it among the chosen: its own name, with its run's where needed.
    """

    label: str
    run: StoredRun
    arm: StoredArm

    @property
    def settings(self) -> Settings:
        return Settings(self.arm.fingerprint or {}, self.run.settings)

    @property
    def address(self) -> str:
        """How to name the arm wherever it is."""
        return f"{self.run.id}/{self.arm.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """All that the arm answers to, its run alone included."""
        runs = (self.run.id, *([self.run.name] if self.run.name else []))
        return (self.label, self.arm.name, *runs, *(f"{run}/{self.arm.name}" for run in runs))


class Key(NamedTuple):
    """A conversation: its name, and the SHA-256 of its file."""

    name: str
    source: str


@dataclass(frozen=True, slots=True)
class Scored:
    """What an arm did in the conversations it has finished, by conversation and repeat."""

    chosen: ChosenArm
    cells: Mapping[Key, Mapping[int, ScoredCell]]

    def rows(self, keys: Sequence[Key]) -> list[list[Counts]]:
        """The counts of these conversations, each by repeat."""
        return [[cell.counts for cell in self.cells[key].values()] for key in keys]

    def successes(self, key: Key) -> list[bool]:
        """Whether this conversation succeeded, by repeat."""
        succeeded = self.chosen.run.declaration.succeeded
        return [succeeded(cell.counts) for cell in self.cells[key].values()]


def choose(runs: Runs, addresses: Sequence[str]) -> list[ChosenArm]:
    """The arms that these addresses name: RUN stands for all of its arms, RUN/ARM for one.

    RUN is what `rig show` takes, ARM the name of an arm or the beginning of one. Raises RigError for what is
    none or could be several.
    """
    found: dict[_ArmId, _Named] = {}
    for address in addresses:
        for named in _addressed(runs, address):
            found.setdefault(_ArmId(named.run.id, named.arm.position), named)
    names = [arm.name for _, arm in found.values()]
    return [
        ChosenArm(arm.name if names.count(arm.name) == 1 else f"{run.id}/{arm.name}", run, arm)
        for run, arm in found.values()
    ]


def pick_baseline(chosen: Sequence[ChosenArm], wanted: str | None) -> ChosenArm:
    """The one arm that is called so, or begins so; the first where nothing is wanted. Raises RigError."""
    if wanted is None:
        return chosen[0]
    for fits in (str.__eq__, str.startswith):
        found = [each for each in chosen if any(fits(name, wanted) for name in each.names)]
        if len(found) == 1:
            return found[0]
        if found:
            labels = ", ".join(each.address for each in found)
            raise RigError(f"--baseline {wanted!r} could be any of {labels}")
    labels = ", ".join(each.label for each in chosen)
    raise RigError(f"--baseline {wanted!r} is not one of the compared arms, which are: {labels}")


def read(runs: Runs, chosen: Sequence[ChosenArm], graders: Sequence[GraderInfo]) -> list[Scored]:
    """What these arms did, each by the scores of its grader."""
    wanted: dict[tuple[str, GraderInfo], set[int]] = {}
    by_id = {each.run.id: each.run for each in chosen}
    for each, grader in zip(chosen, graders, strict=True):
        wanted.setdefault((each.run.id, grader), set()).add(each.arm.position)
    keys: dict[Key, Key] = {}
    read: dict[_ArmId, dict[Key, dict[int, ScoredCell]]] = {}
    for (run, grader), positions in wanted.items():
        for cell in runs.scored_cells(by_id[run], grader, positions):
            key = Key(cell.conversation, cell.source)
            of_arm = read.setdefault(_ArmId(run, cell.arm), {})
            of_arm.setdefault(keys.setdefault(key, key), {})[cell.repeat] = cell
    return [Scored(each, read.get(_ArmId(each.run.id, each.arm.position), {})) for each in chosen]


def common_graders(runs: Runs, chosen: Sequence[ChosenArm]) -> tuple[list[GraderInfo], list[str]]:
    """Whose scores of each arm can be compared: by the same rules, those that are shown of it if they can be.
    Then lines about what a reader would not expect.

    Answers of people settle texts that are unclear, and a verdict holds however these are settled. So scores
    with different answers can be compared. Raises RigError where no rules are common.
    """
    shown = [each.arm.grader for each in chosen]
    first = next(grader for grader in shown if grader is not None)
    if all(grader and grader.rules == first.rules for grader in shown):
        graders = [grader for grader in shown if grader]
        return graders, list(_differing_answers(chosen, graders))
    scored = {run.id: runs.graders(run) for run in {each.run.id: each.run for each in chosen}.values()}
    by_arm: list[list[GraderInfo]] = []
    for each in chosen:
        others = [grader for position, grader in scored[each.run.id] if position == each.arm.position]
        by_arm.append(
            [*filter(None, [each.arm.grader]), *sorted(others, key=lambda one: not one.has_answers)]
        )
    for rules in dict.fromkeys(grader.rules for grader in by_arm[0]):
        common = [next((one for one in graders if one.rules == rules), None) for graders in by_arm]
        if all(common):
            graders = [grader for grader in common if grader]
            note = f"not all runs were graded alike; compared by what {rules} makes of all"
            return graders, [note, *_differing_answers(chosen, graders)]
    other = next(each for each in chosen if each.arm.grader and each.arm.grader.rules != first.rules)
    options = _options(first, other.arm.grader)
    commands = dict.fromkeys((f"rig score {chosen[0].run.id}", f"rig score {other.run.id}{options}"))
    raise RigError(
        f"{chosen[0].label} and {other.label} have no grader in common ({first}; {other.arm.grader});"
        f" {' and '.join(f'`{command}`' for command in commands)} {'give' if len(commands) > 1 else 'gives'}"
        " them one"
    )


def _options(wanted: GraderInfo, grader: GraderInfo | None) -> str:
    """What `rig score` must be told to grade as is wanted, where a run was graded by other rules."""
    assert grader is not None
    similarity = wanted.rules.similarity.split(",")[0]
    other = f" --similarity {similarity}" if similarity != grader.rules.similarity.split(",")[0] else ""
    return (f" --grader {wanted.grader}" if wanted.grader != grader.grader else "") + other


def _differing_answers(chosen: Sequence[ChosenArm], graders: Sequence[GraderInfo]) -> Iterator[str]:
    if len({grader.similarity for grader in graders}) > 1:
        commands = dict.fromkeys(f"`rig score {each.run.id}`" for each in chosen)
        yield (
            "unclear texts of the runs were decided by different answers; verdicts hold whatever is open."
            f" To use all answers: {' and '.join(commands)}"
        )


class _ArmId(NamedTuple):
    """One arm of one run."""

    run: str
    position: int


class _Named(NamedTuple):
    """An arm, with its run."""

    run: StoredRun
    arm: StoredArm


def _addressed(runs: Runs, address: str) -> list[_Named]:
    try:
        run = runs.get(address, sums=False)
    except RigError:
        # A run's name may have a slash, and so may an arm's.
        for place in (at for at, character in enumerate(address) if character == "/"):
            try:
                run = runs.get(address[:place], sums=False)
            except RigError:
                continue
            return [_Named(run, _arm(run, address[place + 1 :]))]
        raise
    return [_Named(run, arm) for arm in run.arms]


def _arm(run: StoredRun, name: str) -> StoredArm:
    found = [arm for arm in run.arms if arm.name == name] or [
        arm for arm in run.arms if name and arm.name.startswith(name)
    ]
    if len(found) != 1:
        names = ", ".join(arm.name for arm in found or run.arms)
        fault = "could be any of" if found else "is not one of its arms, which are"
        raise RigError(f"run {run.id}: {name!r} {fault}: {names}")
    return found[0]

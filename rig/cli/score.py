"""`rig score`: score earlier predictions, from the store or from files."""

from pathlib import Path
from typing import Any

import click

from rig.cli import completion
from rig.cli.options import AS_JSON, STORE, of_table
from rig.cli.output import say
from rig.cli.runs import print_scores
from rig.cli.scored import ScoredGroup, print_spooled
from rig.cli.verbs import argument, option, verb
from rig.errors import RigError
from rig.methods.base import Method, Setup
from rig.rescore import require_world, score_files, score_run, setup_for_files, setup_of
from rig.scoring import Mode, answers_file
from rig.store import GraderInfo, Runs


@verb()
def command(
    *,
    what: str = argument("RUN|DIR", shell_complete=completion.runs),
    grader: Mode | None = option(
        "The rules for matching calls.  [default: those of the run; for files, default]"
    ),
    similarity: str | None = option(
        "What compares free text: minilm, exact, a sentence-transformers folder, or distilbert:DIR."
        " [default: that of the run; for files, minilm]",
        "NAME",
    ),
    threshold: float | None = option(
        "Texts at least this similar are the same.  [default: calibrated for each kind of text]", "X"
    ),
    reader: str | None = of_table("reader"),
    reexecute: bool = option("Execute every call again, and exit with code 1 if a response differs."),
    world: Path | None = option(
        "A folder of JSON databases to execute calls in.  [default: that of the run; for files, rig's own]"
    ),
    format_: str | None = option(
        "The method that the files in DIR belong to, if they do not say: bfcl.", "METHOD", "--format"
    ),
    set_: tuple[str, ...] = option(
        "Set an option that only the method knows, such as data=DIR for bfcl. Repeatable.",
        "NAME=VALUE",
        "--set",
    ),
    runs: Path = STORE,
    as_json: bool = AS_JSON,
) -> int:
    """Score stored predictions again, without a model.

    RUN is an id or its first characters, a name given with --name, or `latest`. The new score is stored next
    to those the run already has.

    DIR is a folder with files of predictions, such as ToolTalk's, a folder of such folders, as `rig export`
    writes for several arms, or a single file. Several files of one conversation are its repeats.

    Texts that rig cannot judge are decided by the answers you gave to `rig adjudicate`, which are kept next
    to the run store. With --grader upstream, calls are matched and executed the way ToolTalk's own code does
    it.
    """
    place = Path(what)
    options: dict[str, Any] = {"threshold": threshold, "grader": grader, "similarity": similarity}
    options |= {"reader": reader, "world": world, "answers": answers_file(runs)}
    if place.is_dir() or place.suffix == ".json" or format_ is not None:
        if format_ is not None and not place.exists():
            raise RigError(f"{place}: no such file or folder; --format is of files")
        setups = setup_for_files(place, name=format_, options=set_, **options)
        groups = _score_files(place, setups, reexecute, as_json)
    elif set_:
        raise RigError("--set is for files; a stored run is scored with the options it was played with")
    else:
        groups = _score_run(what, runs, options, reexecute, as_json)
    return any(group.differing for group in groups)


def _score_files(
    place: Path, setups: list[tuple[Method, Setup]], reexecute: bool, as_json: bool
) -> list[ScoredGroup]:
    every: list[tuple[Setup, list[ScoredGroup]]] = []
    for method, setup in setups:
        acting = require_world(setup) if reexecute else None
        by_folder = score_files(place, method, setup)
        declaration = method.declaration_of(
            [scored.conversation for several in by_folder.values() for scored in several]
        )
        groups = [ScoredGroup(name, declaration, acting, as_json=as_json) for name in by_folder]
        for group in groups:
            for scored in by_folder[group.arm]:
                group.add(scored)
        every.append((setup, groups))
    if as_json:
        told = [{"grader": setup.grader.fingerprint, **_json(groups)} for setup, groups in every]
        print_spooled({"source": str(place), **(told[0] if len(told) == 1 else {"methods": told})})
    for setup, groups in () if as_json else every:
        _print(groups)
        say(f"graded by {GraderInfo.of(setup.grader)}")
    return [group for _, groups in every for group in groups]


def _json(groups: list[ScoredGroup]) -> dict[str, Any]:
    if len(groups) == 1:
        return groups[0].as_json()
    return {"arms": [{"arm": group.arm, **group.as_json()} for group in groups]}


def _print(groups: list[ScoredGroup]) -> None:
    for group in groups:
        if group.arm:
            say(group.arm)
        group.print()
        if group.arm:
            click.echo()


def _score_run(
    text: str, store: Path, options: dict[str, Any], reexecute: bool, as_json: bool
) -> list[ScoredGroup]:
    with Runs.open(store) as runs:
        run = runs.get(text)
    setup = setup_of(run, **options)
    acting = require_world(setup) if reexecute else None
    groups = [ScoredGroup(arm.name, run.declaration, acting, as_json=as_json) for arm in run.arms]
    score_run(store, run, setup, lambda where, scored: groups[where.arm].add(scored))
    if as_json:
        arms = [{"arm": group.arm, **group.as_json()} for group in groups]
        print_spooled({"run": run.id, "store": str(store), "grader": setup.grader.fingerprint, "arms": arms})
        return groups
    _print(groups)
    with Runs.open(store) as runs:
        print_scores(run, runs.scores(run))
    return groups

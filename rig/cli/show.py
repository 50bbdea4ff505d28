"""`rig show`: one run, or what its arms did in one conversation."""

from itertools import islice
from pathlib import Path

import click

from rig.calls import JsonObject
from rig.cli import completion
from rig.cli.options import GRADED_BY, json_option, runs_option
from rig.cli.output import print_json, print_table, printable, terminal_width
from rig.cli.runs import print_scores, print_tables, run_json, score_json
from rig.compare import published
from rig.compare.groups import WAYS, By, Groups, groups_of
from rig.displays.numbers import out_of
from rig.displays.pages.groups import groups_text
from rig.displays.pages.summary import summary, whereabouts
from rig.displays.pages.transcript import transcript_json, transcript_text
from rig.displays.steps import ended
from rig.errors import RigError
from rig.paths import runs_file
from rig.rescore import effects_of, places_of_path
from rig.store import Cell, Runs, StoredRun


@click.command()
@click.argument("run", shell_complete=completion.runs)
@click.argument("conversation", required=False, shell_complete=completion.conversations)
@runs_option()
@click.option(
    "--arm",
    "arms",
    multiple=True,
    metavar="ARM",
    help="Show only this arm of the conversation. Repeatable.",
)
@click.option(
    "--tables", is_flag=True, help="Print the tables of the method's paper for this run instead, as Markdown."
)
@click.option(
    "--by",
    type=click.Choice(WAYS),
    help="Break each arm's results down by tool, by the tags of conversations, or by suite.",
)
@click.option(
    "--diff", is_flag=True, help="Below each call of CONVERSATION, show what it changed in the world."
)
@GRADED_BY
@json_option()
def command(
    run: str,
    conversation: str | None,
    runs: Path | None,
    arms: tuple[str, ...],
    tables: bool,
    by: By | None,
    diff: bool,
    graded_by: str,
    as_json: bool,
) -> None:
    """Show a run's numbers and conversations, or one conversation call by call.

    RUN is an id or its first characters, a name given with --name, or `latest`.
    """
    path = runs or runs_file()
    if tables and conversation is not None:
        raise RigError("--tables shows a whole run; leave out the conversation")
    if by is not None and (tables or conversation is not None):
        raise RigError("--by shows a whole run; leave out --tables and the conversation")
    if diff and conversation is None:
        raise RigError("--diff needs a conversation; name it after the run")
    if arms and conversation is None:
        raise RigError("--arm needs a conversation; name it after the run")
    with Runs.open(path, graded_by) as stored:
        stored_run = stored.get(run)
        if by is not None:
            _show_groups(groups_of(stored, stored_run, by), stored_run, as_json)
        elif tables:
            print_tables(published(stored, [stored_run.id]), {"run": stored_run.id}, as_json=as_json)
        elif conversation is not None:
            _show_conversation(stored, stored_run, conversation, arms, as_json=as_json, diff=diff)
        else:
            _show_run(stored, stored_run, as_json)


def _show_groups(groups: Groups, run: StoredRun, as_json: bool) -> None:
    if as_json:
        print_json({"run": run.id, **groups.as_json()})
    else:
        click.echo(printable(groups_text(groups, terminal_width())))


def _show_run(stored: Runs, run: StoredRun, as_json: bool) -> None:
    store = str(stored.path)
    if as_json:
        print_json(
            {
                **run_json(run),
                "arms": [
                    {**arm.as_json(run.declaration), "fingerprint": arm.fingerprint} for arm in run.arms
                ],
                "store": store,
                "conversations": [_cell_json(run, cell) for cell in stored.each_cell(run)],
                "scores": [score_json(run, score) for score in stored.scores(run)],
            }
        )
        return
    name = f" ({run.name})" if run.name else ""
    click.echo(printable(f"run {run.id}{name}, {run.created.astimezone():%Y-%m-%d %H:%M}, {run.state}"))
    click.echo(f"\n{printable(summary(run, terminal_width()))}\n")
    columns = [(arm.position, repeat) for arm in run.arms for repeat in range(run.repeats)]
    header = [
        run.arms[arm].name if run.repeats == 1 else f"{run.arms[arm].name} #{repeat + 1}"
        for arm, repeat in columns
    ]
    # Cells come column by column.
    states = (_state(run, cell) for cell in stored.each_cell(run))
    told = [list(islice(states, len(run.conversations))) for _ in columns]
    rows = list(zip(run.conversations, *told, strict=True))
    print_table(("conversation", *header), rows, terminal_width() or _WIDEST)
    if len({grader for _, grader in stored.graders(run)}) > 1:
        click.echo("\nall scores")
        print_scores(run, stored.scores(run))
    click.echo(f"\n{printable(whereabouts(run, store))}")


_WIDEST = 200
"""Characters of a line where there is no terminal, if there are several arms."""


def _show_conversation(
    stored: Runs, run: StoredRun, conversation: str, arms: tuple[str, ...], *, as_json: bool, diff: bool
) -> None:
    unknown = [name for name in arms if name not in {arm.name for arm in run.arms}]
    if unknown:
        names = ", ".join(arm.name for arm in run.arms)
        raise RigError(f"run {run.id} has no arm {unknown[0]!r}; its arms are: {names}")
    transcripts = [
        stored.transcript(run, conversation, arm.position, repeat)
        for arm in run.arms
        if not arms or arm.name in arms
        for repeat in range(run.repeats)
    ]
    effects = [effects_of(run, transcript) if diff else None for transcript in transcripts]
    both = list(zip(transcripts, effects, strict=True))
    if as_json:
        as_values = [transcript_json(*pair) for pair in both]
        print_json({"run": run.id, "conversation": conversation, "transcripts": as_values})
    else:
        texts = (transcript_text(*pair, places_of_path(run, pair[0])) for pair in both)
        click.echo(printable("\n\n".join(texts)))
    if any(effect is not None and effect.other_world for effect in effects):
        click.echo(
            "rig: the world is not the one this run was made in; --diff shows the present one", err=True
        )


def _state(run: StoredRun, cell: Cell) -> str:
    """In a few words how a conversation went."""
    errors = "".join(f", {count} {kind}" for kind, count in cell.errors.items())
    if cell.counts is None:
        return f"{out_of(cell.turns_done, cell.turns)} turns{errors}" if cell.turns_done else "-"
    sign = ended(run.declaration, cell.counts, cell.errors).sign
    return f"{sign.label} {run.declaration.brief(cell.counts)}".rstrip() + errors


def _cell_json(run: StoredRun, cell: Cell) -> JsonObject:
    return {
        "conversation": cell.conversation,
        "arm": run.arms[cell.arm].name,
        "repeat": cell.repeat,
        "state": cell.state,
        "turns": cell.turns,
        "turns_done": cell.turns_done,
        "metrics": cell.counts and run.declaration.as_json(cell.counts),
        "errors": cell.errors,
    }

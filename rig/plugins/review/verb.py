"""`rig author review`: conversations of a suite, kept, edited or dropped by key."""

import sys
from pathlib import Path

import click

from rig.cli.options import json_option
from rig.cli.output import print_json, say
from rig.cli.verbs import argument, option, verb
from rig.core.errors import RigError, counted
from rig.show.texts import printable


@verb()
def command(
    *,
    folder: Path = argument("FOLDER"),
    toolbox: str | None = option("The tools that the conversations call.", "NAME|DIR"),
    as_json: bool = json_option("Print what is decided and what is left as JSON, and ask nothing."),
) -> None:
    """Read the conversations of a suite, and keep, edit or drop each.

    rig shows one after the other, with its calls, and waits for a key. An edit opens your editor ($EDITOR) on
    what is said; the calls stay, and have to follow from the new words. A dropped conversation's file gets
    another name. Each decision is kept at once; the same command goes on with what is left.
    """
    from rig.plugins.review.review import Review, lines_of, told
    from rig.world.toolbox import find_toolbox

    reading = Review(folder, find_toolbox(toolbox))
    if as_json:
        print_json({"folder": str(folder), "decided": reading.counts, "left": list(reading.left)})
        return
    while reading.left:
        name = reading.left[0]
        source = reading.source(name)
        say(f"\n{name}, {counted(len(reading.left), 'conversation')} left\n\n{told(source)}\n")
        click.echo("k(eep), e(dit), d(rop), u(ndo), q(uit) > ", nl=False)
        try:
            key = (click.getchar() if sys.stdin.isatty() else sys.stdin.read(1)).lower()
        except (KeyboardInterrupt, EOFError):
            key = "q"
        click.echo(printable(key))
        if key in ("q", ""):
            break
        try:
            if key == "k":
                reading.keep(name)
            elif key == "d":
                reading.drop(name)
            elif key == "u" and reading.undo() is None:
                say("nothing was decided before this one")
            elif key == "e" and (lines := click.edit(lines_of(source), extension=".yaml")) is not None:
                reading.edit(name, lines)
        except (RigError, OSError, UnicodeError, click.ClickException) as error:
            say(str(error))
    counts = ", ".join(f"{decision} {number}" for decision, number in reading.counts.items())
    left = counted(len(reading.left), "conversation")
    say(f"{folder}: {counts or 'nothing'}; {left} left")

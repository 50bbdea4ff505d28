"""The command line: one file per verb, imported only when the verb is used."""

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from rig import __version__
from rig.cli.output import printable, unbroken_output
from rig.errors import RigError


class Verb(NamedTuple):
    """The module of a verb, whose click command (or group) is called `command`, and what it does in short."""

    module: str
    does: str


VERBS = {
    "run": Verb("rig.cli.run", "Evaluate models one after another and store every turn."),
    "watch": Verb("rig.cli.watch", "Watch a run again, or one that is in progress in another terminal."),
    "demo": Verb("rig.cli.demo", "Show a recorded run in half a minute: no model, no download."),
    "runs": Verb("rig.cli.runs", "List the stored runs, newest first."),
    "show": Verb("rig.cli.show", "Show a run, or one conversation call by call."),
    "score": Verb("rig.cli.score", "Score predictions again, without a model."),
    "judge": Verb("rig.cli.judge", "Judge whole answers: whether they pass, and which of two wins."),
    "adjudicate": Verb("rig.cli.score.adjudicate", "Say of unclear texts whether they mean the same."),
    "compare": Verb("rig.cli.compare", "Compare arms with a baseline, conversation by conversation."),
    "noise": Verb("rig.cli.compare.noise", "Say how much arms differ that should not differ at all."),
    "leaderboard": Verb("rig.cli.compare.leaderboard", "Put the arms of all runs on a suite into order."),
    "report": Verb("rig.cli.compare.report", "Write a report of arms as one file."),
    "screen": Verb("rig.cli.screen", "Say what models make of the true calls, without generating any."),
    "export": Verb("rig.cli.export", "Write a run as files that other tools read, or as rows."),
    "import": Verb("rig.cli.import_", "Take recorded results as a run, each file as an arm."),
    "models": Verb("rig.cli.models", "List, describe, fetch, verify, quantize and merge models."),
    "world": Verb("rig.cli.world", "Build the mock world, or check it."),
    "tools": Verb("rig.cli.own.tools", "List and check tools, and take over your own."),
    "suites": Verb("rig.cli.own.suites", "List suites of conversations, and begin one of your own."),
    "check": Verb("rig.cli.check", "Check conversations: yours, or those that come with rig."),
    "bundle": Verb("rig.cli.bundle", "Put all that rig needs into one file, to carry it over."),
    "doctor": Verb("rig.cli.doctor", "Say what would stop a run here."),
    "bench": Verb("benchmarks.engine.command", "Measure the engine; needs a checkout of rig."),
}
"""Every verb, in the order of --help, which imports none of them."""

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


class _LazyGroup(click.Group):
    """Imports a verb's module when it is asked for, so that `rig runs` never loads llama.cpp."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        try:
            command: click.Command = importlib.import_module(VERBS[name].module).command
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("benchmarks"):
                raise
            return _bench_elsewhere
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.does) for name, verb in VERBS.items()])


@click.command("bench", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def _bench_elsewhere(arguments: tuple[str, ...]) -> None:
    """Measure the engine; needs a checkout of rig."""
    raise RigError("rig bench is for those who work on rig: it needs a checkout, and this rig is none")


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rig")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="PLACE",
    help="A .py file or folder with methods, toolboxes or answer formats of your own, beside those that"
    " $RIG_PLUGINS names. Its code is run.",
)
def cli(plugins: tuple[str, ...]) -> None:
    """Evaluate local tool-calling models, offline.

    Point rig at GGUF files: it lets each model read conversations, call tools in a mock world and be right
    or wrong, and says which file can be trusted.
    """
    if plugins:
        # Processes that rig starts know them, too.
        named = (os.environ.get("RIG_PLUGINS", ""), *plugins)
        os.environ["RIG_PLUGINS"] = os.pathsep.join(filter(None, named))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. A user's fault becomes one line and exit code 2; a bug is a traceback."""
    _escape_what_cannot_be_encoded()
    with unbroken_output():
        code = _run(arguments)
    if code:
        sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    code: int | None
    try:
        code = cli.main(
            args=list(arguments) if arguments is not None else None, prog_name="rig", standalone_mode=False
        )
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        code = error.exit_code
    except (RigError, click.ClickException) as error:
        text = error.format_message() if isinstance(error, click.ClickException) else str(error)
        # click breaks some of its messages into lines.
        click.echo(f"rig: {printable(' '.join(text.split()))}", err=True)
        code = 2
    except OSError as error:
        # Whatever path or stream it is, only the user can have given it.
        if error.errno not in _OF_USERS:
            raise
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"rig: {printable(place)}{error.strerror}", err=True)
        code = 2
    except click.Abort:
        code = INTERRUPTED
    return code or 0


_OF_USERS = frozenset(
    {
        errno.ENAMETOOLONG,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EFBIG,
        errno.EROFS,
        errno.EACCES,
        errno.EPERM,
        errno.EIO,
        errno.ELOOP,
    }
)
"""Faults of paths and disks, as opposed to faults of rig."""


def _escape_what_cannot_be_encoded() -> None:
    """What models and files say is any Unicode, and must not end a run where the locale has less."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

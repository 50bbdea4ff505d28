"""The command line: one file per verb, imported only when the verb is used."""

import errno
import importlib
import io
import os
import sys
from collections.abc import Sequence

import click

from rig import __version__
from rig.cli.output import printable
from rig.errors import RigError

VERBS = {
    "run": "rig.cli.run",
    "watch": "rig.cli.watch",
    "runs": "rig.cli.runs",
    "show": "rig.cli.show",
    "score": "rig.cli.score",
    "judge": "rig.cli.judge",
    "compare": "rig.cli.compare",
    "noise": "rig.cli.noise",
    "report": "rig.cli.report",
    "screen": "rig.cli.screen",
    "export": "rig.cli.export",
    "models": "rig.cli.models",
    "world": "rig.cli.world",
    "check": "rig.cli.check",
    "doctor": "rig.cli.doctor",
    "bench": "benchmarks.engine.command",
}
"""Each verb's module holds a click command (or group) called `command`; bench has it in a checkout only."""

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
            command: click.Command = importlib.import_module(VERBS[name]).command
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("benchmarks"):
                raise
            return _bench_elsewhere
        return command


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
        if error.errno not in (errno.ENAMETOOLONG, errno.ENOSPC):
            raise
        place = f"{error.filename}: " if error.filename else ""
        click.echo(f"rig: {printable(place)}{error.strerror}", err=True)
        code = 2
    except click.Abort:
        code = INTERRUPTED
    if code:
        sys.exit(code)


def _escape_what_cannot_be_encoded() -> None:
    """What models and files say is any Unicode, and must not end a run where the locale has less."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

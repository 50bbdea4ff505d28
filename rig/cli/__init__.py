"""The command line: verbs, imported only when they are used."""

import io
import os
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress

import click

from rig import __version__
from rig.cli import json_lines
from rig.cli.output import open_standard_streams, printable, shortened, unbroken_output
from rig.cli.verbs import HELP_NAMES, Verb, Verbs
from rig.config.files import set_own_places
from rig.core import opening, registry
from rig.core.errors import RigError, RigWarning
from rig.show import is_terminal, signs

VERBS = {
    "run": Verb("rig.cli.run", "Evaluate one or more models.", "Play"),
    "runs": Verb("rig.cli.runs", "List stored runs, newest first.", "Results"),
    "show": Verb(
        "rig.cli.runs:show", "Show the results of a run, or one conversation call by call.", "Results"
    ),
    "compare": Verb("rig.cli.compare", "Compare models, and tell a loss from chance.", "Results"),
}
"""rig's own verbs; those of tenants are registered (`rig.core.registry`)."""

GROUPS = ("Play", "Results", "Models, tools and conversations", "This machine")
"""The groups of verbs in the order in which --help lists them; those of plugins follow."""

_INTACT = "what was stored is intact; `rig run --resume RUN` continues a run that this interrupted"

ALONE = "start"
"""The verb, if it is registered, that `rig` without a verb stands for in a terminal."""

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


class _Rig(Verbs):
    """rig's own verbs, which are found without loading plugins, and those that are registered."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        is_attended = all(is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr))
        alone = [ALONE] if not args and is_attended and ALONE in self._registered(context) else args
        return super().parse_args(context, alone)

    def list_commands(self, context: click.Context) -> list[str]:
        return [name for names in self._grouped(context).values() for name in names]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        # A verb's options are those of plugins, too, and it is found before the files of settings are read.
        _find_plugins(context)
        return super().get_command(context, name) or self._registered(context).get(name)

    def does(self, context: click.Context, name: str) -> str:
        if name in self.later:
            return super().does(context, name)
        return str(self._registered(context).attribute(name, "does"))

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        for group, names in self._grouped(context).items():
            with formatter.section(group):
                formatter.write_dl([(name, self.does(context, name)) for name in names])

    def _grouped(self, context: click.Context) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {group: [] for group in GROUPS}
        for name, verb in VERBS.items():
            groups[verb.group].append(name)
        for name in (verbs := self._registered(context)):
            if " " in name:
                continue  # It is a member of another verb.
            groups.setdefault(verbs.attributes(name).get("group", "Plugins"), []).append(name)
        return groups

    def _registered(self, context: click.Context) -> registry.Tenants:
        _find_plugins(context)
        return registry.registered().verbs


def _find_plugins(context: click.Context) -> None:
    """Let the user's own settings say where plugins are. They are read once for each command line."""
    meta = context.find_root().meta
    if not meta.setdefault(__name__, False):
        with suppress(RigError):
            set_own_places()
        meta[__name__] = True


def _use_plugins(context: click.Context, parameter: click.Parameter, places: tuple[str, ...]) -> None:
    if places:
        # Also for the processes that rig starts.
        before = os.environ.get("RIG_PLUGINS", "")
        os.environ["RIG_PLUGINS"] = os.pathsep.join(filter(None, (before, *places)))


@click.group(cls=_Rig, later=VERBS, context_settings={"help_option_names": HELP_NAMES})
@click.version_option(__version__, prog_name="rig")
@click.option(
    "--plugin",
    "plugins",
    multiple=True,
    metavar="PLACE",
    # Before --help and the verbs, which plugins add to.
    is_eager=True,
    expose_value=False,
    callback=_use_plugins,
    help="A .py file or folder with your own methods, toolboxes, verbs and more, in addition to"
    " $RIG_PLUGINS. Runs its code.",
)
@click.option(
    "--open",
    "opened",
    multiple=True,
    metavar="PATH",
    help="Let a verb open this file, or what is in this folder, where a run store names it.",
)
@click.option(
    "--ascii",
    "ascii_only",
    is_flag=True,
    help="Draw with ASCII characters only. $RIG_ASCII=1 and some locales do the same.",
)
@click.pass_context
def cli(context: click.Context, opened: tuple[str, ...], ascii_only: bool) -> None:
    """Find out which local model file you can trust with tools.

    rig plays conversations to your GGUF files, lets each model call tools in a mock world, checks every
    call, and compares the files with statistics. Everything runs offline.

    \b
    Start here:
      rig demo                           watch a recorded run: half a minute, no model
      rig run smollm2-135m-tools         evaluate a small model: about two minutes
      rig run a-Q8_0.gguf a-Q4_K_M.gguf  evaluate your own files
      rig compare latest                 is one of them worse, or is it chance?
    """  # noqa: D301 - for click
    from rig.cli.config import apply

    opening.forget()
    for place in opened:
        opening.name(place)
    if ascii_only:
        os.environ[signs.ASCII_VARIABLE] = "1"
    signs.use(ascii_only=signs.wants_ascii(os.environ, sys.stdout.encoding))
    apply(context)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. A user's fault becomes one line and exit code 2; a bug is a traceback."""
    open_standard_streams()
    for stream in (sys.stdout, sys.stderr):
        # Text of models and files is any Unicode, which must not end a run in a locale with less.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    with unbroken_output(), json_lines.answering(sys.argv[1:] if arguments is None else arguments):
        code = _run(arguments)
    if code:
        sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", RigWarning)
            others = warnings.showwarning
            warnings.showwarning = lambda told, kind, *place, **more: (
                click.echo(f"rig: {_one_line(str(told))}", err=True)
                if issubclass(kind, RigWarning)
                else others(told, kind, *place, **more)
            )
            code: int | None = cli.main(args=arguments, prog_name="rig", standalone_mode=False)
        json_lines.end(code or 0)
        return code or 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.Abort:
        json_lines.end(INTERRUPTED)
        return INTERRUPTED
    except SystemExit as error:
        json_lines.end(error.code if isinstance(error.code, int) else bool(error.code))
        raise
    except BaseException as error:
        fault = _fault(error)
        if fault is None:
            bug = f"{type(error).__name__}: {_one_line(str(error))}; report it with what stderr has"
            json_lines.end(1, bug)
            raise
        click.echo(f"rig: {fault}", err=True)
        json_lines.end(2, fault, error)
        return 2


def _fault(error: BaseException) -> str | None:
    """Return a fault of the user's, or of the machine, as one line; None for a bug."""
    if isinstance(error, RigError):
        return _one_line(str(error))
    if isinstance(error, click.ClickException):
        from rig.cli.mistakes import explained

        return _one_line(explained(error))
    if isinstance(error, OSError) and error.strerror:
        place = f"{error.filename}: " if error.filename else ""
        return f"{printable(place)}{error.strerror}"
    if isinstance(error, ValueError) and "embedded null" in str(error):
        return "a path holds a null byte, which no file's name has; give another"
    if isinstance(error, MemoryError):
        return f"out of memory; {_INTACT}"
    # A panic of a library in Rust, for example without memory, is not an Exception and has no real module.
    if type(error).__module__ == "pyo3_runtime":
        return f"a library gave up, perhaps for lack of memory: {_one_line(str(error))}; {_INTACT}"
    return None


def _one_line(text: str) -> str:
    """Return a message as one line without control characters; click breaks some messages into lines."""
    return shortened(printable(" ".join(text.split())))

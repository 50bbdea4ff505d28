"""`rig run`: evaluate models."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import click

from rig import running, show
from rig.cli import INTERRUPTED, json_lines
from rig.cli import options as shared
from rig.cli.options import OUTPUT, Network, complete_runs
from rig.cli.output import print_json, say, say_failures, terminal_width
from rig.cli.verbs import argument, option, verb
from rig.core.errors import RigError
from rig.show import is_terminal
from rig.show.texts import headline, printable

if TYPE_CHECKING:
    from rig.core.events import Event
    from rig.running import RunEnd
    from rig.running.plan import Plan
    from rig.store import StoredRun

LONG_S = 60.0
"""Seconds after which somebody may have gone to do something else."""

_PATIENCE_S = 60.0
"""How long a command of the user's may take."""

_SAVE_TITLE, _RESTORE_TITLE = "\x1b[22;0t", "\x1b[23;0t"


class Notifier:
    """Shows in a terminal's title (stderr) how far a run is, and tells the user when it has ended."""

    def __init__(self, *, bell: bool = True, command: str | None = None) -> None:
        from rig.show.progress import Progress

        self._bell = bell
        self._command = command
        self._progress = Progress()
        self._began = monotonic()
        self._title = ""
        self._is_titled = False
        self._stream = sys.stderr

    @contextmanager
    def titles(self, *, is_wanted: bool) -> Iterator[None]:
        """A context in which the title shows how far the run is, if stderr is a terminal."""
        # Kept before a live view replaces stderr with an object that has no descriptor.
        self._stream = sys.stderr
        self._is_titled = is_wanted and is_terminal(self._stream)
        self._write(_SAVE_TITLE)
        try:
            yield
        finally:
            self._write(_RESTORE_TITLE)

    def tell(self, event: Event) -> None:
        """Take in an event. May be called in any thread."""
        (progress := self._progress).tell(event)
        json_lines.progress(progress.run, progress.unit, progress.done, progress.total)
        if (total := progress.total) and self._is_titled:
            title = f"rig {100 * progress.done // total}% of {total} {progress.unit}"
            if title != self._title:
                self._title = title
                self._write(f"\x1b]2;{title}\x07")

    def ended(self, run: StoredRun) -> str | None:
        """Ring, notify, and run the user's command. Return what went wrong with the command, in one line."""
        arms = ", ".join(f"{arm.name} {headline(run.declaration, arm.rated)}" for arm in run.arms[:3])
        more = f" and {len(run.arms) - 3} more" if len(run.arms) > 3 else ""
        # Without control characters for the terminal.
        summary = " ".join(printable(f"rig: run {run.id} {run.state}: {arms}{more}").split())
        if self._bell and monotonic() - self._began >= LONG_S:
            self._write(f"\x07\x1b]9;{summary}\x1b\\")
        if self._command is None:
            return None
        env = os.environ | {"RIG_RUN": run.id, "RIG_STATE": run.state, "RIG_SUMMARY": summary}
        stdout = self._stream.fileno()
        try:
            done = subprocess.run(self._command, shell=True, env=env, timeout=_PATIENCE_S, stdout=stdout)
        except subprocess.TimeoutExpired:
            return f"--notify: {self._command}: took longer than {_PATIENCE_S:g} s and was ended"
        return f"--notify: {self._command}: exit code {done.returncode}" if done.returncode else None

    def _write(self, sequence: str) -> None:
        if self._is_titled:
            # In one piece: a live view writes to the same terminal.
            os.write(self._stream.fileno(), sequence.encode())


@dataclass(frozen=True, kw_only=True)
class Playing:
    """The options of verbs that play besides the table: how to show a run, and what to do at its end."""

    display: str = shared.DISPLAY
    name: str | None = shared.NAME
    runs: Path = shared.WRITTEN_STORE
    bell: bool = option(
        "Ring the terminal when a run of a minute or more ends.",
        flags="--bell/--no-bell",
        start=True,
        common=False,
        group=OUTPUT,
    )
    notify: str | None = option(
        "Run this shell command when the run ends. It can use $RIG_RUN, $RIG_STATE and $RIG_SUMMARY.",
        "COMMAND",
        group=OUTPUT,
        common=False,
    )


@dataclass(frozen=True, kw_only=True)
class Resuming:
    """The run to continue, and what to do about its failures."""

    resume: str | None = option(
        "Continue a run that was interrupted.", "RUN", shell_complete=complete_runs, group=OUTPUT
    )
    retry_failed: bool | None = option(
        "With --resume: also repeat turns that failed because of the machine (memory, decode), or do not"
        " repeat arms that failed.  [default: repeat arms, not turns]",
        flags="--retry-failed/--skip-failed",
        default=None,
        common=False,
        group=OUTPUT,
    )

    def require_resume(self) -> None:
        """Raise RigError if options were given that need `--resume`."""
        if self.retry_failed is not None:
            raise RigError("--retry-failed and --skip-failed go with --resume; say which run")


@verb(shared.RolesCommand, options=shared.table_options())
def command(
    context: click.Context,
    *,
    models: tuple[str, ...] = argument("MODEL...", shell_complete=shared.complete_models),
    playing: Playing,
    resuming: Resuming,
    network: Network,
    as_json: bool = shared.JSON_LINES,
    where: str | None = option(
        "Load the models in Ray actors, on this machine or in a cluster.",
        "ray[:ADDRESS]",
        "--on",
        common=False,
        group=OUTPUT,
    ),
    full: bool = shared.FULL,
) -> int:
    """Evaluate one or more models, and store every turn.

    MODEL is a name from `rig models list`, the path of a .gguf file, the address of a server (URL, or
    URL#NAME), or `oracle`, which replays the right calls. You can repeat an option marked *: rig then runs
    every combination as an arm of its own, such as `smollm2-135m docs=names`.

    Ctrl-C stops the run; `rig run --resume RUN` continues it with the same models and options.

    \b
    Examples:
      rig run smollm2-135m-tools                    the easy suite, 28 conversations
      rig run a-Q8_0.gguf a-Q4_K_M.gguf --name q    two files, to compare afterwards
      rig run a.gguf --suite hard --limit 10        the first 10 of a harder suite
      rig run a.gguf --docs full --docs names       with and without descriptions
      rig run a.gguf --temperature 0.7 --repeats 5  five samples of every answer
      rig run a.gguf --toolbox my-tools             your own tools and conversations
      rig run a.gguf http://127.0.0.1:8080          a file, and the same file behind a server
    """  # noqa: D301 - for click
    from rig.config.options import RunConfig, require_one_suite
    from rig.running.planning import elsewhere, plan, plan_resume
    from rig.show.card import ending

    name = playing.name
    options = shared.chosen_options(context)
    if resuming.resume is not None:
        if name is not None:
            raise RigError("--name is for a new run and --resume for an old one; give one of them")
        todo = plan_resume(resuming.resume, options, playing.runs, retry_failed=resuming.retry_failed)
    else:
        resuming.require_resume()
        if name is not None and not name.isprintable():
            raise RigError(f"--name {name!a}: cannot be shown; a name is one line of UTF-8 text")
        if name == "":
            raise RigError("--name is empty; leave it out, or give the run a name to find it by")
        if name == "latest":
            raise RigError("--name latest: `latest` is always the newest run; give another name")
        if not options.get("models"):
            raise RigError(
                "which model? Give a name from `rig models list`, the path of a .gguf file, or `oracle`"
            )
        require_one_suite(options)
        todo = plan(RunConfig.of(**options), playing.runs, name)
    if where is not None:
        todo = elsewhere(todo, where)
    ended = show_run(todo, playing.display, as_json=as_json, playing=playing)
    is_told = show.is_watched(playing.display) and not as_json
    text = ending(ended.run, playing.runs, terminal_width(), full=full) if is_told else ""
    print_end(ended, playing.runs, text, as_json=as_json)
    return exit_code(*ended)


def print_end(ended: RunEnd, store: Path, text: str, *, as_json: bool, **more: Any) -> None:
    """Print the result of a run: as one line of JSON, or as a text if there is one.

    Without a text, stderr gets the place of a run that was stopped.
    """
    from rig.show.summary import whereabouts

    stored = ended.run
    if as_json:
        arms = [arm.as_json(stored.declaration) for arm in stored.arms]
        print_json({"run": stored.id, "store": str(store), "arms": arms, **more})
    elif text:
        say(f"\n{text}")
    if ended.is_stopped and not text:
        say(whereabouts(stored, str(store)), err=True)


def show_run(todo: Plan, display: str, *, as_json: bool, playing: Playing | None = None) -> RunEnd:
    """Run a plan under a display, as `rig.running.run` does.

    If the display is for people, the terminal's title shows the progress, and `playing` has the options for
    notifying the user of the end.
    """
    notifier = Notifier(bell=playing.bell, command=playing.notify) if playing else Notifier(bell=False)

    view = show.choose(display, sys.stderr if as_json else sys.stdout)
    with notifier.titles(is_wanted=show.is_watched(display)):
        ended = running.run(todo, view, (notifier.tell,))
    if wrong := notifier.ended(ended.run):
        say(f"rig: {wrong}", err=True)
    return ended


def exit_code(stored: StoredRun, is_stopped: bool) -> int:
    """Return 130 for a stopped run, 1 (with a line each) if arms failed or were not evaluated, else 0."""
    if is_stopped:
        return INTERRUPTED
    failures = [(arm.name, arm.failure) for arm in stored.arms]
    failures += [
        (arm.name, f"not evaluated: {arm.not_evaluated}") for arm in stored.arms if arm.not_evaluated
    ]
    return say_failures(failures)

"""What the shell offers while you type a model, a run or a conversation. After a fault, it offers nothing."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from rig.errors import RigError
from rig.paths import runs_file

if TYPE_CHECKING:
    from rig.store import Runs


def models(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """What can be run: registry names, files in the models directory, the oracle, or any path."""
    return _names_or_path(typed, "oracle")


def model_files(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Registry names, files in the models directory, or any path."""
    return _names_or_path(typed)


def _names_or_path(typed: str, *others: str) -> list[CompletionItem]:
    from rig.engine.files.registry import known_names

    names: list[str] = []
    with suppress(RigError):
        names = known_names()
    fitting = [CompletionItem(name) for name in (*names, *others) if name.startswith(typed)]
    return fitting or [CompletionItem(typed, type="file")]


def runs(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Ids of the stored runs, newest first."""
    return _stored(context, typed, lambda stored: [run.id for run in stored.all()])


def conversations(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Conversations of the run that was typed before."""
    run = context.params.get("run") or "latest"
    return _stored(context, typed, lambda stored: stored.get(run).conversations)


def _stored(context: click.Context, typed: str, names: "Callable[[Runs], Iterable[str]]") -> list[str]:
    from rig.store import Runs

    with suppress(RigError), Runs.open(context.params.get("runs") or runs_file()) as stored:
        return [name for name in names(stored) if name.startswith(typed)]
    return []

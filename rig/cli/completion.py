"""What the shell offers when a model, a run or a conversation is being typed. Faults offer nothing."""

from collections.abc import Callable

import click
from click.shell_completion import CompletionItem

from rig.errors import RigError
from rig.paths import runs_file
from rig.store import Runs


def models(context: click.Context, parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """The oracle, registry names, models in the models directory, or files."""
    from rig.cli.models import complete_models

    oracle = [CompletionItem("oracle")] if "oracle".startswith(typed) else []
    try:
        return oracle + complete_models(context, parameter, typed)
    except RigError:
        return oracle


def runs(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Ids of the stored runs, newest first."""
    return _stored(context, typed, lambda stored: [run.id for run in stored.all()])


def conversations(context: click.Context, parameter: click.Parameter, typed: str) -> list[str]:
    """Conversations of the run that was typed before."""
    run = context.params.get("run") or "latest"
    return _stored(context, typed, lambda stored: stored.get(run).conversations)


def _stored(
    context: click.Context, typed: str, names: Callable[[Runs], list[str] | tuple[str, ...]]
) -> list[str]:
    try:
        with Runs.open(context.params.get("runs") or runs_file()) as stored:
            return [name for name in names(stored) if name.startswith(typed)]
    except RigError:
        return []

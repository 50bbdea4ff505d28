"""`rig show --by`: a run's results by tool, skill, tag or suite."""

from pathlib import Path

from rig.cli.output import print_json, say, terminal_width
from rig.core.errors import RigError
from rig.plugins.groups.groups import By, groups_of
from rig.plugins.groups.text import groups_text
from rig.show.summary import unclear_notes
from rig.store import Runs


def by_groups(
    *,
    run: str,
    conversation: str | None,
    runs: Path,
    arms: tuple[str, ...],
    graded_by: str,
    as_json: bool,
    by: By,
) -> None:
    """Print what the arms of a run got right, by group."""
    if conversation is not None:
        raise RigError("--by shows a whole run; leave out the conversation")
    if arms:
        raise RigError("--arm needs a conversation; name it after the run")
    with Runs.open(runs, graded_by) as store:
        stored = store.get(run)
        groups = groups_of(store, stored, by)
        if as_json:
            print_json({"run": stored.id, **groups.as_json()})
        else:
            say("\n".join([groups_text(groups, terminal_width()), *unclear_notes(stored)]))

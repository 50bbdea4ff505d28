"""`rig show --tables` and `rig compare --tables`: stored arms in the tables of their method's paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rig.cli.compare import ComparisonQuestion
from rig.cli.output import print_json, say
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.plugins.ranking.tables import published, tables_markdown
from rig.store import Runs


def of_run(*, run: str, conversation: str | None, runs: Path, as_json: bool, **others: Any) -> None:
    """Print the tables of a run."""
    if conversation is not None:
        raise RigError("--tables shows a whole run; leave out the conversation")
    with Runs.open(runs, others["graded_by"]) as stored:
        run = stored.get(run).id
        _print(stored, [run], {"run": run}, as_json=as_json)


def of_arms(*, question: ComparisonQuestion, as_json: bool, **others: Any) -> None:
    """Print the tables of the arms to compare."""
    arms = question.addresses
    with Runs.open(question.runs, question.graded_by) as stored:
        _print(stored, arms, {"arms": list(arms)}, as_json=as_json)


def _print(stored: Runs, arms: Sequence[str], of: JsonObject, *, as_json: bool) -> None:
    tables = published(stored, arms)
    if as_json:
        print_json({**of, "tables": [table.as_json() for table in tables]})
    else:
        say(tables_markdown(tables) or "no conversation of these arms is finished yet")

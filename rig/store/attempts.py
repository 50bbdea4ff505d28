"""Failures of the machine that were tried again: kept beside the later result, never instead of it."""

from sqlite_utils import Database

from rig.errors import ErrorKind
from rig.store.rows import storable, to_json

PASSING = (ErrorKind.MEMORY, ErrorKind.DECODE)
"""Failures of the machine that another try may not have. A context or a template fails again."""

ARM = "arm"
"""What stands for the kind of error where an arm as a whole failed."""

_KINDS = ", ".join(f"'{kind}'" for kind in PASSING)

FAILED_TURNS = f"""
    WITH failed AS (
        SELECT arm, conversation, repeat, min(turns.turn) AS first
        FROM predictions JOIN turns ON turns.id = predictions.turn
        WHERE predictions.error IN ({_KINDS}) AND arm IN (SELECT id FROM arms WHERE run = ?1) GROUP BY 1, 2, 3
    )
    SELECT arm, conversation, repeat, first AS turn, count(*) AS n
    FROM failed JOIN turns USING (arm, conversation, repeat) WHERE turns.turn >= first GROUP BY 1, 2, 3
"""
"""Of a run, the first such turn of each conversation, and how many turns are played anew from there."""

ATTEMPTS = (
    "SELECT error, count(*) AS n FROM attempts WHERE arm = ? AND error IS NOT NULL GROUP BY 1 ORDER BY 1"
)
"""How often an arm was tried again, by what had failed."""


def keep_failed_arm(database: Database, arm: int, now: str) -> None:
    """Note why an arm failed before, which is about to be forgotten; nothing if it did not."""
    database.execute(
        "INSERT INTO attempts (arm, error, detail, given_up)"
        f" SELECT id, '{ARM}', failure, ? FROM arms WHERE id = ? AND failure IS NOT NULL",
        [now, arm],
    )


def set_aside(database: Database, cell: dict[str, int], first: int, now: str) -> None:
    """Take the turns of a conversation from the `first` on, and its scores, out of a run; keep the turns."""
    of_cell = "arm = :arm AND conversation = :conversation AND repeat = :repeat"
    turns = f"SELECT * FROM turns WHERE {of_cell} AND turn >= :first ORDER BY turn"
    for turn in list(database.query(turns, {**cell, "first": first})):
        steps = list(database.query("SELECT * FROM predictions WHERE turn = ? ORDER BY step", [turn["id"]]))
        failed = next((step for step in steps if step["error"] in PASSING), None)
        # The columns that say something without the row's place.
        played, *predictions = (
            {name: value for name, value in row.items() if name not in ("id", "arm", "conversation")}
            for row in (turn, *steps)
        )
        database.table("attempts").insert(
            {
                **cell,
                "turn": turn["turn"],
                "error": failed["error"] if failed else None,
                "detail": storable(failed["error_detail"]) if failed else "follows a turn that failed",
                "given_up": now,
                "played": to_json({**played, "predictions": predictions}),
            }
        )
        database.execute("DELETE FROM turns WHERE id = ?", [turn["id"]])
    database.execute(f"DELETE FROM scores WHERE {of_cell}", cell)

"""What a store says of its own views and tables."""

from pathlib import Path

from rig.calls import JsonObject
from rig.store import datasette_metadata


def described() -> dict[str, JsonObject]:
    """By the names of views and tables: a `description`, and the `columns` with theirs."""
    tables: dict[str, JsonObject] = datasette_metadata(Path("runs"))["databases"]["runs"]["tables"]
    return tables

"""What is in every table, view and column of a run store, for people and for Datasette."""

import json
from pathlib import Path

from rig.calls import JsonObject

_METADATA = Path(__file__).with_name("datasette.json")
_DATABASE = "runs"


def datasette_metadata(store: Path) -> JsonObject:
    """The metadata that Datasette takes for a store of this name: descriptions, and queries to begin with."""
    shipped: JsonObject = json.loads(_METADATA.read_text(encoding="utf-8"))
    return {**shipped, "databases": {store.stem: shipped["databases"][_DATABASE]}}


def described() -> dict[str, JsonObject]:
    """By the names of views and tables: a `description`, and the `columns` with theirs."""
    shipped = datasette_metadata(Path(f"{_DATABASE}.sqlite"))
    tables: dict[str, JsonObject] = shipped["databases"][_DATABASE]["tables"]
    return tables

"""What the store says of itself: every column is described, and nothing that is not there."""

import json
from pathlib import Path

import pytest
import small_talks

from rig.store import EXPORTED_VIEWS, Runs, datasette_metadata
from rig.store.views import described


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "results.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), small_talks.oracle()))
    return path


def test_every_column_of_every_table_and_view_is_described_and_no_other(store: Path) -> None:
    with Runs.open(store) as runs:
        names = runs._database.table_names() + runs._database.view_names()
        columns = {
            name: [
                row["name"] for row in runs._database.query("SELECT name FROM pragma_table_info(?)", [name])
            ]
            for name in names
            if not name.startswith(("sqlite_", "_sqlite_"))
        }
    said = {name: list(each["columns"]) for name, each in described().items()}
    assert {name: set(found) for name, found in said.items()} == {
        name: set(found) for name, found in columns.items()
    }
    for name in EXPORTED_VIEWS:
        assert said[name] == columns[name], "the columns of a view are described in their order"


def test_nothing_is_described_by_nothing() -> None:
    for name, each in described().items():
        assert str(each["description"]).endswith("."), name
        for column, text in each["columns"].items():
            assert text.strip().endswith("."), (name, column)


def test_the_metadata_is_for_the_store_it_is_asked_for(store: Path) -> None:
    metadata = datasette_metadata(store)
    assert list(metadata["databases"]) == ["results"]
    assert json.loads(json.dumps(metadata)) == metadata


def test_every_query_that_is_suggested_runs(store: Path) -> None:
    (database,) = datasette_metadata(store)["databases"].values()
    with Runs.open(store) as runs:
        for name, query in database["queries"].items():
            rows = list(runs._database.query(query["sql"], {"run": "abcde"}))
            assert rows or name in ("what_went_wrong", "differing_settings"), name

"""A real Datasette, on loopback, with the metadata that ships."""

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest
import small_talks

from rig.core.models import OWN, Prediction, Request
from rig.methods.scripted import Scripted
from rig.store import EXPORTED_VIEWS, datasette_metadata
from rig.store.views import described

FETCH = """
import json, sys, time, urllib.error, urllib.request
base, paths = sys.argv[1], json.loads(sys.argv[2])
until = time.monotonic() + 60
while True:
    try:
        urllib.request.urlopen(base, timeout=60)
        break
    except urllib.error.URLError:
        if time.monotonic() > until:
            raise
        time.sleep(0.05)
print(json.dumps([urllib.request.urlopen(base + path, timeout=60).read().decode() for path in paths]))
"""
"""Sockets are blocked in the process of the tests, so that another has to ask."""

Fetch = Callable[..., list[str]]


def formed(request: Request) -> Prediction:
    """The erratic arm's answers, with a form as a model's own calls have."""
    prediction = small_talks.erratic(request)
    return replace(prediction, form=OWN) if prediction.call else prediction


@pytest.fixture(scope="module")
def fetch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fetch]:
    """Datasette serves a store of two arms, the second of which errs; gives what pages hold."""
    folder = tmp_path_factory.mktemp("datasette")
    path, metadata = folder / "runs.sqlite", folder / "metadata.json"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), Scripted(formed)))
    metadata.write_text(json.dumps(datasette_metadata(path)))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "datasette", str(path), "--metadata", str(metadata), "--port", str(port)]
    log = (folder / "log").open("w")
    with log, subprocess.Popen(command, stdout=log, stderr=log, cwd=folder) as server:

        def pages(*paths: str) -> list[str]:
            address = [f"http://127.0.0.1:{port}/", json.dumps(paths)]
            done = subprocess.run(
                [sys.executable, "-c", FETCH, *address], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr + Path(folder / "log").read_text()
            found: list[str] = json.loads(done.stdout)
            return found

        yield pages
        server.terminate()


@pytest.mark.slow
def test_the_store_is_there_with_its_descriptions(fetch: Fetch) -> None:
    home, database, view = fetch("", "runs", "runs/turn_results")
    assert "<title>rig" in home
    assert "What went wrong in a run" in database
    for name in EXPORTED_VIEWS:
        assert name in database
    assert "One row for each assistant turn of a finished conversation" in view
    for text in described()["turn_results"]["columns"].values():
        assert text.split("'")[0] in view


@pytest.mark.slow
def test_every_view_gives_its_rows(fetch: Fetch) -> None:
    found = fetch(*(f"runs/{name}.json?_shape=objects&_size=5" for name in EXPORTED_VIEWS))
    for name, page in zip(EXPORTED_VIEWS, found, strict=True):
        answer = json.loads(page)
        assert answer["columns"] == list(described()[name]["columns"]), name
        assert answer["rows"], name
        assert not answer.get("error"), name


def test_the_suggested_queries_answer(fetch: Fetch) -> None:
    wrong, tools = fetch(
        "runs/what_went_wrong.json?run=abcde&_shape=array", "runs/by_tool.json?run=abcde&_shape=array"
    )
    assert {row["arm"] for row in json.loads(wrong)} == {"arm1"}
    assert sum(row["matches"] for row in json.loads(tools) if row["arm"] == "arm0") == 8


def test_a_query_of_ones_own_may_follow_the_views(fetch: Fetch) -> None:
    sql = "select conversation, flip from flips where run = 'abcde' order by conversation"
    (page,) = fetch(f"runs.json?sql={quote(sql)}&_shape=array")
    assert [(row["conversation"], row["flip"]) for row in json.loads(page)] == [
        ("alarms", "lost"),
        ("login", "lost"),
        ("reminders", "lost"),
    ]

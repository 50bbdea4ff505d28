"""`--n-ctx auto`: the context is as long as the conversations that were chosen need."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf

from rig import methods
from rig.core.errors import RigError
from rig.core.models import Request
from rig.methods.base import Method, Setup
from rig.running.plan import longest_requests

Rig = Callable[..., Any]
NAMES_ONLY = ("--docs", "names", "--tools", "exact", "--similarity", "exact", "--max-tokens", "8")


@pytest.mark.slow
def test_a_run_says_what_its_longest_conversation_needs_and_keeps_it(rig: Rig, tmp_path: Path) -> None:
    path, store = tiny_gguf.write(tmp_path / "tiny.gguf", n_ctx=65_536), tmp_path / "runs.sqlite"
    asked = (*NAMES_ONLY, "--threads", "1", "--runs", store, "--display", "plain", "--json")
    run = rig("run", path, "--n-ctx", "auto", "--limit", "3", "--parallel", "1", *asked)
    assert run.code == 0, run.err
    with closing(sqlite3.connect(store)) as database:
        [(n_ctx,)] = database.execute("SELECT json_extract(fingerprint, '$.\"model.n_ctx\"') FROM arms")
        [(auto,)] = database.execute("SELECT json_extract(settings, '$.n_ctx') FROM runs")
        [(longest,)] = database.execute("SELECT max(prompt_tokens) FROM predictions")
    assert auto == "auto"
    assert n_ctx % 1024 == 0
    assert f"tiny: context {n_ctx:,}: the longest conversation needs " in run.err
    needed = int(run.err.partition("conversation needs ")[2].partition(" ")[0].replace(",", ""))
    # Its answers are rubbish, so no prompt becomes longer than in the true course.
    assert longest + 8 <= needed <= n_ctx < needed + 1024
    again = rig("run", path, "--n-ctx", n_ctx, "--limit", "1", "--parallel", "1", *asked)
    assert "longest conversation" not in again.err
    with closing(sqlite3.connect(store)) as database:
        fingerprints = {text for (text,) in database.execute("SELECT fingerprint FROM arms")}
    assert len(fingerprints) == 1


@pytest.mark.parametrize("suite", ["easy", "dynamic"])
@pytest.mark.parametrize("name", ["tooltalk", "dynamic", "autode"])
def test_methods_know_how_long_their_conversations_become(name: str, suite: str) -> None:
    method = methods.get(name)
    if (name == "autode") != (suite == "dynamic"):
        return
    _, tasks = methods.find_tasks(suite, None, name)
    values = {option.name: option.default for option in method.options}
    setup = method.ready({**values, "similarity": "exact"})
    requests = longest_requests(setup, [setup.settings], tasks[:6])
    assert [request.key.conversation for request in requests] == [task.name for task in tasks[:6]]
    assert all(len(request.messages) > 1 for request in requests)


def test_where_nobody_knows_it_a_number_is_asked_for() -> None:
    class Unknown(Method):
        name = "unknown"
        oracles: dict[str, Callable[[Any, Request], Any]] = {}  # noqa: RUF012 - as the base class has it

    with pytest.raises(RigError, match="of the method unknown become; give tokens, as in --n-ctx 8192"):
        longest_requests(Setup(Unknown(), None), [Unknown().settings({})], [])


def test_verbs_that_play_nothing_take_a_number_alone(rig: Rig) -> None:
    assert "--n-ctx N|auto" in rig("run", "--help").out
    assert "--n-ctx N " in rig("screen", "--help").out
    refused = rig("run", "oracle", "--n-ctx", "much")
    assert refused.code == 2
    assert "--n-ctx takes a whole number from 1 on or auto, not 'much'" in refused.err

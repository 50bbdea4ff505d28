"""Help, completion and the list of runs load little, so that they answer at once."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from conftest import Finished

from rig.cli import VERBS, cli

NAMES = cli.list_commands(click.Context(cli))
HEAVY = {"rig.scoring", "rig.world", "rig.compare.arms", "rig.methods.base", "torch", "textual"}


def loaded(*arguments: object, variables: Mapping[str, str] | None = None) -> set[str]:
    """Run a verb in a process of its own and return the modules that it loaded."""
    script = """
import sys
from rig.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, sep="\\n")
"""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    environment = {**os.environ, **(variables or {})}
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return set(result.stdout.splitlines())


@pytest.mark.parametrize("verb", [name for name in NAMES if name not in ("bench", "export", "import")])
def test_help_loads_nothing_that_plays(verb: str) -> None:
    modules = loaded(verb, "--help")
    assert "rig.cli.verbs" in modules
    assert modules & {*HEAVY, "numpy", "scipy", "sqlite_utils", "pydantic"} == set()


@pytest.mark.parametrize(
    "words", ["models tune", "models quantize", "models templates", "judge agreement", "card verify"]
)
def test_help_of_a_member_loads_nothing_that_plays(words: str) -> None:
    assert loaded(*words.split(), "--help") & {*HEAVY, "numpy", "scipy", "sqlite_utils", "pydantic"} == set()


@pytest.mark.parametrize(
    ("verb", "module"),
    [
        ("compare", "rig.cli.compare"),
        ("plan", "rig.plugins.plan.verb"),
        ("leaderboard", "rig.plugins.ranking.verb"),
        ("card", "rig.plugins.report.card_verb"),
        ("gate", "rig.plugins.exports.gate_verb"),
        ("judge", "rig.plugins.judging.verb"),
        ("score", "rig.plugins.rescore.verb"),
        ("screen", "rig.plugins.screen.verb"),
    ],
)
def test_completion_of_options_loads_nothing_that_plays(verb: str, module: str) -> None:
    modules = loaded(
        variables={"_RIG_COMPLETE": "bash_complete", "COMP_WORDS": f"rig {verb} --", "COMP_CWORD": "2"}
    )
    assert module in modules
    assert modules & {*HEAVY, "numpy", "scipy", "sqlite_utils", "pydantic"} == set()


def test_the_list_of_runs_loads_the_store_alone(tmp_path: Path) -> None:
    modules = loaded("runs", "--runs", tmp_path / "runs.sqlite")
    assert "rig.store" in modules
    assert modules & {*HEAVY, "numpy", "pydantic"} == set()


def test_completion_of_verbs_imports_none() -> None:
    variables = {"_RIG_COMPLETE": "bash_complete", "COMP_WORDS": "rig ", "COMP_CWORD": "1"}
    modules = loaded(variables=variables)
    assert "rig.cli.verbs" in modules
    assert modules & {*HEAVY, "numpy", "sqlite_utils", "pydantic", "rig.cli.run", "benchmarks"} == set()
    complete = ShellComplete(cli, {}, "rig", "_RIG_COMPLETE")
    assert {item.value for item in complete.get_completions([], "")} >= {*VERBS, "models"}
    assert {item.value for item in complete.get_completions(["models"], "tu")} == {"tune"}


@pytest.mark.parametrize(
    ("words", "typed", "offered"),
    [
        (("run", "--suite"), "", {"easy", "hard", "dynamic", "queries", "medium", "all"}),
        (("run", "--suite"), "ea", {"easy"}),
        (("run", "--toolbox"), "too", {"tooltalk"}),
        (("run", "--method"), "bfcl", {"bfcl", "bfcl-memory", "bfcl-turns"}),
        (("leaderboard", "--suite"), "h", {"hard"}),
    ],
)
def test_names_are_completed(words: tuple[str, ...], typed: str, offered: set[str]) -> None:
    complete = ShellComplete(cli, {}, "rig", "_RIG_COMPLETE")
    assert {item.value for item in complete.get_completions(list(words), typed)} == offered


def test_settings_are_read_once_to_list_the_verbs(
    rig: Callable[..., Finished], monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = []
    monkeypatch.setattr("rig.cli.set_own_places", lambda: reads.append(1))
    assert rig("--help").code == 0
    assert len(reads) == 1

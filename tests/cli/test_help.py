"""Help: quick, in groups, and never cut. A mistyped name gets a suggestion."""

import re
import subprocess
import sys
from collections.abc import Callable

import click
import pytest
from conftest import CHECKOUT, Finished

from rig.cli import VERBS, cli
from rig.cli.options import OUTPUT, with_all_options
from rig.cli.run import command as run
from rig.config.option import GROUPS
from rig.core.registry import own

HEAVY = {
    "gguf",
    "jinja2",
    "jsonschema",
    "llama_cpp",
    "llguidance",
    "matplotlib",
    "numpy",
    "outlines",
    "pydantic",
    "scipy",
    "sentence_transformers",
    "sqlite3",
    "sqlite_utils",
    "textual",
    "torch",
    "yaml",
}


@pytest.mark.parametrize("arguments", [(), ("--help",), ("--version",), ("rnu",)])
def test_no_verb_and_no_heavy_library_is_imported_before_it_is_needed(arguments: tuple[str, ...]) -> None:
    code = (
        "import sys\nfrom rig.cli import main\n"
        f"try:\n    main({list(arguments)!r})\nexcept SystemExit:\n    pass\n"
        "print('loaded', *sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    loaded = set(done.stderr.rpartition("loaded")[2].split())
    assert loaded & HEAVY == set()
    ours = {name for name in loaded if name.startswith(("rig.", "tui"))}
    assert ours & {verb.place.partition(":")[0] for verb in VERBS.values()} == set()
    # Tenants are registered, and none is loaded.
    registering = {".".join(name.split(".")[:n]) for name in own() for n in (1, 2, 3)}
    assert not {name for name in ours - registering if name.startswith(("rig.store", "rig.methods", "tui"))}
    assert not {name for name in ours - registering if name.startswith("rig.plugins.llama.")}


TENANTS = (
    "Generation (llama)",
    "Machine (llama)",
    "Prompt (llama)",
    "Generation (loops)",
    "Servers",
    "Strategies",
    "Dials (stress)",
)


def test_every_option_of_run_is_in_one_group_of_the_help() -> None:
    context = with_all_options(click.Context(run, info_name="run", help_option_names=["-h", "--help"]))
    options = [option for option in run.params if isinstance(option, click.Option)]
    assert len({option.name for option in options}) == len(options)
    assert {getattr(option, "group", "") for option in options} == {*GROUPS, *TENANTS, OUTPUT}
    text = run.get_help(context)
    titles = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    assert titles == [*GROUPS, *TENANTS, OUTPUT, "Options of one method, for --set"]
    # An option that a method's role adds stands with the one that it is short for.
    assert text.index("--role") < text.index("--user")
    assert re.search(r"Examples:\n +rig run smollm2-135m-tools", text)


def test_the_help_of_run_shows_twenty_options_and_leads_to_all(rig: Callable[..., Finished]) -> None:
    shown, every = (re.findall(r"(?m)^  -", rig("run", word).out) for word in ("-h", "--help-all"))
    assert (len(shown), len(every)) == (20, sum(len(option.opts) > 0 for option in _options_of_run()))
    assert "--help-all" not in rig("runs", "--help").out


def _options_of_run() -> list[click.Parameter]:
    context = click.Context(run, help_option_names=["-h", "--help"])
    return [option for option in run.get_params(context) if isinstance(option, click.Option)]


def _groups() -> list[str]:
    context = click.Context(cli)
    found = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return [name for name, command in found.items() if isinstance(command, click.Group)]


@pytest.mark.parametrize("name", ["", *_groups()])
def test_no_summary_is_cut(name: str, rig: Callable[..., Finished]) -> None:
    done = rig(*filter(None, [name]), "--help")
    assert done.code == 0
    assert "..." not in done.out.partition(":\n")[2]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("rnu",), "there is no `rig rnu` (did you mean 'run'?); `rig --help` lists what there is"),
        (("models", "lst"), "there is no `rig models lst` (did you mean 'list'?)"),
        (("zzzz",), "there is no `rig zzzz`; `rig --help` lists what there is"),
        (("run", "oracle", "--suite", "esay"), "unknown suite 'esay' (did you mean 'easy'?)"),
        (("run", "smolm2-135m"), "unknown model 'smolm2-135m' (did you mean 'smollm2-135m'?)"),
        (("run", "oracle", "--only", "addalarm-eas"), "(did you mean 'AddAlarm-easy'?)"),
        (("run", "oracle", "--method", "tooltlak"), "(did you mean 'tooltalk'?)"),
        (("run", "oracle", "--set", "max_round=2", "--suite", "dynamic"), "(did you mean 'max_rounds'?)"),
        (("check", "--toolbox", "tootalk"), "(did you mean 'tooltalk'?)"),
        (("models", "pull", "gema3-270m"), "(did you mean 'gemma3-270m'?)"),
        (("models", "quantize", "smollm2-135m", "--to", "q4_k_mm"), "(did you mean 'q4_k_m'?)"),
    ],
)
def test_a_mistyped_name_gets_a_suggestion(
    arguments: tuple[str, ...], fault: str, rig: Callable[..., Finished]
) -> None:
    done = rig(*arguments)
    assert done.code == 2
    assert fault in done.err
    assert done.err.count("\n") == 1

"""`rig doctor` and `rig world`: what would stop a run on this machine, and the mock world of the tools."""

import os
import platform
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, requires, version
from itertools import chain
from pathlib import Path
from typing import Literal

import click
import psutil
from packaging.requirements import Requirement

from rig import DISTRIBUTION, __version__
from rig.cli.options import AS_JSON, Network, complete_model_files, json_option, runs_option
from rig.cli.output import print_json, say
from rig.cli.verbs import Verbs, argument, option, verb
from rig.core.errors import RigError, counted
from rig.core.paths import CHECKOUT, WORLD_DATABASE, WORLD_SEED, models_directory
from rig.show.texts import file_size, read_so_far

_WORLD_TABLES = (
    *("users", "alarms", "events", "emails", "messages", "reminders", "weather"),
    "historic_weather",
)


@dataclass(frozen=True, slots=True)
class Symptom:
    """The result of one check. `fail` would stop a run; `advice` says what to do about it."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    advice: str = ""


@verb()
def command(
    what: str | None = argument("[MODEL|URL]", shell_complete=complete_model_files),
    *,
    runs: Path = runs_option("The run store to check."),
    network: Network,
    as_json: bool = AS_JSON,
) -> int:
    """Check that everything a run needs is in place, or what a model file or a server does with calls.

    rig looks at the libraries, llama.cpp and its GPU support, the models, the run store, the conversations,
    the world and the similarity model. It changes nothing and uses no network. The exit code is 1 if
    something would stop a run.

    With MODEL, a name or a GGUF file, rig asks the model five questions, without a grammar, and says in a
    line for each what it does with tools. With URL, rig probes a server.
    """
    findings = []
    for finding in _machine(runs) if what is None else _server(what) if "://" in what else _file(what):
        findings.append(finding)
        if not as_json:
            colour = {"ok": "green", "warn": "yellow", "fail": "red"}[finding.state]
            click.echo(f"{click.style(finding.state.ljust(4), fg=colour)}  ", nl=False)
            say(f"{finding.name.ljust(13)} {finding.detail}")
            if finding.advice:
                say(f"{'':20}{finding.advice}")
    has_failed = any(finding.state == "fail" for finding in findings)
    if as_json:
        print_json({"ok": not has_failed, "findings": [asdict(finding) for finding in findings]})
    return has_failed


def _machine(runs: Path) -> Iterator[Symptom]:
    """Check everything on this machine, and whether the network is needed for what is missing."""
    from rig.core.meters import available_cores

    cores = f"{available_cores()} of {counted(os.cpu_count() or 1, 'CPU core')}"
    memory = psutil.virtual_memory().total
    yield Symptom("python", "ok", f"{platform.python_version()} on {platform.platform()}")
    yield Symptom("machine", "ok", f"{cores}, {file_size(memory)} of memory")
    is_whole = True
    checks = (_libraries(), _llama_cpp(), _models(), _store(runs))
    for finding in chain(*checks, _conversations(), _world(), _similarity()):
        is_whole &= finding.state != "fail"
        yield finding
    if is_whole:
        yield Symptom("network", "ok", "not needed: everything a run uses is on this machine")
    else:
        yield Symptom("network", "warn", "may be needed once, for what is missing above; never for a run")


def _tell(what: str) -> None:
    """Say what is going on to a person who waits; it is no part of what is found."""
    if sys.stderr.isatty():
        click.echo(what, err=True)


def _server(url: str) -> Iterator[Symptom]:
    """Probe a server with small requests, and yield a line for each thing that it does wrong."""
    from rig.plugins import served as serving

    # Imported here, because HTTP takes a moment to load.
    from rig.plugins.served.probes import load, probe, settings_for_probes
    from rig.plugins.served.settings import ServedSettings
    from rig.plugins.served.wire.client import ServerFault

    settings = settings_for_probes(ServedSettings(thorough=True))
    serving.check(url, settings)
    served = load(url, settings, _tell)
    yield Symptom("server", "ok", served.line)
    try:
        faults = [
            Symptom(symptom.name, "fail", symptom.fault, symptom.advice)
            for symptom in dict.fromkeys(probe(served, lambda what: _tell(f"probes {what}")))
        ]
    except ServerFault as fault:
        faults = [Symptom("answers", "fail", f"{fault.kind}: {fault}", "see the server's log")]
    finally:
        served.close()
    looked_at = "tools, context, sampling, calls, thoughts, stop tokens and streams are as they should be"
    yield from faults or [Symptom("answers", "ok", looked_at)]


def _file(name: str) -> Iterator[Symptom]:
    """Ask a model five questions, and yield a line for each on what it does with tools."""
    # Imported here, because the engine takes a moment to load.
    from rig.plugins.doctor.questions import QUESTIONS, ask
    from rig.plugins.lines.displays import PassingLine
    from rig.plugins.llama.files.registry import resolve

    model, passing, asked, is_advised = resolve(name), PassingLine(), 0, False

    def on_read(read: int, prompt: int) -> None:
        progress = f": reads the prompt: {read_so_far(read, prompt)}" if prompt else ""
        passing.show(f"question {asked + 1} of {len(QUESTIONS)}{progress}")

    try:
        for finding in ask(model, on_read):
            asked += 1
            passing.clear()
            is_good = finding.is_right and not finding.is_leaked
            advice = _LEAKED if finding.is_leaked and not is_advised else ""
            is_advised |= finding.is_leaked
            yield Symptom(finding.question.title, "ok" if is_good else "warn", finding.text, advice)
    finally:
        passing.clear()
    yield from _template_variables(resolve(name).path)


def _template_variables(path: Path) -> Iterator[Symptom]:
    """Yield what a chat template lets people set."""
    from rig.plugins.llama.core.template import ChatTemplate
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.files.registry import template_source
    from rig.plugins.llama.verbs.info import variable_lines

    source = template_source(inspect(path), None, own_format=True)
    lines = variable_lines(ChatTemplate(source)) if source else []
    advice = "rig run --template-set NAME=VALUE,VALUE makes an arm of each"
    if lines:
        yield Symptom("variables", "ok", "; ".join(lines), advice)


_LEAKED = "llama-server and vLLM take leaked calls for words; more lenient programs carry them out"


def _libraries() -> Iterator[Symptom]:
    """Check the declared requirements of the installed rig against what is installed."""
    try:
        requirements = [Requirement(line) for line in requires(DISTRIBUTION) or []]
    except PackageNotFoundError:
        yield Symptom("libraries", "warn", "rig itself is not installed", "install it: pip install -e .")
        return
    versions = [f"rig {__version__}"]
    for requirement in requirements:
        if requirement.marker and not requirement.marker.evaluate({"extra": "engine"}):
            continue
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            yield Symptom("libraries", "fail", f"{requirement.name} is missing", _SETUP)
            continue
        versions.append(f"{requirement.name} {installed}")
        if not requirement.specifier.contains(installed, prereleases=True):
            fault = (
                f"{requirement.name} {installed} is not what rig was tested with ({requirement.specifier})"
            )
            yield Symptom("libraries", "warn", fault, _SETUP)
    yield Symptom("libraries", "ok", ", ".join(versions))


def _llama_cpp() -> Iterator[Symptom]:
    from rig.plugins.bundle.built import built_for

    try:
        build = built_for()
    except RigError as error:
        yield Symptom("llama.cpp", "fail", f"does not start ({error})", f"build it anew: {_BUILD}")
        return
    yield Symptom("llama.cpp", "ok", build.system.strip())
    on_cpu = f"no: models run on the CPU; for a GPU: {_BUILD}"
    yield Symptom("gpu offload", "ok", "yes" if build.offloads else on_cpu)


def _models() -> Iterator[Symptom]:
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.files.registry import check, known_names, load_registry, resolve

    registry = load_registry()
    usable = 0
    for name in known_names():
        entry = registry.get(name)
        if entry and not entry.path.is_file():
            continue
        try:
            if entry:
                check(entry)
            path = entry.path if entry else resolve(name).path
            inspect(path)
        except RigError as error:
            yield Symptom("model", "fail" if entry else "warn", str(error))
            continue
        usable += 1
        state = "verified" if entry else "complete"
        yield Symptom("model", "ok", f"{name}: {state}, {path}")
        yield from _template(name, path)
    if not usable:
        advice = f"rig models pull {next(iter(registry), 'NAME')}, or copy a GGUF file there"
        yield Symptom("model", "fail", f"there is none in {models_directory()}", advice)


def _template(name: str, path: Path) -> Iterator[Symptom]:
    """Yield what is wrong with a chat template that has tools, and what rig does instead."""
    # Imported here, because forms of answers take a moment to load.
    from rig.plugins.llama.core.template import ChatTemplate
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.files.registry import template_source
    from rig.plugins.llama.formats.detection import Unsupported, native_of

    advice = "give another with --chat-template FILE, or see what rig makes of it: rig models info --tools"
    try:
        source = template_source(inspect(path), None, own_format=True)
        if source is None:
            return
        native = native_of(ChatTemplate(source))
    except RigError as error:
        yield Symptom("template", "warn", f"{name}: {error}", advice)
        return
    except Unsupported as error:
        if error.shows_calls:
            fault = f"{name}: the template {error}; it answers in rig's form"
            yield Symptom("template", "warn", fault, advice)
        return
    for fault in native.faults if native.is_supported else ():
        yield Symptom("template", "warn", f"{name}: {fault}", advice)


def _store(path: Path) -> Iterator[Symptom]:
    from rig.store import check_writable

    try:
        check_writable(path)
    except RigError as error:
        yield Symptom("run store", "fail", str(error))
        return
    yield Symptom("run store", "ok", f"{path} {'can be added to' if path.exists() else 'can be made'}")


def _conversations() -> Iterator[Symptom]:
    from rig import methods

    suites = methods.suites()
    if not suites:
        yield Symptom("conversations", "fail", "none came with this installation", "install rig again")
    for suite, (method, place) in suites.items():
        try:
            loaded = method.load(place)
        except RigError as error:
            yield Symptom("conversations", "fail", str(error), f"rig check {place}")
            continue
        turns = sum(len(task.known_turns) for task in loaded)
        calls = sum(task.ground_truth_count for task in loaded)
        to_predict = f"{counted(turns, 'turn')} to predict, " if turns else ""
        counts = f"{counted(len(loaded), 'conversation')}, {to_predict}{calls} ground-truth calls"
        yield Symptom("conversations", "ok", f"{suite}: {counts}")


def _world() -> Iterator[Symptom]:
    from rig.plugins.tooltalk_tools.seeds import check_world
    from rig.plugins.tooltalk_tools.world import ToolTalkWorld

    try:
        world = ToolTalkWorld.open()
    except RigError as error:
        yield Symptom("world", "fail", str(error))
        return
    if faults := check_world(world):
        first = f"{counted(len(faults), 'fault')}; the first: {faults[0]}"
        yield Symptom("world", "fail", first, "rig world build")
        return
    counts = (f"{world.database[name].count} {name.replace('_', ' ')}" for name in _WORLD_TABLES)
    yield Symptom("world", "ok", ", ".join(counts))


def _similarity() -> Iterator[Symptom]:
    from rig.scoring import similarity

    try:
        similarity.load("minilm")
    except RigError as error:
        yield Symptom("similarity", "fail", str(error), _SETUP)
        return
    yield Symptom("similarity", "ok", "all-MiniLM-L6-v2 is here")


_SETUP = "run `make setup` again" if CHECKOUT else f"install {DISTRIBUTION}[engine] in a new environment"
_BUILD = (
    "make setup GPU=cuda (or vulkan, metal; GPU=cpu is without)"
    if CHECKOUT
    else "CMAKE_ARGS=-DGGML_CUDA=on pip install --force-reinstall --no-deps --no-cache-dir llama-cpp-python"
)
"""The advice in a checkout, or for an installed wheel."""
_DIRECTORY = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


@verb(Verbs)
def world() -> None:
    """Build the mock world, or check it."""


@world.verb()
def build(
    seed: Path = option("The folder of JSON files to build from.", type=_DIRECTORY, default=WORLD_SEED),
    output: Path = option("The file to write.", type=_FILE, default=WORLD_DATABASE),
    as_json: bool = AS_JSON,
) -> None:
    """Build the world file. It has the same bytes every time."""
    from rig.plugins.tooltalk_tools.seeds import build_world

    build_world(seed, output)
    if as_json:
        print_json({"output": str(output), "sha256": sha256(output.read_bytes()).hexdigest()})
    else:
        say(f"built {output}")


@world.verb("check")
def check_file(
    *,
    seed: Path = option("The folder of JSON files it was built from.", type=_DIRECTORY, default=WORLD_SEED),
    file: Path = option("The file to check.", flags="--world", type=_FILE, default=WORLD_DATABASE),
    as_json: bool = json_option("Print the faults as a JSON list."),
) -> int:
    """Check the world file: print one line for each fault, and exit with code 1 if there are any."""
    from rig.plugins.tooltalk_tools.seeds import check_world, world_from
    from rig.plugins.tooltalk_tools.world import ToolTalkWorld

    try:
        world = ToolTalkWorld.open(file)
        faults = check_world(world)
        dump = world.dump()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise RigError(f"{file}: damaged: {error}; `rig world build` builds it again") from error
    if dump != world_from(seed).dump():
        faults.append(f"{file} is not what {seed} makes; `rig world build` brings it up to date")
    if as_json:
        print_json(list(faults))
    else:
        for fault in faults:
            say(fault)
        say(f"{file}: {counted(len(faults), 'fault') if faults else 'sound'}")
    return bool(faults)

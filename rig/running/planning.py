"""The options of the user, and the plan made from them: models, tasks and world, all checked."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rig import methods
from rig.config.options import TABLE, Option, RunConfig, combined, of_reader, pair
from rig.config.schemes import FILE, Scheme, ServerUse, place_of, scheme_of
from rig.core import opening, registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError, did_you_mean
from rig.core.metrics import NO_REMARK, Remark
from rig.core.models import Request
from rig.core.tasks import Task, in_random_order, select
from rig.methods.base import Method
from rig.running.control import HUMAN, Person
from rig.running.plan import MethodArm, Plan, longest_requests, make_arms
from rig.running.strategy import RunStrategy
from rig.scoring import NamedMeasure, answers_file
from rig.store import Runs, StoredRun, check_writable
from rig.store.deletion import new_run_id
from rig.world.toolbox import find_toolbox, tool_folders


def recipe_of(config: RunConfig, names: Container[str]) -> JsonObject:
    """Return the options for the store, with absolute paths so that a run can be resumed from anywhere.

    `names` are the models that the method knows. Raises RigError for another that does not exist.
    """
    changes: dict[str, Any] = {
        name: Path(place).absolute()
        for name, place in (("toolbox", config.toolbox), ("reader", config.reader))
        if place is not None and Path(place).exists()
    }
    changes["similarity"] = str(NamedMeasure.parse(config.similarity).absolute)
    changes["models"] = [_unambiguous(model, names) for model in config.models]
    changes["lora"] = [_files().stored_adapter(text) for text in config.lora]
    players = ((role, model) for role, models in config.players().items() for model in models)
    changes["role"] = [f"{role}={_unambiguous(model, names)}" for role, model in players]
    stored = config.replace(**changes)
    return {name: _as_json(option, stored.values(name)) for name, option in TABLE.items()}


def stored_config(stored: StoredRun) -> RunConfig:
    """Return the options that a run was started with. Raises RigError if they are damaged."""
    try:
        return config_of(stored.settings)
    except RigError as error:
        raise RigError(f"run {stored.id}: its settings are damaged: {error}") from error


def config_of(recipe: JsonObject) -> RunConfig:
    """Read options that `recipe_of` wrote, without those that nothing registers. Raises RigError."""
    return RunConfig.of(**{name: value for name, value in recipe.items() if name in TABLE})


def engines_of(config: RunConfig) -> dict[str, RunConfig]:
    """Return a copy for each of the settings that models are loaded with, by label."""
    engines = {label: config.replace(**values) for label, values in config.combinations("engine").items()}
    if not config.noise:
        return engines
    alike: dict[str, RunConfig] = {}
    for label, own in engines.items():
        alike[label] = own
        alike |= {f"{label} {end}".strip(): other for end, other in _files().alike(own).items()}
    return alike


def method_arms(config: RunConfig, method: Method) -> dict[str, MethodArm]:
    """Return the method's settings, with the values that make them, by label. Raises RigError."""
    arms = {}
    for label, values in combined(values_of(config, method)).items():
        shared = {name: values[name] for name in of_reader("method") if name in values}
        arms[label] = MethodArm(shared, method.settings(values))
    return arms


def values_of(config: RunConfig, method: Method) -> dict[str, Sequence[Any]]:
    """Return the values of each of the method's options, at least one each.

    Raises RigError for options that the method does not know, and for several values of one that takes one.
    """
    by_name = {option.name: option for option in method.options}
    own = _own_values(config, by_name)
    for name, option in of_reader("method").items():
        if name not in by_name and config.is_changed(name):
            raise RigError(f"{option.flag} has no effect on the method {method.name}; leave it out")
    values: dict[str, Sequence[Any]] = {}
    for name, option in by_name.items():
        values[name] = config.values(name) if name in TABLE else own.get(name, [option.default])
        if len(values[name]) > 1 and not option.several:
            raise RigError(f"--set {name} takes one value")
    return values


def first_values(config: RunConfig, method: Method) -> dict[str, Any]:
    """Return the first value of each of the method's options. Raises RigError."""
    return {name: several[0] for name, several in values_of(config, method).items()}


def _own_values(config: RunConfig, by_name: Mapping[str, Option]) -> dict[str, list[Any]]:
    """Return the options given by `set`, by name, as values."""
    chosen: dict[str, list[Any]] = {}
    for text in config.set:
        name, value = pair(text, "--set", "NAME=VALUE")
        if name not in by_name or name in TABLE:
            names = ", ".join(sorted(by_name.keys() - TABLE.keys())) or "none"
            meant = f"{name}{did_you_mean(name, names.split(', '))}"
            raise RigError(f"--set {text}: no option of the method is called {meant}; choose from: {names}")
        option = by_name[name]
        try:
            values = option.levels(value) if option.commas else (option.parse(value),)
        except RigError as error:
            raise RigError(f"--set {text}: {error}") from error
        chosen.setdefault(name, []).extend(values)
    return {name: list(dict.fromkeys(values)) for name, values in chosen.items()}


def _as_json(option: Option, values: tuple[Any, ...]) -> Any:
    words = [str(value.absolute()) if isinstance(value, Path) else option.word(value) for value in values]
    return words if option.listed or len(words) > 1 else words[0]


def _unambiguous(model: str, names: Container[str]) -> str:
    """Return a name that the method, rig or its registry knows, a URL, or a file's absolute path."""
    return model if model in names or model == HUMAN else scheme_of(model).stored(model)


def _files() -> Scheme:
    scheme: Scheme = registry.registered().schemes[FILE]
    return scheme


def plan(config: RunConfig, store: Path, name: str | None = None) -> Plan:
    """Plan a new run. Raises RigError for anything that would stop it; writes nothing."""
    check_writable(store)
    for model in config.models:
        config = scheme_of(model).adapted(config)
    if config.toolbox is not None and config.conversations is None and not config.is_changed("suite"):
        # By default, the tasks that come with the toolbox.
        use = ServerUse(config.servers, config.server_network)
        suites = find_toolbox(config.toolbox, use).suites
        config = config.replace(conversations=suites[0]) if suites else config
    method, tasks = methods.find_tasks(config.suite, config.conversations, config.method)
    planned = plan_tasks(config, method, tasks, store, name)
    caution = planned.schedule.caution if planned.schedule else NO_REMARK
    return replace(planned, faults=tasks.faults, caution=caution)


def plan_tasks(
    config: RunConfig, method: Method, tasks: Sequence[Task], store: Path, name: str | None = None
) -> Plan:
    """Plan a new run of tasks that are not read from a suite. Otherwise like `plan`."""
    check_writable(store)
    if not tasks:
        raise RigError("the suite holds no conversation; write one into its files")
    for task in tasks:
        if any("\ud800" <= character <= "\udfff" for character in task.name):
            raise RigError(f"{task.name!a}: a task's name holds half of a surrogate pair, which no text has")
    chosen = select(tasks, config.only, config.limit, config.without)
    if (strategy := _strategy(config)) is not None:
        config = strategy.adapted(config)
        chosen = in_random_order(chosen, *config.values("seed"))
    return _plan(config, method, chosen, store, run=new_run_id(store), name=name)


def _strategy(config: RunConfig) -> RunStrategy | None:
    """Return the strategy that the options choose, if any. Raises RigError if they choose several."""
    strategies: Iterable[RunStrategy] = registry.registered().strategies.values()
    chosen = [strategy for strategy in strategies if strategy.is_chosen(config)]
    if len(chosen) > 1:
        flags = " and ".join(f"--{strategy.name}" for strategy in chosen)
        raise RigError(f"{flags} both decide what is played; give one of them")
    return chosen[0] if chosen else None


def plan_resume(
    text: str, given: Mapping[str, Any], store: Path, *, retry_failed: bool | None = None
) -> Plan:
    """Plan the rest of a stored run, including what failed in it, as `Plan.retry_failed` says.

    Models and options are those it was started with; the tasks are those in the store. Raises RigError if one
    of the options `given` anew, by name, differs.
    """
    check_writable(store)
    with Runs.open(store) as runs:
        stored = runs.get(text)
        tasks = runs.conversations(stored)
    if unknown := [name for name in stored.settings if name not in TABLE]:
        raise RigError(
            f"run {stored.id} has options that nothing here registers ({', '.join(unknown)}); name"
            " their plugin, as in `rig --plugin FILE run --resume RUN`"
        )
    config = stored_config(stored)
    method = methods.get(stored.declaration.method)
    _require_as_started(stored, config, method, given)
    names = method.models(()).keys()
    before = recipe_of(config, names)
    now = recipe_of(config_of({**before, **given}), names)
    changes = "; ".join(
        f"{name} was {before[name]!r}, not {now[name]!r}" for name in before if before[name] != now[name]
    )
    if changes:
        raise RigError(f"cannot resume {stored.id}: {changes}; leave that out, or start a new run")
    again = _plan(config, method, tasks, store, run=stored.id, name=stored.name, resume=True)
    caution = Remark(stored.declaration.caution, stored.declaration.decides)
    return replace(again, caution=caution, retry_failed=retry_failed)


def elsewhere(plan: Plan, where: str) -> Plan:
    """Return the plan with the evaluated models on other machines, as in `ray:ADDRESS`.

    This is not stored, so a run can be resumed anywhere. Raises RigError for arms that cannot be there.
    """
    if any(arm.config.lora for arm in plan.arms):
        raise RigError("--on does not work with --lora; `rig models merge` makes a model of both")
    if any(isinstance(arm.load, partial) and Person in arm.load.args for arm in plan.arms):
        raise RigError("people can only answer on this machine; leave out --on")
    place = place_of(where)
    loads = {arm.load: place.elsewhere(where, arm.load) for arm in plan.arms}
    arms = tuple(replace(arm, load=loads[arm.load], adapt=None) for arm in plan.arms)
    return replace(plan, arms=arms, place=place)


def require_opened(stored: StoredRun, config: RunConfig, method: Method, given: Container[str]) -> None:
    """Raise RigError for files that a stored run names and the user did not. `given` are options by name."""
    # Options of a run besides its method's that can name files.
    opened = (name for name, option in TABLE.items() if option.opens and option.reader != "method")
    values = {**{name: config.values(name) for name in opened}, **files_named(config, method)}
    left = {name: value for name, value in values.items() if name not in given}
    opening.require_named(stored.id, left, _names(method))


def files_named(config: RunConfig, method: Method) -> dict[str, Sequence[Any]]:
    """Return the values of the method's options that can name files."""
    values = values_of(config, method)
    return {option.name: values[option.name] for option in method.options if option.opens}


def _require_as_started(stored: StoredRun, config: RunConfig, method: Method, given: Container[str]) -> None:
    """Like `require_opened`, for a run that is resumed; if it was started here, only another toolbox is
    refused.

    The hash of its code is compared before it is loaded.
    """
    if not opening.was_started_here(stored.id, stored.settings):
        require_opened(stored, config, method, given)
    elif config.toolbox is not None and "toolbox" not in given and config.toolbox not in _names(method):
        before = {(arm.fingerprint or {}).get("protocol.toolbox_sha256") for arm in stored.arms} - {None}
        sha256 = tool_folders().hash_of(Path(config.toolbox))
        if sha256 is None or before - {sha256}:
            opening.require_named(stored.id, {"toolbox": config.toolbox}, _names(method))


def _names(method: Method) -> set[str]:
    """Return the names that are registered, and so are not places."""
    return {*method.models(()), *registry.registered().toolboxes}


def _plan(
    config: RunConfig,
    method: Method,
    tasks: Sequence[Task],
    store: Path,
    *,
    run: str,
    name: str | None,
    resume: bool = False,
) -> Plan:
    engines = engines_of(config)
    for own in engines.values():
        for scheme in registry.registered().schemes.values():
            scheme.check(own)
    recipe = recipe_of(config, method.models(()).keys())
    settings = method_arms(config, method)
    setup = method.ready(first_values(config, method)).adjudicated(answers_file(store))
    prompts: Sequence[Request] = ()
    if any(scheme_of(model).sizes_context(config) for model in config.models):
        prompts = longest_requests(setup, (arm.settings for arm in settings.values()), tasks)
    arms, strategy = make_arms(config, engines, settings, method, tasks, prompts), _strategy(config)
    plan = Plan(
        run=run,
        store=store,
        arms=arms,
        tasks=tuple(tasks),
        method=method,
        setup=setup,
        name=name,
        repeats=config.repeats,
        recipe=recipe,
        resume=resume,
        loss=None if strategy or config.noise or resume else config.loss / 100,
        schedule=strategy.schedule(config, arms) if strategy else None,
    )
    plan.check()
    return plan

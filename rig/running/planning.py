"""The options of the user, and the plan made from them: models, tasks and world, all checked."""

import itertools
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rig import methods
from rig.config.engine import EngineOptions, arms_of
from rig.config.options import OF_ENGINE, OF_METHODS, TABLE, Option, of_plugins
from rig.config.schemes import AGAIN, EXACT, FILE, Scheme, ServerUse, place_of, scheme_of
from rig.core import opening, registry
from rig.core.calls import JsonObject
from rig.core.errors import RigError, did_you_mean
from rig.core.metrics import NO_REMARK, Remark
from rig.core.models import Request
from rig.core.tasks import Task, in_random_order, select
from rig.methods.base import Method, Settings
from rig.running.control import HUMAN, Person
from rig.running.plan import Plan, longest_requests, make_arms
from rig.running.strategy import RunStrategy
from rig.scoring import NamedMeasure, answers_file
from rig.store import Runs, StoredRun, check_writable
from rig.store.deletion import new_run_id
from rig.world.toolbox import find_toolbox, tool_folders


class Options(SimpleNamespace):
    """The options of a run (`rig.config.options`), as the user gave them. Stored with the run, to resume it.

    Each is an attribute. An option that makes arms is a tuple of values, and every model is run with every
    combination of them. `models` are names, paths of GGUF files, or models that the method knows, such as
    `oracle`. With `noise`, every arm gets two others that should answer alike.
    """

    def __init__(self, **values: Any) -> None:
        if unknown := values.keys() - TABLE.keys():
            raise TypeError(f"no option is called {', '.join(sorted(unknown))}")
        super().__init__(**{name: values.get(name, option.start) for name, option in TABLE.items()})

    def replace(self, **changes: Any) -> "Options":
        """Return a copy with these changes."""
        return Options(**{**vars(self), **changes})

    def is_changed(self, name: str) -> bool:
        """Return whether an option differs from its default."""
        return bool(getattr(self, name) != TABLE[name].start)

    def as_json(self, names: Container[str]) -> JsonObject:
        """Return the options for the store, with absolute paths so that a run can be resumed from anywhere.

        `names` are the models that the method knows. Raises RigError for another that does not exist.
        """
        values = {name: _as_json(TABLE[name], value) for name, value in vars(self).items()}
        for name, place in (("toolbox", self.toolbox), ("reader", self.reader)):
            if place is not None and Path(place).exists():
                values[name] = str(Path(place).absolute())
        values["similarity"] = str(NamedMeasure.parse(self.similarity).absolute)
        values["models"] = [_unambiguous(model, names) for model in self.models]
        values["lora"] = [_files().stored_adapter(text) for text in self.lora]
        values["role"] = [
            f"{role}={_unambiguous(model, names)}"
            for role, models in self.roles().items()
            for model in models
        ]
        return values

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Options":
        """Read options that `as_json` wrote; options newer than the run keep their default.

        Before there were several formats all runs were in rig's.
        """
        values = {"format": "rig", **data}
        for name, option in TABLE.items():
            if name in values and (option.listed or option.several):
                value = values[name]
                values[name] = tuple(value) if isinstance(value, list | tuple) else (value,)
            elif option.kind is Path and values.get(name) is not None:
                values[name] = Path(values[name])
        return cls(**{name: values[name] for name in TABLE if name in values})

    def engines(self) -> dict[str, EngineOptions]:
        """Return the settings that models are loaded with, by label."""
        values = {
            name: _distinct(getattr(self, name)) if option.several else [getattr(self, name)]
            for name, option in OF_ENGINE.items()
        }
        # One text can stand for several arms, and several texts for the variables of one.
        values["template_set"] = arms_of(values["template_set"])
        engines: dict[str, EngineOptions] = {}
        for combination in _combinations(values):
            settings = EngineOptions(
                **{OF_ENGINE[n].field: (OF_ENGINE[n].values or {}).get(v, v) for n, v in combination.items()}
            )
            label = _label({n: v for n, v in combination.items() if len(values[n]) > 1})
            engines.setdefault(label, settings)
        if not self.noise:
            return engines
        alike: dict[str, EngineOptions] = {}
        for label, settings in engines.items():
            # With equal seeds samples would be equal, so the second has another.
            seed = (settings.seed + 1) % 2**32 if settings.draws else settings.seed
            alike[label] = settings
            alike[f"{label} {AGAIN}".strip()] = replace(settings, seed=seed)
            alike[f"{label} {EXACT}".strip()] = replace(settings, exact=True, parallel=None)
        return alike

    def own(self) -> dict[str, dict[str, Any]]:
        """Return the values of plugins' options that make arms, by label."""
        values = {
            name: _distinct(getattr(self, name)) for name, option in of_plugins().items() if option.several
        }
        several = [name for name, chosen in values.items() if len(chosen) > 1]
        return {_label({name: of[name] for name in several}): of for of in _combinations(values)}

    def settings(self, method: Method) -> dict[str, Settings]:
        """Return the method's settings, by label."""
        values = self.values(method)
        several = [name for name, chosen in values.items() if len(chosen) > 1]
        return {
            _label({name: combination[name] for name in several}): method.settings(combination)
            for combination in _combinations(values)
        }

    def values(self, method: Method) -> dict[str, list[Any]]:
        """Return the values of each of the method's options, at least one each.

        Raises RigError for options that the method does not know, and for several values of one that takes
        one.
        """
        by_name = {option.name: option for option in method.options}
        own = self._own_values(by_name)
        for name, option in OF_METHODS.items():
            if name not in by_name and self.is_changed(name):
                raise RigError(f"{option.flag} has no effect on the method {method.name}; leave it out")
        values = {}
        for name, option in by_name.items():
            if name in TABLE:
                value = getattr(self, name)
                values[name] = _distinct(value) if TABLE[name].several else [value]
            else:
                values[name] = own.get(name, [option.default])
            if len(values[name]) > 1 and not option.several:
                raise RigError(f"--set {name} takes one value")
        return values

    def first_values(self, method: Method) -> dict[str, Any]:
        """Return the first value of each of the method's options. Raises RigError."""
        return {name: several[0] for name, several in self.values(method).items()}

    def roles(self) -> dict[str, tuple[str, ...]]:
        """Return the players of each role, one or several. Raises RigError for what is not ROLE=MODEL."""
        players: dict[str, tuple[str, ...]] = {}
        for text in self.role:
            role, model = _split(text, "--role", "ROLE=MODEL")
            players[role] = tuple(_distinct([*players.get(role, ()), model]))
        return players

    def _own_values(self, by_name: Mapping[str, Option]) -> dict[str, list[Any]]:
        """Return the options given by `set`, by name, converted to their defaults' types."""
        chosen: dict[str, list[Any]] = {}
        for text in self.set:
            name, value = _split(text, "--set", "NAME=VALUE")
            if name not in by_name or name in TABLE:
                names = ", ".join(sorted(by_name.keys() - TABLE.keys())) or "none"
                meant = f"{name}{did_you_mean(name, names.split(', '))}"
                raise RigError(
                    f"--set {text}: no option of the method is called {meant}; choose from: {names}"
                )
            option = by_name[name]
            try:
                values = option.levels(value) if option.commas else (option.parse(value),)
            except RigError as error:
                raise RigError(f"--set {text}: {error}") from error
            chosen.setdefault(name, []).extend(values)
        return {name: _distinct(values) for name, values in chosen.items()}


def _as_json(option: Option, value: Any) -> Any:
    if option.listed:
        return list(value)
    if option.several:
        several = _distinct(value)
        return several[0] if len(several) == 1 else several
    return str(value.absolute()) if isinstance(value, Path) else value


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))


def _combinations(values: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values of these options."""
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def _label(varied: Mapping[str, Any]) -> str:
    """Return what distinguishes a combination from the others, in words."""
    return " ".join(
        f"{name.replace('_', '-')}={str(value).removesuffix('.0')}" for name, value in varied.items()
    )


def _unambiguous(model: str, names: Container[str]) -> str:
    """Return a name that the method, rig or its registry knows, a URL, or a file's absolute path."""
    return model if model in names or model == HUMAN else scheme_of(model).stored(model)


def _files() -> Scheme:
    scheme: Scheme = registry.registered().schemes[FILE]
    return scheme


def _split(text: str, option: str, form: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not (name and separator and value):
        raise RigError(f"{option} {text}: give {form}")
    return name, value


def plan(options: Options, store: Path, name: str | None = None) -> Plan:
    """Plan a new run. Raises RigError for anything that would stop it; writes nothing."""
    check_writable(store)
    for model in options.models:
        options = scheme_of(model).adapted(options)
    if options.toolbox is not None and options.conversations is None and not options.is_changed("suite"):
        # By default, the tasks that come with the toolbox.
        use = ServerUse(options.servers, options.server_network)
        suites = find_toolbox(options.toolbox, use).suites
        options = options.replace(conversations=suites[0]) if suites else options
    method, tasks = methods.find_tasks(options.suite, options.conversations, options.method)
    planned = plan_tasks(options, method, tasks, store, name)
    caution = planned.schedule.caution if planned.schedule else NO_REMARK
    return replace(planned, faults=tasks.faults, caution=caution)


def plan_tasks(
    options: Options, method: Method, tasks: Sequence[Task], store: Path, name: str | None = None
) -> Plan:
    """Plan a new run of tasks that are not read from a suite. Otherwise like `plan`."""
    check_writable(store)
    if not tasks:
        raise RigError("the suite holds no conversation; write one into its files")
    for task in tasks:
        if any("\ud800" <= character <= "\udfff" for character in task.name):
            raise RigError(f"{task.name!a}: a task's name holds half of a surrogate pair, which no text has")
    chosen = select(tasks, options.only, options.limit, options.without)
    if (strategy := _strategy(options)) is not None:
        options = strategy.adapted(options)
        chosen = in_random_order(chosen, options.seed)
    return _plan(options, method, chosen, store, run=new_run_id(store), name=name)


def _strategy(options: Options) -> RunStrategy | None:
    """Return the strategy that the options choose, if any. Raises RigError if they choose several."""
    strategies: Iterable[RunStrategy] = registry.registered().strategies.values()
    chosen = [strategy for strategy in strategies if strategy.is_chosen(options)]
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
    options = Options.from_json(stored.settings)
    method = methods.get(stored.declaration.method)
    _require_as_started(stored, options, method, given)
    names = method.models(()).keys()
    before = options.as_json(names)
    now = Options.from_json({**before, **given}).as_json(names)
    changes = "; ".join(
        f"{name} was {before[name]!r}, not {now[name]!r}" for name in before if before[name] != now[name]
    )
    if changes:
        raise RigError(f"cannot resume {stored.id}: {changes}; leave that out, or start a new run")
    again = _plan(options, method, tasks, store, run=stored.id, name=stored.name, resume=True)
    caution = Remark(stored.declaration.caution, stored.declaration.decides)
    return replace(again, caution=caution, retry_failed=retry_failed)


def elsewhere(plan: Plan, where: str) -> Plan:
    """Return the plan with the evaluated models on other machines, as in `ray:ADDRESS`.

    This is not stored, so a run can be resumed anywhere. Raises RigError for arms that cannot be there.
    """
    if plan.recipe.get("lora"):
        raise RigError("--on does not work with --lora; `rig models merge` makes a model of both")
    if any(isinstance(arm.load, partial) and Person in arm.load.args for arm in plan.arms):
        raise RigError("people can only answer on this machine; leave out --on")
    place = place_of(where)
    loads = {arm.load: place.elsewhere(where, arm.load) for arm in plan.arms}
    arms = tuple(replace(arm, load=loads[arm.load], adapt=None) for arm in plan.arms)
    return replace(plan, arms=arms, place=place)


def require_opened(stored: StoredRun, options: Options, method: Method, given: Container[str]) -> None:
    """Raise RigError for files that a stored run names and the user did not. `given` are options by name."""
    # Options of a run besides its method's that can name files.
    opened = (name for name, option in TABLE.items() if option.opens and name not in OF_METHODS)
    values = {**{name: getattr(options, name) for name in opened}, **files_named(options, method)}
    left = {name: value for name, value in values.items() if name not in given}
    opening.require_named(stored.id, left, _names(method))


def files_named(options: Options, method: Method) -> dict[str, list[Any]]:
    """Return the values of the method's options that can name files."""
    values = options.values(method)
    return {option.name: values[option.name] for option in method.options if option.opens}


def _require_as_started(stored: StoredRun, options: Options, method: Method, given: Container[str]) -> None:
    """Like `require_opened`, for a run that is resumed; if it was started here, only another toolbox is
    refused.

    The hash of its code is compared before it is loaded.
    """
    if not opening.was_started_here(stored.id, stored.settings):
        require_opened(stored, options, method, given)
    elif options.toolbox is not None and "toolbox" not in given and options.toolbox not in _names(method):
        before = {(arm.fingerprint or {}).get("protocol.toolbox_sha256") for arm in stored.arms} - {None}
        sha256 = tool_folders().hash_of(Path(options.toolbox))
        if sha256 is None or before - {sha256}:
            opening.require_named(stored.id, {"toolbox": options.toolbox}, _names(method))


def _names(method: Method) -> set[str]:
    """Return the names that are registered, and so are not places."""
    return {*method.models(()), *registry.registered().toolboxes}


def _plan(
    options: Options,
    method: Method,
    tasks: Sequence[Task],
    store: Path,
    *,
    run: str,
    name: str | None,
    resume: bool = False,
) -> Plan:
    for engine in options.engines().values():
        _files().check(engine)
    recipe = options.as_json(method.models(()).keys())
    values = options.first_values(method)
    engines, settings = options.engines(), options.settings(method)
    setup = method.ready(values).adjudicated(answers_file(store))
    prompts: Sequence[Request] = ()
    if options.n_ctx == "auto" and any(scheme_of(model).sizes_context for model in options.models):
        prompts = longest_requests(setup, settings.values(), tasks)
    roles, strategy = options.roles(), _strategy(options)
    arms = make_arms(
        options.models, engines, settings, method, tasks, roles, options.lora, prompts, options.own()
    )
    plan = Plan(
        run=run,
        store=store,
        arms=arms,
        tasks=tuple(tasks),
        method=method,
        setup=setup,
        name=name,
        repeats=options.repeats,
        recipe=recipe,
        resume=resume,
        loss=None if strategy or options.noise or resume else options.loss / 100,
        schedule=strategy.schedule(options, arms) if strategy else None,
    )
    plan.check()
    return plan

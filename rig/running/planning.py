"""From what the user asked for to a plan: find models, tasks and world, and check them all."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rig import engine, methods, opening, plugins
from rig.cluster import loader_on
from rig.engine.core.settings import DRAFTS
from rig.errors import RigError
from rig.methods.base import Method
from rig.metrics import NO_REMARK, Remark
from rig.options import OF_METHODS, TABLE
from rig.running.arms import make_arms
from rig.running.deciding import CAUTION
from rig.running.options import Options
from rig.running.person import Person
from rig.running.plan import Plan
from rig.scoring import answers_file
from rig.store import Runs, StoredRun, check_writable
from rig.store.reader import new_run_id
from rig.tasks import Task, in_random_order, select
from rig.toolbox.folder import find_toolbox, hash_of, holds_toolbox


def plan(options: Options, store: Path, name: str | None = None) -> Plan:
    """The plan of a new run. Raises RigError for anything that would stop it; writes nothing."""
    check_writable(store)
    if options.toolbox is not None and options.conversations is None and not options.is_changed("suite"):
        # The tasks that come with a toolbox, where nobody says which tasks.
        suites = find_toolbox(options.toolbox).suites
        options = options.replace(conversations=suites[0]) if suites else options
    method, tasks = methods.find_tasks(options.suite, options.conversations, options.method)
    chosen = select(tasks, options.only, options.limit)
    if options.until:
        chosen = in_random_order(chosen, options.seed)
    planned = _plan(options, method, chosen, store, run=new_run_id(store), name=name)
    return replace(planned, faults=tasks.faults, caution=CAUTION if options.until else NO_REMARK)


def plan_tasks(
    options: Options, method: Method, tasks: Sequence[Task], store: Path, name: str | None = None
) -> Plan:
    """The plan of a new run of tasks that are not read from a suite. Otherwise like `plan`."""
    check_writable(store)
    chosen = select(tasks, options.only, options.limit)
    return _plan(options, method, chosen, store, run=new_run_id(store), name=name)


def plan_resume(
    text: str, given: Mapping[str, Any], store: Path, *, retry_failed: bool | None = None
) -> Plan:
    """The plan of what is left of a stored run, and of what failed in it as `Plan.retry_failed` says.

    Models and options are those it was started with; the tasks are those in the store. Raises RigError if
    one of the options `given` anew, by name, differs.
    """
    check_writable(store)
    with Runs.open(store) as runs:
        stored = runs.get(text)
        tasks = runs.conversations(stored)
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
    """The same run with the models that are evaluated on other machines, as in `ray:ADDRESS`.

    Nothing of that is stored, so that a run resumes anywhere. Raises RigError for arms that cannot be there.
    """
    if plan.recipe.get("lora"):
        raise RigError("--on does not work with --lora; `rig models merge` makes a model of both")
    if not set(Options.from_json({"models": [], **plan.recipe}).draft) <= set(DRAFTS):
        raise RigError("--on does not work with a draft model; --draft sibling and --draft lookup can")
    if any(isinstance(arm.load, partial) and Person in arm.load.args for arm in plan.arms):
        raise RigError("people can only answer on this machine; leave out --on")
    loads = {arm.load: loader_on(where, arm.load) for arm in plan.arms}
    arms = tuple(replace(arm, load=loads[arm.load], adapt=None) for arm in plan.arms)
    return replace(plan, arms=arms, is_elsewhere=True)


def require_opened(stored: StoredRun, options: Options, method: Method, given: Container[str]) -> None:
    """Raise RigError for files that a stored run names, if the user did not. `given` are options by name."""
    # Options of a run besides its method's that can name files.
    opened = (name for name, option in TABLE.items() if option.opens and name not in OF_METHODS)
    values = {**{name: getattr(options, name) for name in opened}, **files_named(options, method)}
    left = {name: value for name, value in values.items() if name not in given}
    opening.require_named(stored.id, left, _names(method))


def files_named(options: Options, method: Method) -> dict[str, list[Any]]:
    """The values of the method's options that can name files."""
    values = options.values(method)
    return {option.name: values[option.name] for option in method.options if option.opens}


def _require_as_started(stored: StoredRun, options: Options, method: Method, given: Container[str]) -> None:
    """The same for a run that is resumed: of one that was started here, only another toolbox is refused.

    The hash of its code is compared before it is loaded.
    """
    if not opening.was_started_here(stored.id, stored.settings):
        require_opened(stored, options, method, given)
    elif options.toolbox is not None and "toolbox" not in given and options.toolbox not in _names(method):
        before = {(arm.fingerprint or {}).get("protocol.toolbox_sha256") for arm in stored.arms} - {None}
        place = Path(options.toolbox)
        if not holds_toolbox(place) or before - {hash_of(place)}:
            opening.require_named(stored.id, {"toolbox": options.toolbox}, _names(method))


def _names(method: Method) -> set[str]:
    """What is registered by name and is no place."""
    return {*method.models(()), *plugins.registered().toolboxes}


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
    _check_engine(options)
    recipe = options.as_json(method.models(()).keys())
    values = options.first_values(method)
    engines, settings = options.engines(), options.settings(method)
    plan = Plan(
        run=run,
        store=store,
        arms=make_arms(options.models, engines, settings, method, tasks, options.roles(), options.adapters()),
        tasks=tuple(tasks),
        method=method,
        setup=method.ready(values).adjudicated(answers_file(store)),
        name=name,
        repeats=options.repeats,
        recipe=recipe,
        resume=resume,
        until=options.loss / 100 if options.until else None,
    )
    plan.check()
    return plan


def _check_engine(options: Options) -> None:
    """Raise RigError for settings that no model could run with, before the first of several models runs."""
    if "q8_0" in options.kv and options.flash_attention == "off":
        raise RigError("--kv q8_0 needs flash attention; leave out --flash-attention off")
    if options.exact and options.parallel not in (None, 1):
        raise RigError("--exact decodes one sequence at a time; leave out --parallel")
    if options.n_ctx is not None and options.n_ctx <= options.max_tokens:
        raise RigError(
            f"--n-ctx {options.n_ctx} leaves no room for a prompt beside --max-tokens {options.max_tokens};"
            " raise one or lower the other"
        )
    for settings in options.engines().values():
        engine.check(settings)
    template = options.chat_template
    if template is not None and not template.is_file():
        fault = "not a file" if template.exists() else "no such file"
        raise RigError(f"--chat-template {template}: {fault}; give a Jinja2 template")

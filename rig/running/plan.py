"""What a run will do, decided and checked before anything is stored: its arms, and all that they need."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from rig.config.options import RunConfig
from rig.config.schemes import NO_WEIGHTS, ArmWeights, Loader, Scheme, Variant, scheme_of
from rig.core.calls import JsonObject
from rig.core.errors import RigError, counted
from rig.core.events import Where
from rig.core.metrics import ALPHA, NO_REMARK, Declaration, Remark
from rig.core.models import Model, Notify, Request
from rig.core.tasks import Task
from rig.methods.base import HarderSettings, Method, Settings, Setup
from rig.methods.episode import course
from rig.running.control import HUMAN, Person
from rig.running.strategy import Schedule
from rig.store import GraderInfo, NewRun
from rig.world.toolbox import LEFT_OUT


@dataclass(frozen=True, slots=True)
class Arm:
    """A model to evaluate, how tasks are put to it, and who plays the other roles.

    Consecutive arms that have the very same `load` share what it loads, and likewise with `others`. `adapt`
    sets up what is one arm's alone in a loaded model, before the arm's first task; it may raise RigError.
    Consecutive arms with equal `weights` share them. `config` has the run's options with those that make arms
    as they are in this one.
    """

    name: str
    load: Loader
    settings: Settings
    adapt: Callable[[Model], None] | None = None
    others: Mapping[str, Loader] = field(default_factory=dict)
    weights: ArmWeights = NO_WEIGHTS
    config: RunConfig = field(default_factory=RunConfig)


class MethodArm(NamedTuple):
    """Settings of a method, and the values of the options of runs that they have, by name."""

    values: Mapping[str, Any]
    settings: Settings


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a run needs.

    `recipe` is stored, so that the run can be planned again. With `resume` the run is already in the store:
    its failed arms are tried again; if `retry_failed` is True, so are turns that the machine failed, and if
    it is False not even arms. A `schedule` says which arm plays what next; without one, each plays all.
    `caution` has to be printed wherever the run's rates are; `faults` are lines
    on tasks that could not be read and are left out. With a `place`, the models are on other machines, so no
    time measured here is theirs. `loss` is the loss of success that arms are compared for, a fraction,
    if any. With a `schedule`, the
    tasks are in a random order. `notice` is said as the run begins.
    """

    run: str
    store: Path
    arms: tuple[Arm, ...]
    tasks: tuple[Task, ...]
    method: Method
    setup: Setup
    name: str | None = None
    repeats: int = 1
    recipe: JsonObject = field(default_factory=dict)
    resume: bool = False
    retry_failed: bool | None = None
    caution: Remark = NO_REMARK
    faults: tuple[str, ...] = ()
    place: Scheme | None = None
    loss: float | None = None
    schedule: Schedule | None = None
    notice: str = ""

    @property
    def shortfall(self) -> str:
        """A warning if these conversations cannot show the loss even if nothing flips; else empty."""
        if self.loss is None or len(self.arms) < 2 or self.declaration.success_metric is None:
            return ""
        # Imported here so that runs of one arm start fast.
        from rig.stats.power import Spread

        number, level = len(self.tasks), ALPHA / (len(self.arms) - 1)
        detectable = Spread(0.0).detectable(number, level, self.repeats)
        if detectable is not None and detectable <= self.loss:
            return ""
        finding = "no loss" if detectable is None else f"a loss above {100 * detectable:.0f} points at best"
        return (
            f"{counted(number, 'conversation')} can show {finding}, not one of {100 * self.loss:g} (--loss);"
            " `rig plan` says what it takes"
        )

    @property
    def declaration(self) -> Declaration:
        """What is counted, and the remarks that must be made about it."""
        declaration = self.method.declaration_of(self.tasks)
        for arm in self.arms:
            if isinstance(arm.settings, HarderSettings):
                declaration = arm.settings.declared(declaration)
        left_out = dict.fromkeys(arm.settings.fingerprint.get(LEFT_OUT) for arm in self.arms)
        tools = [f"tools that cannot be read are left out: {text[:300]}" for text in left_out if text]
        own = "; ".join(filter(None, [declaration.caution, *tools]))
        text = self.caution.text
        if own and own not in text:  # that of a resumed run has it already
            text = f"{own}; {text}" if text else own
        return declaration.cautioned(Remark(text, declaration.decides and self.caution.decides))

    @property
    def grader(self) -> GraderInfo:
        """The grader, as the store keeps it."""
        return GraderInfo.of(self.setup.grader)

    def check(self) -> None:
        """Raise RigError if a task cannot be played with an arm's settings, or cannot be stored."""
        if self.schedule is not None:
            self.schedule.check(self)
        distinct = dict.fromkeys(arm.settings for arm in self.arms)
        for task in self.tasks:
            try:
                json.dumps(task.source, ensure_ascii=False, allow_nan=False).encode()
            except UnicodeEncodeError as error:
                raise RigError(f"{task.name!a}: holds text that is not Unicode: {error}") from error
            except ValueError as error:
                # Python reads NaN and Infinity from a file; what is stored must be readable by others.
                raise RigError(f"{task.name}: holds a number that is not JSON: {error}") from error
            for settings in distinct:
                self.setup.check(task, settings)

    def as_new_run(self) -> NewRun:
        """Return what the store records about the run when it begins."""
        return NewRun(
            id=self.run,
            name=self.name,
            settings=self.recipe,
            arms=tuple(arm.name for arm in self.arms),
            conversations=self.tasks,
            declaration=self.declaration,
            repeats=self.repeats,
        )


def longest_requests(
    setup: Setup, settings: Iterable[Settings], tasks: Sequence[Task]
) -> tuple[Request, ...]:
    """Return each task's longest request, by characters, with each of the settings if all roles play
    correctly.

    Raises RigError for a method without models that know what is right.
    """
    method, models = setup.method, setup.method.models(tasks)
    longest = []
    for own in settings:
        names = {method.roles[0]: "oracle", **method.cast(own), **method.knowing}
        if not models.keys() >= set(names.values()):
            raise RigError(
                f"--n-ctx auto: nobody knows how long conversations of the method {method.name} become;"
                " give tokens, as in --n-ctx 8192"
            )
        players = {role: models[name]() for role, name in names.items()}
        setup.meet(players)
        for task in tasks:
            episode = setup.start(task, own, Where(0, task.name), lambda _event: None, 0)
            requests = (ask.request for ask, _ in course(episode, players))
            longest.append(max(requests, key=lambda request: len(repr(request.messages))))
    return tuple(longest)


def make_arms(
    config: RunConfig,
    engines: Mapping[str, RunConfig],
    settings: Mapping[str, MethodArm],
    method: Method,
    tasks: Sequence[Task],
    prompts: Sequence[Request] = (),
) -> tuple[Arm, ...]:
    """Return an arm for each model × engine settings × adapter × method settings × players × options of
    plugins, in this order.

    The settings are by label: what an arm's name says about them, empty if there is only one. Arms that
    differ only in adapters and the method's settings share a loader, and so the weights. A model that the
    method knows has no engine settings and takes no adapter. Those who play other roles have the first
    engine's settings. Raises RigError for an unknown model, an adapter that does not fit, and a role that
    nobody plays.
    """
    loaders: dict[str, Loader] = {name: partial(_known, make) for name, make in method.models(tasks).items()}
    casts, own = _casts(method, config.players(), settings), config.combinations("plugin")
    players: dict[str, Loader] = {HUMAN: partial(_known, Person), **loaders}
    every = (cast.values() for of_label in casts.values() for cast in of_label.values())
    for player in (player for names in every for player in names):
        if player not in players:
            engine = next(iter(engines.values()))
            players[player] = partial(
                scheme_of(player).variants(player, {"": engine}, (), prompts)[0].load, ""
            )
    arms: list[Arm] = []
    for text in config.models:
        of_method = [Variant(text, {"": loaders[text]})] if text in loaders else None
        variants = of_method or scheme_of(text).variants(text, engines, config.lora, prompts)
        labels = [
            (engine, variant, label, cast, more)
            for engine in variants[0].loaders
            for variant in variants
            for label in settings
            for cast in casts[label]
            for more in own
        ]
        names_before = {arm.name for arm in arms}
        suffix, number = "", 2
        while not names_before.isdisjoint(names := _names(suffix, labels)):
            suffix, number = f"-{number}", number + 1
        arms += [
            Arm(
                arm,
                variant.loaders[engine],
                settings[label].settings,
                variant.adapt,
                {role: players[player] for role, player in casts[label][cast].items()},
                variant.weights,
                engines.get(engine, config).replace(**settings[label].values, **own[more]),
            )
            for arm, (engine, variant, label, cast, more) in zip(names, labels, strict=True)
        ]
    return tuple(arms)


def _casts(
    method: Method, roles: Mapping[str, Sequence[str]], settings: Mapping[str, MethodArm]
) -> dict[str, dict[str, dict[str, str]]]:
    """Return who can play with whom, by the settings' label: players by role, by what an arm's name says."""
    unknown = sorted(roles.keys() - set(method.roles[1:]))
    if unknown:
        others = ", ".join(method.roles[1:]) or "none"
        raise RigError(f"--role {unknown[0]}: not a role of the method {method.name}; its roles: {others}")
    casts_by_label = {}
    for label, of_label in settings.items():
        players = {
            role: tuple(roles.get(role, filter(None, [default])))
            for role, default in method.cast(of_label.settings).items()
        }
        missing = [role for role, names in players.items() if not names]
        if missing:
            raise RigError(f"who plays the {missing[0]}? Give --role {missing[0]}=MODEL")
        varied = [role for role, names in players.items() if len(names) > 1]
        casts = (dict(zip(players, names, strict=True)) for names in product(*players.values()))
        casts_by_label[label] = {
            " ".join(f"{role}={_stem(cast[role])}" for role in varied): cast for cast in casts
        }
    return casts_by_label


def _stem(model: str) -> str:
    """Return a model's name, or its file's name without the ending."""
    return Path(model).stem if model.endswith(".gguf") else model


def _names(suffix: str, labels: Sequence[tuple[str, Variant, str, str, str]]) -> list[str]:
    return [
        " ".join(filter(None, (variant.name + suffix, engine, label, cast, more)))
        for engine, variant, label, cast, more in labels
    ]


def _known(make: Callable[[], Model], _: Notify) -> Model:
    return make()

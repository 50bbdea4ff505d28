"""AutoDE as a method: how it plays a scenario, checks scenarios, its suites, and its options.

Source: upstream's `eval.py`. A turn of an episode is one message of the assistant with the user's words
before it; the user's first words are the scenario's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args

from rig.core.calls import Call, ExecutedCall, Outcome, Verdict
from rig.core.errors import ErrorKind, RigError
from rig.core.events import Rejudged, Where
from rig.core.files import beginning
from rig.core.metrics import Score
from rig.core.models import Message, Model, Prediction, Request
from rig.core.tasks import ASSISTANT as THE_ASSISTANT
from rig.core.tasks import Step
from rig.methods.base import Checked, Grading, Method, Option, Setup
from rig.methods.episode import Asking, Episode, course
from rig.methods.scripted import Oracle
from rig.plugins.autode import checkout
from rig.plugins.autode.judgement import DECLARATION, UPSTREAM_VERSION, VERSION, arguments, judge, verdict_of
from rig.plugins.autode.scenarios import USER, Required, Scenario, load_directory, parse
from rig.plugins.autode.scripted_user import FAILED, ScriptedUser, missing, obedient_step, true_step
from rig.plugins.autode.talk import THE_USER, AutoDeSettings, Form, Mode, Talk, messages, opening, tagged_call
from rig.world.toolbox import Toolbox


class Dialogue(Episode):
    """A scenario for an assistant and a user."""

    task: Scenario
    settings: AutoDeSettings

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.talk = Talk(self.task, self.settings)

    @property
    def is_over(self) -> bool:
        return self.talk.end is not None

    def begin(self) -> None:
        """Do nothing: everything that is said is in the talk."""

    def speak(self) -> Asking:
        """Ask the user, except where the scenario has the words, and then the assistant."""
        if self.turn:
            yield from self.ask(THE_USER)
        if self.talk.end is None:
            yield from self.ask(THE_ASSISTANT)
        if self.talk.end == "round_limit" and self.settings.compat and self.settings.mode == "dynamic":
            yield from self.ask(THE_USER)  # as upstream does, though nobody will answer

    def messages(self, role: str) -> tuple[Message, ...]:
        return messages(self.talk.said, role, self.settings.mode)

    def phrases(self, role: str) -> tuple[str, ...]:
        return (FAILED,) if role == THE_USER else ()

    def read(self, prediction: Prediction, role: str) -> Prediction:
        """Return what the assistant wrote, with a call between tags turned into a call."""
        if role == THE_USER or self.settings.form != "func" or prediction.reply is None:
            return prediction
        try:
            call = tagged_call(prediction.reply, compat=self.settings.compat)
        except ValueError as fault:
            return replace(prediction, reply=None, error=ErrorKind.INVALID, error_detail=str(fault))
        return prediction if call is None else replace(prediction, reply=None, call=call)

    def execute(self, call: Call) -> ExecutedCall:
        """Return the call with an empty outcome: it ends the conversation."""
        return ExecutedCall(call, Outcome())

    def judge(self, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        return verdict_of(self.task, executed.call), ()

    def add(self, step: Step) -> None:
        self.talk.add(step)

    def score(self) -> Score:
        return judge(self.task, self.talk, self.settings.compat)


GIVEN_AT_FIRST = 2
"""The most values that the first query may give away; the assistant has to ask for the others."""

OFFERED = range(2, 7)
"""How many APIs may be on offer, so that choosing one matters."""


def faults(scenarios: Sequence[Scenario], setup: Setup) -> Iterator[str]:
    """Yield what is wrong with scenarios that could be read, one line for each fault."""
    user = ScriptedUser(scenarios)
    oracle, obedient = (Oracle(scenarios, step) for step in (true_step, obedient_step))
    for scenario in scenarios:
        talks = (_play(scenario, setup, assistant, user) for assistant in (oracle, obedient))
        yield from (f"{scenario.name}: {fault}" for fault in _faults(scenario, *talks))


def _play(scenario: Scenario, setup: Setup, assistant: Model, user: Model) -> Talk:
    """Return the conversation that these players have."""
    dialogue = setup.start(scenario, setup.settings, Where(0, scenario.name), lambda _: None, 0)
    assert isinstance(dialogue, Dialogue)
    for _ in course(dialogue, {THE_ASSISTANT: assistant, THE_USER: user}):
        pass
    return dialogue.talk


def _faults(scenario: Scenario, by_oracle: Talk, by_obedient: Talk) -> Iterator[str]:
    """Yield a scenario's faults: the scripted user must say every value, and the oracle make the true call.

    An assistant that asks only for what is required must learn all that the true call needs.
    """
    told = len(scenario.slots) - len(missing(scenario, [scenario.query]))
    required = scenario.api.required("fixed")
    if told > GIVEN_AT_FIRST:
        yield f"the first query gives away {told} values; at most {GIVEN_AT_FIRST}"
    if len(scenario.apis) not in OFFERED:
        yield f"{len(scenario.apis)} APIs are on offer; {OFFERED[0]} to {OFFERED[-1]}"
    if left_out := [name for name in required if name not in scenario.slots]:
        yield f"the call has no {', '.join(left_out)}, which {scenario.call.name} requires"
    unsaid = missing(scenario, [text for role, text in by_oracle.said if role == USER])
    if unsaid := [name for name in unsaid if not isinstance(scenario.slots[name], bool)]:
        yield f"asked for it, the scripted user does not say {', '.join(unsaid)}"
    if by_oracle.end != "called":
        yield f"the oracle and the scripted user end without a call: {by_oracle.end}"
    slots = arguments(by_obedient.call) if by_obedient.call is not None else {}
    if unasked := [name for name in scenario.slots if name not in slots and name not in required]:
        names = ", ".join(unasked)
        yield f"who asks only for what is required never learns {names}: mark it, or say it at first"


class AutoDE(Method):
    """A user with a script talks to an assistant until it calls, or they end (arXiv 2403.11128)."""

    name = "autode"
    declaration = DECLARATION
    roles: tuple[str, ...] = (THE_ASSISTANT, THE_USER)
    knowing: Mapping[str, str] = MappingProxyType({THE_ASSISTANT: "oracle", THE_USER: "scripted"})
    episode = Dialogue
    shipped = ("dynamic",)
    parse = staticmethod(parse)
    options: tuple[Option, ...] = (
        Option("mode", "dynamic", several=True, choices=get_args(Mode)),
        Option("form", "rig", several=True, choices=get_args(Form)),
        Option("required", "fixed", several=True, choices=get_args(Required)),
        Option("max_rounds", 8, least=1),
        Option("compat", False),
    )

    def recognises(self, place: Path) -> bool:
        if checkout.find_dataset(place) is not None:
            return checkout.holds_data(place)
        first = min(place.glob("*.json"), default=None) if place.is_dir() else None
        return first is not None and '"scenarios"' in beginning(first, 400)

    def load(self, place: Path) -> Sequence[Scenario]:
        is_public = checkout.find_dataset(place) is not None
        return checkout.load(place) if is_public else load_directory(place)

    def check(self, place: Path, world: Path | None = None, toolbox: Toolbox | None = None) -> Checked:
        """Check whether upstream's data can be read, row by row, or find the faults of other scenarios."""
        try:
            if checkout.find_dataset(place) is not None:
                rows = checkout.read(place)
                return Checked(place, len(rows), rows.faults)
            scenarios = load_directory(place)
        except RigError as error:
            return Checked(place, 0, (str(error),))
        setup = self.ready({option.name: option.default for option in self.options})
        lines = tuple(f"{place}: {fault}" for fault in faults(scenarios, setup))
        return Checked(place, len(scenarios), lines)

    def models(self, tasks: Sequence[Scenario]) -> Mapping[str, Callable[[], Model]]:
        return {"oracle": lambda: Oracle(tasks, true_step), "scripted": lambda: ScriptedUser(tasks)}

    def settings(self, values: Mapping[str, Any]) -> AutoDeSettings:
        return AutoDeSettings(**{option.name: values[option.name] for option in self.options})

    def cast(self, settings: AutoDeSettings) -> Mapping[str, str]:
        """Return the players of the other roles: none if the conversation is recorded."""
        return {THE_USER: "scripted"} if settings.mode == "dynamic" else {}

    def ready(self, values: Mapping[str, Any]) -> Setup:
        return AutoDESetup(self, self.settings(values))

    def opening(self, task: Scenario, settings: AutoDeSettings, role: str) -> Request:
        return opening(task, settings, role)


class AutoDESetup(Setup):
    """A setup without a world: scenarios have none, so only the scores have to be prepared."""

    settings: AutoDeSettings

    @property
    def grader(self) -> Grading:
        kind, version = ("upstream", UPSTREAM_VERSION) if self.settings.compat else ("default", VERSION)
        return Grading(kind, version, "exact", {"mode": kind, "version": version})


METHOD: Method = AutoDE()

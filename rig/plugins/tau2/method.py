"""τ²-bench's solo mode as a method: tickets, tools, and a reward for the world at the end.

The reward is computed as in upstream, without a judge: the product of the parts in a task's reward basis.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rig.core.calls import Call, CallPlace, ExecutedCall, Fault, FaultKind, JsonObject, Outcome, Verdict
from rig.core.errors import MACHINE
from rig.core.events import Rejudged
from rig.core.metrics import Declaration, Metric, Part, Score
from rig.core.models import Prediction, Request, StepKey, ToolDoc
from rig.core.tasks import ASSISTANT
from rig.methods.base import Grading, Loaded, Method, Option, Setup
from rig.methods.episode import Asking, Episode
from rig.methods.scripted import called, true_step
from rig.plugins.defects.defects import sound_counts, sound_metrics
from rig.plugins.tau2 import tickets
from rig.plugins.tau2.checkout import POLICIES, USER_ALONE, Domain, Result, TicketWorld, domain, domains_of
from rig.plugins.tau2.tickets import DONE, Assertion, Ticket

MOST_MESSAGES = 100
"""The most messages with calls that are answered: upstream's 200 steps, two for each with its answer."""
MOST_ERRORS = 10
"""The number of failed calls that ends the work, after the message with the last of them."""
HAND_OVER = "transfer_to_human_agents"
_HAND_OVER = Call(HAND_OVER, {"summary": ""})

INSTRUCTIONS = """\
You work for a company's customer service and have a ticket to settle by yourself, with tools alone: the
customer cannot be asked or told anything. Tools that look at the customer's device or change it act on that
device. Follow the company's policy, which stands below, and check with the tools whether what you did helped.
When everything is settled, or the policy says that you can do no more, call `done` by itself. A message that
calls no tool ends the work without success.

<policy>
{policy}
</policy>"""

_DONE = ToolDoc(
    DONE,
    "Ends the work on the ticket. To be called once, when everything is settled.",
    {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
)


@dataclass(frozen=True)
class Tau2Settings:
    """How an agent gets tickets: with the technical `policy`, from the checkout at `place`."""

    policy: str
    place: str

    is_solo = True
    protocol = "tau2-solo"
    told = f"{INSTRUCTIONS}{_DONE}"
    """The text that roles read in every task."""

    @property
    def fingerprint(self) -> JsonObject:
        digest = hashlib.sha256(self.told.encode()).hexdigest()
        return {"protocol": self.protocol, "policy": self.policy, "prompt_sha256": digest}

    def domain(self, name: str) -> Domain:
        """Load a domain of the checkout. Raises RigError."""
        return domain(self.place, name, self.policy, self.is_solo)


class Solo(Episode):
    """An episode of a ticket: calls are answered until one is `done`, or a limit is reached."""

    task: Ticket
    settings: Tau2Settings
    makes_again = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._domain = self.settings.domain(self.task.domain)
        self._end = DONE if self.settings.is_solo else None
        self.world = self.task.begin(self._domain)
        self.calls: list[Call] = []
        self.callers: list[str] = []
        self.errors: list[bool] = []
        self._due = dict(enumerate(self.task.due))
        self._judged: list[Verdict] = []

    def begin(self) -> None:
        """Do nothing: the ticket is in the context."""

    def speak(self) -> Asking:
        """Ask until the work is done, nothing is called, or a limit is reached."""
        while not self.is_exhausted:
            yield from self.ask(self.evaluated)
            if self.is_done or self.steps[-1].executed is None:
                return

    def read(self, prediction: Prediction, role: str) -> Prediction:
        """Return the prediction. In solo mode, `done` cancels all other calls of a message."""
        calls = (prediction.call, *prediction.further) if prediction.call is not None else ()
        done = next((call for call in calls if call.name == self._end), None)
        return prediction if done is None else replace(prediction, call=done, further=())

    def execute(self, call: Call) -> ExecutedCall:
        if call.name == self._end:
            result = Result("The work on the ticket has ended.")
        else:
            result = self.world.call(call.name, call.arguments, self.speaker)
        self.calls.append(call)
        self.callers.append(self.speaker)
        self.errors.append(result.is_error)
        return ExecutedCall(call, Outcome(result.text))

    def judge(self, executed: ExecutedCall) -> tuple[Verdict, tuple[Rejudged, ...]]:
        return self._verdicts()[-1], ()

    @property
    def is_exhausted(self) -> bool:
        """Whether a limit is reached. Upstream counts a message and its answer as two steps."""
        steps = (step for steps in (*(turn.steps for turn in self.played), self.steps) for step in steps)
        begun = (step for step in steps if step.prediction.part == 0)
        messages = sum(step.role == ASSISTANT or step.executed is not None for step in begun)
        return messages >= MOST_MESSAGES or sum(self.errors) >= MOST_ERRORS

    @property
    def is_done(self) -> bool:
        """Whether the agent has ended the work with `done`."""
        return bool(self.calls) and self.calls[-1].name == DONE

    @property
    def told(self) -> Sequence[str]:
        """The agent's words, including those beside a call, which count in upstream."""
        steps = (step for turn in self.played for step in turn.steps if step.role == self.evaluated)
        return [text for step in steps if (text := step.prediction.reply or step.prediction.content)]

    def score(self) -> Score:
        error = next((turn.error for turn in self.played if turn.error), None)
        faults = self.setup.faults_of(self.task, self._domain, self.world, self.calls, self.told)
        if not self.is_done:
            faults = (self.ending(str(error) if error else ""),)
        verdicts = self._verdicts()
        counts: dict[str, float] = {
            "success": int(not faults),
            f"success.{self.task.intent}": int(not faults),
            f"tasks.{self.task.intent}": 1,
            **sound_counts(self.task, self.task.suite, int(not faults)),
            "hand_over": int(self.setup.is_reached_by(self.task, self._domain, _HAND_OVER)),
            "calls": len(self.calls),
            "errors": sum(self.errors),
            "unneeded": sum(verdict.bad_action for verdict in verdicts),
        }
        kind = FaultKind.GENERATION_FAILED if error in MACHINE else FaultKind.WORLD_DIFFERS
        types = {0: dict(Counter(text.partition(":")[0] for text in faults))} if faults else {}
        named = tuple(Fault(kind if self.is_done else FaultKind.MISSING_CALL, 0, text) for text in faults)
        return Score(counts, verdicts, types, named)

    def ending(self, error: str) -> str:
        """Return why the work ended without success."""
        if sum(self.errors) >= MOST_ERRORS:
            return f"too many errors: {MOST_ERRORS} calls failed"
        if error:
            return f"no answer: the last message ended in an error ({error})"
        if self.settings.is_solo and self.played and self.played[-1].steps[-1].executed is None:
            return "no call: a message called no tool, which ends the work without success"
        return f"too many steps: {MOST_MESSAGES} messages, and no end"

    def _verdicts(self) -> tuple[Verdict, ...]:
        """Return a verdict on each call: whether it is a true one, or else whether it changes something.

        A verdict rests on earlier calls alone, so each is made once.
        """
        due, is_solo = self._due, self.settings.is_solo
        calls = list(zip(self.calls, self.errors, self.callers, strict=True))
        for call, is_error, caller in calls[len(self._judged) :]:
            mine = (at for at, action in due.items() if is_solo or action.requestor == caller)
            place = next((at for at in mine if due[at].is_made_as_written_by(call)), None)
            if place is not None and not is_error:
                del due[place]
                is_known = place < len(self.task.expected(0).calls)
                verdict = Verdict(True, CallPlace(0, place) if is_known else None)
            elif is_error:
                verdict = Verdict(False, reason="the call failed")
            elif call.name in self._domain.writes and caller == self.evaluated:
                verdict = Verdict(False, bad_action=True, reason="changes what need not be changed")
            else:
                verdict = Verdict(False, reason="looks something up")
            self._judged.append(verdict)
        return tuple(self._judged)


def _failing(world: TicketWorld, assertion: Assertion) -> str:
    """Return why an assertion does not hold in a world, or "" if it holds."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in assertion.arguments.items())
    text = f"{assertion.func_name}({arguments})"
    try:
        value = world.run(assertion.env_type, assertion.func_name, assertion.arguments)
    except Exception as error:
        return f"{text} failed: {type(error).__name__}: {error}"
    return "" if value is assertion.assert_value else f"{text} is {value}"


def handed_over(task: Ticket, request: Request) -> Prediction:
    """Predict as an agent that hands every ticket over."""
    return called(HAND_OVER, {"summary": "For a person."}) if request.key.step == 0 else called(DONE)


class SoloSetup(Setup):
    """The checkout whose classes the calls act in. Their code is run, so only the user says where it is."""

    settings: Tau2Settings

    def __init__(self, method: Method, settings: Tau2Settings) -> None:
        super().__init__(method, settings)
        self._reached: dict[tuple[str, str], bool] = {}
        self._targets: dict[str, tuple[str | None, str | None]] = {}

    def is_reached_by(self, task: Ticket, place: Domain, *calls: Call) -> bool:
        """Return whether just these calls, such as a hand-over or none at all, already succeed.

        This is tried once for each task and list of calls, however many arms and repeats play it.
        """
        key = task.name, repr(calls)
        if key not in self._reached:
            world = task.begin(place)
            for call in calls:
                world.call(call.name, call.arguments)
            self._reached[key] = not self.faults_of(task, place, world, calls)
        return self._reached[key]

    def faults_of(
        self, task: Ticket, place: Domain, world: TicketWorld, calls: Sequence[Call], told: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Return the faults of the final world, the calls and the words, by the task's basis; none earns 1.

        Databases are compared before assertions are made, which may change them.
        """
        faults: list[str] = []
        if "DB" in task.criteria.reward_basis and task.criteria.judges_world:
            sides = zip(("agent's", "user's"), world.hashes(), self._target(task, place), strict=True)
            faults += [f"database: the {side} differs" for side, got, due in sides if got != due]
        if "ENV_ASSERTION" in task.criteria.reward_basis:
            failing = (_failing(world, assertion) for assertion in task.criteria.env_assertions or ())
            faults += [f"assertion: {text}" for text in failing if text]
        if "ACTION" in task.criteria.reward_basis:
            missing = (action for action in task.actions if not any(map(action.is_made_by, calls)))
            faults += [f"action: {action.name} was not called as it should be" for action in missing]
        if "COMMUNICATE" in task.criteria.reward_basis:
            heard = [text.lower().replace(",", "") for text in told]
            due = task.criteria.communicate_info or ()
            unsaid = (text for text in due if not any(text.lower() in words for words in heard))
            faults += [f"words: the customer was not told {text}" for text in unsaid]
        return tuple(faults)

    def _target(self, task: Ticket, place: Domain) -> tuple[str | None, str | None]:
        """Return the hashes of the databases after the true actions, which are run once for each task."""
        if task.name not in self._targets:
            target = task.begin(place)
            for action in task.actions:
                target.act(action.requestor, action.name, action.arguments)
            self._targets[task.name] = target.hashes()
        return self._targets[task.name]

    @property
    def fingerprint(self) -> JsonObject:
        names = domains_of(self.settings.place, self.settings.is_solo)
        return {f"{name}_sha256": self.settings.domain(name).fingerprint for name in names}

    @property
    def grader(self) -> Grading:
        version = self.method.version
        return Grading("reward", version, "", {"grader": "reward", "grader_version": version})

    def check(self, task: Ticket, settings: Tau2Settings) -> None:
        """Raise RigError if this checkout cannot set up the task. An unprepared task is not tried."""
        place = settings.domain(task.domain)
        if task.is_prepared:
            task.begin(place)


class Tau2(Method):
    """τ²-bench's tickets, settled without a user."""

    name = "tau2"
    options: tuple[Option, ...] = (
        Option("policy", "manual", several=True, choices=tuple(POLICIES)),
        Option("code", "", opens=True),
    )
    oracles = MappingProxyType({"oracle": true_step, "hand-over": handed_over})
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle"})
    episode = Solo
    declaration = Declaration(
        method="tau2",
        success="success",
        metrics=(
            Metric("success", "success", "success"),
            Metric("hand_over", "success of handing every ticket over", "hand_over", place="tables"),
            Metric("error_rate", "calls that failed", "errors", "calls", "lower", place="tables"),
        ),
        outcome=(
            Part("unneeded", "unneeded actions", better="lower"),
            Part("errors", "failed calls", better="lower"),
        ),
        error_types="what is wrong in the end",
    )

    def declaration_of(self, tasks: Sequence[Ticket]) -> Declaration:
        """Return the declaration with a rate for each intent, if there are several."""
        intents = list(dict.fromkeys(task.intent for task in tasks))
        kinds = (
            Metric(
                f"success.{name}",
                f"success, {name.replace('_', ' ')}",
                f"success.{name}",
                f"tasks.{name}",
                place="tables",
            )
            for name in intents
        )
        parts = tuple(kinds) if len(intents) > 1 else ()
        sound = sound_metrics(tasks, dict.fromkeys((task.suite for task in tasks), "success"))
        return self.declaration._replace(metrics=(*self.declaration.metrics, *sound, *parts))

    settings_class: type[Tau2Settings] = Tau2Settings

    def recognises(self, place: Path) -> bool:
        file = tickets.tasks_of(place)
        return file is not None and (file.parent.name in USER_ALONE) is not self.settings_class.is_solo

    def load(self, place: Path) -> Loaded:
        return tickets.load(place, self.settings_class.is_solo)

    def parse(self, source: JsonObject, where: str, suite: str) -> Ticket:
        """Make a task from its stored source. Raises RigError, also for a task that cannot be played."""
        return tickets.parse(source, where, suite, self.settings_class.is_solo)

    def settings(self, values: Mapping[str, Any]) -> Tau2Settings:
        return self.settings_class(values["policy"], str(values["code"] or os.environ.get("RIG_TAU2", "")))

    def opening(self, task: Ticket, settings: Tau2Settings, role: str) -> Request:
        """Return how every request begins: the policy and tools, shared by all tasks, and then the ticket."""
        place = settings.domain(task.domain)
        return Request(
            StepKey(task.name),
            INSTRUCTIONS.format(policy=place.policy),
            (*place.tools, _DONE),
            f"<ticket>\n{task.ticket}\n</ticket>",
            several_calls=True,
        )

    def ready(self, values: Mapping[str, Any]) -> SoloSetup:
        return SoloSetup(self, self.settings(values))


METHOD: Method = Tau2()

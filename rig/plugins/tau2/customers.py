"""τ²-bench with a user who talks: another model plays the customer by the task's instructions.

A turn is what the customer says, the agent's calls, and its words. The customer ends the conversation. In
`telecom` the customer has a phone, and calls its tools.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from types import MappingProxyType

from rig.core.calls import FaultKind, Json
from rig.core.metrics import Score
from rig.core.models import CallMessage, Message, Model, ReplyMessage, StepKey, ToolDoc, UserMessage
from rig.core.tasks import ASSISTANT
from rig.methods.kit import Asking, Call, Method, Metric, Oracle, Prediction, Request, called, replied
from rig.plugins.tau2 import method
from rig.plugins.tau2.checkout import SOLO
from rig.plugins.tau2.tickets import CustomerTask, Ticket

THE_USER = "user"
"""The role of the customer, with the same name as in tasks."""
DONE = "[DONE]"
"""The words with which the customer ends a conversation."""

CAUTION = "a user of rig's own and rig's prompts: not comparable with τ²-bench's leaderboard"

AGENT = """\
You work for a company's customer service and talk to a customer. In each message either call tools or write
to the customer, not both. Do what the customer wants as far as the company's policy allows, which stands
below. Say nothing that neither the policy nor the customer nor a tool has told you.

<policy>
{policy}
</policy>"""

CUSTOMER = f"""\
You are a customer who contacts a company's customer service. Each message you read is from its agent; answer
as the customer, with one short message at a time. Below is why you call, what you know and what you do not,
and how you behave: keep to it. Tell what you are asked for and no more, in your own words, and never make up
what is not there. Where you have tools, they are your phone's: call one when the agent asks you to do or look
up something, one at a time, and tell the agent what came of it. Never act as the agent. When your wish is
settled, when you have been handed over to a person, or when you cannot go on with what stands below, write
{DONE}."""

GREETING = "Hello, how can I help you today?"


@dataclass(frozen=True)
class CustomerSettings(method.Tau2Settings):
    """The settings of a conversation between an agent and a customer."""

    is_solo = False
    protocol = "tau2-user"
    told = json.dumps([AGENT, CUSTOMER, GREETING])


class CustomerTalk(method.Solo):
    """A conversation of agent and customer, who both act in the world, until the customer ends it."""

    task: CustomerTask
    settings: CustomerSettings

    @property
    def is_done(self) -> bool:
        """Whether the customer has ended the conversation."""
        return self._has_last(THE_USER) and DONE in (self.played[-1].steps[-1].prediction.reply or "")

    @property
    def is_over(self) -> bool:
        is_waiting = self._has_last(ASSISTANT) and self.played[-1].steps[-1].prediction.reply is not None
        return bool(self.played) and (self.is_exhausted or not is_waiting)

    def _has_last(self, role: str) -> bool:
        return bool(self.played) and self.played[-1].steps[-1].role == role

    @property
    def _is_users_failure(self) -> bool:
        return self._has_last(THE_USER) and self.played[-1].error is not None

    def speak(self) -> Asking:
        """Ask the customer until they speak, and then the agent."""
        role = THE_USER
        while not self.is_exhausted:
            yield from self.ask(role)
            if self.steps[-1].executed is None:
                reply = self.steps[-1].prediction.reply
                if role == ASSISTANT or reply is None or DONE in reply:
                    return
                role = ASSISTANT

    def messages(self, role: str) -> Iterable[Message]:
        """Return the messages as a role reads them. The customer first reads the greeting."""
        greeting = (UserMessage(GREETING),) if role == THE_USER else ()
        return (*greeting, *super().messages(role))

    def phrases(self, role: str) -> tuple[str, ...]:
        return (DONE,) if role == THE_USER else ()

    def acts(self, role: str) -> bool:
        return True

    def score(self) -> Score:
        score, is_users = super().score(), self._is_users_failure
        is_idle_enough = self.setup.is_reached_by(self.task, self._domain)
        counts = {**score.counts, "idle": int(is_idle_enough), "user_failed": int(is_users)}
        faults = (replace(fault, kind=FaultKind.GENERATION_FAILED) for fault in score.faults)
        return replace(score, counts=counts, faults=tuple(faults) if is_users else score.faults)

    def ending(self, error: str) -> str:
        if self._is_users_failure:
            return f"the user failed: its last message ended in an error ({error})"
        return super().ending(error)


RULES = "1"
"""Version of the scripted customer; raise it with any change that can change its words or calls."""

UNKNOWN = "I don't know that."
_ARTICLE = r"(?:(?:the|your|a)\s+)?"
_OWN = {"you are": "I am", "you": "I", "your": "my", "yourself": "myself"}


def first_person(text: str) -> str:
    """Turn a text from the second person into the first."""

    def own(match: re.Match[str]) -> str:
        words = _OWN[match[0].lower()]
        return words[0].upper() + words[1:] if match[0][0].isupper() else words

    return re.sub(rf"(?i)\b({'|'.join(_OWN)})\b", own, text)


def script(task: CustomerTask) -> str:
    """Return the task's instructions as the text for a model that plays the customer."""
    told = task.told
    parts = {
        "Who you are": task.persona,
        "Why you call": told.reason_for_call,
        "What you know": told.known_info,
        "What you do not know": told.unknown_info,
        "How you behave": told.task_instructions,
    }
    return "\n\n".join(f"{title}:\n{text.strip()}" for title, text in parts.items() if text and text.strip())


def named_calls(text: str, tools: Sequence[ToolDoc]) -> list[Call]:
    """Return calls of the tools that a text mentions, each with the JSON object that follows it, if any."""
    names = sorted((tool.name for tool in tools), key=len, reverse=True)
    pattern = "|".join(rf"[\s_]+{_ARTICLE}".join(name.split("_")) for name in names)
    calls = []
    for match in re.finditer(rf"(?i)\b(?:{pattern})\b", text) if names else ():
        rest = text[match.end() :].lstrip(" (`:")
        try:
            arguments = json.JSONDecoder().raw_decode(rest)[0] if rest.startswith("{") else {}
        except (ValueError, RecursionError):
            arguments = {}
        calls.append(Call(re.sub(rf"[\s_]+{_ARTICLE}", "_", match[0].lower()), arguments))
    return calls


def customer_step(task: CustomerTask, request: Request) -> Prediction:
    """Predict as a customer who says everything at once, and then follows the agent's words.

    They call the tools that the agent mentions, report the results, answer a question with what they know,
    and end the conversation if nothing is asked of them.
    """
    own = [message.text for message in request.messages if isinstance(message, ReplyMessage)]
    heard = [message.text for message in request.messages if isinstance(message, UserMessage)][-1]
    facts = first_person(task.told.known_info or "")
    if not own:
        return replied(f"{first_person(task.told.reason_for_call)} {facts}".strip())
    results = [f"{call.call.name}: {call.outcome.response}" for call in _last_calls(request)]
    calls = named_calls(heard, request.tools)
    if len(results) < len(calls):
        call = calls[len(results)]
        parameters = next(tool.parameters for tool in request.tools if tool.name == call.name)
        lacking = [name for name in parameters.get("required", ()) if name not in call.arguments]
        if not lacking:
            return called(call.name, call.arguments)
        return replied(f"I need {', '.join(lacking)} for {call.name}.")
    if results:
        return replied("I did that. " + "; ".join(results))
    answers = (facts, UNKNOWN) if "?" in heard else ()
    return replied(next((text for text in answers if text and text not in own), DONE))


def _last_calls(request: Request) -> list[CallMessage]:
    """Return the role's own calls since the last words."""
    calls = takewhile(lambda message: isinstance(message, CallMessage), reversed(request.messages))
    return [message for message in calls if isinstance(message, CallMessage)][::-1]


class ScriptedCustomer(Oracle):
    """A model that plays the customers of tasks by rules."""

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "scripted customer", "rules": RULES}


def true_step(task: CustomerTask, request: Request) -> Prediction:
    """Predict the true calls of this turn, and then words with what the customer has to do or to be told."""
    turn, number = request.key.turn, len(_last_calls(request))
    own, others = task.stretches[turn] if turn < len(task.stretches) else ([], [])
    if number < len(own):
        return called(own[number].name, own[number].arguments)
    if others:
        named = (f"{action.name} {json.dumps(action.arguments)}" for action in others)
        return replied(f"Please do this: {', '.join(named)}.")
    return replied(f"Everything is settled. {', '.join(task.criteria.communicate_info or ())}".strip())


def idle_step(task: CustomerTask, request: Request) -> Prediction:
    """Predict as an agent that does nothing."""
    return replied("I cannot do anything for you.")


def hand_over_step(task: CustomerTask, request: Request) -> Prediction:
    """Predict as an agent that hands every customer over to a person."""
    if request.key.turn == 0 and not _last_calls(request):
        return called(method.HAND_OVER, {"summary": "For a person."})
    return replied("A person will go on from here.")


class Tau2User(method.Tau2):
    """τ²-bench's tasks, played with a user who talks."""

    name = "tau2-user"
    roles: tuple[str, ...] = (ASSISTANT, THE_USER)
    oracles = MappingProxyType({"oracle": true_step, "hand-over": hand_over_step, "idle": idle_step})
    knowing: Mapping[str, str] = MappingProxyType({ASSISTANT: "oracle", THE_USER: "knowing"})
    episode = CustomerTalk
    settings_class = CustomerSettings
    declaration = method.Tau2.declaration._replace(
        method="tau2-user",
        metrics=(
            *method.Tau2.declaration.metrics,
            Metric("idle", "success of doing nothing", "idle", place="tables"),
            Metric("user_failed", "users that failed", "user_failed", better="lower", place="tables"),
        ),
        caution=CAUTION,
    )

    def models(self, tasks: Sequence[CustomerTask]) -> Mapping[str, Callable[[], Model]]:
        """Return the models. Agents other than the oracle get the scripted customer only in solo domains."""
        names = ["knowing"]
        if all(task.domain in SOLO for task in tasks):
            names.append("scripted")
        users = {name: partial(ScriptedCustomer, tasks, customer_step, name) for name in names}
        return {**super().models(tasks), **users}

    def opening(self, task: Ticket, settings: method.Tau2Settings, role: str) -> Request:
        """Return how requests begin: the agent's policy and tools, or the customer's script and phone."""
        assert isinstance(task, CustomerTask)
        place, key = settings.domain(task.domain), StepKey(task.name)
        if role == THE_USER:
            return Request(key, CUSTOMER, place.user_tools, script(task), several_calls=True)
        return Request(key, AGENT.format(policy=place.policy), place.tools, several_calls=True)


METHOD: Method = Tau2User()

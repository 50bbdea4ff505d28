"""Players without a language model: a user who follows a script, and assistants who know the true call.

The same words always get the same answer. The user follows upstream's manual for people who play it: short
sentences, values in the script's own words, "I don't know" to anything that is not in it, and one request to
the assistant to do it itself. One assistant asks for everything that has not been said yet, the other for
what is required.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from rig.core.calls import Json, JsonObject
from rig.core.errors import listed
from rig.core.models import Prediction, ReplyMessage, Request, UserMessage
from rig.methods.scripted import Oracle, called, replied
from rig.plugins.autode.clauses import content, facts, stems, stems_of
from rig.plugins.autode.hearing import Hearing, Read, hear
from rig.plugins.autode.questions import NEAR, Alike, mentions, spoken
from rig.plugins.autode.reader import INSIDE, Understanding, understand
from rig.plugins.autode.scenarios import Scenario
from rig.plugins.autode.slots import Knowledge
from rig.plugins.similarity.embedding import Embedding
from rig.plugins.similarity.minilm import encoder

RULES = "1"
"""The version of the rules; to be raised with any change that can change an answer."""

FAILED = "[fail]"
"""The text with which a user ends a conversation that leads nowhere."""

AT_ONCE = 2
"""How many values the user gives when asked for all that is missing, and the oracle asks for at once."""

RECALLED, CERTAIN = 0.3, 0.45
"""The cosine from which a sentence of the script that shares a word with a question answers it, and the
cosine for a yes-or-no question.
"""

SHORT = 6
"""The most words of a value that is not a sentence by itself."""

UNKNOWN = "Sorry, I don't know that."
_PUSH = "Can you do that for me, please?"
_SENTENCE = re.compile(r"(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<=[.!?]) ")
_WHY = re.compile(
    r"\b(?:why|reason|wrong|the matter|occasion|how (?:come|did|have|you)|happened)\b|\bwhat\b.*\bfor\W*$",
    re.IGNORECASE,
)
_WH = re.compile(r"\b(?:what|which|who|whom|where|when|how)\b", re.IGNORECASE)
_WHO = re.compile(r"\bwho(?:m|['’]\w+)?\b", re.IGNORECASE)
_NUMBERED = r"(?:\d+|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty)"
_TOLD = tuple(
    (re.compile(rf"\b(?:{asked})\b", re.IGNORECASE), re.compile(rf"\b(?:{told})\b", re.IGNORECASE))
    for asked, told in (
        ("until when|until what|how long (?:will|are)", rf"until|for (?:an?|{_NUMBERED}) \w+"),
        ("since when|when did|how long (?:has|have)", rf"since|for {_NUMBERED} \w+"),
        ("how old|what age", rf"(?:turns|is) {_NUMBERED}"),
    )
)
"""Questions about a story, and the words of a sentence that answers them."""


class ScriptedUser(Oracle):
    """A model that plays the user of tasks, which it looks up by the request's key."""

    rules = RULES

    def __init__(self, tasks: Iterable[Any]) -> None:
        super().__init__(tasks, self._step, "scripted")

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {
            "engine": "scripted user",
            "rules": self.rules,
            "near": NEAR,
            **similarity().fingerprint,
            **hearing().fingerprint,
        }

    def answer(self, task: Any, own: Sequence[str], heard: str, alike: Alike) -> str:
        """Return what the user of a task says to an assistant's words, having said `own` before."""
        return answer(task, own, heard, alike, hearing())

    def _step(self, task: Any, request: Request) -> Prediction:
        return replied(self.answer(task, _own(request), _heard(request)[-1], similarity()))


@cache
def similarity() -> Embedding:
    """Return the packaged sentence encoder; its weights are read at the first question that needs them."""
    return encoder()


@cache
def hearing() -> Hearing:
    """Return the model that reads an assistant's words."""
    return Hearing()


def answer(scenario: Scenario, own: Sequence[str], heard: str, alike: Alike, read: Read | None = None) -> str:
    """Return the user's answer to an assistant's words after saying `own`; without `read` by rules alone."""
    sentences = {**scenario.facts, "character": introduction(scenario.character)}
    story = f"{scenario.character}. {scenario.background} {scenario.purpose} {' '.join(own[:1])}"
    knowledge = Knowledge(scenario.api, scenario.slots, story, sentences)
    understood = hear(knowledge, own, heard, read) if read else understand(knowledge, own, heard)
    name = scenario.character.split(",")[0].strip()
    if understood.is_general and not understood.asked:
        understood.asked = missing(scenario, own)[:AT_ONCE]
    about = recalled(scenario, understood, alike) if understood.claimed or understood.story else ""
    told = [*phrased(knowledge, understood), *([f"{name}."] if understood.is_name else [])]
    told += [first_person(sentences[named], name) for named in understood.told]
    if told or about:
        return " ".join(filter(None, [*told, about]))
    if understood.is_purpose:
        return first_person(scenario.purpose, name)
    if understood.is_open:
        return "No." if understood.claimed else UNKNOWN
    return FAILED if _PUSH in own else _PUSH


def phrased(knowledge: Knowledge, understood: Understanding) -> list[str]:
    """Return the answer's sentences: corrections or a yes or no, then the values, then what is not known."""
    asked = {name: knowledge.values[name] for name in understood.asked}
    sentences = []
    if understood.false:
        told = sentence({**{name: knowledge.values[name] for name in understood.false}, **asked})
        is_plain = told.startswith(("The ", "It's "))
        sentences.append(f"No, {told[0].lower()}{told[1:]}" if is_plain else f"No: {told}")
    elif understood.denied:
        sentences += ["No.", *([sentence(asked)] if asked else [])]
    else:
        flags = list(understood.flags.values())
        if understood.is_closed and asked and not flags:
            sentences.append(_yes_or_no(True))
        if understood.sides:
            sentences += [f"{side.capitalize()}, please." for side in understood.sides.values()]
        elif len(flags) > 1:
            asked = {**{name: knowledge.values[name] for name in understood.flags}, **asked}
        elif flags or not asked:
            agreed = flags[0] if flags else understood.is_closed
            sentences += [_yes_or_no(agreed)] if flags or agreed or understood.is_declined else []
        sentences += [sentence(asked)] if asked else []
    if understood.unknown:
        sentences.append(f"I don't know the {listed(map(spoken, dict.fromkeys(understood.unknown)))}.")
    return sentences


def recalled(scenario: Scenario, understood: Understanding, alike: Alike) -> str:
    """Return the sentence of the script that answers what no slot is about; empty if there is none."""
    question = understood.claimed or understood.story
    name = scenario.character.split(",")[0].strip()
    sentences = _SENTENCE.split(f"{scenario.background} {scenario.purpose}")
    sentences.append(introduction(scenario.character))
    about, people = frozenset(content(question)), stems_of("relations")
    shared = [text for text in sentences if not about.isdisjoint(content(text))]
    telling: Iterable[str]
    if _WHY.search(question) or INSIDE.search(question):
        telling = sentences
    elif told := next((told for asked, told in _TOLD if asked.search(question)), None):
        telling = filter(told.search, sentences)
    elif _WHO.search(question) or (understood.claimed and people & stems(question)):
        telling = (text for text in sentences if people & stems(text))
    elif re.search(r"\b(?:when|what time|(?:what|which) day|date)\b", question, re.IGNORECASE):
        telling = filter(facts, [*shared, *sentences] if shared else ())
    else:
        likely = [*sentences[:-2], sentences[-1]] if understood.claimed else shared
        degree, nearest = max(((alike(question, text), text) for text in likely), default=(0.0, ""))
        is_about = degree >= (RECALLED if understood.claimed or _WH.search(question) else CERTAIN)
        is_about |= bool(shared and _WH.search(question)) and about <= stems(" ".join(sentences))
        telling = [nearest] if is_about else []
    return next((first_person(text, name) for text in telling), "")


def introduction(character: str) -> str:
    """Return who somebody is ("Nils, a carpenter") as a sentence."""
    name, _, rest = character.partition(", ")
    verb = "'s" if rest.startswith("whose ") else "" if rest.startswith("who ") else " is"
    return f"{name}{verb} {re.sub(r'^(?:who|whose) ', '', rest)}."


def _yes_or_no(value: bool) -> str:
    return "Yes, please." if value else "No, thanks."


def first_person(text: str, name: str) -> str:
    """Return a sentence about somebody as they would say it about themselves."""

    def conjugated(match: re.Match[str]) -> str:
        verb = match[2]
        regular = verb[:-1] if verb.endswith("s") and len(verb) > 3 else verb
        regular = regular.removesuffix("e") if verb.endswith(("ches", "shes", "sses")) else regular
        irregular = {"has": "have", "is": "am", "does": "do", "goes": "go"}
        return f"{match[1]} {irregular.get(verb, regular)}"

    text = re.sub(rf"\b{re.escape(name)}['’]s\b", "my", text)
    text = re.sub(rf"\b(?:{re.escape(name)}|[Ss]?[Hh]e)\b", "I", text)
    text = re.sub(r"(\bI|, and(?! I\b)) (\w+)\b", conjugated, text)
    if text.startswith("I "):
        text = re.sub(r"(\band)(?! I\b) (\w+)\b", conjugated, text)
    text = re.sub(r"\bher(?= (?:in|out|up|and|to)\b|[.,])|\bhim\b", "me", text)
    text = re.sub(r"\b(?:him|her)self\b", "myself", text)
    text = re.sub(r"\b(?:[Hh]is|[Hh]er)\b", "my", text)
    return text[0].upper() + text[1:]


def missing(scenario: Scenario, texts: Iterable[str]) -> list[str]:
    """Return the slots whose values none of the texts mentions, in the order of the call."""
    text, parameter = "\n".join(texts), scenario.api.parameter
    return [name for name, value in scenario.slots.items() if not mentions(text, value, parameter(name))]


def sentence(values: Mapping[str, Json]) -> str:
    """Return a sentence with these values, in the words of the script."""
    if len(values) > 1:
        text = listed(f"the {spoken(name)} is {as_text(value)}" for name, value in values.items())
        text = f"{text[0].upper()}{text[1:]}"
    else:
        (value,) = values.values()
        if isinstance(value, bool):
            return _yes_or_no(value)
        text = as_text(value)
        text = f"It's {text}" if len(text.split()) <= SHORT else text
    return text if text.endswith((".", "!", "?")) else f"{text}."


def as_text(value: Json) -> str:
    """Return a value in words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(as_text, value)) if isinstance(value, list) else str(value)


def true_step(scenario: Scenario, request: Request) -> Prediction:
    """Ask once for each value that the user has not said, two at a time, and then make the true call."""
    question = _question(request, missing(scenario, _heard(request)))
    return question or _call(scenario, request, dict(scenario.slots))


def obedient_step(scenario: Scenario, request: Request) -> Prediction:
    """Do what the prompt says: ask for what is required and was not said, and call with what the user said.

    Words do not show whether a truth value was said; it counts as said once it was asked for.
    """
    unsaid = missing(scenario, _heard(request))
    required = [name for name in unsaid if name in scenario.api.required("fixed")]
    if question := _question(request, required):
        return question
    flags = [name for name in required if isinstance(scenario.slots[name], bool)]
    told = {name: value for name, value in scenario.slots.items() if name not in unsaid or name in flags}
    return _call(scenario, request, told)


def _heard(request: Request) -> list[str]:
    return [message.text for message in request.messages if isinstance(message, UserMessage)]


def _own(request: Request) -> list[str]:
    return [message.text for message in request.messages if isinstance(message, ReplyMessage)]


def _question(request: Request, names: Sequence[str]) -> Prediction | None:
    """Return a question for the first of these slots that were not asked for before; None if all were."""
    own = _own(request)
    phrases = (f"the {spoken(name)}" for name in names)
    new = [name for name in phrases if not any(f"{name}?" in text or f"{name} and" in text for text in own)]
    return replied(f"Could you tell me {' and '.join(new[:AT_ONCE])}?") if new else None


def _call(scenario: Scenario, request: Request, slots: JsonObject) -> Prediction:
    if request.tools:
        return called(scenario.call.name, slots)
    call = {"functionName": scenario.call.name, **slots}
    return replied(f"<func>{json.dumps(call, ensure_ascii=False)}</func>")

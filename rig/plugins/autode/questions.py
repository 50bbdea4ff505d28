"""Find the slots that an assistant's words ask for, by rules on words, or else by sentence embeddings.

Nothing here is random, so the same words are always read in the same way.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

from rig.core.calls import Json
from rig.plugins.autode.clauses import WORDS, stems_of, words
from rig.plugins.autode.scenarios import ApiDocument, Parameter
from rig.plugins.text.reading.lexicon import stem

Alike: TypeAlias = Callable[[str, str], float]
"""The cosine of two texts' embeddings."""

NEAR = 0.45
"""The cosine from which a question is about a slot that none of its words names (docs/lab/autode.md)."""


class AskedSlots(NamedTuple):
    """What was asked: the names of slots in the document's order, or a more general question.

    `is_general` means that everything missing was asked for, `is_closed` that a yes or no was.
    """

    slots: tuple[str, ...] = ()
    is_general: bool = False
    is_closed: bool = False


def read(text: str, api: ApiDocument, alike: Alike | None = None) -> AskedSlots:
    """Return which parameters of an API an assistant's words ask for; without `alike` by rules alone."""
    topics = _topics(api)
    asked: set[str] = set()
    unclear = []
    for sentence in _asking(text):
        parts = _JOINTS.split(_LEAD.sub("", _ASIDE.sub("", sentence)))
        about = {name for part in parts for name in _named(part, topics)}
        about |= {parameter.name for parameter in api.parameters if _offers(sentence, parameter)}
        asked |= about
        if not (about or _CHAT.search(sentence) or BACK.search(sentence)):
            unclear.append(sentence)
    rest = [sentence for sentence in unclear if not _CLOSED.search(sentence)]
    is_closed, general = len(unclear) > len(rest), list(filter(_GENERAL.search, rest))
    if alike is not None and not asked and not is_closed and not general:
        asked = {name for sentence in rest for name in _nearest(sentence, topics, alike)}
    names = tuple(parameter.name for parameter in api.parameters if parameter.name in asked)
    return AskedSlots(names, bool(general), is_closed)


def asks(text: str) -> bool:
    """Return whether a text asks for anything other than what else there is to do."""
    return any(_CHAT.search(sentence) is None for sentence in _asking(text))


def mentions(text: str, value: Json, parameter: Parameter | None) -> bool:
    """Return whether a text says a value, or a choice ("mobile phone") at least by its last word.

    For truth values this cannot be determined, and the result is False.
    """
    if parameter is None or not isinstance(value, str):
        return False
    if value in parameter.enum:
        return _says(text, value, parameter)
    return f" {_plain(value)} " in f" {_plain(text)} "


def spoken(name: str) -> str:
    """Return a parameter's name as people would say it."""
    return " ".join(_words(name))


def _pattern(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


# How an English question begins and goes on, and which parts say more than they ask.
_ENDS = re.compile(r"(?<=[?!])\s+|(?<=\w\w\.)\s+|(?<=[)\"'*`]\.)\s+|\n+")
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")
_PLEASE = (
    r"please (?:\w+ )?(?:provide|tell|specify|give|confirm|share|let|enter|choose|select|state|mention)\b"
)
_NEEDS = r"\bi(?:'ll|’ll| will| would|'d|’d)? (?:\w+ ){0,2}(?:need|require)\b"
_YOU_TELL = (
    r"\b(?:can|could|would|will|do) you (?:\w+ ){0,2}"
    r"(?:tell|provide|specify|give|let|confirm|share|know)\b"
)
_ASKS = _pattern(
    r"\?",
    _PLEASE,
    _NEEDS,
    r"need(?:ed)? to know|(?:tell|give|provide) me|let me know|like to know",
    r"(?:is|are) (?:required|missing|needed)|missing",
)
_TELLS = _pattern(r"^(?:thank|thanks|i have |i['’]ve |now (?:that )?i have|based on|once )")
_GREETS = _pattern(
    r"^(?:(?:sure|great|okay|ok|alright|perfect|awesome|got it|of course|certainly|thanks|thank you)\b"
    r"[^,.!?]*[,.!]\s*)+"
)
_PURPOSE = _pattern(r"^(?:\w+,? )?(?:in order )?to (?!what|which|where|whom)[^,?]*, ")
_LEAD = _pattern(
    rf"^.*?(?:{_YOU_TELL}|{_PLEASE}|\b(?:need|like|want) to know\b|{_NEEDS})"
    r"(?: me\b| us\b)?(?: know\b)?(?: with\b)?"
)
_THINGS = r"(?:details?|information|info|parameters?"
_GENERAL = _pattern(rf"\b{_THINGS}|specifics|be more specific|clarify|requirements?)\b")
BACK = _pattern(rf"\b(?:this|that|these|those|the above|the following) (?:\w+ )?{_THINGS}|things?)\b")
_CLOSED = _pattern(
    r"^(?:\w+, )?(?:is (?:that|this|it|everything)|(?:would|do) you (?:like|want) me to|shall|should i)",
    r"^(?:\w+, )?(?:may i|can i (?!help|assist)|does (?:that|this)|right|correct|ready)",
    r"^(?:\w+, )?are (?:you|these|those) (?:sure|ready|correct|right|ok)",
    r"\bconfirm (?:that|if|whether|the)\b",
    r"(?:correct|right|okay|ok|sufficient|proceed)\?$",
)
_CHAT = _pattern(r"(?:anything|something) else|can i (?:help|assist)|how (?:can|may) i|how are you|what else")
_ASIDE = _pattern(r"\([^)]*\)", r",?\s*\b(?:such as|e\.g\.|for example|for instance|including)\b.*")
_LATER = _pattern(
    r"\s+(?:you|that|where|so that|in order|capable|which|once|because|before|if|whose|to|so)\b.*",
    r"\s+(?:on|for|in|with|using|via) (?:your|the)\b.*",
)
_JOINTS = _pattern(r"[,;:]|\band\b|\bor\b|\bas well as\b|\balso\b|[.?!]\s")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_BETWEEN = re.compile(r"[^\w%$@]+")

_SUFFIXES = frozenset({"name", "type", "number", "id", "value", "address", "code", "class", "place"})
"""Endings of a name that say less than the words before them."""

_SAME_SUFFIX = {
    **dict.fromkeys(("title", "called"), "name"),
    **dict.fromkeys(("kind", "sort", "genre"), "type"),
    "id": "number",
}

_BEFORE, _AFTER, _COMMON = map(stems_of, ("before", "after", "common"))
_SIDES = {
    **dict.fromkeys(("original", "old"), _BEFORE),
    **dict.fromkeys(("new", "target"), _AFTER),
    "source": _BEFORE | {stem("source"), stem("from")},
}
"""Words that distinguish what exists from what it is to become."""
_ALIASES: dict[str, str] = WORDS["aliases"]
_BREAKS = words("breaks")


class _Topic(NamedTuple):
    """How people refer to a slot, in stems: its `heads`, vaguer words for them, and the `suffix` of its name.

    `sides` distinguish it from slots with the same heads; `phrase` is what embeddings compare.
    """

    parameter: Parameter
    heads: frozenset[str]
    vague: frozenset[str]
    suffix: str
    sides: frozenset[str]
    phrase: str


@cache
def _topics(api: ApiDocument) -> tuple[_Topic, ...]:
    """Return how people refer to an API's slots. A word in one slot's name refers to no other slot."""
    general = set(_stems(f"{api.name} {api.description}")) | _COMMON
    described = [set(_stems(_ASIDE.sub("", parameter.description))) - general for parameter in api.parameters]
    named = [set(_stems(" ".join(_naming_words(parameter.name)))) for parameter in api.parameters]
    topics: list[_Topic] = []
    for place, parameter in enumerate(api.parameters):
        own = described[place].difference(*described[:place], *described[place + 1 :])
        foreign = set().union(*named) - named[place]
        topics.append(_topic(parameter, own, foreign))
    return tuple(topics)


def _topic(parameter: Parameter, described: set[str], foreign: set[str]) -> _Topic:
    """Return a slot's topic. Only its description has `described` words; `foreign` ones are other names'."""
    every, telling = _words(parameter.name), _naming_words(parameter.name)
    aliases = [_ALIASES.get(word, word).partition("|") for word in telling or every]
    heads, vague = ({stem(word) for alias in aliases for word in alias[part].split()} for part in (0, 2))
    if not telling or telling == ["content"]:
        heads |= described
    suffix = every[-1] if every[-1] in _SUFFIXES and telling else ""
    return _Topic(
        parameter,
        frozenset(heads - foreign),
        frozenset(vague - foreign),
        _SAME_SUFFIX.get(suffix, suffix),
        frozenset(side for word in every for side in _SIDES.get(word, ())),
        f"{' '.join(every)}: {parameter.description}",
    )


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _naming_words(name: str) -> list[str]:
    """Return the words of a slot's name that say what it is about."""
    return [word for word in _words(name) if word not in _SIDES and word not in _SUFFIXES]


def _asking(text: str) -> Iterator[str]:
    """Yield the sentences that ask, and the items of a list that follows a line that asks."""
    in_list = False
    for line in re.split(r"\n+", text):
        if _ITEM.match(line):
            item = _ITEM.sub("", line)
            if in_list or _ASKS.search(item):
                yield item.partition(":")[0] if ":" in item[:60] and "?" not in item else item
            continue
        if not line.strip():
            continue
        sentences = [_GREETS.sub("", sentence.strip()) for sentence in _ENDS.split(line)]
        asking = [sentence for sentence in sentences if _ASKS.search(sentence) and not _TELLS.match(sentence)]
        yield from (_PURPOSE.sub("", sentence) for sentence in asking)
        in_list = bool(asking) or (in_list and not line.rstrip().endswith((".", "!")))


def _named(part: str, topics: Sequence[_Topic]) -> list[str]:
    """Return the slots that a part of a question names, at first ignoring what it says about them."""
    for text in (_LATER.sub("", part), part):
        stems = _stems(text)
        for vague in (False, True):
            heads = [
                [topic for topic in topics if word in (topic.vague if vague else topic.heads)]
                for word in stems
            ]
            start = next((place for place, candidates in enumerate(heads) if candidates), None)
            if start is not None:
                # In a compound such as "email content" the last noun counts.
                end = next((n for n in range(start + 1, len(stems)) if stems[n] in _BREAKS), len(stems))
                candidates = next(head for head in reversed(heads[start:end]) if head)
                return [topic.parameter.name for topic in _distinct(candidates, stems)]
    return []


def _distinct(candidates: list[_Topic], stems: Sequence[str]) -> list[_Topic]:
    """Return those of several topics with the same heads that the words single out, by suffix and side."""
    suffixes = {_SAME_SUFFIX.get(word, word) for word in stems}
    fitting = [topic for topic in candidates if topic.suffix in suffixes] or [
        topic for topic in candidates if topic.suffix in ("", "name")
    ]
    sided = [topic for topic in fitting or candidates if not topic.sides.isdisjoint(stems)]
    return sided or fitting or candidates


def _offers(sentence: str, parameter: Parameter) -> bool:
    """Return whether a sentence offers choices of the parameter, or asks for the type of one."""
    offered = [choice for choice in parameter.enum if _says(sentence, choice, parameter)]
    either = "|".join(re.escape(_short(choice, parameter)) for choice in offered)
    of_type = rf"\b(?:type|kind|sort) of (?:\w+ )?(?:smart)?(?:{either})"
    return len(offered) > 1 or (bool(offered) and re.search(of_type, sentence, re.IGNORECASE) is not None)


def _says(text: str, choice: str, parameter: Parameter) -> bool:
    named = rf"\b(?:smart)?{re.escape(_short(choice, parameter))}s?\b"
    return re.search(named, text, re.IGNORECASE) is not None


def _short(choice: str, parameter: Parameter) -> str:
    """Return a choice's last word if no other choice ends with it ("phone" for "mobile phone"), else all."""
    last = choice.split()[-1]
    return last if sum(other.endswith(last) for other in parameter.enum) == 1 else choice


def _nearest(sentence: str, topics: Sequence[_Topic], alike: Alike) -> list[str]:
    """Return the slot that a question is most about, if it is about any."""
    degrees = {topic.parameter.name: round(alike(sentence, topic.phrase), 3) for topic in topics}
    nearest = max(degrees, key=degrees.__getitem__, default="")
    return [nearest] if nearest and degrees[nearest] >= NEAR else []


def _plain(text: str) -> str:
    """Return a text in lower case, with a space for everything between words."""
    return " ".join(_BETWEEN.sub(" ", text.casefold()).split())


def _stems(text: str) -> list[str]:
    return [stem(word.lower()) for word in _WORD.findall(text)]

"""A text as words brought to one form, with greeting and signature set apart."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

from rig.reading.characters import emoji, readable, repaired
from rig.reading.lexicon import (
    abbreviations,
    fillers,
    folded,
    given_names,
    meanings,
    roots,
    stem,
    synonym_sets,
    vocabulary,
)

MAX_CHARACTERS = 4_096
MAX_WORDS = 512
"""Of a piece. Long texts are read piece by piece."""

_TOKEN = re.compile(
    r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}:\d{2}(?::\d{2})?|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
    r"|[不没]|(?:(?![不没])[一-鿿々])+|ません|ない|なかった|(?:(?!ません|ない|なかった)[぀-ゟ])+|[゠-ヿ]+"
    r"|[^\W\d_]+(?:'[^\W\d_]+)*|[$€£%#@]|\n|[.!?,;:()/\-–—、。！？]"
)

_REPLY = re.compile(
    r"\s*(?:\W{0,2}\b(?:re|fw|fwd|task|to-?do|event|reminder|friendly reminder|note|message|attention"
    r"|important|urgent|update|news|info|psa|warning|notice|quick question|question|ps)\b"
    r"\W{0,3}:\W{0,3}\s*)+(?=\S)",
    re.I,
)
"""What a text is said to be before it begins."""
_GREETINGS = tuple(
    re.compile(
        r"\s*(?:hi|hey|hello|dear|hiya|yo|greetings|good (?:morning|afternoon|evening|day))\b[ ,]*"
        r"(?P<name>(?:(?:mr|mrs|ms|dr|prof|professor)\b\.? )?"
        rf"(?:[^\W\d_][\w'-]*[ ]?{between}(?:(?:and) )?){{0,3}}?)"
        r" ?(?:[,!.:\n–-]|$)\s*",
        re.I,
    )
    for between in ("(?:, )?", "")
)
"""Who is greeted: up to three names, and where that is none, up to the first comma."""
_CALLED = re.compile(r"\s*(?P<name>[^\W\d_][\w'-]*)(?:,| [-–])\s+")
_SIGNATURE = re.compile(
    r"(?:^|[\n.!?,)])\s*(?:(?:(?:many|kind|best|warm|warmest|with) )*(?:regards|wishes)|best|cheers"
    r"|sincerely(?: yours)?|yours(?: (?:sincerely|truly|faithfully))?|love|xoxo|many thanks|thanks(?: again"
    r"| so much| a lot| in advance)?|thank you(?: (?:so|very) much)?(?: in advance)?|take care|talk soon"
    r"|all the best|see you(?: soon| later| then| there)?|greetings|respectfully)\s*[,!.\n–-]?\s*"
    r"(?P<name>[^\n.!?,;:]{0,40})[\s.!]*$",
    re.I,
)
_ENVELOPE = 120
"""Characters at either end within which greeting and signature are looked for."""
KIN = vocabulary(
    "mum mom mommy mummy dad daddy papa grandma grandpa sis bro mate dude honey love guys team all"
)
"""Who is called without a name: "Mum, I arrived"."""
ABBREVIATED = vocabulary("mr mrs ms dr doctor prof professor saint street vs etc jr sr ext")
"""After these a full stop ends no sentence."""
_NOBODY = vocabulary("all team there and everyone guys folks both everybody again")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, number or sign. `stem` is what is compared; `text` is what was written, in lower case.

    `capital` says that it begins with a capital letter, `first` that it begins a sentence; `joined` that
    nothing stands between it and the one before, `acronym` that it is written in capitals.
    """

    text: str
    stem: str
    capital: bool = False
    first: bool = False
    joined: bool = False
    acronym: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is written in digits."""
        return self.text[0].isdecimal()

    @property
    def is_word(self) -> bool:
        return self.text[0].isalpha()


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of a text, and of its greeting and its signature, which say who and not what."""

    words: tuple[Word, ...]
    greeted: tuple[Word, ...] = ()
    signed: tuple[Word, ...] = ()

    @property
    def title_case(self) -> bool:
        """Whether capitals are a matter of style, so that they say nothing about names."""
        inner = [word for word in self.words if word.is_word and len(word.text) > 3 and not word.first]
        return not inner or sum(word.capital for word in inner) > len(inner) / 2


class Parts(NamedTuple):
    """A text taken apart: its greeting and its signature, what lies between, and the pictures (emoji) in it,
    by name.
    """

    greeted: str
    body: str
    signed: str
    pictures: tuple[str, ...] = ()


def opened(text: str) -> Parts:
    """Take any string apart. Never raises."""
    text, pictures = emoji(_readable(text))
    greeted, body = _greeted(text)
    body, signed = _signed(body)
    return Parts(greeted, body, signed, pictures)


def read(parts: Parts) -> Reading:
    """Read a text, or a piece of one. What lies beyond MAX_CHARACTERS of a piece is not read."""
    greeted, body, signed = (repaired(part[:MAX_CHARACTERS]) for part in parts[:3])
    said = fillers().sub(" ", body)
    if said.strip(" .,!?"):
        body = said
    return Reading(_words(body), _words(greeted), _words(signed))


def _greeted(text: str) -> tuple[str, str]:
    for greeting in _GREETINGS:
        found = greeting.match(text, 0, _ENVELOPE)
        if found and found.end() < len(text) and _may_be_names(found["name"]):
            return found["name"], text[found.end() :]
    found = _CALLED.match(text, 0, _ENVELOPE)
    if found and (folded(found["name"]) in given_names() or folded(found["name"]) in KIN):
        return found["name"], text[found.end() :]
    return "", text


def _signed(text: str) -> tuple[str, str]:
    found = _SIGNATURE.search(text, max(0, len(text) - _ENVELOPE))
    # Of "OK, see you then" the rest says what the beginning does not.
    if found and len(text[: found.start()].split()) > 1 and _may_be_names(found["name"]):
        return text[: found.start() + 1], found["name"]
    return text, ""


def _may_be_names(text: str) -> bool:
    # "Thanks for the photos" is no signature, and "Hi, we are late" greets nobody by name.
    words = text.replace(",", " ").split()
    return all(word[0].isupper() or word in _NOBODY or folded(word) in given_names() for word in words)


def _readable(text: str) -> str:
    text = readable(text)
    found = _REPLY.match(text)
    return text[found.end() :] if found else text


def _words(text: str) -> tuple[Word, ...]:
    words: list[Word] = []
    first, end = True, -1
    for found in _TOKEN.finditer(text):
        if len(words) >= MAX_WORDS:
            break
        raw = found.group()
        joined, end = found.start() == end, found.end()
        if not raw[0].isalpha():
            words.append(Word(raw, raw, joined=joined))
            abbreviated = raw == "." and words[-2:-1] != [] and words[-2].text in ABBREVIATED
            first = first or (raw in ".!?\n" and not abbreviated)
            continue
        bare = raw.removesuffix("'s").removesuffix("'")
        acronym = len(bare) > 1 and bare.isupper()
        word = Word(folded(bare), stem(bare), bare[0].isupper(), first, joined, acronym)
        first = False
        # The "rd" of "3rd" is not a road.
        long = None if joined and words and words[-1].is_number else abbreviations().get(word.text)
        words.extend(replace(word, text=part, stem=stem(part), capital=False) for part in long or ())
        if long is None:
            words.append(word)
    return tuple(words)


FUNCTION_WORDS = vocabulary(
    "de der das und ist nicht ein eine einen einem einer kein keine zum zur mit fur auf von bei beim "
    "ich wir ihr wird haben "
    "sind bitte heute morgen kann auch noch schon dem den des uhr "
    "la le les un une et est je nous vous il elle au aux du pour avec dans sur pas ne que qui ce "
    "cette votre notre mon ma "
    "el los las es una por para con del lo su mi yo esta estoy hoy manana que como muy gracias favor "
    "di alle per gli della dello che sono ho hai domani oggi grazie il "
    "os um uma nao em na voce amanha obrigado eu "
    "het een van niet ik wij jij zijn op met voor naar morgen geen dit "
    "och ett jag inte som til jeg ikke det og er pa av "
    "nie jest na sie czy jutro prosze ve bir bu"
)
TELLING = vocabulary(
    "tenemos tienen tengo tiene hay vamos estamos somos tres dos cuatro cinco siete ocho nueve diez "
    "avons avez sont deux trois quatre cinq huit neuf dix "
    "haben habe wurde zwei drei vier funf sechs sieben acht neun zehn "
    "abbiamo siamo quattro cinque sette nove dieci temos somos quatro sete oito dez "
    "hebben heeft twee drie vijf zes zeven negen tien"
)
"""Words that tell the language and are not small ones: numbers count."""
ENGLISH = vocabulary(
    "the a an and is are was to of in on at for with you i we it my your our please this that will "
    "be have has do not "
    "me can by from he she they his her there what when where how if or but"
)
_WORD = re.compile(r"[^\W\d_]+")
_OTHER_SCRIPT = re.compile(r"[Ͱ-ӿԀ-ࣿऀ-ॿ぀-ヿ一-鿿가-힯]")
_ELIDED = re.compile(r"\b(?:l|d|j|n|qu|c|s)'(?=[aeiouyhéèêà])", re.I)


def is_foreign(text: str) -> bool:
    """Whether a text is in another language, by its small words and its script. Some words alone do not
    tell.
    """
    words = [folded(word) for word in _WORD.findall(_ELIDED.sub("le ", text))]
    script = len(_OTHER_SCRIPT.findall(text))
    if script > sum(map(len, words)) / 2:
        return True
    known = sum(word in FUNCTION_WORDS or word in TELLING for word in words)
    return known > sum(word in ENGLISH for word in words)


def is_small(word: str) -> bool:
    """Whether it is one of the small words that show a language, or a Japanese ending."""
    return word in FUNCTION_WORDS or all("぀" <= letter <= "ゟ" for letter in word)


POLITE = vocabulary(
    "thanks thank thankful grateful hi hello dear sorry apologies apologize regards wishes wish best kind "
    "warm kindest warmest hope trust well soon great nice good lovely wonderful pleasant fine happy glad "
    "pleased day week weekend evening morning afternoon luck bother bothering trouble disturb disturbing "
    "interrupt interrupting email mail message note finds find found doing going everything appreciate "
    "appreciated lot lots many advance understanding cooperation patience time help support kindness "
    "attention consideration friendly quick cheers bye goodbye hear hearing looking look forward "
    "cordially sincerely ahead enjoy rest meet meeting see seeing care bless everyone all guys folks team "
    "intrusion short notice inconvenience caused convenience earliest delay reply wishing greetings mind"
)
NO_COURTESY = vocabulary("yes no not never yeah okay ok nothing none without")
"""What answers or denies something."""
LONGEST_COURTESY = 16
_WORD_OR_DIGIT = re.compile(r"[^\W\d_]+|\d")


def told(found: Sequence[str]) -> list[str]:
    """The sentences that say something; all of them if none does."""
    return [each for each in found if not is_courtesy(each)] or [*found]


def is_courtesy(sentence: str) -> bool:
    """Whether it tells nothing."""
    words = _WORD_OR_DIGIT.findall(sentence.casefold())
    if len(words) > LONGEST_COURTESY or not NO_COURTESY.isdisjoint(words):
        return False
    if not fillers().sub(" ", sentence).strip(" .,!?-"):
        return True
    return not POLITE.isdisjoint(words) and POLITE.union(EMPTY).issuperset(words)


EMPTY = vocabulary(
    "a an the this that these those it its of to in on at for with from by as and or but so if then "
    "than too also i me my mine we us our you your he him his she her they them their be is are was "
    "were am been do does did have has had will would shall should can could may might let there "
    "here just very really quite please kindly hi hey hello ok okay oh well yes yeah some any one "
    "ones about into onto up out off over s t am pm not no which who whom whose what when where how "
    "why ll ve re d m st nd rd th fwd fw sure definitely actually again only own much such hope lol "
    "haha yet ever able between nobody nothing never none neither nor nowhere without hardly barely "
    "scarcely yours ours hers theirs still already"
)
"""Words that say little by themselves; checks of their own look at negations, times and roles."""


SHORTEST_PART = 4
LONGEST_LINK = 2


def content(words: Iterable[Word]) -> tuple[Word, ...]:
    """The words that are worth comparing."""
    return tuple(word for word in words if word.is_word and (word.acronym or word.text not in EMPTY))


@dataclass(frozen=True, slots=True)
class Unshared:
    """The content words of each of two texts that the other has neither as such nor by a synonym, and how
    many of both are shared.
    """

    first: tuple[Word, ...]
    second: tuple[Word, ...]
    shared: int


def unshared(first: Sequence[Word], second: Sequence[Word]) -> Unshared:
    """Hold the content words of two texts together."""
    ones = missing(first, second)
    others = missing(second, first)
    return Unshared(ones, others, len(first) + len(second) - len(ones) - len(others))


def missing(words: Sequence[Word], elsewhere: Sequence[Word]) -> tuple[Word, ...]:
    """Those of the words that stand nowhere in another text: not as such, in
    another form or by a synonym, not written apart or as one, and not as initials.
    """
    stems = {word.stem for word in elsewhere}
    known_roots = frozenset[str]().union(*(roots(one) for one in stems))
    compounds = _compounds(elsewhere)
    apart = {word.text for word in elsewhere}
    meant = meanings(stems)
    initials = "".join(word.text[0] for word in elsewhere)
    acronyms = [word.text for word in elsewhere if word.acronym]
    own = "".join(word.text[0] for word in words)
    own_words = {word.text for word in words}
    spelt = {at + n for acronym in acronyms for at in _starts(own, acronym) for n in range(len(acronym))}
    joined = {
        at + n
        for at, (one, other) in enumerate(pairwise(words))
        if one.text + other.text in apart
        for n in (0, 1)
    }
    made = [parts for other in apart if (parts := _made_of(other, own_words))]
    sets = synonym_sets()
    return tuple(
        word
        for index, word in enumerate(words)
        if word.stem not in stems
        and known_roots.isdisjoint(roots(word.stem))
        and word.text not in compounds
        and not _made_of(word.text, apart)
        and not any(word.text in parts for parts in made)
        and index not in joined
        and index not in spelt
        and not (word.acronym and word.text in initials)
        and meant.isdisjoint(sets.get(word.stem, ()))
    )


def _compounds(words: Sequence[Word]) -> set[str]:
    """What two neighbours make when written as one: "boat house"."""
    return {one.text + other.text for one, other in pairwise(words)}


def _made_of(word: str, parts: Collection[str]) -> tuple[str, ...]:
    """The two parts that make a word, as in "Zahnarzttermin", with a letter or two between."""
    if len(word) < 2 * SHORTEST_PART:
        return ()
    for end in range(SHORTEST_PART, len(word) - SHORTEST_PART + 1):
        for link in range(LONGEST_LINK + 1):
            if word[:end] in parts and word[end + link :] in parts:
                return word[:end], word[end + link :]
    return ()


def _starts(initials: str, acronym: str) -> Iterable[int]:
    at = initials.find(acronym)
    return () if at < 0 else (at,)

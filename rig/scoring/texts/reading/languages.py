"""Other languages: the lexicon knows none, so their words are compared one by one."""

import re

from rig.scoring.texts.reading.listed import vocabulary
from rig.scoring.texts.reading.stems import folded

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

"""Numbers in a text, in digits or in words."""

from rig.scoring.texts.facts.numerals import MULTIPLIERS, ORDINAL_ENDINGS, ORDINALS, SMALL, TENS
from rig.scoring.texts.facts.scan import Scan
from rig.scoring.texts.reading.listed import vocabulary

NUMBERED = vocabulary(
    "room part chapter section version terminal platform gate floor level laboratory lab hall table "
    "track line building session unit day phase episode season lesson module group team number "
    "block wing plan option apartment suite bay stage lot zone pier dock studio court field pitch "
    "lane route bus train exit entrance row seat deck stand door class grade year week question "
    "item step task ticket order vitamin appendix annex boardroom conference quarter ballroom salon "
    "park ward"
)
"""What a number or a letter after it tells from others of its kind."""
NOT_NUMBERED = vocabulary("thing of and or to at in on for with if please i we you aid hand name class")
"""What does not follow "first" where it is a number."""
PLACED = vocabulary("in came come finished placed ranked")
LONGEST_NUMBER = 15
"""Digits. Longer ones are compared as they are written."""


def value_at(scan: Scan, at: int) -> tuple[float | str, int] | None:
    """The number that begins at an index, in digits or words, and the index after it."""
    text, end = scan.text(at), at + 1
    if not text[0].isdecimal():
        return _in_words(scan, at)
    digits = text.replace(",", "")
    if ":" in text or "-" in text:
        return None
    if len(digits) > LONGEST_NUMBER:
        return digits, end
    value, follow = float(digits), scan.text(end)
    if follow in ORDINAL_ENDINGS and scan.joined(end):
        return value, end + 1
    if follow in MULTIPLIERS and (len(follow) > 1 or scan.joined(end)):
        return value * MULTIPLIERS[follow], end + 1
    return value, end


def _in_words(scan: Scan, at: int) -> tuple[float, int] | None:
    if scan.text(at) in ("twice", "dozen"):
        return {"twice": 2.0, "dozen": 12.0}[scan.text(at)], at + 1
    total, end, seen = 0.0, at, False
    while end < len(scan.words):
        text = scan.text(end)
        if text in TENS and not (seen and total % 100):
            total, seen = total + TENS[text], True
        elif text in SMALL and not (seen and (total % 10 or 0 < total % 100 < 20)):
            total, seen = total + SMALL[text], True
        elif text in ORDINALS and (text not in ("first", "second") or seen or counts(scan, end)):
            return total + ORDINALS[text], end + 1
        elif len(text) > 1 and text in MULTIPLIERS and text != "grand":
            total, seen = (total or 1) * MULTIPLIERS[text], True
        elif not (text == "and" and total >= 100 and scan.text(end + 1) in SMALL.keys() | TENS.keys()):
            break
        end += 1
    return (total, end) if seen else None


def counts(scan: Scan, at: int) -> bool:
    """Whether "one", "first" or "second" at an index numbers something, rather than stand for a thing."""
    if scan.text(at - 1) in NUMBERED or scan.text(at + 1) in NUMBERED:
        return True
    following = scan.words[at + 1] if at + 1 < len(scan.words) else None
    if scan.text(at - 1) in PLACED and (following is None or not following.is_word):
        return True
    ordinal = scan.text(at) in ORDINALS and scan.text(at - 1) not in ("a", "one", "per", "at")
    return ordinal and following is not None and following.is_word and following.text not in NOT_NUMBERED

"""Judge two free texts: the same, different, or not clear.

Both texts are brought to one form. A model reads the sentences that belong together, and a guard of facts and
words says what it may not overlook.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rig.core.calls import UNREAD
from rig.plugins.text.judge.around import NOWHERE, Elsewhere, around
from rig.plugins.text.judge.findings import Finding, unclear
from rig.plugins.text.judge.guard import Passages
from rig.plugins.text.judge.least import least_differences
from rig.plugins.text.judge.passages import MAX_SENTENCES, passages, sentences_of, unshared
from rig.plugins.text.reading.characters import readable
from rig.plugins.text.reading.clauses import read_parts
from rig.plugins.text.reading.languages import equal
from rig.plugins.text.reading.typos import corrected
from rig.plugins.text.reading.words import is_foreign, opened
from rig.scoring.similarity import Meaning, TextJudgement
from rig.world.spec import Text

MAX_TEXT = 1_000_000
LONG = 25
"""The most words of a text that is as alike as its least passage; longer ones count as much as a whole."""
LEAST = 1e-4
"""The least likelihood that tells anything."""
LONGEST_REASON = 100

Reader = Callable[[str, str], float | None]
"""Returns how likely two passages say the same, from 0 to 1; None if it cannot read them whole."""


@dataclass(frozen=True, slots=True)
class Band:
    """The likelihood from which two texts are the same, and the one from which that is unclear. From
    `doubtful`, not even a proven difference is clear. Long texts are the same from `long` on if each of
    their passages is the same.
    """

    same: float
    unclear: float
    doubtful: float = math.inf
    long: float | None = None


SAME = TextJudgement(Meaning.SAME, 1.0)
UNREAD_TEXT = TextJudgement(Meaning.UNCLEAR, 0.0, UNREAD)
TOO_LONG = TextJudgement(Meaning.UNCLEAR, 0.0, "not clear: too long to read")


def judge(
    kind: Text, first: str, second: str, reader: Reader, band: Band, elsewhere: Elsewhere = NOWHERE
) -> TextJudgement:
    """Judge whether two texts of a kind mean the same. The verdict is symmetric, and texts are read whole."""
    if first == second:
        return SAME
    if max(len(first), len(second)) > MAX_TEXT:
        return TOO_LONG
    first, second = sorted((first, second))
    parts = [opened(text) for text in (first, second)]
    # One character can become many, such as a ligature that stands for a whole phrase.
    if max(len(part.body) for part in parts) > MAX_TEXT:
        return TOO_LONG
    bodies = corrected(parts[0].body, parts[1].body)
    if any(is_foreign(body, is_name=kind.place) for body in bodies if body.strip()):
        return SAME if equal(first, second) else UNREAD_TEXT
    texts = [read_parts(part._replace(body=body)) for part, body in zip(parts, bodies, strict=True)]
    whole = [sentences_of(text) for text in texts]
    rest = unshared(*whole)
    if max(map(len, rest)) > MAX_SENTENCES:
        return TextJudgement(Meaning.DIFFERENT, 0.0, "most of it differs")
    written = corrected(readable(first), readable(second))
    findings = [*around(*texts), *least_differences(kind, *written)]
    values: list[float | None] = []
    for one, other in passages(*rest):
        if one is None or other is None:
            lone = one or other
            assert lone is not None
            findings.append(unclear(f"only one says: {lone.text}"))
            # What has no partner may be said anywhere in the other text.
            values.append(reader(*(" ".join(sentence.text for sentence in side) for side in whole)))
            continue
        if any(is_foreign(sentence.text, is_name=kind.place) for sentence in (one, other)):
            if not equal(one.text, other.text):
                findings.append(unclear("in a language that is not read"))
            continue
        comparison = Passages(kind, one, other, elsewhere)
        findings += comparison.findings()
        if not comparison.is_same_but_for_what_is_told_elsewhere:
            values.append(_read(reader, comparison))
    is_long = max(len(body.split()) for body in bodies) > LONG
    least = value = _least(values)
    enough = band.same
    if is_long and values and least is not None and (whole_value := reader(*bodies)) is not None:
        value = _between(least, whole_value)
        # What is not the same alone is not the same beside other sentences, however alike the whole is.
        enough = math.inf if least < band.same else band.same if band.long is None else band.long
    return _verdict(findings, value, band, enough)


def _read(reader: Reader, comparison: Passages) -> float | None:
    """Return how likely two passages say the same, as they are written or with their facts in one form."""
    first, second = comparison.sentences
    value = reader(first.text, second.text)
    text = second.text
    for m, n in comparison.pairs.items():
        one, other = first.content[m], second.content[n]
        if one.fact is not None and one.shown != other.shown:
            written = r"(?<!\w)" + r"\s*".join(map(re.escape, other.shown.split())) + r"(?!\w)"
            text = re.sub(written, one.shown.replace("\\", r"\\"), text, count=1, flags=re.I)
    if text != second.text and value is not None:
        value = max(value, reader(first.text, text) or 0.0)
    return value


def _least(values: Iterable[float | None]) -> float | None:
    """Return the least likelihood, 1 if there is none, or None if any passage could not be read."""
    least = 1.0
    for value in values:
        if value is None:
            return None
        least = min(least, value)
    return least


def _between(first: float, second: float) -> float:
    """Return the likelihood whose log odds lie in the middle between those of two."""
    odds = [max(one, LEAST) / max(1 - one, LEAST) for one in (first, second)]
    middle = math.sqrt(odds[0] * odds[1])
    return middle / (1 + middle)


def _verdict(findings: Iterable[Finding], value: float | None, band: Band, enough: float) -> TextJudgement:
    findings = list(findings)
    proven = next((finding for finding in findings if finding.meaning is Meaning.DIFFERENT), None)
    if proven is not None and (value is None or value < band.doubtful):
        return TextJudgement(Meaning.DIFFERENT, value or 0.0, _line(proven.reason))
    if value is None:
        return TextJudgement(Meaning.UNCLEAR, 0.0, "not clear: too long to read")
    if value < band.unclear:
        return TextJudgement(Meaning.DIFFERENT, value)
    if not findings and value >= enough:
        return TextJudgement(Meaning.SAME, value)
    judged = TextJudgement(Meaning.UNCLEAR, value)
    reason = findings[0].reason if findings else judged.reason
    return TextJudgement(Meaning.UNCLEAR, value, _line(f"not clear: {reason}"))


def _line(reason: str) -> str:
    return "".join(c if c.isprintable() else " " for c in reason[:LONGEST_REASON])

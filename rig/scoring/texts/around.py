"""What stands around the clauses of a text: greeting, signature and pictures."""

from collections.abc import Iterator

from rig.reading.characters import mood
from rig.reading.clauses import ReadText
from rig.scoring.texts.atoms import same_name
from rig.scoring.texts.checks import Finding, Meaning, different


def around(first: ReadText, second: ReadText) -> Iterator[Finding]:
    """What greeting, signature and pictures mean. Only they themselves can say it; no reader decides."""
    for ones, others in ((first.greeted, second.greeted), (first.signed, second.signed)):
        if ones and others and not any(same_name(one, other) for one in ones for other in others):
            yield different(f"name: {ones[0].capitalize()} is not {others[0].capitalize()}")
    if first.pictures == second.pictures:
        return
    moods = [{mood(picture) for picture in text.pictures} - {""} for text in (first, second)]
    against = (("yes", "no"), ("glad", "sad"))
    if any(a in one and b in other for a, b in against for one, other in (moods, moods[::-1])):
        yield different(f"emoji: {min(moods[0])} is not {min(moods[1])}")
        return
    pictures = [set(text.pictures) for text in (first, second)]
    alone = bool(pictures[0]) != bool(pictures[1]) and not (first.atoms and second.atoms)
    other = all(pictures) and pictures[0].isdisjoint(pictures[1]) and (moods[0] != moods[1] or not moods[0])
    if alone or other or (moods[0] ^ moods[1]) & {"no", "sad"}:
        yield Finding(Meaning.UNCLEAR, "emoji")

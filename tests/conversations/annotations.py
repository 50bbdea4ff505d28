"""Whether what a file says of its own turns (`tags`, `dates`) can be true, and whether it says enough."""

from collections.abc import Iterator

from conversations.dates import disagreement
from conversations.reading import Feature, Reading

from rig.plugins.tooltalk.check import Defect
from rig.plugins.tooltalk_tools import TOOLTALK

_OF_THE_USER = (Feature.CORRECTION,)
_OF_THE_ASSISTANT = (Feature.ASK, Feature.NO_TOOL, Feature.ERROR)


def check_annotations(file: str, reading: Reading) -> Iterator[Defect]:
    """Faults of the annotations. Every assistant turn without calls has to be one of `ask` and `no-tool`."""
    turns = reading.conversation.turns
    tags: dict[int, list[str]] = {}
    for position, tag in reading.tags():
        tags.setdefault(position, []).append(tag)
    for position, turn in enumerate(turns):
        named = tags.get(position, [])
        allowed = _OF_THE_USER if turn.role == "user" else _OF_THE_ASSISTANT
        for tag in named:
            if tag not in list(allowed):
                yield Defect(file, "tags", f"a {turn.role}'s turn cannot be tagged {tag!r}", position)
        calls = reading.calls_of(position)
        if turn.role == "assistant" and not calls and (Feature.ASK in named) == (Feature.NO_TOOL in named):
            yield Defect(file, "tags", "a turn without calls is either ask or no-tool", position)
        if calls and (Feature.ASK in named or Feature.NO_TOOL in named):
            yield Defect(file, "tags", "a turn with calls is neither ask nor no-tool", position)
        if any(each.executed.exception for each in calls) != (Feature.ERROR in named):
            text = "tagged expected-error, but no call fails" if Feature.ERROR in named else "a call fails"
            yield Defect(file, "tags", text, position)
        later = any(each.turn > position for each in reading.calls)
        if Feature.ASK in named and not ("?" in turn.text and later):
            yield Defect(
                file, "tags", "ask needs a question and a later turn that acts on the answer", position
            )
        if Feature.CORRECTION in named and not _corrects(reading, position):
            yield Defect(file, "tags", "a correction has to change what an earlier turn did", position)
    yield from _dates(file, reading)


def _corrects(reading: Reading, position: int) -> bool:
    """Whether the next calls repeat an earlier turn's tool, or take up an id that an earlier one returned."""
    before = [each for each in reading.calls if each.turn < position]
    after = [each for each in reading.calls if each.turn > position]
    if not before or not after:
        return False
    answer = [each for each in after if each.turn == after[0].turn]
    tools = {each.executed.name for each in before}
    returned = str([each.executed.response for each in before])
    return any(
        each.executed.name in tools
        or any(
            name.endswith("_id") and str(value) in returned for name, value in each.executed.arguments.items()
        )
        for each in answer
        if TOOLTALK.tools[each.executed.name].action or each.executed.name in tools
    )


def _dates(file: str, reading: Reading) -> Iterator[Defect]:
    readable = {(position, phrase): meant for position, phrase, meant in reading.dates()}
    today = reading.conversation.metadata.now.date()
    for position, turn in enumerate(reading.conversation.source["conversation"]):
        explained = turn.get("dates", {})
        if not isinstance(explained, dict):
            yield Defect(file, "dates", "they are an object of phrases and dates", position)
            continue
        for phrase in explained:
            meant = readable.get((position, phrase))
            if meant is None:
                yield Defect(file, "dates", f"{phrase!r} has no date YYYY-MM-DD", position)
                continue
            if phrase not in turn["text"]:
                yield Defect(file, "dates", f"{phrase!r} is not said", position)
            if reason := disagreement(phrase, today, meant):
                yield Defect(file, "dates", f"{phrase!r} on {today:%A, %Y-%m-%d}: {reason}", position)
            arguments = [each.executed.arguments for each in reading.calls if each.turn > position]
            if str(meant) not in str(arguments):
                yield Defect(file, "dates", f"no later call has the date {meant}", position)

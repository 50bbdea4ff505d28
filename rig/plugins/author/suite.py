"""Suites made from scenes: choosing the scenes of each conversation, and writing the files."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import TypeAlias

from rig import methods
from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import json_text, read_json, write
from rig.plugins.author.desk import Desk, Proposal, Rejected
from rig.plugins.author.play import Stage, Unplayable, perform, prepare
from rig.plugins.author.scenes import Scene, Scenes
from rig.plugins.author.worlds import Household, SceneWorld, is_in_time
from rig.plugins.author.writer import ModelAuthor
from rig.world.toolbox import Simulator, Toolbox

TURNS = (2, 3, 4, 5, 6)
"""The numbers of turns that conversations have, in equal shares."""
_FIRST_DAY = datetime(2027, 1, 4)  # noqa: DTZ001 - ToolTalk's clocks know no time zones
_DAYS = 700
_TRIES = 400
"""How many conversations are tried for a place before the scenes count as too few."""

Watch: TypeAlias = Callable[[int, Counter[str]], None]
"""Called after each conversation with their number so far, and with those thrown away, counted by reason."""


@dataclass(frozen=True)
class SuitePart:
    """A part of a suite: `count` conversations made from a seed, and the tag that they get."""

    count: int
    seed: int
    tag: str = ""


@dataclass
class Maker:
    """A maker of conversations from scenes, one after another.

    Each depends on those before: tools that they called are called less often from then on.
    """

    name: str
    toolbox: Toolbox
    scenes: Scenes
    parts: Sequence[SuitePart]
    is_strict: bool = True
    """Whether each length in TURNS has an equal share; if not, a conversation may be shorter than planned."""
    writer: ModelAuthor | None = None
    """A model that chooses the scenes; without one they are drawn."""
    desk: Desk = field(init=False)

    def __post_init__(self) -> None:
        self.desk = Desk(Simulator(self.toolbox.world(), self.toolbox))
        self._tools: Counter[str] = Counter()
        self._used: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """The number of conversations that the suite is to have."""
        return sum(part.count for part in self.parts)

    def take(self, proposal: Proposal) -> None:
        """Count a conversation of an earlier session as kept."""
        self.desk.take(proposal)
        self._note(proposal)

    def make(self, watch: Watch = lambda _count, _thrown: None) -> Iterator[Proposal]:
        """Make the conversations that are still missing. Raises RigError if the scenes yield too few."""
        while len(self.desk.kept) < self.count:
            number = len(self.desk.kept)
            for attempt in range(_TRIES):
                proposal = self.offer(number, attempt)
                if proposal is not None:
                    break
            else:
                reasons = ", ".join(
                    f"{count} {reason}, such as {self.desk.latest.get(reason, '')}"
                    for reason, count in self.desk.thrown.most_common(2)
                )
                raise RigError(
                    f"the scenes give {number} conversations that differ, not {self.count} (thrown away:"
                    f" {reasons}); write more scenes, or more ways to say things"
                )
            watch(number + 1, self.desk.thrown)
            yield proposal

    def offer(self, number: int, attempt: int = 0) -> Proposal | None:
        """Make a conversation for a place in the suite; None if it is thrown away."""
        proposal = self.desk.offer(lambda: self._propose(number, attempt))
        if proposal is not None:
            self._note(proposal)
        return proposal

    def _note(self, proposal: Proposal) -> None:
        self._used.update(proposal.scenes)
        self._tools.update(call["request"]["api_name"] for call in calls_of(proposal.source))

    def _part(self, number: int) -> tuple[SuitePart, int]:
        for part in self.parts:
            if number < part.count:
                return part, number
            number -= part.count
        raise IndexError(number)

    def _propose(self, number: int, attempt: int) -> Proposal:
        part, place = self._part(number)
        random = Random(f"{self.name} {part.seed} {place} {attempt}")
        now = _FIRST_DAY + timedelta(days=random.randrange(_DAYS), minutes=5 * random.randint(84, 250))
        chosen, fillers = self._choose(random, place, now)
        kind = Household if self.toolbox.name == "tooltalk" else SceneWorld
        setting = kind(random, now, self.toolbox, self.desk.simulator, self.scenes.lists)
        try:
            stage = setting.stage(chosen[0].login)
            prepared = [(scene, prepare(scene, stage)) for scene in (*chosen, *fillers)]
            for scene, own in prepared:
                if scene.world is not None:
                    setting.add(scene.world, own.scope)
            self._perform(prepared, stage, TURNS[place % len(TURNS)], len(chosen))
        except Unplayable as error:
            raise Rejected("unplayable", str(error)) from error
        tags = [*(scene.name for scene in chosen), *dict.fromkeys(stage.tags), *filter(None, [part.tag])]
        name = f"{self.name}-{number + 1:04}"
        source = stage.draft.source(name, self.toolbox, **setting.about(), tags=list(dict.fromkeys(tags)))
        order = ("name", "conversation_id", "suites_used", "apis_used", "scenario", "user", "metadata")
        source = {part: source[part] for part in (*order, *(part for part in source if part not in order))}
        return Proposal(source, tuple(scene.name for scene, _ in prepared))

    def _perform(
        self, prepared: Sequence[tuple[Scene, Stage]], stage: Stage, turns: int, wishes: int
    ) -> None:
        """Play scenes in order, with fillers between them. Raises Rejected for a wrong order or length."""
        main, fillers = list(prepared[:wishes]), list(prepared[wishes:])
        for filler in fillers:
            places: Sequence[int] = range(len(main) if main[-1][0].ends else len(main) + 1)
            if filler[0].filler == "first":
                places = [] if main[0][0].ends else places[:1]
            elif filler[0].filler == "after":
                places = [place for place in places if place and not main[place - 1][0].filler]
            if not places:
                raise Rejected("order", f"{filler[0].name} comes after something")
            main.insert(stage.random.choice(places), filler)
        for number, (scene, own) in enumerate(main):
            # A scene before may have had no turn, if all of its turns are only sometimes said.
            before = main[number - 1][0] if stage.draft.turns else None
            acted = before is not None and bool(stage.draft.turns[-1].calls)
            if scene.filler == "after" and not acted:
                raise Rejected("order", f"{scene.name} comes after something was done")
            if before is None:
                links = _GREETINGS
            elif before.filler == "first":
                links = _AFTER_OPENING
            else:
                links = _LINKS if acted else _AFTER_WORDS
            perform(scene, own, "" if scene.filler else stage.random.choice(links))
            stage.tags += scene.tags
            if stage.count > (max(TURNS) if self.writer else turns):
                raise Rejected("length", f"{stage.count} turns, not {turns}")
        if stage.count != turns and self.is_strict:
            raise Rejected("length", f"{stage.count} turns, not {turns}")
        if not stage.draft.calls:
            raise Rejected("idle", "nothing is called")

    def _choose(self, random: Random, place: int, now: datetime) -> tuple[list[Scene], list[Scene]]:
        """Choose scenes that are about different things, and fillers, for the turns of this place."""
        turns = TURNS[place % len(TURNS)]
        fillers = [scene for scene in self.scenes.scenes if scene.filler]
        chosen: list[Scene] = []
        extras: list[Scene] = []
        if fillers and place % 5 in (1, 3, 4):
            extras.append(self._pick(fillers, random))
        left = turns - len(extras)
        while left > 0:
            fitting = [scene for scene in self.scenes.scenes if self._fits(scene, chosen, now, left)]
            if not fitting:
                break
            pick = self.writer.pick if self.writer else self._pick
            chosen.append(pick(fitting, random))
            left -= max(1, chosen[-1].shortest + random.choice((0, 0, 1)))
            if chosen[-1].ends or (chosen[-1].alone and left > 0):
                break
        if not chosen:
            raise Rejected("unplayable", "no scene fits")
        while left > 0 and len(extras) < 2:
            kinds = {(scene.tags, scene.filler == "first") for scene in extras}
            spare = [scene for scene in fillers if (scene.tags, scene.filler == "first") not in kinds]
            if not spare:
                break
            extras.append(self._pick(spare, random))
            left -= 1
        return chosen, extras

    def _fits(self, scene: Scene, chosen: Sequence[Scene], now: datetime, left: int) -> bool:
        if scene.filler or scene.shortest > left or not is_in_time(scene, now):
            return False
        if chosen and (scene.alone or scene.login != "in" or chosen[0].alone or scene in chosen):
            return False
        touched = {thing for other in chosen for thing in self._touches(other)}
        return not touched & self._touches(scene)

    def _touches(self, scene: Scene) -> set[str]:
        """Return the plugins that a scene is about; its tools, if the toolbox has only one plugin."""
        tools = self.toolbox.tools
        return (
            set(scene.tools)
            if len(self.toolbox.plugins) < 2
            else {tools[name].plugin for name in scene.tools}
        )

    def _pick(self, scenes: Sequence[Scene], random: Random) -> Scene:
        return random.choices(scenes, [self._weight(scene) for scene in scenes])[0]

    def _weight(self, scene: Scene) -> float:
        """Return a scene's weight: higher if it was used less, or its tools were called less."""
        needs = [1 / (1 + self._tools[name]) for name in scene.tools] or [1.0]
        need = sum(need**4 for need in needs) / len(needs) * min(needs) ** 1.5
        return float(scene.weight * need / (1 + self._used[scene.name]) ** 0.3)


_LINKS = (
    "",
    "",
    "Also,",
    "Another thing:",
    "Okay.",
    "Thanks.",
    "Great.",
    "Next,",
    "Good.",
    "Right,",
    "Thank you.",
)
"""Words that link a scene to one before that ended with a call."""
_AFTER_WORDS = ("", "", "Okay.", "Right,", "Anyway,", "So,", "All right.")
"""Words that link a scene to one before that ended without a call."""
_AFTER_OPENING = ("", "", "So,", "Okay.")
_GREETINGS = (*[""] * 16, "Hi,", "Hello.", "Hey,", "Hi there.", "Hello,")


def calls_of(source: JsonObject) -> Iterator[JsonObject]:
    """Yield the calls of a conversation in ToolTalk's shape."""
    return (call for turn in source["conversation"] for call in turn.get("apis", ()))


def written(source: JsonObject) -> str:
    """Return a conversation as the text of its file."""
    return json.dumps(source, indent=2, ensure_ascii=False) + "\n"


def source_of(file: Path) -> JsonObject:
    """Read the conversation in a file. Raises RigError if it holds none."""
    source = read_json(file)
    if not isinstance(source, dict) or not isinstance(source.get("tags", []), list):
        raise RigError(f"{file}: is no conversation")
    methods.first().parse(source, str(file), "")
    return source


def require_no_links(folder: Path) -> None:
    """Raise RigError for a folder that has symbolic links, as writing to them would change other files."""
    if link := next((path for path in folder.iterdir() if path.is_symlink()), None):
        raise RigError(f"{link}: is a link, and rig writes into this folder; put the file itself there")


def digest(sources: Sequence[JsonObject]) -> str:
    """Return the SHA-256 of a suite's files, in order."""
    return hashlib.sha256("".join(map(written, sources)).encode()).hexdigest()


STATE = "author.json.txt"
"""The file that says how a folder was made; no loader of conversations reads files with this ending."""
_EVERY = 20


def write_suite(maker: Maker, folder: Path, settings: JsonObject, watch: Watch) -> JsonObject:
    """Write the conversations of a suite into a folder, or continue an unfinished one.

    `settings` say what the suite is made from. Returns the content of the state file. Raises RigError for a
    folder that was made with other settings.
    """
    with _continuing(folder, settings) as before:
        for number in range(len(before["scenes"])):
            source = source_of(folder / f"{maker.name}-{number + 1:04}.json")
            maker.take(Proposal(source, tuple(before["scenes"][number])))
        maker.desk.thrown.update(before["thrown"])
        for proposal in maker.make(watch):
            write(written(proposal.source), folder / f"{proposal.name}.json", force=True)
            if len(maker.desk.kept) % _EVERY == 0:
                _save(folder, settings, maker.desk)
        return _save(folder, settings, maker.desk)


def write_worded(
    maker: Maker, writer: ModelAuthor, folder: Path, settings: JsonObject, watch: Watch
) -> JsonObject:
    """Write the conversations of a suite into a folder, reworded by a model and checked again.

    One is tried for each place of the suite, and most may be thrown away. Continues an unfinished folder and
    raises RigError as `write_suite` does.
    """
    maker.writer = writer
    desk = Desk(Simulator(maker.toolbox.world(), maker.toolbox))

    def save(tried: int) -> JsonObject:
        told = {"tried": tried, "wordings": dict(writer.wordings), "picks": writer.picks}
        return _save(folder, settings, desk, told)

    with _continuing(folder, settings) as before:
        tried = before.get("tried", 0)
        writer.repeat(before.get("picks", ()))
        writer.wordings.update(before.get("wordings", {}))
        desk.thrown.update(before["thrown"])
        for number in range(maker.count):
            maker.desk.thrown.clear()
            proposal = maker.offer(number)
            file = folder / f"{maker.name}-{number + 1:04}.json"
            if number < tried:
                if proposal is not None and file.is_file():
                    desk.take(Proposal(source_of(file), proposal.scenes))
                continue
            desk.thrown += maker.desk.thrown
            kept = proposal and desk.offer(partial(writer.reword, proposal))
            if kept:
                write(written(kept.source), file, force=True)
            save(number + 1)
            watch(number + 1, desk.thrown + Counter(kept=len(desk.kept)))
        return save(maker.count)


@contextmanager
def _continuing(folder: Path, settings: JsonObject) -> Iterator[JsonObject]:
    """A context with the state of a folder, empty if the folder is new. Raises RigError."""
    state = folder / STATE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        require_no_links(folder)
        before = {"settings": settings, "scenes": [], "thrown": {}}
        if state.is_file():
            before = read_json(state)
            if not _is_state(before):
                raise RigError(f"{state}: is no state of `rig author`; delete it, or name another folder")
        elif any(path.suffix in (".json", ".yaml", ".yml") for path in folder.iterdir()):
            raise RigError(f"{folder}: holds conversations already; name another folder with --output")
        else:
            # Without it, a folder with the first conversations would be taken for somebody else's.
            write(json_text(before, indent=1), state)
        if before["settings"] != settings:
            raise RigError(f"{folder}: was made from other scenes or with other options; name another folder")
        yield before
    except (OSError, ValueError, KeyError) as error:
        raise RigError(f"{folder}: cannot be continued: {error}; delete it, or name another") from error


def _is_state(content: Json) -> bool:
    """Return whether a state file holds what `_save` writes."""
    parts = content if isinstance(content, dict) else {}
    return (
        isinstance(parts.get("settings"), dict)
        and isinstance(scenes := parts.get("scenes"), list)
        and all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in scenes)
        and all(
            isinstance(counts, dict) and all(type(count) is int for count in counts.values())
            for counts in (parts.get("thrown"), parts.get("wordings", {}))
        )
        and type(parts.get("tried", 0)) is int
        and isinstance(picks := parts.get("picks", []), list)
        and all(isinstance(name, str) for name in picks)
    )


def _save(folder: Path, settings: JsonObject, desk: Desk, told: JsonObject | None = None) -> JsonObject:
    content = {"settings": settings, **report(desk), **(told or {})}
    content["scenes"] = [one.scenes for one in desk.kept]
    write(json_text(content, indent=1), folder / STATE, force=True)
    return content


def report(desk: Desk) -> JsonObject:
    """Count a suite's conversations by turns, calls, tools and tags, and the proposals thrown away."""
    sources = [proposal.source for proposal in desk.kept]
    tools = Counter(call["request"]["api_name"] for source in sources for call in calls_of(source))
    turns = Counter(sum(turn["role"] == "user" for turn in source["conversation"]) for source in sources)
    replies = [turn for source in sources for turn in source["conversation"] if turn["role"] == "assistant"]
    calls = Counter(sum(1 for _ in calls_of(source)) for source in sources)
    tags = Counter(str(tag) for source in sources for tag in source.get("tags", ()))
    return {
        "conversations": len(sources),
        "turns": dict(sorted(turns.items())),
        "calls": dict(sorted(calls.items())),
        "no_call_turns": sum("apis" not in turn for turn in replies),
        "assistant_turns": len(replies),
        "tools": dict(tools.most_common()),
        "tags": {tag: tags[tag] for tag in sorted(tags)},
        "likest": round(max(desk.nearest, default=0.0), 3),
        "thrown": dict(desk.thrown.most_common()),
        "sha256": digest(sources),
    }

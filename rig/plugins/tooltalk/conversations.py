"""Conversations in ToolTalk's JSON shape: rig's own and those of the public dataset.

The shape is that of microsoft/ToolTalk's `data/easy` and `data/tooltalk`. If one of its files is irregular
(missing or wrong `index`, two user turns in a row, no `scenario`), the position in the list decides.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from rig.core import times
from rig.core.calls import Call, CallPlace, Json, JsonObject, Outcome
from rig.core.errors import RigError
from rig.core.files import beginning, read_json
from rig.core.paths import real
from rig.core.tasks import ExpectedTurn, Task, require_unique
from rig.plugins.documents.documents import ENDINGS, parsed
from rig.plugins.matching import agreement
from rig.plugins.matching.matching import Terms
from rig.plugins.own_tools.folder import holds_toolbox
from rig.plugins.tooltalk.written import Expected, parse_expected, read_written
from rig.world.rules import TrueCall

OWN = "conversations"
"""The subfolder in which a folder with its own tools keeps its conversations."""
MAX_FILE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance. `calls` are the ground truth of an assistant turn, made before `text` is said: in any
    order, or in the given one if the turn is `ordered`. The tools in `forbidden` must not be called. With
    `expects_end`, the turn has to end as `expected` says.
    """

    role: Literal["user", "assistant"]
    text: str
    calls: tuple[TrueCall, ...] = ()
    ordered: bool = False
    forbidden: frozenset[str] = frozenset()
    expects_end: bool = False
    expected: Expected = ()


@dataclass(frozen=True, slots=True)
class User:
    """The user of a conversation. With a `session_token` the simulator starts logged in as `username`."""

    username: str
    email: str | None = None
    phone: str | None = None
    name: str | None = None
    password: str | None = None
    session_token: str | None = None
    verification_code: str | None = None

    @property
    def credentials(self) -> dict[str, Json]:
        """What the user's account starts with: a session token, a verification code, or nothing."""
        values = {"session_token": self.session_token, "verification_code": self.verification_code}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Metadata:
    """What the prompt and the clock need: place, time (YYYY-MM-DD HH:MM:SS) and who is logged in.

    If no place is given, there are no accounts to log in to either. `notes` are only for the model.
    """

    location: Annotated[str | None, Field(default=None)]
    timestamp: str
    username: str | None = None
    notes: str = ""

    @property
    def facts(self) -> tuple[str | None, ...]:
        """The facts that are known before anything is said."""
        return self.location, self.timestamp, self.username

    @property
    def now(self) -> datetime:
        """The conversation's clock, without a time zone as in the dataset."""
        return times.read(self.timestamp, times.INSTANT)


@dataclass(frozen=True)
class Conversation(Task):
    """A whole conversation with its ground truth. Turns are addressed by their position in `turns`."""

    name: str
    id: str
    user: User
    metadata: Metadata
    turns: tuple[Turn, ...]
    plugins: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    scenario: str = ""
    seeds: JsonObject | None = None
    """Its own world, as ToolTalk's databases by name; None for the world of the run."""
    source: JsonObject = field(default_factory=dict, compare=False, repr=False)
    """The file's JSON as it was read, so that an export can give it back with additions."""
    suite: str = field(default="", compare=False)
    """The suite that it was read with: `easy`, `hard`, or the name of another directory."""
    folder: Path | None = field(default=None, compare=False, repr=False)
    """The folder that it was read from, if that has its own tools."""

    @property
    def start(self) -> tuple[datetime, str, dict[str, Json], JsonObject | None]:
        """How its world begins: the clock, the user, the user's credentials, and its own seeds."""
        return self.metadata.now, self.user.username, self.user.credentials, self.seeds

    @property
    def ground_truth(self) -> tuple[TrueCall, ...]:
        """Every ground-truth call, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @cached_property
    def known_turns(self) -> tuple[int, ...]:
        """The positions of the assistant turns, which are to be predicted."""
        return tuple(index for index, turn in enumerate(self.turns) if turn.role == "assistant")

    @property
    def facts(self) -> Mapping[str, str]:
        """When and where it takes place, and who is logged in."""
        user = self.metadata.username or ("nobody is logged in" if self.metadata.location else "")
        when = ", ".join(filter(None, (self.metadata.timestamp, self.metadata.location)))
        return {"when": when, **({"user": user} if user else {})}

    @property
    def translations(self) -> Mapping[str, Mapping[str, str]]:
        """The user's texts in other languages, by language and by original text."""
        lines = [turn for turn in self.source.get("conversation", ()) if turn["role"] == "user"]
        several = [turn.get("translations", {}) for turn in lines]
        languages = set.intersection(*map(set, several)) if several else set()
        return {of: {turn["text"]: turn["translations"][of] for turn in lines} for of in languages}

    @cached_property
    def terms(self) -> Terms:
        """What calls must satisfy beyond being due: forbidden tools by turn, and turns with an order."""
        turns = list(enumerate(self.turns))
        return Terms(
            {position: turn.forbidden for position, turn in turns if turn.forbidden},
            frozenset(position for position, turn in turns if turn.ordered),
        )

    @property
    def closing(self) -> tuple[str, ...]:
        """What the user says after the last assistant turn."""
        return tuple(turn.text for turn in self.turns[self.known_turns[-1] + 1 :])

    @property
    def ground_truth_count(self) -> int:
        """The number of ground-truth calls that are not optional."""
        return sum(not call.optional for call in self.ground_truth)

    def expected(self, turn: int) -> ExpectedTurn:
        """Return the true turn at this position, and what the user said since the last assistant turn."""
        truth = self.turns[turn]
        first = turn
        while first and self.turns[first - 1].role == "user":
            first -= 1
        return ExpectedTurn(tuple(user.text for user in self.turns[first:turn]), truth.calls, truth.text)

    def ground_truth_positions(self) -> Iterator[CallPlace]:
        """Return the place of every ground-truth call, in the order of `ground_truth`."""
        turns = enumerate(self.turns)
        return (CallPlace(index, number) for index, turn in turns for number in range(len(turn.calls)))


class _Request(BaseModel):
    api_name: str
    parameters: dict[str, Any]


class _Call(BaseModel):
    request: _Request
    response: Any = None
    exception: str | None = None
    rules: dict[str, Any] = Field(default_factory=dict)
    optional: bool = False

    def as_true_call(self) -> TrueCall:
        """Return the call with its rules parsed. Raises RigError for an invalid rule."""
        ruled = {name: agreement.parse(rule) for name, rule in self.rules.items()}
        return TrueCall(
            Call(self.request.api_name, self.request.parameters),
            Outcome(self.response, self.exception),
            rules={name: rule for name, rule in ruled.items() if rule is not None},
            optional=self.optional,
            recorded=not {"response", "exception"}.isdisjoint(self.model_fields_set),
        )


class _Turn(BaseModel):
    role: Literal["user", "assistant"]
    text: str
    apis: list[_Call] = Field(default_factory=list)
    order: Literal["any", "given"] = "any"
    must_not_call: list[str] = Field(default_factory=list)
    expect: Any = None
    translations: dict[str, str] = Field(default_factory=dict)


class _ConversationFile(BaseModel):
    name: str
    conversation_id: str
    user: User
    metadata: Metadata
    conversation: list[_Turn] = Field(min_length=1)
    suites_used: list[str] = Field(default_factory=list)
    apis_used: list[str] = Field(default_factory=list)
    scenario: str = ""
    world: dict[str, dict[str, Any]] | None = None


MOST_TURNS = 3_000
"""The most turns of a conversation, of user and assistant together. The world is kept before each, and grows
with what they do.
"""


def parse_conversation(source: JsonObject, where: str) -> Conversation:
    """Make a conversation from its JSON object, named `where` in errors. Raises RigError on a bad shape."""
    file = parsed(_ConversationFile, source, where, "a conversation")
    fault = f"{where}: not a conversation"
    try:
        times.read(file.metadata.timestamp, times.INSTANT)
    except ValueError as error:
        raise RigError(f"{fault}: metadata.timestamp: {error}") from error
    if not file.name:
        raise RigError(f"{fault}: name: is empty")
    if (count := len(file.conversation)) > MOST_TURNS:
        raise RigError(
            f"{where}: has {count:,} turns, {MOST_TURNS:,} at most; make several conversations of it"
        )
    if not any(turn.role == "assistant" for turn in file.conversation):
        raise RigError(f"{fault}: the assistant never speaks, so nothing can be predicted")
    turns = []
    for turn in file.conversation:
        try:
            calls = tuple(call.as_true_call() for call in turn.apis)
            end = () if turn.expect is None else parse_expected(turn.expect)
        except RigError as error:
            raise RigError(f"{fault}: rules: {error}") from error
        never = frozenset(turn.must_not_call)
        ordered, expects = turn.order == "given", turn.expect is not None
        turns.append(Turn(turn.role, turn.text, calls, ordered, never, expects, end))
    return Conversation(
        file.name,
        file.conversation_id,
        file.user,
        file.metadata,
        tuple(turns),
        tuple(file.suites_used),
        tuple(file.apis_used),
        file.scenario,
        file.world,
        source,
    )


def load_conversation(path: Path) -> Conversation:
    """Read one conversation file. Raises RigError when it cannot be read or is not a conversation."""
    source = read_json(path, MAX_FILE_BYTES)
    if not isinstance(source, dict):
        raise RigError(f"{path}: not a conversation: the top level is not an object")
    return parse_conversation(source, str(path))


def load_file(path: Path) -> list[Conversation]:
    """Read the conversations of a file: one in ToolTalk's shape, or any number as people write them."""
    if is_in_tooltalks_shape(path):
        return [load_conversation(path)]
    return [parse_conversation(source, str(path)) for source in read_written(path)]


def is_in_tooltalks_shape(path: Path) -> bool:
    """Return whether a file seems to have ToolTalk's shape, not the written one, from its beginning."""
    return path.suffix == ".json" and ('"conversation"' in beginning(path) or not _is_written(path))


def files_of(directory: Path) -> list[Path]:
    """Return the conversation files of a directory, sorted by name. Raises RigError if there are none.

    If the folder has its own tools, its files are in `conversations`.
    """
    if not directory.is_dir():
        raise RigError(
            f"{directory}: no such directory of conversations; give a folder of JSON or YAML files"
        )
    if holds_toolbox(directory):
        directory /= OWN
        if not directory.is_dir():
            raise RigError(f"{directory}: no such directory; a folder with tools has its conversations there")
    paths = _in_folder(directory)
    if not paths:
        endings = ", ".join(f"*{ending}" for ending in ENDINGS)
        raise RigError(f"{directory}: holds no conversation ({endings})")
    return paths


def _in_folder(place: Path) -> list[Path]:
    return sorted(path for path in place.iterdir() if path.suffix in ENDINGS and path.is_file())


def holds_conversations(place: Path) -> bool:
    """Return whether a folder seems to hold conversations, from the beginnings of its first files."""
    first = _in_folder(place)[:3] if place.is_dir() else ()
    return holds_toolbox(place) or any(
        _is_written(path) or '"conversation"' in beginning(path) for path in first
    )


def _is_written(path: Path) -> bool:
    """Return whether a file seems to hold conversations as people write them, from its beginning."""
    text = beginning(path)
    if path.suffix == ".json":
        return '"turns"' in text or bool(re.match(r'\s*\[\s*\{\s*"(user|calls)"', text))
    return re.search(r"^[- \t]*[\"']?(user|turns)[\"']?[ \t]*:", text, re.MULTILINE) is not None


def load_directory(place: Path) -> list[Conversation]:
    """Read every conversation of a directory, in order of file names. Raises RigError if names repeat.

    The suite has the name of the directory, or of the folder with the tools if there is one.
    """
    whole = real(place)
    if whole.name == OWN and holds_toolbox(whole.parent):
        whole = whole.parent
    name = whole.name.encode("utf-8", "backslashreplace").decode()
    # ToolTalk's repository keeps its hard conversations in `data/tooltalk`.
    suite = "hard" if name == "tooltalk" else name
    folders = (place, *([place.parent] if place.name == OWN else []))
    folder = next(filter(holds_toolbox, folders), None)
    conversations = [
        replace(conversation, suite=suite, folder=folder)
        for path in files_of(place)
        for conversation in load_file(path)
    ]
    require_unique(conversations, place)
    return conversations

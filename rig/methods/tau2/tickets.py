"""Tasks of τ²-bench in solo mode: a ticket, the state that it starts in, and what its end is judged by."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from rig.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.documents import Foreign, Many, parsed
from rig.errors import RigError
from rig.files import read_json
from rig.methods.base import Loaded
from rig.methods.defects import defects
from rig.methods.tau2.checkout import SOLO, Domain, Owner, TicketWorld
from rig.tasks import ExpectedTurn, Task

DONE = "done"


class _WorldCall(Foreign):
    env_type: Owner
    func_name: str
    arguments: JsonObject = Field({})


class Assertion(_WorldCall):
    """A function of the agent's or the user's world, and what it has to say in the end."""

    assert_value: bool = True


class Action(Foreign):
    """A call of the truth. `compare_args` name the arguments that matter, else those of the call do."""

    name: str
    arguments: JsonObject = Field({})
    requestor: Owner = "assistant"
    compare_args: Many[str] | None = None

    def is_made_by(self, call: Call) -> bool:
        """Whether a call counts as this action: by the arguments it names, or those of the call itself."""
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        names = arguments.keys() if self.compare_args is None else self.compare_args
        return call.name == self.name and _only(arguments, names) == _only(self.arguments, names)


def _only(arguments: JsonObject, names: Collection[str]) -> JsonObject:
    return {name: value for name, value in arguments.items() if name in names}


class _InitialData(Foreign):
    agent_data: JsonObject | None = None
    user_data: JsonObject | None = None


class _InitialState(Foreign):
    initialization_data: _InitialData | None = None
    initialization_actions: Many[_WorldCall] | None = None
    message_history: list[Any] | None = None


class _Criteria(Foreign):
    actions: Many[Action] | None = None
    env_assertions: Many[Assertion] | None = None
    communicate_info: Many[str] | None = None
    reward_basis: Many[Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]] = Field(
        ["DB", "COMMUNICATE"]
    )


class _TicketSource(Foreign):
    id: str
    domain: str
    ticket: str | None = None
    initial_state: _InitialState | None = None
    evaluation_criteria: _Criteria


@dataclass(frozen=True)
class Ticket(Task):
    """A task in solo mode. The actions of its `criteria` are a way to settle it."""

    name: str
    suite: str
    domain: str
    ticket: str
    start: _InitialState
    criteria: _Criteria
    source: JsonObject

    @property
    def intent(self) -> str:
        """What kind of trouble it is, where the name says it."""
        return self.name[1:].partition("]")[0] if self.name.startswith("[") else self.domain

    @property
    def actions(self) -> Sequence[Action]:
        """The calls of agent and user that settle it."""
        return self.criteria.actions or ()

    @property
    def ground_truth_count(self) -> int:
        return len(self.actions)

    @property
    def defect(self) -> str:
        return defects().get(self.name, "")

    @property
    def facts(self) -> Mapping[str, str]:
        basis = " and ".join(part.lower().replace("_", " ") for part in self.criteria.reward_basis)
        return {"domain": self.domain, "intent": self.intent, "judged by": basis}

    def expected(self, turn: int) -> ExpectedTurn:
        calls = (*(Call(action.name, action.arguments) for action in self.actions), Call(DONE, {}))
        return ExpectedTurn((self.ticket,), tuple(ExecutedCall(call, Outcome()) for call in calls))

    def begin(self, place: Domain) -> TicketWorld:
        """A world in the state that the task starts in. Raises RigError where it cannot be made."""
        world = place.world()
        data = self.start.initialization_data or _InitialData()
        try:
            world.change(data.agent_data, data.user_data)
            for call in self.start.initialization_actions or ():
                world.run(call.env_type, call.func_name, call.arguments)
            world.sync()
        except Exception as error:
            raise RigError(
                f"{self.name}: this checkout cannot set up the task: {type(error).__name__}: {error}"
            ) from error
        return world


def load(place: Path) -> Loaded:
    """The tasks of a domain's folder (those of the split `base`), or all of a file of tasks.

    `faults` say why a task is left out. Raises RigError if there is none at all.
    """
    file = tasks_of(place)
    if file is None:
        raise RigError(f"{place}: no folder of a domain of tau2-bench, and no file of its tasks")
    rows = read_json(file)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise RigError(f"{file}: not a list of objects, one for each task")
    base = _base(file) if place.is_dir() else None
    suite = f"{file.parent.name} {'base' if base is not None else file.stem.removeprefix('tasks_')}"
    tasks: list[Ticket] = []
    faults: list[str] = []
    for row in (row for row in rows if base is None or row.get("id") in base):
        source = {name: row[name] for name in _TicketSource.model_fields if name in row}
        try:
            tasks.append(parse({**source, "domain": file.parent.name}, f"{file}: {row.get('id')}", suite))
        except RigError as error:
            faults.append(str(error))
    if not tasks:
        raise RigError(next(iter(faults), f"{file}: holds no tasks"))
    return Loaded(tasks, faults)


def parse(source: JsonObject, where: str, suite: str) -> Ticket:
    """A task from what is stored of it. Raises RigError, also for one that needs a user or a judge."""
    row = parsed(_TicketSource, source, where, "a task of tau2-bench")
    start, criteria = row.initial_state or _InitialState(), row.evaluation_criteria
    reasons = {
        "it has no ticket, and needs a user": row.domain not in SOLO or not row.ticket,
        "it begins in the middle of a conversation": start.message_history,
        "it needs a judge": "NL_ASSERTION" in criteria.reward_basis,
        "it needs words to a user": "COMMUNICATE" in criteria.reward_basis and criteria.communicate_info,
        "nothing in it can be judged": not criteria.actions and not criteria.env_assertions,
    }
    if reason := next((text for text, applies in reasons.items() if applies), ""):
        raise RigError(f"{where} is left out: {reason}")
    return Ticket(row.id, suite, row.domain, row.ticket or "", start, criteria, source)


def tasks_of(place: Path) -> Path | None:
    """The file of tasks that a place is or holds, told from a glance."""
    file = place / "tasks.json" if place.is_dir() else place
    is_named = file.name.startswith("tasks") and file.suffix == ".json"
    has_policy = any((file.parent / name).is_file() for name in ("policy.md", "main_policy.md"))
    return file if is_named and file.is_file() and has_policy else None


def _base(file: Path) -> frozenset[str] | None:
    """The names of the split that is played by default; None if all tasks are."""
    path = file.parent / "split_tasks.json"
    splits: Json = read_json(path) if path.is_file() else None
    base = splits.get("base") if isinstance(splits, dict) else None
    return frozenset(map(str, base)) if isinstance(base, list) else None

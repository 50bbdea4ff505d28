"""Tasks of τ²-bench: a ticket or a customer, the initial state, and the criteria that judge the end."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from rig.core.calls import Call, ExecutedCall, Json, JsonObject, Outcome
from rig.core.errors import RigError
from rig.core.files import read_json
from rig.core.tasks import ExpectedTurn
from rig.methods.base import Loaded
from rig.plugins.defects.defects import PublicTask
from rig.plugins.documents.documents import Foreign, Many, parsed
from rig.plugins.tau2.checkout import SOLO, USER_ALONE, Domain, Owner, TicketWorld

DONE = "done"
TALKING = ", with a user"
"""The end of the names of suites that are played with a user."""


class _WorldCall(Foreign):
    env_type: Owner
    func_name: str
    arguments: JsonObject = Field({})


class Assertion(_WorldCall):
    """A function of the agent's or the user's world, and what it has to return at the end."""

    assert_value: bool = True


class Action(Foreign):
    """A call of the truth. `compare_args` names the arguments that matter; without it, a call's own do."""

    name: str
    arguments: JsonObject = Field({})
    requestor: Owner = "assistant"
    compare_args: Many[str] | None = None

    def is_made_by(self, call: Call) -> bool:
        """Return whether a call counts as this action, by the arguments in `compare_args` or in the call."""
        arguments = call.arguments if isinstance(call.arguments, dict) else {}
        names = arguments.keys() if self.compare_args is None else self.compare_args
        return call.name == self.name and _only(arguments, names) == _only(self.arguments, names)

    def is_made_as_written_by(self, call: Call) -> bool:
        """Return whether a call is this action, with exactly its arguments if there are no `compare_args`."""
        return self.is_made_by(call) and (self.compare_args is not None or call.arguments == self.arguments)


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
    nl_assertions: Many[str] | None = None
    reward_basis: Many[Literal["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE", "NL_ASSERTION"]] = Field(
        ["DB", "COMMUNICATE"]
    )

    @property
    def judges_world(self) -> bool:
        """Whether the final world is judged at all: upstream does not look at it where neither actions nor
        assertions are given. An empty list is given: nothing is to be written.
        """
        return self.actions is not None or self.env_assertions is not None


class _TicketSource(Foreign):
    id: str
    domain: str
    ticket: str | None = None
    initial_state: _InitialState | None = None
    evaluation_criteria: _Criteria


class Instructions(Foreign):
    """The instructions of a user, in prose."""

    reason_for_call: str
    known_info: str | None = None
    unknown_info: str | None = None
    task_instructions: str | None = None


class _Scenario(Foreign):
    persona: str | None = None
    instructions: Instructions | str


class _CustomerSource(_TicketSource):
    user_scenario: _Scenario


@dataclass(frozen=True)
class Ticket(PublicTask):
    """A task in solo mode. The actions in its `criteria` are one way to settle it."""

    name: str
    suite: str
    domain: str
    ticket: str
    start: _InitialState
    criteria: _Criteria
    source: JsonObject

    @property
    def intent(self) -> str:
        """The kind of problem, if the task's name says it, else the domain."""
        return self.name[1:].partition("]")[0] if self.name.startswith("[") else self.domain

    @property
    def actions(self) -> Sequence[Action]:
        """The calls of agent and user that settle the task."""
        return self.criteria.actions or ()

    @property
    def due(self) -> Sequence[Action]:
        """All calls that are due, including `done`."""
        return (*self.actions, Action(name=DONE, arguments={}))

    @property
    def ground_truth_count(self) -> int:
        return len(self.actions)

    @property
    def facts(self) -> Mapping[str, str]:
        basis = " and ".join(part.lower().replace("_", " ") for part in self.criteria.reward_basis)
        return {"domain": self.domain, "intent": self.intent, "judged by": basis, **self.wrong}

    def expected(self, turn: int) -> ExpectedTurn:
        calls = (ExecutedCall(Call(action.name, action.arguments), Outcome()) for action in self.due)
        return ExpectedTurn((self.ticket,), tuple(calls))

    @property
    def is_prepared(self) -> bool:
        """Whether its world begins in another state than the domain's."""
        return self.start != _InitialState()

    def begin(self, place: Domain) -> TicketWorld:
        """Make a world in the task's initial state. Raises RigError if that fails."""
        world = place.world()
        try:
            world.begin(self.start.initialization_data, self.start.initialization_actions or ())
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
            raise RigError(f"{self.name}: this checkout cannot set up the task: {fault}") from error
        return world


@dataclass(frozen=True, kw_only=True)
class CustomerTask(Ticket):
    """A task with a user who talks: the customer gets the instructions `told`, and there is no ticket."""

    told: Instructions
    persona: str

    @property
    def due(self) -> Sequence[Action]:
        return self.actions

    @property
    def stretches(self) -> tuple[tuple[list[Action], list[Action]], ...]:
        """The true calls by turn: the agent's, and the customer's that follow."""
        parts: list[tuple[list[Action], list[Action]]] = [([], [])]
        for action in self.actions:
            if action.requestor == "assistant" and parts[-1][1]:
                parts.append(([], []))
            parts[-1][action.requestor == "user"].append(action)
        return tuple(parts)

    def expected(self, turn: int) -> ExpectedTurn:
        """Return nothing, as nobody knows in which turn a call is due."""
        return ExpectedTurn()


def load(place: Path, is_solo: bool = True) -> Loaded:
    """Load the tasks of a domain's folder (those of the split `base`), or all of a file of tasks.

    They are tickets, or without `is_solo` tasks with a user. `faults` say why a task is left out. Raises
    RigError if there are no tasks at all.
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
    fields = (_TicketSource if is_solo else _CustomerSource).model_fields
    for row in (row for row in rows if base is None or row.get("id") in base):
        source = {**{name: row[name] for name in fields if name in row}, "domain": file.parent.name}
        try:
            tasks.append(parse(source, f"{file}: {row.get('id')}", suite, is_solo))
        except RigError as error:
            faults.append(str(error))
    if not tasks:
        raise RigError(next(iter(faults), f"{file}: holds no tasks"))
    return Loaded(tasks, faults)


def parse(source: JsonObject, where: str, suite: str, is_solo: bool = True) -> Ticket:
    """Make a task from its stored source: a ticket, or without `is_solo` a task with a user.

    Raises RigError, also for a task that needs a judge, and for a ticket that needs a user. With a user, no
    judge is needed if the basis names assertions in prose but there are none: upstream counts them as met.
    """
    row = parsed(_TicketSource if is_solo else _CustomerSource, source, where, "a task of tau2-bench")
    start, criteria = row.initial_state or _InitialState(), row.evaluation_criteria
    basis = criteria.reward_basis
    can_be_judged = (
        criteria.actions
        or criteria.env_assertions
        or ("DB" in basis and criteria.judges_world)
        or (not is_solo and "COMMUNICATE" in basis and criteria.communicate_info)
    )
    reasons = {
        "it has no ticket, and needs a user": is_solo and (row.domain not in SOLO or not row.ticket),
        "rig does not play its domain with a user": row.domain not in (*SOLO, *USER_ALONE),
        "it begins in the middle of a conversation": start.message_history,
        "it needs a judge": "NL_ASSERTION" in basis and (is_solo or criteria.nl_assertions),
        "it needs words to a user": is_solo and "COMMUNICATE" in basis and criteria.communicate_info,
        "nothing in it can be judged": not can_be_judged,
    }
    if reason := next((text for text, applies in reasons.items() if applies), ""):
        raise RigError(f"{where} is left out: {reason}")
    if not isinstance(row, _CustomerSource):
        return Ticket(row.id, suite, row.domain, row.ticket or "", start, criteria, source)
    told, persona = row.user_scenario.instructions, row.user_scenario.persona or ""
    told = Instructions(reason_for_call=told) if isinstance(told, str) else told
    suite = suite if suite.endswith(TALKING) else f"{suite}{TALKING}"
    parts = row.id, suite, row.domain, "", start, criteria, source
    return CustomerTask(*parts, told=told, persona=persona)


def tasks_of(place: Path) -> Path | None:
    """Return the file of tasks that a place is or holds, by its name and a policy beside it; else None."""
    file = place / "tasks.json" if place.is_dir() else place
    is_named = file.name.startswith("tasks") and file.suffix == ".json"
    has_policy = any((file.parent / name).is_file() for name in ("policy.md", "main_policy.md"))
    return file if is_named and file.is_file() and has_policy else None


def _base(file: Path) -> frozenset[str] | None:
    """Return the task ids of the split `base`, which is played by default; None if all tasks are."""
    path = file.parent / "split_tasks.json"
    splits: Json = read_json(path) if path.is_file() else None
    base = splits.get("base") if isinstance(splits, dict) else None
    return frozenset(map(str, base)) if isinstance(base, list) else None

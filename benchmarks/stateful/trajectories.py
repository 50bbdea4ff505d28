"""Perturbed trajectories of τ²-bench: rig's rewards and results beside those of upstream's own code.

    RIG_TAU2=tau2-bench python -m benchmarks.stateful.trajectories telecom --solo --count 2000 --seed 1

The truth of a task is played with calls left out, doubled, swapped, changed, made by the other side or taken
from another task, with several calls in a message, words beside calls, and conversations that do not end. The
same messages go through rig's episode and through upstream's `Orchestrator` and `evaluate_simulation`. Its
libraries for models and tables are stood in for, because nothing here calls them.
"""

import argparse
import copy
import json
import os
import pickle
import random
import sys
from collections import Counter
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from itertools import zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

from rig.core.calls import Call
from rig.core.events import Where
from rig.core.models import Prediction, Request
from rig.methods.episode import course
from rig.methods.scripted import Scripted, replied
from rig.plugins.tau2 import checkout
from rig.plugins.tau2.customers import DONE
from rig.plugins.tau2.customers import METHOD as WITH_USER
from rig.plugins.tau2.method import METHOD as SOLO
from rig.plugins.tau2.tickets import Action, Ticket

AGENT, USER = "assistant", "user"
_VALUES: list[Any] = ["C1001", "L1002", "555-123-2002", "storage", "user_1", "x", "", 1, 2.0, 3, -1, True]
_VALUES += [None, [], {}]
_ABSENT = "litellm", "pandas", "rich", "redis", "langfuse", "fastapi", "uvicorn", "gymnasium"

Message = tuple[list[Call], str]
"""What one side says at once: calls, and words."""


class _StandIns(MetaPathFinder, Loader):
    """Modules that have every member, for libraries that the trajectories never reach."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in _ABSENT else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module: Any = MagicMock(name=spec.name)
        module.__spec__, module.__path__ = spec, []
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is run."""


class Upstream:
    """Upstream's orchestrator and evaluators, from a checkout or an installed package."""

    def __init__(self, package: Path, data: Path) -> None:
        os.environ["TAU2_DATA_DIR"] = str(data)
        for name, members in {**checkout._stand_ins(), "tau2": {"__path__": [str(package)]}}.items():
            sys.modules[name] = ModuleType(name)
            vars(sys.modules[name]).update(members)
        sys.modules["loguru"].logger = MagicMock()  # type: ignore[attr-defined]
        sys.meta_path.insert(0, _StandIns())
        from tau2.agent.llm_agent import LLMSoloAgent
        from tau2.data_model import message, simulation, tasks
        from tau2.environment.db import DB
        from tau2.evaluator import evaluator
        from tau2.orchestrator.orchestrator import Orchestrator
        from tau2.registry import registry
        from tau2.user.user_simulator import DummyUser

        self.solo_agent, self.message, self.simulation, self.tasks = LLMSoloAgent, message, simulation, tasks
        self.evaluator, self.orchestrator, self.dummy = evaluator, Orchestrator, DummyUser
        self.environment = registry.get_env_constructor
        load, once = DB.load.__func__, dict[Any, Any]()

        def loaded(kind: Any, path: Any) -> Any:
            """A database of its own, from a file that is read once."""
            if (kind, path) not in once:
                once[kind, path] = pickle.dumps(load(kind, path))
            return pickle.loads(once[kind, path])

        DB.load = classmethod(loaded)

    def side(self, messages: list[Message], role: str, is_solo: bool) -> Any:
        """An agent or user that says what is laid down for it."""
        upstream, left = self, iter(messages)

        class GymAgent:
            def generate_next_message(self, _message: Any, state: Any) -> tuple[Any, Any]:
                calls, words = next(left, ([], "And?"))
                kind = upstream.message.AssistantMessage if role == AGENT else upstream.message.UserMessage
                made = [
                    upstream.message.ToolCall(
                        id=str(n), name=c.name, arguments=copy.deepcopy(c.arguments), requestor=role
                    )
                    for n, c in enumerate(calls)
                ]
                text = words.replace(DONE, "###STOP###") or None
                said = kind(role=role, content=text, tool_calls=made or None)
                if is_solo and made:
                    upstream.solo_agent._check_if_stop_toolcall(upstream.solo_agent, said)
                return said, state

            def is_stop(self, said: Any) -> bool:
                return bool(is_solo and upstream.solo_agent.is_stop(said))

            def get_init_state(self, message_history: Any = None) -> Any:
                return message_history

            def stop(self, *_: Any) -> None:
                """Nothing is left to do."""

        return GymAgent()

    def play(
        self, row: Any, domain: str, sides: dict[str, list[Message]], is_solo: bool
    ) -> tuple[str, list[str]]:
        """How it ended with its reward, and what each call gave."""
        task = self.tasks.Task.model_validate(row)
        user = self.dummy() if is_solo else self.side(sides[USER], USER, False)
        environment = self.environment(domain)(solo_mode=is_solo)
        agent = self.side(sides[AGENT], AGENT, is_solo)
        talk = self.orchestrator(domain, agent, user, environment, task, max_steps=200, solo_mode=is_solo)
        run = talk.run()
        kinds = self.evaluator.EvaluationType
        is_judged = "NL_ASSERTION" in row["evaluation_criteria"].get("reward_basis", ())
        kind = kinds.ALL_WITH_NL_ASSERTIONS if is_judged else kinds.ALL
        tools = [message for message in run.messages if isinstance(message, self.message.ToolMessage)]
        try:
            reward = self.evaluator.evaluate_simulation(run, task, kind, is_solo, domain).reward
        except Exception as error:
            return f"raised {type(error).__name__}", [message.content for message in tools]
        is_right = abs(reward - 1) <= 1e-6
        return ("right" if is_right else str(run.termination_reason.value)), [m.content for m in tools]


class Perturbed:
    """Trajectories that are nearly the truth of a task."""

    def __init__(self, seed: int, place: checkout.Domain, tasks: list[Ticket], is_solo: bool) -> None:
        self.random, self.tasks, self.is_solo = random.Random(seed), tasks, is_solo
        self.docs = {tool.name: tool for tool in (*place.tools, *(() if is_solo else place.user_tools))}
        self.of_user = {tool.name for tool in place.user_tools}

    def made(self, action: Action) -> tuple[str, Call]:
        """A call of the truth, and who makes it."""
        return AGENT if self.is_solo else action.requestor, Call(action.name, dict(action.arguments))

    def sides(self, task: Ticket) -> dict[str, list[Message]]:
        """What either side says: messages of one call or several, and words between them."""
        calls = [self.made(action) for action in task.actions]
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))):
            self.change(calls)
        if self.random.random() < 0.04:
            calls[:0] = [(AGENT, self.any_call(broken=1.0)) for _ in range(self.random.randint(8, 11))]
        if self.random.random() < 0.02:
            looks = [(AGENT, self.any_call(broken=0.0)) for _ in range(self.random.choice((30, 99, 101)))]
            calls += looks
        sides: dict[str, list[Message]] = {AGENT: [], USER: [([], "Hello.")]}
        speaker = AGENT
        for role, call in calls:
            said = sides[role]
            if role != speaker:
                sides[speaker].append(([], self.random.choice(("Fine.", "What now?", "1,000"))))
                speaker = role
            if said and said[-1][0] and self.random.random() < 0.15:
                said[-1][0].append(call)
            else:
                said.append(([call], self.beside(task) if role == AGENT else ""))
        return self.ended(task, sides)

    def ended(self, task: Ticket, sides: dict[str, list[Message]]) -> dict[str, list[Message]]:
        """The sides with their ends, which can be missing."""
        if self.is_solo:
            if self.random.random() < 0.97:
                sides[AGENT].append(([Call("done", {})], ""))
            if self.random.random() < 0.03:
                sides[AGENT][-1][0].insert(0, self.any_call())
            return sides
        sides[AGENT].append(([], " ".join(self.words(task)) or "Everything is settled."))
        if self.random.random() < 0.97:
            sides[USER].append(([], DONE))
        return sides

    def words(self, task: Ticket) -> list[str]:
        words = list(task.criteria.communicate_info or ())
        if words and self.random.random() < 0.4:
            at = self.random.randrange(len(words))
            word = words[at]
            words[at] = self.random.choice((f"{word},", word.upper(), word[1:], "", f"${word}"))
        return words

    def beside(self, task: Ticket) -> str:
        return " ".join(self.words(task)) if not self.is_solo and self.random.random() < 0.05 else ""

    def any_call(self, broken: float = 0.1) -> Call:
        """A call of a tool, with arguments of any kind."""
        tool = self.docs[self.random.choice(sorted(self.docs))]
        schema = tool.parameters
        arguments = {
            name: self.random.choice(part.get("enum") or _VALUES)
            for name, part in schema["properties"].items()
            if name in schema.get("required", ()) or self.random.random() < 0.5
        }
        if self.random.random() < broken:
            return Call(self.random.choice(("no_such_tool", tool.name)), {**arguments, "zz": 1})
        return Call(tool.name, arguments)

    def change(self, calls: list[tuple[str, Call]]) -> None:
        """Change one thing."""
        kinds = "drop", "twice", "swap", "any", "any", "value", "who", "other", "empty"
        kind, size = self.random.choice(kinds), len(calls)
        at = self.random.randrange(size) if size else 0
        if kind == "any":
            call = self.any_call()
            is_users = not self.is_solo and call.name in self.of_user
            calls.insert(self.random.randrange(size + 1), (USER if is_users else AGENT, call))
        elif kind == "other":
            calls[at:at] = [self.made(action) for action in self.random.choice(self.tasks).actions[:1]]
        elif not size:
            return
        elif kind == "drop":
            del calls[at]
        elif kind == "twice":
            calls.insert(self.random.randrange(size), calls[at])
        elif kind == "swap":
            calls[at], calls[at - 1] = calls[at - 1], calls[at]
        elif kind == "who" and not self.is_solo and self.of_user:
            calls[at] = USER if calls[at][0] == AGENT else AGENT, calls[at][1]
        else:
            role, call = calls[at]
            arguments: Any = dict(call.arguments) if kind == "value" else {}  # type: ignore[arg-type]
            if arguments:
                arguments[self.random.choice(list(arguments))] = self.random.choice(_VALUES)
            calls[at] = role, Call(call.name, arguments)


def predicted(message: Message) -> Prediction:
    """A message as rig reads it."""
    calls, words = message
    if not calls:
        return replied(words)
    return Prediction(raw="", call=calls[0], further=tuple(calls[1:]), content=words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("domain", choices=[*checkout.SOLO, *checkout.USER_ALONE])
    parser.add_argument("--solo", action="store_true")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    package, data = checkout._places(os.environ["RIG_TAU2"])
    method = SOLO if asked.solo else WITH_USER
    setup = method.ready({option.name: option.default for option in method.options})
    file = data / asked.domain / "tasks.json"
    tasks, rows = method.load(file), {row["id"]: row for row in json.loads(file.read_text())}
    perturbed = Perturbed(asked.seed, setup.settings.domain(asked.domain), list(tasks), asked.solo)
    upstream = Upstream(package, data.parents[1])
    ends, differing = Counter[str](), Counter[str]()
    for number in range(asked.count):
        task = perturbed.random.choice(tasks)
        sides = perturbed.sides(task)
        left = {role: iter(messages) for role, messages in sides.items()}

        def answer(request: Request, role: str, left: Any = left) -> Prediction:
            return predicted(next(left[role], ([], "And?")))

        players = {role: Scripted(lambda request, role=role: answer(request, role)) for role in sides}
        episode = method.episode(setup, task, setup.settings, Where(0, task.name), lambda _event: None, 0)
        for _ in course(episode, players):
            pass
        theirs, results = upstream.play(rows[task.name], asked.domain, sides, asked.solo)
        score = episode.score()
        ours = [str(e.outcome.response) for turn in episode.played for e in turn.executed if e.name != "done"]
        ends[theirs] += 1
        if bool(score.counts["success"]) is not (theirs == "right"):
            differing["rewards"] += 1
            print("REWARD", number, task.name, theirs, score.faults, sides)
        if ours != results:
            differing["results"] += 1
            pairs = enumerate(zip_longest(ours, results))
            print("RESULT", number, task.name, next((at, *pair) for at, pair in pairs if pair[0] != pair[1]))
        if number % 100 == 99 or number == asked.count - 1:
            print(asked.domain, number + 1, dict(ends), "disagreements", dict(differing), flush=True)


if __name__ == "__main__":
    main()

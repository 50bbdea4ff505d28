"""The domains of a τ²-bench checkout. Their classes are loaded without unneeded modules, and run.

The user names the checkout. A call is a name and arguments, not a text that is evaluated.
"""

import copy
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, TypeAlias

from rig.core.budget import parse_toml
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.files import read_bytes
from rig.core.models import ToolDoc
from rig.core.paths import real
from rig.plugins.documents.documents import DocumentPart
from rig.plugins.own_tools.code import LIMIT_S, Overdue, in_time, place_of, standing_in
from rig.plugins.own_tools.functions import LONGEST
from rig.plugins.own_tools.parameters import ParameterReader

Owner: TypeAlias = Literal["assistant", "user"]
"""The owner of tools, a database or an assertion: the agent, or the user with a phone."""

SOLO = ("telecom", "mock")
"""The domains that have a policy for an agent without a user."""
USER_ALONE = ("retail", "airline")
"""The domains that need a user who talks; those with a solo mode can also be played with one."""
POLICIES = ("manual", "workflow")
"""The forms of the technical part of telecom's policy: a manual, or the same as a workflow."""

_ENVIRONMENTS: Mapping[str, Callable[[], Any]] = {
    "telecom": lambda: import_module("tau2.domains.telecom.environment"),
    "mock": lambda: import_module("tau2.domains.mock.environment"),
    "retail": lambda: import_module("tau2.domains.retail.environment"),
    "airline": lambda: import_module("tau2.domains.airline.environment"),
}
_IMPORT_S = 60.0
_SECTION = re.compile(r"^(Args|Returns|Raises|Examples?|Notes?|Yields):[ \t]*$", re.MULTILINE)
_ITEM = re.compile(r"^ {4}(\w+)[ \t]*(?:\(([^)]*)\))?:[ \t]*(.*(?:\n {5,}.*)*)", re.MULTILINE)


class Result(NamedTuple):
    """The result of a call, as the text that the agent reads."""

    text: str
    is_error: bool = False


class Domain(NamedTuple):
    """A domain of a checkout. The agent follows its `policy`; `writes` are the tools that change a world.

    `tools` are the agent's tools, in solo mode with the `user_tools`. `fingerprint` is a hash of all files
    that were loaded for the domain. `pristine` is the environment that every world is copied from.
    """

    place: Path
    policy: str
    tools: tuple[ToolDoc, ...]
    user_tools: tuple[ToolDoc, ...]
    writes: frozenset[str]
    fingerprint: str
    pristine: Any

    def world(self) -> "TicketWorld":
        """Make a new world in the state of the domain's databases."""
        return TicketWorld(copy.deepcopy(self.pristine), self.place)


class TicketWorld:
    """The databases of the agent and of the user's phone, with the tools that act in them."""

    def __init__(self, environment: Any, place: Path) -> None:
        self._environment = environment
        self._place = place

    def call(self, name: str, arguments: Any, owner: str = "assistant") -> Result:
        """Call a tool as upstream's environment does, and synchronise agent and phone.

        In solo mode, all calls are the assistant's.
        """
        if not isinstance(arguments, dict):
            return Result("Error: the arguments of a call are an object", True)
        message = SimpleNamespace(id="", name=name, arguments=copy.deepcopy(arguments), requestor=owner)
        try:
            answer = self._within_time(lambda: self._environment.get_response(message))
        except Exception as error:
            return Result(f"Error: {error}"[:LONGEST], True)
        return Result(str(answer.content)[:LONGEST], bool(answer.error))

    def begin(self, data: Any, calls: Sequence[Any]) -> None:
        """Set up a task's initial state as the checkout does, whose versions differ: in newer ones, data for
        one side puts both databases at one object. Raises what that raises.
        """
        if named := next((call.func_name for call in calls if call.func_name.startswith("_")), None):
            raise ValueError(f"{named} is not a function of the domain")
        set_state = partial(
            self._environment.set_state,
            initialization_data=copy.deepcopy(data),
            initialization_actions=copy.deepcopy(list(calls)),
            message_history=[],
        )
        self._within_time(set_state)

    def run(self, owner: Owner, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run a function of an owner, a tool or any other, and synchronise. Raises what it raises."""
        if name.startswith("_"):
            raise ValueError(f"{name} is not a function of the domain")
        function = partial(getattr(self._kit(owner), name), **copy.deepcopy(dict(arguments)))
        result = self._within_time(function)
        self.sync()
        return result

    def sync(self) -> None:
        """Synchronise the worlds of agent and phone."""
        self._within_time(self._environment.sync_tools)

    def act(self, owner: Owner, name: str, arguments: Mapping[str, Any]) -> None:
        """Make a call of the truth, ignoring its result and errors, and without synchronising."""
        call = partial(self._kit(owner).use_tool, tool_name=name, **copy.deepcopy(dict(arguments)))
        with suppress(Exception):
            self._within_time(call)

    def hashes(self) -> tuple[str | None, str | None]:
        """Return the hashes of the agent's and the user's databases."""
        environment = self._environment
        agent, user = self._within_time(lambda: (environment.get_db_hash(), environment.get_user_db_hash()))
        return agent, user

    def _within_time(self, work: Callable[[], Any]) -> Any:
        """Run upstream's code with a time limit and no output. Raises its fault, or Overdue."""
        done = in_time(work, LIMIT_S, self._place)
        if done.fault is not None:
            raise done.fault if isinstance(done.fault, Exception) else RuntimeError(str(done.fault))
        return done.result

    def _kit(self, owner: str) -> Any:
        return self._environment.user_tools if owner == "user" else self._environment.tools


def domain(place: str, name: str, policy: str, is_solo: bool = True) -> Domain:
    """Load a domain of the checkout or installed package at a place. Raises RigError if that fails."""
    package, data = _places(place)
    if name not in domains_of(place, is_solo):
        kind = "with a solo mode" if is_solo else "that rig plays with a user"
        raise RigError(f"{place}: holds no domain {name} of tau2-bench {kind}")
    return _domain(package, data, name, policy, is_solo)


def domains_of(place: str, is_solo: bool = True) -> tuple[str, ...]:
    """Return a checkout's domains: with `is_solo` those with a solo mode, else all that a user can play in.

    Raises RigError if the place is no checkout.
    """
    package, data = _places(place)
    names = SOLO if is_solo else (*SOLO, *USER_ALONE)
    return tuple(name for name in names if (package / "domains" / name).is_dir() and (data / name).is_dir())


def _places(place: str) -> tuple[Path, Path]:
    """Return the package of a checkout or installation, and the folder with its domains' data."""
    if not place:
        raise RigError(
            "where is tau2-bench? Code of its domains is run: name the checkout with --set code=DIR, or in"
            " $RIG_TAU2"
        )
    root = real(Path(place).expanduser())
    for package in (root / "src/tau2", root / "tau2", root):
        for data in (root / "data/tau2/domains", package / "data/tau2/domains"):
            if (package / "environment").is_dir() and data.is_dir():
                return package, data
    raise RigError(f"{place}: no checkout of tau2-bench (src/tau2 and data/tau2/domains)")


@cache
def _domain(package: Path, data: Path, name: str, policy: str, is_solo: bool) -> Domain:
    def build() -> Any:
        # The package without its `__init__`, which would import everything.
        bare = {"tau2": {"__path__": [str(package)]}}
        with standing_in({**bare, **_stand_ins()}, TAU2_DATA_DIR=str(data.parents[1])):
            module = _ENVIRONMENTS[name]()
            kwargs = {"policy_type": policy} if name == "telecom" else {}
            environment = module.get_environment(solo_mode=is_solo, **kwargs)
            own = (module for name, module in sys.modules.items() if name.startswith("tau2."))
            files = (getattr(module, "__file__", None) for module in own)
            return environment, sorted(Path(file) for file in files if file)

    try:
        done = in_time(build, _IMPORT_S, package)
    except Overdue as error:
        raise RigError(f"{error.place}: loading the domain {name} {error}") from error
    if done.fault is not None:
        fault = done.fault
        raise RigError(f"{place_of(fault, package)}: {type(fault).__name__}: {fault}") from fault
    environment, code = done.result
    folder = data / name
    held = sorted(path for path in folder.glob("*") if path.name.endswith((".md", ".toml", "db.json")))
    contents = map(read_bytes, (*code, *held))
    kits = [kit for kit in (environment.tools, environment.user_tools) if kit is not None]
    docs = [
        tuple(_doc(tool.openai_schema["function"], folder) for tool in kit.get_tools().values())
        for kit in kits
    ]
    user_tools = docs[1] if len(docs) > 1 else ()
    return Domain(
        package,
        str(environment.policy),
        docs[0] + user_tools if is_solo else docs[0],
        user_tools,
        frozenset(
            tool for kit in kits for tool in kit.tools if getattr(kit.tool_type(tool), "value", "") == "write"
        ),
        sha256(b"\0".join(contents)).hexdigest(),
        environment,
    )


def _doc(schema: JsonObject, folder: Path) -> ToolDoc:
    name = str(schema["name"])
    closed = {**schema["parameters"], "additionalProperties": False}  # Python would refuse any other argument
    parameters = ParameterReader(DocumentPart(closed, folder, (name,))).parameters()
    return ToolDoc(name, str(schema["description"]), parameters)


def _stand_ins() -> dict[str, dict[str, Any]]:
    """Return what the domains use of six libraries. The real `dotenv` would read the user's `.env`."""
    silent = dict.fromkeys(("debug", "info", "warning", "error"), lambda *_: None)
    return {
        "loguru": {"logger": SimpleNamespace(**silent)},
        "deepdiff": {"DeepDiff": dict},
        "dotenv": {"load_dotenv": lambda *_, **__: True},
        "toml": {"load": lambda file: parse_toml(file.read())},
        "addict": {"Dict": _Merging},
        "docstring_parser": {"parse": parse_docstring},
    }


class _Merging(dict[str, Any]):
    """A dictionary whose `update` merges nested dictionaries."""

    def update(self, other: Mapping[str, Any]) -> None:  # type: ignore[override]
        for key, value in other.items():
            if isinstance(self.get(key), dict) and isinstance(value, dict):
                inner = _Merging(self[key])
                inner.update(value)
                value = dict(inner)
            self[key] = value

    def to_dict(self) -> dict[str, Any]:
        return dict(self)


def parse_docstring(text: str) -> SimpleNamespace:
    """Parse the parts of a Google-style docstring that an agent reads, named as in docstring_parser."""
    head, *parts = _SECTION.split(inspect.cleandoc(text))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    short, _, long = head.strip().partition("\n")
    params = [
        SimpleNamespace(arg_name=match[1], type_name=match[2], description=inspect.cleandoc(match[3]))
        for match in _ITEM.finditer(sections.get("Args", ""))
    ]
    return SimpleNamespace(
        short_description=short or None,
        long_description=long.strip() or None,
        params=params,
        returns=None,
        raises=[],
        examples=[],
    )

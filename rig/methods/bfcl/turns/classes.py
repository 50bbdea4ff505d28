"""The eight classes that calls of several turns act in: loaded from a checkout that the user names, and run.

A call is a name and arguments, never a text that is evaluated.
"""

import copy
import inspect
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from rig.errors import RigError
from rig.paths import real
from rig.plugins import module_of
from rig.toolbox.own.guard import LIMIT_S, Overdue, in_time, place_of

FILES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""The modules of the classes, which are the names of their documentation as well."""

_STATELESS = ("MathAPI",)
_REFUSED = ("kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run")
_PACKAGE = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
_LONG_CONTEXT = "long_context"


class PythonCall(NamedTuple):
    """A call with arguments by place and by name, as the data have them."""

    name: str
    places: tuple[Any, ...]
    names: Mapping[str, Any]


class Instances:
    """An instance of each class that an entry involves, and the results of the calls made of them."""

    def __init__(self, code: Path, involved: Sequence[str], config: Mapping[str, Any], *, long: bool) -> None:
        self._instances: dict[str, Any] = {}
        self._methods: dict[str, Any] = {}
        for name in involved:
            if name not in FILES:
                raise RigError(f"{name}: no class of BFCL's; choose from: {', '.join(FILES)}")
            cls = getattr(_module(real(code), FILES[name]), name, None)
            if cls is None:
                raise RigError(f"{code / FILES[name]}.py: has no class {name}")
            instance = cls()
            if name not in _STATELESS:
                instance._load_scenario(copy.deepcopy(config.get(name, {})), long_context=long)
            self._instances[name] = instance
            for method, bound in inspect.getmembers(instance, predicate=inspect.ismethod):
                if not method.startswith("_"):
                    self._methods[method] = bound

    def call(self, call: PythonCall) -> str:
        """What a call gives, as text; a fault is a text, too."""
        try:
            if call.name in _REFUSED:
                raise NameError(f"Function call {call.name} is not allowed.")
            if call.name not in self._methods:
                raise NameError(f"name '{call.name}' is not defined")
            # What is given may become part of the state, and change with it.
            places, names = copy.deepcopy((call.places, dict(call.names)))
            result = self._methods[call.name](*places, **names)
        except Exception as error:
            return f"Error during execution: {error}"
        try:
            return json.dumps(result) if isinstance(result, dict) else str(result)
        except (TypeError, ValueError):
            return str(result)

    def differences(self, expected: "Instances") -> Iterator[str]:
        """The attributes whose values are not the expected ones."""
        for name, instance in expected._instances.items():
            for attribute, value in vars(instance).items():
                if attribute.startswith("_"):
                    continue
                if getattr(self._instances[name], attribute) != value:
                    yield f"{name}.{attribute}"


@lru_cache(maxsize=32)
def _module(code: Path, name: str) -> ModuleType:
    file = code / f"{name}.py"
    try:
        with _found_in(code, name):
            done = in_time(lambda: module_of(str(file)), LIMIT_S, code)
    except Overdue as error:
        raise RigError(f"{error.place}: loading it {error}") from error
    if isinstance(done.fault, RigError):
        raise done.fault
    if done.fault is not None:
        raise RigError(f"{place_of(done.fault, code)}: {type(done.fault).__name__}: {done.fault}")
    module: ModuleType = done.result
    return module


@contextmanager
def _found_in(code: Path, name: str) -> Iterator[None]:
    """While a module is loaded, what it imports of its own package is found in the same folder."""
    parts = _PACKAGE.split(".")
    packages = {".".join(parts[: end + 1]): ModuleType(parts[end]) for end in range(len(parts))}
    own = {**packages}
    if name != _LONG_CONTEXT:
        own[f"{_PACKAGE}.{_LONG_CONTEXT}"] = _module(code, _LONG_CONTEXT)
    for package in packages.values():
        package.__path__ = []
    before = {name_of_module: sys.modules.get(name_of_module) for name_of_module in own}
    sys.modules.update(own)
    try:
        yield
    finally:
        for place, module in before.items():
            if module is None:
                sys.modules.pop(place, None)
            else:
                sys.modules[place] = module

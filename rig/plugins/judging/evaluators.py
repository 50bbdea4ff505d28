"""Evaluators: how a judge is asked. They are folders as in upstream, rig's own and the user's.

A folder holds `config.yaml` and a template of prompts, in either of upstream's two dialects. rig reads the
functions, the prompts, the temperature and the maximum answer length, and ignores the keys of the online
service.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, Field

from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.files import read_text
from rig.plugins.documents.documents import Foreign, Many, from_yaml, parsed

OURS = Path(__file__).with_name("prompts")
VARIABLE = "RIG_EVALUATORS"
"""The environment variable with folders of the user's own evaluators."""

Kind: TypeAlias = Literal["status", "normalized", "chat", "rule"]
"""How votes are made: by the statuses of answers, by steps and details, by one question, or by a rule."""

RULES: Mapping[str, str] = {
    "truth": "by what is known of the answers: whether the world ended as asked and the facts were named",
    "keyword": "by words of apology in the final answer",
    "details": "by the detail score of the path",
}
"""The evaluators that need no judge."""

_KINDS: Mapping[str, Kind] = {
    "ReinforceToolLearningEvaluator": "status",
    "OpenAINormalizedEvaluator": "normalized",
    "OpenAIEvaluator": "chat",
}
_FUNCTIONS: Mapping[Kind, tuple[str, ...]] = {
    "status": ("check_answer_status", "parse_answer_status", "check_task_solvable", "select_better_answer"),
    "normalized": ("parse_answer_details", "select_best_final_answer", "check_solve_query"),
    "chat": ("choose_preference",),
}
FIELDS: Mapping[str, tuple[str, ...]] = {
    "check_answer_status": ("query", "answer"),
    "parse_answer_status": ("query", "answer"),
    "check_task_solvable": ("task",),
    "select_better_answer": ("query", "answer_0", "answer_1"),
    "parse_answer_details": ("answer_details",),
    "select_best_final_answer": ("query", "final_answers"),
    "check_solve_query": ("query", "final_answer"),
    "choose_preference": ("task_description", "answers"),
}
"""The fields that the prompt of each function can have."""

_FUNCTION = re.compile(
    r"<function>\s*<name>(.*?)</name>\s*<description>(.*?)</description>\s*</function>", re.DOTALL
)
_MESSAGE = re.compile(r"<message>\s*<role>(.*?)</role>\s*<content>(.*?)</content>\s*</message>", re.DOTALL)
_FIELD = re.compile(r"\{\{|\}\}|\{(\w*)\}")


class JudgeFunction(NamedTuple):
    """A question for a judge, whose verdict has these `parameters`, a JSON Schema.

    `system` and `prompt` are what the judge reads; `prompt` has fields in braces.
    """

    name: str
    description: str
    parameters: JsonObject
    system: str
    prompt: str

    def filled(self, fields: Mapping[str, str]) -> str:
        """Return the prompt with its fields filled in."""

        def shown(match: re.Match[str]) -> str:
            name = match.group(1)
            return match.group()[0] if name is None else fields[name]

        return _FIELD.sub(shown, self.prompt)

    @property
    def beginning(self) -> str:
        """The prompt up to its first field, which is the same for every question."""
        starts = (match.start() for match in _FIELD.finditer(self.prompt) if match.group(1) is not None)
        return self._replace(prompt=self.prompt[: next(starts, None)]).filled({})


@dataclass(frozen=True)
class Evaluator:
    """A way to judge. `sha256` is of its configuration and template, `place` is the folder it comes from."""

    name: str
    kind: Kind
    functions: Mapping[str, JudgeFunction] = field(hash=False)
    temperature: float
    max_tokens: int
    sha256: str
    place: Path

    def function(self, name: str) -> JudgeFunction:
        """Return the function of this name. Raises RigError if the evaluator has none."""
        if name not in self.functions:
            raise RigError(f"the evaluator {self.name} has no function {name}, which this judgement needs")
        return self.functions[name]


def known() -> dict[str, Path]:
    """Return the folders of evaluators by name: rig's own, and those in the folders that the user names."""
    places = [OURS, *map(Path, filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)))]
    folders = (folder for place in places if place.is_dir() for folder in sorted(place.iterdir()))
    by_name: dict[str, Path] = {}
    for folder in folders:
        if (folder / "config.yaml").is_file():
            by_name.setdefault(folder.name, folder)
    return by_name


def find(text: str) -> Evaluator:
    """Return the evaluator of this name or in this folder. Raises RigError if there is none."""
    folders = known()
    if text in RULES:
        told = hashlib.sha256(f"{text} 1".encode()).hexdigest()
        return Evaluator(text, "rule", {}, 0.0, 1, told, OURS)
    folder = folders.get(text, Path(text))
    if folder.is_dir():
        return load(folder)
    there_are = ", ".join((*folders, *RULES))
    raise RigError(
        f"no evaluator is called {text!r}; choose from: {there_are} (or name a folder of your own)"
    )


def _with_properties(parameters: JsonObject) -> JsonObject:
    properties = parameters.get("properties")
    if not isinstance(properties, dict) or not all(
        isinstance(schema, dict) for schema in properties.values()
    ):
        raise ValueError("has no properties, each with a schema")
    return parameters


class _JudgeFunction(Foreign):
    name: str
    description: str = ""
    parameters: Annotated[JsonObject, AfterValidator(_with_properties)]


class _Asking(Foreign):
    functions: Many[_JudgeFunction]
    temperature: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] = 0.0
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = 1000


class _Config(Foreign):
    registered_cls_name: str
    prompt_template: str
    evaluator_name: str = ""
    completions_kwargs: _Asking


def load(folder: Path) -> Evaluator:
    """Read the evaluator in a folder. Raises RigError if it is not one."""
    config_path = folder / "config.yaml"
    config_text = read_text(config_path)
    document = next(from_yaml(config_text, config_path), None)
    config = parsed(_Config, document and document.value, str(config_path), "an evaluator's configuration")
    asking, class_name = config.completions_kwargs, config.registered_cls_name
    declared = {function.name: function for function in asking.functions}
    if class_name not in _KINDS:
        raise RigError(f"{config_path}: rig has no {class_name}; it has {', '.join(_KINDS)}")
    if Path(config.prompt_template).name != config.prompt_template:
        raise RigError(f"{config_path}: prompt_template {config.prompt_template!r} is not a file beside it")
    template_path = folder / config.prompt_template
    template = read_text(template_path)
    kind = _KINDS[class_name]
    functions = _functions(kind, declared, template, template_path)
    told = hashlib.sha256(f"{config_text}\0{template}".encode()).hexdigest()
    name = config.evaluator_name or folder.name
    return Evaluator(name, kind, functions, asking.temperature, asking.max_tokens, told, folder)


def _functions(
    kind: Kind, declared: Mapping[str, _JudgeFunction], template: str, where: Path
) -> dict[str, JudgeFunction]:
    prompts = {name.strip(): ("", prompt) for name, prompt in _FUNCTION.findall(template)}
    if kind == "chat":
        # One question: the system's words, and the user's.
        messages = [(role.strip(), content) for role, content in _MESSAGE.findall(template)]
        system = "\n\n".join(content for role, content in messages if role == "system")
        prompt = "\n\n".join(content for role, content in messages if role != "system")
        prompts = {_FUNCTIONS[kind][0]: (system, prompt)} if messages else {}
    functions = {}
    for name in _FUNCTIONS[kind]:
        if name not in declared or name not in prompts:
            continue
        system, prompt = prompts[name]
        fields = (match.group(1) for match in _FIELD.finditer(prompt) if match.group(1) is not None)
        unknown = next((field or "an empty field" for field in fields if field not in FIELDS[name]), None)
        if unknown:
            raise RigError(f"{where}: {{{unknown}}} of {name} is none of {', '.join(FIELDS[name])}")
        data = declared[name]
        functions[name] = JudgeFunction(name, data.description, data.parameters, system, prompt)
    if not functions:
        raise RigError(f"{where}: has none of the functions {', '.join(_FUNCTIONS[kind])}")
    return functions

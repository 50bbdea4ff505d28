"""Random tools, random walks: whatever a grammar lets through is a valid answer.

$RIG_RANDOM_SCHEMAS is how many sets of tools are tried; 10,000 take some ten minutes of a processor.
"""

import json
import os
import random
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from random_schemas import Walker, mutated, tools
from rig_form import rig_format

from rig.config.engine import GrammarArm
from rig.core.models import ToolDoc
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.formats.base import RigFormat
from rig.plugins.llama.formats.salvage import AnswerError
from rig.plugins.llama.grammar.llguidance import LLGuidanceGrammar
from rig.plugins.llama.grammar.schema import ANYTHING, parts_of

COUNT = int(os.environ.get("RIG_RANDOM_SCHEMAS", "60"))


class Lab:
    """A grammar over one vocabulary, and what walks it."""

    def __init__(self, path: Path) -> None:
        self.model = LlamaModel(path)
        self.tokenizer = Tokenizer(self.model)
        self.walker = Walker(self.tokenizer)
        self.grammar = LLGuidanceGrammar(self.model, self.tokenizer)


@pytest.fixture(scope="module")
def lab(tiny_path: Callable[..., Path]) -> Iterator[Lab]:
    lab = Lab(tiny_path(tokenizer="merged"))
    yield lab
    lab.model.close()


def check(lab: Lab, seed: int, seen: Counter[str]) -> None:
    """One set of tools: walk it twice, and hold texts and damaged texts against the checker."""
    source = random.Random(seed)
    offered = tools(source)
    arm: GrammarArm = source.choice(("json", "strict"))
    form = rig_format(offered, arm)
    texts = []
    for _ in range(2):
        one, twin = (lab.grammar.start(form.language()) for _ in range(2))
        text = lab.walker.walk(one, source, most=600, twin=twin)
        seen["whole" if text else "endless"] += 1
        if text is not None:
            assert is_valid(text.decode(), offered, arm) or is_open(form), text
            texts.append(text.decode())
    texts += [mutated(source, text) for text in texts]
    for text in texts:
        is_accepted = lab.walker.accepts(lab.grammar.start(form.language()), text.encode())
        if is_accepted:
            # What a grammar leaves open is judged by the tool's schema, where formats are documentation.
            assert is_read(form, text) is is_valid(text, offered, "json"), text
        seen["accepted" if is_accepted else "refused"] += 1


def is_open(form: RigFormat) -> bool:
    """Whether the grammar leaves a value of some tool open, to be judged by the tool's schema afterwards."""
    return any(part == ANYTHING for schema in form.checker.schemas.values() for part in parts_of(schema))


def is_read(form: RigFormat, text: str) -> bool:
    """Whether a text is read as an answer that fits."""
    try:
        form.read(text)
    except AnswerError:
        return False
    return True


def is_valid(text: str, offered: tuple[ToolDoc, ...], arm: GrammarArm) -> bool:
    """Whether a text is an answer, by the tools as they were declared and code that is not rig's."""
    answer = json.loads(text)
    if set(answer) == {"reply"}:
        return isinstance(answer["reply"], str)
    [tool] = [tool for tool in offered if tool.name == answer["tool"]]
    assert set(answer) == {"tool", "arguments"}
    is_fitting = jsonschema.Draft202012Validator(tool.parameters).is_valid(answer["arguments"])
    return is_fitting and (arm == "json" or _are_formats_kept(tool.parameters, answer["arguments"]))


def _are_formats_kept(schema: dict[str, Any], value: Any) -> bool:
    if "anyOf" in schema:
        return any(
            jsonschema.Draft202012Validator(option).is_valid(value) and _are_formats_kept(option, value)
            for option in schema["anyOf"]
        )
    if isinstance(value, dict):
        if "properties" not in schema:
            inner = schema.get("additionalProperties")
            return not isinstance(inner, dict) or all(
                _are_formats_kept(inner, each) for each in value.values()
            )
        declared = schema["properties"]
        return all(name in declared and _are_formats_kept(declared[name], value[name]) for name in value)
    if isinstance(value, list):
        return all(_are_formats_kept(schema["items"], inner) for inner in value)
    name = schema.get("format", schema.get("x-format"))
    try:
        if name is not None:
            _FORMATS[name](value)
    except ValueError:
        return False
    return True


def _as(layout: str) -> Callable[[str], object]:
    return lambda text: datetime.strptime(f"{text} +0000", f"{layout} %z")


def _email(text: str) -> None:
    name, domain = text.split("@")
    if not (name and "." in domain and all(domain.split("."))):
        raise ValueError(text)


def _time(text: str) -> None:
    """A time of day, in RFC 3339 with an offset; no more than microseconds are read by Python."""
    whole, dot, rest = text.partition(".")
    fraction = rest.rstrip("Z").split("+")[0].split("-")[0]
    datetime.fromisoformat(f"2024-01-01T{whole}{dot}{fraction[:6]}{rest[len(fraction) :]}")


_FORMATS: dict[str, Callable[[str], object]] = {
    "date": _as("%Y-%m-%d"),
    "datetime": _as("%Y-%m-%d %H:%M:%S"),
    "month": _as("%B"),
    "phone": lambda text: [int(part) for part in text.split("-", 2)],
    "email": _email,
    "time": _time,
    "date-time": lambda text: (_as("%Y-%m-%d")(text[:10]), _time(text[11:])),
    "uuid": uuid.UUID,
}


@pytest.mark.slow
def test_whatever_is_let_through_is_valid(lab: Lab) -> None:
    seen: Counter[str] = Counter()
    for seed in range(COUNT):
        try:
            check(lab, seed, seen)
        except Exception as error:
            error.add_note(f"of the tools made with {seed}")
            raise
    print(dict(seen))
    assert seen["whole"] > 1.8 * COUNT
    assert min(seen["accepted"], seen["refused"]) > COUNT / 2


@pytest.mark.slow
@pytest.mark.model
def test_so_it_is_over_a_real_vocabulary(smollm2: Path) -> None:
    lab = Lab(smollm2)
    seen: Counter[str] = Counter()
    for seed in range(3):
        check(lab, seed, seen)
    lab.model.close()
    assert seen["whole"] >= 4

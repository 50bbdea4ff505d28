"""Schemas that are meant to exhaust a grammar: each compiles, or is refused in a line.

Every case is a process of its own, which may compute a minute and hold 2 GiB, as may those that it starts.
The vocabulary is that of $RIG_ATTACKED_MODEL, or a tiny one.
"""

import json
import os
import resource
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.attack.campaign import Broken, main
from benchmarks.memory import peak_memory
from rig.config.engine import GrammarArm
from rig.core.errors import RigError
from rig.core.models import ToolDoc
from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.formats.base import RigFormat
from rig.plugins.llama.grammar.language import ConstraintError
from rig.plugins.llama.grammar.llguidance import LLGuidanceGrammar

SECONDS = 60
"""Of computing, of the process and of those that it starts together."""
MEMORY = 2 << 30
"""Bytes that either may hold."""
_STEPS = 40
_PATIENCE_S = 400
_CHATML = "{% for message in messages %}{{ message['role'] ~ ': ' ~ message['content'] }}{% endfor %}"

_ATOMS = (
    *("a", ".", "[^,]", "\\w", "\\S", "(a|aa)", "(a|b|ab)", "[a-y]", "(?:a*)", "é", "[à-ü]", "\\d", "(|a)"),
    *("[0-9a-f]", "(?:x|y|)", "[\\w.-]", "(?:[a-c][a-d])", "語", "[^a]"),
)
_COUNTS = ("", "", "*", "+", "?", "{3}", "{0,256}", "{256}", "{17,}", "{2,97}")
_TOO_MANY = ("{257}", "{1000000}", "{0,4294967296}", "{3,2}")


def pattern(random: Random, depth: int = 0) -> str:
    """A pattern that needs many states, or is none."""
    parts = []
    for _ in range(random.choice((1, 2, 2, 3, 6))):
        atom = pattern(random, depth + 1) if depth < 4 and random.random() < 0.4 else random.choice(_ATOMS)
        counts = _COUNTS if random.random() < 0.999 else _TOO_MANY
        parts.append(f"(?:{atom}){random.choice(counts)}")
    text = random.choice(("", "|")).join(parts)
    if depth:
        return text
    if random.random() < 0.2:
        text = f"(?:{'|'.join(f'.{{0,{n}}}{text}' for n in range(random.choice((2, 12, 60))))})"
    if random.random() < 0.02:
        text = "(" * random.choice((40, 4000, 100_000)) + text
    return f"^(?:{text})$" if random.random() < 0.98 else text


def schema(random: Random, depth: int = 0) -> dict[str, Any]:
    """What a parameter may be, so that it takes as much as it can."""
    kind = random.randrange(10 if depth < 5 else 6)
    if kind < 3:
        return {"type": "string", "pattern": pattern(random)}
    if kind == 3:
        return {"type": "string", "minLength": random.choice((0, 200, 256)), "maxLength": 256}
    if kind == 4:
        low, high = sorted(random.choices((-(10**30), -1e300, -0.1, 0, 7, 0.5, 2**63, 10**300), k=2))
        return {"type": random.choice(("number", "integer")), "minimum": low, "maximum": high}
    if kind == 5:
        size, begin = random.choice((1, 50, 5000)), random.choice(("v", "é", "語", "\\"))
        return {"enum": [f"{begin}{n:0{size % 97}}" for n in range(size)]}
    if kind == 6:
        items = schema(random, depth + 1)
        return {"type": "array", "items": items, "minItems": random.choice((0, 40)), "maxItems": 256}
    if kind == 7:
        return {"anyOf": [schema(random, depth + 1) for _ in range(random.choice((2, 9)))]}
    if kind == 8:
        deep: dict[str, Any] = schema(random, depth + 1)
        for _ in range(random.choice((3, 3, 12, 300))):
            deep = {"type": "array", "items": deep}
        return deep
    return parameters(random, depth + 1)


def parameters(random: Random, depth: int = 0) -> dict[str, Any]:
    """An object, many of whose members may be left out."""
    names = [f"p{n}" for n in range(random.choice((1, 2, 5, 40 if depth < 2 else 2)))]
    return {
        "type": "object",
        "properties": {name: schema(random, depth + 1) for name in names},
        "required": [name for name in names if random.random() < 0.3],
        "additionalProperties": random.choice((False, False, {"type": "string"})),
    }


def case(random: Random) -> str:
    """One to eight tools compiled and followed for a few tokens."""
    tools = [parameters(random) for _ in range(random.choice((1, 1, 2, 8)))]
    asked = [random.choice(("json", "strict", "strict")), tools, random.random()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    model = os.environ.get("RIG_ATTACKED_MODEL", str(_tiny()))
    program = f"import sys; sys.path[:] = {sys.path!r}; from benchmarks.attack.patterns import probe; probe()"
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, model],
            input=json.dumps(asked), capture_output=True, text=True, timeout=_PATIENCE_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise Broken(f"{asked[0]}: no end after {_PATIENCE_S} s") from error
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        raise Broken(f"{asked[0]}: exit code {done.returncode}: {done.stderr[-400:]}")
    if seconds > SECONDS:
        raise Broken(f"{asked[0]}: {seconds:.0f} s of computing")
    outcome, memory = json.loads(done.stdout.splitlines()[-1])
    if memory > MEMORY:
        raise Broken(f"{asked[0]}: {memory / 2**30:.1f} GiB of memory")
    return f"{asked[0]}: {outcome}"


def probe() -> None:
    """Compile the grammar that stdin asks for, and print how that ended and the most memory that was held."""
    arm, tools, seed = json.load(sys.stdin)
    model = LlamaModel(Path(sys.argv[1]))
    tokenizer = Tokenizer(model)
    started = time.process_time()
    try:
        grammar = LLGuidanceGrammar(model, tokenizer)
        _follow(grammar, arm, tools, Random(seed))
        outcome = "compiles"
    except (RigError, ConstraintError) as error:
        if len(str(error)) > 3000:
            raise Broken(f"a line of {len(str(error))} characters") from error
        outcome = "refused"
    if time.process_time() - started > SECONDS:
        raise Broken(f"{time.process_time() - started:.0f} s of computing")
    most = max(peak_memory(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
    print(json.dumps([outcome, most]))
    model.close()


def _follow(grammar: LLGuidanceGrammar, arm: GrammarArm, tools: list[Any], random: Random) -> None:
    docs = tuple(ToolDoc(f"tool{number}", "", schema) for number, schema in enumerate(tools))
    constraint = grammar.start(RigFormat(docs, arm, ChatTemplate(_CHATML)).language())
    for _ in range(_STEPS):
        if constraint.complete:
            return
        allowed = constraint.allowed().nonzero()[0]
        constraint.accept(int(random.choice(allowed)))


@cache
def _tiny() -> Path:
    from tests.support.tiny_gguf import write

    place = TemporaryDirectory(prefix="attack-")
    _KEPT.append(place)
    return write(Path(place.name) / "tiny.gguf", tokenizer="merged")


_KEPT: list[TemporaryDirectory[str]] = []

if __name__ == "__main__":
    main("patterns", case, 100)

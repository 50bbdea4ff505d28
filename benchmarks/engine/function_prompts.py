"""The prompts of `rig bench` with the tools written as JSON Schema, as chat clients of function calling do.

    rig bench smollm2-135m --export prompts.jsonl
    python benchmarks/engine/function_prompts.py prompts.jsonl functions.jsonl
    rig bench smollm2-135m --prompts functions.jsonl

That takes nearly twice the tokens of rig's own way of writing them, and is what others measure with.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rig.plugins.tooltalk_tools import TOOLTALK

_BEFORE, _AFTER = "Tools:\n\n", "\n\nLocation:"


def functions(schema: dict[str, Any]) -> Iterator[str]:
    """A line for each tool that an answer of `schema` may call."""
    called = [form["properties"]["tool"]["const"] for form in schema["anyOf"] if "tool" in form["properties"]]
    for doc in TOOLTALK.docs(called):
        function = {"name": doc.name, "description": doc.description, "parameters": doc.parameters}
        yield json.dumps({"type": "function", "function": function})


def rewritten(line: dict[str, Any]) -> dict[str, Any]:
    """A prompt with its tools as functions; without token ids, which are of the text before."""
    before, _, rest = line["prompt"].partition(_BEFORE)
    _, _, after = rest.partition(_AFTER)
    tools = "\n".join(functions(line["schema"]))
    return {**line, "prompt": f"{before}{_BEFORE}{tools}{_AFTER}{after}", "tokens": None}


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    lines = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    target.write_text("".join(json.dumps(rewritten(line)) + "\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()

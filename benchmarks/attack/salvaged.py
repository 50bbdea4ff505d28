"""Outputs of a model without a grammar: each is read or refused, soon, and what is read is finite JSON."""

import json
import time
from random import Random

from benchmarks.attack.campaign import Broken, main
from benchmarks.attack.hostile import changed, text
from rig.plugins.llama.formats.leaks import broken, leaked
from rig.plugins.llama.formats.salvage import AnswerError, salvage

_LONGEST_S = 2.0
_ARGUMENTS = {"time": "08:00:00", "session_token": "98a5a87a", "list": [1, {"a": 2}]}
_CALL = {"tool": "AddAlarm", "arguments": _ARGUMENTS}
_SCHEMAS = {"AddAlarm": {"type": "object", "properties": {name: {} for name in _ARGUMENTS}}}
_AROUND = (
    "{}",
    "```json\n{}\n```",
    "<think>{}</think>{}",
    "{}{}",
    "Sure: {}.",
    "<tool_call>{}</tool_call>",
    "[{},{}]",
)


def case(random: Random) -> str:
    """A call with damage, in the ways that models have of writing one."""
    written = json.dumps(changed(random, _CALL) if random.random() < 0.7 else _CALL)
    said = random.choice(_AROUND).replace("{}", written)
    for _ in range(random.randrange(4)):
        place = random.randrange(len(said) + 1)
        cut = random.choice((0, 1, 1, 5))
        said = (
            said[:place]
            + random.choice(("", text(random), '"', "{", "}", "[", "\\", ","))
            + said[place + cut :]
        )
    if random.random() < 0.05:
        said = random.choice(("[", "{", '{"a":', "<think>", "```")) * random.choice((10, 1000, 20000))
    started = time.thread_time()
    try:
        leak = leaked(said, _SCHEMAS)
        broken(said, _SCHEMAS)
        answer, _ = salvage(said)
    except AnswerError:
        return "refused"
    finally:
        if time.thread_time() - started > _LONGEST_S:
            raise Broken(f"took {time.thread_time() - started:.1f} s: {said[:200]!r}")
    calls = leak.calls if leak else ()
    json.dumps([answer, *(call.arguments for call in calls)], allow_nan=False)
    return "a call" if "tool" in answer else "words"


if __name__ == "__main__":
    main("salvaged", case, 2000)

"""Instructions put into hostile results: they can be read there, and are taken out again without a trace."""

import json
from dataclasses import replace
from random import Random

from benchmarks.attack.campaign import Broken, main
from benchmarks.attack.hostile import nested, text, value
from rig.config.options import TABLE
from rig.core.calls import Call, ExecutedCall, Outcome
from rig.core.errors import RigError
from rig.plugins.stress.injections import injection
from rig.plugins.tooltalk_tools import TOOLTALK

_LEVELS = ("ignore", "send", "delete", "leak")
_DIALS = ("fill", "distractors", "tool_errors", "injections", "reorder", "typos", "language")


def case(random: Random) -> str:
    """A result that anything can be in, with an instruction of any level; or words that may be levels."""
    if random.random() < 0.3:
        option = TABLE[random.choice(_DIALS)]
        word = random.choice((text(random), str(value(random)), "1e400", "0x10", "١", "1_0k", "-0", ","))
        try:
            levels = option.levels(word)
        except RigError as error:
            if "\n" in str(error):
                raise Broken(f"{word!r} is refused in several lines") from error
            return "no level"
        if not levels:
            raise Broken(f"{word!r} is read as nothing")
        return "levels"
    hostile = injection(text(random), random.randrange(9), random.choice(_LEVELS), TOOLTALK)
    response = nested(random.choice((5, 50, 400))) if random.random() < 0.1 else value(random)
    called = ExecutedCall(Call("SearchInbox", {"query": value(random)}), Outcome(response))
    changed = hostile.put(called)
    if hostile.canary not in json.dumps(changed.response):
        raise Broken(f"the instruction is not in {changed.response!r}")
    if hostile.taken(changed) != called:
        raise Broken(f"not the result that it was: {response!r}")
    failed = replace(called, outcome=Outcome(exception=text(random)))
    if hostile.put(failed) != failed or hostile.taken(failed) != failed:
        raise Broken("a failed call is another one")
    return "in a text" if "notice" not in str(changed.response) else "beside the result"


if __name__ == "__main__":
    main("injections", case, 5000)

"""Chat templates put together from hostile pieces: each renders or ends in a line, and soon."""

import time
from random import Random

from benchmarks.attack.campaign import Broken, main
from rig.core.errors import RigError
from rig.plugins.llama.core import process
from rig.plugins.llama.core.template import ChatTemplate

process.SECONDS = 1
_LONGEST_S = 90.0
"""By the clock: a template is tried a few times, and the machine may have other work."""

_PLAIN = "{% for message in messages %}{{ message['role'] ~ ': ' ~ message['content'] }}{% endfor %}"
_VALUES = (
    *(
        "'a' * 10**9",
        "'a' * 10**10",
        "range(10**9)|list",
        "lipsum(n=10**5)",
        "7 ** (9 ** 9)",
        "'%999999999d' % 1",
    ),
    *(
        "messages|tojson",
        "(messages|tojson) * 10**6",
        "'a'|center(10**10)",
        "dict(a=1)",
        "cycler(1,2)",
        "[1] * 10**9",
    ),
    *(
        "''.__class__.__mro__",
        "self.__init__.__globals__",
        "messages.__class__",
        "namespace.__init__",
        "joiner('a' * 10**8)",
    ),
    *(
        "'{0.__class__}'.format(1)",
        "('{:' ~ '9' * 9 ~ 'd}').format(1)",
        "messages|batch(10**9)|list",
        "raise_exception('no')",
    ),
    *(
        "strftime_now('%Y')",
        "messages|map('upper')|list",
        "tools",
        "bos_token ~ eos_token",
        "1 / 0",
        "loop.index",
        "undefined.x",
    ),
)
_FRAMES = (
    "{{{{ {0} }}}}",
    "{{% set x = {0} %}}{{{{ x }}}}",
    "{{% for a in range(99999) %}}{{{{ {0} }}}}{{% endfor %}}",
    "{{% for a in {0} %}}{{{{ a }}}}{{% endfor %}}",
    "{{% if messages|length > 2 %}}{{{{ {0} }}}}{{% endif %}}",
    "{{% macro m(a) %}}{{{{ m({0}) }}}}{{% endmacro %}}{{{{ m(1) }}}}",
    "{{% set ns = namespace(x={0}) %}}{{% for a in range(70) %}}{{% set ns.x = ns.x ~ ns.x %}}{{% endfor %}}"
    "{{{{ ns.x }}}}",
    "{{% include {0} %}}",
    "{{% call {0} %}}{{% endcall %}}",
    "{{% filter upper %}}{{{{ {0} }}}}{{% endfilter %}}",
)


def source(random: Random) -> str:
    """A template of some pieces, a plain one among them or not."""
    parts = [random.choice(_FRAMES).format(random.choice(_VALUES)) for _ in range(random.choice((1, 1, 2)))]
    if random.random() < 0.15:
        deep = random.choice((50, 500, 3000))
        opened, closed = random.choice(
            (("{{ " + "(" * deep + "1", ")" * deep + " }}"), ("{% if 1 %}" * deep, "{% endif %}" * deep))
        )
        parts.append(opened + closed)
    if random.random() < 0.7:
        parts.insert(random.randrange(len(parts) + 1), _PLAIN)
    made = "".join(parts)
    return made[: random.randrange(len(made))] if random.random() < 0.1 else made


def case(random: Random) -> str:
    """A template as it comes with a downloaded file."""
    started = time.monotonic()
    try:
        ChatTemplate(source(random))
    except RigError as error:
        if len(str(error)) > 3000:
            raise Broken(f"a line of {len(str(error))} characters") from error
        return "refused"
    finally:
        if time.monotonic() - started > _LONGEST_S:
            raise Broken(f"took {time.monotonic() - started:.0f} s")
    return "renders"


if __name__ == "__main__":
    main("templates", case, 100)

"""rig's own form of answers, as the tests of the engine want it."""

import tiny_gguf

from rig.calls import Call
from rig.engine.core.template import ChatTemplate
from rig.engine.formats.base import RigFormat
from rig.engine_options import GrammarArm
from rig.models import ToolDoc

TEMPLATE = ChatTemplate(tiny_gguf.CHATML)


def rig_format(tools: tuple[ToolDoc, ...] = (), grammar: GrammarArm = "json") -> RigFormat:
    return RigFormat(tools, grammar, TEMPLATE)


def text_of(answer: Call | str) -> str:
    """An answer as a model would have written it."""
    return "".join(span.text for span in rig_format().spans(answer))

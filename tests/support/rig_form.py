"""rig's own form of answers, as the tests of the engine want it."""

import tiny_gguf

from rig.config.engine import GrammarArm
from rig.core.calls import Call
from rig.core.models import ToolDoc
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.formats.base import RigFormat

TEMPLATE = ChatTemplate(tiny_gguf.CHATML)


def rig_format(tools: tuple[ToolDoc, ...] = (), grammar: GrammarArm = "json") -> RigFormat:
    return RigFormat(tools, grammar, TEMPLATE)


def text_of(answer: Call | str) -> str:
    """An answer as a model would have written it."""
    return "".join(span.text for span in rig_format().spans(answer))

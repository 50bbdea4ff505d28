"""A model as a reader of two texts: held to yes or no, and asked how likely it finds yes."""

import math
from hashlib import sha256

from rig.calls import Call
from rig.engine.core.settings import EngineSettings
from rig.engine.files.checksums import sha256_of
from rig.engine.files.registry import resolve
from rig.engine.forcing.teacher import Teacher
from rig.models import Request, StepKey, ToolDoc, UserMessage

_SYSTEM = "You read two texts and say whether the second follows from the first. Be strict about facts."
_TOOL = ToolDoc(
    "answer",
    "Say whether text 2 follows from text 1.",
    {
        "type": "object",
        "properties": {"follows": {"enum": ["yes", "no"], "description": "yes if it follows, else no."}},
        "required": ["follows"],
        "additionalProperties": False,
    },
)


class GgufReader:
    """A GGUF model by its file or name, held to an answer by the grammar that tool calls are held to.

    Raises RigError if it cannot be loaded.
    """

    def __init__(self, text: str) -> None:
        model = resolve(text)
        self.name = model.name
        files = [model.path, *([model.adapter.path] if model.adapter else [])]
        self.sha256 = sha256("".join(map(sha256_of, files)).encode()).hexdigest()
        settings = EngineSettings(parallel=1, n_ctx=4096)
        self._teacher = Teacher(model.path, settings, model.base, lambda _text: None, model.adapter)

    def follows(self, first: str, second: str) -> float | None:
        """The probability of yes among yes and no; None where the model cannot take the texts in."""
        message = UserMessage(f"Text 1: {first}\nText 2: {second}")
        request = Request(StepKey("reader", 0, 0), _SYSTEM, (_TOOL,), "", (message,))
        assessed = self._teacher.assess(request, Call(_TOOL.name, {"follows": "yes"}), lambda _n, _v: None)
        if assessed.fault is not None:
            return None
        return math.exp(sum(choice.logprob for choice in assessed.choices if choice.kind == "value"))

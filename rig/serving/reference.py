"""A loaded file as the reference of a server: the prompts it would read, and what it finds likely then."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from rig.engine.core.llama import Chunk
from rig.engine.decoding.drafting import read_prompt
from rig.engine.engine import LlamaCppModel
from rig.engine.formats.base import Reading
from rig.engine.formats.salvage import AnswerError
from rig.models import Model, Request


class ReferenceModel:
    """What a model knows besides its answers. Whoever uses it owns the model's context for good."""

    def __init__(self, model: Model) -> None:
        assert isinstance(model, LlamaCppModel)
        self._model = model

    def prompt(self, request: Request) -> list[int]:
        """The tokens of a request's prompt. Raises TemplateError."""
        form = self._model.form(request).format
        return [token for segment in self._model.prompts.build(request, form) for token in segment]

    def tokens(self, text: str) -> list[int]:
        """The tokens of a text in which special tokens count."""
        return self._model.tokenizer.template(text)

    def text(self, tokens: Sequence[int]) -> str:
        """Tokens as text, special ones as they are spelled."""
        tokenizer = self._model.tokenizer
        pieces = (tokenizer.piece(token) or tokenizer.special_text(token).encode() for token in tokens)
        return b"".join(pieces).decode("utf-8", "replace")

    def specials(self) -> Sequence[str]:
        """How the special tokens are spelled."""
        return list(self._model.tokenizer.specials)

    def read(self, request: Request, text: str) -> Reading | None:
        """A text as this model's form reads it; None if it cannot be read."""
        try:
            return self._model.form(request).format.read(text)
        except AnswerError:
            return None

    def logprobs(self, prompt: Sequence[int], answer: Sequence[int]) -> list[npt.NDArray[np.float64]]:
        """The natural log-probabilities of all tokens at each place of an answer. Raises DecodeError."""
        context = self._model.context
        read_prompt(context, 0, prompt)
        rows = [context.logits().astype(np.float64)]
        for token in answer[:-1]:
            context.decode([Chunk(0, (token,), 1)])
            rows.append(context.logits().astype(np.float64))
        return list(log_softmax(rows, axis=-1))

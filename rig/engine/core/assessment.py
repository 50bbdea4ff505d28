"""A given answer as a model sees it: its tokens, and what they decide. Reading this loads no llama.cpp."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Kind = Literal["answer", "tool", "parameter", "value"]
"""What a token decides: to call or to reply, which tool, which parameter comes or ends, what it is given."""


class Choice(NamedTuple):
    """A token of an answer where the grammar left a choice, and what the model makes of it.

    `start` is the byte of the answer where it begins. `logprob` is the natural logarithm of its probability
    among the `allowed` tokens. `rank` of them are likelier (equally likely ones count by id, as in greedy
    decoding). `top` is the likeliest, and `agrees` says whether its text is the answer's: other tokens can
    have the same text.
    """

    token: int
    start: int
    kind: Kind
    logprob: float
    rank: int
    top: int
    agrees: bool
    allowed: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """A given answer as a model sees it: the tokens that were open, in order, and how many were not.

    Of a reply (`is_reply`), whose words could be any, it ends with the decision to reply. `fault` says why
    there is nothing to be said about an answer.
    """

    is_reply: bool
    choices: tuple[Choice, ...] = ()
    forced: int = 0
    prompt_tokens: int = 0
    computed_tokens: int = 0
    fault: str | None = None

    @property
    def logprob(self) -> float:
        """Of the whole answer."""
        return sum(choice.logprob for choice in self.choices)

    @property
    def is_greedy(self) -> bool:
        """Whether what greedy decoding takes goes on with this very call everywhere, or begins a reply.

        By text, since there can be other tokens for it: `"}` and `}` for `"` and `}}`.
        """
        return self.fault is None and all(choice.agrees for choice in self.choices)


def margin(logits: npt.NDArray[np.float32], allowed: npt.NDArray[np.bool_]) -> float:
    """How far the best of the allowed tokens is above the second; infinite where there is no second."""
    values = logits[allowed]
    best = int(values.argmax())
    top, values[best] = values[best], -np.inf
    return float(top - values.max())

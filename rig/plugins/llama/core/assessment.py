"""A given answer as a model sees it: its tokens, and what they decide. This module loads no llama.cpp."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["answer", "tool", "parameter", "value"]
"""What a token decides: to call or reply, which tool, which parameter comes or ends, or its value."""


class Choice(NamedTuple):
    """A token of an answer where the grammar left a choice, and how the model rates it.

    `start` is the byte of the answer at which it begins. `logprob` is the natural logarithm of its
    probability among the `allowed` tokens. `rank` of them are likelier (equally likely ones count by id, as
    in greedy decoding). `top` is the likeliest, and `agrees` says whether its text is the answer's: other
    tokens can have the same text.
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
    """A given answer as a model sees it: the tokens that were open, in order, and how many were forced.

    A reply (`is_reply`), whose words could be any, is assessed only up to the decision to reply. `fault` says
    why an answer could not be assessed.
    """

    is_reply: bool
    choices: tuple[Choice, ...] = ()
    forced: int = 0
    prompt_tokens: int = 0
    computed_tokens: int = 0
    fault: str | None = None

    @property
    def logprob(self) -> float:
        """The log probability of the whole answer."""
        return sum(choice.logprob for choice in self.choices)

    @property
    def is_greedy(self) -> bool:
        """Whether greedy decoding would follow this call at every choice, or begin a reply.

        Texts are compared, since other tokens can spell the same: `"}` and `}` for `"` and `}}`.
        """
        return self.fault is None and all(choice.agrees for choice in self.choices)

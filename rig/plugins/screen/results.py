"""The results of screening: step by step, and in figures for each model."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import zip_longest
from typing import Literal, NamedTuple, get_args

import numpy as np

from rig.core.calls import JsonObject
from rig.core.models import StepKey
from rig.plugins.llama.core.assessment import Assessment, Kind
from rig.plugins.screen.divergence import DivergenceFigures, TokenDivergence, figures
from rig.stats import Estimate, mean_interval
from rig.store.records import made_from

ALPHA = 0.05
KINDS: tuple[Kind, ...] = get_args(Kind)
Decided = Literal["answer", "tool", "parameter", "value", "prose"]
"""What any token of an answer decides: a kind of choice, or the words of a reply."""
DECIDED: tuple[Decided, ...] = get_args(Decided)


class ScreenedToken(NamedTuple):
    """A token of an answer, forced or not, compared with the base over the whole vocabulary."""

    decides: Decided
    divergence: TokenDivergence


class TurnKey(NamedTuple):
    """A turn: its conversation, and its position there."""

    conversation: str
    turn: int


@dataclass(frozen=True, slots=True)
class ScreenedStep:
    """A true answer as one model sees it.

    `divergences` (nats, over the allowed tokens) and `same_top` compare each choice with the base model's;
    they are empty for the base itself, for models with another vocabulary, and where either could not be
    assessed. The same holds for `tokens`, which also need `--kld`.
    """

    key: StepKey
    number: int
    """The number of its assistant turn, from 1."""
    tool: str | None
    assessment: Assessment
    divergences: tuple[float, ...] = ()
    same_top: tuple[bool, ...] = ()
    tokens: tuple[ScreenedToken, ...] = ()

    def as_json(self) -> JsonObject:
        """Return everything by name, choice by choice."""
        assessment = self.assessment
        tokens = [{"decides": token.decides, **token.divergence._asdict()} for token in self.tokens]
        compared = zip_longest(assessment.choices, self.divergences, self.same_top)
        return {
            "conversation": self.key.conversation,
            "turn": self.number,
            "position": self.key.turn,
            "step": self.key.step,
            "answer": "reply" if assessment.is_reply else "call",
            "tool": self.tool,
            "logprob": assessment.logprob if assessment.fault is None else None,
            "greedy": assessment.is_greedy,
            "forced": assessment.forced,
            "prompt_tokens": assessment.prompt_tokens,
            "computed_tokens": assessment.computed_tokens,
            "fault": assessment.fault,
            "choices": [
                {**choice._asdict(), "constrained_kl": kl, "same_top": same_top}
                for choice, kl, same_top in compared
            ],
            **({"tokens": tokens} if tokens else {}),
        }


@dataclass(frozen=True, slots=True)
class KindFigures:
    """The choices of one kind: how many there are, and means over them.

    `top1` is the share in which the true token is the likeliest, `mrr` the mean reciprocal rank.
    `constrained_kl` (nats, over the tokens that the grammar allows) and `same_top` are against the base, None
    if there is nothing to compare.
    """

    choices: int
    logprob: float | None
    top1: float | None
    mrr: float | None
    constrained_kl: float | None
    same_top: float | None


@dataclass(frozen=True, slots=True)
class ArmScreen:
    """One model's results on all true answers. `failure` says why the model could not be screened."""

    name: str
    fingerprint: JsonObject
    steps: tuple[ScreenedStep, ...]
    seconds: float
    failure: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def assessed(self) -> tuple[ScreenedStep, ...]:
        return tuple(step for step in self.steps if step.assessment.fault is None)

    @property
    def faults(self) -> Mapping[str, int]:
        """How many answers could not be assessed, by reason."""
        return Counter(fault for step in self.steps if (fault := step.assessment.fault) is not None)

    def calls(self) -> list[ScreenedStep]:
        return [step for step in self.assessed if not step.assessment.is_reply]

    def replies(self) -> list[ScreenedStep]:
        return [step for step in self.assessed if step.assessment.is_reply]

    @property
    def call_logprob(self) -> float | None:
        """The mean log-probability of a true call."""
        return _mean(step.assessment.logprob for step in self.calls())

    @property
    def greedy_calls(self) -> float | None:
        """The share of true calls that greedy decoding would make."""
        return _mean(step.assessment.is_greedy for step in self.calls())

    @property
    def decides_to_call(self) -> float | None:
        """The share of true calls where the likeliest beginning is that of a call."""
        return _mean(
            all(choice.agrees for choice in step.assessment.choices if choice.kind == "answer")
            for step in self.calls()
        )

    @property
    def decides_to_reply(self) -> float | None:
        """The share of true replies where the likeliest beginning is that of a reply."""
        return _mean(step.assessment.is_greedy for step in self.replies())

    def kind(self, kind: Kind) -> KindFigures:
        """Return the figures of the choices of one kind."""
        chosen = [
            (step, number, choice)
            for step in self.assessed
            for number, choice in enumerate(step.assessment.choices)
            if choice.kind == kind
        ]
        compared = [(step, number) for step, number, _ in chosen if step.divergences]
        return KindFigures(
            choices=len(chosen),
            logprob=_mean(choice.logprob for *_, choice in chosen),
            top1=_mean(choice.rank == 0 for *_, choice in chosen),
            mrr=_mean(1 / (choice.rank + 1) for *_, choice in chosen),
            constrained_kl=_mean(step.divergences[number] for step, number in compared),
            same_top=_mean(step.same_top[number] for step, number in compared),
        )

    def less_than(self, base: "ArmScreen") -> Estimate | None:
        """Return how much more likely the calls are than for the base, over those that both assessed.

        The result is the mean difference with its 95% interval, or None without common calls: the standard
        error is clustered by conversation (Miller 2024, arXiv 2411.00640, section 2.2), the bounds are of
        Student's t with one degree of freedom fewer than conversations, and None if there are fewer than 2.
        """
        before = {step.key: step.assessment.logprob for step in base.calls()}
        return _clustered(
            (step.key.conversation, step.assessment.logprob - before[step.key])
            for step in self.calls()
            if step.key in before
        )

    def divergence(self, decides: Decided | None = None) -> DivergenceFigures | None:
        """Return the figures over all tokens, or those that decide this; None if none were compared."""
        tokens = [
            (step.key.conversation, token.divergence)
            for step in self.assessed
            for token in step.tokens
            if decides in (None, token.decides)
        ]
        interval = _clustered((conversation, divergence.kld) for conversation, divergence in tokens)
        if interval is not None and interval.low is not None:
            # No divergence is below 0, though Student's interval of few conversations goes on there.
            interval = replace(interval, low=max(interval.low, 0.0))
        return figures([divergence for _, divergence in tokens], interval)

    def as_json(self, base: "ArmScreen") -> JsonObject:
        """Return the figures by name."""
        less = self.less_than(base) if self is not base else None
        names: dict[str, Decided | None] = {"all": None, **{decides: decides for decides in DECIDED}}
        divergences = {
            name: divergence.as_json()
            for name, decides in names.items()
            if (divergence := self.divergence(decides)) is not None
        }
        return {
            "arm": self.name,
            "fingerprint": self.fingerprint,
            "made_from": made_from(self.fingerprint),
            "calls": len(self.calls()),
            "replies": len(self.replies()),
            "faults": dict(self.faults),
            "call_logprob": self.call_logprob,
            "difference": less and asdict(less),
            "greedy_calls": self.greedy_calls,
            "decides_to_call": self.decides_to_call,
            "decides_to_reply": self.decides_to_reply,
            "kinds": {kind: asdict(self.kind(kind)) for kind in KINDS},
            **({"kld": divergences} if divergences else {}),
            "prompt_tokens": sum(step.assessment.prompt_tokens for step in self.steps),
            "computed_tokens": sum(step.assessment.computed_tokens for step in self.steps),
            "seconds": self.seconds,
            "failure": self.failure,
            "remarks": list(self.remarks),
        }


@dataclass(frozen=True, slots=True)
class Screen:
    """Several models on the same conversations; the first is the base."""

    arms: tuple[ArmScreen, ...]
    conversations: tuple[str, ...]
    settings: JsonObject = field(default_factory=dict)
    is_interrupted: bool = False
    """Whether later models are missing."""

    @property
    def base(self) -> ArmScreen:
        return self.arms[0]

    def as_json(self, *, steps: bool = False) -> JsonObject:
        """Return the figures by name, and with `steps` every step and choice that they are made of."""
        return {
            "base": self.base.name,
            "conversations": list(self.conversations),
            "settings": self.settings,
            "arms": [
                arm.as_json(self.base) | ({"steps": [step.as_json() for step in arm.steps]} if steps else {})
                for arm in self.arms
            ],
        }


def _mean(values: Iterable[float | bool]) -> float | None:
    array = np.fromiter(values, dtype=np.float64)
    return float(array.mean()) if array.size else None


def _clustered(values: Iterable[tuple[str, float]]) -> Estimate | None:
    """Return the mean with its interval, from pairs of conversation and value; None without values."""
    clusters: dict[str, list[float]] = {}
    for conversation, value in values:
        clusters.setdefault(conversation, []).append(value)
    if not clusters:
        return None
    sums, sizes = (np.array([of(cluster) for cluster in clusters.values()], float) for of in (sum, len))
    return mean_interval(sums, sizes, ALPHA, freedom=0)


def by_turn(arm: ArmScreen) -> Iterator[tuple[TurnKey, list[ScreenedStep]]]:
    """Yield the steps of each turn in which every step could be assessed."""
    turns: dict[TurnKey, list[ScreenedStep]] = {}
    for step in arm.steps:
        turns.setdefault(TurnKey(step.key.conversation, step.key.turn), []).append(step)
    for key, steps in turns.items():
        if all(step.assessment.fault is None for step in steps):
            yield key, steps

"""The faults of each turn of a failed conversation, in kinds that a user can act on.

ToolTalk's own three types (`rig.plugins.tooltalk.scoring`) say whether planning or invocation failed. These
say which call, which argument, what was expected and what came instead, and whether a value was made up
(`rig.plugins.matching.seen`).
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from rig.core.calls import CallPlace, Difference, ExecutedCall, Fault, FaultKind, Json, Verdict
from rig.core.tasks import turn_number
from rig.plugins.matching import reasons
from rig.plugins.matching.matching import Matching
from rig.plugins.matching.seen import Seen
from rig.plugins.tooltalk.conversations import Conversation
from rig.world.schemas import SchemaFault, schema_faults
from rig.world.spec import Tool
from rig.world.toolbox import is_declared

_LONGEST = 4000

_CLAIM = re.compile(
    r"\b(i|we)(('ve)| have)? (just |now |already |successfully )*"
    r"(added|cancell?ed|changed|completed|created|deleted|dropped|logged|marked|modified|moved|placed|put"
    r"|registered|removed|reset|rescheduled|scheduled|sent|set|signed|updated)\b"
    r"|\b(has|have|is|are|was|were)( now| just| all)?( been)?( successfully)? "
    r"(added|cancell?ed|changed|completed|created|deleted|done|gone|marked|modified|moved|on its way"
    r"|registered|removed|reset|rescheduled|scheduled|sent|set|updated)\b"
    r"|\b(successfully|all set|all done|you're set|you are set)\b"
    r"|^\W*(done|sent|gone|deleted|added|set)\b"
)
_DENIAL = re.compile(
    r"\b(not|no|cannot|unable|failed|fails|error|sorry|unfortunately|couldn|can|could|didn|wasn|isn|hasn|haven"
    r"|if|once|before|when|would|will|shall|should)(n't|'t)?\b"
)


def claims_success(reply: str) -> bool:
    """Whether some sentence of a reply claims that an action was done.

    Questions, refusals, offers and conditions claim nothing. It may miss a claim; it should not invent one.
    """
    text = reply[:_LONGEST].casefold().replace("\u2019", "'")
    sentences = re.findall(r"[^.!?\n]+[.!?]?", text)
    return any(
        _CLAIM.search(sentence) is not None
        and _DENIAL.search(sentence) is None
        and not sentence.rstrip().endswith("?")
        for sentence in sentences
    )


Truth: TypeAlias = tuple[CallPlace, ExecutedCall]
"""The place of a ground-truth call, and the call with the user who was logged in."""
Truths: TypeAlias = Sequence[Truth]

_NOTHING = Difference("", None, None)


@dataclass(frozen=True, slots=True)
class Acted:
    """A model's assistant turn: its calls with final verdicts, and its reply or error."""

    calls: tuple[tuple[ExecutedCall, Verdict], ...] = ()
    reply: str | None = None
    error: str | None = None


def find_faults(
    conversation: Conversation, acted: Mapping[int, Acted], truths: Truths, matching: Matching
) -> tuple[Fault, ...]:
    """Return the faults of a conversation, turn by turn; none for a success. `acted` is keyed by turn, and
    `matching` has its calls.
    """
    verdicts = [verdict for turn in acted.values() for _, verdict in turn.calls]
    held = {verdict.ground_truth for verdict in verdicts}
    forbidden = conversation.terms.forbidden
    called = ((index, call.name) for index, turn in acted.items() for call, _ in turn.calls)
    did_harm = any(verdict.bad_action for verdict in verdicts)
    did_harm |= any(name in forbidden.get(index, ()) for index, name in called)
    if not did_harm and all(position in held for position, _ in truths):
        return ()
    faults: list[Fault] = []
    replayed = dict(truths)
    seen = Seen(*conversation.metadata.facts)
    for index, true_turn in enumerate(conversation.turns):
        if (turn := acted.get(index)) is not None:
            due = [truth for truth in truths if truth[0][0] == index and truth[0] not in held]
            later = [truth for truth in truths if truth[0][0] > index]
            faults += _ExaminedTurn(conversation, index, turn, due, later, seen.copy(), matching).faults()
        for number, call in enumerate(true_turn.calls):
            seen.note(call if call.recorded else replayed.get(CallPlace(index, number), call))
        seen.say(true_turn.text)
    return tuple(faults)


@dataclass(slots=True)
class _ExaminedTurn:
    """One assistant turn under examination. `due` are its ground-truth calls that nothing matched."""

    conversation: Conversation
    index: int
    acted: Acted
    due: Truths
    later: Truths
    seen: Seen
    matching: Matching
    answered: set[CallPlace] = field(default_factory=set)
    """The calls of `due` that some call has been read as an attempt at."""
    first: dict[str, int] = field(default_factory=dict)
    """The first step that asked for the same, by what was asked."""
    nearest: dict[str, deque[Truth]] = field(default_factory=dict)
    """By the content of a wrong call, the calls of `due` that it can be meant as, the likest first."""

    def faults(self) -> list[Fault]:
        wrong = [
            step
            for step, (executed, verdict) in enumerate(self.acted.calls)
            if not verdict.match and not is_declared(executed)
        ]
        for step, (executed, _) in enumerate(self.acted.calls):
            self.first.setdefault(self._asked(executed), step)
        # Calls of a due tool are paired first, before other tools count as called in its place.
        meant = {step: self._meant(step) for step in wrong}
        faults: list[Fault] = []
        for step, (executed, _) in enumerate(self.acted.calls):
            if step in meant:
                faults += self._wrong_call(step, meant[step])
            self.seen.answer(executed)
        return [*faults, *self._missing(), *self._ending()]

    def _asked(self, executed: ExecutedCall) -> str:
        return self.matching.comparisons.asked(executed)

    def _meant(self, step: int) -> Truth | None:
        """Return the due call of the same tool, preferably one that no other call was an attempt at."""
        executed, _ = self.acted.calls[step]
        comparisons = self.matching.comparisons
        content = comparisons.content(executed)
        if content not in self.nearest:
            same = [truth for truth in self.due if truth[1].name == executed.name]
            same.sort(key=lambda truth: len(comparisons.of_place(executed, truth[0])))
            self.nearest[content] = deque(same)
        nearest = self.nearest[content]
        for _ in range(len(nearest)):
            if nearest[0][0] not in self.answered:
                break
            nearest.rotate(-1)  # all answered, it comes round to the likest
        if not nearest:
            return None
        self.answered.add(nearest[0][0])
        return nearest[0]

    def _wrong_call(self, step: int, meant: Truth | None) -> Iterator[Fault]:
        """Yield the faults of a call that matches nothing. An extra, harmless lookup is not a fault."""
        executed, verdict = self.acted.calls[step]
        tool = self.matching.toolbox.tools.get(executed.name)
        if executed.name in self.conversation.turns[self.index].forbidden:
            text = f"{executed.name} was called, which must not be"
            yield self._fault(FaultKind.FORBIDDEN_CALL, text, step)
        elif tool is None:
            yield self._wrong_tool(step, self._untried(lambda _: True))
        elif verdict.reason == reasons.REPEATS or self.first[self._asked(executed)] < step:
            text = f"{executed.name} had been called like this already"
            yield self._fault(FaultKind.REPEATED_CALL, text, step)
        elif executed.exception is not None and (unfit := self._schema_faults(tool, executed.arguments)):
            for fault in unfit:
                name, got = reasons.show(fault.name), reasons.show(fault.value)
                wrong = {"unknown": f"there is no argument {name}", "missing": f"{name} is missing"}
                text = wrong.get(fault.kind, f"{name} should be {fault.needed}, got {got}")
                text = f"{executed.name}: {text}"
                difference = Difference(fault.name, fault.needed, fault.value)
                yield self._fault(FaultKind.WRONG_FORMAT, text, step, meant, difference)
        elif meant is not None:
            yield from self._differs(step, meant)
        elif (executed.exception is None or not tool.action) and (
            other := self._untried(lambda name: self.matching.toolbox.is_action(name) is tool.action)
        ):
            yield self._wrong_tool(step, other)
        elif unfounded := self._unfounded(executed):
            for name in unfounded:
                yield self._made_up(step, None, Difference(name, None, executed.arguments[name]))
        elif verdict.bad_action:
            turns = [position.turn for position, truth in self.later if truth.name == executed.name]
            when = f"before turn {turn_number(self.conversation, turns[0])}" if turns else "at all"
            yield self._fault(FaultKind.UNNEEDED_ACTION, f"{executed.name} was not called for {when}", step)

    def _differs(self, step: int, meant: Truth) -> Iterator[Fault]:
        executed, _ = self.acted.calls[step]
        unfounded = self._unfounded(executed)
        differences = self.matching.comparisons.of_place(executed, meant[0])
        # A failure or another response follows from wrong arguments: it is only reported if those are right.
        decisive = [value for value in differences if value.what not in ("exception", "response")]
        for difference in decisive or differences:
            if difference.what in unfounded:
                yield self._made_up(step, meant, difference)
            else:
                text = f"{executed.name}: {reasons.difference(difference)}"
                yield self._fault(FaultKind.WRONG_ARGUMENT, text, step, meant, difference)

    def _unfounded(self, executed: ExecutedCall) -> list[str]:
        """Return the arguments of a call that nothing the model had seen supports."""
        if not isinstance(executed.arguments, dict):
            return []
        tool = self.matching.toolbox.tools[executed.name]
        return [
            name for name, value in executed.arguments.items() if not self.seen.speaks_for(tool, name, value)
        ]

    def _untried(self, fits: Callable[[str], bool]) -> Truth | None:
        """Return the first due call with a fitting name that nothing was an attempt at, and mark it."""
        for truth in self.due:
            if truth[0] not in self.answered and fits(truth[1].name):
                self.answered.add(truth[0])
                return truth
        return None

    def _missing(self) -> Iterator[Fault]:
        missing = [truth for truth in self.due if truth[0] not in self.answered]
        for truth in missing if self.acted.error is None else ():
            text, arguments = f"{truth[1].name} was not called", truth[1].arguments
            yield self._fault(FaultKind.MISSING_CALL, text, None, truth, Difference("", arguments, None))
        if missing and self.acted.error is not None:
            text = f"no answer could be had: {self.acted.error}"
            yield self._fault(FaultKind.GENERATION_FAILED, text, None, missing[0])

    def _ending(self) -> Iterator[Fault]:
        """Yield what is wrong with replying while calls are still due."""
        if not self.due or self.acted.reply is None:
            return
        calls = [executed for executed, _ in self.acted.calls]
        if calls and (exception := calls[-1].exception) is not None:
            text = f"replied after {reasons.show(calls[-1].name)} failed: {reasons.show(exception)}"
            yield self._fault(FaultKind.GAVE_UP, text, len(calls) - 1)
        has_acted = any(
            self.matching.toolbox.is_action(call.name) and call.exception is None for call in calls
        )
        undone = [truth for truth in self.due if self.matching.toolbox.is_action(truth[1].name)]
        if undone and not has_acted and claims_success(self.acted.reply):
            text = f"{undone[0][1].name} was not done, but the reply says {reasons.show(self.acted.reply)}"
            yield self._fault(FaultKind.CLAIMED_SUCCESS, text, None, undone[0])

    def _wrong_tool(self, step: int, truth: Truth | None) -> Fault:
        name = self.acted.calls[step][0].name
        unknown = "" if name in self.matching.toolbox.tools else ", which does not exist"
        due = truth[1].name if truth else None
        text = f"called {reasons.show(name)}{unknown}{f'; {due} was due' if truth else ''}"
        return self._fault(FaultKind.WRONG_TOOL, text, step, truth, Difference("", due, name))

    def _schema_faults(self, tool: Tool, arguments: Json) -> list[SchemaFault]:
        """Return where arguments do not fit the tool's schema, ignoring those that the simulator injects."""
        faults = schema_faults(tool.parameters, arguments)
        injected = self.matching.toolbox.injected
        return [fault for fault in faults if fault.kind != "unknown" or fault.name not in injected]

    def _made_up(self, step: int, meant: Truth | None, value: Difference) -> Fault:
        name = self.acted.calls[step][0].name
        text = f"{name}: nothing had said that {value.what} is {reasons.show(value.got)}"
        return self._fault(FaultKind.MADE_UP, text, step, meant, value)

    def _fault(
        self,
        kind: FaultKind,
        text: str,
        step: int | None,
        truth: Truth | None = None,
        value: Difference = _NOTHING,
    ) -> Fault:
        called = "" if step is None else self.acted.calls[step][0].name
        tool = called or (truth[1].name if truth else "")
        argument = value.what, value.expected, value.got
        return Fault(kind, self.index, text, step, truth[0] if truth else None, tool, *argument)

"""Match predictions with ground-truth calls: ToolTalk's matching, live, one prediction at a time."""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple, get_args

from rig.config.options import Mode as Mode
from rig.core.calls import CallPlace, Difference, ExecutedCall, Json, Verdict
from rig.core.errors import RigError
from rig.plugins.matching import reasons
from rig.plugins.matching.comparisons import Comparisons, Truths
from rig.plugins.matching.rules import Rules, UpstreamRules, rules_sha256
from rig.scoring.answers import Answers
from rig.scoring.similarity import Adjudicated, Exact, Similarity
from rig.world.rules import is_optional
from rig.world.toolbox import Toolbox, is_declared

GRADER_VERSION = "1"
"""To be raised with every change to this package that can change a score; stored with every score."""


class Terms(NamedTuple):
    """What a conversation demands beyond its calls: the tools that must not be called, by turn, and the turns
    whose calls have to come in order.
    """

    forbidden: Mapping[int, frozenset[str]] = {}
    ordered: frozenset[int] = frozenset()


ANY_WAY = Terms()


class Grader:
    """A grader of predicted calls of a toolbox. Raises RigError for a mode that does not exist.

    - `default`: all turns of a conversation share one pool of ground-truth calls; a maximum matching.
    - `upstream`: the same pool, matched greedily and by ToolTalk's own rules, quirks included.
    - `per-turn`: as default, but a prediction can match only the ground truth of its own turn (the text of
      ToolTalk's section 3, which its code does not follow).
    """

    version = GRADER_VERSION

    def __init__(self, mode: Mode, similarity: Similarity, toolbox: Toolbox) -> None:
        if mode not in get_args(Mode):
            raise RigError(f"unknown grader {mode!r}; choose from: {', '.join(get_args(Mode))}")
        self.mode = mode
        self.toolbox = toolbox
        rules = UpstreamRules if mode == "upstream" else Rules
        self.rules = rules(similarity, toolbox)

    def of(self, toolbox: Toolbox) -> "Grader":
        """Return the same grader for calls of another toolbox."""
        return Grader(self.mode, self.rules.similarity, toolbox)

    def adjudicated(self, answers: Answers) -> "Grader":
        """Return a grader that uses people's answers; itself if there are none or it does not use any."""
        similarity = self.rules.similarity
        if not len(answers) or self.mode == "upstream" or isinstance(similarity, Exact):
            return self
        reader = None
        if isinstance(similarity, Adjudicated):
            reader, similarity = similarity.reader, similarity.similarity
        return Grader(self.mode, Adjudicated(similarity, answers, reader), self.toolbox)

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        """Everything that can change a score of the same predictions, as flat JSON values."""
        thresholds = {f"threshold_{kind.name}": value for kind, value in self.rules.thresholds.items()}
        rules = rules_sha256(self.toolbox)
        return {
            "grader_version": self.version,
            "grader": self.mode,
            **self.rules.similarity.fingerprint,
            **thresholds,
            **({"rules_sha256": rules} if rules else {}),
        }

    def start(self, ground_truth: Truths, terms: Terms = ANY_WAY, where: str | None = None) -> "Matching":
        """Begin a conversation with its ground-truth calls, in order. For one that is recorded, `where` names
        it: its calls are not capped, and if there is too much to compare, that raises RigError.
        """
        return Matching(self, terms, Comparisons(self.rules, self.toolbox, tuple(ground_truth), where))


class _Compared(NamedTuple):
    """The ground-truth calls that a prediction could be, best first, and the verdict if it is none.

    `unclear` maps the calls it could be if texts meant the same to the texts that nobody can judge.
    """

    candidates: Sequence[int]
    miss: Verdict
    unclear: Mapping[int, tuple[Difference, ...]]


@dataclass
class _Predicted:
    """A prediction, and the number of the true call that it matches. It is compared only if necessary."""

    turn: int
    executed: ExecutedCall
    compared: _Compared | None = None
    truth: int | None = None


class Matching:
    """The state of one conversation. Ground-truth calls are referred to by their number in order.

    If it is `lenient`, unclear texts mean the same.
    """

    def __init__(
        self, grader: Grader, terms: Terms, comparisons: Comparisons, *, lenient: bool = False
    ) -> None:
        self.comparisons = comparisons
        self.toolbox = grader.toolbox
        self._grader = grader
        self._terms = terms
        self._lenient = lenient
        self._truths = comparisons.truths
        self._of_tool: dict[str, list[int]] = defaultdict(list)
        self._waiting: dict[int, deque[int]] = defaultdict(deque)
        self._free: dict[tuple[int, str], dict[int, None]] = defaultdict(dict)
        self._asked: dict[tuple[int, str], deque[int]] = defaultdict(deque)
        for number, (place, truth) in enumerate(self._truths):
            self._of_tool[truth.name].append(number)
            if not is_optional(truth):
                self._waiting[place.turn].append(number)
                self._free[place.turn, truth.name][number] = None
                self._asked[place.turn, comparisons.asked(truth)].append(number)
        self._predictions: list[_Predicted] = []
        self._holder: dict[int, int] = {}
        self._moved: list[int] = []
        # What is known of a prediction is known of all of its content in its turn.
        self._compared_before: dict[tuple[int, str], _Compared] = {}
        self._without: set[tuple[int, str]] = set()
        self._dead: Mapping[bool, set[int]] = {False: set(), True: set()}

    def add(self, turn: int, executed: ExecutedCall) -> Verdict:
        """Judge the next prediction. It is final whether it matches and whether it is a bad action.

        Which ground-truth call it matches can still change in default mode, when a later prediction
        matches that one only: `moved` says so at once, and `verdicts` has the last word.
        """
        predicted = _Predicted(turn, executed)
        if self._terms.ordered:
            self._compared(predicted)  # what may come depends on what was called by now
        self._moved = []
        return self._place(predicted)

    def _compared(self, predicted: _Predicted) -> _Compared:
        """Return how a prediction compares with the ground truth."""
        if predicted.compared is not None:
            return predicted.compared
        turn, executed = predicted.turn, predicted.executed
        content = turn, self.comparisons.content(executed)
        if not self._terms.ordered and (before := self._compared_before.get(content)) is not None:
            predicted.compared = before
            return before
        tool = self.toolbox.tools.get(executed.name)
        compared = {
            number: self.comparisons.of(executed, number)
            for number in (self._of_tool.get(tool.name, ()) if tool else ())
            if self._grader.mode != "per-turn" or self._truths[number][0].turn == turn
        }
        miss = self._miss(turn, executed, compared)
        is_open = not self.is_forbidden(turn, executed)
        due = {
            truth: differences for truth, differences in compared.items() if is_open and self._is_due(truth)
        }
        candidates = [truth for truth, differences in due.items() if not differences]
        if self._grader.mode != "upstream":
            # Any order gives as many matches; this one blames the turn that is at fault.
            candidates.sort(key=lambda truth: self._truths[truth][0][0] != turn)
        unclear = {truth: differences for truth, differences in due.items() if _is_unclear(differences)}
        if self._lenient:
            candidates += unclear
        predicted.compared = self._compared_before[content] = _Compared(candidates, miss, unclear)
        return predicted.compared

    def is_forbidden(self, turn: int, executed: ExecutedCall) -> bool:
        """Return whether a call must not be made in a turn."""
        return executed.name in self._terms.forbidden.get(turn, ())

    def _is_due(self, truth: int) -> bool:
        """Return whether a true call may come now: if order counts, all before it in its turn were made."""
        place = self._truths[truth][0]
        if place.turn not in self._terms.ordered:
            return True
        waiting = self._waiting[place.turn]
        while waiting and waiting[0] in self._holder:
            waiting.popleft()
        return not waiting or place.call <= self._truths[waiting[0]][0].call

    def _place(self, predicted: _Predicted) -> Verdict:
        self._predictions.append(predicted)
        if is_declared(predicted.executed):
            predicted.compared = _Compared((), Verdict(False, reason=reasons.FAILED), {})
        elif (truth := self._free_in_turn(predicted)) is not None:
            self._hold(truth, len(self._predictions) - 1)
        elif self._grader.mode == "upstream" and not self._terms.ordered:
            pass  # its greedy step is the one above
        elif self._grader.mode == "upstream":
            free = (truth for truth in self._compared(predicted).candidates if truth not in self._holder)
            if (first := next(free, None)) is not None:
                self._hold(first, len(self._predictions) - 1)
        else:
            # What has to be called comes first, so that nothing optional keeps it from being matched.
            for optional in (False, True):
                if self._augment(len(self._predictions) - 1, optional):
                    break
        return self._verdict(predicted)

    def _hold(self, truth: int, holder: int) -> None:
        self._predictions[holder].truth = truth
        self._holder[truth] = holder
        self._no_longer_free(truth)

    def _no_longer_free(self, truth: int) -> None:
        """Note that a true call is matched. It stays so from then on, if not with the same prediction."""
        place, call = self._truths[truth]
        self._free[place.turn, call.name].pop(truth, None)

    def _free_in_turn(self, predicted: _Predicted) -> int | None:
        """Return a matching call of the prediction's turn that is required and still unmatched: one that was
        asked alike, or else the first. In ToolTalk's greedy step, it is the first of the whole conversation.

        A search for an augmenting path would end there at once, so calls of other turns are not compared.
        """
        turn, executed = predicted.turn, predicted.executed
        tool = self.toolbox.tools.get(executed.name)
        content = turn, self.comparisons.content(executed)
        is_open = not self._terms.ordered and not self.is_forbidden(turn, executed)
        if tool is None or not is_open or content in self._without:
            return None
        if self._grader.mode == "upstream":
            numbers = [number for number in self._of_tool[tool.name] if number not in self._holder]
        else:
            free = self._free[turn, tool.name]
            alike = self._asked[turn, self.comparisons.asked(executed)]
            while alike and alike[0] not in free:
                alike.popleft()
            numbers = [*islice(alike, 1), *free]
        for number in numbers:
            if not self.comparisons.of(executed, number):
                return number
        self._without.add(content)
        return None

    def if_same(self) -> "Matching":
        """Return the same predictions as they would match if all unclear texts meant the same."""
        lenient = Matching(self._grader, self._terms, self.comparisons, lenient=True)
        for prediction in self._predictions:
            lenient._place(_Predicted(prediction.turn, prediction.executed))
        return lenient

    def unclear(self) -> Iterator[tuple[int, CallPlace, Difference]]:
        """Yield every unclear text that keeps a prediction from matching: the prediction's number, the
        ground-truth call, and the difference. Predictions that would not match anyway are left out.
        """
        missed = (prediction for prediction in self._predictions if prediction.truth is None)
        if not any(self._compared(prediction).unclear for prediction in missed):
            return
        would = self.if_same()
        for number, prediction in enumerate(would._predictions):
            if self._predictions[number].truth is None and prediction.truth is not None:
                for truth, differences in would._compared(prediction).unclear.items():
                    yield from ((number, self._truths[truth][0], difference) for difference in differences)

    @property
    def moved(self) -> list[tuple[int, Verdict]]:
        """The earlier predictions whose ground truth the last `add` changed: numbers and new verdicts."""
        return [(number, self._verdict(self._predictions[number])) for number in self._moved]

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts on all predictions so far, in order."""
        return [verdict for _, verdict in self.judged()]

    def judged(self) -> list[tuple[ExecutedCall, Verdict]]:
        """Return all predictions so far with their verdicts, in order."""
        return [(predicted.executed, self._verdict(predicted)) for predicted in self._predictions]

    def optional(self) -> frozenset[int]:
        """Return the numbers of predictions that are optional calls, which count neither for nor against.

        Calls that a dial made fail are among them.
        """
        return frozenset(
            number
            for number, prediction in enumerate(self._predictions)
            if is_declared(prediction.executed)
            or (prediction.truth is not None and is_optional(self._truths[prediction.truth][1]))
        )

    def forbidden(self) -> int:
        """Return how many calls were made that must not be made."""
        return sum(
            self.is_forbidden(prediction.turn, prediction.executed) for prediction in self._predictions
        )

    def due(self) -> list[tuple[CallPlace, ExecutedCall]]:
        """Return the ground-truth calls that count: those that are not optional."""
        return [truth for truth in self._truths if not is_optional(truth[1])]

    def _augment(self, number: int, optional: bool) -> bool:
        """Find the shortest augmenting path from a new prediction and flip it; return whether there is one.

        It ends at a true call that is optional or not, as `optional` says. Matched predictions stay matched
        along such a path. Without one, the new prediction stays unmatched for good, since only predictions
        can still be added (matchable sets are a matroid). What such a search has reached is dead for others.
        """
        dead = self._dead[optional]
        reached_from: dict[int, int] = {}
        queue = deque([number])
        while queue:
            current = queue.popleft()
            for truth in self._compared(self._predictions[current]).candidates:
                if truth in reached_from or truth in dead:
                    continue
                reached_from[truth] = current
                if truth in self._holder:
                    queue.append(self._holder[truth])
                elif is_optional(self._truths[truth][1]) is optional:
                    self._flip(truth, reached_from)
                    return True
        dead.update(reached_from)
        return False

    def _flip(self, free: int, reached_from: Mapping[int, int]) -> None:
        self._no_longer_free(free)
        truth: int | None = free
        while truth is not None:
            holder = reached_from[truth]
            self._holder[truth] = holder
            truth, self._predictions[holder].truth = self._predictions[holder].truth, truth
            if truth is not None:
                self._moved.append(holder)

    def _verdict(self, predicted: _Predicted) -> Verdict:
        if predicted.truth is None:
            return self._compared(predicted).miss
        position = self._truths[predicted.truth][0]
        return Verdict(True, position, reason=reasons.matched(predicted.turn, position.turn))

    def _miss(
        self, turn: int, executed: ExecutedCall, compared: Mapping[int, tuple[Difference, ...]]
    ) -> Verdict:
        """Return the verdict on a prediction if it matches nothing."""
        miss = Verdict(False, bad_action=self.toolbox.is_action(executed.name) and executed.exception is None)
        if executed.name not in self.toolbox.tools:
            return replace(miss, reason=f"there is no tool named {reasons.show(executed.name)}")
        if self.is_forbidden(turn, executed):
            return replace(miss, reason=f"{reasons.show(executed.name)} must not be called here")
        if not compared:
            scope = "this turn's" if self._grader.mode == "per-turn" else "the"
            return replace(miss, reason=f"{scope} ground truth has no call of {executed.name}")
        nearest = min(
            compared.values(), key=lambda differences: (len(differences), not _is_unclear(differences))
        )
        if not nearest:
            early = not any(self._is_due(truth) for truth, differences in compared.items() if not differences)
            return replace(miss, reason=reasons.TOO_EARLY if early else reasons.REPEATS)
        return replace(miss, reason=reasons.differs(nearest), differences=nearest)


def _is_unclear(differences: Sequence[Difference]) -> bool:
    """Return whether there are differences, and all of them are texts that may mean the same."""
    return bool(differences) and all(difference.unclear for difference in differences)

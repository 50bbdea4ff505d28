"""Put several models through the true course of conversations, one after another."""

import tempfile
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from rig.compare.leaks import leaks_of
from rig.core.calls import Call
from rig.core.errors import RigError, counted
from rig.core.events import Where
from rig.core.models import Model, Notify, Request, StepKey
from rig.core.tasks import Task, turn_number
from rig.methods.base import Method, Settings, Setup
from rig.methods.episode import course
from rig.plugins.llama.core.assessment import Assessment, Kind
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.files.registry import ResolvedModel
from rig.plugins.screen.divergence import log_softmax, token_divergence
from rig.plugins.screen.results import ArmScreen, Screen, ScreenedStep, ScreenedToken


class TrueStep(NamedTuple):
    """A request of the `number`th assistant turn, and its true answer: a call, or the words of a reply."""

    number: int
    request: Request
    answer: Call | str


def knowing(method: Method, tasks: Sequence[Task]) -> dict[str, Model]:
    """Return the models that know the tasks, by role. Raises RigError if the method has none."""
    if not method.knowing:
        raise RigError(
            f"the method {method.name} has no models that know what is right; screening needs them"
        )
    models = method.models(tasks)
    return {role: models[name]() for role, name in method.knowing.items()}


def true_steps(
    setup: Setup, settings: Settings, task: Any, evaluated: str, players: Mapping[str, Model]
) -> Iterator[TrueStep]:
    """Yield every step of the `evaluated` role, as a model that is always right would be asked for it.

    The `players` are such models, by role. Raises RigError as a run does.
    """
    episode = setup.start(task, settings, Where(0, task.name), lambda _event: None, 0)
    for ask, prediction in course(episode, players):
        answer = prediction.reply if prediction.call is None else prediction.call
        if ask.role == evaluated and answer is not None:
            yield TrueStep(turn_number(task, ask.request.key.turn), ask.request, answer)


Values: TypeAlias = npt.NDArray[np.float32]


Place: TypeAlias = tuple[StepKey, int, int]
"""A choice or a token: its conversation, turn and step, its number in the step, and for a token its id."""


class LogitRows(AbstractContextManager["LogitRows"]):
    """Rows of logits in a temporary file, which is deleted on closing; only their places are in memory.

    They are kept as they were computed, so a model compared with itself differs by exactly nothing.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="rig-screen-")  # noqa: SIM115 - closed by `__exit__`
        self._places: dict[Place, tuple[int, int]] = {}
        self.bytes = 0

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def keep(self, place: Place, values: Values) -> None:
        """Keep a row. Raises RigError if the disk is full."""
        data = values.tobytes()
        try:
            self._file.seek(self.bytes)
            self._file.write(data)
        except OSError as error:
            raise RigError(
                f"{tempfile.gettempdir()}: no room for the base model's logits: {error.strerror};"
                " let TMPDIR name a larger place, or screen fewer conversations (--limit)"
            ) from error
        self._places[place] = (self.bytes, len(values))
        self.bytes += len(data)

    def get(self, place: Place) -> Values | None:
        """Return a row that was kept; None if there is none."""
        if place not in self._places:
            return None
        start, length = self._places[place]
        self._file.seek(start)
        return np.frombuffer(self._file.read(4 * length), dtype=np.float32)


def divergence(base: Values, other: Values) -> float:
    """Return the Kullback-Leibler divergence of the other distribution from the base's, in nats, from logits.

    Both are over the same tokens. Kullback and Leibler 1951; the sum of scipy's `rel_entr` is the same
    number.
    """
    # Rounding can take it below zero.
    return max(token_divergence(log_softmax(base), log_softmax(other), 0).kld, 0.0)


Progress = Callable[[str, int, int], None]
"""Called with the model's name, the number of conversations done, and the number of all."""
_Base: TypeAlias = tuple[str, dict[StepKey, Assessment]]
"""What the others need from the first model, besides its rows: its vocabulary's name, and assessments."""
CHOICE = -1
_CALIBRATED_ON = "its figures look better than they are, as it was calibrated on"
OTHER_VOCABULARY = "its vocabulary differs from the base's, so their distributions cannot be compared"


@dataclass(frozen=True, slots=True)
class Screening:
    """The models and tasks to screen, and how the models are asked: as in a run with these settings."""

    models: tuple[ResolvedModel, ...]
    method: Method
    tasks: tuple[Task, ...]
    setup: Setup
    settings: Settings
    engine: EngineSettings
    full: bool = False
    """Whether to compare all tokens of answers with the base's, over the whole vocabulary."""


def screen(request: Screening, notify: Notify, progress: Progress) -> Screen:
    """Screen the models; the first is the base that the others are compared with.

    A model that fails does not stop the others. Raises RigError when the base fails, and for conversations
    that could not be run either. If interrupted after the base, it returns the models that are finished.
    """
    arms: list[ArmScreen] = []
    is_interrupted = False
    try:
        for arm in one_by_one(request, request.models, notify, progress):
            arms.append(arm)
    except KeyboardInterrupt:
        if not arms:
            raise
        name = name_of(request.models[len(arms)], [arm.name for arm in arms])
        notify(f"{name}: interrupted; what follows is of {len(arms)} of {len(request.models)} models")
        is_interrupted = True
    conversations = tuple(task.name for task in request.tasks)
    return Screen(tuple(arms), conversations, {"protocol": request.settings.fingerprint}, is_interrupted)


def one_by_one(
    request: Screening, models: Iterable[ResolvedModel], notify: Notify, progress: Progress
) -> Iterator[ArmScreen]:
    """Screen model by model. The file of a model need not exist before its turn."""
    evaluated, players = request.method.roles[0], knowing(request.method, request.tasks)
    steps = {
        task.name: list(true_steps(request.setup, request.settings, task, evaluated, players))
        for task in request.tasks
    }
    names: list[str] = []
    base: _Base | None = None
    with LogitRows() as rows:
        for model in models:
            names.append(name := name_of(model, names))
            try:
                vocabulary, arm = _arm(model, name, request, steps, base, rows, notify, progress)
            except (RigError, MemoryError) as error:
                if base is None:
                    raise
                failure = str(error) or "out of memory"
                notify(f"{name}: {failure}")
                yield ArmScreen(name, {}, (), 0.0, failure=failure)
                continue
            base = base or (vocabulary, {step.key: step.assessment for step in arm.steps})
            yield arm


def name_of(model: ResolvedModel, names: Container[str]) -> str:
    """Return a model's name, made unique among these names in the way that runs name their arms."""
    name = stem = model.name.encode("utf-8", "backslashreplace").decode()
    number = 2
    while name in names:
        name, number = f"{stem}-{number}", number + 1
    return name


def _arm(
    model: ResolvedModel,
    name: str,
    request: Screening,
    steps: dict[str, list[TrueStep]],
    base: _Base | None,
    rows: LogitRows,
    notify: Notify,
    progress: Progress,
) -> tuple[str, ArmScreen]:
    """Return the name of a model's vocabulary, and the model's results on the steps."""
    # Imported here, because it loads llama.cpp.
    from rig.plugins.llama.teacher import Teacher

    began = time.perf_counter()
    engine = replace(request.engine, parallel=1)
    with closing(Teacher(model.path, engine, model.base, notify, model.adapter)) as teacher:
        vocabulary = teacher.model.tokenizer.vocabulary
        is_comparable = base is not None and base[0] == vocabulary
        screened: list[ScreenedStep] = []
        for number, (conversation, truths) in enumerate(steps.items()):
            progress(name, number, len(steps))
            for truth in truths:
                key = StepKey(conversation, truth.request.key.turn, truth.request.key.step)
                before = base[1].get(key) if base and is_comparable else None
                against = _Against(key, rows, before, is_base=base is None)
                watch = against.token if request.full else None
                assessed = teacher.assess(truth.request, truth.answer, against.choice, watch)
                tool = truth.answer.name if isinstance(truth.answer, Call) else None
                screened.append(ScreenedStep(key, truth.number, tool, assessed, *against.result(assessed)))
        progress(name, len(steps), len(steps))
        fingerprint, seconds = dict(teacher.model.fingerprint), time.perf_counter() - began
        remarks: tuple[str, ...] = () if base is None or is_comparable else (OTHER_VOCABULARY,)
        if names := leaks_of({"model.made_from": fingerprint.get("made_from")}, request.tasks):
            remarks += (f"{_CALIBRATED_ON} {counted(len(names), 'conversation')} of these",)
        for remark in remarks:
            notify(f"{name}: {remark}")
        arm = ArmScreen(name, fingerprint, tuple(screened), seconds, remarks=remarks)
        return vocabulary, arm


class _Against:
    """Keeps what the base predicts in one step, or compares another model's predictions with it."""

    def __init__(self, key: StepKey, rows: LogitRows, before: Assessment | None, *, is_base: bool) -> None:
        self._key, self._rows, self._is_base = key, rows, is_base
        self._before = before if before is not None and before.fault is None else None
        self._divergences: list[float] = []
        self._tops: list[bool] = []
        self._tokens: list[ScreenedToken] = []
        self._count = 0

    def choice(self, number: int, values: Values) -> None:
        """Keep a choice of the base, or compare a choice of another model with it."""
        kept = self._kept((self._key, number, CHOICE), values)
        if kept is not None:
            self._divergences.append(divergence(kept, values))
            self._tops.append(int(np.argmax(kept)) == int(np.argmax(values)))

    def token(self, token: int, kind: Kind | None, logits: Values) -> None:
        """Keep a token of the base, or compare a token of another model with it."""
        kept = self._kept((self._key, self._count, token), logits)
        self._count += 1
        if kept is not None:
            divergence = token_divergence(log_softmax(kept), log_softmax(logits), token)
            self._tokens.append(ScreenedToken(kind or "prose", divergence))

    def _kept(self, place: Place, values: Values) -> Values | None:
        """Return the base's row if it is of the same tokens; otherwise the path in the grammar differs."""
        if self._is_base:
            self._rows.keep(place, values)
        kept = self._rows.get(place) if self._before is not None else None
        if kept is None or len(kept) != len(values):
            self._before = kept = None
        return kept

    def result(
        self, assessed: Assessment
    ) -> tuple[tuple[float, ...], tuple[bool, ...], tuple[ScreenedToken, ...]]:
        before = self._before
        if before is None or assessed.fault is not None:
            return (), (), ()
        if [choice.token for choice in before.choices] != [choice.token for choice in assessed.choices]:
            return (), (), ()
        return tuple(self._divergences), tuple(self._tops), tuple(self._tokens)

"""Several calls of one message, with every method: all of them are played, or none is asked for."""

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rig import methods
from rig.core.calls import Json
from rig.core.models import Model, OneByOne, OnPiece, Prediction, Request

SUITES = {method.name: suite for suite, (method, _) in reversed(methods.suites().items())}


class Twice(OneByOne):
    """A model that makes every call of another's twice in one message, where it may."""

    def __init__(self, inner: Model) -> None:
        super().__init__(1)
        self._inner = inner
        self.name = inner.name
        self.asked: list[tuple[Request, Prediction]] = []

    @property
    def fingerprint(self) -> Mapping[str, Json]:
        return {"engine": "twice"}

    def predict(self, request: Request, on_piece: OnPiece) -> Prediction:
        made = self._inner.predict(request, on_piece)
        if made.call and request.several_calls:
            made = replace(made, further=(made.call,))
        self.asked.append((request, made))
        return made


@pytest.mark.parametrize("name", SUITES)
def test_all_calls_of_a_message_are_played_or_models_are_held_to_one(
    rig: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    method, _ = methods.suites()[SUITES[name]]
    models, store, made = method.models, tmp_path / "runs.sqlite", list[Twice]()

    def doubled(tasks: Any) -> Mapping[str, Callable[[], Model]]:
        def make() -> Model:
            made.append(Twice(models(tasks)["oracle"]()))
            return made[-1]

        return {**models(tasks), "oracle": make}

    monkeypatch.setattr(method, "models", doubled)
    rig("run", "oracle", "--suite", SUITES[name], "--limit", "1", "--display", "none", "--runs", store)
    asked = [each for model in made for each in model.asked]
    assert any(prediction.call for _, prediction in asked)
    assert len({request.several_calls for request, _ in asked}) == 1
    with closing(sqlite3.connect(store)) as database:
        [[later]] = database.execute("select count(*) from predictions where part = 1")
        [[calls]] = database.execute("select count(*) from predictions where kind = 'call' and part = 0")
    assert later == sum(bool(prediction.further) for _, prediction in asked)
    assert later == (calls if asked[0][0].several_calls else 0)

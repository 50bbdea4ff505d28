"""Files of results that ToolBench or StableToolBench wrote: their rates, and the tables that go with them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rig.calls import Json
from rig.errors import RigError
from rig.judging.rates import PassRates, WinRates, preferred_rates, recorded_rates
from rig.judging.toolbench.tables import (
    dialect_of,
    pass_table,
    preference_table,
    read_passes,
    read_preferences,
)
from rig.solutions.answers import Answers, read_json
from rig.solutions.solution import Solution

TEST_SETS = (
    *("G1_instruction", "G1_category", "G1_tool", "G2_instruction", "G2_category", "G3_instruction"),
)
"""Upstream's. Files of results are called TEST_SET_MODEL, or TEST_SET_REFERENCE_CANDIDATE."""


class Results(NamedTuple):
    """A file of results: the rates of its votes, and how its table is made of the answers it is of."""

    path: Path
    rows: Mapping[str, Json]
    models: tuple[str, ...]
    rates: PassRates | WinRates

    def table(self, answers: Sequence[Answers], *, raw: bool = False) -> str:
        """The table, byte for byte as upstream writes it if it is wanted `raw`.

        Raises RigError if it needs what is not there.
        """
        dialect = dialect_of(self.rows)
        if dialect is not None:
            try:
                return pass_table(dict(self.rows), self.models[0], dialect, raw=raw)
            except KeyError as error:
                raise RigError(f"{self.path}: a table also shows {error}, and a query lacks it") from error
            except ValueError as error:
                raise RigError(f"{self.path}: the votes of a query have no numbers: {error}") from error
            except (TypeError, AttributeError) as error:
                raise RigError(f"{self.path}: a query is no row of results: {error}") from error
        votes = read_preferences(self.rows, self.models[0], self.models[1], str(self.path))
        test_set = _test_set(self.path.stem)
        by_model = {
            each.model: each.solutions for each in answers if each.test_set == test_set or not test_set
        }
        pairs = {name: _pair(name, self.models, by_model) for name in votes}
        return preference_table(votes, pairs, *self.models, raw=raw)


def read_results(path: Path) -> Results:
    """A file of pass rates or of preferences. Raises RigError for what is neither."""
    data = read_json(path)
    rows = data if isinstance(data, dict) else {}
    if dialect_of(rows) is not None:
        stem, test_set = path.stem, _test_set(path.stem)
        model = stem.removeprefix(f"{test_set}_") if test_set else path.absolute().parent.name
        return Results(path, rows, (model,), recorded_rates(read_passes(rows, str(path)), model))
    first = next(iter(rows.values()), None)
    names = [name for name in first if not name.startswith("round_")] if isinstance(first, dict) else []
    if len(names) != 2:
        raise RigError(f"{path}: no file of results: it has neither pass rates nor votes on two models")
    votes = read_preferences(rows, names[0], names[1], str(path))
    return Results(path, rows, tuple(names), preferred_rates(list(votes.values()), *names))


def _test_set(stem: str) -> str:
    return next((name for name in TEST_SETS if stem.startswith(f"{name}_")), "")


def _pair(
    name: str, models: tuple[str, ...], answers: Mapping[str, Mapping[str, Solution]]
) -> tuple[Solution, Solution]:
    missing = next((model for model in models if name not in answers.get(model, {})), None)
    if missing is not None:
        raise RigError(f"the table needs the answer of {missing} to query {name}; name them with --answers")
    return answers[models[0]][name], answers[models[1]][name]

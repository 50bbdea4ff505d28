"""What every method has, and what happens where one offers no more than that."""

from pathlib import Path
from typing import Any

import pytest

from rig import methods
from rig.core.errors import RigError
from rig.core.metrics import Declaration
from rig.methods.base import Checked, Loaded, Method, Option
from rig.plugins.solutions.setup import SolutionSetup


@pytest.mark.parametrize(
    ("default", "text", "value"),
    [
        (3, "4", 4),
        (3, "-4", -4),
        (0.5, "1", 1.0),
        (0.5, "1e-3", 0.001),
        ("a", "", ""),
        ("a", "4", "4"),
        (False, "true", True),
        (True, "false", False),
    ],
)
def test_an_option_is_read_as_what_it_is_by_default(default: Any, text: str, value: Any) -> None:
    found = Option("x", default).parse(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("default", "text"),
    [(3, "4.5"), (3, ""), (3, "four"), (0.5, "half"), (False, "yes"), (False, "True"), (True, "1")],
)
def test_another_text_is_refused_with_one_that_would_do(default: Any, text: str) -> None:
    with pytest.raises(RigError) as caught:
        Option("x", default).parse(text)
    takes = {int: "a whole number", float: "a number", bool: "true or false"}[type(default)]
    assert str(caught.value) == f"takes {takes}, not {text!r}"


def test_every_option_of_every_method_reads_what_it_has_by_default() -> None:
    for method in methods.known().values():
        names = [option.name for option in method.options]
        assert len(names) == len(set(names)), method.name
        for option in method.options:
            if option.default is None:
                continue
            text = str(option.default).lower() if isinstance(option.default, bool) else str(option.default)
            assert option.parse(text) == option.default


def test_tasks_of_several_places_are_one_list_with_all_faults() -> None:
    found = Loaded.of([Loaded([1, 2], ["bad"]), [3], Loaded((), ["worse"])])
    assert (list(found), found.faults) == ([1, 2, 3], ("bad", "worse"))
    assert Loaded.of([]) == []
    assert Loaded.of(iter([[1]])).faults == ()


@pytest.mark.parametrize(
    ("faults", "words"), [((), "no faults"), (("a",), "1 fault"), (("a", "b"), "2 faults")]
)
def test_a_report_counts_its_faults(faults: tuple[str, ...], words: str) -> None:
    report = Checked(Path("here"), 7, faults)
    assert report.summary == (f"here: 7 tasks, {words}",)
    assert report.as_json() == {"directory": "here", "conversations": 7, "faults": list(faults)}


class Plain(Method):
    """A method that offers nothing more than it must."""

    name = "plain"
    declaration = Declaration("plain", ())


def test_who_offers_nothing_more_stays_as_it_is() -> None:
    method = Plain()
    setup = method.ready({})
    assert setup.adjudicated(Path("answers")) is setup
    assert method.declaration_of([]) is method.declaration
    assert method.check(Path("here")) is None
    assert (method.knowing, method.holds_responses, setup.has_world, setup.is_recorded) == ({}, *[False] * 3)
    assert method.path(None, [], None) is None
    with pytest.raises(RigError, match="the method plain has no world"):
        setup.simulator  # noqa: B018
    with pytest.raises(RigError, match="the method plain reads no tasks from files"):
        method.load(Path("here"))


def test_worlds_and_searches_are_offered_by_those_that_have_them() -> None:
    worlds, searches = set(), set()
    for name, method in methods.known().items():
        setup = method.ready({option.name: option.default for option in method.options})
        if setup.has_world:
            worlds.add(name)
        if isinstance(setup, SolutionSetup) and type(setup).searched is not SolutionSetup.searched:
            searches.add(name)
    assert (worlds, searches) == ({"tooltalk", "dynamic"}, {"tooleval"})


@pytest.mark.parametrize("name", ["", "nobody", "ToolTalk", "judge"])
def test_a_method_that_there_is_not_names_those_there_are(name: str) -> None:
    with pytest.raises(RigError, match=r"no method is called .*; choose from: tooltalk, .*--plugin FILE"):
        methods.get(name)

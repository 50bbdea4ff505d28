"""Whatever a model or a declaration says, a call has an outcome in bounded words and the world is whole."""

import json
import string
from datetime import datetime
from typing import Any

import jsonschema
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rig.core.calls import Call
from rig.plugins.matching import worlds
from rig.plugins.matching.agreement import agrees
from rig.plugins.matching.values import ABSENT, is_nothing
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.plugins.tooltalk_tools.arguments import is_email, is_phone, read_instant, read_time
from rig.world.rules import Rule
from rig.world.schemas import check, check_names, schema_faults
from rig.world.spec import Match, Tool, ToolError
from rig.world.toolbox import Simulator, Toolbox
from rig.world.world import Elements, Tables, World, hexadecimal

NOW = datetime(2024, 5, 4, 12, 0)  # noqa: DTZ001 - mock worlds have no zones
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
TYPES = ["string", "integer", "number", "boolean", "array", "object", "null"]


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    """A schema of one argument, with words in it that are of no use for its type."""
    kinds = st.sampled_from(TYPES)
    found: dict[str, Any] = {"type": draw(kinds | st.lists(kinds, min_size=1, unique=True))}
    if draw(st.booleans()):
        found["minimum"] = draw(st.integers(-3, 3))
    if draw(st.booleans()):
        found["maximum"] = draw(st.integers(-3, 3))
    if draw(st.booleans()):
        found["enum"] = draw(st.lists(JSON, min_size=1, max_size=3))
    if draw(st.booleans()):
        found["items"] = draw(st.sampled_from([{"type": "string"}, {"type": "integer", "minimum": 0}, {}]))
    if draw(st.booleans()):
        found["x-format"] = draw(st.sampled_from(["time", "datetime", "date", "month", "no-such-form"]))
    return found


def tool(schema: dict[str, Any], required: bool = True) -> Tool:
    parameters = {
        "type": "object",
        "properties": {"x": schema},
        "required": ["x"] if required else [],
        "additionalProperties": False,
    }
    return Tool("Take", "Hands", "", parameters, "", False, Match(), lambda world, **given: dict(given))


@pytest.mark.slow
@settings(max_examples=300)
@given(declarations(), JSON)
def test_any_value_fits_any_declaration_or_is_refused(schema: dict[str, Any], value: Any) -> None:
    made = tool(schema)
    found = list(schema_faults(made.parameters, {"x": value}))
    assert len(found) <= 1
    simulator = Simulator(World(), Toolbox("hands", [made]))
    simulator.start(NOW)
    executed = simulator.execute(Call("Take", {"x": value}))
    refused = [each for each in found if each.kind != "form"]
    assert (executed.exception is not None) is bool(refused)
    assert executed.exception is None or len(executed.exception) <= 503


@pytest.mark.slow
@settings(max_examples=300)
@given(declarations(), JSON)
def test_it_agrees_with_jsonschema_whatever_is_declared(schema: dict[str, Any], value: Any) -> None:
    """But for what is meant otherwise: 1.0 is no whole number here, and forms are not JSON Schema's."""
    del_form = {name: each for name, each in schema.items() if name != "x-format"}
    whole = [each for each in walk(value) if isinstance(each, float) and each.is_integer()]
    assume(not whole)
    assume(not any(isinstance(each, bool | float) for each in walk(schema.get("enum"))))
    fits = jsonschema.Draft202012Validator(del_form).is_valid(value)
    assert (not list(schema_faults(tool(del_form).parameters, {"x": value}))) is fits


@pytest.mark.parametrize("value", [False, True])
def test_bounds_are_for_numbers(value: bool) -> None:
    assert not list(schema_faults(tool({"type": "boolean", "minimum": 2}).parameters, {"x": value}))


def walk(value: Any) -> list[Any]:
    """A value and all that is in it."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(each for part in inner for each in walk(part))]


@given(st.text(max_size=2000), JSON)
def test_a_call_of_no_tool_is_an_outcome_in_few_words(name: str, arguments: Any) -> None:
    assume(name not in TOOLTALK.tools)
    executed = Simulator(World(), Toolbox("hands", [tool({"type": "string"})])).execute(Call(name, arguments))
    assert executed.exception is not None
    assert len(executed.exception) < 600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (None, "The arguments are not valid JSON."),
        ([], "The arguments must be a JSON object."),
        ("x", "The arguments must be a JSON object."),
        ({}, "Take needs the argument x."),
        ({"x": None}, "x must be a whole number, not null."),
        ({"x": "1"}, "x must be a whole number, not a string."),
        ({"x": True}, "x must be a whole number, not true or false."),
        ({"x": 9}, "x must be from 1 to 3, not '9'."),
        ({"x": 1, "y": 1}, "Take has no argument 'y'; it takes x."),
        ({"y": 1}, "Take has no argument 'y'; it takes x."),
    ],
)
def test_what_is_said_of_arguments(arguments: Any, said: str) -> None:
    simulator = Simulator(World(), Toolbox("hands", [tool({"type": "integer", "minimum": 1, "maximum": 3})]))
    assert simulator.execute(Call("Take", arguments)).exception == said


def test_a_list_says_what_it_holds_that_it_should_not() -> None:
    made = tool({"type": "array", "items": {"type": "string"}})
    with pytest.raises(ToolError, match=r"^x must be a list of strings; it holds a number\.$"):
        check(made, {"x": ["a", 1]})
    with pytest.raises(ToolError, match=r"^x must be a list of strings, not an object\.$"):
        check(made, {"x": {}})
    assert check(made, {"x": []}) == {"x": []}


def test_an_optional_argument_that_is_null_is_not_given() -> None:
    made = tool({"type": "string"}, required=False)
    assert check(made, {"x": None}) == {}
    bare = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    with pytest.raises(ToolError, match="takes none"):
        check(Tool("Sit", "Hands", "", bare, "", False, Match(), dict), {"x": 1})


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, "Take.call() missing 2 required positional arguments: 'a' and 'b'"),
        ({"b": 1}, "Take.call() missing 1 required positional argument: 'a'"),
        ({"a": 1, "b": 1, "c": 1}, "Take.call() got an unexpected keyword argument 'c'"),
    ],
)
def test_upstream_refuses_as_python_does(given_: dict[str, Any], said: str) -> None:
    parameters = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a", "b"]}
    with pytest.raises(ToolError) as caught:
        check_names(Tool("Take", "Hands", "", parameters, "", False, Match(), dict), given_)
    assert str(caught.value) == said
    check_names(Tool("Take", "Hands", "", parameters, "", False, Match(), dict), {"a": None, "b": []})


class Shelf(World):
    """Books by their number, each with a list of readers."""

    schema = """
        CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT, note BLOB);
        CREATE TABLE readers (book INTEGER, position INTEGER, name TEXT);
    """
    tables = Tables(lists={"books": Elements("readers", "readers", "book", "name")})


def put(world: World, number: int, title: str | None, readers: tuple[str, ...] = ()) -> None:
    world.database.execute("INSERT OR REPLACE INTO books VALUES (?, ?, NULL)", [number, title])
    world.database.execute("DELETE FROM readers WHERE book = ?", [number])
    for position, name in enumerate(readers):
        world.database.execute("INSERT INTO readers VALUES (?, ?, ?)", [number, position, name])


TITLES = st.sampled_from(["Emma", "Ulysses", None])
READERS = st.lists(st.sampled_from("abc"), max_size=3).map(tuple)
SHELVES = st.dictionaries(st.integers(1, 4), st.tuples(TITLES, READERS), max_size=4)
Books = dict[int, tuple[str | None, tuple[str, ...]]]


@given(SHELVES, SHELVES)
def test_a_diff_is_what_turns_one_world_into_the_other(before: Books, after: Books) -> None:
    images = []
    for books in (before, after):
        world = Shelf()
        for number, (title, readers) in books.items():
            put(world, number, title, readers)
        images.append(world.snapshot())
    simulator = Simulator(Shelf(), Toolbox("shelf", [], new_world=Shelf))
    found = worlds.diff(simulator, *images)
    kinds = {dict(each.key)["id"]: each.kind for each in found.changes}
    wanted = {
        number: "added" if number not in before else "removed" if number not in after else "changed"
        for number in {*before, *after}
        if before.get(number) != after.get(number)
    }
    assert kinds == wanted
    for change in found.changes:
        number = dict(change.key)["id"]
        for column in change.columns:
            place = ("title", "readers").index(column.name)
            for side, books in ((column.before, before), (column.after, after)):
                value = books[number][place] if number in books else None
                assert side == (list(value) if isinstance(value, tuple) and value else value or None)
    back = worlds.diff(simulator, *images[::-1])
    turned = {"added": "removed", "removed": "added", "changed": "changed"}
    assert {dict(each.key)["id"]: turned[each.kind] for each in back.changes} == kinds
    assert bool(worlds.compare(simulator, *images)) is bool(contents(before) != contents(after))


def contents(books: Books) -> list[Any]:
    """What a shelf holds, whoever came first to a book."""
    return sorted((number, title or "", sorted(readers)) for number, (title, readers) in books.items())


def test_a_long_diff_says_how_much_it_leaves_out() -> None:
    empty, full = Shelf(), Shelf()
    for number in range(60):
        put(full, number, "Emma")
    simulator = Simulator(Shelf(), Toolbox("shelf", [], new_world=Shelf))
    found = worlds.diff(simulator, empty.snapshot(), full.snapshot())
    assert (len(found.changes), found.omitted) == (50, 10)
    short = worlds.diff(simulator, empty.snapshot(), full.snapshot(), 3)
    assert (len(short.changes), short.omitted) == (3, 57)
    assert worlds.diff(simulator, full.snapshot(), full.snapshot()).as_json() == {"changes": [], "omitted": 0}


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 30))
def test_ids_are_one_sequence_whatever_is_asked_first(widths: list[int], position: int) -> None:
    one, other = hexadecimal(*widths), hexadecimal(*widths)
    found = one[position]
    assert [other[number] for number in range(position + 1)][-1] == found
    groups = found.split("-")
    assert [len(group) for group in groups] == widths
    assert set(found) <= set(string.hexdigits.lower() + "-")


def test_drawn_ids_are_part_of_the_world() -> None:
    world, ids = World(), hexadecimal(4)
    first = world.draw("A", ids)
    image = world.snapshot()
    second = world.draw("A", ids)
    assert world.draw("B", ids) == first
    world.restore(image)
    assert world.draw("A", ids) == second
    world.renew()
    assert world.draw("A", ids) == ids[2]


@pytest.mark.parametrize(
    ("text", "email", "phone"),
    [
        ("a@b", True, False),
        ("a.b-c_d@e-f.org", True, False),
        ("a@b@c", False, False),
        ("@b", False, False),
        ("a@", False, False),
        ("a b@c", False, False),
        ("555-555-5555", False, True),
        ("555-5555-555", False, False),
        ("5555555555", False, False),
        ("+1 555-555-5555", False, False),
        ("", False, False),
    ],
)
def test_addresses_and_numbers(text: str, email: bool, phone: bool) -> None:
    assert (is_email(text), is_phone(text)) == (email, phone)


@given(st.datetimes(min_value=datetime(1000, 1, 1)))  # noqa: DTZ001 - as above
def test_instants_and_times_are_read_as_they_are_written(instant: datetime) -> None:
    instant = instant.replace(microsecond=0)
    assert read_instant(instant.isoformat(sep=" "), "at") == instant
    assert read_time(f"{instant:%H:%M:%S}", "at").time() == instant.time()
    world = World()
    world.set_clock(instant)
    assert world.now == instant


@pytest.mark.parametrize("text", ["", "noon", "24:00:00", "7 am", "07:60:00", "2024-05-04", "x" * 5000])
def test_what_is_no_time_is_said_in_few_words(text: str) -> None:
    for read in (read_time, read_instant):
        with pytest.raises(ToolError, match=r"^at must have the form .*\(24-hour\), such as") as caught:
            read(text, "at")
        assert len(str(caught.value)) < 400


@given(JSON, JSON)
def test_rules_are_symmetric_where_they_have_no_value_of_their_own(one: Any, other: Any) -> None:
    for name in ("exact", "set", "number", "date", "datetime", "time"):
        rule = Rule(name)
        assert agrees(rule, one, other) is agrees(rule, other, one), name
        assert not agrees(rule, one, ABSENT) or is_nothing(one)
    assert agrees(Rule("any"), one, other)
    assert agrees(Rule("one_of", [one, other]), None, other)


@pytest.mark.parametrize(
    ("expected", "got", "within", "is_met"),
    [
        ("23:59:30", "23:59:10", 20, True),
        ("23:59:30", "23:59:09", 20, False),
        ("12:00", "12 pm", 0, True),
        ("00:00", "12 am", 0, True),
        ("00:30", "12:30 a.m.", 0, True),
        ("12:30", "12:30 PM", 0, True),
    ],
)
def test_times_of_day_by_either_clock(expected: str, got: str, within: int, is_met: bool) -> None:
    assert agrees(Rule("time", expected, {"within": within}), expected, got) is is_met


def test_every_tool_of_the_first_toolbox_refuses_any_argument_that_it_does_not_have() -> None:
    simulator = Simulator(TOOLTALK.world(), TOOLTALK)
    simulator.start(NOW)
    before = simulator.snapshot()
    for name, each in TOOLTALK.tools.items():
        for arguments in ({"no_such": 1}, {}, {argument: [] for argument in each.parameters["properties"]}):
            outcome = simulator.execute(Call(name, arguments))
            json.dumps(outcome.response)
            assert outcome.exception is None or len(outcome.exception) < 600
            if outcome.exception is not None:
                assert simulator.snapshot() == before
            simulator.restore(before)

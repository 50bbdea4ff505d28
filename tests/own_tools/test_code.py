"""Tools that are functions of people's own: their schemas, their tables, and what goes wrong in them."""

import json
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from native_templates import OWN

from rig.core.calls import Call
from rig.core.errors import RigError
from rig.plugins.matching.worlds import diff
from rig.world import Simulator
from rig.world.toolbox import find_toolbox

Make = Any

NOTES = '''
from datetime import date
from typing import Annotated, Literal

from sqlite_utils import Database
from typing_extensions import TypedDict

from rig.world import ToolError, World, tool

TABLES = """
CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, day TEXT);
INSERT INTO notes (text) VALUES ('Buy milk');
"""

class Place(TypedDict):
    name: str

@tool
def find_notes(db: Database, word: str, most: int = 5) -> list:
    """Find notes
    that have a word.

    Args:
        word: what to look for
        most: how many to return
    """
    return [row["text"] for row in db["notes"].rows_where("text LIKE ?", [f"%{word}%"], limit=most)]

@tool(match={"text": "text"})
def add_note(world: World, text: Annotated[str, "what to note"], day: date | None = None,
             mood: Literal["good", "bad"] = "good", places: list[Place] = []) -> dict:
    """Write a note down."""
    if not text:
        raise ToolError("An empty note is none.")
    row = world.database["notes"].insert({"text": text, "day": str(day.year) if day else None})
    return {"id": row.last_pk, "day": day, "now": world.now}
'''


def simulator(place: Path) -> Simulator:
    toolbox = find_toolbox(str(place))
    made = Simulator(toolbox.world(), toolbox)
    made.start(datetime(2025, 3, 6, 9))  # noqa: DTZ001 - worlds have no zones
    return made


def respond(made: Simulator, name: str, **arguments: Any) -> Any:
    executed = made.execute(Call(name, arguments))
    return executed.response if executed.exception is None else executed.exception


def test_docstrings_keep_their_paragraphs_and_lists(folder: Make) -> None:
    doc = "Find notes\n    that match.\n\n    Ways:\n    - by word\n    - by day\n    1. first\n    2. then"
    head = "from rig.world import tool\n\n\n@tool\ndef find(word: str) -> list:\n"
    code = f'{head}    """{doc}"""\n    return []\n'
    [find] = find_toolbox(str(folder(code=code))).tools.values()
    assert find.description == "Find notes that match.\n\nWays:\n- by word\n- by day\n1. first\n2. then"


def test_functions_become_tools_with_their_docstrings_and_annotations(folder: Make) -> None:
    toolbox = find_toolbox(str(folder(code=NOTES)))
    find, add = toolbox.tools.values()
    assert (find.name, find.description, find.action, find.plugin) == (
        "find_notes",
        "Find notes that have a word.",
        False,
        "box",
    )
    assert find.parameters == {
        "type": "object",
        "properties": {
            "word": {"type": "string", "description": "what to look for"},
            "most": {"type": "integer", "default": 5, "description": "how many to return"},
        },
        "required": ["word"],
        "additionalProperties": False,
    }
    assert add.action
    assert add.parameters["properties"]["text"] == {"type": "string", "description": "what to note"}
    assert add.parameters["properties"]["day"] == {"type": "string", "format": "date"}
    assert add.parameters["properties"]["mood"]["enum"] == ["good", "bad"]
    assert add.parameters["properties"]["places"]["items"]["required"] == ["name"]


def test_they_act_in_their_tables_which_are_restored(folder: Make) -> None:
    made = simulator(folder(code=NOTES))
    before = made.snapshot()
    assert respond(made, "find_notes", word="milk") == ["Buy milk"]
    assert respond(made, "add_note", text="Milk, again", day="2025-03-07") == {
        "id": 2,
        "day": "2025-03-07",
        "now": "2025-03-06T09:00:00",
    }
    assert respond(made, "find_notes", word="milk") == ["Buy milk", "Milk, again"]
    assert [change.table for change in diff(made, before, made.snapshot()).changes] == ["notes"]
    assert respond(made.twin(), "find_notes", word="milk") == ["Buy milk"]
    made.restore(before)
    assert respond(made, "find_notes", word="milk") == ["Buy milk"]


def test_arguments_are_checked_before_a_function_sees_them(folder: Make) -> None:
    made = simulator(folder(code=NOTES))
    assert respond(made, "add_note", text="") == "An empty note is none."
    assert respond(made, "add_note", text="x", day="soon").startswith("day: ")
    assert "as declared (places.0: 'name' is a required property)" in respond(
        made, "add_note", text="x", places=[{}]
    )
    assert respond(made, "add_note", text="x", mood="sad") == "mood must be good or bad, not 'sad'."
    assert "needs the argument word" in respond(made, "find_notes")


BAD = '''
import sys, time
from rig.world import tool

@tool
def get_raise(x: int = 1):
    """Raises."""
    return {}["missing"]

@tool
def get_exit():
    """Leaves."""
    sys.exit(3)

@tool
def get_print():
    """Prints."""
    print("hello")
    sys.stderr.write("there")
    return 1

@tool
def get_object():
    """Returns no JSON."""
    return object()

@tool
def get_nan():
    """Returns no JSON, either."""
    return float("nan")

@tool
def get_much():
    """Returns more than anybody reads."""
    return "x" * 2_000_000

@tool
def get_deep():
    """Calls itself."""
    return get_deep.function()

@tool
def get_cycle():
    """Returns a list in itself."""
    found = []
    found.append(found)
    return found

@tool
def get_stopped():
    """Leaves as Ctrl-C does."""
    raise KeyboardInterrupt

@tool(seconds=0.3)
def get_loop(db):
    """Never ends."""
    while True:
        pass

@tool(seconds=0.3)
def get_sleep(db):
    """Sleeps."""
    time.sleep(3600)

@tool(seconds=0.3)
def get_query(db):
    """Counts for ever."""
    every = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    return db.execute(f"{every} SELECT max(i) FROM n").fetchall()
'''


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("get_raise", "get_raise failed: KeyError: 'missing'"),
        ("get_exit", "get_exit failed: SystemExit: 3"),
        ("get_object", "get_object failed: ValueError: it returned something that is not JSON"),
        ("get_nan", "it returned something that is not JSON"),
        ("get_much", "it returned 2,000,002 characters, more than 1,048,576"),
        ("get_deep", "get_deep failed: RecursionError"),
        ("get_cycle", "it returned something that is not JSON"),
        ("get_stopped", "get_stopped failed: KeyboardInterrupt"),
        ("get_loop", "get_loop did not finish within 0.3 s."),
        ("get_sleep", "get_sleep did not finish within 0.3 s."),
        ("get_query", "get_query did not finish within 0.3 s."),
    ],
)
def test_a_tool_that_goes_wrong_is_the_outcome_of_one_call(folder: Make, name: str, said: str) -> None:
    place = folder(code=BAD)
    made = simulator(place)
    before = made.snapshot()
    began = time.monotonic()
    assert said in respond(made, name)
    assert time.monotonic() - began < 60
    assert made.snapshot() == before
    assert respond(made, "get_print") == 1
    [(where, fault)] = find_toolbox(str(place)).tools[name].function.faults.items()
    assert f"{place / 'toolbox.py'}, line " in where
    assert name in fault


def test_what_a_tool_prints_nobody_sees(folder: Make, capsys: pytest.CaptureFixture[str]) -> None:
    assert respond(simulator(folder(code=BAD)), "get_print") == 1
    print("others are heard")
    assert capsys.readouterr() == ("others are heard\n", "")


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("1 / 0", "toolbox.py, line 1: ZeroDivisionError: division by zero"),
        ("\ndef f(:\n", "toolbox.py, line 2: SyntaxError"),
        ("from rig.world import tool\n@tool\ndef f(x): pass", "line 2: f: the argument x has no type"),
        ("from rig.world import tool\n@tool\ndef f(*x: int): pass", "the argument x has no single value"),
        ("from rig.world import tool\n@tool\ndef f(x: object()): pass", "toolbox.py, line"),
        ("from rig.world import tool\n@tool\ndef f(x: 'Nowhere'): pass", "its annotations cannot be read"),
        ("from rig.world import tool\n@tool(match={'y': 'any'})\ndef f(x: int): pass", "match names y"),
        (
            "from rig.world import tool\n@tool(match={'x': 'fuzzy'})\ndef f(x: int): pass",
            "'fuzzy' is not a rule",
        ),
        ("x = 1", "declares no tool; put @tool before a function"),
        ("from rig.world import tool\nTABLES = 'CREATE TABL x'\n@tool\ndef f(): pass", "TABLES: near"),
        ("raise SystemExit(1)", "toolbox.py, line 1: SystemExit"),
        ("import no_such_thing_at_all", "line 1: ModuleNotFoundError"),
    ],
)
def test_code_that_cannot_be_loaded_is_one_line_with_its_place(folder: Make, code: str, fault: str) -> None:
    place = folder(code=code)
    with pytest.raises(RigError) as caught:
        find_toolbox(str(place))
    assert fault in str(caught.value)
    assert str(place) in str(caught.value)


@pytest.mark.parametrize("body", ["while True: pass", "import time; time.sleep(3600)"])
def test_code_that_never_ends_loading(folder: Make, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    monkeypatch.setattr("rig.plugins.own_tools.code.LIMIT_S", 0.3)
    place = folder(code=f"x = 1\n{body}\n")
    with pytest.raises(RigError, match=r"toolbox\.py, line 2: loading it did not finish within 0\.3 s"):
        find_toolbox(str(place))


def test_what_code_prints_while_it_is_loaded_nobody_sees(
    folder: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    find_toolbox(str(folder(code=f"print('hello')\n{NOTES}")))
    assert capsys.readouterr() == ("", "")


def test_an_argument_can_be_an_object_of_anything(folder: Make) -> None:
    code = (
        "from typing import Any\nfrom rig.world import tool\n@tool\n"
        "def add_more(more: dict[str, Any], counts: dict[str, int]): return [more, sum(counts.values())]\n"
    )
    place = folder(code=code)
    [tool] = find_toolbox(str(place)).tools.values()
    assert tool.parameters["properties"] == {
        "more": {"type": "object"},
        "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    made = simulator(place)
    assert respond(made, "add_more", more={"a": [1]}, counts={"x": 1, "y": 2}) == [{"a": [1]}, 3]
    assert "as declared" in respond(made, "add_more", more={}, counts={"x": "one"})


def test_two_functions_of_one_name(folder: Make) -> None:
    code = "from rig.world import tool\n@tool\ndef f(): 'a'\ng = f\n@tool\ndef f(): 'b'\n"
    with pytest.raises(RigError, match="there are two tools named f"):
        find_toolbox(str(folder(code=code)))


def test_the_hash_is_of_all_files_of_the_folder(folder: Make) -> None:
    place = folder(code=NOTES)
    first = find_toolbox(str(place)).sha256
    (place / "beside.py").write_text("x = 1")
    second = find_toolbox(str(place)).sha256
    (place / "conversations" / "new.yaml").write_text("- user: x")
    assert len({first, second}) == 2
    assert find_toolbox(str(place)).sha256 == second


def test_a_declared_tool_may_have_code_or_not(folder: Make) -> None:
    declared = [{"name": name, "description": "As declared.", "action": True} for name in ("get_a", "get_b")]
    code = "from rig.world import tool\n@tool\ndef get_b(): return 'from code'\n"
    place = folder(tools={"tools": declared}, code=code)
    made = simulator(place)
    assert respond(made, "get_b") == "from code"
    assert respond(made, "get_a") == "get_a has no answer to this call."
    assert find_toolbox(str(place)).tools["get_b"].description == "As declared."


def test_restoring_takes_no_longer_than_with_rigs_own_world(folder: Make) -> None:
    rows = "INSERT INTO notes (text) VALUES " + ", ".join([f"('{'x' * 100}')"] * 2000)
    code = f'{NOTES}\nTABLES += "{rows}"\n'
    own, ours = simulator(folder(code=code)), Simulator((box := find_toolbox("tooltalk")).world(), box)

    def per_row(made: Simulator) -> float:
        snapshot = made.snapshot()
        best = min(_timed(lambda: made.restore(snapshot)) for _ in range(20))
        return best / len(snapshot.image)

    assert per_row(own) < 3 * per_row(ours) + 1e-9


def _timed(work: Any) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def test_the_streams_are_as_they_were(folder: Make) -> None:
    before = sys.stdout, sys.stderr
    respond(simulator(folder(code=BAD)), "get_sleep")
    assert (sys.stdout, sys.stderr) == before


@pytest.mark.slow
def test_a_model_is_held_to_objects_of_which_nothing_is_declared(
    rig: Any, folder: Make, tmp_path: Path
) -> None:
    """A tiny model, whose weights are random, has to call, and writes whatever the grammar leaves it."""
    parameters = {"properties": {"more": {"type": "object"}}, "required": ["more"]}
    tools = [{"name": "note", "description": "Note it.", "parameters": parameters, "default": "ok"}]
    place = folder(tools=tools, one="- user: Note it.\n  calls:\n    - note: {more: {milk: 2}}\n")
    model = tiny_gguf.write(
        tmp_path / "tiny.gguf", template=OWN["json in tags"], n_ctx=16384, tokenizer="marks"
    )
    done = rig(
        *("run", model, "--toolbox", place, "--format", "native", "--tool-choice", "required"),
        *("--similarity", "exact", "--max-tokens", 400, "--max-calls", 1, "--threads", 1, "--parallel", 1),
        *("--temperature", 0.7, "--seed", 3, "--display", "none", "--json"),
    )
    assert done.code == 0, done.err
    rows = rig("export", "latest", "--format", "jsonl", "--rows", "steps").out.splitlines()
    steps = [row for row in map(json.loads, rows) if row["kind"] == "call" or row["error"]]
    assert steps
    for step in steps:
        if step["error"] is None:
            assert isinstance(step["arguments"]["more"], dict)
        else:
            assert step["error"] in ("truncated", "call_cap")


@pytest.mark.parametrize(
    ("body", "acts"),
    [
        ("def tank_level(tank: str) -> int:\n    return 3\n", False),
        ("def tank_level(db, tank: str) -> int:\n    return db.execute('SELECT 1').fetchone()[0]\n", False),
        (
            "def tank(db, level: int) -> int:\n    db['tanks'].upsert({'id': 1})\n    return level\n",
            True,
        ),
        ("def get_update(n: int) -> int:\n    return n\n", False),
        ("def set_level(n: int) -> int:\n    return n\n", True),
    ],
)
def test_a_name_that_is_no_verb_does_not_make_an_action(folder: Make, body: str, acts: bool) -> None:
    place = folder(code=f"from rig.world import tool\n\n\n@tool\n{body}")
    (tool,) = find_toolbox(str(place)).tools.values()
    assert tool.action is acts

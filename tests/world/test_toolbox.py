"""A toolbox of one's own: its tools act in its world, are documented and matched like ToolTalk's."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from rig.core.calls import Call, CallPlace
from rig.core.errors import RigError
from rig.core.registry import at
from rig.plugins.matching import worlds
from rig.plugins.matching.matching import Grader
from rig.plugins.tooltalk_tools import TOOLTALK
from rig.scoring import Exact
from rig.scoring import load as load_similarity
from rig.world import Composed, Simulator, Toolbox, World, tool


def respond(simulator: Simulator, name: str, **arguments: Any) -> Any:
    executed = simulator.execute(Call(name, arguments))
    assert executed.exception is None, executed
    return executed.response


def fail(simulator: Simulator, name: str, **arguments: Any) -> str:
    executed = simulator.execute(Call(name, arguments))
    assert executed.exception is not None, executed
    return executed.exception


def test_its_tools_act_in_its_world(desk: Simulator) -> None:
    assert respond(desk, "AddNote", text="Buy stamps") == {"note_id": "5bff"}
    assert respond(desk, "FindNotes") == {"notes": [{"note_id": "5bff", "text": "Buy stamps"}]}
    assert fail(desk, "AddNote", text="") == "An empty note is none."
    assert fail(desk, "AddNote", text="x", copies="two") == "copies must be a whole number, not a string."
    assert fail(desk, "AddAlarm", time="07:00:00") == "API AddAlarm not found"


def test_what_its_tools_do_is_shown_and_undone(desk: Simulator) -> None:
    before = desk.snapshot()
    respond(desk, "AddNote", text="Buy stamps")
    [note, drawn] = worlds.diff(desk, before, desk.snapshot()).changes
    assert (note.table, note.key, note.kind) == ("notes", (("note_id", "5bff"),), "added")
    assert drawn.is_bookkeeping
    after = desk.snapshot()
    assert fail(desk, "AddNote", text="x", copies=4) == "The desk is full."
    assert desk.snapshot() == after
    desk.restore(before)
    assert respond(desk, "FindNotes") == {"notes": []}


def test_a_twin_has_a_world_of_its_own(desk: Simulator) -> None:
    twin = desk.twin()
    respond(desk, "AddNote", text="Buy stamps")
    assert respond(twin, "FindNotes") == {"notes": []}


def test_its_documentation(notes: Toolbox) -> None:
    add, find = notes.docs()
    assert (add.name, add.description, add.returns) == ("AddNote", "Write a note down.", "note_id")
    assert add.parameters["properties"]["copies"] == {"type": "integer"}
    assert (add.parameters["required"], find.parameters["properties"]) == (["text"], {})
    assert notes.plugins == ("Desk",)
    assert [notes.is_action(name) for name in ("AddNote", "FindNotes", "AddAlarm")] == [True, False, False]


def test_its_calls_are_graded(notes: Toolbox, desk: Simulator) -> None:
    truth = desk.execute(Call("AddNote", {"text": "Buy stamps"}))
    wrong = desk.execute(Call("AddNote", {"text": "Sell stamps"}))
    for similarity, threshold in ((Exact(), 1.0), (load_similarity("minilm"), 0.77)):
        grader = Grader("default", similarity, notes)
        assert grader.fingerprint["threshold_note"] == threshold
        matching = grader.start([(CallPlace(1, 0), truth)])
        assert matching.add(1, wrong).bad_action
        assert matching.add(1, truth).match
    assert "threshold_body" not in grader.fingerprint


def test_a_fault_of_a_tool_is_the_outcome_of_its_call() -> None:
    @tool("Desk", action=False)
    def divide(world: World, by: int) -> Any:
        """Divide."""
        return 1 / by

    simulator = Simulator(World(), Toolbox("sums", [divide]))
    assert respond(simulator, "Divide", by=2) == 0.5
    assert fail(simulator, "Divide", by=0) == "Divide failed: ZeroDivisionError: division by zero"


def test_declarations_say_what_the_model_may_choose() -> None:
    @tool("Desk", action=True, injected=("key",), login="in")
    def sort_out(
        world: World,
        how: Annotated[Literal["by size", "by age"] | None, Composed(), Field(description="order")] = None,
        since: Annotated[str, Composed("time of day")] = "",
        tags: list[str] | None = None,
        most: Annotated[int, Field(ge=1, le=9)] = 9,
    ) -> Any:
        """Sort the notes."""

    properties = sort_out.parameters["properties"]
    assert sort_out.composed == {"how": "all", "since": "time of day"}
    assert (sort_out.auth, sort_out.login) == (True, "in")
    assert properties["how"] == {"type": "string", "enum": ["by size", "by age"], "description": "order"}
    assert properties["tags"] == {"type": "array", "items": {"type": "string"}}
    assert properties["most"] == {"type": "integer", "minimum": 1, "maximum": 9}


@pytest.mark.parametrize("hint", [Any, dict[str, int] | list[int], list[Any]])
def test_an_argument_without_a_plain_schema_is_refused(hint: Any) -> None:
    def act(world: World, what: Any) -> Any:
        """Act."""

    act.__annotations__["what"] = hint
    with pytest.raises((TypeError, ValueError)):
        tool("Desk", action=True)(act)


def test_a_tool_that_needs_a_session_is_given_its_token() -> None:
    @tool("Desk", action=False, injected=("key", "badge"))
    def knock(world: World) -> Any:
        """Knock."""
        return "come in"

    simulator = Simulator(World(), Toolbox("door", [knock]))
    assert fail(simulator, "Knock") == "User is not logged in"
    simulator.start(datetime.fromisoformat("2024-03-05"), credentials={"session_token": "t"})
    executed = simulator.execute(Call("Knock", {"key": "made up"}))
    assert (executed.response, executed.arguments) == ("come in", {"key": "t", "badge": "t"})


def test_two_tools_of_one_name() -> None:
    @tool("Desk", action=False)
    def same(world: World) -> Any:
        """One."""

    def other() -> Any:
        @tool("Desk", action=False)
        def same(world: World) -> Any:
            """Another."""

        return same

    with pytest.raises(RigError, match="two tools named Same"):
        Toolbox("twice", [same, other()])


def test_a_world_of_files_is_refused_where_there_is_none(notes: Toolbox, tmp_path: Path) -> None:
    with pytest.raises(RigError, match="no worlds of files"):
        notes.world(tmp_path)


def test_the_hash_follows_the_code(notes: Toolbox, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(Path(__file__).parent / "notes", tmp_path / "copy"))
    same = at(str(copy)).toolboxes["notes"]
    assert same.sha256 == notes.sha256 != TOOLTALK.sha256
    other = Path(shutil.copytree(copy, tmp_path / "other"))
    (other / "toolbox.py").write_text((copy / "toolbox.py").read_text().replace("> 3", "> 4"))
    assert at(str(other)).toolboxes["notes"].sha256 != notes.sha256

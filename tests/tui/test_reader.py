"""Going through a stored conversation, and its pages, without a terminal."""

import unicodedata
from pathlib import Path

import pytest
import small_talks
import stored_runs
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.core.events import Where
from rig.methods.scripted import Scripted, replied
from rig.plugins.rescore.reexecute import effects_of
from tui.live.layout import plain
from tui.stored.reader import RecordCursor, View
from tui.stored.record import Record, read_columns, read_record
from tui.text.lines import width_of

AS_STORED = small_talks.HOSTILE.replace("\ud800", "\\ud800")
"""A lone surrogate cannot be stored as text; the store escapes it."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stored_runs.write(tmp_path_factory.mktemp("stored") / "runs.sqlite")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "runs.sqlite"
    small_talks.play(small_talks.plan(path, Scripted(small_talks.erratic)))
    return path


def record(store: Path, arm: int = 1, conversation: str = "alarms") -> Record:
    return read_record(store, "abcde", Where(arm, conversation))


def reader(store: Path, turn: int | None = None, step: int | None = None) -> RecordCursor:
    found = RecordCursor(record(store))
    found.know(
        effects=effects_of(found.record.run, found.record.transcript),
        others=list(read_columns(store, found.record)),
    )
    if turn is not None:
        found.move_to(next(n for n, row in enumerate(found.rows) if (row.turn, row.step) == (turn, step)))
    return found


def text(reader: RecordCursor, view: View, width: int = 100) -> str:
    return plain(reader.page(view, width))


def test_the_outline_has_every_turn_and_step_with_how_it_went(store: Path) -> None:
    rows = RecordCursor(record(store)).rows
    assert [(str(row.sign.glyph), row.text, row.note) for row in rows] == [
        ("#", "conversation", "1/3"),
        ("#", "turn 1", "0/1"),
        ("#", "AddAlarm", ""),
        ("x", "DeleteAlarm", ""),
        ("=", "It is set for nine.", ""),
        ("!", "turn 2", "0/1"),
        ("!", "truncated", ""),
        ("+", "turn 3", "1/1"),
        ("+", "FindAlarms", ""),
        ("=", AS_STORED, ""),
    ]
    assert {str(row.sign.glyph) for row in RecordCursor(record(store, arm=0)).rows} == {"+", "="}


def test_one_moves_by_steps_turns_and_failures(store: Path) -> None:
    found = RecordCursor(record(store))
    found.move(-1)
    assert found.cursor == 0
    found.move(1000)
    assert found.row.text == AS_STORED
    found.next_turn(-1)
    assert found.row.text == "turn 3"
    found.next_turn(-1)
    found.next_turn(-1)
    assert found.row.text == "turn 1"
    found.next_turn(1)
    assert found.row.text == "turn 2"
    found.next_wrong(1)
    assert found.row.text == "truncated"
    found.next_wrong(1)
    assert found.row.text == "turn 1"
    found.next_wrong(-1)
    assert found.row.text == "truncated"


def test_the_place_is_kept_in_another_arm_as_far_as_it_goes(store: Path) -> None:
    found = reader(store, 1, 2)
    found.take(record(store, arm=0))
    assert found.row.place == (1, 1)
    assert found.effects is None
    assert found.others is not None
    found.take(record(store, arm=0, conversation="login"))
    assert found.others is None
    assert found.row.turn is None


def test_a_step_tells_its_call_its_response_its_verdict_and_what_was_expected(store: Path) -> None:
    shown = text(reader(store, 1, 0), View.STORY)
    for part in (
        "turn 1 of 3, step 1 of 3",
        "user        Wake me at seven.",
        "call        AddAlarm",
        'time  "09:00:00"',
        "# incorrect an unexpected action was carried out",
        'expected "07:00:00"',
        'got      "09:00:00"',
        "+ added     alarms",
        "x missed    AddAlarm",
    ):
        assert part in shown
    refused = text(reader(store, 1, 1), View.STORY)
    assert "refused" in refused
    assert "world       no record changed" in refused
    truncated = text(reader(store, 3, 0), View.STORY)
    assert "! error     truncated" in truncated
    assert "incomplete after 256 tokens" in truncated
    assert '{"tool": "AddAlarm' in truncated


def test_a_turn_and_a_conversation_tell_all_of_it(store: Path) -> None:
    turn = text(reader(store, 1), View.STORY)
    assert turn.index("Wake me at seven.") < turn.index("AddAlarm") < turn.index("It is set for nine.")
    assert "what went wrong" in turn
    assert "expected" in turn
    whole = text(reader(store), View.STORY)
    for part in ("2024-03-05 09:00:00, Springfield", "mara", "arm1", "# incorrect 1 of 3", "turn 2"):
        assert part in whole


def test_tokens_have_their_probability_or_were_forced(store: Path) -> None:
    lines = text(reader(store, 1, 0), View.TOKENS).splitlines()
    assert any("forced by the grammar" in line for line in lines)
    table = [line for line in lines if line.strip()[:1].isdigit()]
    rows = {int(line.split()[0]): line for line in table if '"' in line}
    assert rows[1].split() == ["1", '"{"na"', "100.0%", "0.000", "=========="]
    assert rows[2].split()[-1] == "grammar"
    assert rows[3].endswith("60.7%   -0.500  ======....")
    counts = text(reader(store, 1), View.TOKENS)
    assert "least likely" in counts
    assert "36.8%" in counts


def test_tokens_beyond_what_anybody_reads_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    long = stored_runs.with_tokens(replied("word" * 1_200))
    small_talks.play(small_talks.plan(path, Scripted(lambda request: long)))
    found = RecordCursor(record(path, arm=0))
    found.move(2)
    assert ".. 200 more tokens" in text(found, View.TOKENS)
    assert "more tokens" not in plain(found.page(View.TOKENS, 100, full=True))


def test_tokens_without_their_texts_and_of_none(store: Path, hostile: Path) -> None:
    old = text(RecordCursor(record(hostile, arm=0)), View.TOKENS)
    assert "tokens of each step" in old
    found = RecordCursor(record(hostile, arm=0))
    found.move(2)
    assert "5 tokens" in text(found, View.TOKENS)


def test_raw_text_and_times(store: Path) -> None:
    raw = text(reader(store, 1, 0), View.RAW)
    assert '{"name": "AddAlarm", "arguments": {"time": "09:00:00"}}' in raw
    assert "ended: stop" in raw
    assert raw.count("AddAlarm") == 1
    assert "step 3" in text(reader(store, 1), View.RAW)
    times = text(reader(store, 1, 0), View.TIME)
    assert "2,025 tokens, 1,985 of them from the cache" in times
    assert "0.800 s, 50.0 tokens/s" in times
    assert "after 0.850 s" in times
    turns = text(reader(store), View.TIME).splitlines()
    assert turns[1].split() == ["in", "all", "model", "tools", "scoring", "steps", "tokens"]
    assert turns[2].split()[:7] == ["turn", "1", "1.500", "3.600", "0.005", "0.002", "3"]


def test_the_world_is_told_record_by_record(store: Path) -> None:
    shown = text(reader(store, 1), View.WORLD)
    assert "step 1  AddAlarm" in shown
    assert "+ added" in shown
    assert 'time  "09:00:00"' in shown
    assert "id_generators (the simulator's own)" in shown
    assert "no call was executed here" in text(reader(store, 3, 0), View.WORLD)
    unknown = RecordCursor(record(store))
    assert "executing the calls again" in text(unknown, View.WORLD)
    unknown.know(effects="the world is gone")
    assert "the world is gone" in text(unknown, View.WORLD)


def test_arms_are_side_by_side_as_many_as_fit(store: Path) -> None:
    found = reader(store, 1)
    both = text(found, View.ARMS)
    assert '"07:00:00"' in both
    assert '"09:00:00"' in both
    one = text(found, View.ARMS, width=40)
    assert "arm1" in one
    assert "1 of 2 arms fit here" in one
    assert '"07:00:00"' not in one.partition("expected")[0]
    assert "0 of 3" not in text(reader(store), View.ARMS)


def test_views_of_one_arm_have_no_arms(hostile: Path) -> None:
    assert View.ARMS not in RecordCursor(record(hostile, arm=0)).views


def test_what_is_not_there_is_a_fault_in_a_line(store: Path) -> None:
    with pytest.raises(RigError, match="no run 'nope'"):
        read_record(store, "nope", Where(0, "alarms"))
    with pytest.raises(RigError, match="no conversation 'nope'"):
        record(store, conversation="nope")


@pytest.mark.slow
@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(["alarms", "reminders", "login"]),
    st.integers(0, 30),
    st.sampled_from([view for view in View if view is not View.ARMS]),
    st.integers(1, 130),
    st.booleans(),
)
def test_every_page_fits_and_is_inert_whatever_a_model_wrote(
    hostile: Path, conversation: str, row: int, view: View, width: int, full: bool
) -> None:
    found = RecordCursor(record(hostile, arm=0, conversation=conversation))
    found.move(row)
    for line in found.page(view, width, full=full):
        assert width_of(line) <= max(width, 20)
        shown = "".join(text for text, _ in line)
        assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Cn") for character in shown)

"""From a failed call to the file and line of its conversation, in the user's editor."""

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

import pytest
import small_talks
import stored_runs
from stored_runs import seeing

from rig.core import opening
from rig.core.errors import RigError
from rig.core.events import Where
from tui.app import RigApp
from tui.screens.conversation import ConversationScreen
from tui.screens.editor import command
from tui.stored.record import read_place

YAML = """\
- name: other
  turns:
    - user: Wake me at nine.
      calls:
        - AddAlarm: {time: "09:00:00"}
# A comment.
- name: alarms
  turns:
    - user:
        - Good morning.
        - Wake me at eight.
      calls:
        - AddAlarm: {time: "08:00:00"}
    - user: >-
        And which alarms
        are there?
      calls:
        - FindAlarms: {start_range: "00:00:00"}
"""


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("vi", ["vi", "+7", "/a b.yaml"]),
        ("emacsclient -nw -a ''", ["emacsclient", "-nw", "-a", "", "+7", "/a b.yaml"]),
        ("'/opt/my editors/nano' -w", ["/opt/my editors/nano", "-w", "+7", "/a b.yaml"]),
        ("code --wait", ["code", "--wait", "-g", "/a b.yaml:7"]),
        ("/usr/bin/zed -w", ["/usr/bin/zed", "-w", "/a b.yaml:7"]),
        ("subl -n -w", ["subl", "-n", "-w", "/a b.yaml:7"]),
        ("vi; rm -rf $HOME", ["vi;", "rm", "-rf", "$HOME", "+7", "/a b.yaml"]),
    ],
)
def test_the_words_of_an_editor(editor: str, words: list[str]) -> None:
    place = Path("/a b.yaml"), 7
    assert command({"EDITOR": editor}, *place) == words
    assert command({"VISUAL": editor, "EDITOR": "ed"}, *place) == words
    assert command({"VISUAL": " ", "EDITOR": editor}, *place) == words


@pytest.mark.parametrize(
    ("environment", "fault"), [({}, "set $EDITOR to open /a:7"), ({"VISUAL": "vi '"}, "$VISUAL cannot be")]
)
def test_without_an_editor_one_is_told_the_place(environment: dict[str, str], fault: str) -> None:
    with pytest.raises(RigError, match="/a:7") as told:
        command(environment, Path("/a"), 7)
    assert str(told.value).startswith(fault)


Store = Callable[[str], Path]


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[Store]:
    """Stores a run whose conversations are said to have come from a folder of `tmp_path`, which is named."""

    def write(folder: str) -> Path:
        store = stored_runs.write(tmp_path / "runs.sqlite")
        with closing(sqlite3.connect(store)) as database, database:
            place = str(tmp_path / folder)
            database.execute("UPDATE runs SET settings = json_set(settings, '$.suite', ?)", (place,))
        opening.forget()
        opening.name(tmp_path / "suite")
        return store

    yield write
    opening.forget()


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which an editor writes the words that it was started with."""
    words = tmp_path / "words.json"
    script = tmp_path / "an editor.py"
    script.write_text(f"import json, sys\njson.dump(sys.argv[1:], open({str(words)!r}, 'w'))\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} '{script}'")
    # A terminal that is made up cannot be handed over.
    monkeypatch.setattr(RigApp, "suspend", lambda app: nullcontext())
    return words


def as_json(folder: Path) -> None:
    for source in small_talks.sources():
        (folder / f"{source['name']}.json").write_text(json.dumps(source, indent=1))


def line_of(file: Path, text: str) -> int:
    return 1 + next(number for number, line in enumerate(file.read_text().splitlines()) if text in line)


@pytest.mark.slow
async def test_a_key_opens_the_turn_in_a_file_of_tooltalks_shape(
    stored: Store, editor: Path, tmp_path: Path
) -> None:
    (tmp_path / "suite").mkdir()
    as_json(tmp_path / "suite")
    file = tmp_path / "suite" / "alarms.json"
    turns = json.loads(file.read_text())["conversation"]
    shown = ConversationScreen(stored("suite"), "abcde", Where(1, "alarms"))
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        for keys, line in (
            ((), line_of(file, '"name": "alarms"')),
            (("x",), line_of(file, json.dumps(turns[0]["text"]))),
            (("G",), line_of(file, json.dumps(turns[4]["text"]))),
        ):
            await seen.press(*keys, "O")
            await seen.until(editor.exists)
            await seen.until(lambda: editor.read_text().endswith("]"))
            assert json.loads(editor.read_text()) == [f"+{line}", str(file)]
            editor.unlink()
        assert seen.said == []


@pytest.mark.slow
async def test_a_key_opens_the_turn_in_a_file_of_several(stored: Store, editor: Path, tmp_path: Path) -> None:
    (tmp_path / "suite").mkdir()
    (tmp_path / "suite" / "first.yaml").write_text("turns: [{user: {}}]\n")  # has a mistake, and is no reason
    file = tmp_path / "suite" / "mine.yaml"
    file.write_text(YAML)
    shown = ConversationScreen(stored("suite"), "abcde", Where(1, "alarms"))
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        for turn, line in ((None, 7), (1, 9), (2, 9), (3, 14), (4, 14), (9, 14)):
            shown.edit(partial(read_place, shown.store, shown.run_id, shown.where, turn))
            await seen.until(editor.exists)
            await seen.until(lambda: editor.read_text().endswith("]"))
            assert json.loads(editor.read_text()) == [f"+{line}", str(file)]
            editor.unlink()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("gone", "gone: the conversations of run abcde are no longer there"),
        ("elsewhere", "begin with `rig --open"),
        ("suite", "no file in"),
    ],
)
async def test_what_cannot_be_opened_is_said_in_a_line(
    stored: Store, editor: Path, tmp_path: Path, folder: str, says: str
) -> None:
    for name in ("elsewhere", "suite"):
        (tmp_path / name).mkdir()
    (tmp_path / "suite" / "x.yaml").write_text(YAML.replace("alarms", "others"))
    as_json(tmp_path / "elsewhere")
    shown = ConversationScreen(stored(folder), "abcde", Where(1, "alarms"))
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        await seen.press("O")
        await seen.until(lambda: any(says in said for said in seen.said))
    assert not editor.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"), [("", "set $EDITOR"), ("/no/such/editor", "cannot start"), ("false", "exit code 1")]
)
async def test_an_editor_that_does_not_work_is_said_in_a_line(
    stored: Store, editor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, says: str
) -> None:
    monkeypatch.setenv("EDITOR", words)
    (tmp_path / "suite").mkdir()
    as_json(tmp_path / "suite")
    shown = ConversationScreen(stored("suite"), "abcde", Where(1, "alarms"))
    async with seeing(shown) as seen:
        await seen.shows("conversation")
        await seen.press("O")
        await seen.until(lambda: any(says in said for said in seen.said))

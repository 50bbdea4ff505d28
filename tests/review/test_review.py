"""`rig author review`: conversations are kept, edited or dropped by key, and every decision lasts."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.core.errors import RigError
from rig.plugins.documents.documents import from_yaml, to_yaml
from rig.plugins.review.review import REVIEW, Review, lines_of
from rig.world.toolbox import find_toolbox


@pytest.fixture
def suite(tmp_path: Path, rig: Callable[..., Any]) -> Path:
    assert rig("author", "--count", 12, "-o", tmp_path / "suite").code == 0
    return tmp_path / "suite"


@pytest.fixture
def press(rig: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run the review of a folder with these keys."""

    def run(folder: Path, keys: str) -> Any:
        monkeypatch.setattr("sys.stdin", io.StringIO(keys))
        return rig("author", "review", folder)

    return run


def names(suite: Path) -> list[str]:
    return sorted(path.name for path in suite.glob("*.json"))


def test_keys_decide_and_the_same_command_goes_on(
    suite: Path, rig: Callable[..., Any], press: Callable[..., Any]
) -> None:
    first, second, *_ = names(suite)
    done = press(suite, "kdq")
    assert done.code == 0, done.err
    assert "kept 1, dropped 1; 10 conversations left" in done.out
    assert json.loads((suite / REVIEW).read_text()) == {first: "kept", second: "dropped"}
    assert second not in names(suite)
    again = press(suite, "ukx")
    assert "nothing was decided before this one" in again.out
    assert "kept 2, dropped 1; 9 conversations left" in again.out
    assert rig("check", suite).code == 0


def test_an_undone_decision_leaves_everything_as_it_was(suite: Path) -> None:
    before = {name: (suite / name).read_bytes() for name in names(suite)}
    review = Review(suite, find_toolbox(None))
    first = review.left[0]
    review.drop(first)
    assert review.undo() == first
    review.keep(first)
    assert review.undo() == first
    assert review.undo() is None
    assert {name: (suite / name).read_bytes() for name in names(suite)} == before
    assert review.left == names(suite)


def test_words_may_change_as_long_as_the_calls_follow_from_them(suite: Path) -> None:
    review = Review(suite, find_toolbox(None))
    first = review.left[0]
    source = review.source(first)
    lines = next(from_yaml(lines_of(source), suite)).value
    lines[0]["user"] = f"Hello there. {lines[0]['user']}"
    review.edit(first, to_yaml(lines))
    assert review.source(first)["conversation"][0]["text"].startswith("Hello there. ")
    assert review.counts == {"edited": 1}
    second = review.left[0]
    for wrong in ("- user: only this\n", "no: list\n", "- ["):
        with pytest.raises(RigError):
            review.edit(second, wrong)
    assert review.left[0] == second
    faults = {}
    for name in list(review.left):
        blank = [{turn["role"]: "Hm."} for turn in review.source(name)["conversation"]]
        try:
            review.edit(name, to_yaml(blank))
        except RigError as error:
            faults[name] = str(error)
    assert faults
    assert all("the calls no longer follow" in fault for fault in faults.values())
    assert review.left == sorted(faults)


def test_what_is_no_folder_of_conversations_is_one_line(
    tmp_path: Path, rig: Callable[..., Any], press: Callable[..., Any]
) -> None:
    (tmp_path / "bad.json").write_text("[]")
    assert rig("author", "review", tmp_path / "none").code == 2
    done = press(tmp_path, "k")
    assert done.code == 2
    assert "is no conversation" in done.err
    (tmp_path / "bad.json").write_text('{"conversation": [{"text": 1}], "name": "x"}')
    assert "not a conversation" in press(tmp_path, "k").err
    (tmp_path / REVIEW).write_text("[1]")
    assert "is no state of a review" in rig("author", "review", tmp_path).err


@pytest.mark.parametrize(
    "link", ["review.json.txt.part", "review.json.txt", "other.json", "author.json.part"]
)
def test_nothing_is_written_through_a_link(
    suite: Path, tmp_path: Path, link: str, rig: Callable[..., Any], press: Callable[..., Any]
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("{}")
    (suite / link).symlink_to(mine)
    for done in (press(suite, "kkdq"), rig("author", "--count", 14, "-o", suite)):
        assert done.code == 2
    assert "is a link" in press(suite, "k").err
    assert mine.read_text() == "{}"


def test_a_decision_that_cannot_be_kept_is_said(suite: Path, press: Callable[..., Any]) -> None:
    first, *_ = names(suite)
    (suite / f"{first}.dropped").mkdir()
    done = press(suite, "dkq")
    assert done.code == 0, done.err
    assert "kept 1; 11 conversations left" in done.out


def test_a_conversation_of_another_state_is_one_line(suite: Path, rig: Callable[..., Any]) -> None:
    """Of a suite that is continued, a file that somebody has changed."""
    first, *_ = names(suite)
    (suite / first).write_text('{"conversation": [1], "tags": [[]]}')
    done = rig("author", "--count", 12, "-o", suite)
    assert done.code == 2
    assert f"{suite / first}: not a conversation" in done.err

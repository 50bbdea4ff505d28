"""The file of prompts: what is written is what is read, and what cannot be read is named by its line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.engine import prompts as files
from benchmarks.engine.prompts import BenchPrompt
from rig.core.errors import RigError

TOKENS = st.lists(st.lists(st.integers(0, 300_000), min_size=1).map(tuple), min_size=1).map(tuple)


@pytest.mark.slow
@given(
    texts=st.lists(st.text(), max_size=5),
    segments=TOKENS,
    schema=st.dictionaries(st.text(max_size=5), st.booleans() | st.text()),
    max_tokens=st.integers(1, 10_000),
    separators=st.none() | st.tuples(st.text(max_size=3), st.text(max_size=3)),
)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    segments: Any,
    schema: Any,
    max_tokens: int,
    separators: Any,
) -> None:
    path = tmp_path_factory.mktemp("prompts") / "p.jsonl"
    prompts = [
        BenchPrompt(f"c/{number}/0", text, segments, schema, max_tokens, separators)
        for number, text in enumerate(["", *texts])
    ]
    files.write(path, prompts)
    assert files.read(path) == prompts
    assert path.read_text(encoding="utf-8").count("\n") == len(prompts)
    assert [prompt.max_tokens for prompt in files.read(path, max_tokens=7)] == [7] * len(prompts)


def test_others_need_not_say_much(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"prompt": "a", "schema": {}}\n\n{"tokens": [1, 2], "schema": {}, "id": 7, "max_tokens": 3}\n'
    )
    assert files.read(path) == [
        BenchPrompt("1", "a", (), {}, files.DEFAULT_MAX_TOKENS),
        BenchPrompt("7", None, ((1, 2),), {}, 3),
    ]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("{", "line 1: not JSON"),
        ("[" * 100_000, "line 1: not JSON"),
        ("[]", "not a JSON object"),
        ('{"format": "rig-bench-2", "prompt": "a", "schema": {}}', "rig-bench-2"),
        ('{"prompt": "a"}', "`schema`"),
        ('{"prompt": "a", "schema": []}', "`schema`"),
        ('{"schema": {}}', "neither `prompt` nor `tokens`"),
        ('{"prompt": "", "tokens": [[]], "schema": {}}', "neither"),
        ('{"prompt": 3, "schema": {}}', "`prompt`"),
        ('{"tokens": "1 2", "schema": {}}', "`tokens`"),
        ('{"tokens": [1, -2], "schema": {}}', "`tokens`"),
        ('{"tokens": [1, true], "schema": {}}', "`tokens`"),
        ('{"tokens": [[1], 2], "schema": {}}', "`tokens`"),
        ('{"prompt": "a", "schema": {}, "max_tokens": 0}', "`max_tokens`"),
        ('{"prompt": "a", "schema": {}, "max_tokens": "many"}', "`max_tokens`"),
        ('{"prompt": "a", "schema": {}, "separators": ","}', "`separators`"),
        ('{"id": 1, "prompt": "a", "schema": {}}\n{"id": "1", "prompt": "b", "schema": {}}', "two prompts"),
        ("", "holds no prompts"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(line)
    with pytest.raises(RigError, match=fault) as caught:
        files.read(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="cannot be read"):
        files.read(tmp_path / "none.jsonl")
    (tmp_path / "p").write_bytes(b"\xff\xfe")
    with pytest.raises(RigError, match="cannot be read"):
        files.read(tmp_path / "p")


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="cannot be written"):
        files.write(tmp_path / "no" / "p.jsonl", [])
    path = tmp_path / "p.jsonl"
    path.write_text("old")

    def failing() -> Any:
        yield BenchPrompt("1", "a", (), {}, 1)
        raise OSError(28, "No space left on device")

    with pytest.raises(RigError, match="No space left"):
        files.write(path, failing())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    assert json.loads(json.dumps(BenchPrompt("1", "a", (), {}, 1).as_json()))["format"] == files.FORMAT

"""Files that people write: what they mean, and in one line with the place what is wrong with them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.plugins.documents.documents import read, to_yaml

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


def yaml(tmp_path: Path, text: str) -> Path:
    (tmp_path / "file.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "file.yaml"


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("no", "no"), ("on", "on"), ("12:30", "12:30"), ("2025-03-06", "2025-03-06"), ("true", True)),
        *(("~", None), ("", None), ("12", 12), ("-3", -3), ("0171", "0171"), ("1.50", 1.5), ("1e3", 1000.0)),
        *(
            ("'12'", "12"),
            ("0x1F", "0x1F"),
            (".inf", ".inf"),
            ("1_000", "1_000"),
            ("1" * 30, 10**30 // 9),
            ("1" * 101, "1" * 101),
        ),
    ],
)
def test_plain_words_mean_what_yaml_1_2_says(tmp_path: Path, word: str, value: object) -> None:
    [document] = read(yaml(tmp_path, f"x: {word}\n"))
    assert document.value == {"x": value}
    assert type(document.value["x"]) is type(value)


@given(value=VALUES)
def test_json_is_read_as_it_is(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    place = tmp_path_factory.mktemp("json") / "file.json"
    place.write_text(json.dumps(value))
    assert read(place)[0].value == value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: 1\nb: 2\na: 3\n", "file.yaml, line 3: the name 'a' appears twice"),
        ("a: [1, 2\nb: 3\n", "file.yaml, line 1: not YAML"),
        ("a: !!python/object:os.system x\n", "line 1: the tag 'tag:yaml.org,2002:python/object:os.system'"),
        ("a: &x [1]\nb:\n  <<: *x\n", "line 3: merge keys (<<) are not read"),
        ("a: &x\n  b: *x\n", "line 2: an anchor holds itself"),
        ("? [1, 2]\n: 3\n", "line 1: a name has to be a text"),
        ("[" * 80 + "]" * 80, "nested deeper than 64 levels"),
        ("[" * 5000 + "]" * 5000, "nested"),
        ("a: *nothing\n", "line 1: there is no anchor 'nothing' before it"),
        ("a:\tb: c\n", "file.yaml, line 1: not YAML"),
    ],
)
def test_a_fault_of_yaml_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(RigError) as caught:
        read(yaml(tmp_path, text))
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)


def test_anchors_that_repeat_one_another_are_bounded(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(RigError, match="more than 200,000 values"):
        read(yaml(tmp_path, "\n".join(lines)))


def test_a_text_that_anchors_repeat_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="stands for more than 4,194,304 characters"):
        read(yaml(tmp_path, f"- &a {'x' * 100_000}\n- [{'*a, ' * 100}]"))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"a": 1, "a": 2}', "the name 'a' appears twice"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a":\n 1,,}', "file.json, line 2: not JSON"),
        ("[" * 100_000, "file.json"),
        ("[" * 70 + "]" * 70, "nested deeper than 64 levels"),
        ("", "line 1: not JSON"),
    ],
)
def test_a_fault_of_json_is_one_line(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "file.json").write_text(text)
    with pytest.raises(RigError) as caught:
        read(tmp_path / "file.json")
    assert fault in str(caught.value)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(RigError, match="cannot be read"):
        read(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9\n")
    with pytest.raises(RigError, match="not UTF-8"):
        read(tmp_path / "latin.yaml")
    (tmp_path / "large.yaml").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(RigError, match="larger than 1 MiB"):
        read(tmp_path / "large.yaml")


def test_a_part_knows_its_line_and_its_path(tmp_path: Path) -> None:
    [document] = read(yaml(tmp_path, "turns:\n  - user: hello\n  - calls:\n      - find: {a: 1}\n"))
    call = document.fields()["turns"].inside(1).fields()["calls"].inside(0)
    assert call.place == f"{tmp_path / 'file.yaml'}, line 4: turns.2.calls.1"
    with pytest.raises(RigError, match=r"line 2: turns\.1\.user: needs a list, not a text"):
        document.fields()["turns"].inside(0).fields()["user"].items()


@given(value=VALUES)
def test_what_is_written_as_yaml_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, value: object
) -> None:
    place = tmp_path_factory.mktemp("yaml") / "file.yaml"
    written = {"x": [value, "1e3", "007", "no", "null", "~", "", "2025-03-06", "1_0", "12:30", 1.5]}
    place.write_text(to_yaml(written), encoding="utf-8")
    assert read(place)[0].value == written

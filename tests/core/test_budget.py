"""Small files that stand for much: each is refused in one line, in little time and memory."""

import ast
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rig.core.budget import Budget, parse_json
from rig.core.errors import RigError
from rig.core.files import read_json, read_toml
from rig.plugins.documents.documents import lines_of, read, read_lines

CHECKOUT = Path(__file__).resolve().parents[2]
MEMORY = 1 << 30

LOADERS = {"json": {"load", "loads"}, "tomllib": {"load", "loads"}}
APART = {
    "core/budget.py": "is the place",
    "plugins/bundle/install.py": "runs where rig is not installed yet",
    "plugins/mcp/sandbox.py": "runs before a server, without the rest of rig",
}


def test_nothing_is_parsed_but_through_a_budget() -> None:
    elsewhere = []
    for package in ("rig", "tui"):
        for path in sorted((CHECKOUT / package).rglob("*.py")):
            if str(path.relative_to(CHECKOUT / package)) in APART:
                continue
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    library, name = node.value.id, node.attr
                    is_loader = name in LOADERS.get(library, ())
                    if is_loader or (
                        library == "yaml" and name.endswith(("load", "load_all", "compose", "parse"))
                    ):
                        elsewhere.append(f"{path}, line {node.lineno}: {library}.{name}")
    assert elsewhere == []


YAML = {
    "anchors in one document": "a: &a [x, x]\n"
    + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    ),
    "anchors in many documents": ("---\na: &a [" + "x, " * 300 + "]\nb: &b [" + "*a, " * 300 + "]\n") * 400,
    "a text that anchors repeat": f"a: &a {'x' * 10_000}\nb: [" + "*a, " * 100_000 + "]\n",
    "lists in lists": "[" * 1_000_000,
    "rows in rows": "- " * 500_000,
    "names of names": "? " * 500_000,
    "directives": "".join(f"%TAG !a{n}! b\n" for n in range(60_000)) + "---\na\n",
    "values": "[" + "a," * 500_000 + "]",
    "a character beyond Unicode": '"\\U0011ffff"',
    "half of a pair": '"\\ud800"',
}


@pytest.mark.parametrize("name", YAML)
def test_yaml_that_stands_for_much_is_refused_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(YAML[name])
    start = time.process_time()
    with pytest.raises(RigError, match=r"file\.yaml"):
        read(path)
    assert time.process_time() - start < 5


TOML = {
    "a key of many parts": "a" + ".a" * 100_000 + " = 1",
    "a table of many parts": "[a" + ' . "a"' * 100_000 + "]",
    "lists in lists": "a = " + "[" * 500_000,
    "tables in tables": "a = " + "{a=" * 300_000,
}


@pytest.mark.parametrize("name", TOML)
def test_toml_that_stands_for_much_is_refused_at_once(tmp_path: Path, name: str) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(TOML[name])
    start = time.process_time()
    with pytest.raises(RigError, match=r"rig\.toml: nested"):
        read_toml(path)
    assert time.process_time() - start < 2


def test_texts_and_comments_of_toml_may_have_many_dots(tmp_path: Path) -> None:
    dots, path = "a." * 200, tmp_path / "rig.toml"
    path.write_text(
        f"""# don't, {dots}\nb = "{dots}"\nc = '''\n"{dots}'''\nd = [1, "\\"{dots}"] # '{dots}\n"""
    )
    assert read_toml(path) == {"b": dots, "c": f'"{dots}', "d": [1, f'"{dots}']}


def test_a_name_that_appears_twice_among_many_is_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    names = [f'"name {n}": 0' for n in range(200_000)]
    path.write_text("{" + ", ".join([*names, names[-1]]) + "}")
    start = time.process_time()
    with pytest.raises(RigError, match="the name 'name 199999' appears twice"):
        read(path)
    assert time.process_time() - start < 5


@pytest.mark.slow
@pytest.mark.parametrize("part", ["[],", '{"":{}},', '"a",', "1.5,"])
def test_large_json_takes_less_than_a_gigabyte(tmp_path: Path, part: str) -> None:
    path = tmp_path / "file.json"
    path.write_text("[" + part * ((64 << 20) // len(part) - 2) + "0]")
    script = f"""
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))
from pathlib import Path
from rig.core.errors import RigError
from rig.core.files import read_json
try:
    read_json(Path(sys.argv[1]))
except RigError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "more than 2,000,000 values" in done.stdout


def test_commas_in_texts_are_no_values() -> None:
    text = "[],{}" * 1_000_000
    assert parse_json(json.dumps([text])) == [text]


def test_the_lines_of_a_file_share_its_budget(tmp_path: Path) -> None:
    path = tmp_path / "file.jsonl"
    path.write_text(("[" + "0," * 300_000 + "0]\n") * 20)
    with pytest.raises(RigError, match=r"file\.jsonl, line 7: stands for more than 2,000,000 values"):
        [line.json() for line in lines_of(path)]
    faults: list[str] = []
    assert len(list(read_lines(path, lambda value, where: len(value), faults))) == 6
    assert faults == [f"{path}, line 7: stands for more than 2,000,000 values; make several files of it"]


def test_a_budget_ends_what_goes_on_for_too_long() -> None:
    budget = Budget("a listing", cpu_s=0.05)
    with pytest.raises(RigError, match=r"a listing: took more than 0\.05 seconds"):
        list(iter(budget.spend, "never"))


def test_aliases_mean_what_their_anchors_hold(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("a: &a {b: &b [1, two], c: *b}\nd: [*a, *b]\n")
    [document] = read(path)
    assert document.value == {
        "a": {"b": [1, "two"], "c": [1, "two"]},
        "d": [{"b": [1, "two"], "c": [1, "two"]}, [1, "two"]],
    }
    document.value["a"]["b"].append(3)
    assert document.value["d"][1] == [1, "two"]
    assert document.inside("d").inside(0).inside("c").place == f"{path}, line 1: d.1.c"


def test_deep_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    path.write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(RigError, match="nested too deeply"):
        read_json(path)

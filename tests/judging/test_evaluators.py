"""Evaluators of upstream load unchanged, ours and the user's by name, and bad ones say why in a line."""

from pathlib import Path

import pytest
from tool_answers import PUBLIC, needs_public_data

from rig.core.errors import RigError
from rig.plugins.judging import evaluators
from rig.plugins.judging.evaluators import FIELDS, Evaluator, find, known

CONFIG = """\
registered_cls_name: ReinforceToolLearningEvaluator
prompt_template: template.txt
completions_kwargs:
  temperature: 0.5
  functions:
    - name: check_answer_status
      description: d
      parameters: {type: object, properties: {answer_status: {type: string, enum: [Solved, Unsolved]}}}
"""
TEMPLATE = (
    "<function><name>check_answer_status</name><description>{query} {{x}} {answer}</description></function>"
)


def folder(place: Path, config: str = CONFIG, template: str = TEMPLATE) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    (place / "config.yaml").write_text(config)
    (place / "template.txt").write_text(template)
    return place


@needs_public_data
@pytest.mark.parametrize(
    ("name", "kind", "functions", "settings"),
    [
        ("default", "status", 4, (0.2, 1000)),
        ("normalized", "normalized", 3, (0.0, 100)),
        ("fn", "chat", 1, (0.0, 100)),
    ],
)
def test_upstreams_folders_load_unchanged(
    name: str, kind: str, functions: int, settings: tuple[float, int]
) -> None:
    found = find(str(PUBLIC / "toolbench" / "evaluators" / f"tooleval_gpt-3.5-turbo_{name}"))
    assert (found.kind, len(found.functions)) == (kind, functions)
    assert (found.temperature, found.max_tokens) == settings
    for each in found.functions.values():
        filled = each.filled({field: f"<{field}>" for field in FIELDS[each.name]})
        assert all(f"<{field}>" in filled for field in FIELDS[each.name])


def test_ours_are_known_by_name_and_have_every_function() -> None:
    assert list(known()) == ["default", "fn", "normalized"]
    counts = {name: len(find(name).functions) for name in known()}
    assert counts == {"default": 4, "fn": 1, "normalized": 3}
    assert find("truth").kind == "rule"


def test_the_users_evaluators_are_found_by_name_and_by_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder(tmp_path / "own" / "strict")
    monkeypatch.setenv(evaluators.VARIABLE, str(tmp_path / "own"))
    by_name, by_place = find("strict"), find(str(place))
    assert by_name.sha256 == by_place.sha256
    assert by_name.temperature == 0.5
    assert by_name.function("check_answer_status").filled({"query": "Q{", "answer": "}A"}) == "Q{ {x} }A"


def test_a_change_of_a_prompt_is_another_evaluator(tmp_path: Path) -> None:
    first = find(str(folder(tmp_path / "a")))
    other = find(str(folder(tmp_path / "b", template=TEMPLATE + " ")))
    assert isinstance(first, Evaluator)
    assert first.sha256 != other.sha256


@pytest.mark.parametrize(
    ("config", "template", "fault"),
    [
        ("a: [", TEMPLATE, "not YAML"),
        ("{}", TEMPLATE, "registered_cls_name"),
        ("7", TEMPLATE, "not an evaluator's"),
        (CONFIG.replace("Reinforce", "Other"), TEMPLATE, "rig has no OtherToolLearningEvaluator"),
        (CONFIG.replace("template.txt", "../template.txt"), TEMPLATE, "not a file beside it"),
        (CONFIG, "nothing", "has none of the functions"),
        (CONFIG, TEMPLATE.replace("{query}", "{secret}"), "{secret} of check_answer_status is none of"),
        (CONFIG, TEMPLATE.replace("{query}", "{query.__class__}"), "none"),
        (CONFIG.replace("properties", "other"), TEMPLATE, "has no properties, each with a schema"),
    ],
)
def test_what_is_no_evaluator_is_one_line(tmp_path: Path, config: str, template: str, fault: str) -> None:
    place = folder(tmp_path / "bad", config, template)
    if fault == "none":
        # What is no field of a template stays as it is: nothing in braces is evaluated.
        filled = find(str(place)).function("check_answer_status").filled({"query": "", "answer": ""})
        assert "{query.__class__}" in filled
        return
    with pytest.raises(RigError) as caught:
        find(str(place))
    assert fault in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_that_there_are_not() -> None:
    with pytest.raises(RigError, match="choose from: default, fn, normalized, truth"):
        find("gpt-4")

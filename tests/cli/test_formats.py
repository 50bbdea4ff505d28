"""`--format` from the command line: what is said of a template, and two forms as two arms."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from native_templates import OWN, REAL

Rig = Callable[..., Any]


def model(folder: Path, source: str, **choices: Any) -> Path:
    return tiny_gguf.write(folder / "tiny.gguf", template=source, n_ctx=16384, **choices)


def test_info_shows_the_form_with_a_call_as_it_is_written(rig: Rig, tmp_path: Path) -> None:
    path = model(tmp_path, OWN["json in tags"])
    out = rig("models", "info", path, "--tools").out
    assert "native, as the template shows calls" in out
    assert (
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}\n</tool_call>' in out
    )
    assert "the template writes calls like this; what the model really writes, `rig doctor MODEL` asks" in out
    assert len(out.splitlines()) <= 50
    found = rig("models", "info", path, "--json").json["tool_calls"]
    assert (found["format"], found["tools_in"], found["shape"]["trigger"]) == (
        "native",
        "system",
        "<tool_call>",
    )


def test_info_says_what_a_template_does_not_do_and_how_to_give_another(rig: Rig, tmp_path: Path) -> None:
    path = model(tmp_path, OWN["undeclared"])
    out = rig("models", "info", path, "--tools").out
    assert "declared by rig in words" in out
    assert rig("models", "info", path, "--json").json["tool_calls"]["certainty"] in out
    assert "--chat-template FILE" in out
    other = tmp_path / "other.jinja"
    other.write_text(OWN["json in tags"])
    assert "declared by the template" in rig("models", "info", path, "--tools", "--chat-template", other).out
    plain = model(tmp_path, tiny_gguf.CHATML)
    assert "rig's form: the chat template does not show" in rig("models", "info", plain, "--tools").out


@pytest.mark.parametrize(
    ("template", "fault"), [(None, "there is no chat template"), ("{% x %}", "the chat template does not")]
)
def test_info_says_that_a_model_without_a_usable_template_needs_one(
    rig: Rig, tmp_path: Path, template: str | None, fault: str
) -> None:
    path = tiny_gguf.write(tmp_path / "tiny.gguf", template=template)
    out = rig("models", "info", path, "--tools").out
    assert f"none: {fault}" in out
    assert out.endswith("`rig run` needs --chat-template\n")
    assert rig("models", "info", path, "--json").json["tool_calls"]["format"] is None


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason="no folder of chat templates; set RIG_CHAT_TEMPLATES")
@pytest.mark.parametrize("name", sorted(REAL))
def test_info_is_one_screen_for_every_public_template(rig: Rig, tmp_path: Path, name: str) -> None:
    path = model(tmp_path, tiny_gguf.CHATML)
    out = rig("models", "info", path, "--tools", "--chat-template", REAL[name]).out
    assert 2 <= len(out.splitlines()) <= 50
    assert "rig's form" in out or "get_weather" in out


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (OWN["undeclared"], "ignores declarations of tools"),
        (
            OWN["json in tags"].replace("f.arguments | tojson", "f.arguments | tojson | tojson"),
            "encodes arguments twice",
        ),
        (
            OWN["a tag for each"].replace("{{ v if", "{{ v | upper if"),
            "in no form that rig knows; it answers in rig's",
        ),
        (OWN["json in tags"], ""),
    ],
    ids=["tools dropped", "arguments twice", "no form", "sound"],
)
def test_doctor_warns_of_a_template_that_is_broken(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, fault: str
) -> None:
    monkeypatch.setenv("RIG_MODELS", str(tmp_path))
    model(tmp_path, source)
    warned = [each for each in rig("doctor", "--json").json["findings"] if each["name"] == "template"]
    assert bool(warned) == bool(fault)
    for each in warned:
        assert fault in each["detail"]
        assert "--chat-template" in each["advice"]


def test_both_forms_are_two_arms_of_one_run(rig: Rig, tmp_path: Path) -> None:
    path, store = model(tmp_path, OWN["thinking"], tokenizer="marks"), tmp_path / "runs.sqlite"
    finished = rig(
        *("run", path, "--format", "rig", "--format", "native", "--tool-choice", "auto", "--runs", store),
        *("--only", "LogoutUser-easy", "--tools", "exact", "--max-tokens", "24", "--thinking-tokens", "6"),
        *("--threads", "1", "--parallel", "1", "--display", "none", "--json"),
    )
    arms = {arm["arm"]: arm for arm in finished.json["arms"]}
    assert set(arms) == {"tiny format=rig", "tiny format=native"}
    assert arms["tiny format=rig"]["speed"]["reasoning_tokens"] == 0
    compared = rig("compare", "latest/tiny format=rig", "latest/tiny format=native", "--runs", store)
    assert "format=native" in compared.out

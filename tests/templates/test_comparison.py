"""`rig models templates`: planted differences between two templates are found and named."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from fake_servers import FakeServer, whole
from loopback import opened
from native_templates import OWN

from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.templates.comparison import by_jinja, prompts
from rig.plugins.templates.talks import TALKS

PLAIN = OWN["thinking"]
THOUGHTS = "{% if m.reasoning_content %}"
PLANTED: dict[str, tuple[str, str, dict[str, tuple[str, str]], str]] = {
    "tools are not listed": (
        "{% for tool in tools %}{{ tool | tojson }}",
        "{% for tool in [] %}{{ tool | tojson }}",
        {"tools": ("listed, system", "not listed")},
        "only the first shows a tool",
    ),
    "another form of calls": (
        '"arguments": {{ f.arguments | tojson }}}',
        '"parameters": {{ f.arguments | tojson }}}',
        {
            "a call": (
                """'<tool_call>\\n{"name": "NAME", "arguments": …}\\n</tool_call>'""",
                """'<tool_call>\\n{"name": "NAME", "parameters": …}\\n</tool_call>'""",
            )
        },
        '+{"name": "get_weather", "parameters": {"city": "Oslo"}}',
    ),
    "results as the user's": (
        "<|im_start|>tool\\n".replace("\\n", "\n"),
        "<|im_start|>user\n",
        {
            "a result": (
                "behind '\\n</tool_call><|im_end|>\\n<|im_start|>tool\\n'",
                "behind '\\n</tool_call><|im_end|>\\n<|im_start|>user\\n'",
            )
        },
        "+<|im_start|>user",
    ),
    "thoughts of earlier turns dropped": (
        THOUGHTS,
        "{% if m.reasoning_content and loop.last %}",
        {
            "thoughts": (
                "between '<think>' and '</think>'; of earlier messages kept",
                "between '<think>' and '</think>'; of earlier messages dropped",
            )
        },
        "only the first shows thoughts",
    ),
    "system messages dropped": (
        "{% if m.role == 'system' %}{{ m.content }}{% endif %}",
        "",
        {"a system message": ("a system's message is shown", "a system's message is dropped")},
        "only the first shows a system's message",
    ),
    "results behind no mark of their own": (
        """{{ '<|im_start|>tool\n' + m.content + '<|im_end|>\n' }}""",
        """{{ m.content }}""",
        {
            "a result": (
                "behind '\\n</tool_call><|im_end|>\\n<|im_start|>tool\\n'",
                "behind '\\n</tool_call><|im_end|>\\n'",
            )
        },
        '+{"found0": "clear"}<|im_start|>assistant',
    ),
    "tools behind the system's message only": (
        "{% if loop.first and (m.role == 'system' or tools) %}",
        "{% if loop.first and m.role == 'system' %}",
        {"tools without a system message": ("the first is shown", "the first is dropped")},
        "only the first shows a tool",
    ),
    "thinking off without closed thoughts": (
        "{% if enable_thinking is defined and not enable_thinking %}",
        "{% if quiet_thinking is defined and not quiet_thinking %}",
        {"variables": ("enable_thinking", "quiet_thinking")},
        "-<think>",
    ),
    "calls without what was said": (
        "{{ m.content }}{% if m.tool_calls %}",
        "{% if not m.tool_calls %}{{ m.content }}{% endif %}{% if m.tool_calls %}",
        {"words beside calls": ("words is shown", "words is dropped")},
        "only the first shows words beside a call",
    ),
    "keys in order": (
        "{{ f.arguments | tojson }}",
        "{{ f.arguments | tojson(sort_keys=True) }}",
        {"arguments": ("as one value, in their order", "as one value, sorted by name (capitals first)")},
        '+{"name": "plan_trip", "arguments": {"cheap": true, "note": "Slowly"',
    ),
    "one call alone": (
        "{% for c in m.tool_calls %}",
        "{% for c in m.tool_calls[:1] %}",
        {"two calls at once": ("the second call is shown", "the second call is dropped")},
        "only the first shows a call",
    ),
}
"""What is replaced by what, what it means for tools, and a line of what is shown."""


def pair(tmp_path: Path, old: str, new: str) -> tuple[Path, Path]:
    assert old in PLAIN
    paths = tmp_path / "one.jinja", tmp_path / "other.jinja"
    paths[0].write_text(PLAIN)
    paths[1].write_text(PLAIN.replace(old, new))
    return paths


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_difference_is_found_and_named(rig: Callable[..., Any], tmp_path: Path, name: str) -> None:
    old, new, means, line = PLANTED[name]
    paths = pair(tmp_path, old, new)
    done = rig("models", "templates", *paths, "--json")
    assert done.code == 1
    found = {what: tuple(both) for what, both in done.json["means"].items()}
    assert found.items() >= means.items()
    shown = rig("models", "templates", *paths, "--all")
    assert line in shown.out
    assert f"{len(done.json['differ'])} of 30 conversations" in shown.out


def test_only_prompts_that_differ_are_listed(rig: Callable[..., Any], tmp_path: Path) -> None:
    old, new, *_ = PLANTED["one call alone"]
    done = rig("models", "templates", *pair(tmp_path, old, new), "--json")
    assert [difference["conversation"] for difference in done.json["differ"]] == ["two calls at once"]
    same = rig("models", "templates", *pair(tmp_path, old, old))
    assert (same.code, "the same prompts of all 30" in same.out) == (0, True)


def test_there_are_thirty_conversations_and_a_plain_template_shows_all_of_each() -> None:
    found = prompts(by_jinja(ChatTemplate(PLAIN)))
    assert len(found) == len(TALKS) == 30
    for talk in TALKS:
        expected = {
            "a developer's message": ["a developer's message"],
            "a later system message": ["a system's message"],
        }
        if talk.name != "content in parts":
            assert found[talk.name].missing(talk) == expected.get(talk.name, []), talk.name
    assert "refused" in found["content in parts"].lines[0]


@pytest.mark.slow
def test_a_file_is_compared_with_its_own_template_for_tools(
    rig: Callable[..., Any], write_gguf: Callable[..., Path], tmp_path: Path
) -> None:
    path = tiny_gguf.write(tmp_path / "m.gguf", template=PLAIN)
    alone = rig("models", "templates", path)
    assert (alone.code, "has one template; give another file" in alone.err) == (2, True)
    other = tmp_path / "other.jinja"
    other.write_text(PLAIN.replace("# Tools", "# Functions"))
    done = rig("models", "templates", path, other, "--json")
    assert (done.code, len(done.json["differ"]) > 10) == (1, True)
    engine = rig("models", "templates", path, other)
    assert "--server llama.cpp compares the two" in engine.err


@pytest.mark.parametrize(
    ("source", "fault"),
    [("{% for", "does not compile"), ("{{ 1/0 }}", "cannot render a plain exchange")],
)
def test_a_template_that_cannot_be_used_is_one_line(
    rig: Callable[..., Any], tmp_path: Path, source: str, fault: str
) -> None:
    paths = pair(tmp_path, "# Tools", "# Tools")
    paths[1].write_text(source)
    done = rig("models", "templates", *paths)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert f"{paths[1]}: the chat template {fault}" in done.err


def test_llama_cpps_engine_is_compared_where_a_server_runs_the_template(
    rig: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(monkeypatch)
    path, _ = pair(tmp_path, "# Tools", "# Tools")

    props = whole({"chat_template": PLAIN})
    with FakeServer(
        lambda _: whole({}), {"/props": props, "/apply-template": whole({"prompt": "x"})}
    ).serving() as server:
        done = rig("models", "templates", path, "--server", server.url, "--json")
        assert (done.code, done.json["means"]) == (1, {})
        assert len(done.json["differ"]) == 30
    with FakeServer(lambda _: whole({}), {"/props": whole({"chat_template": "another"})}).serving() as server:
        done = rig("models", "templates", path, "--server", server.url)
        assert (done.code, "runs another chat template" in done.err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["thinking", "a list with ids", "lists as Python shows them"])
def test_llama_cpps_engine_runs_on_this_machine_where_its_package_is_there(
    rig: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytest.importorskip("xllamacpp")
    connected = opened(monkeypatch)
    path = tiny_gguf.write(tmp_path / "m.gguf", template=OWN[name], n_ctx=2048)
    done = rig("models", "templates", path, "--server", "llama.cpp", "--json")
    differ = {difference["conversation"] for difference in done.json["differ"]}
    assert differ == {"content in parts", "a developer's message"}
    assert {host for host, _ in connected} == {"127.0.0.1"}
    other = tmp_path / "other.jinja"
    other.write_text("{{ today | nonsense }}" + OWN[name])
    broken = rig("models", "templates", path, other, "--server", "llama.cpp")
    assert (broken.code, broken.err.count("\n")) == (2, 1)
    alone = rig("models", "templates", other, "--server", "llama.cpp")
    assert "llama.cpp's engine needs a model file" in alone.err or "does not compile" in alone.err


def test_llama_cpps_engine_needs_its_package(
    rig: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tiny_gguf.write(tmp_path / "m.gguf", template=PLAIN)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    done = rig("models", "templates", path, "--server", "llama.cpp")
    assert (done.code, done.err) == (
        2,
        "rig: --server llama.cpp needs the package xllamacpp: pip install xllamacpp\n",
    )


def test_a_server_may_run_the_template_with_tests_that_llama_cpp_switches_off(
    rig: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(monkeypatch)
    lines = tmp_path / "lines.jinja"
    lines.write_text("{%- if messages[0].content == 'x' %}\nx{% endif %}\n" + PLAIN)
    patched = lines.read_text().replace("{%- if messages[0].content == 'x' %}", "{%- if false %}")
    for theirs, code in ((patched, 1), (patched.replace("x{%", "y{%"), 2)):
        props = whole({"chat_template": theirs})
        with FakeServer(
            lambda _: whole({}), {"/props": props, "/apply-template": whole({"prompt": "x"})}
        ).serving() as server:
            assert rig("models", "templates", lines, "--server", server.url).code == code


@pytest.mark.slow
def test_what_variables_cost_is_shown_before_a_run(rig: Callable[..., Any], tmp_path: Path) -> None:
    source = PLAIN.replace(THOUGHTS, "{% if m.reasoning_content and keep | default(true) %}")
    path = tiny_gguf.write(tmp_path / "m.gguf", template=source)
    done = rig("models", "templates", path, "--template-set", "keep=false", "--json")
    whole, less = done.json["tokens"]
    assert whole > less > 0
    assert "kept" in done.json["means"]["thoughts"][0]
    assert "dropped" in done.json["means"]["thoughts"][1]
    assert all("thoughts" in difference["conversation"] for difference in done.json["differ"])
    table = rig("models", "templates", path, "--template-set", "keep=false").out
    (row,) = (line.split() for line in table.splitlines() if line.startswith("tokens of all prompts"))
    assert row[-2:] == [f"{whole:,}", f"{less:,}"]
    unknown = rig("models", "templates", path, "--template-set", "kep=false")
    assert (unknown.code, "reads no such variable (did you mean 'keep'?)" in unknown.err) == (2, True)


@pytest.mark.slow
@pytest.mark.skipif("RIG_LLAMA_CPP" not in os.environ, reason="RIG_LLAMA_CPP is not set")
def test_both_engines_make_the_same_prompts_of_a_plain_template(
    rig: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened(monkeypatch)
    from real_servers import vendored_llama_server

    path = tiny_gguf.write(tmp_path / "m.gguf", template=PLAIN, n_ctx=2048)
    with vendored_llama_server(path, tmp_path, n_ctx=2048) as server:
        done = rig("models", "templates", path, "--server", server.url, "--json")
    differ = {difference["conversation"] for difference in done.json["differ"]}
    assert differ <= {"content in parts", "a developer's message"}

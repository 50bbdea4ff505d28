"""Chat templates as arms: their names, and what a comparison says of them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small_talks
import tiny_gguf
from native_templates import OWN

from rig import methods
from rig.config.options import RunConfig
from rig.core import opening
from rig.core.errors import RigError
from rig.plugins.llama.core.options import EngineOptions
from rig.plugins.templates.hook import reference_of
from rig.running.planning import plan, require_opened, stored_config
from rig.store import Runs

PLAIN = OWN["thinking"]
SILENT = PLAIN.replace("{% if m.role == 'system' %}{{ m.content }}{% endif %}", "")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    small_talks.write(tmp_path)
    tiny_gguf.write(tmp_path / "tiny.gguf", template=PLAIN, n_ctx=16384)
    (tmp_path / "silent.jinja").write_text(SILENT)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "silent.jinja").write_text(SILENT + " ")
    return tmp_path


def planned(place: Path, *templates: object, **more: Any) -> Any:
    options = RunConfig.of(
        models=str(place / "tiny.gguf"),
        conversations=place / "conversations",
        world=place / "databases",
        similarity="exact",
        chat_template=templates,
        limit=1,
        max_tokens=2,
        **more,
    )
    return plan(options, place / "runs.sqlite")


def test_arms_are_named_by_files_or_by_places_where_names_are_the_same(place: Path) -> None:
    arms = planned(place, "own", place / "silent.jinja").arms
    assert [arm.name for arm in arms] == ["tiny chat-template=own", "tiny chat-template=silent.jinja"]
    assert [arm.config.part(EngineOptions).chat_template for arm in arms] == [None, place / "silent.jinja"]
    both = place / "silent.jinja", place / "more" / "silent.jinja"
    assert [arm.name for arm in planned(place, *both).arms] == [f"tiny chat-template={path}" for path in both]


def test_an_arm_is_compared_with_the_first_that_differs_in_its_template_alone(place: Path) -> None:
    run = planned(place, "own", place / "silent.jinja", temperature=(0.0, 0.5))
    assert [reference_of(run, number) for number in range(4)] == [None, 0, None, 2]
    alone = planned(place, "own", temperature=(0.0, 0.5))
    assert [reference_of(alone, number) for number in (0, 1)] == [None, None]


def test_an_arm_of_a_variable_is_compared_as_well(place: Path) -> None:
    source = PLAIN.replace("{% if m.reasoning_content %}", "{% if m.reasoning_content and keep %}")
    assert source != PLAIN
    (place / "keeps.jinja").write_text(source)
    run = planned(place, place / "keeps.jinja", template_set="keep=true,false")
    assert [reference_of(run, number) for number in (0, 1)] == [None, 0]


@pytest.mark.slow
def test_a_run_and_its_comparison_say_which_prompts_differ(rig: Callable[..., Any], place: Path) -> None:
    asked = ("--conversations", place / "conversations", "--world", place / "databases", "--limit", 1)
    templates = ("--chat-template", "own", "--chat-template", place / "silent.jinja")
    quick = ("--similarity", "exact", "--max-tokens", 2, "--thinking-tokens", 2, "--n-ctx", 16384)
    store = ("--runs", place / "runs.sqlite")
    done = rig("run", place / "tiny.gguf", *asked, *templates, *quick, *store, "--display", "none")
    assert done.code == 0, done.err
    line = (
        "its chat template makes other prompts than tiny chat-template=own's of 8 of 30 conversations that"
        " were tried (a system message, two turns, a later system message, tools and a system message and 4"
        " more)"
    )
    compared = " ".join(rig("compare", "latest", *store, "--full").out.split())
    assert line in compared
    assert "what differs: a system message, rig changes; `rig models templates` shows it" in compared
    assert "differs in chat template" in compared
    assert re.search(r"a step's prompt had 12,\d{3} tokens on average, not 12,\d{3}", compared)
    reported = rig("report", "latest", *store, "--format", "md", "--output", place / "report.md")
    assert reported.code == 0, reported.err
    assert "a system message" in (place / "report.md").read_text()
    with Runs.open(place / "runs.sqlite") as runs:
        stored = runs.get("latest")
        first, second = stored.arms
    assert "templates" not in first.notes
    assert second.notes["templates"]["means"]["a system message"] == [
        "a system's message is shown",
        "a system's message is dropped",
    ]
    # Who has this store from somebody else has to name the templates before anything reads them.
    opening.forget()
    with pytest.raises(RigError, match=rf"chat_template.*{place / 'silent.jinja'}"):
        require_opened(stored, stored_config(stored), methods.get(stored.declaration.method), ("models",))

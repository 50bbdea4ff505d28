"""Where prompts are cut: tasks with other tools share what comes before the tools."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import small_talks
import small_world
import tiny_gguf

from rig.core.models import Request
from rig.plugins.llama.engine import LlamaCppModel
from rig.plugins.tooltalk.conversations import parse_conversation
from rig.plugins.tooltalk.prompt import ToolTalkSettings, opening

Open = Callable[..., LlamaCppModel]


def segments(model: LlamaCppModel, request: Request) -> list[tuple[int, ...]]:
    return model.prompts.build(request, model.form(request).format)


def test_a_cut_before_the_tools_changes_no_token(
    open_model: Open, tiny_path: Callable[..., Path], kind: dict[str, Any], ask: Callable[..., Request]
) -> None:
    model = open_model(tiny_path(**kind), n_ctx=2048)
    shared = ask("hello")
    own = replace(shared, tools_are_shared=False)
    whole, cut = segments(model, shared), segments(model, own)
    assert sum(whole, ()) == sum(cut, ())
    assert [len(cut), *map(len, cut[2:])] == [len(whole) + 1, *map(len, whole[1:])]
    other = segments(model, replace(own, tools=own.tools[1:]))
    assert other[0] == cut[0]
    assert other[1] != cut[1]
    assert len(cut[0]) > len(model.tokenizer.content(shared.instructions))
    none = replace(own, tools=())
    assert segments(model, none) == segments(model, replace(none, tools_are_shared=True))


def test_what_comes_before_the_tools_is_computed_once(
    open_model: Open, tiny_path: Callable[..., Path], ask: Callable[..., Request]
) -> None:
    cached = {}
    for shared in (True, False):
        model = open_model(tiny_path(), n_ctx=2048, max_tokens=5, parallel=1, prefix_cache=False)
        opening = replace(ask([]), tools_are_shared=shared)
        model.prepare(opening, None)
        assert model.fingerprint.get("prompt_cut") == (None if shared else "before the tools")
        request = replace(
            ask("hello", conversation="other"), tools_are_shared=shared, tools=opening.tools[1:]
        )
        cached[shared] = model.predict(request, lambda _: None).usage.cached_tokens
        if not shared:
            assert cached[shared] == len(segments(model, request)[0])
    assert cached[True] < cached[False]


def test_an_arm_that_began_without_the_cut_goes_on_without_it(
    open_model: Open, tiny_path: Callable[..., Path], ask: Callable[..., Request]
) -> None:
    model = open_model(tiny_path(), n_ctx=2048, max_tokens=5, parallel=1, prefix_cache=False)
    opening = replace(ask([]), tools_are_shared=False)
    model.prepare(opening, None)
    cut, begun_with_it = segments(model, opening), dict(model.fingerprint)
    before = {name: value for name, value in begun_with_it.items() if name != "prompt_cut"}
    model.prepare(opening, None, before)
    assert model.fingerprint == before
    assert len(segments(model, opening)) == len(cut) - 1
    model.prepare(opening, None, begun_with_it)
    assert model.fingerprint == begun_with_it
    assert segments(model, opening) == cut


def test_a_template_that_writes_the_date_writes_the_conversations(
    open_model: Open, tiny_path: Callable[..., Path], ask: Callable[..., Request]
) -> None:
    dated = "Today is {{ strftime_now('%Y-%m-%d %H:%M') }}.\n" + tiny_gguf.CHATML
    model = open_model(tiny_path(template=dated), n_ctx=2048)
    for now in ("2025-03-03 09:30", "2031-12-31 23:59"):
        tokens = sum(segments(model, replace(ask("hello"), now=datetime.fromisoformat(now))), ())
        assert b"".join(map(model.tokenizer.piece, tokens)).decode().count(f"Today is {now}.") == 1
    talk = parse_conversation(small_talks.source("talk", "Hi.", ("Hello.", [])), "talk")
    assert opening(talk, ToolTalkSettings(tools="all")).now == small_world.METADATA.now

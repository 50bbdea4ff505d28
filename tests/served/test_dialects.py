"""Dialects of servers that cannot be started here, against exchanges made after their documentation.

ollama 0.12 (docs/api.md, docs/openai), LM Studio 0.3.6 and later (REST API v0), vLLM 0.11 (its server in
OpenAI's shape). Names and numbers in them are made up.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fake_servers import PROPS, Body, FakeServer, Reply, chunk, events, spoken, whole

from rig.core.errors import RigError
from rig.core.models import Request, StepKey, ToolDoc, UserMessage
from rig.plugins import served
from rig.plugins.served.model import ServedModel
from rig.plugins.served.settings import ServedSettings

Serve = Callable[..., FakeServer]
NONE = {"/props": whole({"error": "not found"}, 404)}

OLLAMA = {
    **NONE,
    "/api/version": whole({"version": "0.12.6"}),
    "/api/tags": whole({"models": [{"name": "qwen3:4b", "model": "qwen3:4b", "size": 2497293931}]}),
    "/v1/models": whole({"data": [{"id": "qwen3:4b", "object": "model", "owned_by": "library"}]}),
    "/api/show": whole(
        {
            "parameters": "temperature 0.6\ntop_k 20",
            "template": "{{ range .Messages }}{{ .Content }}{{ end }}",
            "details": {"format": "gguf", "family": "qwen3", "quantization_level": "Q4_K_M"},
            "capabilities": ["completion", "tools", "thinking"],
        }
    ),
    "/api/ps": whole({"models": [{"name": "qwen3:4b", "size_vram": 0, "context_length": 4096}]}),
}
LM_STUDIO = {
    **NONE,
    "/api/v0/models": whole(
        {
            "data": [
                {
                    "id": "qwen3-4b",
                    "object": "model",
                    "type": "llm",
                    "arch": "qwen3",
                    "compatibility_type": "gguf",
                    "quantization": "Q4_K_M",
                    "state": "loaded",
                    "max_context_length": 32768,
                    "loaded_context_length": 8192,
                },
                {"id": "nomic", "type": "embeddings", "quantization": "Q4_0", "state": "loaded"},
                {"id": "gemma", "type": "vlm", "quantization": "Q4_0", "state": "not-loaded"},
            ]
        }
    ),
}
VLLM = {
    **NONE,
    "/version": whole({"version": "0.11.0"}),
    "/v1/models": whole(
        {"data": [{"id": "my-model", "owned_by": "vllm", "root": "/models/qwen3-4b", "max_model_len": 16384}]}
    ),
    "/tokenize": whole({"count": 3, "max_model_len": 16384, "tokens": [1, 2, 3], "token_strs": None}),
}
SERVERS = {"ollama": OLLAMA, "lm-studio": LM_STUDIO, "vllm": VLLM}

REQUEST = Request(
    StepKey("a"),
    "Help.",
    (ToolDoc("weather", "", {"type": "object", "properties": {"city": {"type": "string"}}}),),
    "",
    (UserMessage("Oslo?"),),
)


def called(dialect: str) -> Reply:
    """A call as each of them streams it."""
    function = {"name": "weather", "arguments": '{"city":"Oslo"}'}
    call: dict[str, Any] = {"index": 0, "id": "call_1", "type": "function", "function": function}
    if dialect == "vllm":  # in pieces
        first = {**call, "function": {"name": "weather", "arguments": ""}}
        pieces = [{"index": 0, "function": {"arguments": part}} for part in ('{"city"', ':"Oslo"}')]
        deltas = [chunk(tool_calls=[part]) for part in (first, *pieces)]
    else:
        deltas = [chunk(tool_calls=[call])]
    thought = {"ollama": {"reasoning": "Hm."}, "vllm": {"reasoning_content": "Hm."}}.get(dialect, {})
    usage = {"choices": [], "usage": {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 49}}
    return events(chunk(role="assistant", content="", **thought), *deltas, chunk("tool_calls"), usage)


def loaded(server: FakeServer, **settings: Any) -> ServedModel:
    model = served.load(server.url, ServedSettings(**settings), lambda _text: None)
    assert isinstance(model, ServedModel)
    return model


@pytest.mark.parametrize(
    ("dialect", "identity"),
    [
        ("ollama", ("qwen3:4b", "0.12.6", "Q4_K_M", 4096)),
        ("lm-studio", ("qwen3-4b", "gguf", "Q4_K_M", 8192)),
        ("vllm", ("my-model", "0.11.0", "qwen3-4b", 16384)),
    ],
)
def test_a_server_is_recognised_and_its_calls_are_read(
    serve: Serve, dialect: str, identity: tuple[Any, ...]
) -> None:
    model = loaded(serve(lambda _body: called(dialect), others=SERVERS[dialect]))
    told = model.identity
    assert (model.dialect.name, told.model, told.build, told.file, told.n_ctx) == (dialect, *identity)
    prediction = model.predict(REQUEST, lambda _piece: None)
    assert [(call.name, call.arguments) for call in prediction.calls] == [("weather", {"city": "Oslo"})]
    assert prediction.usage.prompt_tokens == 40
    assert prediction.reasoning == ("" if dialect == "lm-studio" else "Hm.")


@pytest.mark.parametrize("dialect", ["ollama", "lm-studio"])
def test_a_model_is_loaded_before_its_context_is_asked_for(
    serve: Serve, dialect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first answer would load it, and the context that is known then would look like another server."""
    monkeypatch.setattr("rig.plugins.served.model.CHECK_S", 0.0)
    unloaded = {"id": "qwen3-4b", "type": "llm", "quantization": "Q4_K_M", "state": "not-loaded"}
    path, empty, route = {
        "ollama": ("/api/ps", {"models": []}, "/api/generate"),
        "lm-studio": ("/api/v0/models", {"data": [unloaded]}, "/v1/chat/completions"),
    }[dialect]

    class Others(dict[str, Reply]):
        def get(self, key: str, default: Any = None) -> Any:
            if key == route:
                self[path] = SERVERS[dialect][path]
            return super().get(key, default)

    def answered(_body: Body) -> Reply:
        others.get("/v1/chat/completions")
        return called(dialect)

    server = serve(answered)
    server.others = others = Others({**server.others, **SERVERS[dialect], path: whole(empty)})
    server.url += "#qwen3:4b" if dialect == "ollama" else "#qwen3-4b"
    model = loaded(server)
    assert model.fingerprint["n_ctx"] == model.identity.n_ctx == {"ollama": 4096, "lm-studio": 8192}[dialect]
    assert model.predict(REQUEST, lambda _piece: None).calls
    assert model.predict(REQUEST, lambda _piece: None).calls


@pytest.mark.parametrize("value", ["4096", [1], -3, 0, True, 1.5])
def test_numbers_that_are_none_are_not_told(serve: Serve, value: Any) -> None:
    props = {**PROPS, "total_slots": value, "default_generation_settings": {"n_ctx": value}}
    model = loaded(serve(lambda _body: spoken("hm"), others={"/props": whole(props)}), parallel=2)
    assert (model.identity.n_ctx, model.identity.slots, model.slots) == (None, None, 2)


def test_prompts_are_asked_for_in_each_servers_way(serve: Serve) -> None:
    def rendered(body: Body) -> Reply:
        assert body["_debug_render_only"] is True
        return whole({"_debug_info": {"rendered_template": "Help. Oslo?"}})

    ollama = loaded(serve(rendered, others=OLLAMA))
    assert ollama.dialect.prompt(ollama.client, ollama.body(REQUEST)) == "Help. Oslo?"
    server = serve(lambda _body: spoken("hm"), others=VLLM)
    vllm = loaded(server)
    assert list(vllm.dialect.tokens(vllm.client, vllm.body(REQUEST)) or ()) == [1, 2, 3]
    assert server.bodies[-1]["add_generation_prompt"] is True
    assert "stream" not in server.bodies[-1]


@pytest.mark.parametrize(
    ("dialect", "settings", "fields"),
    [
        ("ollama", {"thinking": "off"}, {"reasoning_effort": "none", "temperature": 0.0}),
        ("vllm", {"thinking": "off"}, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("vllm", {"tool_choice": "none"}, {"tool_choice": "none"}),
        (
            "vllm",
            {"tool_choice": "weather"},
            {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
        ),
        ("vllm", {"sampling": "temp=0.6,repeat_penalty=1.1"}, {"repetition_penalty": 1.1, "top_k": 0}),
        ("lm-studio", {"sampling": "temp=0.6,top_k=20"}, {"temperature": 0.6, "top_k": 20}),
    ],
)
def test_settings_are_sent_by_the_names_that_each_knows(
    serve: Serve, dialect: str, settings: dict[str, Any], fields: dict[str, Any]
) -> None:
    model = loaded(serve(lambda _body: spoken("hm"), others=SERVERS[dialect]), **settings)
    body = model.body(REQUEST)
    assert {name: body[name] for name in fields} == fields


@pytest.mark.parametrize(
    ("dialect", "settings"),
    [
        ("ollama", {"sampling": "temp=0.6,min_p=0.1"}),
        ("ollama", {"tool_choice": "required"}),
        ("lm-studio", {"tool_choice": "weather"}),
        ("lm-studio", {"thinking": "on"}),
        ("vllm", {"sampling": "temp=1,dry_multiplier=0.8"}),
    ],
)
def test_what_a_server_would_ignore_is_refused(serve: Serve, dialect: str, settings: dict[str, Any]) -> None:
    server = serve(lambda _body: spoken("hm"), others=SERVERS[dialect])
    with pytest.raises(RigError, match=r"ignore|no switch|takes no tool"):
        loaded(server, **settings)


def test_a_request_in_words_has_no_tools(serve: Serve) -> None:
    model = loaded(serve(lambda _body: spoken(" [f()] "), others=OLLAMA))
    asked = replace(REQUEST, in_words=True)
    assert "tools" in model.body(REQUEST)
    assert "tools" not in model.body(asked)
    assert model.body(asked)["messages"][0]["content"].strip() == "Help."
    assert model.predict(asked, lambda _piece: None).reply == "[f()]"


def test_a_model_without_tools_is_told_of_them_in_words(serve: Serve) -> None:
    shown = whole({"capabilities": ["completion"], "template": "", "details": {}})
    model = loaded(serve(lambda _body: spoken('{"reply": "hm"}'), others={**OLLAMA, "/api/show": shown}))
    body = model.body(REQUEST)
    assert "tools" not in body
    assert "weather" in body["messages"][0]["content"]
    assert model.predict(REQUEST, lambda _piece: None).reply == "hm"

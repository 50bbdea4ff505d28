"""Runs against servers that are made up: what is stored, what is said, and what is never asked."""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_servers import PROPS, Body, FakeServer, Reply, chunk, events, is_probe, spoken, whole

Serve = Callable[..., FakeServer]
SHORT = ("--only", "AddAlarm-easy", "--tools", "exact", "--similarity", "exact", "--display", "none")


def call_of(body: Body) -> Reply:
    """Calls the alarm once, then says something."""
    if body["messages"][-1]["role"] == "tool":
        return spoken("Done, all set.")
    function = {"name": "AddAlarm", "arguments": '{"time": '}
    rest = {"arguments": '"09:30:00"}'}
    return events(
        chunk(role="assistant", content=None),
        chunk(tool_calls=[{"index": 0, "id": "a", "type": "function", "function": function}]),
        chunk(tool_calls=[{"index": 0, "function": rest}]),
        chunk("tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 90, "completion_tokens": 9}},
    )


def fingerprint_of(store: Path) -> dict[str, Any]:
    with sqlite3.connect(store) as database:
        ((text,),) = database.execute("SELECT fingerprint FROM arms")
        return dict(json.loads(text))


def steps(store: Path) -> list[dict[str, Any]]:
    with sqlite3.connect(store) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute("SELECT * FROM predictions ORDER BY turn, step")]


def test_a_served_model_is_a_model(serve: Serve, rig: Any, own_files: Path, tmp_path: Path) -> None:
    server = serve(call_of)
    store = tmp_path / "x.sqlite"
    run = rig("run", server.url, *SHORT, "--json", "--runs", store)
    assert run.code == 0, run.err
    arm = run.json["arms"][0]
    assert arm["arm"] == server.url
    fingerprint = fingerprint_of(store)
    assert fingerprint["model.engine"] == "served"
    assert fingerprint["model.dialect"] == "llama-server"
    assert fingerprint["model.server"] == "b1-fake"
    assert fingerprint["model.prompt_format"] == "served-1"
    body = server.bodies[0]
    assert (body["temperature"], body["stream"], body["max_tokens"]) == (0.0, True, 256)
    assert body["messages"][0]["role"] == "system"
    assert {tool["function"]["name"] for tool in body["tools"]} >= {"AddAlarm"}
    stored = steps(store)
    assert [step["tool"] for step in stored].count("AddAlarm") >= 1
    assert stored[-1]["reply"] == "Done, all set."
    assert all(step["prompt_tokens"] in (7, 90) for step in stored)
    for verb in (("show", "latest"), ("runs",)):
        assert rig(*verb, "--runs", store).code == 0


def test_the_same_seeds_are_sent_again_and_none_where_nothing_is_drawn(
    serve: Serve, rig: Any, tmp_path: Path
) -> None:
    server = serve(lambda _body: spoken("Hello"))
    sampled = ("run", server.url, *SHORT, "--temperature", "0.7", "--repeats", "2")
    for name in ("a", "b"):
        rig(*sampled, "--runs", tmp_path / f"{name}.sqlite")
    seeds = [body["seed"] for body in server.bodies]
    assert seeds[: len(seeds) // 2] == seeds[len(seeds) // 2 :]
    assert len(set(seeds)) == len(seeds) // 2
    server.bodies.clear()
    rig("run", server.url, *SHORT, "--runs", tmp_path / "c.sqlite")
    assert all("seed" not in body for body in server.bodies)


def test_a_server_without_tools_is_told_of_them_in_words(serve: Serve, rig: Any, tmp_path: Path) -> None:
    props = {**PROPS, "chat_template_caps": {"supports_tools": False}}
    server = serve(lambda _body: spoken('{"reply": "Hello"}'), others={"/props": whole(props)})
    rig("run", server.url, *SHORT, "--runs", tmp_path / "x.sqlite")
    assert fingerprint_of(tmp_path / "x.sqlite")["model.prompt_format"] == "rig-1"
    assert "tools" not in server.bodies[0]
    assert "AddAlarm" in server.bodies[0]["messages"][0]["content"]
    assert {step["reply"] for step in steps(tmp_path / "x.sqlite")} == {"Hello"}


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (lambda: Reply([b"<html>"], headers={"Content-Type": "text/html"}), "malformed"),
        (lambda: events(chunk(content="ab"), done=False), "connection"),
        (lambda: whole({"error": {"message": "boom"}}, 500), "http_status"),
        (lambda: Reply(status=302, headers={"Location": "http://10.0.0.1/"}), "http_status"),
    ],
    ids=["HTML", "cut off", "500", "redirect"],
)
@pytest.mark.slow
def test_faults_are_counted_as_themselves_and_played_again(
    serve: Serve, rig: Any, tmp_path: Path, reply: Callable[[], Reply], kind: str
) -> None:
    store = tmp_path / "x.sqlite"
    server = serve(lambda _body: reply())
    run = rig("run", server.url, *SHORT, "--json", "--runs", store)
    arm = run.json["arms"][0]
    assert arm["errors"] == {kind: 2}
    assert run.code == 1
    assert f"not evaluated: the assistant could never answer: {kind} 2" in run.err
    server.chat = call_of
    again = rig("run", "--resume", "latest", "--retry-failed", "--display", "none", "--json", "--runs", store)
    assert again.code == 0, again.err
    assert again.json["arms"][0]["errors"] == {}


@pytest.mark.slow
def test_an_arm_ends_when_all_answers_fail_and_what_is_stored_stays(
    serve: Serve, rig: Any, tmp_path: Path
) -> None:
    store = tmp_path / "x.sqlite"
    server = serve(lambda _body: Reply([b"<html>"], headers={"Content-Type": "text/html"}))
    run = rig(
        "run", server.url, "--limit", "9", "--similarity", "exact", "--display", "none", "--runs", store
    )
    assert run.code == 1
    assert "5 answers in a row failed" in run.err
    assert len(run.err.strip().splitlines()) <= 2
    assert len(steps(store)) == 4
    server.chat = call_of
    assert rig("run", "--resume", "latest", "--retry-failed", "--display", "none", "--runs", store).code == 0
    assert {step["error"] for step in steps(store)} <= {None, "invalid"}


def test_a_server_that_changed_is_noticed(
    serve: Serve, rig: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rig.plugins.served.model.CHECK_S", 0.0)
    server = serve(call_of)

    def change(body: Body) -> Reply:
        server.others["/props"] = whole({**PROPS, "chat_template": "other"})
        return call_of(body)

    server.chat = change
    run = rig("run", server.url, *SHORT, "--runs", tmp_path / "x.sqlite")
    assert run.code == 1
    assert "the server changed under the run: template was" in run.err
    again = rig("run", "--resume", "latest", "--display", "none", "--runs", tmp_path / "x.sqlite")
    assert again.code == 2
    assert "model.chat_template_sha256 was" in again.err


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"/props": Reply([b"<html>"]), "/v1/models": Reply([b"<html>"])}, "none of llama-server"),
        ({"/v1/models": whole({"data": [{"id": "a"}, {"id": "b"}]})}, "which model? Give"),
        ({"/v1/models": whole({"data": 7})}, "it serves no model"),
        ({"/v1/models": Reply([b"[" * 9_000_000])}, "does not answer as llama-server"),
    ],
    ids=["HTML", "two models", "no models", "too large"],
)
def test_what_is_no_server_is_one_line(
    serve: Serve, rig: Any, tmp_path: Path, others: Any, words: str
) -> None:
    server = serve(call_of, others=others)
    run = rig("run", server.url, *SHORT, "--runs", tmp_path / "x.sqlite")
    assert run.code == 2
    assert words in run.err
    assert not (tmp_path / "x.sqlite").exists()


def test_only_what_is_named_on_the_command_line_is_connected_to(
    serve: Serve,
    rig: Any,
    tmp_path: Path,
    connections: list[tuple[str, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = tmp_path / "x.sqlite"
    server = serve(call_of)
    rig("run", server.url, *SHORT, "--runs", store)
    assert {port for _, port in connections} == {int(server.url.rpartition(":")[2])}
    connections.clear()
    for verb in ("show latest", "runs", "compare latest latest", "score latest", "docs metrics"):
        rig(*verb.split(), "--runs", store) if verb != "docs metrics" else None
    rig("report", "latest", "--runs", store, "-o", tmp_path / "page.html")
    rig("replay", "latest", "--runs", store, "--speed", "max", "--display", "none")
    assert connections == []
    # A store from elsewhere cannot have a run go on at a place that it names.
    monkeypatch.setenv("RIG_CACHE", str(tmp_path / "another machine"))
    with sqlite3.connect(store) as database:
        database.execute("UPDATE runs SET finished = NULL")
        database.execute("DELETE FROM turns")
    refused = rig("run", "--resume", "latest", "--display", "none", "--runs", store)
    assert refused.code == 2
    assert f"rig --open {server.url}" in refused.err
    assert connections == []


def test_hosts_and_keys_are_named_each_time_and_stored_nowhere(
    serve: Serve, rig: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret-value")
    store = tmp_path / "x.sqlite"
    server = serve(call_of)
    run = rig("run", server.url, *SHORT, "--key-from", "MY_KEY", "--json", "--runs", store)
    assert server.headers[-1]["Authorization"] == "Bearer s3cret-value"
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or b"s3cret" not in file.read_bytes()
    assert "s3cret" not in run.out + run.err
    away = rig("run", "http://10.1.2.3:80", *SHORT, "--runs", store)
    assert away.code == 2
    assert "--allow-host 10.1.2.3" in away.err
    assert os.environ["MY_KEY"]


def test_a_served_model_plays_another_role(serve: Serve, rig: Any, tmp_path: Path) -> None:
    server = serve(lambda _body: spoken("ok, thanks"))
    suite = ("--suite", "dynamic", "--limit", "1", "--display", "none")
    run = rig("run", "oracle", "--user", server.url, *suite, "--json", "--runs", tmp_path / "x.sqlite")
    assert run.code in (0, 1), run.err
    assert server.bodies
    assert fingerprint_of(tmp_path / "x.sqlite")["role.user.engine"] == "served"


def test_settings_that_a_server_would_ignore_are_refused(serve: Serve, rig: Any, tmp_path: Path) -> None:
    server = serve(call_of, others={"/props": whole({}, 404), **OLLAMA})
    for option in (("--sampling", "temp=1,min_p=0.1"), ("--tool-choice", "required"), ("--format", "hermes")):
        run = rig("run", server.url, *SHORT, *option, "--runs", tmp_path / "x.sqlite")
        assert run.code == 2, option
        assert len(run.err.strip().splitlines()) == 1


OLLAMA = {
    "/api/version": whole({"version": "0.12.0"}),
    "/api/tags": whole({"models": []}),
    "/api/show": whole({"capabilities": ["completion", "tools"], "template": "", "details": {}}),
    "/api/ps": whole({"models": []}),
}


def test_json_has_the_run_at_its_end(serve: Serve, rig: Any, tmp_path: Path) -> None:
    server = serve(call_of)
    run = rig("run", server.url, *SHORT, "--json", "--runs", tmp_path / "x.sqlite")
    assert set(run.json) == {"run", "store", "arms"}


def test_a_dialect_of_ones_own_is_found_by_asking(
    serve: Serve, rig: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_PLUGINS", str(Path(__file__).parents[1] / "tenants" / "dialect.py"))
    server = serve(call_of, others={"/props": whole({}, 404), "/about": whole({"program": "mine"})})
    store = tmp_path / "x.sqlite"
    run = rig("run", server.url, *SHORT, "--runs", store)
    assert run.code == 0, run.err
    assert fingerprint_of(store)["model.dialect"] == "mine"


def test_a_run_begins_with_probes_and_says_what_they_show(serve: Serve, rig: Any, tmp_path: Path) -> None:
    blind = serve(lambda _body: spoken("hm"), answers_probes=False)
    run = rig("run", blind.url, *SHORT, "--display", "plain", "--runs", tmp_path / "x.sqlite")
    assert run.code == 0, run.err
    assert "tools: a prompt has 7 tokens with a tool, and 7 without: the model never sees it" in run.out
    assert "give the server a chat template that has tools (llama-server: --jinja" in run.out
    healthy = serve(lambda _body: spoken("hm"))
    run = rig("run", healthy.url, *SHORT, "--display", "plain", "--runs", tmp_path / "x.sqlite")
    assert run.code == 0
    assert "never sees" not in run.out


def test_a_context_that_is_cut_silently_is_told_before_the_run(
    serve: Serve, rig: Any, tmp_path: Path
) -> None:
    def chat(body: Body) -> Reply:
        return spoken("hm", min(len(str(body)) // 4, 2050) if is_probe(body) else 90)

    server = serve(chat, answers_probes=False)
    run = rig("run", server.url, *SHORT, "--display", "plain", "--runs", tmp_path / "x.sqlite")
    assert run.code == 0, run.err
    assert "context: 4915 tokens are cut silently to 2050, in a context of 4096" in run.out
    doctor = rig("doctor", server.url, "--json")
    sizes = [line["detail"].split()[0] for line in doctor.json["findings"] if line["name"] == "context"]
    assert sizes == ["4915", "3276"]


@pytest.mark.parametrize("kind", ["identity", "context"])
def test_who_never_answers_is_not_waited_for(
    kind: str, serve: Serve, rig: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent() -> Iterator[bytes]:
        time.sleep(2)
        yield b""

    monkeypatch.setattr("rig.plugins.served.wire.client.TOLD_S", 0.2)
    monkeypatch.setattr("rig.plugins.served.probes.REFUSED_S", 0.2)

    def chat(body: Body) -> Reply:
        return Reply(silent()) if len(str(body)) > 10_000 else spoken("hm", 9 + 40 * ("tools" in body))

    others = {"/props": Reply(silent())} if kind == "identity" else {}
    run = rig(
        "run",
        serve(chat, others=others, answers_probes=False).url,
        *(*SHORT, "--display", "plain", "--runs", tmp_path / "x.sqlite"),
    )
    if kind == "identity":
        assert (run.code, len(run.err.strip().splitlines())) == (2, 1)
        assert "no answer within 0.2 s; see whether the server is at work" in run.err
    else:
        assert run.code == 0, run.err
        assert "context" not in run.out.partition("AddAlarm")[0].replace("tokens of context", "")


def test_probes_that_fail_stop_no_run(serve: Serve, rig: Any, tmp_path: Path) -> None:
    def chat(body: Body) -> Reply:
        return whole({"error": {"message": "boom"}}, 501) if is_probe(body) else spoken("hm")

    server = serve(chat, answers_probes=False)
    run = rig("run", server.url, *SHORT, "--display", "plain", "--runs", tmp_path / "x.sqlite")
    assert run.code == 0, run.err
    assert "probing it failed: status 501: boom" in run.out


def test_a_served_model_judges_answers(serve: Serve, rig: Any, tmp_path: Path) -> None:
    """The form that judges answer in is for one function, and what is asked at the beginning has none."""
    store = tmp_path / "x.sqlite"
    rig("run", "oracle", *SHORT, "--runs", store)
    server = serve(lambda _body: spoken('{"content": "Yes.", "answer_status": "Solved"}'))
    run = rig("judge", "latest", "--judge", server.url, "--display", "plain", "--runs", store)
    assert run.code == 0, run.err
    assert f"the judge {server.url.removeprefix('http://')} is not calibrated" in run.out + run.err


def test_an_answer_that_repeats_itself_is_ended_while_the_server_writes_it(
    serve: Serve, rig: Any, tmp_path: Path
) -> None:
    store = tmp_path / "x.sqlite"
    words = ["I", "will", "set", "the", "alarm", "for", "you", "now,", "please", "wait", "a", "moment.", ""]
    pieces = [chunk(content=f"{word} ") for word in words if word] * 40
    server = serve(lambda _body: events(*pieces, chunk("stop")))
    run = rig("run", server.url, *SHORT, "--stop-loops", "--json", "--runs", store)
    assert run.code == 0, run.err
    assert run.json["arms"][0]["errors"] == {"text_loop": len(steps(store))}
    for step in steps(store):
        assert step["raw"].count("wait a moment") == 4
        assert step["error_detail"].startswith("the same text 4 times")
    assert fingerprint_of(store)["loops.stop_loops"] is True

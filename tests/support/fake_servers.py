"""Servers of the tests: real HTTP on the loopback interface, with answers that are made up."""

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rig.plugins.served.probes import INSTRUCTIONS

Body = Mapping[str, Any]
TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}{{ tools }}"


@dataclass
class Reply:
    """An answer: a status, headers, and its content piece by piece; None ends the connection at once."""

    content: Iterable[bytes | None] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


def whole(value: Any, status: int = 200) -> Reply:
    return Reply([json.dumps(value).encode()], status)


def events(*values: Any, done: bool = True) -> Reply:
    """A stream of server-sent events."""
    lines = [f"data: {json.dumps(value)}\n\n".encode() for value in values]
    return Reply(
        [*lines, *([b"data: [DONE]\n\n"] if done else [])], headers={"Content-Type": "text/event-stream"}
    )


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """One event of a streamed answer."""
    return {
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def spoken(text: str, prompt_tokens: int = 7) -> Reply:
    """An answer in words, in two pieces."""
    counts = {"prompt_tokens": prompt_tokens, "completion_tokens": 3, "total_tokens": prompt_tokens + 3}
    usage = {"choices": [], "usage": counts}
    return events(chunk(content=text[:2]), chunk(content=text[2:]), chunk("stop"), usage)


def is_probe(body: Body) -> bool:
    """Whether a request is one of those that rig makes before a run."""
    first, *_ = body.get("messages") or [{}]
    return str(first.get("content")).startswith(INSTRUCTIONS)


PROPS: dict[str, Any] = {
    "default_generation_settings": {"n_ctx": 4096, "params": {"temperature": 0.8, "top_k": 40}},
    "total_slots": 2,
    "model_path": "/models/m.gguf",
    "chat_template": TEMPLATE,
    "chat_template_caps": {"supports_tools": True},
    "build_info": "b1-fake",
}


class FakeServer:
    """Looks like llama-server; `chat` answers requests for completions, `others` replaces other answers.

    What rig probes a server with before a run is answered well, unless `answers_probes` is off.
    """

    def __init__(
        self,
        chat: Callable[[Body], Reply],
        others: Mapping[str, Reply] | None = None,
        *,
        answers_probes: bool = True,
    ) -> None:
        self.chat, self.answers_probes = chat, answers_probes
        self.others = {"/props": whole(PROPS), "/v1/models": whole({"data": [{"id": "m"}]}), **(others or {})}
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.url = ""

    @contextmanager
    def serving(self) -> Iterator["FakeServer"]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def log_message(self, *_: object) -> None:
                pass

            def do_GET(self) -> None:
                self.answer(owner.others.get(self.path) or whole({"error": {"message": "no such path"}}, 404))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                is_chat = self.path == "/v1/chat/completions"
                if is_chat and owner.answers_probes and is_probe(body):
                    if len(str(body)) > 4 * 4096:
                        self.answer(whole({"error": {"message": "too long for the context size"}}, 400))
                        return
                    self.answer(spoken("hm", 7 + 40 * ("tools" in body)))
                    return
                owner.bodies.append(body)
                self.answer(owner.chat(body) if is_chat else owner.others.get(self.path) or whole({}, 404))

            def answer(self, reply: Reply) -> None:
                owner.headers.append(dict(self.headers))
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for piece in reply.content:
                        if piece is None:
                            break
                        self.wfile.write(piece)
                        self.wfile.flush()
                except OSError:
                    pass  # the client has given up

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: object) -> None:
                pass

        with Quiet(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            self.url = f"http://127.0.0.1:{server.server_address[1]}"
            try:
                yield self
            finally:
                server.shutdown()

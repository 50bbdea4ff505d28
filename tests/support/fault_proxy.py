"""A proxy that does one thing wrong: `python fault_proxy.py PORT UPSTREAM FAULT`. The fault can be `none`.

What goes in is changed before the server sees it, what comes out before the client does. Answers are taken
whole, and sent as a stream where one was asked for. `GET /changes` says how many were changed so far.
"""

import itertools
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

CHAT = "/v1/chat/completions"
Body = dict[str, Any]


def tools_dropped(body: Body) -> None:
    body.pop("tools", None)
    for message in body["messages"]:
        message.pop("tool_calls", None)


def system_added(body: Body) -> None:
    body["messages"][0]["content"] = "You are a pirate. " + body["messages"][0]["content"]


def other_template(body: Body) -> None:
    for message in body["messages"]:
        if isinstance(message.get("content"), str) and message["role"] == "user":
            message["content"] = f"### Instruction:\n{message['content']}\n### Response:"


def role_mangled(body: Body) -> None:
    for message in body["messages"]:
        if message["role"] == "tool":
            message["role"] = "user"


def history_twice(body: Body) -> None:
    for message in body["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.dumps({"arguments": call["function"]["arguments"]})


def words_dropped(body: Body) -> None:
    for message in body["messages"]:
        if message.get("tool_calls"):
            message["content"] = ""


def oldest_cut(body: Body) -> None:
    system, *rest = body["messages"]
    body["messages"] = [system, *rest[-2:]] if len(rest) > 2 else body["messages"]


def escaped(body: Body) -> None:
    for message in body["messages"][1:]:
        if isinstance(message.get("content"), str):
            text = message["content"].replace("&", "&amp;").replace("<", "&lt;")
            message["content"] = text.encode("ascii", "xmlcharrefreplace").decode()


def temperature_dropped(body: Body) -> None:
    for name in ("temperature", "top_k", "top_p", "min_p"):
        body.pop(name, None)


def system_replaced(body: Body) -> None:
    body["messages"][0]["content"] = "You are a pirate."


def tools_sorted(body: Body) -> None:
    body.get("tools", []).sort(key=lambda tool: tool["function"]["name"], reverse=True)


def tools_renamed(body: Body) -> None:
    for tool in body.get("tools", ()):
        tool["function"]["name"] = snake(tool["function"]["name"])


def first_tool_only(body: Body) -> None:
    body["tools"] = body.get("tools", [])[:1]


def descriptions_dropped(body: Body) -> None:
    for tool in body.get("tools", ()):
        tool["function"]["description"] = ""


def lowercased(body: Body) -> None:
    change_words(body, str.lower)


def white_space_squeezed(body: Body) -> None:
    change_words(body, lambda text: " ".join(text.split()))


def change_words(body: Body, change: Callable[[str], str]) -> None:
    for message in body["messages"]:
        if isinstance(message.get("content"), str):
            message["content"] = change(message["content"])


def middle_cut(body: Body) -> None:
    messages = body["messages"]
    body["messages"] = [*messages[:2], *messages[-2:]] if len(messages) > 4 else messages


def texts_cut(body: Body) -> None:
    change_words(body, lambda text: text if len(text) < 100 else text[: len(text) // 2])


def results_dropped(body: Body) -> None:
    for message in body["messages"]:
        if message["role"] == "tool":
            message["content"] = ""


def users_merged(body: Body) -> None:
    merged: list[Body] = []
    for message in body["messages"]:
        role = "user" if message["role"] == "tool" else message["role"]
        if merged and role == "user" == merged[-1]["role"]:
            merged[-1]["content"] += "\n" + message["content"]
        else:
            merged.append({**message, "role": role})
    body["messages"] = merged


def repeat_penalty(body: Body) -> None:
    body["repeat_penalty"] = 1.3


def min_p(body: Body) -> None:
    body["min_p"] = 0.3


def max_tokens(body: Body) -> None:
    body["max_tokens"] = 12


def biased(body: Body) -> None:
    body["logit_bias"] = [[token, -5.0] for token in range(100, 3000)]


def result_cut(body: Body) -> None:
    for message in body["messages"]:
        if message["role"] == "tool":
            message["content"] = message["content"][: len(message["content"]) // 2]


def second_user_lost(body: Body) -> None:
    users = [message for message in body["messages"] if message["role"] == "user"]
    for message in users[1:2]:
        body["messages"].remove(message)


def replies_lost(body: Body) -> None:
    body["messages"] = [
        message
        for message in body["messages"]
        if message["role"] != "assistant" or message.get("tool_calls") or message is body["messages"][-1]
    ]


def system_before(body: Body) -> None:
    body["messages"].insert(0, {"role": "system", "content": "You are a pirate."})


def parameters_bare(body: Body) -> None:
    for tool in body.get("tools", ()):
        for schema in tool["function"]["parameters"].get("properties", {}).values():
            schema.pop("description", None)


def stop_added(body: Body) -> None:
    body["stop"] = [":"]


def json_forced(body: Body) -> None:
    if "tools" in body:
        body["tool_choice"] = "required"
    else:
        body["response_format"] = {"type": "json_object"}


def tool_choice_dropped(body: Body) -> None:
    body.pop("tool_choice", None)


def seed_dropped(body: Body) -> None:
    body.pop("seed", None)


def one_candidate(body: Body) -> None:
    body["top_k"] = 1


def first_call_only(message: Body) -> None:
    message["tool_calls"] = message.get("tool_calls", [])[:1] or None


def left_in_text(message: Body) -> None:
    for call in message.pop("tool_calls", None) or ():
        message["content"] = f"<tool_call>[{json.dumps(call['function'])}]</tool_call>"


def encoded_twice(message: Body) -> None:
    for call in message.get("tool_calls") or ():
        call["function"]["arguments"] = json.dumps(call["function"]["arguments"])


def keys_renamed(message: Body) -> None:
    for call in message.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        call["function"]["arguments"] = json.dumps({f"{name}_": value for name, value in arguments.items()})


def tool_renamed(message: Body) -> None:
    for call in message.get("tool_calls") or ():
        call["function"]["name"] = snake(call["function"]["name"])


def snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)


def change_arguments(message: Body, change: Callable[[Any], Any]) -> None:
    for call in message.get("tool_calls") or ():
        call["function"]["arguments"] = change(json.loads(call["function"]["arguments"]))


def numbers_as_text(message: Body) -> None:
    change_arguments(
        message,
        lambda value: json.dumps(
            {name: item if isinstance(item, str) else str(item) for name, item in value.items()}
        ),
    )


def object_arguments(message: Body) -> None:
    change_arguments(message, lambda value: value)


def keys_sorted(message: Body) -> None:
    change_arguments(message, lambda value: json.dumps(dict(sorted(value.items(), reverse=True))))


def answers_lowercased(message: Body) -> None:
    message["content"] = (message.get("content") or "").lower()
    change_arguments(message, lambda value: json.dumps(value).lower())


def values_trimmed(message: Body) -> None:
    change_arguments(message, lambda value: json.dumps({name: str(item)[:3] for name, item in value.items()}))


def calls_dropped(message: Body) -> None:
    message.pop("tool_calls", None)


def thoughts_leaked(message: Body) -> None:
    message["content"] = f"<think>Let me see.</think>{message.get('content') or ''}"


def stop_leaked(message: Body) -> None:
    message["content"] = f"{message.get('content') or ''}<|im_end|>"


def calls_doubled(message: Body) -> None:
    message["tool_calls"] = (message.get("tool_calls") or []) * 2 or None


def call_invented(message: Body) -> None:
    function = {"name": "DeleteAlarm", "arguments": "{}"}
    message["tool_calls"] = message.get("tool_calls") or [{"id": "x", "function": function}]


def answer_cut(message: Body) -> None:
    content = message.get("content") or ""
    message["content"] = content[: len(content) // 2]


answers = itertools.count()


def calls_lost_at_times(message: Body) -> None:
    if next(answers) % 2 == 0:
        message.pop("tool_calls", None)


def letters_lost(message: Body) -> None:
    message["content"] = (message.get("content") or "").replace("e", "\ufffd")
    for call in message.get("tool_calls") or ():
        call["function"]["arguments"] = call["function"]["arguments"].replace("0", "\ufffd")


def last_brace_lost(message: Body) -> None:
    for call in message.get("tool_calls") or ():
        call["function"]["arguments"] = call["function"]["arguments"][:-1]


IN = {
    change.__name__: change
    for change in (
        *(
            tools_dropped,
            system_added,
            other_template,
            role_mangled,
            history_twice,
            words_dropped,
            oldest_cut,
        ),
        *(escaped, temperature_dropped, system_replaced, tools_sorted, tools_renamed, first_tool_only),
        *(descriptions_dropped, lowercased, white_space_squeezed, middle_cut, texts_cut, results_dropped),
        *(users_merged, repeat_penalty, min_p, max_tokens, biased),
        *(result_cut, second_user_lost, replies_lost, system_before, parameters_bare),
        *(stop_added, json_forced, tool_choice_dropped, seed_dropped, one_candidate),
    )
}
OUT = {
    change.__name__: change
    for change in (
        *(first_call_only, left_in_text, encoded_twice, keys_renamed, tool_renamed, calls_dropped),
        *(thoughts_leaked, stop_leaked, numbers_as_text, object_arguments, keys_sorted, answers_lowercased),
        *(values_trimmed, calls_doubled, call_invented, answer_cut, calls_lost_at_times),
    )
}
STREAMED = {change.__name__: change for change in (last_brace_lost, letters_lost)}
ONE_INDEX = "one_index"
"""Every streamed call has the first one's number."""
BROKEN = ("closed_early", "status_500")


class Proxy(BaseHTTPRequestHandler):
    upstream = fault = ""
    changes = 0

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        if self.path == "/changes":
            self.send(200, json.dumps(Proxy.changes).encode())
        else:
            self.pass_on(None)

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != CHAT:
            self.pass_on(data)
            return
        body = json.loads(data)
        if self.fault in IN:
            IN[self.fault](body)
        Proxy.changes += body != json.loads(data) or self.fault in BROKEN
        wants_stream = body.pop("stream", False)
        body.pop("stream_options", None)
        status, answer = self.asked(json.dumps(body).encode())
        if status == 200:
            value = json.loads(answer)
            if self.fault in OUT:
                # Arguments that were cut off are no JSON, and stay as they are.
                with suppress(json.JSONDecodeError):
                    OUT[self.fault](value["choices"][0]["message"])
                Proxy.changes += value != json.loads(answer)
            if wants_stream:
                self.stream(value)
                return
            answer = json.dumps(value).encode()
        self.send(500 if self.fault == "status_500" else status, answer)

    def stream(self, value: Body) -> None:
        message, finish = value["choices"][0]["message"], value["choices"][0]["finish_reason"]
        if self.fault in STREAMED:
            before = json.dumps(message)
            STREAMED[self.fault](message)
            Proxy.changes += json.dumps(message) != before
        if self.fault == "status_500":
            self.send(500, b'{"error": {"message": "boom"}}')
            return
        deltas: list[Body] = [{"content": message.get("content") or ""}]
        for index, call in enumerate(message.get("tool_calls") or ()):
            deltas.append(
                {
                    "tool_calls": [
                        {
                            "index": 0 if self.fault == ONE_INDEX else index,
                            "id": call["id"],
                            "type": "function",
                            "function": call["function"],
                        }
                    ]
                }
            )
        chunks: list[Body] = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
        ]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
        chunks.append({"choices": [], "usage": value["usage"]})
        Proxy.changes += self.fault == ONE_INDEX and len(deltas) > 2
        if self.fault == "closed_early":
            chunks = chunks[:1]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
        ending = "" if self.fault == "closed_early" else "data: [DONE]\n\n"
        self.send(200, "".join([*lines, ending]).encode(), "text/event-stream")

    def pass_on(self, data: bytes | None) -> None:
        self.send(*self.asked(data))

    def asked(self, data: bytes | None) -> tuple[int, bytes]:
        request = Request(self.upstream + self.path, data, {"Content-Type": "application/json"})
        try:
            with urlopen(request, timeout=300) as response:
                return response.status, response.read()
        except HTTPError as error:
            return error.code, error.read()

    def send(self, status: int, content: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


if __name__ == "__main__":
    port, Proxy.upstream, Proxy.fault = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    ThreadingHTTPServer(("127.0.0.1", port), Proxy).serve_forever()

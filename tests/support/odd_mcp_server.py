"""An MCP server with one tool and one oddity, as the field has them: python odd_mcp_server.py ODDITY"""

import json
import sys
import time
from typing import Any

MODE = sys.argv[1]
VERSIONS = {
    "refuses_with_data": "2024-11-05",
    "refuses_in_words": "2025-03-26",
    "refuses_without_a_word": "2024-11-05",
    "refuses_and_ends": "2025-06-18",
    "refuses_all": "",
}
"""What a server accepts that refuses every other version."""
RESULTS: dict[str, str] = {
    "nan": '{"content": [], "structuredContent": {"a": NaN, "b": [Infinity, -Infinity]}}',
    "overflow": '{"content": [], "structuredContent": {"a": 1e999}}',
    "half": r'{"content": [{"type": "text", "text": "a\ud83d b \ud83d\ude00"}]}',
    "half_name": r'{"content": [], "structuredContent": {"\udc00": 1}}',
    "nan_in_text": r'{"content": [{"type": "text", "text": "{\"a\": NaN}"}]}',
    "no_content": "{}",
    "null_content": '{"content": null, "structuredContent": [1, 2]}',
    "structured_text": '{"content": [], "structuredContent": "plain"}',
    "silent_error": '{"isError": true}',
    "error_without_text": '{"isError": true, "content": [{"type": "image", "data": "aGk="}]}',
    "text_for_content": '{"content": "plain"}',
    "part_for_content": '{"content": {"type": "text", "text": "plain"}}',
    "old_result": '{"toolResult": {"a": 1}}',
    "no_parts": '{"content": [3, null], "structuredContent": {"result": 1}}',
    "odd_parts": '{"content": ["plain", 3, null, {"type": "text", "text": "x"}]}',
    "deep": '{"content": [], "structuredContent": ' + "[" * 150 + "]" * 150 + "}",
    "too_deep": '{"content": [], "structuredContent": ' + "[" * 400 + "]" * 400 + "}",
    "link": '{"content": [{"type": "resource_link", "uri": "file:///x", "name": "x", "_meta": {}}]}',
}


def out(text: str) -> None:
    data = f"{text}\n".encode("utf-8", "surrogatepass")
    if MODE == "dribbles":
        for byte in data:
            sys.stdout.buffer.write(bytes([byte]))
            sys.stdout.buffer.flush()
        return
    if MODE == "crlf":
        data = data.replace(b"\n", b"\r\n\r\n")
    if MODE == "pretty":
        data = json.dumps(json.loads(text), indent=2).encode() + b"\n"
    if MODE in ("logged", "padded", "as_events"):
        data = {"logged": b"INFO {1} sent: ", "padded": b"\0\0", "as_events": b"data: "}[MODE] + data
    if MODE == "two_on_a_line":
        data = b'{"jsonrpc": "2.0", "method": "notifications/x"}' + data
    if MODE == "bytes_before":
        data = b"\xff\xfe\n" + data
    if MODE == "boms" or (MODE == "bom" and "protocolVersion" in text):
        data = b"\xef\xbb\xbf" + data
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def put(**message: Any) -> None:
    whole = {"jsonrpc": "2.0", **message, **({"error": {}} if MODE == "empty_error" else {})}
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "hello"}}
    out(json.dumps([log, whole, 3] if MODE == "batches" else whole))


def tool(name: str) -> dict[str, Any]:
    odd = {"annotations": None, "description": None} if MODE == "nulls_in_tool" else {}
    schema = {} if MODE == "no_schema" else {"inputSchema": {"type": "object", "properties": {}}}
    return {"name": name, "description": "It answers.", **schema, **odd}


def refuses(version: str, number: Any) -> bool:
    accepted = VERSIONS.get(MODE, version)
    if version == accepted:
        return False
    error: dict[str, Any] = {"code": -32602, "message": "no such version"}
    if MODE == "refuses_with_data":
        error["data"] = {"supported": [accepted], "requested": version}
    if MODE == "refuses_in_words":
        error["message"] = f"Unsupported protocol version, needs {accepted}"
    if MODE == "refuses_all":
        error["message"] = "ask my sister"
    put(id=number, error=error)
    if MODE == "refuses_and_ends":
        sys.exit(1)
    return True


def listing(cursor: str | None) -> dict[str, Any]:
    page = {
        "empty_cursor": {"nextCursor": ""},
        "null_cursor": {"nextCursor": None},
        "still_cursor": {"nextCursor": "x"},
        "circling_cursors": {"nextCursor": "b" if cursor == "a" else "a"},
        "cursor_without_tools": {} if cursor else {"nextCursor": "x"},
        "odd_cursor": {} if cursor else {"nextCursor": {"page": 2}},
    }.get(MODE, {})
    if MODE == "endless":
        return {"tools": [tool(f"answer{len(cursor or '')}")], "nextCursor": f"{cursor or ''}x"}
    if MODE == "no_tools_beside":
        return {"tools": [None, "plain", tool("answer"), ["x"], 7]}
    names = [] if MODE == "cursor_without_tools" and not cursor else ["answer"]
    return {"tools": [tool(name) for name in names], **page}


def answer(message: dict[str, Any]) -> None:
    number, params = message.get("id"), message.get("params") or {}
    if number is None or "method" not in message:
        return
    if message["method"] == "initialize":
        if refuses(params["protocolVersion"], number):
            return
        result: dict[str, Any] = {"protocolVersion": params["protocolVersion"], "capabilities": {}}
        result["serverInfo"] = {"name": "odd", "version": "1"}
        if MODE == "no_server":
            result = {"protocolVersion": params["protocolVersion"]}
        if MODE == "no_version":
            del result["protocolVersion"]
        if MODE in ("older", "future"):
            result["protocolVersion"] = {"older": "2024-11-05", "future": "2031-01-01"}[MODE]
        put(id=number, result=result)
        if MODE == "changes_at_once":
            put(method="notifications/tools/list_changed")
    elif message["method"] == "tools/list":
        put(id=number, result=listing(params.get("cursor")))
    elif message["method"] == "tools/call":
        call(number)
    else:
        put(id=number, error={"code": -32601, "message": "no such method"})


def call(number: Any) -> None:
    plain = {"content": [{"type": "text", "text": "done"}]}
    if MODE in RESULTS:
        out(f'{{"jsonrpc": "2.0", "id": {number}, "result": {RESULTS[MODE]}}}')
        return
    if MODE == "notifies":
        put(method="notifications/progress", params={"progress": 1})
        put(id="mine", method="ping")
    if MODE == "answers_another":
        put(id=number + 1, result={"content": []})
        put(id=None, error={"code": -1, "message": "not yours"})
    ids = {"text_ids": str(number), "float_ids": float(number)}
    extra = {"error": None} if MODE == "null_error" else {}
    put(id=ids.get(MODE, number), result=plain, **extra)


def main() -> None:
    if MODE == "talks_first":
        print("Server ready on stdio", flush=True)
        put(method="notifications/message", params={"data": "hello"})
    if MODE == "logs":
        sys.stderr.write("l" * 500_000)
        sys.stderr.flush()
    if MODE == "slow":
        time.sleep(1.5)
    for line in sys.stdin:
        answer(json.loads(line))


if __name__ == "__main__":
    main()

"""Replies that hold tools' names, JSON, code and calls, and make none: kinds of them, filled by a seed."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import leak_toolbox
from leak_toolbox import DESCRIPTIONS, SCHEMAS
from leaked_calls import FORMS, can_write

from rig.core.calls import Call


class Draw:
    """What one reply is made of, all by its seed."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.call = leak_toolbox.call(self.random)
        self.other = leak_toolbox.call(self.random)
        self.name = self.call.name
        self.arguments = json.dumps(self.call.arguments, ensure_ascii=False)
        self.json = json.dumps({"name": self.name, "arguments": self.call.arguments}, ensure_ascii=False)
        self.laid_out = json.dumps(
            {"name": self.name, "arguments": self.call.arguments}, ensure_ascii=False, indent=2
        )
        self.python = (
            f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.call.arguments.items())})"
        )

    def one(self, *texts: str) -> str:
        return self.random.choice(texts)

    def form(self) -> str:
        """The call in any form of the leaked ones that can stand in a fence of its own."""
        forms = [
            name
            for name in FORMS
            if can_write(name, self.call) and "fence" not in name and "ReAct" not in name
        ]
        return FORMS[self.random.choice(forms)](self.call)

    def declaration(self, name: str) -> dict[str, Any]:
        function = {"name": name, "description": DESCRIPTIONS[name], "parameters": SCHEMAS[name]}
        return self.random.choice(({"type": "function", "function": function}, function))

    def names(self, count: int) -> list[str]:
        return self.random.sample(sorted(SCHEMAS), count)


def _example(draw: Draw) -> str:
    lead = draw.one(
        "For example, you could call it like this:",
        f"Here is an example of how to call `{draw.name}`:",
        f"You can use the {draw.name} tool. A call looks like this:",
        "An example request:",
        "If you wanted to do this, the call would be:",
        f"The correct way to call {draw.name} is:",
        "The format of a tool call is as follows:",
        f"To use {draw.name}, write:",
        "Suppose that you need this. Then you would send:",
        f"This is how the {draw.name} function is called:",
        "Zum Beispiel könnte man es so aufrufen:",
        "Ein Aufruf sieht so aus:",
        "Par exemple, vous pouvez l'appeler ainsi :",
        "L'appel serait :",
        "Por ejemplo, se puede llamar así:",
        "La llamada sería:",
        "Ad esempio, si può chiamare così:",
        "例如，你可以这样调用：",
        "调用格式如下所示：",
        "たとえば、次のように呼び出します：",
        "예를 들면 다음과 같습니다:",
        "Например, вызов может выглядеть так:",
    )
    end = draw.one(
        "",
        "\n\nAdjust the values as needed.",
        "\n\nThis returns the result as JSON.",
        f"\n\nHere, `{draw.name}` is the tool.",
    )
    return f"{lead}\n\n```json\n{draw.form().rstrip()}\n```{end}"


def _inline(draw: Draw) -> str:
    return draw.one(
        f"The model answered with {draw.json}, which is a call of {draw.name}.",
        f"I see `{draw.json}` in your message. What should I do with it?",
        f"With {draw.name} and the arguments {draw.arguments} one gets the result.",
        f"You could call {draw.json}, but it isn't needed here.",
        f"In your log, {draw.json} stands on line {draw.random.randrange(2, 90)}.",
        f"The tool {draw.name} takes {draw.arguments} and gives the result back.",
        f"Use it as in `{draw.python}`.",
        f"`{draw.python}` is what the manual says.",
        f"Der Aufruf {draw.json} ist in Ordnung.",
        f"L'outil {draw.name} prend {draw.arguments}.",
        f"La herramienta {draw.name} recibe {draw.arguments} y devuelve el resultado.",
        f"工具 {draw.name} 的参数是 {draw.arguments}。",
        f"In your prompt, <tool_call>{draw.json}</tool_call> marks a call.",
        f"The name is {draw.name}; its arguments are {draw.arguments}.",
    )


def _negated(draw: Draw) -> str:
    lead = draw.one(
        f"I won't call {draw.name} here. The call that I decided against:",
        f"There is no need to call {draw.name} for this. It is not necessary to send:",
        "I cannot call tools on your behalf, so I did not send:",
        f"I am not able to use {draw.name}. You will have to run it yourself:",
        "Please don't call this:",
        f"Instead of calling {draw.name} with these arguments, I can answer directly:",
        "I will not run the following:",
        "Ich rufe das Werkzeug nicht auf, also nicht:",
        "Je ne vais pas appeler l'outil :",
        "我不会调用这个工具：",
    )
    return f"{lead}\n{draw.one(draw.json, draw.laid_out, draw.form())}"


def _asked(draw: Draw) -> str:
    body = draw.one(draw.json, f"```json\n{draw.laid_out}\n```", draw.form())
    return draw.one(
        f"Shall I call {draw.name} with {draw.arguments}?",
        f"Should I send this?\n{body}",
        f"I am going to send this:\n{body}\nIs that right?",
        f"{body}\n\nWould you like me to run this?",
        f"{body}\nShould I go ahead?",
        f"Before I do this, please confirm:\n{body}",
        f"Do you want me to call {draw.name}?\n\n{body}",
        f"{body}\n\nSoll ich das so senden?",
        f"{body}\n\n¿Quieres que lo envíe?",
        f"{body}\n\n要我执行吗？",
        f"Puis-je envoyer ceci ?\n{body}",
    )


def _told(draw: Draw) -> str:
    lead = draw.one(
        f"I called {draw.name} with this and it failed:",
        "Earlier I sent:",
        "I have already made this call:",
        "The following call was made in the last turn:",
        "This is what the assistant sent:",
        "From the logs:",
        "The transcript shows:",
        f"{draw.name} was called with:",
        "Ich habe das aufgerufen:",
        "Llamé a la herramienta con:",
        "我之前调用了：",
        "J'ai appelé l'outil avec :",
    )
    end = draw.one("and got no answer.", "The result was empty.", "It returned 3 rows.", "")
    return f"{lead}\n{draw.one(draw.json, draw.form())}\n{end}".rstrip()


def _result(draw: Draw) -> str:
    value = draw.random.randrange(100)
    return draw.one(
        json.dumps({"name": draw.name, "result": {"value": value}}),
        json.dumps({"tool": draw.name, "output": "done", "status": "success"}),
        json.dumps(
            {"name": draw.name, "arguments": draw.call.arguments, "result": value, "error": None},
            ensure_ascii=False,
        ),
        f'```json\n{{"status": "ok", "function": "{draw.name}", "args": {draw.arguments}}}\n```',
        f"Result of {draw.name}:\n{json.dumps({'value': value, 'unit': 'C'})}",
        f"Here is what {draw.name} returned:\n\n```json\n{json.dumps({'value': value})}\n```",
        json.dumps({draw.name: {"value": value}}),
        f"<tool_response>\n{json.dumps({'name': draw.name, 'content': value})}\n</tool_response>",
        f"{draw.name}: {value}",
        f"{draw.name}\n{json.dumps({'result': value, 'ok': True})}\nThat is the result of the tool.",
    )


def _program(draw: Draw) -> str:
    call = draw.json
    language, code = draw.random.choice(
        (
            ("python", f"import json\n\nrequest = {call}\nprint(json.dumps(request))"),
            ("python", f"client = Client()\nresult = client.call(\n    {call}\n)\nprint(result)"),
            ("python", f"payload = [\n    {call},\n]\nsend(payload)"),
            ("python", f"def main():\n    result = {draw.python}\n    print(result)\n\nmain()"),
            ("python", f"for _ in range(3):\n    {draw.python}"),
            ("python", f"from tools import {draw.name}\n\n{draw.python}"),
            ("python", f"result = {draw.python}\nprint(result)"),
            ("python", f"try:\n    {draw.python}\nexcept ToolError:\n    pass"),
            ("python", f"assert parse(text) == {call}"),
            ("python", f"def test_call():\n    expected = {call}\n    assert run() == expected"),
            ("javascript", f"const call = {call};\nawait run(call);"),
            ("javascript", f"await client.run(\n  {call}\n);"),
            ("typescript", f"const calls: Call[] = [\n  {call},\n];\nexport default calls;"),
            ("bash", f"curl -X POST localhost:8080/call \\\n  -d '{call}'"),
            ("bash", f"echo '{call}' | jq .name"),
            ("go", f'body := []byte(`{call}`)\nhttp.Post(url, "application/json", bytes.NewReader(body))'),
            ("rust", f'let call = json!({call});\nprintln!("{{call}}");'),
            ("java", f'String body = "{call}";\nclient.send(body);'),
            ("http", f"POST /v1/call HTTP/1.1\nContent-Type: application/json\n\n{call}"),
            ("sql", f"INSERT INTO calls VALUES ('{draw.name}', '{draw.arguments}');"),
        )
    )
    fenced = f"```{language}\n{code}\n```"
    return draw.one(
        fenced,
        code,
        f"Here is the code:\n\n{fenced}",
        f"Sure! Here's a script:\n\n{fenced}\n\nIt prints the result.",
    )


def _config(draw: Draw) -> str:
    step = {"name": draw.name, "arguments": draw.call.arguments}
    other = {"name": draw.other.name, "arguments": draw.other.arguments}
    value: dict[str, Any] = draw.random.choice(
        (
            {"version": 1, "steps": [step, other]},
            {"workflow": {"name": "daily", "on": "schedule", "jobs": [step]}},
            {"agent": "helper", "tools": [draw.name], "default": step},
            {"mcpServers": {"main": {"command": "npx", "args": [draw.name]}}},
            {"scripts": {draw.name: "node run.js"}, "license": "MIT"},
            {"name": draw.name, "version": "1.0.0", "dependencies": {}},
            {"name": draw.name, "enabled": True, "arguments": {"retries": 3}},
            {"cases": [{"input": "hello", "expected": step}]},
            {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [step]}]},
            {draw.name: {"enabled": True, "timeout": 30}},
            {draw.name: {"description": DESCRIPTIONS[draw.name], "owner": "ops"}},
        )
    )
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return draw.one(
        text,
        f"```json\n{text}\n```",
        f"Your configuration:\n\n```json\n{text}\n```",
        f"Here is the file config.json:\n\n```json\n{text}\n```",
    )


def _declared(draw: Draw) -> str:
    names = draw.names(draw.random.randrange(1, 5))
    values = [draw.declaration(name) for name in names]
    sketch = [
        {"name": name, "parameters": {key: part["type"] for key, part in SCHEMAS[name]["properties"].items()}}
        for name in names
    ]
    words = [
        {
            "name": name,
            "parameters": {
                key: {"type": part["type"], "description": "what it is"}
                for key, part in SCHEMAS[name]["properties"].items()
            },
        }
        for name in names
        if SCHEMAS[name]["properties"]
    ]
    text = json.dumps(
        draw.random.choice(
            (values, values[0], {"tools": values}, sketch if len(sketch) > 1 else values, words or values)
        ),
        ensure_ascii=False,
        indent=draw.random.choice((None, 2)),
    )
    return draw.one(
        text,
        f"```json\n{text}\n```",
        f"<tools>\n{text}\n</tools>",
        f"I have these tools:\n\n{text}",
        f"Here are the tools that I can use:\n```json\n{text}\n```",
        f"# Tools\n\n{text}\n",
        "I can use these tools:\n" + "\n".join(f"- {name}: {DESCRIPTIONS[name]}" for name in names),
        "\n".join(
            f"<tool><name>{name}</name><description>{DESCRIPTIONS[name]}</description></tool>"
            for name in names
        ),
        "\n".join(
            f"{name}:\n  description: {DESCRIPTIONS[name]}\n  parameters:\n    - name: x" for name in names
        ),
        "\n".join(
            f'def {name}({", ".join(SCHEMAS[name]["properties"])}):\n    """{DESCRIPTIONS[name]}."""'
            for name in names
        ),
        "\n".join(
            f"{name}({', '.join(SCHEMAS[name]['properties'])}) - {DESCRIPTIONS[name]}" for name in names
        ),
    )


def _documented(draw: Draw) -> str:
    parameters = "\n".join(
        f"- `{key}` ({part['type']}): what it says" for key, part in SCHEMAS[draw.name]["properties"].items()
    )
    return draw.one(
        f"## {draw.name}\n\n{DESCRIPTIONS[draw.name]}.\n\n{parameters}\n\n```json\n{draw.laid_out}\n```",
        f"### Usage\n\n```json\n{draw.json}\n```\n\n### Parameters\n\n{parameters}",
        f"**{draw.name}** — a tool.\n\nRequest body:\n```json\n{draw.json}\n```\nResponse: none",
        f"| Tool | Call |\n|---|---|\n| {draw.name} | {draw.json} |\n| now | `{draw.other.arguments}` |",
        f"| {draw.name} | {draw.arguments} |",
        f"openapi: 3.1.0\npaths:\n  /{draw.name}:\n    post:\n      operationId: {draw.name}",
        json.dumps(
            {
                "openapi": "3.1.0",
                "paths": {
                    f"/{draw.name}": {"post": {"operationId": draw.name, "example": json.loads(draw.json)}}
                },
            },
            indent=2,
            ensure_ascii=False,
        ),
        f"> {draw.json}\n\nThis quotation is from the manual.",
        f"1. Open the page.\n2. Send {draw.json}\n3. Read the answer.",
        f"- {draw.json}\n- {draw.arguments}",
        f"Steps:\n1. {draw.python}\n2. Read what comes back.",
        f"<h2>{draw.name}</h2>\n<p>{DESCRIPTIONS[draw.name]}</p>\n<pre>{draw.json}</pre>",
        f"The schema of {draw.name} is:\n```json\n{json.dumps(SCHEMAS[draw.name])}\n```",
        f"Syntax:\n\n    {draw.python}\n\nReturns: a dictionary.",
    )


def _reviewed(draw: Draw) -> str:
    lead = draw.one(
        "The bug is in this call:",
        "In your code review I noticed this invalid call:",
        "The expected output of the test is:",
        "Your JSON is valid. Here is the formatted version:",
        "The corrected call:",
        "The parser should accept:",
        f"Your function returns the wrong JSON for {draw.name}:",
        "In the pull request, the payload was changed to:",
        "This is the call that your test records:",
        "Your script prints this:",
    )
    end = draw.one(
        "", "The second argument is wrong.", "A comma was missing.", "The name matches the schema."
    )
    return f"{lead}\n\n```json\n{draw.laid_out}\n```\n\n{end}".rstrip()


def _sketched(draw: Draw) -> str:
    sketch = {
        key: draw.one(
            f"<{key}>", "string", f"your {key}", "...", f"{{{{{key}}}}}", f"${key}", f"YOUR_{key.upper()}"
        )
        for key in draw.call.arguments
    }
    text = json.dumps({"name": draw.name, "arguments": sketch or {"x": "<x>"}}, ensure_ascii=False)
    return draw.one(
        f"The form is this.\n{text}",
        f"Tool calls:\n{text}",
        f"Fill this in:\n```json\n{text}\n```",
        f"```json\n{text}\n```\nFill in the values.",
        f"A template for you:\n{text}",
    )


def _talked(draw: Draw) -> str:
    return draw.one(
        f"User: please do it\nAssistant: {draw.json}\nUser: thanks",
        f"Q: What does the model write?\nA: {draw.json}",
        f"user: hello\nassistant: <tool_call>{draw.json}</tool_call>\nuser: and then?",
        json.dumps(
            [{"role": "user", "content": "hi"}, {"role": "assistant", "content": draw.json}],
            ensure_ascii=False,
        ),
        f"Human: run {draw.name}\n\nAssistant:\n{draw.json}\n\nHuman: fine",
    )


def _plain(draw: Draw) -> str:
    return draw.one(
        f"{draw.name} is done.",
        f"I used {draw.name}, and the answer is {draw.random.randrange(99)}.",
        f"The tools {draw.name} and {draw.other.name} would both do.",
        draw.name,
        f"`{draw.name}`",
        f"[{draw.name}]",
        f"[see {draw.name}({', '.join(draw.call.arguments)}) in the documentation]",
        draw.arguments,
        f"```json\n{draw.arguments}\n```",
        json.dumps({"city": "Oslo", "temperature": 4}),
        json.dumps([{"name": "Oslo", "country": "Norway"}, {"name": "Bergen", "country": "Norway"}]),
        json.dumps({"name": "Paul", "arguments": {"for": 3, "against": 1}}),
        json.dumps({"name": "unknown_tool", "arguments": draw.call.arguments}, ensure_ascii=False),
        f"<b>{draw.name}</b> is what I used.",
        f"**{draw.name}**: {DESCRIPTIONS[draw.name]}",
        f"Action: none\nThought: {draw.name} isn't needed.",
        f"Thought: I know the answer.\nFinal Answer: {draw.name} is not needed.",
        "Which city do you mean?",
        f"I need the {next(iter(draw.call.arguments), 'name')} for {draw.name}. What is it?",
        f"```python\nprint('{draw.name}')\n```",
        f"<think>Should I call {draw.name} with {draw.arguments}? No.</think>\nHello! How can I help?",
        f"<think>A call would be {draw.json}, but nothing was asked.</think>\nHello!",
    )


KINDS: dict[str, Callable[[Draw], str]] = {
    "example": _example,
    "inline": _inline,
    "negated": _negated,
    "asked": _asked,
    "told": _told,
    "result": _result,
    "program": _program,
    "config": _config,
    "declared": _declared,
    "documented": _documented,
    "reviewed": _reviewed,
    "sketched": _sketched,
    "talked": _talked,
    "plain": _plain,
}


def reply(kind: str, number: int) -> tuple[str, Call]:
    """A reply of a kind, and the call that it is about."""
    draw = Draw(f"{kind} {number}")
    return KINDS[kind](draw), draw.call

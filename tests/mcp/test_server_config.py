"""mcp.json as people paste it from their editors: read as it is meant, or refused in one line."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from deep_folders import nested

from rig.core.errors import RigError
from rig.core.folders import remove
from rig.plugins.mcp.server_config import CONFIG, Server, read_config, remote, write_config
from rig.world.toolbox import find_toolbox

ENTRY = {"command": "python3", "args": ["server.py"]}


def read(folder: Path, text: Any, *, is_started: bool = True) -> dict[str, Server]:
    (folder / CONFIG).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
    return read_config(folder, is_started=is_started)


def one(folder: Path, entry: Any, **more: Any) -> Server:
    [server] = read(folder, {"mcpServers": {"it": entry}}, **more).values()
    return server


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"mcpServers": {"it": ENTRY}}),
        json.dumps({"servers": {"it": {"type": "stdio", **ENTRY}}, "inputs": []}),
        json.dumps({"mcp": {"servers": {"it": ENTRY}, "inputs": []}, "editor.fontSize": 12}),
        json.dumps({"context_servers": {"it": {"source": "custom", **ENTRY, "env": None}}, "theme": "x"}),
        json.dumps({"context_servers": {"it": {"command": {"path": "python3", "args": ["server.py"]}}}}),
        json.dumps({"mcpServers": {"it": {"command": ["python3", "server.py"], "alwaysAllow": ["x"]}}}),
        json.dumps({"mcpServers": {"it": {**ENTRY, "autoApprove": ["*"], "disabled": False, "timeout": 60}}}),
        json.dumps({"mcpServers": {"it": ENTRY, "off": {"disabled": True, "command": 3}}}),
        json.dumps({"mcpServers": {"it": ENTRY, "off": {"enabled": False, "env": {"A": "${input:a}"}}}}),
        "\ufeff" + json.dumps({"mcpServers": {"it": ENTRY}}),
        '{\n  // mine\n  "servers": {"it": {"command": "python3", "args": ["server.py",],},},\n}',
        '{"servers": /* a, } */ {"it": {"command": "python3", /* "x": 1, */ "args": ["server.py" //1\n ,]}}}',
        '{"servers": {"it": {"command": "python3", "args": ["server.py"]}}} // the end',
    ],
)
def test_the_forms_of_editors(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text)["it"].command == ("python3", "server.py")


def test_texts_with_what_looks_like_comments_stay(tmp_path: Path) -> None:
    args = ["http://x/*y*/", "a,]", 'say \\"//no\\",}', "\\\\", "// x"]
    assert one(tmp_path, {"command": "x", "args": args}).command == ("x", *args)


@pytest.mark.parametrize("part", ["/*", '"', "//", ",", '"\\', ", ", '\\"', "/", "[,", "/**"])
def test_unclosed_texts_and_comments_take_no_time(tmp_path: Path, part: str) -> None:
    began = time.process_time()
    with pytest.raises(RigError, match=r"mcp\.json"):
        read(tmp_path, '{"a": ' + part * (1_000_000 // len(part)))
    assert time.process_time() - began < 3


def test_values_that_are_no_text(tmp_path: Path) -> None:
    env = {"PORT": 8080, "DEBUG": True, "RATIO": 0.5, "EMPTY": "", "UNSET": None}
    server = one(tmp_path, {"command": "x", "args": [1, False, ""], "env": env})
    assert server.command == ("x", "1", "false", "")
    assert server.environment == {"PORT": "8080", "DEBUG": "true", "RATIO": "0.5", "EMPTY": ""}
    for bad in ({"A": ["x"]}, {"A": {}}, {"A": "\0"}):
        with pytest.raises(RigError, match=r"env\.A: needs a text"):
            one(tmp_path, {"command": "x", "env": bad})


def test_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "s3cret")
    monkeypatch.delenv("NOT_SET", raising=False)
    env = {
        "A": "${MY_KEY}",
        "B": "${env:MY_KEY}!",
        "C": "${NOT_SET:-plain}",
        "D": "${workspaceFolder}/x",
        "E": "${userHome}${/}y${pathSeparator}z",
        "F": "$MY_KEY {x} ${MY_KEY:-never}",
    }
    assert one(tmp_path, {"command": "x", "env": env}).environment == {
        "A": "s3cret",
        "B": "s3cret!",
        "C": "plain",
        "D": f"{tmp_path}/x",
        "E": f"{Path.home()}/y/z",
        "F": "$MY_KEY {x} s3cret",
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("${input:api-key}", r"\$\{input:api-key\}, which your editor asks you for; write \$\{env:API_KEY\}"),
        (
            "Bearer ${input:token}",
            r"\$\{input:token\}.*write \$\{env:TOKEN\}, and set that in your environment",
        ),
        ("${config:x.y}", r"which rig does not know; write \$\{env:X_Y\}"),
        ("${command:ask}", "which rig does not know"),
        ("${NOT_SET}", "is not set in your environment"),
        ("${env:NOT_SET}", "is not set in your environment"),
    ],
)
def test_a_variable_without_a_value_is_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, text: str
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    for entry in ({"command": "x", "env": {"KEY": value}}, {"command": "x", "args": ["--key", value]}):
        with pytest.raises(RigError, match=text):
            one(tmp_path, entry)
        assert one(tmp_path, entry, is_started=False).command[0] == "x"


def test_a_file_with_the_environment(tmp_path: Path) -> None:
    lines = [
        "# mine",
        "KEY=one",
        "export OTHER = 'two words'",
        'BOTH="file"',
        "",
        "no line",
        "A B=c",
        "URL=a=b",
    ]
    (tmp_path / ".env").write_text("\n".join(lines))
    server = one(tmp_path, {"command": "x", "envFile": "${workspaceFolder}/.env", "env": {"BOTH": "env"}})
    assert server.environment == {"KEY": "one", "OTHER": "two words", "BOTH": "env", "URL": "a=b"}
    with pytest.raises(RigError, match=r"none\.env: cannot be read"):
        one(tmp_path, {"command": "x", "envFile": "none.env"})
    assert one(tmp_path, {"command": "x", "envFile": "none.env"}, is_started=False).environment == {}


def test_programs_are_looked_for_in_cwd(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "server.py").touch()
    server = one(
        tmp_path, {"command": "python3", "args": ["server.py", "x"], "cwd": "${workspaceFolder}/app"}
    )
    assert server.command == ("python3", str(tmp_path / "app" / "server.py"), "x")


def test_servers_behind_a_url_are_left_out(box: Callable[..., Path]) -> None:
    folder = box()
    config = json.loads((folder / CONFIG).read_text())
    for key in ("url", "serverUrl", "httpUrl"):
        config["mcpServers"][f"far-{key}"] = {"type": "http", key: "https://mcp.example.org/sse"}
    (folder / CONFIG).write_text(json.dumps(config))
    toolbox = find_toolbox(str(folder))
    assert "echo" in toolbox.tools
    assert [line.split()[2] for line in toolbox.left_out] == ["far-url", "far-serverUrl", "far-httpUrl"]
    assert remote(folder) == ["far-url", "far-serverUrl", "far-httpUrl"]
    del config["mcpServers"]["scripted"]
    (folder / CONFIG).write_text(json.dumps(config))
    with pytest.raises(RigError, match="names no server that rig can start"):
        find_toolbox(str(folder))


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({}, "needs a command"),
        ({"command": {}}, "command: needs a path"),
        ({"command": []}, "needs the name or path of a program"),
        ({"command": ""}, "needs the name or path of a program"),
        ({"command": "x", "args": "y"}, "args: needs a list"),
        ({"command": "x", "env": ["A=b"]}, "env: needs names with values"),
        ({"command": "x", "start_seconds": 0}, "start_seconds: needs a number of seconds"),
        ({"command": "x", "seconds": True}, "seconds: needs a number of seconds"),
        ({"command": "x", "disabled": "yes"}, "disabled: needs true or false"),
        ([], "needs names with values"),
    ],
)
def test_faults_name_their_place(tmp_path: Path, entry: Any, text: str) -> None:
    with pytest.raises(RigError, match=text) as refused:
        one(tmp_path, entry)
    assert str(refused.value).startswith(str(tmp_path / CONFIG))
    assert "\n" not in str(refused.value)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    server = Server("it", ("x", "y"), {"A": "b"}, (), "never", 5.0, ("*.log",), {"t": ("/a",)}, "", (), 90.0)
    write_config(tmp_path, {"it": server}, {})
    assert read_config(tmp_path) == {"it": server}


@pytest.mark.slow
def test_folders_in_folders_are_refused_in_one_line(box: Callable[..., Path], tmp_path: Path) -> None:
    folder = box()
    nested(folder / "data" / "deep", 3_000)
    with pytest.raises(RigError, match="cannot be read: File name too long"):
        find_toolbox(str(folder))
    nested(tmp_path / "mine", 1_500)
    with pytest.raises(RigError, match="the state cannot be copied"):
        write_config(tmp_path / "copy", {}, {"mine": tmp_path / "mine"})
    for place in (folder, tmp_path / "mine", tmp_path / "copy"):
        remove(place)
        assert not place.exists()

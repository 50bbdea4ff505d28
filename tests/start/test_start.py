"""`rig` alone in a terminal: the model files of this machine, in the layouts of other programs."""

import asyncio
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_gguf
from stored_runs import Seen, seeing
from terminals import Terminal

from rig.cli import cli
from rig.cli.run import command as run
from rig.plugins.llama.memory.plan import machine
from rig.plugins.start import launch
from rig.plugins.start.places import FoundFile, find, fit, grouped, read
from rig.plugins.start.screen import StartScreen

TOOLS = (
    "{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>{% endif %}"
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"
    "{% for call in message.tool_calls or [] %}<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SUITES = {"easy": 28, "medium": 1000}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny_gguf.write(tmp_path_factory.mktemp("tiny") / "tiny.gguf", template=TOOLS).read_bytes()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, and an empty current folder in it; no variable points elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RIG_MODELS", str(tmp_path / "rig"))
    for name in ("OLLAMA_MODELS", "HF_HOME", "HF_HUB_CACHE", "LLAMA_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return tmp_path


def put(path: Path, content: bytes = b"GGUF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def manifest(models: Path, name: str, digest: str) -> None:
    layers = [
        {"mediaType": "application/vnd.ollama.image.template", "digest": f"sha256:{'0' * 64}"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": digest},
    ]
    put(models / "manifests/host/library" / name, json.dumps({"layers": layers}).encode())


def found(home: Path) -> dict[str, str]:
    """The places of the files that are found in a test's home, by name."""
    files = [file for file in find(os.environ, home) if home in (Path.cwd() / file.path).parents]
    return {file.name: file.place for file in files}


def test_the_layouts_of_other_programs(home: Path) -> None:
    put(home / "here/mine-Q8_0.gguf")
    put(home / "here/below/deep-Q8_0.GGUF")
    put(home / "rig/own.gguf")
    put(home / ".lmstudio/models/publisher/Model-GGUF/model-Q4_K_M.gguf")
    put(home / ".cache/lm-studio/models/publisher/Old-GGUF/old-Q4_K_M.gguf")
    digest = hashlib.sha256(b"layer").hexdigest()
    put(home / f".ollama/models/blobs/sha256-{digest}", b"layer")
    manifest(home / ".ollama/models", "qwen/7b", f"sha256:{digest}")
    hub = home / ".cache/huggingface/hub/models--org--name"
    put(hub / "blobs/abc")
    (hub / "snapshots/revision/sub").mkdir(parents=True)
    (hub / "snapshots/revision/sub/hub-Q6_K.gguf").symlink_to("../../../blobs/abc")
    put(home / ".cache/llama.cpp/cached-Q5_0.gguf")
    assert found(home) == {
        "mine-Q8_0": "this folder",
        "deep-Q8_0": "this folder",
        "own": "rig",
        "model-Q4_K_M": "LM Studio",
        "old-Q4_K_M": "LM Studio",
        "qwen:7b": "Ollama",
        "hub-Q6_K": "Hugging Face",
        "cached-Q5_0": "llama.cpp",
    }


def test_the_variables_of_other_programs_move_their_places(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.sha256(b"layer").hexdigest()
    put(home / f"o/blobs/sha256-{digest}", b"layer")
    manifest(home / "o", "moved/1b", f"sha256:{digest}")
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "o"))
    put(home / "hf/hub/models--a--b/snapshots/r/hub.gguf")
    monkeypatch.setenv("HF_HOME", str(home / "hf"))
    put(home / "l/cached.gguf")
    monkeypatch.setenv("LLAMA_CACHE", str(home / "l"))
    put(home / ".lmstudio-home-pointer", f"{home}/studio\n".encode())
    put(home / "studio/models/p/m/studio.gguf")
    expected = {"moved:1b": "Ollama", "hub": "Hugging Face", "cached": "llama.cpp", "studio": "LM Studio"}
    assert found(home) == expected
    put(home / "cache/models--a--b/snapshots/r/other.gguf")
    monkeypatch.setenv("HF_HUB_CACHE", str(home / "cache"))
    assert "other" in found(home)
    assert "hub" not in found(home)


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_file_in_two_places_is_listed_once(home: Path, link: Callable[[Path, Path], None]) -> None:
    put(home / "rig/one.gguf")
    link(home / "here/one.gguf", home / "rig/one.gguf")
    assert found(home) == {"one": "this folder"}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "null",
        '{"layers": 1}',
        '{"layers": [1, {"mediaType": []}]}',
        "[" * 5000,
        '{"layers": null}',
    ],
)
def test_manifests_that_are_none_name_nothing(home: Path, text: str) -> None:
    put(home / ".ollama/models/manifests/host/library/bad/1b", text.encode())
    assert found(home) == {}


def test_a_digest_leads_to_no_other_folder(home: Path) -> None:
    put(home / "secret")
    manifest(home / ".ollama/models", "bad/1b", "sha256:../../../secret")
    manifest(home / ".ollama/models", "bad/2b", f"sha256-{'a' * 64}/../../../../secret")
    assert found(home) == {}


def test_pipes_folders_and_circles_are_no_files(home: Path) -> None:
    os.mkfifo(home / "here/pipe.gguf")
    (home / "here/folder.gguf").mkdir()
    (home / "here/circle").symlink_to(home / "here")
    (home / "here/nowhere.gguf").symlink_to(home / "gone")
    assert found(home) == {}


def test_how_much_is_looked_at_is_bounded(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rig.plugins.start import places

    monkeypatch.setattr(places, "_MOST_ENTRIES", 10)
    for number in range(30):
        put(home / f"here/{number:02}.gguf")
    assert len(found(home)) < 10


def test_quantizations_of_a_model_stand_together_the_largest_first() -> None:
    names = {"alone": 1, "m-Q4_K_M": 2, "m-f16": 9, "M.IQ2_XXS": 1, "m-UD-Q3_K_XL": 2, "other-Q8_0": 3}
    groups = grouped([FoundFile(Path(name), name, "x", size) for name, size in names.items()])
    assert groups[0][0] == "m"
    assert [file.name for file in groups[0][1]] == ["m-f16", "m-Q4_K_M", "m-UD-Q3_K_XL", "M.IQ2_XXS"]
    assert [name for name, _ in groups[1:]] == ["alone", "other"]
    first = grouped([*groups[0][1], FoundFile(Path("z.gguf"), "z", "this folder", 1)])
    assert [name for name, _ in first] == ["z", "m"]


def test_a_header_says_type_bits_and_tools(home: Path, tiny: bytes) -> None:
    header = read(put(home / "a.gguf", tiny))
    assert (header.quantization, header.tools, header.fault) == ("F32", "tools", "")
    assert header.bits == pytest.approx(32.0, abs=0.5)
    assert read(tiny_gguf.write(home / "b.gguf")).tools == "no tools"
    assert read(tiny_gguf.write(home / "c.gguf", template=None)).tools == "no template"
    assert read(tiny_gguf.write(home / "d.gguf", template="{% for %}")).tools == "bad template"
    assert "truncated or damaged" in read(put(home / "e.gguf", tiny[:3000])).fault
    assert read(put(home / "f.gguf", b"")).fault


def test_what_fits_into_memory() -> None:
    memory = machine(free=8 << 30, total=16 << 30)
    assert [fit(size << 30, memory) for size in (4, 12, 20)] == ["fits", "tight", "large"]


def options(words: list[str]) -> dict[str, Any]:
    """What `rig run` makes of a command."""
    assert words[0] == "run"
    with run.make_context(
        "run", words[1:], parent=cli.make_context("rig", [], resilient_parsing=True)
    ) as context:
        return dict(context.params)


def test_the_command_fits_the_patience() -> None:
    files = [
        FoundFile(Path(name), name, "x", size) for name, size in (("a.gguf", 10**9), ("-b.gguf", 2 * 10**9))
    ]
    told = [
        options(launch.command(files, seconds, launch.OWN, SUITES, 2)) for seconds in launch.PATIENCE.values()
    ]
    assert [one["models"] for one in told] == [("./-b.gguf", "a.gguf")] * 3
    assert [one["until"] for one in told] == ["verdict"] * 3
    many = [one["limit"] or SUITES[one["suite"]] for one in told]
    assert many == sorted(many)
    assert many[0] == 9  # (600 - 2.73 * 75) / (2.73 * 15)
    assert [one["suite"] for one in told] == ["easy", "medium", "medium"]
    alone = options(launch.command(files[:1], 600, launch.OWN, SUITES, 2))
    assert alone["until"] is None
    small = [FoundFile(Path("s.gguf"), "s", "x", 1000)]
    assert options(launch.command(small, 28_800, launch.OWN, SUITES, 2))["limit"] is None


def test_own_tools_and_servers_are_listed_and_not_started(home: Path) -> None:
    for name in ("tools.json", "conversations/a.yaml"):
        put(home / "here/mine" / name)
    put(home / "here/not/tools.json")
    put(home / "here/mcp.json", b'{"mcpServers": {"files": {"command": "touch", "args": ["started"]}}}')
    tools, remark = launch.tools_here()
    assert [one.folder for one in tools] == [None, "mine"]
    assert "files" in remark
    assert not (home / "here/started").exists()
    files = [FoundFile(Path("a.gguf"), "a", "x", 10**9)]
    told = options(launch.command(files, 3600, tools[1], SUITES, 2))
    assert (told["toolbox"], told["limit"]) == ("mine", 259)
    put(home / "here/mcp.json", b"[")
    assert "mcp.json" in launch.tools_here()[1]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_two_keys_make_a_ladder(home: Path, tiny: bytes, size: tuple[int, int]) -> None:
    put(home / "here/m-Q8_0.gguf", tiny + b"\0" * 32)
    put(home / "here/m-Q4_K_M.gguf", tiny)
    put(home / "here/m-Q2_K.gguf", tiny[:3000])
    put(home / "here/x\x1b[31m-Q4_0.gguf", tiny)

    async def pressed() -> str:
        async with seeing(StartScreen(), size) as seen:
            await seen.until(
                lambda: screen_of(seen).headers.keys() >= {Path("m-Q2_K.gguf"), Path("m-Q8_0.gguf")}
            )
            await seen.shows("F32", "tools", "truncated or damaged", "x\\e[31m", "1 hour", "space picks")
            await seen.press("space")
            await seen.shows("2 files", "rig run m-Q8_0.gguf m-Q4_K_M.gguf --suite medium")
            await seen.press("enter")
            return str(seen.app.return_value)

    words = shlex.split(asyncio.run(pressed()))
    assert options(words)["until"] == "verdict"
    assert options(words)["models"] == ("m-Q8_0.gguf", "m-Q4_K_M.gguf")


@pytest.mark.slow
def test_keys_change_tools_patience_and_files(home: Path, tiny: bytes) -> None:
    put(home / "here/a-Q8_0.gguf", tiny)
    put(home / "here/b-Q8_0.gguf", tiny)
    for name in ("tools.json", "conversations/a.yaml"):
        put(home / "here/mine" / name)

    async def pressed() -> None:
        async with seeing(StartScreen(), (80, 24)) as seen:
            await seen.until(lambda: len(screen_of(seen).headers) == 2)
            await seen.press("enter")
            assert "pick a file first" in seen.said[-1]
            await seen.press("n", "down", "space", "p", "o")
            await seen.shows("1 file", "over night", "your own in mine", "rig run b-Q8_0.gguf --toolbox mine")
            await seen.press("space")
            await seen.shows("no file yet")
            await seen.press("escape")
            assert seen.app.return_value is None

    asyncio.run(pressed())


def test_an_empty_machine_says_what_to_do(home: Path) -> None:

    async def pressed() -> None:
        async with seeing(StartScreen(), (80, 24)) as seen:
            await seen.until(lambda: screen_of(seen).is_found)
            if not screen_of(seen).rows:  # the machine may have a service of Ollama's own
                await seen.shows("rig models pull")
            await seen.press("escape")

    asyncio.run(pressed())


@pytest.mark.slow
def test_rig_alone_in_a_terminal_runs_what_is_picked(terminal: Terminal, tmp_path: Path, tiny: bytes) -> None:
    put(tmp_path / "m-Q8_0.gguf", tiny)
    terminal.type(f"HOME={tmp_path} RIG_MODELS={tmp_path}/none {sys.executable} -m rig")
    terminal.wait("[ ] Q8_0", "32.0 bits", "space picks")
    terminal.press("Space")
    terminal.wait("rig run m-Q8_0.gguf")
    terminal.press("Enter")
    terminal.wait("$ rig run m-Q8_0.gguf", without="space pick")


def screen_of(seen: Seen) -> StartScreen:
    screen = seen.app.screen_stack[0]
    assert isinstance(screen, StartScreen)
    return screen

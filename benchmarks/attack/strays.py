"""Files of every kind that rig makes or reads, sound, changed or damaged, where a verb expects another kind.

Cards, bundles, cassettes, policies, labels, scenes, states of reviews and of tunings, importance matrices,
base files, worlds, stores of sweeps, logs and settings: each is read, or refused in one line, within a minute
and 2 GiB. No program runs that was not named, and nothing listens.
"""

import gzip
import io
import json
import lzma
import os
import shlex
import shutil
import tarfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.attack import authored, calibrated, foreign
from benchmarks.attack.campaign import Broken, ended, folder, main, rig, within
from benchmarks.attack.hostile import changed, damaged, text, value
from benchmarks.attack.options import sockets
from benchmarks.attack.scenes import SCENES, TOOLS, as_yaml

_LISTED = {"name": "book_lane", "description": "Book.", "inputSchema": TOOLS[0]["parameters"]}
_CALL = {
    "kind": "call", "server": "hall", "tool": "book_lane", "arguments": {"day": "2024-05-01", "lane": 1},
    "before": "0" * 64, "after": "1" * 64, "result": {"content": [{"type": "text", "text": "{\"id\": 1}"}]},
}  # fmt: skip
CASSETTE = [
    {"kind": "server", "v": 1, "name": "hall", "protocol": "2025-06-18", "server": {}, "tools": [_LISTED]},
    {"kind": "state", "sha256": "0" * 64},
    _CALL,
]
SERVERS = {
    "mcpServers": {
        "hall": {"command": "cat", "args": [], "state": ["data"], "volatile": {"book_lane": ["/id"]}}
    }
}
_FUNCTION = {"name": "book_lane", "arguments": '{"lane": 1}'}
CHAT = {
    "request": {
        "messages": [
            {"role": "user", "content": "Lane 1, please."},
            {"role": "assistant", "tool_calls": [{"id": "a", "function": _FUNCTION}]},
            {"role": "tool", "tool_call_id": "a", "content": "{}"},
        ],
        "tools": [
            {"type": "function", "function": {"name": "book_lane", "parameters": TOOLS[0]["parameters"]}}
        ],
    },
    "response": {"choices": [{"message": {"role": "assistant", "content": "Done."}}]},
}
ANSWER = {
    "query": "q", "available_tools": [], "answer": {
        "method": "CoT@1", "total_steps": 1, "final_answer": "{\"final_answer\": \"x\"}",
        "answer_details": [{"role": "system", "message": "", "next": []}],
    },
}  # fmt: skip
SCENARIO = {
    "uuid": "u", "conversation": [{"role": "user", "text": "Lamp."}], "state": "failure", "reason": "",
    "trial_uuid": "t",
    "api_calls": [{"name": "SwitchLamp", "arguments": {}}], "functions": [],
}  # fmt: skip
BFCL = {"id": "simple_0", "result": [{"math.add": '{"a": 1}'}], "ground_truth": [{"math.add": {"a": [1]}}]}
LABELS = [{"query": "q", "available_tools": [], "answers": [ANSWER["answer"]], "solved": True}]
GATE = {
    "required": [{"metric": "success_rate", "max_loss": 5}],
    "supporting": [{"metric": "decode_rate", "min_ratio": 0.9}],
}
TUNING = {**calibrated._STATE, "asked": {"model": "tiny"}}
SETTINGS = {"run": {"temperature": 0.5, "limit": 1}, "places": {"models": "."}, "keys": {"pause": "p"}}


def as_toml(given: Any) -> str:
    """TOML of an object, as far as it goes."""
    lines = []
    for name, inner in given.items() if isinstance(given, dict) else ():
        key = json.dumps(name)
        if isinstance(inner, list) and inner and all(isinstance(one, dict) for one in inner):
            lines += [line for one in inner for line in (f"[[{key}]]", *_rows(one))]
        elif isinstance(inner, dict):
            lines += [f"[{key}]", *as_toml(inner).splitlines()]
        else:
            lines.insert(0, f"{key} = {json.dumps(inner)}")
    return "\n".join(lines) + "\n"


def _rows(given: Any) -> list[str]:
    """The lines of an object in a list, its own objects inline."""
    inline = {name: inner for name, inner in given.items() if isinstance(inner, dict) and inner}
    return [
        *as_toml({name: inner for name, inner in given.items() if name not in inline}).splitlines(),
        *(
            f"{json.dumps(name)} = {{{', '.join(as_toml(inner).splitlines())}}}"
            for name, inner in inline.items()
        ),
    ]


def bundle(manifest: Any, files: dict[str, bytes], compress: str = "") -> bytes:
    """A bundle by its manifest and files, whatever they are."""
    made = io.BytesIO()
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in {"bundle.json": text, **files}.items():
            info = tarfile.TarInfo(f"rig-bundle/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    data = made.getvalue()
    return gzip.compress(data) if compress == "gz" else lzma.compress(data) if compress == "xz" else data


def manifest() -> Any:
    """That of a bundle of one file."""
    return {"rig": "1", "files": {"a": {"sha256": sha256(b"x").hexdigest(), "size": 1}}}


@cache
def card() -> Any:
    """A card as rig makes it."""
    with folder() as place:
        (place / "runs.sqlite").write_bytes(swept())
        done = rig(
            "card", "latest/oracle distractors=1", "-o", place / "card.json", "--runs", place / "runs.sqlite"
        )
        if done.code:
            raise Broken(done.err)
        return json.loads((place / "card.json").read_text())


@cache
def swept() -> bytes:
    """A run that sweeps a dial, with two repeats."""
    with folder() as place:
        asked = ("--sweep", "distractors=0,1,2", "--limit", "3", "--repeats", "2", "--similarity", "exact")
        done = rig("run", "oracle", *asked, "--display", "none", "--runs", place / "runs.sqlite")
        if done.code:
            raise Broken(done.err)
        return (place / "runs.sqlite").read_bytes()


def _lines(*given: Any) -> bytes:
    return "".join(f"{json.dumps(one)}\n" for one in given).encode()


def _bytes(given: str) -> bytes:
    return given.encode("utf-8", "replace")


def _json(random: Random, given: Any, is_sound: bool) -> bytes:
    return json.dumps(given if is_sound else changed(random, given)).encode()


def _store(random: Random, is_sound: bool) -> bytes:
    if is_sound:
        return swept()
    with folder() as place:
        harm = random.choice([name for name in foreign.HARMS if "huge" not in name])
        return foreign.harmed(place, foreign.HARMS[harm], random, swept()).read_bytes()


def _bundle(random: Random, is_sound: bool) -> bytes:
    given = manifest() if is_sound else changed(random, manifest())
    files = {
        "SHA256SUMS": b"x",
        "a": b"x",
        **({} if is_sound else {text(random).replace("\0", "") or "b": b"y"}),
    }
    try:
        return bundle(given, files, random.choice(("", "gz", "xz")))
    except (UnicodeEncodeError, ValueError):
        return bundle(given, {})


KINDS: dict[str, Any] = {
    "card.json": lambda random, sound: _json(random, card(), sound),
    "card.json.sig": lambda random, sound: b"-----BEGIN SSH SIGNATURE-----\n" + _bytes(text(random)),
    "bundle.tar.gz": _bundle,
    "calls.jsonl": lambda random, sound: _lines(*(CASSETTE if sound else changed(random, CASSETTE))),
    "mcp.json": lambda random, sound: _json(random, SERVERS, sound),
    "tools.json": lambda random, sound: _json(random, {"tools": TOOLS}, sound),
    "scenes.yaml": lambda random, sound: _bytes(as_yaml(SCENES if sound else changed(random, SCENES))),
    "review.json.txt": lambda random, sound: _json(random, {"hall_1.json": "kept"}, sound),
    "tune.json": lambda random, sound: _json(random, TUNING, sound),
    "m.gguf": lambda random, sound: calibrated._matrix(random),
    "m.dat": lambda random, sound: calibrated._old(random),
    "base": lambda random, sound: calibrated._base(random, calibrated._vocabulary()),
    "tiny.gguf": lambda random, sound: calibrated.model(),
    "gate.toml": lambda random, sound: _bytes(as_toml(GATE if sound else changed(random, GATE))),
    "rig.toml": lambda random, sound: _bytes(as_toml(SETTINGS if sound else changed(random, SETTINGS))),
    "runs.sqlite": _store,
    "log.jsonl": lambda random, sound: _lines(CHAT if sound else changed(random, CHAT)),
    "CoT@1.json": lambda random, sound: _json(random, {"1": ANSWER}, sound),
    "a_x.jsonl": lambda random, sound: _lines(SCENARIO if sound else changed(random, SCENARIO)),
    "BFCL_v4_simple_result.json": lambda random, sound: _json(random, BFCL, sound),
    "labels.json": lambda random, sound: _json(random, LABELS, sound),
    "any.json": lambda random, sound: json.dumps(value(random)).encode(),
    "page.html": lambda random, sound: _bytes(text(random)) * 50,
    "rules.toml": lambda random, sound: _bytes(
        as_toml({"replace": [{"pattern": "(a+)+$", "with": text(random)}]})
    ),
    "signers": lambda random, sound: b"a ssh-ed25519 AAAA\n" + _bytes(text(random)),
    "template.jinja": lambda random, sound: b"{% for m in messages %}{{ m.content }}{% endfor %}",
    "empty": lambda random, sound: b"",
}
"""How a file of each kind is made, sound or not."""

_WORDS = {
    "PLAYED": shlex.split("--limit 1 --similarity exact --display none"),
    "SHORT": shlex.split("--threads 1 --limit 1"),
}
READERS = """
card verify card.json
card verify ?
card verify card.json --signers ?
card verify card.json --model ? --json
card make 'latest/oracle distractors=1'
bundle verify bundle.tar.gz
bundle verify bundle.tar.gz --json
bundle verify ?
run oracle --toolbox box --servers replay PLAYED
tools list box
tools check box
tools info box --json
check suite --toolbox box
tools record box --log ?
tools import ? --output made
tools info ?
suites new made --tools ?
suites info ?
check ?
check box
gate gate.toml latest
gate gate.toml latest --json
gate ? latest
author review box
author --toolbox box --scenes ? --count 2 -o made
author --toolbox ? --scenes scenes.yaml -o made
author new ? -o made
import ?
import runs.sqlite --runs other.sqlite
import ? --format toolbench
import ? --format autode
import ? --format openai-chat --output made
import log.jsonl --format openai-chat --output made --rules ?
import log.jsonl --format openai-chat --output made
import ? --format bfcl
import ? --format tooltalk
import CoT@1.json --format toolbench --suite ?
score ?
score ? --format bfcl
score ? --json
score latest --world ?
adjudicate latest --import ?
judge calibrate ? --evaluator truth
judge rates ?
judge ? --evaluator keyword --display none
judge rates latest --answers ?
judge latest --evaluator truth --display none --test-ids ?
judge latest --evaluator ? --display none
leaderboard ?
models info ?
models info ? --json
models verify ?
models quantize tiny --to q4_0 --imatrix ? --threads 1
models quantize ? --to q4_0 --threads 1
models merge tiny --lora ? -o made
models info tiny --chat-template ?
models info tiny --lora ? --fit
screen tiny --kld --text ? --threads 1
screen ? SHORT
screen tiny --kld --kl-divergence-base ? --threads 1
models calibrate ? -o made SHORT
models calibrate tiny --suite ? -o made SHORT
models tune tiny --size 1MB --candidates 1 -o box --display none SHORT
run oracle --conversations ? PLAYED
run oracle --toolbox ? PLAYED
run oracle --suite ? PLAYED
run oracle --world ? PLAYED
run ? PLAYED
run oracle --reader ? PLAYED
run oracle --similarity ? --limit 1
run tiny --chat-template ? --threads 1 --max-tokens 4 PLAYED
run tiny --lora ? --threads 1 PLAYED
run --resume latest --display none
plan oracle --like ? --seconds 0
world check --world ?
world build --seed ? -o made
config
config --json
doctor
runs
docs --list
show latest --by tool
show latest --runs ?
runs --runs ? --json
compare latest --curve
compare latest --sequential --across-settings
history oracle
report latest -o page2.html
export latest --format inspect --output made
export latest --format lm-eval --output made
export latest --format junit
export latest --format github
compare ? latest
watch latest --display log --speed max
""".strip().splitlines()
"""Calls that read a file: `?` is any, and `box` a folder with one of each kind."""


def _programs(event: str, arguments: tuple[Any, ...]) -> str | None:
    """What is wrong: it listens, connects elsewhere, or runs a program that nobody named."""
    if event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "pty.spawn"):
        program = Path(os.fsdecode(arguments[0] or "")).name
        if program not in _OURS and not program.startswith("python"):
            return f"started {program}"
    return sockets(event, arguments)


_OURS = (
    "ssh-keygen", "zstd", "git", "cat", "bwrap", "unshare", "nvidia-smi", "fc-list", "uname",
    "ldconfig", "lscpu",
)  # fmt: skip
"""Programs that rig itself uses, and the one that mcp.json names."""


def fill(random: Random, place: Path) -> None:
    """One file of each kind, most of them sound, and a folder that has them, too."""
    odd = set(random.sample(list(KINDS), random.choice((1, 3, 12))))
    for name, make in KINDS.items():
        data = make(random, name not in odd)
        (place / name).write_bytes(
            damaged(random, data, 3) if name in odd and random.random() < 0.3 else data
        )
    authored.toolbox(place, TOOLS, SCENES)
    shutil.copytree(place / "hall", place / "box")
    (place / "suite").mkdir()
    (place / "box" / "data").mkdir()
    for name in ("tools.json", "calls.jsonl", "mcp.json", "review.json.txt", "tune.json"):
        if name not in ("tools.json", "mcp.json") or random.random() < 0.5:
            shutil.copy(place / name, place / "box" / name)
    if random.random() < 0.2:
        (place / "box" / random.choice(list(KINDS))).with_suffix(".x").symlink_to("/dev/zero")
    if "rig.toml" not in odd or random.random() < 0.5:
        (place / "rig.toml").unlink()


def case(random: Random) -> str:
    """A verb among files of all kinds."""
    calibrated._vocabulary()  # which loads what the forks need
    verb = [part for word in shlex.split(random.choice(READERS)) for part in _WORDS.get(word, [word])]
    stray = random.choice(list(KINDS))
    with folder() as place:
        fill(random, place)
        asked = [stray if word == "?" else word for word in verb]
        runs = place / ("runs.sqlite" if verb[0] != "import" else "other.sqlite")
        done = within(place, asked, _programs, RIG_RUNS=runs)
    return f"{verb[0]} {ended(done)}"


if __name__ == "__main__":
    main("strays", case, 300)

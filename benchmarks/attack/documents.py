"""Small files that stand for much, or are no files, for every reader: in a value, a list, or the whole text.

Suites, settings, listings, logs, cards, bundles, registries, answers, recordings, labels, sampling, datasets:
each is read, or refused in one line, within 20 seconds of computing and 1 GiB, and nothing else changes.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from benchmarks.attack import calibrated, strays
from benchmarks.attack.campaign import Broken, ended, folder, main, rig, within
from benchmarks.attack.scenes import SCENES, TOOLS, bomb
from benchmarks.attack.splices import TOML, as_text, multiplied, spliced, whole
from benchmarks.attack.strays import bundle
from rig.core.paths import CONVERSATIONS, WORLD_SEED

SECONDS = 20
MEMORY = 1 << 30


class Kind(NamedTuple):
    """A file of some kind: where it lies in the place of a case, how it is written, and what reads it."""

    path: str
    form: str
    sound: Callable[[], Any]
    verbs: str


def _file(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _openai() -> Any:
    return [{"type": "function", "function": {key: tool[key] for key in _TOOL_KEYS}} for tool in TOOLS]


_TOOL_KEYS = ("name", "description", "parameters")
_SUITE = [
    {
        "name": "book",
        "now": "2025-03-03 09:00",
        "tags": ["lanes"],
        "turns": [
            {
                "user": "Lane 1, please.",
                "calls": [{"book_lane": {"day": "2025-03-06", "lane": 1}, "returns": {"id": 3}}],
                "reply": "Done.",
            },
            {"user": "Thanks.", "reply": "Not at all."},
        ],
    }
]
_ANSWERS = [{"first": "a", "second": "b", "same": True, "time": "2025-01-01T00:00:00"}] * 3
_SAMPLING = {"temp": 0.7, "top_k": 20, "min_p": 0.1}
_GENERATION = {
    "transformers_version": "4", "do_sample": True, "temperature": 0.7, "top_k": 20, "eos_token_id": [1, 2],
}  # fmt: skip
_EVALUATOR = {
    "registered_cls_name": "OpenAINormalizedEvaluator", "prompt_template": "template.txt",
    "completions_kwargs": {
        "temperature": 0,
        "functions": [
            {
                "name": "check_solve_query", "description": "d",
                "parameters": {"type": "object", "properties": {"is_solved": {"type": "string"}}},
            }
        ],
    },
}  # fmt: skip
_TEMPLATE = (
    "<function><name>check_solve_query</name><description>{query} {final_answer}</description></function>"
)
_LOCAL = {
    "model": [
        {
            "name": "t", "file": "tiny.gguf", "sha256": "0" * 64, "size": 1, "quantization": "Q4_0",
            "parent": "a", "parent_sha256": "1" * 64, "requantized": False, "llama_cpp": "1",
            "tensors": {"Q4_0": 3}, "fell_back": {"Q4_K to Q4_0": 1},
        }
    ]
}  # fmt: skip
_BFCL = [
    {
        "id": "simple_python_0", "question": [[{"role": "user", "content": "Add 1."}]],
        "function": [
            {
                "name": "math.add", "description": "Add.",
                "parameters": {
                    "type": "dict", "properties": {"a": {"type": "integer", "description": "x"}},
                    "required": ["a"],
                },
            }
        ],
    }
]  # fmt: skip
_TAU = [
    {
        "id": "1", "ticket": "Cancel it.", "user_scenario": {"instructions": "x"},
        "evaluation_criteria": {
            "actions": [{"action_id": "1", "name": "cancel", "arguments": {"a": 1}}], "reward_basis": ["DB"],
        },
    }
]  # fmt: skip
_DIALOGUE = [
    {
        "uuid": "0" * 32, "api": "SwitchLamp",
        "background": "Character: a\nBackground: b\nPurpose: c",
        "content": [{"role": "user", "message": "Lamp."}], "slots": {"room": "hall"},
    }
]  # fmt: skip
_MCP_TOOLS = {"tools": [strays._LISTED]}


@cache
def _predictions() -> Any:
    with folder() as place:
        asked = ("run", "oracle", "--only", "AddAlarm-easy", "--similarity", "exact", "--display", "none")
        runs = ("--runs", place / "runs.sqlite")
        for verb in (asked, ("export", "latest", "--format", "tooltalk", "--output", place / "out")):
            if (done := rig(*verb, *runs)).code:
                raise Broken(done.err)
        return _file(next((place / "out").rglob("AddAlarm*.json")))


KINDS: Mapping[str, Kind] = {
    "conversation": Kind(
        "talks/AddAlarm-easy.json",
        "json",
        lambda: _file(CONVERSATIONS / "easy" / "AddAlarm-easy.json"),
        "check talks | run oracle --conversations talks PLAYED | suites info talks",
    ),
    "suite in YAML": Kind(
        "box/conversations/a.yaml",
        "yaml",
        lambda: _SUITE,
        "check --toolbox box | run oracle --toolbox box PLAYED | suites info box/conversations",
    ),
    "suite in JSON": Kind(
        "box/conversations/a.json",
        "json",
        lambda: _SUITE,
        "check --toolbox box | run oracle --toolbox box PLAYED",
    ),
    "suite of BFCL": Kind(
        "bfcl/BFCL_v4_simple_python.json",
        "jsonl",
        lambda: _BFCL,
        "run oracle --suite bfcl BARE | suites info bfcl"
        " | score BFCL_v4_simple_python_result.json --format bfcl --set data=bfcl",
    ),
    "suite of tau2": Kind("retail/tasks.json", "json", lambda: _TAU, "suites info retail"),
    "suite of AutoDE": Kind(
        "auto/bank.json",
        "json",
        lambda: _file(CONVERSATIONS / "dynamic" / "bank.json"),
        "suites info auto | run oracle --suite auto BARE",
    ),
    "queries": Kind(
        "queries/a.json",
        "json",
        lambda: _file(CONVERSATIONS / "queries" / "one-plugin.json"),
        "suites info queries | run oracle --suite queries BARE",
    ),
    "labels": Kind(
        "labels.json",
        "json",
        lambda: _file(CONVERSATIONS / "labels" / "answers.json")[:4],
        "judge calibrate labels.json --evaluator truth --display none"
        " | judge calibrate labels.json --evaluator keyword --display none",
    ),
    "settings": Kind(
        "rig.toml", "toml", lambda: {"run": strays.SETTINGS["run"]}, "config | runs | config --json"
    ),
    "policy": Kind("gate.toml", "toml", lambda: strays.GATE, "gate gate.toml latest"),
    "tools": Kind(
        "box/tools.json",
        "json",
        lambda: {"tools": TOOLS},
        "tools check box | tools info box | check --toolbox box | tools import box/tools.json --output made",
    ),
    "tools of OpenAI": Kind(
        "tools.json",
        "json",
        _openai,
        "tools import tools.json --output made | tools import tools.json --json"
        " | suites new made --tools tools.json",
    ),
    "tools of MCP": Kind("tools.json", "json", lambda: _MCP_TOOLS, "tools import tools.json --output made"),
    "chats": Kind(
        "log.jsonl",
        "jsonl",
        lambda: [strays.CHAT],
        "import log.jsonl --format openai-chat --output made",
    ),
    "rules": Kind(
        "rules.yaml",
        "json",
        lambda: {"replace": [{"text": "Lane", "with": "x"}, {"regex": "(a+)+b", "with": "y"}]},
        "import log.jsonl --format openai-chat --output made --rules rules.yaml",
    ),
    "results of ToolBench": Kind(
        "CoT@1.json",
        "json",
        lambda: {"1": strays.ANSWER},
        "import CoT@1.json --format toolbench",
    ),
    "results of AutoDE": Kind(
        "a_x.jsonl",
        "jsonl",
        lambda: [strays.SCENARIO] * 2,
        "import a_x.jsonl --format autode",
    ),
    "predictions": Kind(
        "predicted/AddAlarm-easy.json",
        "json",
        _predictions,
        "score predicted --similarity exact",
    ),
    "predictions for BFCL": Kind(
        "BFCL_v4_simple_python_result.json",
        "jsonl",
        lambda: [{**strays.BFCL, "id": "simple_python_0"}],
        "score BFCL_v4_simple_python_result.json --format bfcl --set data=bfcl",
    ),
    "bundle": Kind("bundle.tar.gz", "bundle", strays.manifest, "bundle verify bundle.tar.gz"),
    "card": Kind("card.json", "json", strays.card, "card verify card.json | card verify card.json --json"),
    "registry": Kind("local.toml", "toml", lambda: _LOCAL, "models list | models info tiny | models verify"),
    "answers": Kind(
        "runs.answers.jsonl",
        "jsonl",
        lambda: _ANSWERS,
        "adjudicate latest --json | score latest --similarity exact | run oracle PLAYED",
    ),
    "answers of others": Kind(
        "answers.jsonl", "jsonl", lambda: _ANSWERS, "adjudicate latest --import answers.jsonl"
    ),
    "servers": Kind(
        "served/mcp.json",
        "json",
        lambda: strays.SERVERS,
        "tools check served | run oracle --toolbox served --servers replay PLAYED",
    ),
    "recording": Kind(
        "served/calls.jsonl",
        "jsonl",
        lambda: strays.CASSETTE,
        "tools check served | check --toolbox served | run oracle --toolbox served --servers replay PLAYED",
    ),
    "sampling": Kind("s.json", "json", lambda: _SAMPLING, "run tiny --sampling s.json --threads 1 PLAYED"),
    "sampling of the author": Kind(
        "generation_config.json",
        "json",
        lambda: _GENERATION,
        "run tiny --sampling author --threads 1 PLAYED",
    ),
    "template": Kind(
        "template.jinja",
        "text",
        lambda: "{% for m in messages %}{{ m.content }}{% endfor %}",
        "models info tiny --tools --chat-template template.jinja",
    ),
    "evaluator": Kind(
        "eval/config.yaml",
        "yaml",
        lambda: _EVALUATOR,
        "judge calibrate labels.json --judge oracle --evaluator eval --display none",
    ),
    "scenes": Kind(
        "scenes.yaml",
        "documents",
        lambda: SCENES,
        "author --toolbox box --scenes scenes.yaml --count 2 -o made",
    ),
    "review": Kind(
        "suite/review.json.txt",
        "json",
        lambda: {"hall_1.json": "kept"},
        "author review suite --toolbox box",
    ),
    "tuning": Kind(
        "tuned/tune.json",
        "json",
        lambda: strays.TUNING,
        "models tune tiny --size 1MB --candidates 1 -o tuned --display none TUNE",
    ),
    "world": Kind(
        "world/Alarm.json",
        "json",
        lambda: _file(WORLD_SEED / "Alarm.json"),
        "world build --seed world --output made | score latest --world world --similarity exact"
        " | run oracle --world world PLAYED",
    ),
}
"""Each kind of file by its name."""


_WORDS = {
    **strays._WORDS,
    "BARE": ["--limit", "1", "--display", "none"],
    "TUNE": [*strays._WORDS["SHORT"][:2], *["--limit", "4", "--similarity", "exact", "--max-tokens", "8"]],
}


def _in_place(random: Random, path: Path, victim: Path) -> str:
    """Something that is no file, in the place of one."""
    kind = random.choice(("folder", "pipe", "loop", "zero", "victim", "sparse", "gone"))
    path.unlink(missing_ok=True)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "sparse":
        with path.open("wb") as file:
            file.truncate(60 << 30)
    elif kind != "gone":
        targets: dict[str, str | Path] = {"loop": path.name, "zero": "/dev/zero", "victim": victim}
        path.symlink_to(targets[kind])
    return kind


def written(random: Random, kind: Kind, path: Path, victim: Path) -> str:
    """Write a hostile file of this kind, and say in a word what is wrong with it."""
    value = json.loads(json.dumps(kind.sound()))
    text, form = as_text(value, kind.form), kind.form
    way = random.choice(("spliced",) * 6 + ("multiplied",) * 3 + ("whole",) * 2 + ("no file", "bomb"))
    if way == "no file":
        return _in_place(random, path, victim)
    if way == "whole":
        data = whole(random, text)
    elif form == "text":
        data = (
            random.choice(("{%", "{{", "{% for x in range(99999999) %}", "{# ", "[", "x")) * 5_000
        ).encode()
    elif way == "bomb" and form in ("yaml", "documents", "toml"):
        data = (random.choice(TOML)(random) if form == "toml" else bomb(random)).encode(
            "utf-8", "surrogatepass"
        )
    else:
        made = (multiplied if way == "multiplied" else spliced)(random, value, form)
        data = made.encode("utf-8", "surrogatepass")
    if form == "bundle":
        data = bundle(data, {"SHA256SUMS": b"x", "a": b"x"}, "gz")
    path.write_bytes(data)
    return way


def furnish(place: Path) -> None:
    """One sound file of each kind, and what the verbs need besides."""
    shutil.copytree(WORLD_SEED, place / "world")
    for kind in KINDS.values():
        path = place / kind.path
        path.parent.mkdir(parents=True, exist_ok=True)
        sound = kind.sound()
        if kind.form == "bundle":
            path.write_bytes(bundle(sound, {"SHA256SUMS": b"x", "a": b"x"}, "gz"))
        elif kind.path not in (
            "rig.toml",
            "local.toml",
            "generation_config.json",
            "box/conversations/a.json",
        ):
            path.write_text(as_text(sound, kind.form))
    shutil.copy(place / "box" / "tools.json", place / "served" / "tools.json")
    shutil.copytree(place / "box" / "conversations", place / "served" / "conversations")
    (place / "served" / "data").mkdir()
    (place / "eval" / "template.txt").write_text(_TEMPLATE)
    (place / "retail" / "policy.md").write_text("Be kind.")
    answers = place / "bfcl" / "possible_answer"
    answers.mkdir()
    (answers / "BFCL_v4_simple_python.json").write_text(
        '{"id": "simple_python_0", "ground_truth": [{"math.add": {"a": [1]}}]}\n'
    )
    (place / "tiny.gguf").write_bytes(calibrated.model())
    (place / "runs.sqlite").write_bytes(strays.swept())


def _touched(top: Path, place: Path) -> Callable[[str, tuple[Any, ...]], str | None]:
    """What is wrong with what a verb does: a file elsewhere is written or removed, or a program starts."""
    changing = {"os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.link"}

    def watch(event: str, arguments: tuple[Any, ...]) -> str | None:
        named = arguments[:2] if event in ("os.rename", "os.link") else arguments[:1]
        flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
        if event in changing or (event == "open" and flags & (os.O_WRONLY | os.O_RDWR)):
            for name in named:
                if isinstance(name, str | bytes):
                    path = os.path.realpath(os.fsdecode(name))
                    if path.startswith(f"{top}/") and not f"{path}/".startswith(f"{place}/"):
                        return f"{event} {path}"
        return strays._programs(event, arguments)

    return watch


def played(random: Random, name: str) -> str:
    """Play a verb on a hostile file of a kind, and say in a word how that ended."""
    kind = KINDS[name]
    calibrated._vocabulary()  # which loads what the forks need
    verb = [
        part for word in random.choice(kind.verbs.split(" | ")).split() for part in _WORDS.get(word, [word])
    ]
    with folder() as made:
        top = made.resolve()
        place, victim = top / "place", top / "victim"
        place.mkdir()
        victim.write_text("mine")
        furnish(place)
        if kind.path == "box/conversations/a.json":
            (place / "box" / "conversations" / "a.yaml").unlink()
        way = written(random, kind, place / kind.path, victim)
        try:
            done = within(
                place,
                verb,
                _touched(top, place),
                seconds=SECONDS,
                memory=MEMORY,
                RIG_RUNS=place / "runs.sqlite",
            )
        except Broken as error:
            raise Broken(f"{name}, {way}: {error}") from error
        if victim.read_text() != "mine" or len(list(top.iterdir())) != 2:
            raise Broken(f"{name}, {way}: {verb} wrote elsewhere")
        if done.code and not re.search(r"\S", done.err + done.out):
            raise Broken(f"{name}, {way}: {verb} said nothing")
    return f"{name} {ended(done)}"


def case(random: Random) -> str:
    """A hostile file of any kind."""
    return played(random, random.choice(list(KINDS)))


if __name__ == "__main__":
    main("documents", case, 300)

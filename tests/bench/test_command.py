"""`rig bench` from end to end on tiny models, and what it says when it cannot."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine import processes, report
from benchmarks.engine import run as benchmarks
from benchmarks.engine.contestants import AGAIN, ENTRIES, FLOOR, PARALLEL, PARALLEL_FLOOR, RIG
from benchmarks.engine.job import Answer, Outcome
from benchmarks.engine.prompts import BenchPrompt
from benchmarks.engine.run import Benchmark, Options, chosen
from rig.core.errors import RigError

Rig = Callable[..., Any]
SMALL = ("--only", "AddAlarm-easy", "--prefixes", 2, "--max-tokens", 5, "--threads", 1, "--n-ctx", 24_576)


@pytest.mark.slow
def test_the_engine_is_measured_against_its_floor(rig: Rig, tiny: Callable[..., Path]) -> None:
    done = rig("bench", tiny(), *SMALL, "--repeats", 1, "--parallel", 2, "--peers", "none", "--json")
    assert done.code == 0, done.err
    found = done.json
    assert list(found["contestants"]) == [RIG, FLOOR, AGAIN, PARALLEL, PARALLEL_FLOOR]
    own, floor = found["contestants"][RIG], found["contestants"][FLOOR]
    assert own["wall_s"]["count"] == floor["wall_s"]["count"] == 1
    ratios = [
        one["wall_s"] / other["wall_s"] for one, other in zip(own["passes"], floor["passes"], strict=True)
    ]
    assert own["wall_to_floor"]["minimum"] == min(ratios)
    assert own["wall_to_floor"]["maximum"] == max(ratios)
    again, several, its_floor = (found["contestants"][name] for name in (AGAIN, PARALLEL, PARALLEL_FLOOR))
    details = {name: one["passes"][0]["details"] for name, one in found["contestants"].items()}
    assert details[RIG]["batches"] == details[FLOOR]["batches"]
    assert details[PARALLEL]["batches"] == details[PARALLEL_FLOOR]["batches"] < details[RIG]["batches"]
    assert (details[RIG]["slots"], details[PARALLEL]["slots"]) == (1, 2)
    assert its_floor["wall_s"]["count"] == several["wall_s"]["count"] == 1
    # The second start finds what all prompts share on disk, and answers the same.
    assert details[AGAIN]["batch_tokens"] < details[RIG]["batch_tokens"] / 2
    answers = [[answer["text"] for answer in one["passes"][0]["answers"]] for one in (own, again)]
    assert answers[0] == answers[1]
    assert [len(one["answers"]) for one in own["passes"]] == [2]
    assert [prompt["id"] for prompt in found["prompts"]] == ["AddAlarm-easy/1/0", "AddAlarm-easy/3/0"]


@pytest.mark.slow
def test_prompts_can_be_carried_elsewhere_and_back(
    rig: Rig, tiny: Callable[..., Path], tmp_path: Path
) -> None:
    file = tmp_path / "prompts.jsonl"
    assert rig("bench", tiny(), *SMALL, "--export", file).out == f"{file}: 2 prompts\n"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["max_tokens"] for line in lines] == [5, 5]
    done = rig(
        "bench",
        tiny(),
        "--prompts",
        file,
        "--n-ctx",
        24_576,
        "--repeats",
        1,
        "--peers",
        "none",
        "--threads",
        1,
        "--parallel",
        1,
    )
    assert done.code == 0, done.err
    assert "2 prompts" in done.out
    assert "inside llama.cpp" in done.out


@pytest.mark.slow
def test_a_profile_adds_up_to_the_wall_time(rig: Rig, tiny: Callable[..., Path]) -> None:
    small = ("--only", "AddAlarm-easy", "--max-tokens", 5, "--threads", 1, "--n-ctx", 24_576)
    done = rig("bench", tiny(), *small, "--profile", "--json")
    assert done.code == 0, done.err
    found = done.json
    assert sum(found["seconds"].values()) == pytest.approx(found["wall_s"])
    assert sum(found["shares"].values()) == pytest.approx(1)
    measured = {kind for kind, seconds in found["seconds"].items() if seconds > 0}
    assert measured >= {
        "llama.cpp",
        "grammar",
        "sampling",
        "tokenising",
        "templates",
        "world",
        "store",
        "display",
    }
    assert found["speed"]["steps"] >= 2
    assert found["wall_s"] >= found["speed"]["decode_s"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (("oracle",), "no engine"),
        (("gone.gguf",), "no such file"),
        (("MODEL", "--peers", "ollama"), "no peer is called 'ollama'"),
        (("MODEL", "--prompts", "p.jsonl", "--limit", "3"), "--prompts and --limit"),
        (("MODEL", "--prompts", "p.jsonl"), "cannot be read"),
        (("MODEL", "--prompts", "p.jsonl", "--profile"), "--profile"),
        (("MODEL", "--only", "NoSuch"), "NoSuch"),
        (("MODEL", "--n-ctx", "300"), "--n-ctx"),
        (("MODEL", "--export", "no/such/folder/p.jsonl", *map(str, SMALL)), "cannot be written"),
        (("MODEL", "--repeats", "0"), "--repeats"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    rig: Rig,
    tiny: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    fault: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    done = rig("bench", *(str(tiny()) if argument == "MODEL" else argument for argument in arguments))
    assert done.code == 2
    assert fault in done.err
    assert done.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_peers_are_chosen_by_name() -> None:
    assert chosen("none") == ()
    assert chosen("all") == ("outlines", "llama-cpp-server", "llama-server", "llama-server-4")
    assert chosen("llama-server, outlines,llama-server") == ("llama-server", "outlines")
    with pytest.raises(RigError, match="all and none"):
        chosen("rig")


def outcome(wall_s: float, *answers: Answer, **details: Any) -> Outcome:
    return Outcome(0.1, wall_s, 2 * wall_s, 2**20, answers, {}, details)


OWN = {
    "prepare_s": 1.0,
    "llama_s": 1.0,
    "batches": 9,
    "batch_tokens": 30,
    "cached_tokens": 5,
    "forced_tokens": 1,
}


def made_up() -> Benchmark:
    """A benchmark of two passes, the second on a machine twice as slow."""
    settled: dict[str, Any] = {"n_threads": 2, "n_gpu_layers": 0}
    found = Benchmark("m", settled, {"GOMP_SPINCOUNT": "2000"}, [BenchPrompt("p", "a", ((1, 2),), {}, 64)])
    stop, cut = Answer("p", "{}", "stop", 4, 1.0, 2, True), Answer("p", "{", "length", 64, 1.0, 3, False)
    found.outcomes = {
        RIG: {0: outcome(2.0, stop, **OWN), 1: outcome(4.0, stop, **OWN)},
        FLOOR: {0: outcome(1.0), 1: outcome(2.0)},
        "outlines": {0: outcome(20.0, cut), 1: outcome(48.0, cut)},
    }
    found.failures = {"llama-server": "ended by signal 11"}
    found.skipped = {"llama-cpp-server": "uvicorn not installed"}
    return found


def test_the_report_gives_ratios_with_their_spread() -> None:
    found = made_up()
    header, rows = report.table(found)
    cells = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    outlines = cells[ENTRIES["outlines"].title]
    assert outlines["x rig, wall"] == "11 (10 to 12)"
    assert outlines["wall s"] == "34.00 (20.00 to 48.00)"
    assert (outlines["tokens"], outlines["valid"], outlines["cut off"], outlines["wrong"]) == (
        "64",
        "0",
        "1",
        "0",
    )
    assert cells["rig"]["x rig, wall"] == "1"
    text = "\n".join([report.heading(found), *report.remarks(found)])
    assert "wall 2 (2 to 2)" in text
    assert "outlines read 1 of the prompts as up to 1 token more or fewer" in text
    assert "llama-server failed: ended by signal 11" in text
    assert "llama-cpp-server skipped: uvicorn not installed" in text
    assert "GOMP_SPINCOUNT=2000" in text


def test_what_is_not_installed_is_skipped_with_the_way_to_get_it(
    tiny: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def settle(job: object, folder: Path) -> dict[str, Any]:
        (folder / "prompts.jsonl").write_text('{"prompt": "a", "tokens": [1], "schema": {}}')
        return {"n_gpu_layers": 0, "n_ctx": 512, "n_threads": 1}

    def measure(job: Any, folder: Path) -> Outcome:
        if job.contestant == "llama-server":
            raise processes.Failed("ended by signal 11 and said nothing")
        return outcome(1.0, **OWN)

    monkeypatch.setattr(processes, "settle", settle)
    monkeypatch.setattr(processes, "measure", measure)
    monkeypatch.setattr(
        "benchmarks.engine.contestants._version", lambda package: None if package == "uvicorn" else "1.0"
    )
    said: list[str] = []
    peers = ("llama-cpp-server", "llama-server", "outlines")
    found = benchmarks.bench(Options(str(tiny()), peers=peers, repeats=2, parallel=1), said.append)
    assert "pip install '.[bench]'" in found.skipped["llama-cpp-server"]
    assert list(found.skipped) == ["llama-cpp-server"]
    assert found.failures == {"llama-server": "ended by signal 11 and said nothing"}
    # The second pass goes backwards, so that drift cancels out.
    order = [line.split()[2] for line in said]
    assert order == [RIG, FLOOR, AGAIN, "llama-server", "outlines", "outlines", AGAIN, FLOOR, RIG]
    # What failed once is not tried again, and stops nobody else.
    counts = {name: len(outcomes) for name, outcomes in found.outcomes.items()}
    assert counts == dict.fromkeys((RIG, FLOOR, AGAIN, "outlines"), 2)

"""`rig export` to inspect, lm-eval, the Hugging Face Hub, JUnit and GitHub: nothing is lost on the way."""

import importlib.util
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from graded_talks import conversations, model, play

from rig.core.errors import ErrorKind
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, failed, replied
from rig.plugins.exports import file_name
from rig.plugins.exports.pipelines import TestCase, fitting_summary, junit_xml, mentioning_nobody
from rig.store import Runs

Rig = Callable[..., Any]
N = 6
TestCase.__test__ = False  # type: ignore[attr-defined]

HOSTILE = "a <b>&\"'\x00\x1b[2J\ud800\ufffe ]]> @everyone ::error::x\n| `code` |"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three arms with two repeats: right, wrong in half, and one that writes what no parser likes."""

    def hostile(request: Request) -> Prediction:
        broken = (
            failed(ErrorKind.MEMORY, HOSTILE) if request.key.conversation == "talk01" else replied(HOSTILE)
        )
        return broken

    path = tmp_path_factory.mktemp("exported") / "runs.sqlite"
    fingerprint = {"file": "some-Q4.gguf", "file_bytes": 5, "temperature": 0.0}
    arms = (model(N, fingerprint=fingerprint), model(N, {1, (2, 1)}, acts=True), Scripted(hostile))
    names = ("f16", "sub/../q2", "odd")
    play(path, *arms, number=N, names=names, repeats=2, name="three")
    return path


def cells(store: Path) -> dict[str, dict[str, Any]]:
    """The counts of every finished conversation and repeat, by arm."""
    with Runs.open(store) as runs:
        run = runs.get("latest")
        rows: dict[str, dict[str, Any]] = {arm.name: {} for arm in run.arms}
        for cell in runs.each_cell(run):
            rows[run.arms[cell.arm].name][f"{cell.conversation}#{cell.repeat}"] = cell.counts
    return rows


def test_every_count_is_in_the_logs_of_inspect(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "logs"
    assert rig("export", "latest", "--format", "inspect", "--output", out).code == 0
    expected, logs = cells(store), sorted(out.iterdir())
    assert len(logs) == 3
    for path in logs:
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            names = archive.namelist()
            read = {name: json.loads(archive.read(name)) for name in names}
        assert not [name for name in names if ".." in name or name.count("/") > 1]
        header = read.pop("header.json")
        summaries = read.pop("summaries.json")
        arm = header["eval"]["metadata"]["arm"]
        samples = {f"{s['metadata']['conversation']}#{s['epoch'] - 1}": s for s in read.values()}
        assert {key: sample["scores"]["counts"]["value"] for key, sample in samples.items()} == expected[arm]
        right = {key: sample["scores"]["success"]["value"] == "C" for key, sample in samples.items()}
        assert right == {key: bool(counts["successes"]) for key, counts in expected[arm].items()}
        assert len(summaries) == header["results"]["completed_samples"] == len(samples) == 2 * N
        assert sorted(header["eval"]["dataset"]["sample_ids"]) == sorted({s["id"] for s in samples.values()})
        assert "null" not in json.dumps([sample["scores"] for sample in samples.values()])
        assert "session_token" not in json.dumps([sample["target"] for sample in samples.values()])
    again = tmp_path / "again"
    assert rig("export", "latest", "--format", "inspect", "--output", again).code == 0
    assert [path.read_bytes() for path in sorted(again.iterdir())] == [path.read_bytes() for path in logs]


INSPECT = os.environ.get("RIG_INSPECT") or (importlib.util.find_spec("inspect_ai") and sys.executable)

READ = """
import json, sys
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries
logs = {}
for path in sys.argv[1:]:
    log, header = read_eval_log(path), read_eval_log(path, header_only=True)
    key = lambda sample: f"{sample.metadata['conversation']}#{sample.epoch - 1}"
    logs[log.eval.metadata["arm"]] = {
        "counts": {key(sample): sample.scores["counts"].value for sample in log.samples},
        "texts": {key(sample): [m.text for m in sample.messages] for sample in log.samples},
        "calls": sum(len(getattr(m, "tool_calls", None) or ()) for s in log.samples for m in s.messages),
        "summaries": len(read_eval_log_sample_summaries(path)),
        "rates": {score.name: [m.value for m in score.metrics.values()] for score in header.results.scores},
        "status": header.status, "model": header.eval.model,
    }
json.dump(logs, sys.stdout)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not INSPECT, reason="inspect_ai is not installed, and RIG_INSPECT names no Python that has it"
)
def test_inspects_own_reader_finds_every_count(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "logs"
    assert rig("export", "latest", "--format", "inspect", "--output", out).code == 0
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(INSPECT), "-c", READ, *map(str, sorted(out.iterdir()))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    logs = json.loads(done.stdout)
    assert {arm: log["counts"] for arm, log in logs.items()} == cells(store)
    shown = rig("show", "latest", "--json").json
    for arm in shown["arms"]:
        log = logs[arm["arm"]]
        assert log["rates"]["success"] == [arm["success_rate"]]
        assert log["rates"]["recall"] == [arm["recall"]]
        assert (log["summaries"], log["status"]) == (2 * N, "success")
    assert logs["f16"]["model"] == "gguf/some-Q4.gguf"
    assert logs["f16"]["calls"] == 2 * N * 2
    assert "Wake me at 0." in logs["f16"]["texts"]["talk00#0"]


def test_junit_tells_the_models_failures_from_the_machines(rig: Rig, store: Path) -> None:
    done = rig("export", "latest", "--format", "junit")
    assert (done.code, done.err) == (0, "")
    root = ET.fromstring(done.out.encode())
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == ["f16", "sub/../q2", "odd"]
    numbers = {
        name: [int(suite.get(key)) for key in ("tests", "failures", "errors")]
        for name, suite in suites.items()
    }
    assert numbers == {"f16": [12, 0, 0], "sub/../q2": [12, 3, 0], "odd": [12, 10, 2]}
    keys = [(case.get("classname"), case.get("name")) for suite in root for case in suite]
    assert len(set(keys)) == len(keys)
    assert keys[0] == ("f16.hard", "talk00#1")
    wrong = [case for case in suites["sub/../q2"] if case.find("failure") is not None]
    assert [case.get("name") for case in wrong] == ["talk01#1", "talk01#2", "talk02#2"]
    assert "1 of 2 calls matched, 1 incorrect action" in str(wrong[0].find("failure").text)
    assert wrong[0].find("failure").get("message") == wrong[0].find("failure").text
    assert all(float(case.get("time")) >= 0 for suite in root for case in suite)


def test_what_was_not_played_is_skipped(tmp_path: Path, rig: Rig) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(2), number=2)
    from rig.store.connect import writing

    with writing(path) as database:
        database.execute("DELETE FROM scores WHERE conversation = 1")
    root = ET.fromstring(rig("export", "latest", "--format", "junit", "--runs", path).out.encode())
    assert [case.find("skipped") is not None for case in root[0]] == [True, False]
    assert root[0].get("skipped") == "1"


def test_no_text_breaks_a_junit_file() -> None:
    cases = [
        TestCase(HOSTILE, HOSTILE, kind=kind, text=HOSTILE) for kind in ("", "failure", "error", "skipped")
    ]
    text = "".join(junit_xml([(HOSTILE, cases)]))
    root = ET.fromstring(text.encode("utf-8"))
    assert len(root[0]) == 4
    assert "]]>" in str(root[0][1].find("failure").text)
    assert "\\x1b[2J" in str(root[0][0].find("system-out").text)


@pytest.mark.parametrize(
    ("text", "quiet"),
    [
        ("by @name", "by @<!-- -->name"),
        (r"\`@name\`", r"\`@<!-- -->name\`"),
        (r"\\`@name`", r"\\`@name`"),
        (r"a \`b `@name` \`", r"a \`b `@name` \`"),
        ("`@name`", "`@name`"),
        ("`` `@name` ``", "`` `@name` ``"),
        ("``@name`", "``@<!-- -->name`"),
        ("| `a | @name` |", "| `a | @<!-- -->name` |"),
        ("a ` b\n@name ` c", "a ` b\n@<!-- -->name ` c"),
        ("&#64;name &commat;name &#x40;name", "&#64;<!-- -->name &commat;<!-- -->name &#x40;<!-- -->name"),
        (r"\@name", r"\@<!-- -->name"),
    ],
)
def test_only_code_may_hold_what_looks_like_a_mention(text: str, quiet: str) -> None:
    assert mentioning_nobody(text) == quiet


def test_a_summary_fits_and_mentions_nobody(rig: Rig, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(N), model(N, {1}), number=N, names=("@octocat", "b@team/x"))
    out = rig("export", "latest", "--format", "github", "--runs", path).out
    assert out.startswith("# Report")
    lines = [line for line in out.splitlines() if "octocat" in line and "`rig show" not in line]
    assert lines
    assert not [line for line in lines if "@octocat" in line]
    long = fitting_summary("| é row |\n" * 200_000)
    assert len(long.encode()) < 1_024_000
    assert long.endswith("`rig report` has all of it.\n")


def test_lm_eval_gets_rates_and_errors_of_each_suite(rig: Rig, store: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    files = rig("export", "latest", "--format", "lm-eval", "--output", out, "--json").json["files"]
    assert len(files) == 3
    assert all(Path(file).is_relative_to(out) and Path(file).is_file() for file in files)
    read = {
        result["config"]["model_args"].get("model.file", file): result
        for file in files
        if (result := json.loads(Path(file).read_text()))
    }
    result = read["some-Q4.gguf"]
    assert set(result["results"]) == {"rig_easy", "rig_hard"}
    assert result["n-samples"] == {name: {"original": 3, "effective": 3} for name in result["results"]}
    assert result["results"]["rig_easy"]["success_rate,none"] == 1
    assert result["results"]["rig_easy"]["success_rate_stderr,none"] == 0
    assert result["higher_is_better"]["rig_easy"]["incorrect_action_rate"] is False
    assert isinstance(result["total_evaluation_time_seconds"], str)
    other = next(r for file, r in read.items() if "q2" in file)
    # talk01 of the easy suite is wrong in both repeats, and one of two is right in talk02 of the hard one.
    assert other["results"]["rig_easy"]["success_rate,none"] == pytest.approx(2 / 3)
    assert other["results"]["rig_easy"]["success_rate_stderr,none"] == pytest.approx(1 / 3)
    assert other["results"]["rig_hard"]["success_rate,none"] == pytest.approx(5 / 6)


def test_the_hub_gets_a_value_of_the_benchmark_that_was_named(rig: Rig, tmp_path: Path) -> None:
    path, out = tmp_path / "runs.sqlite", tmp_path / "hub"
    play(path, model(4, {1}), number=4, conversations=tuple(c for c in conversations(4) if c.suite == "hard"))
    named = (
        "--set",
        "dataset=org/tools",
        "--set",
        "task_id=hard",
        "--set",
        "notes=a: b # c",
        "--set",
        "url=https://x",
    )
    export = ("export", "latest", "--runs", path, "--format", "eval-results", "--output", out)
    assert rig(*export, *named).code == 0
    (entry,) = yaml.safe_load((out / ".eval_results" / "rig.yaml").read_text())
    assert entry.pop("date")
    assert entry == {
        "dataset": {"id": "org/tools", "task_id": "hard"},
        "value": 100.0,
        "source": {"url": "https://x", "name": "rig"},
        "notes": "a: b # c",
    }
    for texts, fault in (
        ((), "--set dataset=… is missing"),
        (("dataset=org/tools",), "--set task_id=… is missing"),
        (("datset=x",), "takes NAME=VALUE of dataset, task_id"),
        (("dataset",), "takes NAME=VALUE of dataset, task_id"),
        (("dataset=a", "task_id=b", "metric=f1"), "--set metric=f1: is not one of success_rate"),
    ):
        done = rig(*export[:-1], tmp_path / "other", *(word for text in texts for word in ("--set", text)))
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert fault in done.err
        assert not (tmp_path / "other").exists()


def test_faults_are_one_line_and_leave_nothing(rig: Rig, store: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine").write_text("mine")
    for arguments, fault in (
        (("--format", "inspect"), "name a directory with --output"),
        (("--format", "inspect", "--output", tmp_path / "there"), "not an empty directory"),
        (("--format", "junit", "--output", tmp_path / "there" / "mine"), "exists; choose a new file"),
        (("--format", "junit", "--json"), "name a directory with --output"),
        (("--format", "junit", "--rows", "calls"), "--rows goes with"),
        (("--format", "csv", "--set", "a=b"), "--set: --format csv takes no settings"),
        (("--format", "junit", "--set", "a=b"), "takes NAME=VALUE of nothing"),
        (("--format", "eval-results", "--output", tmp_path / "x", "--set", "dataset=a", "--set", "task_id=b"),
         "was run on several suites"),
        (("--format", "inspekt", "--output", tmp_path / "x"), "inspekt"),
    ):  # fmt: skip
        done = rig("export", "latest", *arguments)
        assert (done.code, done.out.count("\n"), done.err.count("\n")) == (2, "--json" in arguments, 1), fault
        assert fault in done.err
    assert not (tmp_path / "x").exists()


def test_names_that_are_cut_stay_apart() -> None:
    names = {file_name(f"{'会議室の予約' * 8}{number}") for number in range(9)}
    assert len(names) == 9
    assert max(map(len, names)) <= 200


def test_samples_of_two_runs_have_no_uuid_in_common(rig: Rig, tmp_path: Path) -> None:
    path, uuids = tmp_path / "runs.sqlite", set()
    for run in ("abcde", "fghij"):
        play(path, model(N), number=N, names=("one",), run=run)
        out = tmp_path / run
        assert rig("export", run, "--format", "inspect", "--output", out, "--runs", path).code == 0
        with zipfile.ZipFile(next(out.iterdir())) as archive:
            uuids |= {sample["uuid"] for sample in json.loads(archive.read("summaries.json"))}
    assert len(uuids) == 2 * N

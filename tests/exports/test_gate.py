"""`rig gate`: what passes, what is worse, what nobody can tell, and policies that cannot be used."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from conftest import CHECKOUT
from graded_talks import conversations, model, play

from rig.compare.arms import ComparisonOptions
from rig.compare.compare import compare
from rig.core.errors import ErrorKind
from rig.core.models import Prediction, Request
from rig.methods.scripted import Oracle, Scripted, failed
from rig.plugins.exports.gate import MEASUREMENTS, SPEEDS, Policy, judge
from rig.plugins.resources.measured import resources_in
from rig.store import Runs
from rig.store.connect import writing

Rig = Callable[..., Any]
N = 20


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline, an arm that loses ten conversations of twenty, one that loses two, and one alike."""
    path = tmp_path_factory.mktemp("gated") / "runs.sqlite"
    wrongs: list[set[int]] = [set(), set(range(10)), {3, 4}, set()]
    sizes = (4_000, 1_000, 2_000, 3_000)
    models = [
        model(N, wrong, fingerprint={"file_bytes": size, "n_threads": 1})
        for wrong, size in zip(wrongs, sizes, strict=True)
    ]
    play(path, *models, number=N, names=("f16", "q2", "q8", "same"))
    return path


@pytest.fixture
def policy(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a policy."""

    def write(text: str) -> Path:
        path = tmp_path / "gate.toml"
        path.write_text(text)
        return path

    return write


def required(metric: str, bound: str, limit: float, tier: str = "required") -> str:
    return f'[[{tier}]]\nmetric = "{metric}"\n{bound} = {limit}\n'


@pytest.mark.parametrize(
    ("arm", "points", "code"),
    [("q2", 5, 1), ("q2", 80, 0), ("q8", 5, 3), ("q8", 60, 0), ("same", 5, 3), ("same", 60, 0)],
)
def test_a_loss_is_judged_by_the_verdict_of_compare(
    rig: Rig, store: Path, policy: Callable[[str], Path], arm: str, points: int, code: int
) -> None:
    path = policy(required("success_rate", "max_loss", points))
    done = rig("gate", path, "latest/f16", f"latest/{arm}", "--json")
    assert (done.code, done.json["exit_code"]) == (code, code)
    compared = rig("compare", "latest/f16", f"latest/{arm}", "--json").json["pairs"][0]["verdict"]
    assert done.json["conditions"][0]["text"] == compared["text"]
    by_compare = ("--fail-if-worse", points, "--fail-if-unsure")
    assert rig("compare", "latest/f16", f"latest/{arm}", *by_compare).code == code


def test_the_worst_that_counts_decides(rig: Rig, store: Path, policy: Callable[[str], Path]) -> None:
    loss = ("success_rate", "max_loss", 5)
    assert rig("gate", policy(required(*loss)), "latest").code == 1
    assert rig("gate", policy(required(*loss)), "latest/f16", "latest/q8").code == 3
    supporting = required("success_rate", "max_loss", 90) + required(*loss, tier="supporting")
    done = rig("gate", policy(supporting), "latest/f16", "latest/q8")
    assert done.code == 0
    assert done.out.endswith("gate: passes; cannot tell of 1 condition that is not required\n")
    assert rig("gate", policy(supporting), "latest").code == 1
    informative = required("success_rate", "max_loss", 90) + required(*loss, tier="informative")
    assert rig("gate", policy(informative), "latest").code == 0


def test_it_reads_as_conditions_then_a_decision(rig: Rig, store: Path, policy: Callable[[str], Path]) -> None:
    text = required("success_rate", "max_loss", 5) + required("file_bytes", "max_ratio", 0.6, "supporting")
    done = rig("gate", policy(text), "latest")
    lines = done.out.splitlines()
    assert lines[0].startswith(f"baseline f16; {N} conversations, graded by default")
    assert "  worse        required     q2: success_rate max_loss 5: loss found: success is 50.0" in done.out
    assert "  cannot tell  required     q8: success_rate max_loss 5: no loss found" in done.out
    assert "  passes       supporting   q2: file_bytes max_ratio 0.6: 1,000 against 4,000, 0.25" in done.out
    assert "  worse        supporting   same: file_bytes max_ratio 0.6: 3,000 against 4,000, 0.75" in done.out
    assert lines[-1] == "gate: worse: q2, same"


@pytest.mark.parametrize(
    ("bound", "limit", "decision"),
    [
        *(("min", 20, "passes"), ("min", 50, "cannot tell"), ("min", 90, "worse")),
        *(("max", 90, "passes"), ("max", 50, "cannot tell"), ("max", 20, "worse")),
    ],
)
def test_a_rate_is_judged_by_its_interval(
    rig: Rig, store: Path, policy: Callable[[str], Path], bound: str, limit: float, decision: str
) -> None:
    """Ten of twenty: from 27 to 73 percent."""
    found = rig("gate", policy(required("success_rate", bound, limit)), "latest/q2", "--json")
    assert found.json["conditions"][0]["decision"] == decision
    assert found.json["conditions"][0]["text"].startswith("50.0% (")
    assert found.code == {"passes": 0, "cannot tell": 3, "worse": 1}[decision]


def timed(path: Path, arm: str, rate: float, quiet: float = 1.0) -> None:
    """Give each turn of an arm a decode rate about this, and the share of two threads' time that is quiet."""
    with writing(path) as database:
        told, number = database.execute("SELECT fingerprint, id FROM arms WHERE name = ?", [arm]).fetchone()
        fingerprint = json.dumps({**json.loads(told), "model.n_threads": 2, "model.n_gpu_layers": 0})
        database.execute("UPDATE arms SET fingerprint = ? WHERE id = ?", [fingerprint, number])
        database.execute(
            "UPDATE predictions SET completion_tokens = 40, decode_s = 40 / (? * (1 + 0.01 * (turn % 10))),"
            " prefill_s = 0.1, mask_s = 0, first_token_s = 0.2"
            " WHERE turn IN (SELECT id FROM turns WHERE arm = ?)",
            [rate, number],
        )
        database.execute(
            "UPDATE turns SET tools_s = 0, scoring_s = 0, cpu_s = ? * (SELECT 2 * sum(prefill_s + decode_s)"
            " FROM predictions WHERE predictions.turn = turns.id) WHERE arm = ?",
            [quiet, number],
        )


@pytest.mark.parametrize(
    ("bound", "limit", "decision"),
    [
        *(("min", 19, "passes"), ("min", 20.8, "cannot tell"), ("min", 25, "worse")),
        *(("max", 25, "passes"), ("max", 20.8, "cannot tell"), ("max", 19, "worse")),
        *(("min_ratio", 0.4, "passes"), ("min_ratio", 0.5, "cannot tell"), ("min_ratio", 0.6, "worse")),
    ],
)
def test_a_speed_is_judged_by_the_interval_of_its_median_over_quiet_turns(
    rig: Rig,
    store: Path,
    policy: Callable[[str], Path],
    tmp_path: Path,
    bound: str,
    limit: float,
    decision: str,
) -> None:
    timed(store, "f16", 40)
    timed(store, "q2", 20)
    file = policy(required("decode_rate", bound, limit))
    done = rig("gate", file, "latest/f16", "latest/q2", "--json", "--junit", tmp_path / "gate.xml")
    (found,) = done.json["conditions"]
    assert found["decision"] == decision, found
    middle = 0.5 if bound == "min_ratio" else 20.9
    assert found["low"] <= found["value"] <= found["high"]
    assert found["value"] == pytest.approx(middle, rel=0.03)
    assert found["high"] < 1.15 * found["low"]
    assert re.search(r"^20\.\d \(20\.\d to 21\.\d\)", found["text"])
    assert found["text"] in (tmp_path / "gate.xml").read_text()


def test_speed_of_a_busy_machine_is_known_only_where_it_is_fast_enough(
    rig: Rig, store: Path, policy: Callable[[str], Path]
) -> None:
    """Other processes can only have made it slower."""
    timed(store, "f16", 20, quiet=0.5)
    timed(store, "q2", 20, quiet=0.5)
    for bound, limit, decision, text in (
        ("min", 15, "passes", "which other processes can only have slowed down"),
        ("min", 30, "cannot tell", f"its decode_rate is not known: none of its {2 * N} turns was quiet"),
        ("max", 30, "cannot tell", "none of its"),
    ):
        done = rig("gate", policy(required("decode_rate", bound, limit)), "latest/q2", "--json")
        (found,) = done.json["conditions"]
        assert found["decision"] == decision
        assert text in found["text"]
        assert (found["value"] is None) == (decision == "cannot tell")
    against = rig(
        "gate", policy(required("decode_rate", "max_ratio", 9)), "latest/q2", "latest/f16", "--json"
    )
    assert "the baseline's decode_rate is not known: none of" in against.json["conditions"][0]["text"]
    whole = rig("gate", policy(required("wall_s", "min", 1e6)), "latest/q2", "--json")
    assert (whole.code, whole.json["conditions"][0]["decision"]) == (3, "cannot tell")
    assert "other processes were at work" in whole.json["conditions"][0]["text"]
    assert rig("gate", policy(required("file_bytes", "max", 1)), "latest/q2").code == 1


def test_a_run_that_is_not_finished_does_not_pass(
    tmp_path: Path, rig: Rig, policy: Callable[[str], Path]
) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(N), model(N, set(range(15))), number=N, names=("f16", "q2"))
    with Runs.open(path) as runs:
        unfinished = runs.get("latest").conversations[10:]
    with writing(path) as database:
        marks = ", ".join("?" * len(unfinished))
        database.execute(
            "DELETE FROM scores WHERE arm = 2 AND conversation IN"
            f" (SELECT id FROM conversations WHERE name IN ({marks}))",
            unfinished,
        )
    text = required("success_rate", "max_loss", 100)
    done = rig("gate", policy(text), "latest", "--runs", path)
    assert done.code == 3
    assert "q2 has finished 10 of 20 conversations" in done.out
    assert rig("gate", policy(required("success_rate", "max_loss", 1)), "latest", "--runs", path).code == 1


def test_a_baseline_that_the_machine_cut_short_hides_no_loss(
    tmp_path: Path, rig: Rig, policy: Callable[[str], Path]
) -> None:
    """Both arms fail in five conversations; the baseline because there was no memory."""
    right = Oracle(conversations(N))

    def script(request: Request) -> Prediction:
        if int(request.key.conversation.removeprefix("talk")) < 5:
            return failed(ErrorKind.MEMORY, "no memory")
        return right.predict(request, lambda _: None)

    for number, code in ((60, 3), (90, 0)):
        path = tmp_path / f"{number}.sqlite"
        play(path, Scripted(script), model(N, set(range(5))), number=N, names=("f16", "q2"))
        text = required("success_rate", "max_loss", number)
        done = rig("gate", policy(text), "latest", "--runs", path)
        assert done.code == code, done.out
        assert ("cut the baseline short (memory) in 5 conversations that failed" in done.out) == bool(code)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "required: has no condition"),
        ("[required]\nmetric = 'a'", "required: begins a condition when it is written [[required]]"),
        ("required = 3", "required: begins a condition when"),
        ("[[requird]]\nmetric = 'a'", "requird: is not a key of a policy (did you mean 'required'?)"),
        ("[[required]]\nmax_loss = 5", "required[1].metric: needs the name of a metric"),
        ("[[required]]\nmetric = 5\nmax = 5", "required[1].metric: needs the name of a metric"),
        ("[[required]]\nmetric = 'recall'", "required[1]: needs one of max_loss, min, max"),
        (required("recall", "max_loss", 5) + "min = 3", "required[1]: needs one of max_loss, min, max"),
        (required("recall", "max_los", 5), "required[1].max_los: is not a key of a condition (did you mean"),
        (required("recall", "max", 1) + required("recall", "max", -1), "required[2].max: needs a number"),
        ("[[required]]\nmetric = 'recall'\nmax = true", "required[1].max: needs a number"),
        ("[[required]]\nmetric = 'recall'\nmax = nan", "required[1].max: needs a number"),
        ("[[required]]\nmetric = 'recall'\nmax = 1" + "0" * 400, "required[1].max: needs a number"),
        (required("recal", "max", 5), "required[1].metric: these runs have no metric 'recal' (did you mean"),
        (required("recall", "max_ratio", 5), "required[1].max_ratio: recall takes min, max or max_loss"),
        (required("decode_rate", "max_loss", 5), "required[1].max_loss: decode_rate takes min, max"),
        ("alpha = 2.0\n" + required("recall", "max", 5), "alpha: is not between 0 and 1"),
        ("alpha = true\n" + required("recall", "max", 5), "alpha: needs a number such as 0.05"),
        ("baseline = 'nobody'\n" + required("recall", "max", 5), "'nobody' is not one of the compared arms"),
        (required("recall", "max", 5, "informative"), "required: has no condition, so nothing could"),
        ("[[required", "not TOML"),
        ("a = " + "[" * 400 + "]" * 400, "gate.toml:"),
    ],
)
def test_a_policy_that_cannot_be_used_is_one_line_with_its_key(
    rig: Rig, store: Path, policy: Callable[[str], Path], text: str, fault: str
) -> None:
    done = rig("gate", policy(text), "latest")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert fault in done.err
    assert len(done.err) < 4_200


def test_faults_of_runs_are_those_of_compare(
    rig: Rig, store: Path, policy: Callable[[str], Path], tmp_path: Path
) -> None:
    path = policy(required("success_rate", "max_loss", 5))
    for arguments, fault in (
        ((path, "nothing"), "no run 'nothing'"),
        ((path, "latest/q8"), "required[1].max_loss: q8 is the only arm; name another run or arm"),
        ((tmp_path / "none.toml", "latest"), "none.toml"),
        ((path, "latest", "--baseline", "q3"), "baseline 'q3' is not one of the compared arms"),
    ):
        done = rig("gate", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert fault in done.err


def test_the_command_line_can_name_another_baseline(
    rig: Rig, store: Path, policy: Callable[[str], Path]
) -> None:
    path = policy("baseline = 'f16'\n" + required("success_rate", "max_loss", 5))
    found = rig("gate", path, "latest/f16", "latest/q2", "--baseline", "q2", "--json")
    assert (found.json["baseline"], found.json["conditions"][0]["arm"]) == ("q2", "f16")


def test_github_gets_colours_and_a_table_and_no_commands_of_a_models(
    tmp_path: Path, rig: Rig, policy: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, summary = tmp_path / "runs.sqlite", tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    names = ("f16", "bad\n::error::100% @someone", "q8|<img src=x>")
    play(path, model(N), model(N, set(range(10))), model(N, {1}), number=N, names=names)
    text = required("success_rate", "max_loss", 5)
    done = rig("gate", policy(text), "latest", "--runs", path, "--github")
    assert done.code == 1
    commands = [line for line in done.out.splitlines() if line.startswith("::")]
    assert [line.split("::")[1] for line in commands] == [
        "error title=rig gate%3A worse",
        "warning title=rig gate%3A cannot tell",
    ]
    assert "100%25 @someone" in commands[0]
    written = summary.read_text()
    assert written.startswith("before\n### ❌ gate: worse: bad ::error::100%")
    assert "@someone" not in written
    assert not re.search(r"(?<!\\)<img", written)
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [6] * 4
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert rig("gate", policy(text), "latest", "--runs", path, "--github").code == 2


def test_conditions_are_cases_of_a_junit_file(
    rig: Rig, store: Path, policy: Callable[[str], Path], tmp_path: Path
) -> None:
    loss = ("success_rate", "max_loss", 5)
    path = policy(required(*loss) + required(*loss, "informative") + required("file_bytes", "max", 9_000))
    assert rig("gate", path, "latest", "--junit", tmp_path / "gate.xml").code == 1
    (suite,) = ElementTree.parse(tmp_path / "gate.xml").getroot()
    kinds = {(case.get("classname"), case.get("name")): [child.tag for child in case] for case in suite}
    assert kinds["q2", "required: success_rate max_loss 5"] == ["failure"]
    assert kinds["q2", "informative: success_rate max_loss 5"] == ["system-out"]
    assert kinds["q8", "required: success_rate max_loss 5"] == ["skipped"]
    assert kinds["q8", "required: file_bytes max 9,000"] == ["system-out"]
    assert "cannot tell: cannot tell" not in (tmp_path / "gate.xml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("points", "code", "said"), [(5, 1, "::error"), (60, 0, "::notice"), (30, 0, "::warning")]
)
def test_the_workflow_of_the_page_is_red_green_or_yellow(
    store: Path, policy: Callable[[str], Path], tmp_path: Path, points: int, code: int, said: str
) -> None:
    """Its step, as GitHub runs it: by `bash -e`. The third arm loses two of twenty conversations."""
    page = (CHECKOUT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
    workflow = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0])
    script = workflow["jobs"]["gate"]["steps"][-1]["run"]
    policy(required("success_rate", "max_loss", points))
    arms = "abcde/f16 abcde/q2" if code else "abcde/f16 abcde/q8"
    rig = f'rig() {{ {sys.executable} -m rig "$@"; }}\n'
    (tmp_path / "step.sh").write_text(rig + script.replace("gate.toml change", f"gate.toml {arms}"))
    done = subprocess.run(
        ["bash", "-e", "step.sh"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert f"\n{said} title=rig gate" in done.stdout
    assert (tmp_path / "gate.xml").is_file()


def test_every_measurement_is_read_from_what_is_stored(store: Path, policy: Callable[[str], Path]) -> None:
    timed(store, "f16", 40)
    text = "".join(required(name, "min", 0) for name in (*SPEEDS, *MEASUREMENTS))
    with Runs.open(store) as runs:
        judged = judge(runs, ["latest/f16"], Policy.read(policy(text)))
        (arm,) = compare(runs, ["latest/f16"], ComparisonOptions(one_will_do=True)).arms
        resources = resources_in(runs, [arm])[arm.label]
    known = {name for name, read in MEASUREMENTS.items() if read(arm) is not None}
    known |= {name for name, speed in SPEEDS.items() if speed(resources) is not None}
    assert {"decode_rate", "turn_s", "wall_s", "file_bytes"} <= known
    for result in judged.results:
        assert ("was not measured" in result.text) == (result.condition.metric not in known)


@pytest.mark.slow
def test_a_policy_of_thousands_of_conditions_is_decided_in_seconds(
    store: Path, rig: Rig, policy: Callable[[str], Path]
) -> None:
    file = policy('[[required]]\nmetric = "decode_rate"\nmin_ratio = 0\n' * 4_000)
    begun = time.process_time()
    assert rig("gate", file, "latest").code == 3
    assert time.process_time() - begun < 15

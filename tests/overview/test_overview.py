"""The page over all runs: what stands on it is what is stored, it stays small, and nothing gets out of it."""

import gzip
import json
import re
from base64 import b64decode
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import many_runs
import pytest
from graded_talks import forget, model, play

from rig.core.errors import PASSING, ErrorKind
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, called, failed, replied
from rig.plugins.overview.gathered import gather
from rig.plugins.overview.page import data_of, page
from rig.scoring import Answer, add_answers, answers_file
from rig.store import Runs

Rig = Callable[..., Any]
N = 12
HOSTILE = "</script><!--<script>alert(1)//</title></style><img src=x onerror=alert(2)>\u2028\u202e\x1b[2J\x00"
BYTES_PER_RUN = 2_000
"""The most that a run of three arms and fifty conversations adds to a page."""


class Outline(HTMLParser):
    """The tags of a page with their attributes, and what stands in its scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs of ladders on the same suite, by the names `one` and `two`."""
    path = tmp_path / "runs.sqlite"
    for run, name, shift in (("aaaaa", "one", 0), ("bbbbb", "two", 2)):
        arms = [
            model(N, set(range(shift, shift + 3 * place)), fingerprint={**FILE, "file": f"q{place}.gguf"})
            for place in range(2)
        ]
        play(path, *arms, number=N, names=("f16", "q4"), run=run, name=name)
    return path


FILE = {"file_bytes": 50 << 20, "quantization": "Q4_K"}


def written(store: Path, largest: int = 5_000_000) -> str:
    with Runs.open(store) as runs:
        return page(gather(runs), store, "0.1.0", largest)


def data_in(text: str) -> Any:
    if packed := re.search(r"id=packed>([\w+/=]+)<", text):
        return json.loads(gzip.decompress(b64decode(packed[1])))
    found = re.search(r"id=data>(.*?)</script>", text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def rows_of(text: str) -> list[str]:
    return [re.sub(r"<[^>]*>", "|", row) for row in re.findall(r"<tr data-a=.*", text)]


def test_each_arm_has_its_rate_interval_file_run_and_suites(rig: Rig, store: Path) -> None:
    rows = rows_of(written(store))
    assert len(rows) == 4
    for run in ("one", "two"):
        for arm in rig("compare", run, "--across-settings", "--runs", store, "--json").json["arms"]:
            rate = arm["rates"]["success_rate"]
            [row] = [row for row in rows if arm["name"] in row and run in row]
            assert f"|{100 * rate['value']:.1f}%|" in row
            assert f"|{100 * rate['low']:.1f} to {100 * rate['high']:.1f}|" in row
            assert "|50.0 MiB|" in row
            assert "|easy, hard|" in row or "|hard, easy|" in row


def test_what_changed_is_what_compare_finds(store: Path, rig: Rig) -> None:
    found = rig("compare", "one/f16", "two/q4", "--across-settings", "--runs", store, "--json").json["pairs"][
        0
    ]
    lost = {flip["conversation"] for flip in found["flips"] if flip["outcome"] == "lost"}
    data = data_in(written(store))
    of = {(data["runs"][arm[0]][1], arm[2]): arm for arm in data["arms"]}
    names = [data["talks"][number][1] for number in range(N)]
    assert data["runs"][0][3] == f"0-{N - 1}"
    before, after = (of[key][5] for key in (("one", "f16"), ("two", "q4")))
    assert {name for name, was, now in zip(names, before, after, strict=True) if was > now} == lost != set()
    wrong = of["two", "q4"][6].split(",")
    assert len(wrong) == len(lost)
    assert data["texts"][int(wrong[0])].startswith("failed; 1 of 2 calls matched; missing call")


def test_repeats_and_what_was_not_played_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(4), model(4, {(1, 0), (1, 2)}), number=4, repeats=3)
    forget(path, 1, [3], range(3))
    text = written(path)
    arms = data_in(text)["arms"]
    assert [arm[5] for arm in arms] == ["3/3,3/3,3/3,3/3", "3/3,1/3,3/3,-"]
    assert "|9 of 12|" in rows_of(text)[1]


def test_an_arm_that_never_answered_has_no_rate_and_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    kind = ErrorKind(sorted(PASSING)[0])
    play(path, model(3), Scripted(lambda _: failed(kind, "away"), fingerprint={}), number=3)
    row = rows_of(written(path))[1]
    assert "not evaluated: the assistant could never answer" in row
    assert "%" not in row
    assert data_in(written(path))["arms"][1][5] == "---"


def test_what_people_decided_is_listed_and_a_broken_file_of_it_loses_nothing(store: Path) -> None:
    answers = [
        Answer("at noon", f"<b>12:{minute:02}</b>", same=minute > 1, time="2026-01-01") for minute in range(3)
    ]
    add_answers(answers_file(store), answers)
    text = written(store)
    listed = text[text.index("id=decided") :]
    assert listed.index("&lt;b&gt;12:00&lt;/b&gt;") > 0
    assert re.findall("<td class=(?:good|bad)>(yes|no)", listed) == ["no", "no", "yes"]
    answers_file(store).write_text("{nonsense\n")
    text = written(store)
    assert "people&#39;s answers are not shown: " in text
    assert "id=decided" not in text
    assert len(rows_of(text)) == 4


def _hostile(request: Request) -> Prediction:
    return called(HOSTILE, {HOSTILE: HOSTILE}) if request.key.step == 0 else replied(HOSTILE)


@pytest.mark.parametrize("largest", [5_000_000, 1])
def test_nothing_from_the_store_gets_out_of_its_place(tmp_path: Path, largest: int) -> None:
    path = tmp_path / "runs.sqlite"
    print_ = {"file": HOSTILE, "file_sha256": HOSTILE, "quantization": HOSTILE, "file_bytes": -1}
    names = (HOSTILE, HOSTILE + "x" * 5_000)
    play(path, *[Scripted(_hostile, fingerprint=print_)] * 2, number=3, names=names, name=HOSTILE[:40])
    add_answers(answers_file(path), [Answer(HOSTILE, HOSTILE * 100, same=True)])
    text = written(path, largest)
    assert not {"\u202e", "\x1b", "\x00"} & set(text)
    outline = Outline(text)
    assert [tag for tag, _ in outline.tags].count("script") == 2
    assert not {"img", "iframe", "object", "form", "base", "link"} & {tag for tag, _ in outline.tags}
    for tag, attributes in outline.tags:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        for name in ("href", "src"):
            assert str(attributes.get(name) or "#").startswith("#"), (tag, attributes)
    assert "://" not in text
    assert "<" not in outline.scripts[0]
    assert outline.scripts[0].isascii()
    assert len(text) < 60_000


def test_the_content_security_policy_lets_its_own_script_run_alone(store: Path) -> None:
    from hashlib import sha256

    text = written(store)
    script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    [named] = re.findall(r"script-src 'sha256-([^']+)'", text)
    assert b64decode(named) == sha256(script.encode()).digest()
    assert "default-src 'none'" in text
    assert re.findall(r"innerHTML|insertAdjacentHTML|document\.write|eval\(", script) == []


def test_the_same_store_gives_the_same_bytes(store: Path) -> None:
    assert written(store) == written(store)


@pytest.mark.slow
def test_a_run_takes_little_room(tmp_path: Path) -> None:
    sizes = []
    for number in (10, 30):
        path = tmp_path / f"{number}.sqlite"
        many_runs.write(path, number)
        sizes.append(len(written(path).encode()))
    assert (sizes[1] - sizes[0]) / 20 <= BYTES_PER_RUN


@pytest.mark.slow
def test_what_does_not_fit_is_packed_and_then_the_oldest_left_out(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    many_runs.write(path, 8)
    whole = written(path)
    assert "id=packed" not in whole
    packed = written(path, len(whole) - 1)
    assert "id=packed" in packed
    assert data_in(packed) == data_in(whole)
    least = written(path, 1)
    assert "no room for the conversations of the oldest 8 runs" in least
    for room in range(len(least), len(packed), 100):
        some = written(path, room)
        left = int(re.findall(r"conversations of the oldest (\d) runs", some)[0])
        if left < 8:
            break
    assert 0 < left < 8
    assert len(some) <= room
    assert [bool(run[3]) for run in data_in(some)["runs"]] == [True] * (8 - left) + [False] * left
    assert len(rows_of(some)) == 24


def test_the_data_name_the_store_only_if_it_is_not_the_usual_one(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Runs.open(store) as runs:
        gathered = gather(runs)
    assert data_of(gathered, store, 0, 9)["option"] == str(store)
    monkeypatch.setenv("RIG_RUNS", str(store))
    assert data_of(gathered, store, 0, 9)["option"] == ""


def test_the_verb_writes_one_file_and_never_over_another(
    rig: Rig, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RIG_RUNS", str(store))
    done = rig("report", "--all")
    assert (done.code, done.err) == (0, "")
    assert re.fullmatch(r"wrote rig-report-all.html \(2 runs, 4 arms, 0\.\d\d MB\)\n", done.out)
    text = (tmp_path / "rig-report-all.html").read_text()
    done = rig("report", "--all")
    assert (done.code, done.out) == (2, "")
    assert "rig-report-all.html: exists; choose a new file, or --force" in done.err
    told = rig("report", "--all", "--force", "--json").json
    kept = {"format": "html", "bytes": len(text.encode()), "runs": 2, "arms": 4}
    assert told == {"output": "rig-report-all.html", **kept}
    assert (tmp_path / "rig-report-all.html").read_text() == text


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "name the runs to report, such as latest, or give --all"),
        (["latest", "--all"], "leave out latest"),
        (["--each"], "add --all"),
        (["latest", "--each"], "add --all"),
        (["--all", "--baseline", "x"], "has no --baseline"),
        (["--all", "--tables"], "has no --tables"),
        (["--all", "--format", "md"], "has no --format md"),
        (["--all", "--each", "-o", "no/all.html"], "there is no folder no; make it first"),
    ],
)
def test_what_does_not_fit_together_is_one_line(
    rig: Rig, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], fault: str
) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    done = rig("report", *arguments, "--runs", store)
    assert (done.code, done.out) == (2, "")
    assert fault in done.err
    assert done.err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.slow
def test_each_run_has_a_report_beside_the_page_that_every_conversation_leads_to(
    rig: Rig, store: Path, tmp_path: Path
) -> None:
    play(store, Scripted(lambda _: failed(ErrorKind(sorted(PASSING)[0]), "")), number=2, run="ccccc")
    out = tmp_path / "all.html"
    done = rig("report", "--all", "--each", "-o", out, "--runs", store)
    assert done.code == 0
    assert "run ccccc has no report: there is nothing to compare" in done.err
    data = data_in(out.read_text())
    assert data["folder"] == "all-runs"
    for name, _, _, _, places in data["runs"]:
        if name == "ccccc":
            assert places == 0
            continue
        report = (tmp_path / "all-runs" / f"{name}.html").read_text()
        assert sorted(places) == list(range(N))
        for talk, place in enumerate(places):
            start = report.index(f"<details id=c{place}>")
            assert f"<b>{data['talks'][talk][1]}</b>" in report[start : start + 200]
    before = out.read_text()
    out.unlink()
    done = rig("report", "--all", "--each", "-o", out, "--runs", store)
    assert done.code == 2
    assert "exists; choose a new page" in done.err
    assert not out.exists()
    assert rig("report", "--all", "--each", "-o", out, "--runs", store, "--force").code == 0
    assert out.read_text() == before

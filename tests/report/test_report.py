"""What reports say, in every format, and how they are written."""

import base64
import csv
import gzip
import html
import io
import json
import random
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from counted import measured
from graded_talks import model, play

from rig.compare.recommendation import recommend
from rig.core.errors import RigError
from rig.core.files import write
from rig.core.models import Prediction, Request
from rig.methods.scripted import Scripted, called, replied
from rig.plugins.groups.groups import groups_of
from rig.plugins.report.page import page
from rig.plugins.report.render import FORMATS, Material, gather, render
from rig.plugins.resources.measured import TurnSpeeds, TurnSpread
from rig.plugins.statistics.rows import heading
from rig.show.compare import notes
from rig.store import Runs

Rig = Callable[..., Any]
N = 12
COSTLY = {"file_bytes": 90_000_000, "file_sha256": "1"}
NAMES = ("f16", "q4", "again")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline, an arm that loses talk00 to talk06 and does wrong things there, and the baseline again."""
    path = tmp_path_factory.mktemp("store") / "runs.sqlite"
    arms = (model(N), model(N, set(range(7)), acts=True, fingerprint=COSTLY), model(N))
    play(path, *arms, number=N, names=NAMES, name="ladder")
    return path


@pytest.fixture(scope="module")
def material(store: Path) -> Material:
    with Runs.open(store) as runs:
        return gather(runs, ["latest"])


class Outline(HTMLParser):
    """What is in a page: tags with their attributes, and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_verdicts_come_first_then_flips_numbers_plots_and_conversations(material: Material) -> None:
    text = page(material)
    ids = re.findall(r"<h2 id=(\w+)>", text)
    assert ids == ["verdicts", "flips", "numbers", "plots", "map", "conversations", "settings"]
    verdict = material.comparison.pairs[0].verdict.text
    assert verdict.startswith("loss found")
    assert text.index(verdict) < text.index("id=flips")
    assert "No conversation and no turn ended differently" in text
    lines = [*heading(material.comparison), *notes(material.comparison)]
    assert len(lines) > 2
    # What one must know of the arms comes after the verdicts on them.
    places = [text.index(f"<li>{html.escape(line, quote=False)}") for line in lines]
    assert [place < text.index(verdict) for place in places] == [True, True, *[False] * (len(lines) - 2)]


def test_every_number_of_the_comparison_is_on_the_page(rig: Rig, material: Material, store: Path) -> None:
    """Everything that `rig compare` prints of rates, differences and costs."""
    shown = " ".join(" ".join(Outline(page(material)).texts).split())
    printed = rig("compare", "latest", "--runs", store).out
    for value in re.findall(r"\d+\.\d% \([^)]*\)|[+-]\d+\.\d \([^)]*\)|\d+\.\d\d s|\d+:\d\d", printed):
        assert value in shown, value


def test_above_all_stand_the_decision_and_a_row_for_each_arm(store: Path) -> None:
    with Runs.open(store) as runs:
        material = gather(runs, ["latest"])
        sizes = (300, 200, 100)
        arms = tuple(
            replace(arm, fingerprint={**arm.fingerprint, "model.file_bytes": size})
            for arm, size in zip(material.comparison.arms, sizes, strict=True)
        )
        recommended = recommend(replace(material.comparison, arms=arms), 0.9)
        comparison = replace(material.comparison, arms=arms, recommendation=recommended)
    text = page(replace(material, comparison=comparison))
    top = text[: text.index("<nav>")]
    assert "Ship again: smallest file without a loss above 90 points" in top
    rows = re.findall(
        r"<tr( class=ships)?><th scope=row><span class=k>(\w)</span> <span class=long>(\w+)", top
    )
    assert rows == [("", "A", "f16"), ("", "B", "q4"), (" class=ships", "C", "again")]
    assert 'class="said bad"><span>' in top
    assert 'style="--w:' in top


def test_what_was_done_wrongly_has_a_colour_of_its_own(material: Material) -> None:
    text = page(material)
    assert len(re.findall("<td data-v=[0-9]+ class=alarm", text)) == 7
    assert "an unexpected action was carried out" in text


def spread(median: float, count: int = 20) -> TurnSpread:
    return TurnSpread(count, median, 0.9 * median, 1.2 * median, 0.95 * median, 1.1 * median)


@pytest.fixture
def timed(material: Material) -> Material:
    """The arms with speeds of quiet turns; the last one had none."""
    of = material.resources[0]
    quiet = replace(
        of, decode=spread(20.0), first_token=spread(0.5), turns=30, quiet=20, is_known=True, memory=3 << 30
    )
    taken = (
        quiet,
        replace(quiet, decode=spread(40.0), device_memory=1 << 30),
        replace(quiet, decode=None, first_token=None, quiet=0),
    )
    return replace(material, resources=taken)


def test_speed_of_quiet_turns_and_memory_are_beside_the_verdicts(timed: Material) -> None:
    top = page(timed).partition("<nav>")[0]
    heads = re.findall("<th scope=col[^>]*>([^<\n]+)", top)
    assert heads[-4:] == ["verdict", "tokens a second", "first token after", "memory"]
    rows = [re.sub("<[^>]+>", "", row).split("\n")[0] for row in top.split("<tr")[2:]]
    assert rows[0].endswith("20 (18 to 24)0.50 s (0.45 to 0.60)3,072 MiB")
    assert rows[1].endswith("40 (36 to 48)0.50 s (0.45 to 0.60)4,096 MiB")
    assert rows[2].endswith("--3,072 MiB")
    assert 'data-v="40.0"' in top
    assert "Speeds are medians over quiet turns, those in which rig&#39;s threads got at least 90%" in top
    assert "Memory is that of weights, KV cache and compute buffers." in top
    assert "No turn of C was quiet: in each, rig&#39;s threads got less than 90%" in top


def test_markdown_and_json_have_them_as_well(timed: Material) -> None:
    told = render(timed, "md")
    (row,) = re.findall(r"\| tokens a second .*", told)
    assert [cell.strip() for cell in row.split("|")[2:5]] == ["20 (18 to 24)", "40 (36 to 48)", "-"]
    assert re.search(r"\| quiet turns +\| +20 of 30 \| +20 of 30 \| +0 of 30 \|", told)
    assert "decode tok/s" not in told
    assert told.index("## Verdicts") < told.index("## Speed and memory") < told.index("## Quality")
    first, _, last = (arm["resources"] for arm in json.loads(render(timed, "json"))["arms"])
    assert (first["decode"]["median"], first["decode"]["low"], first["quiet"]) == (20, 19, 20)
    assert (last["decode"], last["memory"]) == (None, 3 << 30)


def test_only_speeds_of_quiet_turns_are_drawn(timed: Material) -> None:
    title = "success against tokens generated per second"
    assert title in page(timed)
    busy = replace(timed.resources[2])
    told = page(replace(timed, resources=(busy, timed.resources[1], busy)))
    assert title not in told
    assert "Speed is plotted only of arms with quiet turns." in told


def test_of_an_arm_that_was_not_timed_no_speed_is_explained(material: Material) -> None:
    none = TurnSpeeds(None, None, None, None)
    taken = [
        replace(of, decode=None, first_token=None, at_worst=none, memory=None) for of in material.resources
    ]
    text = page(replace(material, resources=taken))
    assert "quiet" not in text
    assert "tokens a second" not in text


@pytest.mark.slow
def test_it_is_the_same_every_time(store: Path, material: Material) -> None:
    with Runs.open(store) as runs:
        again = gather(runs, ["latest"])
    for form in FORMATS:
        assert render(material, form) == render(again, form)


def test_nothing_in_it_points_elsewhere(material: Material) -> None:
    outline = Outline(page(material))
    for tag, attributes in outline.tags:
        for name in ("href", "src", "xlink:href", "action", "data"):
            if attributes.get(name) is not None:
                assert str(attributes[name]).startswith("#"), (tag, attributes)
    text = page(material)
    assert "://" not in text
    assert "url(" not in re.sub(r"url\(#\w+\)", "", text)
    assert "@import" not in text


@pytest.mark.slow
def test_a_conversation_shows_what_was_said_once_and_every_arm_beside_the_others(material: Material) -> None:
    text = page(material)
    start = text.index("<b>talk01</b>")
    talk = text[start : text.index("</details>", start)]
    assert talk.count("Wake me at 1.") == 1
    assert talk.count("AddAlarm(time: &#34;01:40:00&#34;)") == 2  # due, and made by two arms in one box
    assert "<span class=k>A</span> <span class=k>C</span>" in talk
    assert "# incorrect" in talk
    assert "AddAlarm(time: &#34;23:59:00&#34;)" in talk


def test_calls_that_repeat_are_counted_not_repeated(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    stuck = Scripted(lambda request: called("AddAlarm", {"time": "05:55:00"}))
    play(path, stuck, number=2)
    with Runs.open(path) as runs:
        text = page(gather(runs, ["latest"]))
    assert text.count("<code>AddAlarm(time: &#34;05:55:00&#34;)</code>") == 4, "once for each turn"
    assert text.count("<b>×3</b>") == 4


def _unpacked(text: str) -> str:
    """The transcripts of a page that has them packed."""
    (packed,) = re.findall(r'<script type="text/plain" id=packed>([\w+/=]+)</script>', text)
    return gzip.decompress(base64.b64decode(packed)).decode()


@pytest.mark.slow
def test_transcripts_are_packed_before_they_are_cut_to_make_a_page_small(
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.sqlite"
    noise = random.Random(7)

    def rambling(request: Request) -> Prediction:
        return replied(f"{request.key.turn} " + noise.randbytes(1_500).hex())

    play(path, Scripted(rambling), number=8)
    with Runs.open(path) as runs:
        material = gather(runs, ["latest"])
    plain = page(material, 10_000_000)
    assert "id=packed" not in plain
    assert "Texts are cut at 2000 characters" in plain
    whole = page(material, len(plain.encode()) - 1)
    assert "Texts are cut at 2000 characters" in whole
    assert _unpacked(whole) in plain
    small = page(material, 60_000)
    assert len(small.encode()) <= 60_000 < len(whole.encode())
    assert "402 more characters" in _unpacked(small)
    assert "Wake me at 3." in _unpacked(small), "what the user says is not cut"


def test_one_arm_will_do(store: Path) -> None:
    with Runs.open(store) as runs:
        material = gather(runs, ["ladder/q4"])
    text = page(material)
    assert "id=verdicts" not in text
    assert "id=conversations" in text
    for form in FORMATS:
        assert render(material, form)


def test_groups_count_every_repeat_as_rig_show_does(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    run = play(path, model(4), model(4, {(1, 2)}), number=4, repeats=3)
    with Runs.open(path) as runs:
        by_way = {group.by: group for group in gather(runs, ["latest"]).groups}
        assert by_way["suite"] == groups_of(runs, run, "suite")
        assert by_way["skill"] == groups_of(runs, run, "skill")
    assert dict(by_way["suite"].rows)["easy"] == ((6, 6), (5, 6))


@pytest.mark.slow
def test_repeats_are_counted_and_the_first_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(4), model(4, {(1, 0), (1, 2)}), number=4, repeats=3)
    with Runs.open(path) as runs:
        text = page(gather(runs, ["latest"]))
    assert "Only the first repeat is shown." in text
    assert "right 1 of 3 times, baseline 3 of 3" in text
    assert ">1/3</a>" in text


def test_plots_are_drawn_for_what_is_known(material: Material) -> None:
    titles = [
        str(attributes["aria-label"]) for tag, attributes in Outline(page(material)).tags if tag == "svg"
    ]
    assert "differences in success from the baseline" in titles
    for noun in ("success", "recall", "precision", "incorrect action rate", "soft success"):
        assert f"{noun} of each arm with its interval" in titles
    assert "success against tokens generated per second" in titles
    assert "success against energy, kJ" not in titles, "only one machine in a test tells, if any"
    assert "faults by kind for each arm" in titles


def test_markdown_has_verdicts_and_flips_with_commands(material: Material, store: Path) -> None:
    text = render(material, "md")
    assert text.index("## Verdicts") < text.index("## Quality") < text.index("## Flips")
    assert "- **q4**: loss found: success is 58.3 points lower" in text
    assert f"  `rig show {material.comparison.baseline.run} talk01 --arm f16 --arm q4 --runs {store}`" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert {line.count("|") - 1 for line in tables} == {3, 4}


def test_csv_has_a_row_for_each_conversation_and_arm(material: Material) -> None:
    rows = list(csv.DictReader(io.StringIO(render(material, "csv"))))
    assert len(rows) == 3 * N
    lost = {row["conversation"] for row in rows if row["flip"] == "lost"}
    assert lost == {f"talk0{number}" for number in range(7)}
    assert {row["arm"] for row in rows if row["is_baseline"] == "1"} == {"f16"}
    for arm in material.comparison.arms:
        mine = [row for row in rows if row["arm"] == arm.arm]
        assert sum(float(row["success_share"]) for row in mine) == measured(arm.counts).successes
        assert sum(int(row["bad_actions"]) for row in mine) == measured(arm.counts).bad_actions


def test_json_has_the_comparison_and_the_transcripts(material: Material) -> None:
    found = json.loads(render(material, "json"))
    assert found["pairs"][0]["verdict"]["kind"] == "loss found"
    assert [each["conversation"] for each in found["transcripts"]] == [
        name for name, _ in material.comparison.conversations
    ]
    assert [arm["arm"] for arm in found["transcripts"][0]["arms"]] == list(NAMES)


HOSTILE = "| <b>x</b> [a](http://b) `c` \x1b[2J\u202e **d** _e_ $f$ \n# g"


def test_names_from_files_are_inert_in_every_format(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, model(3), model(3, {1}), number=3, names=(HOSTILE, "plain"), name=HOSTILE)
    with Runs.open(path) as runs:
        material = gather(runs, ["latest"])
    text, as_page = render(material, "md"), render(material, "html")
    assert "--arm '| <b>x</b> [a](http://b) `c`" in text, "a command is as it must be typed, as code"
    outside_of_code = re.sub(r"^  ``.*``$", "", text, flags=re.MULTILINE)
    for written in (outside_of_code, as_page):
        assert "\x1b" not in written
        assert "\u202e" not in written
        assert "<b>x</b>" not in written
    assert "\n# g" not in text
    assert "[a](" not in outside_of_code
    assert {line.count("|") - line.count("\\|") for line in text.splitlines() if line.startswith("|")} <= {
        3,
        4,
    }
    assert next(csv.DictReader(io.StringIO(render(material, "csv"))))["arm"] == HOSTILE


def test_it_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write("one", path)
    with pytest.raises(RigError, match="exists; choose a new file, or --force"):
        write("two", path, force=False)
    assert path.read_text() == "one"
    write("two", path, force=True)
    assert path.read_text() == "two"
    with pytest.raises(RigError, match="cannot be written"):
        write("three", tmp_path / "no" / "report.html")
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.slow
def test_the_verb_writes_what_the_name_says(rig: Rig, store: Path, tmp_path: Path) -> None:
    for form in FORMATS:
        out = tmp_path / f"report.{form}"
        done = rig("report", "ladder", "--output", out, "--runs", store)
        assert (done.code, done.err) == (0, "")
        assert "q4: loss found" in done.out
        with Runs.open(store) as runs:
            assert out.read_text() == render(gather(runs, ["ladder"]), form)
    told = rig("report", "ladder", "-o", tmp_path / "x", "--format", "csv", "--runs", store, "--json").json
    assert (told["format"], told["bytes"]) == ("csv", (tmp_path / "x").stat().st_size)
    assert rig("report", "ladder", "--format", "md", "--runs", store).out.startswith("# Report\n")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["nothing"], "no run 'nothing'"),
        (["ladder", "--json"], "name it with --output"),
        (["ladder", "--baseline", "q3"], "not one of the compared arms"),
        (["ladder", "--format", "pdf"], "Invalid value for '--format'"),
    ],
)
def test_faults_end_with_code_2(rig: Rig, store: Path, arguments: list[str], fault: str) -> None:
    done = rig("report", *arguments, "--runs", store)
    assert (done.code, done.out.count("\n")) == (2, "--json" in arguments)
    assert fault in done.err


def long_winded(request: Request) -> Prediction:
    """Writes 60,000 characters into everything."""
    if request.key.step == 0:
        return called("AddAlarm", {"time": "x" * 60_000, "y" * 60_000: [1] * 60_000})
    return replied("z" * 60_000)


@pytest.mark.slow
def test_json_cuts_long_texts_and_lists_and_says_so(
    tmp_path: Path, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "runs.sqlite"
    play(path, Scripted(long_winded), number=2, names=("long",))
    with Runs.open(path) as runs:
        told = gather(runs, ["latest"])
    found = json.loads(render(told, "json"))
    assert found["cut"]["longest"] == 20_000
    assert found["cut"]["times"] >= 8
    step = found["transcripts"][0]["arms"][0]["turns"][1]["steps"][0]
    arguments = step["call"]["arguments"]
    assert arguments["time"] == f"{'x' * 20_000} .. 40,000 more characters"
    assert sorted(map(len, arguments)) == [4, 20_000 + len("1:  .. 40,000 more characters")]
    assert max(map(len, filter(lambda each: isinstance(each, list), arguments.values()))) == 20_000
    monkeypatch.setattr("rig.plugins.report.render.LARGEST", 100_000)
    short = render(told, "json")
    assert json.loads(short)["cut"]["longest"] < 20_000
    assert len(json.loads(short)["transcripts"]) == 2
    monkeypatch.setattr("rig.plugins.report.render.LARGEST", 10)
    assert len(json.loads(render(told, "json"))["transcripts"]) == 2
    with Runs.open(store) as runs:
        assert "cut" not in json.loads(render(gather(runs, ["latest"]), "json"))


@pytest.mark.parametrize("form", FORMATS)
def test_a_large_report_shows_what_flipped_and_says_what_it_leaves_out(
    store: Path, monkeypatch: pytest.MonkeyPatch, form: Any
) -> None:
    """Its numbers are those of all conversations, and CSV has them all."""
    with Runs.open(store) as runs:
        whole = gather(runs, ["latest"])
        monkeypatch.setattr("rig.plugins.report.material.MOST", 3 * 9)
        part = gather(runs, ["latest"])
    shown = [part.comparison.conversations[number][0] for number in part.shown]
    assert list(part.shown) == sorted(part.shown)
    assert {f"talk{place:02}" for place in range(7)} < set(shown)
    assert (len(part.shown), part.left_out, list(part.groups)) == (9, 3, [])
    assert part.comparison.as_json() == whole.comparison.as_json()
    text = render(part, form)
    if form == "html":
        assert "are of 9 conversations" in text
        assert "no room for 3 more" in text
        assert text.count("<details id=c") == 9
    elif form == "json":
        found = json.loads(text)
        assert (found["left_out_transcripts"], len(found["transcripts"])) == (3, 9)
    else:
        assert (text == render(whole, form)) == (form == "csv")

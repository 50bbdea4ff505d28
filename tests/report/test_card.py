"""`rig card`: what it says is what is stored, and `rig card verify` finds what is not."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from browser import CHROMIUM, Page
from graded_talks import model, play

from rig.core.errors import RigError
from rig.plugins.llama.files.registry import load_registry
from rig.plugins.report.card_check import COMPUTED, DIGEST, change_fault, digest_of, read_card, sums_fault
from rig.plugins.report.model_card import as_html, as_markdown
from rig.store.connect import writing

Rig = Callable[..., Any]
N = 12
HOSTILE = "<script>alert(1)</script>|`x`\u202e\x1b[2J"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cards") / "runs.sqlite"
    print_ = {"file": "tiny.gguf", "file_bytes": 5_000_000, "quantization": "Q8_0", "max_calls": 3}
    smaller = {**print_, "file": f"q2 {HOSTILE}.gguf", "file_sha256": "bb", "file_bytes": 2_000_000}
    arms = (
        model(N, fingerprint={**print_, "file_sha256": "aa"}),
        model(N, set(range(8)), fingerprint=smaller),
    )
    play(path, *arms, number=N, names=("f16", "q2"), name=HOSTILE[:25])
    return path


@pytest.fixture
def card(rig: Rig, store: Path, tmp_path: Path) -> Path:
    path = tmp_path / "card.json"
    assert rig("card", "latest/q2", "-o", path).code == 0
    return path


def test_its_numbers_are_those_of_compare(rig: Rig, card: Path) -> None:
    read = json.loads(card.read_text())
    compared = rig("compare", "latest", "--json").json
    arm, pair = compared["arms"][1], compared["pairs"][0]
    assert read["counts"] == {k: v for k, v in read["counts"].items() if arm["metrics"].get(k, v) == v}
    for row in read["rates"]:
        assert (row["value"], row["low"]) == (
            pytest.approx(arm["rates"][row["name"]]["value"], abs=1e-6),
            pytest.approx(arm["rates"][row["name"]]["low"], abs=1e-6),
        )
    assert read["verdict"]["text"] == pair["verdict"]["text"]
    assert (read["verdict"]["won"], read["verdict"]["lost"]) == (0, 8)
    assert read["verdict"]["baseline"]["file_sha256"] == "aa"
    assert read["subject"]["file_sha256"] == "bb"
    assert read["tested"]["suites"] == {"easy": 6, "hard": 6}
    assert len(read["conversations"]) == N


def test_a_file_of_the_registry_has_its_licence_and_origin(rig: Rig, tmp_path: Path) -> None:
    entry = load_registry()["qwen2.5-coder-0.5b"]
    store = tmp_path / "runs.sqlite"
    play(store, model(N, fingerprint={"file": "renamed.gguf", "file_sha256": entry.sha256}), number=N)
    shown = rig("card", "latest", "--runs", store).out
    for text in ("Apache-2.0", "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF on huggingface.co", "SHA-256 decides"):
        assert text in shown


def test_it_says_which_file_to_ship_as_compare_does(rig: Rig, store: Path, card: Path) -> None:
    compared = rig("compare", "latest", "--json").json["recommendation"]
    assert compared["text"] == "Keep f16: every smaller file loses more than 5 points"
    assert json.loads(card.read_text())["recommendation"] == compared
    for form in ("html", "md"):
        told = rig("card", "latest/f16", "--format", form).out
        assert "Of the files of this run: keep f16: every smaller file loses more than 5 points." in told


def test_a_card_of_an_older_rig_says_no_decision(card: Path) -> None:
    read = json.loads(card.read_text())
    del read["recommendation"]
    assert "Of the files" not in as_html(read) + as_markdown(read)
    assert sums_fault(read) is None


def test_speed_in_quiet_turns_and_memory_are_in_every_form(rig: Rig, store: Path, tmp_path: Path) -> None:
    with writing(store) as database:
        fingerprint = "json_set(fingerprint, '$.\"model.n_threads\"', 2)"
        database.execute(f"UPDATE arms SET fingerprint = {fingerprint}, peak_memory = 3 << 30")
        database.execute(
            "UPDATE predictions SET completion_tokens = 40, decode_s = 40 / (20 * (1 + 0.01 * (turn % 10))),"
            " prefill_s = 0.1, mask_s = 0, first_token_s = 0.2"
        )
        # Every third turn was slowed down by others.
        share = "iif(id % 3 = 0, 0.5, 1)"
        database.execute(
            f"UPDATE turns SET tools_s = 0, scoring_s = 0, cpu_s = 2 * {share} *"
            " (SELECT sum(prefill_s + decode_s) FROM predictions WHERE predictions.turn = turns.id)"
        )
    path = tmp_path / "timed.json"
    assert rig("card", "latest/q2", "-o", path).code == 0
    of = json.loads(path.read_text())["resources"]
    assert (of["turns"], of["quiet"], of["memory"]) == (24, 16, 3 << 30)
    assert 20 <= of["decode"]["low"] < of["decode"]["median"] < of["decode"]["high"] < 22
    told = rig("card", "latest/q2", "--format", "md").out
    assert re.search(r"\| tokens a second +\| +2\d \| +2\d to 2\d \| +2\d to 2\d \| +16 of 24 \|", told)
    assert re.search(r"\| first token after +\| +0.20 s \| +0.20 to 0.20 \| +0.20 to 0.20 \| +16 of 24", told)
    assert re.search(r"\| memory +\| +3,072 MiB \|", told)
    page = rig("card", "latest/q2", "--format", "html").out
    for text in (told, page):
        assert "Measured on the machine of the run. Speeds are medians over quiet turns" in text
        assert "Memory is that of weights, KV cache and compute buffers." in text
        assert "tokens/s written" not in text
    done = rig("card", "verify", path)
    assert done.code == 0
    assert "errors, notes, speed, memory, settings" in done.out
    moved = changed(path, lambda read: read["resources"]["decode"].update(median=99.0))
    assert "WRONG  content: something was changed" in rig("card", "verify", moved).out


def test_a_card_of_a_busy_machine_has_no_speed_and_says_why(rig: Rig, store: Path) -> None:
    with writing(store) as database:
        database.execute("UPDATE arms SET fingerprint = json_set(fingerprint, '$.\"model.n_threads\"', 2)")
        database.execute("UPDATE turns SET cpu_s = 0.001")
    told = rig("card", "latest/q2", "--format", "md").out
    assert re.search(r"\| tokens a second +\| +- \| +- \| +- \| +0 of 24 \|", told)
    assert "No turn of this file was quiet: in each, rig's threads got less than 90%" in told


def test_the_same_store_gives_the_same_bytes_in_every_form(rig: Rig, store: Path, tmp_path: Path) -> None:
    for form in ("html", "md", "json"):
        texts = [rig("card", "latest/q2", "--format", form).out for _ in range(2)]
        assert texts[0] == texts[1] != ""
        assert rig("card", "latest/q2", "-o", tmp_path / f"c.{form}").code == 0
        assert (tmp_path / f"c.{form}").read_text() == texts[0]


@pytest.mark.slow
def test_its_command_gives_the_same_answers(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RIG_RUNS", str(tmp_path / "runs.sqlite"))
    options = (
        "--limit",
        "3",
        "--docs",
        "names",
        "--docs",
        "full",
        "--similarity",
        "exact",
        "--max-calls",
        "7",
    )
    assert rig("run", "oracle", *options, "--display", "none").code == 0
    first = json.loads(rig("card", "latest/oracle docs=names", "--format", "json").out)
    assert first["command"] == "rig run oracle --limit 3 --docs names --max-calls 7 --similarity exact"
    assert rig(*first["command"].split()[1:], "--display", "none").code == 0
    second = json.loads(rig("card", "latest", "--format", "json").out)
    assert second["hashes"] == first["hashes"]
    assert second["counts"] == first["counts"]


def test_a_page_for_strangers_holds_nothing_that_runs(rig: Rig, store: Path) -> None:
    page = rig("card", "latest/q2", "--format", "html").out
    assert "<script" not in page
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "default-src 'none'" in page
    for text in ("How well does this file use tools?", "loss found: success is 66.7 points lower", "4 of 12"):
        assert text in page
    reference = rig("card", "latest/f16", "--format", "html").out
    assert "<b>success 100.0% (75.8 to 100.0).</b>" in reference


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_shows_it_on_a_phone_and_asks_for_nothing(rig: Rig, store: Path, tmp_path: Path) -> None:
    assert rig("card", "latest/q2", "-o", tmp_path / "card.html").code == 0
    with Page(tmp_path / "profile") as page:
        page.open(tmp_path / "card.html", width=390)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert page.complaints == []
        assert {address.partition(":")[0] for address in page.requests} <= {"file", "data"}


def test_markdown_has_results_that_the_hub_reads(rig: Rig, store: Path) -> None:
    text = rig("card", "latest/q2", "--format", "md").out
    front = yaml.safe_load(text.split("---\n")[1])
    (result,) = front["model-index"][0]["results"]
    assert {metric["type"]: metric["value"] for metric in result["metrics"]}["success_rate"] == 33.33
    assert (
        result["dataset"]
        == {
            "type": "rig-hard and easy",
            "name": "rig: 12 conversations of the suite hard and easy",
        }
        or "easy" in result["dataset"]["type"]
    )
    body = text.split("---\n", 2)[2]
    assert not re.search(r"(?<!\\)<script", body)
    assert "\u202e" not in text


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two key pairs, and a file that allows the first."""
    place = tmp_path_factory.mktemp("keys")
    for name in ("ours", "theirs"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", place / name]
        subprocess.run(command, check=True)
    public = (place / "ours.pub").read_text().split()
    (place / "signers").write_text(f"me@example.org {public[0]} {public[1]}\n")
    return place


def signed(rig: Rig, keys: Path, path: Path, key: str = "ours") -> Path:
    assert rig("card", "latest/q2", "-o", path, "--sign", keys / key).code == 0
    assert path.with_name(f"{path.name}.sig").read_text().startswith("-----BEGIN SSH SIGNATURE-----")
    return path


NEEDS_KEYS = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")


@NEEDS_KEYS
@pytest.mark.parametrize("form", ["json", "html", "md"])
def test_a_signed_card_is_verified_and_a_changed_one_is_not(
    rig: Rig, store: Path, keys: Path, tmp_path: Path, form: str
) -> None:
    path = signed(rig, keys, tmp_path / f"card.{form}")
    good = rig("card", "verify", path, "--signers", keys / "signers")
    assert (good.code, good.err) == (0, "")
    assert "ok     signature: by me@example.org: Good" in good.out
    alone = rig("card", "verify", path, "--json")
    assert (alone.code, alone.json["checks"][0]["is_good"]) == (0, None)
    path.write_bytes(path.read_bytes().replace(b"66.7 points", b"06.7 points"))
    for arguments in ((), ("--signers", keys / "signers")):
        changed = rig("card", "verify", path, *arguments)
        assert changed.code == 1
        assert changed.out.splitlines()[0].startswith("WRONG  signature: not of this file by these signers")


@NEEDS_KEYS
def test_other_keys_other_purposes_and_no_signature_do_not_pass(
    rig: Rig, store: Path, keys: Path, tmp_path: Path
) -> None:
    path = signed(rig, keys, tmp_path / "card.json", "theirs")
    done = rig("card", "verify", path, "--signers", keys / "signers")
    assert (done.code, done.out.count("no key of")) == (1, 1)
    signature = tmp_path / "card.json.sig"
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", keys / "ours", "-n", "git"]
    with path.open("rb") as file:
        other = subprocess.run(command, stdin=file, capture_output=True, check=True)
    signature.write_bytes(other.stdout)
    assert rig("card", "verify", path, "--signers", keys / "signers").code == 1
    assert rig("card", "verify", path).code == 1
    for garbage in (
        b"",
        b"\x00\xff" * 100,
        b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
    ):
        signature.write_bytes(garbage)
        assert rig("card", "verify", path, "--signers", keys / "signers").code == 1
    signature.unlink()
    assert rig("card", "verify", path).code == 0
    assert rig("card", "verify", path, "--signers", keys / "signers").code == 1


def test_signing_faults_are_one_line_and_write_nothing(
    rig: Rig, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nokey").write_text("no key")
    (tmp_path / "nokey").chmod(0o600)
    out = tmp_path / "card.json"
    for arguments, fault in (
        (("-o", out, "--sign", tmp_path / "none"), "is not a file; name a private key"),
        (("-o", out, "--sign", tmp_path / "nokey"), "ssh-keygen did not sign"),
        (("--sign", tmp_path / "nokey"), "--sign signs a file; name it with --output"),
    ):
        done = rig("card", "latest/q2", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert fault in done.err
    monkeypatch.setenv("PATH", str(tmp_path))
    done = rig("card", "latest/q2", "-o", out, "--sign", tmp_path / "nokey")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "signatures need ssh-keygen, which is not installed" in done.err
    assert not out.exists()
    assert rig("card", "latest/q2", "-o", out).code == 0
    (tmp_path / "card.json.sig").write_text("x")
    done = rig("card", "verify", out)
    assert (done.code, done.err.count("\n")) == (2, 1)


def changed(card: Path, change: Callable[[Any], object]) -> Path:
    read = json.loads(card.read_text())
    change(read)
    card.write_text(json.dumps(read))
    return card


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            lambda c: c["counts"].update(successes=12),
            "successes: the conversations add up to 4, the card says 12",
        ),
        (lambda c: c["counts"].update(wins=1), "wins: the conversations add up to 0"),
        (lambda c: c["conversations"][0]["counts"].update(successes="1"), "successes: is not a count"),
        (lambda c: c["conversations"][0]["counts"].update(successes=10**400), "successes: is not a count"),
        (lambda c: c["conversations"].pop(), ""),
        (
            lambda c: c["rates"][0].update(value=0.9),
            "success_rate: value: the card says 0.9, its counts say 0.333333 (4 of 12)",
        ),
        (lambda c: c["rates"][0].update(numerator="tasks"), "success_rate: numerator is not as the method"),
        (lambda c: c["rates"][0].update(value=float("nan")), "success_rate: value: the card says nan"),
        (lambda c: c["rates"].append(7), "a rate is none"),
        (lambda c: c["conversations"].append(None), "a conversation has no counts"),
        (lambda c: c["tested"].update(conversations=3), "there are 12 conversations, the card says 3"),
        (lambda c: c["tested"].update(suites={"hard": 12}), "suites: the conversations say"),
        (lambda c: c["tested"].update(repeats=[1, 9]), "repeats: the conversations say [1, 1], the card"),
        (lambda c: c["tested"].update(finished=9), "the conversations were played 12 times, the card says 9"),
        (lambda c: c["rates"][0].update(high=1), "success_rate: high: the card says 1, its counts say"),
        (lambda c: c["rates"].pop(), "the rates are not those that the method declares"),
        (lambda c: c["conversations"][0].update(successes=1), ""),
        (lambda c: c["conversations"][0].update(repeats=0), "a conversation has 0 repeats"),
        (lambda c: c["declaration"].update(metrics=3), "a part is missing"),
        (lambda c: c["verdict"].update(lost=1), "verdict: lost: the conversations say 8, the card says 1"),
        (lambda c: c["verdict"].update(won=3), "verdict: won: the conversations say 0, the card says 3"),
        (
            lambda c: c["verdict"]["difference"].update(low=-0.1),
            "verdict: difference: low: the conversations",
        ),
        (lambda c: c["verdict"]["baseline_rows"].pop(), "a part is missing"),
        (lambda c: c["verdict"].update(metric="other"), "a part is missing"),
    ],
)
def test_numbers_that_do_not_add_up_are_found(
    rig: Rig, card: Path, change: Callable[[Any], object], fault: str
) -> None:
    assert rig("card", "verify", card).code == 0
    done = rig("card", "verify", changed(card, change))
    assert (done.code, done.err) == (1, "")
    unsigned, content, numbers, _ = done.out.splitlines()
    assert unsigned.startswith("-      signature: anyone can have written this card")
    assert content.startswith("WRONG  content: something was changed since rig wrote it")
    assert numbers.startswith(f"WRONG  numbers: {fault}")


def _without_a_row(card: Any) -> None:
    """Take a conversation out, and whatever else would show that."""
    row = card["conversations"].pop(0)
    for name, value in row["counts"].items():
        card["counts"][name] -= value
    card["tested"]["conversations"] -= 1
    card["tested"]["suites"][row["suite"]] -= 1


def _doubled(card: Any) -> None:
    card["conversations"].append({**card["conversations"][0], "counts": {}})
    card["tested"]["conversations"] += 1


@pytest.mark.parametrize(
    ("change", "fault"),
    [(_without_a_row, "the hash of the conversations"), (_doubled, "a conversation stands there twice")],
)
def test_rows_that_are_taken_out_or_put_in_are_found_by_a_card_with_its_hash(
    rig: Rig, card: Path, change: Callable[[Any], object], fault: str
) -> None:
    def hashed(read: Any) -> None:
        change(read)
        read[DIGEST] = digest_of(read)

    done = rig("card", "verify", changed(card, hashed))
    assert done.code == 1
    assert "ok     content" in done.out
    assert f"WRONG  numbers: {fault}" in done.out


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from _leaves(value[key], (*path, key))
    else:
        yield path


def _other(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value + 1e-6
    return f"{value}." if isinstance(value, str) else [1]


COUNTED = ("counts", "rates", "conversations")
"""The parts of a card that follow from its rows, or are them."""
OF_VERDICT = ("conversations", "won", "lost", "baseline_rows")


def test_whatever_is_changed_in_a_card_is_found(rig: Rig, card: Path) -> None:
    """One leaf at a time. Where a number is computed, that is found even if the card's own hash is right."""
    whole = json.loads(card.read_text())
    assert rig("card", "verify", card).code == 0
    places = list(_leaves(whole))
    assert len(places) > 300
    unseen, uncounted = [], []
    for path in places:
        copy = deepcopy(whole)
        part = copy
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = _other(part[path[-1]])
        if change_fault(copy) is None:
            unseen.append(path)
        number = part[path[-1]]
        is_counted = path[0] in COUNTED or path[:2] in {("verdict", part) for part in OF_VERDICT}
        if is_counted and type(number) in (int, float):
            part[path[-1]] = number + 0.001
            if sums_fault(copy) is None:
                uncounted.append(path)
    assert unseen == []
    assert uncounted == []


def test_what_is_computed_and_what_is_not_is_said_first_that_anyone_can_have_written_it(
    rig: Rig, card: Path
) -> None:
    first, content, numbers, rest = rig("card", "verify", card).out.splitlines()
    assert first == (
        "-      signature: anyone can have written this card: there is no card.json.sig beside it"
    )
    assert content == "ok     content: every part is as rig wrote it"
    assert numbers == f"ok     numbers: {COMPUTED}"
    assert rest.startswith("-      not computed: names, the run, its grader and command, ")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"format": "rig-card"}',
        b'{"format": "rig-card", "version": 2}',
        b'{"format": "rig-card", "version": "\x1b[2J"}',
        b'{"format": "rig-card", "version": 1}',
        b'{"format": "rig-card", "version": 1, "subject": []}',
        b'{"format": "rig-card", "version": 1' + b"0" * 5_000 + b"}",
    ],
)
def test_files_that_are_no_cards_are_one_line(rig: Rig, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "card.json"
    path.write_bytes(content)
    done = rig("card", "verify", path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "\x1b" not in done.err
    assert len(done.err) < 500


@pytest.mark.slow
def test_every_missing_or_odd_part_is_one_line(rig: Rig, card: Path) -> None:
    whole = json.loads(card.read_text())
    whole["conversations"] = whole["conversations"][:2]

    def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
        for key in keys:
            yield (*path, key)
            yield from places(value[key], (*path, key))

    checked = 0
    for path in places(whole):
        if path[0] in ("settings", "verdict", "limits", "notes", "resources") and len(path) > 1:
            continue  # verifying does not look at them
        for value in (None, [None], {"x": {}}, "x", 1e999):
            odd = deepcopy(whole)
            place = odd
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            try:
                fault = sums_fault(read_card(written(card, odd)))
            except RigError as error:
                fault = str(error)
            assert fault is None or ("\n" not in fault and len(fault) < 500)
            checked += 1
    assert checked > 300


def written(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_another_file_is_told_from_the_one_that_was_tested(
    rig: Rig, card: Path, write_gguf: Callable[..., Path]
) -> None:
    from rig.plugins.llama.files.caches import sha256_of

    file = write_gguf("other.gguf")
    done = rig("card", "verify", card, "--model", file)
    assert done.code == 1
    assert re.search(r"WRONG  model: .* has SHA-256 [0-9a-f]{64}, the card is of 'bb'", done.out)
    changed(card, lambda read: read["subject"].update(file_sha256=sha256_of(file)))
    changed(card, lambda read: read.update({DIGEST: digest_of(read)}))
    assert rig("card", "verify", card, "--model", file).code == 0


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["latest"], "a card is of one arm; choose from: latest/f16, latest/q2"),
        (["nothing"], "no run 'nothing'"),
        (["latest/q2", "--baseline", "q9"], "baseline 'q9' is not one of"),
        (["latest/q2", "--format", "pdf"], "'pdf' is not one of"),
        (["verify", "none.json"], "none.json"),
        (["verify", "page.html", "--model", "x"], "--model needs the card as JSON"),
        ([], ""),
    ],
)
def test_faults_are_one_line(rig: Rig, store: Path, arguments: list[str], fault: str) -> None:
    done = rig("card", *arguments)
    assert done.code == 2
    assert fault in done.err


def test_an_arm_that_has_finished_nothing_has_no_card(rig: Rig, tmp_path: Path) -> None:
    import small_talks

    path = tmp_path / "runs.sqlite"
    small_talks.play(small_talks.plan(path, small_talks.oracle(), small_talks.unloadable))
    done = rig("card", "latest/arm1", "--runs", path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "latest/arm1 has no card: no such weights" in done.err

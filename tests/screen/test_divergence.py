"""Divergence over the whole vocabulary: llama-perplexity's formulas, its file, and the program itself."""

import json
import os
import re
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import small_talks
import tiny_gguf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import rel_entr, softmax

from rig.core.errors import RigError
from rig.core.files import json_text
from rig.plugins.screen.divergence import TokenDivergence, figures, log_softmax, token_divergence
from rig.plugins.screen.logits_file import FLOOR, chunks_of, decode, encode, reading, writing

Rig = Callable[..., Any]
BASE = np.array([2, 1, 0, -30], dtype=np.float32)
MODEL = np.array([1.5, 1.75, 0, -2], dtype=np.float32)
LOGITS = arrays(np.float32, st.integers(2, 9), elements=st.floats(-60, 60, width=32))


def test_one_token_by_hand() -> None:
    """Computed in numpy's float64 from llama-perplexity's formulas, not by rig's functions."""
    row = encode(BASE)
    scale, least = row[:4].view(np.float32)
    assert scale == pytest.approx(0.00024414435, rel=1e-7)
    assert least == pytest.approx(-16.407606, rel=1e-7)
    assert row[4:].tolist() == [65535, 61439, 57343, 0]
    taken = token_divergence(decode(row, 4), log_softmax(MODEL), 0, FLOOR)
    assert taken == pytest.approx((0.9311213, 0.4076061, 0.1725855, False), rel=2e-6)
    of_taken = figures([taken])
    assert of_taken is not None
    assert of_taken.dp.value == pytest.approx(-0.2711293, rel=1e-6)
    exact = token_divergence(log_softmax(BASE), log_softmax(MODEL), 0)
    assert exact.kld == pytest.approx(0.1725896, rel=1e-6)
    own = token_divergence(decode(row, 4), log_softmax(BASE), 0, FLOOR)
    assert own.kld == pytest.approx(-6.7e-6, abs=1e-7)  # llama.cpp's rounding
    assert own.nll - own.nll_base == pytest.approx(0, abs=1e-6)
    assert own.same_top


def test_the_figures_of_a_fixed_vector() -> None:
    """Against the formulas written out once more, as sums over tokens."""
    random = np.random.default_rng(5)
    nll_base = random.exponential(2, 200)
    nll = nll_base + random.normal(0, 0.3, 200)
    kld = random.exponential(0.1, 200)
    same = random.random(200) < 0.8
    computed = figures([TokenDivergence(*row) for row in zip(nll, nll_base, kld, same, strict=True)])
    assert computed is not None
    n = 200

    def uncertain(values: Any) -> tuple[float, float]:
        mean = sum(values) / n
        return mean, ((sum(values**2) / n - mean**2) / (n - 1)) ** 0.5

    (q, q_error), (b, b_error) = uncertain(nll), uncertain(nll_base)
    covariance = (sum(nll * nll_base) / n - q * b) / (n - 1)
    ratio_error = (q_error**2 + b_error**2 - 2 * covariance) ** 0.5
    ppl, ppl_base = np.exp(q), np.exp(b)
    dp = np.exp(-nll) - np.exp(-nll_base)
    mse, mse_error = uncertain(dp**2)
    difference_error = (
        (ppl * q_error) ** 2 + (ppl_base * b_error) ** 2 - 2 * ppl * ppl_base * covariance
    ) ** 0.5
    share = same.mean()
    for name, expected in {
        "ppl": (ppl, ppl * q_error),
        "ppl_base": (ppl_base, ppl_base * b_error),
        "ln_ppl_ratio": (q - b, ratio_error),
        "ppl_ratio": (np.exp(q - b), np.exp(q - b) * ratio_error),
        "ppl_difference": (ppl - ppl_base, difference_error),
        "kld": uncertain(kld),
        "dp": uncertain(dp),
        "rms_dp": (mse**0.5, mse_error / (2 * mse**0.5)),
        "same_top": (share, (share * (1 - share) / (n - 1)) ** 0.5),
    }.items():
        assert getattr(computed, name) == pytest.approx(expected, rel=1e-9), name
    assert computed.ln_ppl_correlation == pytest.approx(covariance / (q_error * b_error), rel=1e-9)
    ordered = sorted(kld)
    assert computed.kld_percentiles["100"] == ordered[-1]
    assert computed.kld_percentiles["50"] == pytest.approx((ordered[99] + ordered[100]) / 2)
    place = 0.9 * 199
    low = int(place)
    between = ordered[low] + (place - low) * (ordered[low + 1] - ordered[low])
    assert computed.kld_percentiles["90"] == pytest.approx(between)
    assert figures([]) is None
    few = figures([TokenDivergence(1, 2, 0.5, True)] * 3)
    assert few is not None
    assert (few.kld, few.ppl.error, few.ln_ppl_correlation) == ((0.5, 0.0), 0.0, None)
    for size in (1e3, 1e200, np.inf):
        wild = figures([TokenDivergence(size * number, 2, size, False) for number in range(1, 13)])
        assert wild is not None
        assert wild.ppl.value == np.inf
        assert json.loads(json_text(wild.as_json()))["tokens"] == 12


@settings(deadline=None)
@given(st.data())
def test_a_divergence_is_that_of_scipy_and_splits_by_the_chain_rule(data: st.DataObject) -> None:
    p = data.draw(arrays(np.float64, 6, elements=st.floats(-20, 20)))
    q = data.draw(arrays(np.float64, 6, elements=st.floats(-20, 20)))
    allowed = np.array([True, True, False, True, False, False])
    whole = token_divergence(log_softmax(p), log_softmax(q), 0).kld
    assert whole == pytest.approx(float(rel_entr(softmax(p), softmax(q)).sum()), rel=1e-6, abs=1e-9)
    (a, b), (c, d) = ((softmax(part)[allowed].sum(), softmax(part)[~allowed].sum()) for part in (p, q))
    inside = token_divergence(log_softmax(p[allowed]), log_softmax(q[allowed]), 0).kld
    outside = token_divergence(log_softmax(p[~allowed]), log_softmax(q[~allowed]), 0).kld
    between = rel_entr(a, c) + rel_entr(b, d)  # 1 - a has too few digits where a is nearly all
    assert whole == pytest.approx(between + a * inside + b * outside, rel=1e-6, abs=1e-6)


@settings(deadline=None)
@given(LOGITS)
def test_a_row_comes_back_within_its_rounding(logits: Any) -> None:
    row = encode(logits)
    assert len(row) % 2 == 0
    exact, rounded = log_softmax(logits), decode(row, len(logits))
    near = logits > logits.max() + FLOOR
    assert np.abs(rounded - exact)[near].max() <= 0.5 * 16 / 65535 + 1e-4  # and single precision
    assert (rounded[~near] <= rounded[near].min() + 1e-4).all()


def test_the_file_holds_what_was_written_and_is_there_once_complete(tmp_path: Path) -> None:
    tokens, path = np.arange(20, dtype=np.int32).reshape(2, 10), tmp_path / "base"
    rows = np.random.default_rng(0).normal(0, 5, (8, 21)).astype(np.float32)
    with writing(path, tokens, 21) as file:
        for row in rows:
            file.append(row)
        assert not path.exists()
    head = path.read_bytes()[:20]
    assert (head[:8], struct.unpack("<3i", head[8:])) == (b"_logits_", (10, 21, 2))
    assert path.stat().st_size == 20 + 4 * 20 + 8 * 2 * 26
    with reading(path) as back:
        assert (back.tokens == tokens).all()
        assert (back.first, back.rows) == (5, 4)
        read = [row for chunk in (1, 0) for row in back.chunk(chunk)]
    for row, logits in zip(read, [*rows[4:], *rows[:4]], strict=True):
        assert (row == decode(encode(logits), 21)).all()
    with pytest.raises(RigError, match="already exists"), writing(path, tokens, 21):
        pass
    with pytest.raises(KeyboardInterrupt), writing(tmp_path / "part", tokens, 21):
        raise KeyboardInterrupt
    assert [place.name for place in tmp_path.iterdir()] == ["base"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data[:-2], "damaged: 514 bytes, where its header says 516"),
        (lambda data: data + b"x", "damaged"),
        (lambda data: b"GGUF" + data[4:], "not a file of llama-perplexity"),
        (lambda data: data[:9], "not a file of llama-perplexity"),
        (lambda data: data[:8] + struct.pack("<3i", 10, 21, 2**31 - 1) + data[20:], "damaged"),
        (lambda data: data[:8] + struct.pack("<3i", -10, 21, 2) + data[20:], "damaged"),
        (lambda data: data[:20] + struct.pack("<i", 21) + data[24:], "tokens that its vocabulary has not"),
        (lambda data: data[:100] + struct.pack("<f", np.nan) + data[104:], "no log-probabilities"),
        (lambda data: data[:100] + struct.pack("<2f", 1e-4, 50.0) + data[108:], "no log-probabilities"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, change: Callable[[bytes], bytes], says: str) -> None:
    tokens, path = np.arange(20, dtype=np.int32).reshape(2, 10), tmp_path / "base"
    with writing(path, tokens, 21) as file:
        for _ in range(8):
            file.append(np.ones(21, dtype=np.float32))
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(RigError, match=says), reading(path) as back:
        list(back.chunk(0))


def test_a_file_of_nothing_and_a_pipe_are_refused_unread(tmp_path: Path) -> None:
    """Its header says truly how large it is: 32 million chunks, which take no room on the disk."""
    sparse, pipe = tmp_path / "sparse", tmp_path / "pipe"
    sparse.write_bytes(b"_logits_" + struct.pack("<3i", 3, 1, 2**25))
    os.truncate(sparse, 20 + (24 << 25))
    os.mkfifo(pipe)
    for path, says in ((sparse, "damaged"), (pipe, "is not a regular file")):
        with pytest.raises(RigError, match=says), reading(path):
            pass


def test_a_text_is_cut_as_llama_perplexity_cuts_it() -> None:
    assert chunks_of(range(25), 8, None).tolist()[2] == list(range(16, 24))
    assert chunks_of(range(25), 8, 1).shape == (1, 8)
    with pytest.raises(RigError, match="a chunk has at least 3 tokens"):
        chunks_of(range(99), 2, None)
    with pytest.raises(RigError, match="has 15 tokens, and has to have 16"):
        chunks_of(range(15), 8, None)


TALKS = ("--conversations", "conversations", "--world", "databases", "--tools", "exact", "--threads", "1")
TEXT = ("--kld", "--text", "text.txt", "--n-ctx", "64", "--threads", "1")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    models = small_talks.write_with_models(tmp_path, monkeypatch)
    tiny_gguf.write(models / "spm.gguf", n_ctx=16384, tokenizer="spm")
    text = "".join(f"The {number} of May, a line of\\ttext. " for number in range(40))
    (tmp_path / "text.txt").write_text(text + "\n")
    return tmp_path


@pytest.mark.slow
def test_a_text_through_a_file_and_without_it_has_the_same_figures(rig: Rig, place: Path) -> None:
    saved = rig("screen", "base", "other", *TEXT, "--save-all-logits", "base.bin", "--json")
    assert saved.code == 0, saved.err
    (other,) = saved.json["arms"]
    with reading(place / "base.bin") as file:
        chunks, n_ctx = file.tokens.shape
        assert (saved.json["chunks"], saved.json["n_ctx"], n_ctx) == (chunks, 64, 64)
        assert other["figures"]["tokens"] == chunks * file.rows
    again = rig(
        "screen", "base", "other", "--kld", "--kl-divergence-base", "base.bin", "--threads", "1", "--json"
    )
    same, through = again.json["arms"]
    assert again.json["base"] == "base.bin"
    assert (
        through["figures"]
        == other["figures"]
        == rig("screen", "base", "other", *TEXT, "--json").json["arms"][0]["figures"]
    )
    assert abs(same["figures"]["kld"][0]) < 1e-4 < other["figures"]["kld"][0]
    assert same["figures"]["ppl"] == pytest.approx(same["figures"]["ppl_base"], rel=1e-4)
    first = rig("screen", "base", "other", *TEXT, "--limit", "1").out
    assert "1 chunk of 64 tokens, 31 of them compared; D(base‖other)" not in first
    assert "1 chunk of 64 tokens, 31 of them compared; D(base‖file) in nats" in first


@pytest.mark.slow
def test_all_tokens_of_answers_by_what_they_decide(rig: Rig, place: Path) -> None:
    done = rig("screen", "base", "other", "base", *TALKS, "--kld", "--output", "screen.json")
    assert done.code == 0, done.err
    assert "KLD, D(base‖file) (95%)" in done.out
    base, other, same = json.loads((place / "screen.json").read_text())["arms"]
    assert "kld" not in base
    plain = rig("screen", "base", "other", *TALKS, "--json").json["arms"][1]
    assert "kld" not in plain
    for name in ("call_logprob", "kinds", "greedy_calls"):
        assert other[name] == plain[name]
    assert set(other["kld"]) == {"all", "answer", "tool", "parameter", "value", "prose"}
    assert other["kld"]["all"]["tokens"] == sum(
        other["kld"][name]["tokens"] for name in set(other["kld"]) - {"all"}
    )
    tokens = [token for step in other["steps"] for token in step["tokens"] if token["decides"] == "value"]
    mean = sum(token["kld"] for token in tokens) / len(tokens)
    assert other["kld"]["value"]["kld"][0] == pytest.approx(mean)
    interval = other["kld"]["value"]["kld_interval"]
    assert interval["value"] == pytest.approx(mean)
    assert interval["low"] < mean < interval["high"]
    assert all(token["kld"] > 0 for token in tokens)
    assert (same["kld"]["all"]["kld"], same["kld"]["all"]["same_top"]) == ([0, 0], [1, 0])
    words = [step for step in other["steps"] if step["answer"] == "reply"]
    assert all(any(token["decides"] == "prose" for token in step["tokens"]) for step in words)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("base", "other", "--text", "text.txt"), "are for --kld without --against"),
        (("base", *TEXT), "Give the base first"),
        (("base", "other", *TEXT, "--suite", "easy"), "--suite has no effect on a text"),
        (("base", "other", *TEXT, "--kl-divergence-base", "x"), "give either --text"),
        (("base", "--kld", "--kl-divergence-base", "nowhere"), "cannot be read"),
        (("base", "--kld", "--kl-divergence-base", "text.txt"), "not a file of llama-perplexity"),
        (
            ("base", "--kld", "--kl-divergence-base", "x", "--n-ctx", "9"),
            "or --kl-divergence-base alone",
        ),
        (("base", "--kld", "--save-all-logits", "x"), "give either --text"),
        (("base", "other", *TEXT[:3], "--n-ctx", "8192"), "give a longer one, or a smaller --n-ctx"),
        (("base", "other", *TEXT, "--against", "latest"), "are for --kld without --against"),
    ],
)
def test_what_cannot_be_screened_is_one_line(
    rig: Rig, place: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = rig("screen", *arguments)
    assert (done.code, done.out) == (2, "")
    assert says in done.err.splitlines()[-1]


@pytest.mark.slow
def test_another_vocabulary_fails_alone(rig: Rig, place: Path) -> None:
    done = rig("screen", "base", "spm", "other", *TEXT, "--json")
    assert done.code == 1
    spm, other = done.json["arms"]
    assert (spm["figures"], other["failure"]) == (None, None)
    assert spm["failure"] in done.err


PROGRAM = os.environ.get("RIG_LLAMA_PERPLEXITY") or shutil.which("llama-perplexity") or ""


@pytest.mark.slow
@pytest.mark.skipif(
    not PROGRAM, reason="no llama-perplexity: put it on PATH or name it in RIG_LLAMA_PERPLEXITY"
)
def test_the_figures_are_those_of_llama_perplexity(rig: Rig, place: Path) -> None:
    """Each reads the other's file, and both come to the same figures."""

    def program(*arguments: str) -> str:
        options = ("-c", "64", "-b", "64", "-t", "1", "-fa", "off")
        done = subprocess.run([PROGRAM, *arguments, *options], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout + "\n" + done.stderr

    program("-m", "models/base.gguf", "-f", "text.txt", "--save-all-logits", "theirs.bin")
    ours = rig("screen", "base", "other", *TEXT, "--save-all-logits", "ours.bin", "--json").json["arms"][0]
    with reading(Path("theirs.bin")) as theirs, reading(Path("ours.bin")) as own:
        assert (theirs.tokens == own.tokens).all()
        for number in range(len(own.tokens)):
            for left, right in zip(theirs.chunk(number), own.chunk(number), strict=True):
                assert np.abs(left - right).max() < 0.02
    read = rig(
        "screen", "other", "--kld", "--kl-divergence-base", "theirs.bin", "--threads", "1", "--json"
    ).json
    compare = ("-m", "models/other.gguf", "--kl-divergence", "--kl-divergence-base", "ours.bin")
    # Its log has a thread of its own, which can be gone before the last lines are out.
    printed = next(filter(lambda text: "Same top p:" in text, (program(*compare) for _ in range(5))))
    lines = dict(re.findall(r"(?m)^ *(\S.*?) *: +(-?[0-9].*?)%?$", printed))
    names = {" ".join(name.split()): value for name, value in lines.items()}
    for computed in (ours["figures"], read["arms"][0]["figures"]):
        for name, key, factor in (
            ("Mean PPL(Q)", "ppl", 1),
            ("Mean PPL(base)", "ppl_base", 1),
            ("Mean KLD", "kld", 1),
            ("Mean ln(PPL(Q)/PPL(base))", "ln_ppl_ratio", 1),
            ("RMS Δp", "rms_dp", 100),
            ("Same top p", "same_top", 100),
        ):
            value, error = (float(part.strip(" %")) for part in names[name].split("±"))
            assert factor * computed[key][0] == pytest.approx(value, rel=0.01, abs=2e-3), name
            assert factor * computed[key][1] == pytest.approx(error, rel=0.02, abs=2e-3), name
        assert computed["kld_percentiles"]["50"] == pytest.approx(float(names["Median KLD"]), rel=0.01)

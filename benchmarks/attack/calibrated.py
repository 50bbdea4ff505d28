"""Importance matrices, base files of `--kld`, tuning states and model headers from strangers.

`rig models quantize --imatrix`, `rig screen --kld --kl-divergence-base`, `rig models tune` and `calibrate`
read them, or say in a line why they do not, within a minute and 2 GiB.
"""

import json
import os
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from benchmarks.attack.campaign import Broken, Finished, apart, ended, folder, main
from benchmarks.attack.hostile import TEXTS, changed, damaged, text

_COLUMNS = 256
_NUMBERS = (0.0, 1.0, -1.0, 1e-38, 3e38, float("inf"), float("-inf"), float("nan"))
SHORT = ("--tools", "exact", "--limit", "2", "--threads", "1")
_TUNE = (
    *SHORT,
    "--similarity",
    "exact",
    "--parallel",
    "1",
    "--max-tokens",
    "8",
    "--max-calls",
    "1",
    "--display",
    "none",
)


@cache
def model(sampling: tuple[tuple[str, float], ...] = ()) -> bytes:
    """A small model whose rows are long enough for K-quants."""
    from tests.support import tiny_gguf

    before = {name: getattr(tiny_gguf, name) for name in ("WIDTH", "INNER", "HEADS")}
    with folder() as place:
        vars(tiny_gguf).update(WIDTH=_COLUMNS, INNER=2 * _COLUMNS, HEADS=4)
        try:
            return tiny_gguf.write(place / "tiny.gguf", n_ctx=8192, sampling=sampling).read_bytes()
        finally:
            vars(tiny_gguf).update(before)


@cache
def _vocabulary() -> int:
    """How many tokens the small model has."""
    from rig.plugins.llama.core.llama import LlamaModel
    from rig.plugins.llama.core.tokenizer import Tokenizer

    with folder() as place:
        (place / "tiny.gguf").write_bytes(model())
        tiny = LlamaModel(place / "tiny.gguf")
        number = Tokenizer(tiny).n_vocab
        tiny.close()
        return number


def _string(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(data)) + data


def _matrix(random: Random) -> bytes:
    """An importance matrix in GGUF, in which nearly anything may be wrong."""
    odd = random.random
    names = [f"blk.{n}.{part}.weight" for n in range(2) for part in ("attn_q", "ffn_down", text(random))]
    tensors, data = [], b""
    for name in random.sample(names, random.randrange(len(names) + 1)):
        columns = 2 * _COLUMNS if "down" in name else _COLUMNS
        shape: tuple[int, ...]
        for ending, shape in ((".in_sum2", (columns, 1)), (".counts", (1, 1))):
            if odd() < 0.1:
                shape = random.choice(
                    ((), (0, 1), (columns, 4), (1, columns), (columns,), (2**40, 2**40), (1, 1, 1, 1))
                )
            kind = random.choice((0, 0, 0, 0, 0, 0, 1, 8, 26, 99))
            values = np.full(max(1, min(4096, int(np.prod(np.array(shape, float))))), 2.0, np.float32)
            if odd() < 0.2:
                values[random.randrange(len(values))] = random.choice(_NUMBERS)
            offset = len(data) if odd() < 0.95 else random.choice((0, 1, 2**63, 2**64 - 32))
            tensors.append(
                _string(name + (ending if odd() < 0.95 else ""))
                + struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
                + struct.pack("<IQ", kind, offset)
            )
            data += values.tobytes() + bytes(-4 * len(values) % 32)
    pairs = [
        ("general.type", 8, _string("imatrix" if odd() < 0.95 else "model")),
        ("imatrix.datasets", 9, struct.pack("<IQ", 8, 2) + _string(text(random)) + _string("b")),
        ("imatrix.chunk_count", 4, struct.pack("<I", random.choice((1, 0, 2**32 - 1)))),
        ("imatrix.chunk_size", 4, struct.pack("<I", random.choice((512, 0, 2**32 - 1)))),
        (
            "rig.calibration.traces",
            9,
            random.choice((struct.pack("<IQ", 8, 1) + _string("x"), struct.pack("<IQ", 4, 1) + b"abcd")),
        ),
    ]
    if odd() < 0.1:
        many = random.choice((1000, 4 * 10**6))
        pairs.append(("many", 9, struct.pack("<IQ", 8, many) + bytes(8 * many)))
    if odd() < 0.3:
        pairs[random.randrange(len(pairs))] = random.choice(
            (
                ("general.alignment", 4, struct.pack("<I", random.choice((1, 2**31)))),
                ("imatrix.datasets", 9, struct.pack("<IQ", 9, 0)),
                (text(random), 12, bytes(8)),
                ("imatrix.chunk_count", 6, struct.pack("<f", float("nan"))),
            )
        )
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(pairs))
    head += b"".join(_string(key) + struct.pack("<I", kind) + value for key, kind, value in pairs) + b"".join(
        tensors
    )
    return head + bytes(-len(head) % 32) + data


def _old(random: Random) -> bytes:
    """An importance matrix in the older format."""
    names = ["blk.0.attn_q.weight", "blk.1.ffn_down.weight", "blk.0.attn_q.weight", text(random)][
        : random.randrange(5)
    ]
    made = struct.pack("<i", random.choice((len(names), len(names), 0, -1, 2**31 - 1)))
    for name in names:
        data = name.encode("utf-8", "surrogatepass")
        columns = random.choice((_COLUMNS, _COLUMNS, 2 * _COLUMNS, 1))
        values = np.full(columns, random.choice((2.0, 2.0, 2.0, *_NUMBERS)), "<f4")
        sizes = (
            random.choice((len(data), len(data), len(data), 0, 2**31 - 1)),
            random.choice((1, 1, 2**31 - 1, -1)),
        )
        made += (
            struct.pack("<i", sizes[0])
            + data
            + struct.pack("<ii", sizes[1], random.choice((columns, columns, 2**28, -4)))
        )
        made += values.tobytes()
    return made + random.choice(
        (b"", b"x", struct.pack("<ii", 3, 4) + b"text", struct.pack("<ii", -3, 2**31 - 1))
    )


def _base(random: Random, n_vocab: int) -> bytes:
    """A file of log-probabilities that nearly fits the model."""
    n_ctx, chunks = random.choice((4, 16, 3, 64)), random.choice((1, 2, 5))
    rows, width = n_ctx - 1 - n_ctx // 2, 2 * ((n_vocab + 1) // 2) + 4
    tokens = np.array([random.randrange(n_vocab) for _ in range(chunks * n_ctx)], "<i4")
    table = (
        np.array([random.randrange(65536) for _ in range(width)], "<u2")
        .reshape(1, width)
        .repeat(chunks * rows, 0)
    )
    table[:, :4] = np.array(
        [random.choice((1e-4, 1e-4, *_NUMBERS)), random.choice((-12.0, -12.0, *_NUMBERS))], "<f4"
    ).view("<u2")
    if random.random() < 0.2:
        tokens[random.randrange(len(tokens))] = random.choice((-1, n_vocab, 2**31 - 1))
    sizes = (
        (n_ctx, n_vocab, chunks)
        if random.random() < 0.8
        else random.choices((0, 1, -1, 2**31 - 1, -(2**31), n_ctx), k=3)
    )
    return b"_logits_" + struct.pack("<iii", *sizes) + tokens.tobytes() + table.tobytes()


def _sparse(random: Random, path: Path) -> None:
    """A file of many GB of nothing, whose header says so truly."""
    n_ctx, n_vocab, chunks = random.choice(
        ((3, 1, 2**31 - 1), (2**31 - 1, 1, 1), (512, 2**20, 40), (8192, 2**18, 2))
    )
    rows, width = n_ctx - 1 - n_ctx // 2, 2 * ((n_vocab + 1) // 2) + 4
    path.write_bytes(b"_logits_" + struct.pack("<iii", n_ctx, n_vocab, chunks))
    os.truncate(path, 20 + chunks * (4 * n_ctx + 2 * rows * width))


def _put(random: Random, path: Path, data: bytes) -> None:
    """The file, damaged, or something else that has its name."""
    kind = random.random()
    if kind < 0.04:
        os.mkfifo(path)
    elif kind < 0.06:
        path.symlink_to("/dev/zero")
    elif kind < 0.08:
        path.write_bytes(data[:4])
        os.truncate(path, 60 << 30)
    else:
        path.write_bytes(damaged(random, data, 3, 6) if kind < 0.4 else data)


def _matrices(random: Random, place: Path) -> str:
    matrix = place / random.choice(("m.gguf", "m.dat"))
    _put(random, matrix, random.choice((_matrix, _old))(random))
    return ended(
        apart(
            "models",
            "quantize",
            "tiny",
            "--to",
            random.choice(("q4_0", "iq2_xs")),
            "--imatrix",
            matrix,
            "--threads",
            "1",
            RIG_MODELS=place / "models",
        )
    )


def _bases(random: Random, place: Path) -> str:
    base, n_vocab = place / "base", _vocabulary()
    if random.random() < 0.1:
        _sparse(random, base)
    else:
        _put(random, base, _base(random, n_vocab))
    json_asked = random.choice(((), ("--json",)))
    return ended(
        apart(
            "screen",
            "tiny",
            "--kld",
            "--kl-divergence-base",
            base,
            "--threads",
            "1",
            *json_asked,
            RIG_MODELS=place / "models",
            RIG_CACHE=place / "cache",
        )
    )


_STATE = {
    "asked": {},
    "matrix": "tuned_000000.gguf",
    "created": ["tiny-q4_0"],
    "screened": {"tiny-q4_0": {"divergence": 0.1, "failure": None, "size": 9}},
    "run": "abcde",
    "kept": None,
}


def _tuned(place: Path) -> Finished:
    """What becomes of a tuning in a folder, which is begun or goes on there."""
    asked = ("models", "tune", "tiny", *_TUNE, "--size", "1MB", "--to", "q4_0", "--candidates", "1")
    paths = {"RIG_MODELS": place / "models", "RIG_CACHE": place / "cache"}
    return apart(*asked, "-o", place / "tuned", "--runs", place / "runs.sqlite", **paths)


@cache
def _asked() -> Any:
    """What a tuning says that it was asked, from one that is stopped when its state is there."""
    with folder() as place:
        (place / "models").mkdir()
        (place / "models" / "tiny.gguf").write_bytes(model())
        (place / "tuned" / "tuned_000000.gguf").parent.mkdir()
        _tuned(place)
        return json.loads((place / "tuned" / "tune.json").read_text())["asked"]


def _states(random: Random, place: Path) -> str:
    """A tuning that goes on where a folder of somebody else's says so; no file of another's is removed."""
    tuned, others = place / "tuned", place / "models" / "mine.gguf"
    tuned.mkdir()
    others.write_bytes(b"mine")
    state = {**changed(random, {**_STATE, "created": ["tiny-q4_0", "mine", "../victim"]}), "asked": _asked()}
    (tuned / "tune.json").write_text(json.dumps(state))
    (tuned / "tuned_000000.gguf").write_bytes(_matrix(random))
    done = _tuned(place)
    if others.read_bytes() != b"mine":
        raise Broken("a file of somebody else's is gone")
    return ended(done)


def _headers(random: Random, place: Path) -> str:
    """A model whose header recommends and names what no model should, under the verbs that make files."""
    names = ("temp", "top_p", "top_k", "min_p", "penalty_repeat", "seed", "sequence")
    numbers = (*_NUMBERS, -(2**31), 2**31 - 1, 0)
    data = model(tuple((name, random.choice(numbers)) for name in random.sample(names, 3)))
    name = random.choice(TEXTS).encode("utf-8", "replace").replace(b"\0", b" ")[:10].ljust(10)
    data = data.replace(b"tiny llama", name, 1)
    if random.random() < 0.3:
        end = data.index(b"token_embd.weight")
        data = damaged(random, data[:end], 2) + data[end:]
    (place / "models" / "tiny.gguf").write_bytes(data)
    verb = random.choice(
        (
            ("models", "calibrate", "tiny", "-o", place / "m.gguf", *SHORT),
            ("models", "quantize", "tiny", "--to", "q4_0", "--threads", "1"),
            ("models", "info", "tiny"),
            ("run", "tiny", *_TUNE, "--sampling", "author", "--runs", place / "runs.sqlite"),
        )
    )
    done = apart(*verb, RIG_MODELS=place / "models", RIG_CACHE=place / "cache")
    return f"{verb[1 if verb[0] == 'models' else 0]} {ended(done)}"


_KINDS: tuple[Callable[[Random, Path], str], ...] = (_matrices, _matrices, _bases, _bases, _headers, _states)


def case(random: Random) -> str:
    """One file of a stranger's, and a verb that reads it."""
    with folder() as place:
        (place / "models").mkdir()
        (place / "models" / "tiny.gguf").write_bytes(model())
        _vocabulary()  # which loads what the forks need
        kind = random.choice(_KINDS)
        name = kind.__name__.strip("_")
        try:
            return f"{name} {kind(random, place)}"
        except Broken as error:
            raise Broken(f"{name}: {error}".replace(str(place), "PLACE")) from error


if __name__ == "__main__":
    main("calibrated", case, 200)

"""What every test stands on: no network, no file of the user's, and the data it may ask for."""

import itertools
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import json_schema
import pytest
from browser import Page
from hypothesis import HealthCheck, settings
from terminals import Terminal

from rig.core import opening
from rig.core.errors import RigError
from rig.show import signs

CHECKOUT = Path(__file__).resolve().parent.parent

# Time says nothing on a machine that does other things. What must pass before a change lands is the same each
# time; everybody else's tests look at other cases each time.
settings.register_profile(
    "all",
    deadline=None,
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("all"), max_examples=25)


def _refuse(*_: object, **__: object) -> NoReturn:
    raise AssertionError("a test tried to use the network")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples a property is tried with, and block sockets before tests are imported.

    Local (AF_UNIX) sockets stay: asyncio needs them.

    Signs are shown in ASCII, here and in processes that tests start, whatever terminal they run in.
    """
    settings.load_profile("quick" if config.option.markexpr == "not slow" else "all")
    os.environ["RIG_ASCII"] = "1"
    signs.use(ascii_only=True)

    def guarded(method: str) -> Callable[..., Any]:
        original = getattr(socket.socket, method)

        def connect(self: socket.socket, *arguments: Any) -> Any:
            return original(self, *arguments) if self.family == socket.AF_UNIX else _refuse()

        return connect

    for method in ("connect", "connect_ex", "sendto"):
        setattr(socket.socket, method, guarded(method))
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        setattr(socket, name, _refuse)


@pytest.fixture(autouse=True)
def _ascii_again() -> Iterator[None]:
    """A test may show Unicode; the next one finds ASCII."""
    yield
    signs.use(ascii_only=True)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Caches go to a folder of this session; what is in them depends on content alone, so tests share it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIG_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("PIP_NO_INDEX", "1")  # sockets are blocked in this process only, and pip is another
        yield


@pytest.fixture(scope="session")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new folder each time. `mktemp` would look through those of all tests before: 17 ms after 6,000."""
    base = tmp_path_factory.mktemp("places")
    return (base / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_runs(places: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs and settings of a test, and of the processes it starts, are in a folder of its own."""
    place = next(places)
    for folder in (place, place / "config", place / "runs"):
        folder.mkdir()
    monkeypatch.setenv("RIG_CONFIG", str(place / "config" / "rig.toml"))
    monkeypatch.setenv("RIG_RUNS", str(place / "runs" / "runs.sqlite"))


@pytest.fixture(autouse=True)
def own_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all files that tests of this session make, which stores of theirs may name."""
    place = tmp_path_factory.getbasetemp()
    opening.name(place)
    return place


@pytest.fixture(scope="session")
def smollm2() -> Path:
    """The real SmolLM2-135M-Instruct. Its absence is a failure: the tests are not run without a model."""
    from rig.plugins.llama.files.registry import resolve

    try:
        return resolve("smollm2-135m").path
    except RigError as error:
        pytest.fail(f"{error} (`make setup` does all of it)")


@pytest.fixture(scope="session")
def gemma3() -> Path:
    """The real Gemma 3 270M: a large vocabulary and a sliding window. Skips where it was not pulled."""
    from rig.plugins.llama.files.registry import resolve

    try:
        return resolve("gemma3-270m").path
    except RigError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def tooltalk() -> Path:
    """The data folder of a checkout of the public ToolTalk repository, named by $RIG_TOOLTALK."""
    place = os.environ.get("RIG_TOOLTALK")
    if not place:
        pytest.skip("RIG_TOOLTALK is not set")
    for part in ("data/easy", "data/databases"):
        assert (Path(place) / part).is_dir(), f"RIG_TOOLTALK={place} holds no {part}"
    return Path(place)


@pytest.fixture(scope="session")
def autode() -> Path:
    """A checkout of the public AutoDE repository, named by $RIG_AUTODE."""
    place = os.environ.get("RIG_AUTODE")
    if not place:
        pytest.skip("RIG_AUTODE is not set")
    for part in ("API_list.xlsx", "datasets/data_v1_2.jsonl"):
        assert (Path(place) / part).is_file(), f"RIG_AUTODE={place} holds no {part}"
    return Path(place)


@dataclass(frozen=True)
class Finished:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out.splitlines()[-1])


@pytest.fixture
def rig(capfd: pytest.CaptureFixture[str], own_files: Path) -> Callable[..., Finished]:
    """Runs the command line in this process: `rig("models", "list")`. Stores may name files of the tests."""
    from rig.cli import main

    def run(*arguments: object) -> Finished:
        capfd.readouterr()
        code = 0
        try:
            main([*(("--open", str(own_files)) if arguments else ()), *map(str, arguments)])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        out, err = capfd.readouterr()
        words = list(map(str, arguments))
        if "--json" in words:
            json_schema.check(words, out, code)
        return Finished(code, out, err)

    return run


@pytest.fixture
def store(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The run store that the commands of a test use: a copy of the one that its module `played`."""
    path = tmp_path / "runs.sqlite"
    shutil.copy(played, path)
    monkeypatch.setenv("RIG_RUNS", str(path))
    return path


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A real browser, for the tests of a file."""
    with Page(tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of models, which is empty and the test's own."""
    directory = tmp_path / "models"
    directory.mkdir()
    monkeypatch.setenv("RIG_MODELS", str(directory))
    return directory


@pytest.fixture
def write_gguf(tmp_path: Path) -> Callable[..., Path]:
    """Writes a small but complete GGUF model; see `_write_gguf` for what can be chosen."""

    def write(name: str = "tiny.gguf", **choices: Any) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_gguf(path, **choices)
        return path

    return write


def _write_gguf(
    path: Path,
    architecture: str = "llama",
    numbers: Mapping[str, int | Sequence[int]] | None = None,
    texts: Mapping[str, str] | None = None,
    vocabulary: int = 50,
) -> None:
    """`numbers` is metadata under the architecture's name, `texts` under its own; None means the default."""
    import gguf
    import numpy as np

    writer = gguf.GGUFWriter(path, architecture)
    defaults: Mapping[str, int | Sequence[int]] = {
        "context_length": 2048,
        "block_count": 4,
        "embedding_length": 64,
        "attention.head_count": 8,
        "attention.head_count_kv": 2,
    }
    for key, value in (defaults if numbers is None else numbers).items():
        if isinstance(value, int):
            writer.add_uint32(f"{architecture}.{key}", value)
        else:
            writer.add_array(f"{architecture}.{key}", value)
    for key, text in ({"general.name": "Tiny"} if texts is None else texts).items():
        writer.add_string(key, text)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"token{number}" for number in range(vocabulary)])
    writer.add_bos_token_id(1)
    weights = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64)
    quantized = gguf.quants.quantize(weights, gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("token_embd.weight", quantized, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.add_tensor("output_norm.weight", np.ones(64, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A shell in tmux, 80 by 24, in a folder of the test's own."""
    opened = Terminal(tmp_path)
    yield opened
    opened.close()

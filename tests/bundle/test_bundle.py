"""Whole bundles: made, verified, damaged, unpacked and installed."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.core.errors import RigError
from rig.plugins.bundle import contents
from rig.plugins.bundle.archive import Member, digest_of, reading, write
from rig.plugins.bundle.contents import Contents, make, verify

Bundle = Callable[..., Path]


def unpack(path: Path, target: Path) -> Path:
    with tarfile.open(path) as archive:
        archive.extractall(target, filter="data")
    return target / "rig-bundle"


def repack(path: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The bundle with other files in it, in the order they are in."""
    with reading(path) as stream:
        files = {name: b"".join(content) for name, _, content in stream.members()}
    change(files)
    folder = path.parent / "again"
    folder.mkdir(exist_ok=True)
    members = []
    for number, (name, content) in enumerate(files.items()):
        (folder / str(number)).write_bytes(content)
        members.append(Member(name, folder / str(number), digest_of(folder / str(number))))
    write(path, ".tar.gz", members)
    return path


def manifest(path: Path) -> Any:
    with reading(path) as stream:
        return json.loads(b"".join(next(stream.members())[2]))


def test_the_same_contents_give_the_same_bytes(bundle: Bundle) -> None:
    first = bundle("one.tar.gz").read_bytes()
    assert bundle("two.tar.gz").read_bytes() == first


def test_a_bundle_is_as_it_was_packed(bundle: Bundle, model: Path) -> None:
    path = bundle()
    found = verify(path)
    assert found.differing == ()
    assert found.digest == digest_of(path)
    said = manifest(path)
    assert found.files == len(said["files"]) + 2
    assert said["llama_cpp"] == {"version": "1.0", "instructions": ["SSE3", "REPACK"], "offloads": False}
    assert said["models"] == [{"name": model.stem, "file": model.name, "licence": None}]
    assert set(said["files"]) >= {"install.sh", "install.py", "requirements.txt", f"models/{model.name}"}
    assert sorted(path.parent.glob(".bundle*")) == []


def test_what_a_killed_bundle_left_is_removed_by_the_next(bundle: Bundle) -> None:
    folder = bundle().parent
    script = (
        "import os, sys; from pathlib import Path; from rig.core.files import temporary_folder\n"
        "with temporary_folder(Path(sys.argv[1]), 'bundle'): os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", script, folder], check=False)
    assert len(list(folder.glob(".bundle.*"))) == 1
    bundle()
    assert not list(folder.glob(".bundle.*"))


@pytest.mark.skipif(not shutil.which("sha256sum"), reason="sha256sum is not installed")
def test_sha256sum_reads_the_checksums(bundle: Bundle, tmp_path: Path) -> None:
    top = unpack(bundle(), tmp_path)
    check = ["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"]
    assert subprocess.run(check, cwd=top, check=False).returncode == 0
    (top / "install.py").write_text("pass")
    assert subprocess.run(check, cwd=top, check=False, capture_output=True).returncode == 1


@pytest.mark.parametrize(
    ("change", "differing"),
    [
        (
            lambda files: files.update({"rig-bundle/install.py": b"evil"}),
            [("install.py", "4 bytes instead of")],
        ),
        (lambda files: files.pop("rig-bundle/install.sh"), [("install.sh", "is missing")]),
        (lambda files: files.update({"rig-bundle/x.pth": b""}), [("rig-bundle/x.pth", "is not in the list")]),
        (lambda files: files.update({"elsewhere/x": b""}), [("elsewhere/x", "is not in the list")]),
        (
            lambda files: files.update({"rig-bundle/install.sh": files["rig-bundle/install.sh"].swapcase()}),
            [("install.sh", "its SHA-256 is another")],
        ),
        (
            lambda files: files.update({"rig-bundle/SHA256SUMS": files["rig-bundle/SHA256SUMS"].upper()}),
            [("SHA256SUMS", "its SHA-256 is another")],
        ),
    ],
    ids=["longer", "missing", "more", "beside", "changed", "checksums"],
)
def test_every_change_is_named(bundle: Bundle, change: Any, differing: list[tuple[str, str]]) -> None:
    found = verify(repack(bundle(), change)).differing
    assert [
        (name, said[: len(wanted)]) for (name, said), (_, wanted) in zip(found, differing, strict=True)
    ] == differing


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"[]", b"{}", b'{"files": 3}', b'{"files": {"a": 1}}', b"\xff", b"[" * 5000),
        b'{"files": {"a": {"sha256": 1, "size": 1e999}}}',
        *(
            b'{"files": {"\\ud800": {"sha256": "x", "size": 1}}}',
            b'{"files": {"a": {"sha256": "\\udc80", "size": 1}}}',
        ),
        b'{"files": {"a\\nb.tar.gz: all as they were packed": {"sha256": "x", "size": 1}}}',
    ],
)
def test_a_manifest_that_is_none(bundle: Bundle, text: bytes) -> None:
    path = repack(bundle(), lambda files: files.update({"rig-bundle/bundle.json": text}))
    with pytest.raises(RigError, match=r"b\.tar\.gz: not a rig bundle: its bundle\.json"):
        verify(path)


def test_an_archive_that_is_no_bundle(bundle: Bundle, tmp_path: Path) -> None:
    path = repack(bundle(), lambda files: files.pop("rig-bundle/bundle.json"))
    with pytest.raises(RigError, match=r"does not begin with rig-bundle/bundle\.json"):
        verify(path)
    for none in (tmp_path / "none", tmp_path):
        with pytest.raises(RigError, match=str(none)):
            verify(none)


def test_more_than_is_listed_is_not_read(bundle: Bundle) -> None:
    path = repack(bundle(), lambda files: files.update({f"rig-bundle/{n}": b"" for n in range(50)}))
    with pytest.raises(RigError, match="contains files that it does not list"):
        verify(path)


def test_toolboxes_and_adapters_come_along(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "inspect_adapter", lambda path: None)
    own = tmp_path / "rooms"
    for name in ("tools.json", "conversations/one.yaml", ".git/config", "__pycache__/x.pyc"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text("{}")
    (tmp_path / "mine.lora").write_bytes(b"x")
    path = bundle(toolboxes=(own,), adapters=(tmp_path / "mine.lora",))
    files = manifest(path)["files"]
    assert [name for name in files if name.startswith(("toolboxes/", "adapters/"))] == [
        "adapters/mine.lora",
        "toolboxes/rooms/conversations/one.yaml",
        "toolboxes/rooms/tools.json",
    ]
    (own / "link").symlink_to("/etc/passwd")
    with pytest.raises(RigError, match="link: is a link"):
        bundle(toolboxes=(own,))
    with pytest.raises(RigError, match="no toolbox"):
        bundle(toolboxes=(tmp_path / "again",))


def test_what_is_hidden_in_the_files_of_servers_comes_along(bundle: Bundle, tmp_path: Path) -> None:
    own = tmp_path / "server"
    for name in ("mcp.json", "repo/.git/HEAD", ".git/config"):
        (own / name).parent.mkdir(parents=True, exist_ok=True)
        (own / name).write_text('{"mcpServers": {"git": {"command": "git"}}}')
    files = manifest(bundle(toolboxes=(own,)))["files"]
    assert [name for name in files if name.startswith("toolboxes/")] == [
        "toolboxes/server/mcp.json",
        "toolboxes/server/repo/.git/HEAD",
    ]


def test_two_files_of_one_name(bundle: Bundle, model: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = shutil.copy(model, tmp_path / "other" / model.name)
    with pytest.raises(RigError, match="is already in the bundle"):
        bundle(models=(str(model), str(other)))
    assert list(tmp_path.glob("*.tar.gz")) == []


@pytest.mark.parametrize("name", ["bundle.zip", "bundle", "x.tar.bz2"])
def test_other_kinds_of_files_are_not_written(bundle: Bundle, name: str) -> None:
    with pytest.raises(RigError, match=r"ends in \.tar\.gz"):
        bundle(name)


def test_a_file_that_is_there_is_kept(bundle: Bundle, tmp_path: Path) -> None:
    path = bundle()
    with pytest.raises(RigError, match=r"b\.tar\.gz: exists"):
        make(path, Contents(), force=False, say=lambda text: None)
    (tmp_path / "device.tar").symlink_to("/dev/null")
    with pytest.raises(RigError, match=r"device\.tar: exists"):
        bundle("device.tar")
    assert Path("/dev/null").is_char_device()


@pytest.fixture
def placed(bundle: Bundle, tmp_path: Path) -> Path:
    return unpack(bundle(), tmp_path / "a place")


def install(
    top: Path, *, path: str = str(Path(sys.executable).parent), **variables: str
) -> subprocess.CompletedProcess[str]:
    home = top.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {"PATH": path, "HOME": str(home), "PYTHON": sys.executable, **variables}
    command = ["/bin/sh", str(top / "install.sh")]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=home)


@pytest.mark.slow
@pytest.mark.usefixtures("real_pip")
def test_it_installs_with_python_alone(placed: Path, tmp_path: Path) -> None:
    done = install(placed, PIP_INDEX_URL="http://192.0.2.1/", PYTHONPATH="/nowhere")
    assert done.returncode == 0, done.stderr
    assert "rig was given ['doctor']" in done.stdout
    said = subprocess.run([placed / "rig", "a b"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert said.stdout == "rig was given ['a b']\n"
    again = install(placed)
    assert again.returncode == 0, again.stderr


def test_a_damaged_file_is_not_installed(placed: Path) -> None:
    (placed / "requirements.txt").write_text("evil\n")
    (placed / "docs" / "other.html").unlink()
    done = install(placed)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "docs/other.html, requirements.txt: not as packed (2 files)" in done.stderr
    assert not (placed / ".venv").exists()


def test_what_is_there_and_no_environment_is_left_alone(placed: Path) -> None:
    (placed / ".venv").mkdir()
    (placed / ".venv" / "mine").touch()
    done = install(placed)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (placed / ".venv" / "mine").exists()


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("python", "CPython 3.99", "this bundle is for CPython 3.99 on "),
        ("platform", "amiga", " on amiga, and "),
        ("libc", ["glibc", "99.1"], "this bundle needs glibc 99.1"),
        ("llama_cpp", {"instructions": ["NO_SUCH_SET", "REPACK"]}, "this processor lacks NO_SUCH_SET"),
        ("files", None, "cannot be read"),
    ],
)
def test_it_says_on_what_machine_it_does_not_run(placed: Path, key: str, value: Any, says: str) -> None:
    said = json.loads((placed / "bundle.json").read_text())
    (placed / "bundle.json").write_text(json.dumps({**said, key: value}) if value else "{")
    done = install(placed)
    if key == "libc" and sys.platform != "linux":
        pytest.skip("only glibc says its version")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert says in done.stderr


def test_without_any_python(placed: Path, tmp_path: Path) -> None:
    done = install(placed, path=str(tmp_path), PYTHON="no-such-python")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "there is no Python" in done.stderr


def test_the_command_line(rig: Any, small: None, model: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    made = rig("bundle", "--models", model, "-o", "b.tar.xz")
    assert made.code == 0, made.err
    digest = digest_of(tmp_path / "b.tar.xz").sha256
    assert made.out.endswith(f"SHA-256 {digest}\n")
    found = rig("bundle", "verify", "b.tar.xz", "--json")
    assert (found.code, found.json["ok"], found.json["sha256"]) == (0, True, digest)
    assert "all as they were packed" in rig("bundle", "verify", "b.tar.xz").out
    again = rig("bundle", "--models", model, "-o", "b.tar.xz", "--force", "--json").json
    assert again["sha256"] == digest_of(tmp_path / "b.tar.xz").sha256
    assert rig("bundle").code == 2
    assert rig("bundle", "-o", "b.tar.xz").code == 2
    assert rig("bundle", "--models", "no-such-model", "-o", "c.tar").code == 2
    assert sorted(os.listdir(tmp_path)) == ["b.tar.xz", model.name]


def test_what_ends_it_from_outside_leaves_nothing(
    rig: Any, small: None, model: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(contents.site, "build", lambda folder: signal.raise_signal(signal.SIGTERM))
    ended = rig("bundle", "--models", model, "-o", tmp_path / "out" / "b.tar.gz")
    assert ended.code == 128 + signal.SIGTERM
    assert list((tmp_path / "out").iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


def test_the_command_line_names_what_differs(rig: Any, bundle: Bundle) -> None:
    path = repack(bundle(), lambda files: files.pop("rig-bundle/install.sh"))
    found = rig("bundle", "verify", path)
    assert found.code == 1
    assert "install.sh: is missing" in found.out
    assert rig("bundle", "verify", path, "--json").json["differing"] == [
        {"file": "install.sh", "fault": "is missing"}
    ]

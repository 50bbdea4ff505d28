"""Gather the contents of a bundle in a folder, make the bundle, and verify one without unpacking it."""

import platform
import sys
import sysconfig
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rig import __version__
from rig.core.budget import parse_json
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.files import json_text, put_in_place, temporary_folder
from rig.core.paths import CHECKOUT, real
from rig.plugins.bundle import site
from rig.plugins.bundle.archive import (
    SUFFIXES,
    Digest,
    Member,
    Stream,
    copied,
    digest_of,
    leads_elsewhere,
    reading,
    write,
)
from rig.plugins.bundle.built import built_for
from rig.plugins.bundle.wheels import Wheel, wheels
from rig.plugins.llama.files.adapters import inspect_adapter
from rig.plugins.llama.files.fetch import run_pip
from rig.plugins.llama.files.registry import load_registry, resolve
from rig.plugins.mcp.servers import holds_servers
from rig.plugins.own_tools.folder import holds_toolbox

TOP = "rig-bundle"
"""The folder in a bundle that contains everything."""
MANIFEST, SUMS = "bundle.json", "SHA256SUMS"
LLAMA = "llama-cpp-python"
PORTABLE = "-DGGML_NATIVE=off -DGGML_OPENMP=off"
"""Builds llama.cpp for processors since 2013 (AVX2), and for systems without GCC's OpenMP."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What goes into a bundle. Without models, it gets all of the registry's that are here."""

    models: Sequence[str] = ()
    adapters: Sequence[Path] = ()
    toolboxes: Sequence[Path] = ()
    wheels: Sequence[Path] = ()
    extras: Sequence[str] = ()
    portable: bool = False


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle: its own digest, how many files it lists, and what differs as (name, what is wrong)."""

    digest: Digest
    files: int
    differing: tuple[tuple[str, str], ...] = ()


class _Files(dict[str, Path]):
    """The files gathered so far, by their names in the bundle."""

    def add(self, name: str, source: Path) -> None:
        """Add a plain file. Raises RigError for any other, or a name that is in use or leads elsewhere."""
        if leads_elsewhere(name) or not name.isprintable():
            raise RigError(f"{source}: has no name that can be packed; rename it")
        if name in self:
            raise RigError(f"{source}: {name} is already in the bundle, from {self[name]}")
        if not source.is_file():
            raise RigError(f"{source}: is not a regular file")
        self[name] = source


def make(
    target: Path,
    contents: Contents,
    *,
    force: bool,
    say: Callable[[str], None],
    watch: Callable[[int, int], None] = lambda packed, of: None,
) -> Bundle:
    """Write a bundle; its content is first gathered in a folder beside it. Raises RigError.

    While it packs, `watch` is called with the number of bytes packed and of all bytes. The same models,
    toolboxes, wheels and environment give the same bytes.
    """
    suffix = next((ending for ending in SUFFIXES if target.name.endswith(ending)), None)
    if suffix is None:
        raise RigError(f"{target}: the name of a bundle ends in {', '.join(SUFFIXES)}")
    if target.exists() and not (force and target.is_file()):
        raise RigError(f"{target}: exists; choose a new file, or --force to write over it")
    try:
        with temporary_folder(target.absolute().parent, "bundle") as folder:
            members = _members(*_gather(contents, folder, say), folder)
            size = sum(member.digest.size for member in members)
            say(f"packing {len(members)} files, {size / 1e9:.1f} GB")
            finished = folder / f"finished{suffix}"
            write(finished, suffix, _watched(members, size, watch))
            own = digest_of(finished)
            put_in_place(finished, target)
    except OSError as error:
        place = error.filename or target
        raise RigError(f"{place}: cannot be written: {error.strerror or error}") from error
    return Bundle(own, len(members))


def _watched(members: Sequence[Member], size: int, watch: Callable[[int, int], None]) -> Iterator[Member]:
    """Yield the members, reporting the bytes packed so far, and of all, before each."""
    packed = 0
    for member in members:
        watch(packed, size)
        yield member
        packed += member.digest.size
    watch(packed, packed)


def _members(files: _Files, description: JsonObject, folder: Path) -> list[Member]:
    """Write the manifest and the checksums, and return every file of the bundle in order."""
    listed = {name: digest_of(files[name]) for name in sorted(files)}
    content = {**description, "files": {name: asdict(digest) for name, digest in listed.items()}}
    (folder / MANIFEST).write_text(json_text(content, indent=1) + "\n", encoding="utf-8")
    manifest = digest_of(folder / MANIFEST)
    (folder / SUMS).write_text(sums(manifest, listed), encoding="utf-8")
    places = {**files, MANIFEST: folder / MANIFEST, SUMS: folder / SUMS}
    digests = {MANIFEST: manifest, SUMS: digest_of(folder / SUMS), **listed}
    return [
        Member(f"{TOP}/{name}", places[name], digest, name == "install.sh")
        for name, digest in digests.items()
    ]


def sums(manifest: Digest, listed: Mapping[str, Digest]) -> str:
    """Return the checksums as `sha256sum -c` reads them."""
    everything = {MANIFEST: manifest, **listed}
    return "".join(f"{digest.sha256}  {name}\n" for name, digest in everything.items())


def _gather(contents: Contents, folder: Path, say: Callable[[str], None]) -> tuple[_Files, JsonObject]:
    """Return the files, and what the manifest says about them."""
    files = _Files()
    for name in ("install.sh", "install.py"):
        files.add(name, Path(__file__).with_name(name))
    models = list(_models(contents.models, files))
    for path in contents.adapters:
        inspect_adapter(path)
        files.add(f"adapters/{path.name}", path)
    for place in contents.toolboxes:
        _toolbox(place, files)
    say("documentation" if CHECKOUT else "no documentation: this rig is not a checkout")
    if CHECKOUT:
        site.build(folder / "docs")
    for page in sorted(path for path in (folder / "docs").rglob("*") if path.is_file()):
        files.add(page.relative_to(folder).as_posix(), page)
    wheels_folder = folder / "wheels"
    wheels_folder.mkdir()
    named_wheels = [*contents.wheels]
    if contents.portable:
        say("compiling llama.cpp for processors since 2013; about 6 minutes on 2 cores")
        named_wheels.append(_portable(folder))
    say("wheels of what is installed here")
    packed = wheels(wheels_folder, named_wheels, contents.extras)
    for wheel in packed:
        files.add(f"wheels/{wheel.path.name}", wheel.path)
    requirements = folder / "requirements.txt"
    pinned = (
        f"{wheel.name}=={wheel.version} --hash=sha256:{digest_of(wheel.path).sha256}\n" for wheel in packed
    )
    requirements.write_text("".join(pinned), encoding="utf-8")
    files.add(requirements.name, requirements)
    return files, {
        "format": 1,
        "rig": __version__,
        "python": f"{platform.python_implementation()} {sys.version_info[0]}.{sys.version_info[1]}",
        "platform": sysconfig.get_platform(),
        "libc": list(platform.libc_ver()),
        "llama_cpp": _llama(packed, folder),
        "models": models,
        "wheels": [
            {"name": wheel.name, "version": wheel.version, "file": wheel.path.name, "given": wheel.is_named}
            for wheel in packed
        ],
    }


def _models(names: Sequence[str], files: _Files) -> Iterator[JsonObject]:
    """Add the models, and yield each with its licence in the registry. rig's adapters are in its wheel."""
    here = [name for name, entry in load_registry().items() if entry.path.is_file()]
    for name in names or here:
        model = resolve(name)
        file = model.entry.file if model.entry else model.path.name
        if files.get(f"models/{file}") != model.path:
            files.add(f"models/{file}", model.path)
        yield {"name": model.name, "file": file, "licence": model.entry.licence if model.entry else None}


def _toolbox(place: Path, files: _Files) -> None:
    """Add a folder with tools, without hidden or compiled files. Links in it are refused.

    Hidden files inside the files of servers, such as `.git`, are kept.
    """
    place = real(place)
    if not holds_toolbox(place):
        raise RigError(f"{place}: no toolbox: neither tools.json nor toolbox.py is there")
    deepest = 1 if holds_servers(place) else None
    for path in sorted(place.rglob("*")):
        inside = path.relative_to(place).parts
        if any(part.startswith(".") or part == "__pycache__" for part in inside[:deepest]):
            continue
        if path.is_symlink():
            raise RigError(f"{path}: is a link; a bundle only holds files")
        if not path.is_dir():
            files.add("/".join(("toolboxes", place.name, *inside)), path)


def _portable(folder: Path) -> Path:
    """Compile llama.cpp as PORTABLE says. Raises RigError if its source is missing or does not compile."""
    from importlib.metadata import version

    pinned = f"{LLAMA}=={version(LLAMA)}"
    options = ["--no-deps", "--no-cache-dir", f"--no-binary={LLAMA}", f"--wheel-dir={folder / 'portable'}"]
    # Without what rig never loads, as in the Makefile: it takes more than half of the compiler's time.
    included = folder / "llama.cmake"
    included.write_text("set(LLAMA_BUILD_COMMON OFF)\n")
    without = f"-DLLAVA_BUILD=OFF '-DCMAKE_PROJECT_llama.cpp_INCLUDE={included}'"
    fault = run_pip(["wheel", *options, pinned], folder, {"CMAKE_ARGS": f"{PORTABLE} {without}"})
    if fault is not None:
        raise RigError(
            f"pip could not compile {pinned} ({fault}); without a network or a compiler, make it on another "
            f"machine with CMAKE_ARGS='{PORTABLE}' pip wheel {pinned}, and give it with --wheel"
        )
    (built,) = (folder / "portable").glob("*.whl")
    return built


def _llama(packed: Sequence[Wheel], folder: Path) -> JsonObject:
    """Return what the bundle's llama.cpp was built for. Raises RigError if it does not start here."""
    (wheel,) = (candidate for candidate in packed if candidate.name == LLAMA)
    unpacked = folder / "llama"
    with zipfile.ZipFile(wheel.path) as archive:
        archive.extractall(unpacked, [name for name in archive.namelist() if name.startswith("llama_cpp/")])
    try:
        build = built_for(unpacked)
    except RigError as error:
        raise RigError(f"{wheel.path.name}: its llama.cpp does not start here: {error}") from error
    return {"version": wheel.version, "instructions": build.instructions, "offloads": build.offloads}


_LARGEST_MANIFEST = 16 << 20


def verify(path: Path) -> Bundle:
    """Read a bundle to the end. Raises RigError if it is not one, or must not be unpacked.

    Nothing is written. A checksum in a bundle only shows damage: whoever changes a file can change that, too.
    To verify that it is the bundle somebody made, compare its digest with the one they tell you.
    """
    if not path.is_file():
        raise RigError(f"{path}: {'is not a regular file' if path.exists() else 'no such file'}")
    with reading(path) as stream:
        files, differing = _held(path, stream)
    return Bundle(digest_of(path), files, tuple(differing))


def _held(path: Path, stream: Stream) -> tuple[int, list[tuple[str, str]]]:
    members = stream.members()
    name, size, content = next(members, ("", 0, iter(())))
    if name != f"{TOP}/{MANIFEST}" or size > _LARGEST_MANIFEST:
        raise RigError(f"{path}: not a rig bundle: it does not begin with {TOP}/{MANIFEST}")
    text = b"".join(content)
    listed = _listed(path, text)
    left = {SUMS: copied([sums(copied([text]), listed).encode()]), **listed}
    count, differing = len(left) + 1, []
    for name, size, content in members:
        inside = name.removeprefix(f"{TOP}/")
        digest = left.pop(inside, None) if inside != name else None
        if digest is None:
            differing.append((name, "is not in the list, or twice in the bundle"))
        elif size != digest.size:
            differing.append((inside, f"{size} bytes instead of {digest.size}"))
        elif copied(content) != digest:
            differing.append((inside, "its SHA-256 is another"))
        if len(differing) > count:
            raise RigError(f"{path}: contains files that it does not list; not read further")
    return count, [*differing, *((name, "is missing") for name in left)]


def _listed(path: Path, text: bytes) -> dict[str, Digest]:
    try:
        files: Any = parse_json(text)["files"]
        listed = {name: Digest(str(file["sha256"]), int(file["size"])) for name, file in files.items()}
        texts = (text for name, file in listed.items() for text in (name, file.sha256))
        if odd := next((text for text in texts if not text.isprintable()), ""):
            raise ValueError(f"{odd!a:.100} is not for a line")
        return listed
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise RigError(f"{path}: not a rig bundle: its {MANIFEST} cannot be read: {error}") from error

"""Make wheels of the installed packages from the record of each distribution: no network, index or cache.

A wheel is a zip archive with a RECORD of its files and their hashes. pip keeps the RECORD when it installs a
wheel, so the wheel can be rebuilt (PyPA specifications: "Binary distribution format", "Recording installed
projects").
"""

import base64
import csv
import io
import os
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from email import message_from_string
from importlib.metadata import Distribution, PackageNotFoundError, PackagePath, PathDistribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import canonicalize_name

from rig import DISTRIBUTION
from rig.core.budget import parse_json, parse_toml
from rig.core.errors import RigError
from rig.core.paths import CHECKOUT
from rig.plugins.bundle.archive import blocks_of, copied

ROOTS = (f"{DISTRIBUTION}[engine]", "pip")
"""What is installed on the other machine, and what installs it there."""

LEFT_OUT: Mapping[str, tuple[str, ...]] = {"torch": ("torch/test/", "torch/include/", "torch/bin/test_")}
"""Tests and headers of large packages, which nothing that runs ever opens."""

_TIME = (1980, 1, 1, 0, 0, 0)
_OF_AN_INSTALLATION = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"})
"""Files that pip adds to those of the wheel."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel that is ready. `is_named` says that the user named it; if not, it was made from files here."""

    name: str
    version: str
    path: Path
    is_named: bool


@dataclass(frozen=True, slots=True)
class _WheelFile:
    name: str
    source: Path
    sha256: str | None = None
    """URL-safe base64 without padding, as in RECORD; None if unknown."""


def wheels(folder: Path, named: Iterable[Path] = (), extras: Iterable[str] = ()) -> list[Wheel]:
    """Return wheels of pip and everything that rig with these extras needs here, by name; made in `folder`.

    Raises RigError for what is not installed, and for files that are not as they were installed.
    """
    described = dict(_described(path) for path in named)
    packed = []
    for name, installed in sorted(_closure(extras, described).items()):
        path = described[name][0] if name in described else _packed(name, installed, folder)
        packed.append(Wheel(name, installed.version, path, name in described))
    if unused := described.keys() - {wheel.name for wheel in packed}:
        raise RigError(f"{described[min(unused)][0]}: rig does not need {min(unused)}; leave it out")
    return packed


def _described(path: Path) -> tuple[str, tuple[Path, Distribution]]:
    """Return the name of a wheel's distribution, its path and its metadata."""
    try:
        with zipfile.ZipFile(path) as archive:
            (info,) = {info for name in archive.namelist() if (info := _info(name))}
        described = PathDistribution(zipfile.Path(path, f"{info}/"))
        return canonicalize_name(described.metadata["Name"]), (path, described)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise RigError(f"{path}: not a wheel: {error}") from error


def _info(name: str) -> str | None:
    """Return the folder of a wheel's metadata if this is its METADATA file; nested packages may have some,
    too.
    """
    folder, _, file = name.partition("/")
    return folder if folder.endswith(".dist-info") and file == "METADATA" else None


def _closure(
    extras: Iterable[str], described: Mapping[str, tuple[Path, Distribution]]
) -> dict[str, Distribution]:
    """Return what is needed on this platform, by canonical name, with the extras that others ask for."""
    needed: dict[str, Distribution] = {}
    roots = map(Requirement, ROOTS)
    left = [
        *((root.name, extra, "a bundle") for root in roots for extra in ("", *root.extras)),
        *((DISTRIBUTION, extra, "a bundle") for extra in extras),
    ]
    done = set()
    while left:
        name, extra, wanted_by = left.pop()
        if (name, extra) in done:
            continue
        done.add((name, extra))
        try:
            needed[name] = described[name][1] if name in described else distribution(name)
        except PackageNotFoundError:
            raise RigError(f"{name} is not installed here, and {wanted_by} needs it; install it") from None
        for line in needed[name].requires or ():
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                left += [
                    (canonicalize_name(requirement.name), more, name) for more in ("", *requirement.extras)
                ]
    return needed


def _packed(name: str, installed: Distribution, folder: Path) -> Path:
    """Write the wheel of an installed distribution, and return its path."""
    origin = parse_json(installed.read_text("direct_url.json") or "{}")
    if name == DISTRIBUTION and CHECKOUT is not None:
        members = [*_of_checkout(CHECKOUT), *_of_record(name, installed, only_metadata=True)]
    elif origin.get("dir_info", {}).get("editable"):
        raise RigError(f"{name} is installed as editable; give a wheel of it with --wheel, or install it")
    else:
        members = list(_of_record(name, installed))
    (info,) = {info for member in members if (info := _info(member.name))}
    kept = [member for member in members if not member.name.startswith(LEFT_OUT.get(name, ("/",)))]
    path = folder / f"{info.removesuffix('.dist-info')}-{_tag(name, installed)}.whl"
    _write(path, name, kept, info)
    return path


def _tag(name: str, installed: Distribution) -> str:
    """Return one tag of a wheel that suits this Python and platform; only one, as tar needs short names."""
    tags = message_from_string(installed.read_text("WHEEL") or "").get_all("Tag", [])
    here = set(map(str, sys_tags()))
    suitable = next((tag for tag in tags if tag in here), None)
    if suitable is None:
        raise RigError(f"{name} was not installed from a wheel for this Python; install it with pip")
    return suitable


def _of_checkout(checkout: Path) -> Iterator[_WheelFile]:
    """Yield rig's own files, placed in a wheel as pyproject.toml says."""
    project = parse_toml((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    for source, target in {**{name: name for name in wheel["packages"]}, **wheel["force-include"]}.items():
        place = checkout / source
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            inside = path.relative_to(place).parts
            if path.is_file() and not any(p.startswith(".") or p == "__pycache__" for p in inside):
                yield _WheelFile("/".join((target, *inside)), path)


def _of_record(name: str, installed: Distribution, *, only_metadata: bool = False) -> Iterator[_WheelFile]:
    """Yield what was in the wheel of an installed distribution, without what installing it has added."""
    if installed.files is None:
        raise RigError(f"{name} has no RECORD here of what was installed; install it with pip")
    for file in installed.files:
        in_metadata = file.parts[0].endswith(".dist-info")
        if in_metadata and (len(file.parts) == 2 and file.name in _OF_AN_INSTALLATION):
            continue
        if "__pycache__" in file.parts or (only_metadata and not in_metadata):
            continue
        source = Path(os.path.normpath(str(installed.locate_file(file))))
        target = _place(installed, file, source)
        if target is not None:
            yield _WheelFile(
                target, source, file.hash.value if file.hash and file.hash.mode == "sha256" else None
            )


def _place(installed: Distribution, file: PackagePath, source: Path) -> str | None:
    """Return where in the wheel a file was; None for a command, which pip makes again from entry points."""
    if file.parts[0] != "..":
        return file.as_posix()
    if source.parent.name == Path(sysconfig.get_path("scripts")).name:
        return None
    data = Path(sysconfig.get_path("data"))
    if source.is_relative_to(data):
        stem = f"{installed.metadata['Name'].replace('-', '_')}-{installed.version}"
        return f"{stem}.data/data/{source.relative_to(data).as_posix()}"
    raise RigError(f"{source}: installed by {installed.metadata['Name']}, and not in this environment")


def _write(path: Path, name: str, members: Sequence[_WheelFile], info: str) -> None:
    """Write the archive, uncompressed as the whole bundle will be; the same files give the same bytes."""
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    with zipfile.ZipFile(path, "w") as archive:
        for member in sorted(members, key=lambda member: (member.name.startswith(info), member.name)):
            try:
                with member.source.open("rb") as file:
                    status = os.fstat(file.fileno())
                    entry = _entry(member.name, executable=bool(status.st_mode & 0o100))
                    entry.file_size = status.st_size
                    with archive.open(entry, "w") as target:
                        digest = bytes.fromhex(copied(blocks_of(file), target.write).sha256)
            except OSError as error:
                raise RigError(
                    f"{member.source}: cannot be read: {error.strerror}; install {name} again"
                ) from error
            sha256 = base64.urlsafe_b64encode(digest).decode().rstrip("=")
            if member.sha256 not in (None, sha256):
                raise RigError(f"{member.source}: not as it was installed; install {name} again")
            rows.writerow((member.name, f"sha256={sha256}", entry.file_size))
        rows.writerow((f"{info}/RECORD", "", ""))
        archive.writestr(_entry(f"{info}/RECORD", executable=False), record.getvalue())


def _entry(name: str, *, executable: bool) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.create_system = 3
    entry.external_attr = (0o100755 if executable else 0o100644) << 16
    return entry

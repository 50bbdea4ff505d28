"""A report as text, in whichever format, and as a file."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from rig.errors import RigError
from rig.report.material import Format, Material
from rig.report.page import page
from rig.report.tabular import as_csv, as_json, markdown

_FORMATS: Mapping[Format, Callable[[Material], str]] = {
    "html": page,
    "md": markdown,
    "csv": as_csv,
    "json": as_json,
}


def render(material: Material, form: Format) -> str:
    """The whole report, the same for the same store. Lone surrogates in it are written as escapes."""
    return _FORMATS[form](material).encode("utf-8", "backslashreplace").decode()


def write(text: str, path: Path, *, force: bool = False) -> None:
    """Write a report to a file, all or nothing; over one that is there only with `force`. Raises RigError."""
    if path.exists() and not force:
        raise RigError(f"{path}: exists; choose a new file, or --force to write over it")
    part = path.with_name(f"{path.name}.part")
    try:
        try:
            part.write_text(text, encoding="utf-8", newline="")
            os.replace(part, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RigError(f"{path}: cannot be written: {error.strerror}") from error

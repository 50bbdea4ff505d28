"""Reports of runs as one file: a page that needs nothing but a browser, Markdown, CSV, and JSON."""

from collections.abc import Callable, Mapping

from rig.report.material import FORMATS, Format, Material, gather
from rig.report.page import page
from rig.report.tabular import as_csv, as_json, markdown

__all__ = ["FORMATS", "Format", "Material", "gather", "render"]

_FORMATS: Mapping[Format, Callable[[Material], str]] = {
    "html": page,
    "md": markdown,
    "json": as_json,
}


def render(material: Material, form: Format, *, raw: bool = False) -> str:
    """The whole report, the same for the same store. Lone surrogates in it are written as escapes.

    With `raw`, cells of CSV that a spreadsheet would execute are left as they are.
    """
    text = as_csv(material, raw=raw) if form == "csv" else _FORMATS[form](material)
    return text.encode("utf-8", "backslashreplace").decode()

"""Reports of runs as one file: a page that needs nothing but a browser, Markdown, CSV, and JSON."""

from rig.report.material import FORMATS, Format, Material, gather
from rig.report.rendering import render

__all__ = ["FORMATS", "Format", "Material", "gather", "render"]

"""Tables that a program writes into a page of the documentation."""

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def publish(page: str, name: str, text: str) -> None:
    """Put a text between a page's marks of that name. Exits with a line where there are none."""
    path = DOCS / page
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, found, rest = path.read_text(encoding="utf-8").partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        sys.exit(f"{path} has no place for the tables: {begin} … {end}")
    path.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")

"""Hostile outputs, shown in a terminal and on a page: nothing steers the one or acts in the other."""

import json
import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from random import Random

from benchmarks.attack.campaign import STEERS, Broken, folder, main, rig
from benchmarks.attack.hostile import text
from benchmarks.attack.stores import whole

_COLUMNS = (
    "raw",
    "reply",
    "tool",
    "arguments",
    "response",
    "exception",
    "error_detail",
    "reason",
    "username",
)
_JSON = ("arguments", "response")


class _Page(HTMLParser):
    """Counts scripts, and names attributes that act."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.acting: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.acting.append(f"<{tag} {name}={value}>"[:100])
        if tag in ("iframe", "object", "embed", "base"):
            self.acting.append(f"<{tag}>")


def case(random: Random) -> str:
    """A run whose predictions say hostile things; its page, and its conversations in the terminal."""
    with folder() as place:
        store = place / "runs.sqlite"
        store.write_bytes(whole())
        with closing(sqlite3.connect(store)) as database, database:
            names = [name for (name,) in database.execute("SELECT name FROM conversations")]
            rows = [number for (number,) in database.execute("SELECT id FROM predictions")]
            for number in rows:
                for column in random.sample(_COLUMNS, 3):
                    said = text(random).encode("utf-8", "replace").decode()
                    value = json.dumps(said) if column in _JSON else said
                    database.execute(
                        f"UPDATE predictions SET {column} = ? WHERE id = ? AND {column} IS NOT NULL",
                        (value, number),
                    )
        for name in names:
            shown = rig("show", "latest", name, "--runs", store)
            if found := STEERS.search(shown.out + shown.err):
                raise Broken(f"show {name} wrote {found[0]!r}")
        page = place / "report.html"
        reported = rig("report", "latest", "-o", page, "--runs", store)
        if reported.code:
            return "refused"
        read = _Page()
        read.feed(page.read_text(encoding="utf-8"))
        store.write_bytes(whole())
        rig("report", "latest", "-o", place / "plain.html", "--runs", store)
        plain = _Page()
        plain.feed((place / "plain.html").read_text(encoding="utf-8"))
        if read.acting or read.scripts != plain.scripts:
            raise Broken(f"{read.scripts} scripts in place of {plain.scripts}; {read.acting[:3]}")
    return "inert"


if __name__ == "__main__":
    main("outputs", case, 40)

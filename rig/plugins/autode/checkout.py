"""The public AutoDE data: dialogues from JSON lines, and the API documents from their workbook.

Source: github.com/hlmu/AutoDE, `datasets/` and `API_list.xlsx` (MIT licence); paper arXiv 2403.11128.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from pydantic import AliasChoices, Field

from rig.core.calls import Call, Json, JsonObject
from rig.core.errors import RigError
from rig.core.paths import real
from rig.methods.base import Loaded
from rig.plugins.autode.scenarios import ApiDocument, Scenario, Utterance, checked
from rig.plugins.documents.documents import Foreign, Many, parsed, read_lines

WORKBOOK = "API_list.xlsx"
DATASET = "data_v1_2.jsonl"
"""The file that upstream's experiments used."""

_SHEETS = ("API list", "API list_2")
"""The older sheet has one more API, which the older dialogues need. APIs in both are read from the newer."""
_COLUMNS = ("domain", "api", "description", "parameters")
_TOPIC = re.compile(
    r"Character: (?P<character>[^\n]*)\nBackground: (?P<background>[^\n]*)\nPurpose: (?P<purpose>[^\n]*)"
)


def find_dataset(place: Path) -> Path | None:
    """Return the file of dialogues at a place: the place itself, or the one in a checkout."""
    if place.is_file():
        return place if place.suffix == ".jsonl" else None
    candidates = (folder / DATASET for folder in (place, place / "datasets"))
    return next((path for path in candidates if path.is_file()), None)


def find_workbook(dataset: Path) -> Path | None:
    """Return the workbook that belongs to a file of dialogues: beside it, or in a folder above it."""
    places = (parent / WORKBOOK for parent in real(dataset).parents[:3])
    return next((path for path in places if path.is_file()), None)


def holds_data(place: Path) -> bool:
    """Return whether a place is a checkout, or a file of dialogues with a workbook that belongs to it."""
    dataset = find_dataset(place)
    return dataset is not None and find_workbook(dataset) is not None


def load(place: Path) -> Loaded:
    """Load the dialogues of a checkout or of one of its files, with a line on each unreadable row.

    Raises RigError if there are none.
    """
    rows = read(place)
    if not rows:
        raise RigError(next(iter(rows.faults), f"{place}: holds no dialogue"))
    return rows


def read(place: Path) -> Loaded:
    """Read every dialogue of a checkout or of one of its files. Raises RigError if there is no such data."""
    dataset = find_dataset(place)
    workbook = dataset and find_workbook(dataset)
    if dataset is None or workbook is None:
        raise RigError(f"{place}: no AutoDE data; give a checkout, or a .jsonl file with {WORKBOOK} above it")
    return read_rows(dataset, read_documents(workbook))


def read_documents(workbook: Path) -> dict[str, ApiDocument]:
    """Read the API documents by name; a sheet's first row names its columns, and the older has no domains.

    Raises RigError if the workbook cannot be read.
    """
    try:
        from openpyxl import load_workbook
    except ImportError as error:
        raise RigError(f"{workbook}: to read it, rig needs openpyxl: pip install openpyxl") from error
    try:
        book = load_workbook(workbook, read_only=True, data_only=True)
        documents = {}
        for sheet in _SHEETS:
            header, *rows = (
                [str(cell or "") for cell in row] for row in book[sheet].iter_rows(values_only=True)
            )
            for row in filter(any, rows):
                cells = dict(zip(header, row, strict=True))
                api = ApiDocument.from_row(*(cells.get(name, "") for name in _COLUMNS))
                documents[api.name] = api
    except Exception as error:  # whatever the library raises for a broken file
        raise RigError(f"{workbook}: not AutoDE's list of APIs: {error}") from error
    return documents


def read_rows(dataset: Path, apis: Mapping[str, ApiDocument]) -> Loaded:
    """Read every dialogue of a file. A row that cannot be read becomes a line among the faults.

    Raises RigError if the file itself cannot be read.
    """
    scenarios: dict[str, Scenario] = {}

    def read_row(value: Json, where: str) -> Scenario:
        scenario = _scenario(parsed(DialogueRow, value, where, "a dialogue"), apis, where)
        if scenarios.setdefault(scenario.id, scenario) is not scenario:
            raise RigError(f"{where}: the uuid {scenario.id} appears twice")
        return scenario

    faults: list[str] = []
    return Loaded(list(read_lines(dataset, read_row, faults)), faults)


class RowTurn(Foreign):
    """One speaker's words. One of the recorded files has them under `content` instead of `message`."""

    role: str
    text: str = Field(validation_alias=AliasChoices("message", "content"))


class DialogueRow(Foreign):
    """A dialogue of the dataset, or of a file of results."""

    uuid: str
    background: str
    api: str
    content: Many[RowTurn]
    slots: JsonObject

    @cached_property
    def said(self) -> tuple[Utterance, ...]:
        """The words of both speakers, in order."""
        return tuple(Utterance(turn.role, turn.text) for turn in self.content)


def _scenario(row: DialogueRow, apis: Mapping[str, ApiDocument], where: str) -> Scenario:
    if row.api not in apis:
        raise RigError(f"{where}: {row.api} is not a documented API")
    topic = _TOPIC.fullmatch(row.background)
    if topic is None:
        raise RigError(
            f"{where}: not a dialogue: background is not the three lines Character, Background and Purpose"
        )
    scenario = Scenario(
        name=f"{row.api}-{row.uuid[:8]}",
        id=row.uuid,
        **topic.groupdict(),
        history=row.said,
        call=Call(row.api, row.slots),
        apis=(apis[row.api],),
        suite="autode",
    )
    return checked(scenario, where)

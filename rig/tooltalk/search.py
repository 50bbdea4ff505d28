"""What searching the inbox and searching the messages have in common."""

from collections.abc import Callable, Iterable

from rig.calls import JsonObject
from rig.toolbox.errors import ToolError
from rig.toolbox.formats import read_instant
from rig.tooltalk.world import World

_MOST = 5


def search(
    world: World,
    records: Iterable[JsonObject],
    *,
    date_field: str,
    text: Callable[[JsonObject], Iterable[str]],
    query: str | None,
    match_type: str | None,
    sender: str | None,
    start_date: str | None,
    end_date: str | None,
) -> list[JsonObject]:
    """The five most recent records that pass every filter, latest first; later than now are none.

    The words of the query are looked for inside each of the record's texts, without regard to case. An empty
    query passes everything. Raises ToolError when no filter is given, or a bad one.
    """
    if query is None and sender is None and start_date is None and end_date is None:
        raise ToolError("Give at least one of query, sender, start_date and end_date.")
    if match_type not in ("any", "all"):
        raise ToolError("match_type must be any or all.")
    start = None if start_date is None else read_instant(start_date, "start_date")
    end = None if end_date is None else read_instant(end_date, "end_date")
    if start is not None and end is not None and start > end:
        raise ToolError("start_date must not be later than end_date.")
    words = query.lower().split() if query else None
    enough = any if match_type == "any" else all
    now = world.now
    dated = []
    for record in records:
        date = read_instant(record[date_field], date_field)
        if date > now or (sender is not None and sender != record["sender"]):
            continue
        if (start is not None and date < start) or (end is not None and date > end):
            continue
        texts = [each.lower() for each in text(record)]
        if words is not None and not enough(any(word in text for text in texts) for word in words):
            continue
        dated.append((date, record))
    dated.sort(key=lambda pair: pair[0], reverse=True)
    return [record for _, record in dated[:_MOST]]

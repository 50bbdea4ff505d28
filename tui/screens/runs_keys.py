"""The keys of the runs screen, in the order in which the bar at the bottom makes room for them."""

from textual.binding import Binding

from tui.keys import Section


def _key(
    key: str, action: str, word: str, does: str, *, show: bool = True, shown: str | None = None
) -> Binding:
    return Binding(key, action, word, show=show, tooltip=does, key_display=shown)


RUN = Section(
    "The run at the cursor",
    (
        _key("q", "leave", "leave", "leave"),
        _key("enter", "open", "open", "open it as it stands; one in progress is watched", shown="enter"),
        _key("w", "watch", "watch", "watch it again from its beginning"),
        _key("r", "resume", "resume", "go on with it where it was interrupted"),
        _key("d", "delete", "delete", "delete it from the store (asks)"),
        _key("y", "copy", "copy id", "copy its id", show=False),
    ),
)

LIST = Section(
    "The list",
    (
        _key("space", "mark", "mark", "mark it for comparing, or take the mark away"),
        _key("c", "compare", "compare", "compare the arms of the marked runs, else of this one"),
        _key("slash", "filter", "filter", "list only runs that have these words", shown="/"),
        _key("escape", "end_filter", "list all", "list all runs again, and take all marks away"),
        _key("down,j", "move(1)", "next", "next run", show=False),
        _key("up,k", "move(-1)", "previous", "run before", show=False),
        _key("g,home", "move(-1000000)", "first", "the newest run", show=False),
        _key("G,end", "move(1000000)", "last", "the oldest run", show=False),
        _key("pagedown", "scroll(1)", "scroll", "scroll the numbers down", show=False),
        _key("pageup,b", "scroll(-1)", "scroll back", "scroll the numbers up", show=False),
    ),
)

KEYS = (RUN, LIST)

"""The keys of the conversation screen, in the order in which the bar at the bottom makes room for them."""

from textual.binding import Binding

from tui.keys import Section


def _key(
    key: str, action: str, word: str, does: str, *, show: bool = True, shown: str | None = None
) -> Binding:
    return Binding(key, action, word, show=show, tooltip=does, key_display=shown)


PLACES = Section(
    "Places",
    (
        _key("q", "leave", "back", "back to where you came from"),
        _key("escape", "back", "back", "end the search; without one, back", show=False),
        _key("down,j", "move(1)", "next", "next step", show=False),
        _key("up,k", "move(-1)", "previous", "step before", show=False),
        _key("right_square_bracket", "turn(1)", "turn", "next turn", shown="]"),
        _key("left_square_bracket", "turn(-1)", "turn before", "turn before", show=False, shown="["),
        _key("x", "wrong(1)", "failure", "next step that went wrong"),
        _key("X", "wrong(-1)", "failure before", "step before that went wrong", show=False),
        _key("g", "move(-1000000)", "first", "the conversation as a whole", show=False),
        _key("G", "move(1000000)", "last", "the last step", show=False),
        _key("right,l", "column(1)", "next arm", "the same in the next arm", shown="right l"),
        _key("left,h", "column(-1)", "previous arm", "the same in the arm before", show=False),
        _key("right_curly_bracket", "neighbour(1)", "conversation", "the next conversation", shown="}"),
        _key(
            "left_curly_bracket",
            "neighbour(-1)",
            "conversation before",
            "conversation before",
            show=False,
            shown="{",
        ),
    ),
)

VIEWS = Section(
    "Views",
    (
        _key("tab", "next_view(1)", "view", "next view", show=False),
        _key("shift+tab", "next_view(-1)", "view before", "view before", show=False),
        _key("1", "view(0)", "story", "what was said, called, answered and judged", show=False),
        _key(
            "2",
            "view(1)",
            "tokens",
            "tokens: how likely, or forced by the grammar",
            show=False,
        ),
        _key("3", "view(2)", "raw", "the text as it was generated", show=False),
        _key("4", "view(3)", "world", "what each call did to the world", show=False),
        _key("5", "view(4)", "time", "tokens and seconds", show=False),
        _key("a,6", "view(5)", "arms", "all arms side by side", shown="a 6"),
        _key("r", "full", "all", "show all of long texts, or their beginnings"),
        _key("c", "copy", "copy", "copy the step as JSON"),
        _key("w", "write", "write", "write the conversation, the page, or a picture of the screen to a file"),
        _key("slash", "search", "search", "search in this page", shown="/"),
        _key("n", "match(1)", "next", "go to the next match"),
        _key("N", "match(-1)", "before", "go to the match before", show=False),
        _key("pagedown,space", "scroll(1)", "scroll", "scroll down", show=False),
        _key("pageup,b", "scroll(-1)", "scroll back", "scroll up", show=False),
        _key("home", "scroll_to(0)", "top", "scroll to the beginning", show=False),
        _key("end", "scroll_to(1)", "end", "scroll to the end", show=False),
    ),
)

KEYS = (PLACES, VIEWS)

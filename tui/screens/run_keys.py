"""The keys of the run screen, in the order in which the bar at the bottom makes room for them."""

from textual.binding import Binding

from tui.keys import Section


def _key(key: str, action: str, word: str, does: str, show: bool = True, shown: str | None = None) -> Binding:
    return Binding(key, action, word, show=show, tooltip=does, key_display=shown)


RUN = Section(
    "The run",
    (
        _key("q", "leave", "quit", "quit (asks while the run is going)"),
        _key("p", "pause", "pause", "pause after the current turn"),
        _key("p", "resume", "go on", "go on, when paused"),
        _key("s", "skip", "skip", "leave this conversation for a later resume; again takes it back"),
        _key("S", "stop", "stop", "stop and keep what there is (resumable)", show=False),
    ),
)

CONVERSATIONS = Section(
    "Conversations",
    (
        _key("f", "follow", "follow", "follow what happens, or stay where you read"),
        _key("x", "failure(1)", "failure", "read the next failure"),
        _key("X", "failure(-1)", "failure before", "read the failure before", show=False),
        _key("enter", "steps", "steps", "read this conversation step by step", shown="enter"),
        _key("F", "filter", "filter", "list all, failed, with incorrect actions, or differing"),
        _key("a", "side_by_side", "arms", "one turn in every arm, side by side"),
        _key("v", "view", "view", "conversations as list, as grid, or not at all"),
        _key("o", "order", "order", "differing conversations first, or in the order of the run", show=False),
        _key("down,j", "move(1)", "next", "read the next conversation", show=False),
        _key("up,k", "move(-1)", "previous", "read the previous conversation", show=False),
        _key("right,l", "arm(1)", "next arm", "read the next arm", show=False),
        _key("left,h", "arm(-1)", "previous arm", "read the previous arm", show=False),
        _key("g", "move(-1000000)", "first", "read the first conversation", show=False),
        _key("G", "move(1000000)", "last", "read the last conversation", show=False),
        _key("R", "runs", "runs", "all stored runs", show=False),
    ),
)

TRANSCRIPT = Section(
    "Transcript",
    (
        _key("slash", "search", "search", "search in the transcript", shown="/"),
        _key("n", "match(1)", "next", "go to the next match"),
        _key("N", "match(-1)", "before", "go to the match before", show=False),
        _key("escape", "end_search", "end search", "end the search"),
        _key("r", "full", "all", "show all of a call and its response, or their beginnings"),
        _key("c", "copy", "copy", "copy the chosen call as JSON, else the last one in sight"),
        _key("w", "write", "write", "write the conversation or a picture of the screen to a file"),
        _key("e", "expected", "expected", "show or hide the ground truth"),
        _key("tab", "call(1)", "next call", "choose the next call", show=False),
        _key("shift+tab", "call(-1)", "call before", "choose the call before", show=False),
        _key("right_square_bracket", "turn(1)", "next turn", "go to the next turn", show=False, shown="]"),
        _key(
            "left_square_bracket", "turn(-1)", "turn before", "go to the turn before", show=False, shown="["
        ),
        _key("pagedown,space", "scroll(1)", "scroll", "scroll down", show=False),
        _key("pageup,b", "scroll(-1)", "scroll back", "scroll up", show=False),
        _key("home", "scroll_to(0)", "top", "scroll to the beginning", show=False),
        _key("end", "scroll_to(1)", "end", "scroll to the end", show=False),
    ),
)

KEYS = (RUN, CONVERSATIONS, TRANSCRIPT)

"""The keys of the large screens, in the order in which the bar at the bottom makes room for them."""

from functools import partial

from textual.binding import Binding

from tui.widgets.keys import Section


def _key(
    key: str, action: str, word: str, does: str, display: str | None = None, *, show: bool = True
) -> Binding:
    return Binding(key, action, word, show=show, tooltip=does, key_display=display)


_hidden = partial(_key, show=False)
"""Make a binding that the bar at the bottom does not show."""


def _searching(where: str) -> tuple[Binding, ...]:
    return (
        _key("slash", "search", "search", f"search in {where}", "/"),
        _key("n", "match(1)", "next", "go to the next match"),
        _hidden("N", "match(-1)", "before", "go to the previous match"),
    )


_SCROLLING = (
    _hidden("pagedown,space", "scroll(1)", "scroll", "scroll down"),
    _hidden("pageup,b", "scroll(-1)", "scroll back", "scroll up"),
    _hidden("home", "scroll_to(0)", "top", "scroll to the top"),
    _hidden("end", "scroll_to(1)", "end", "scroll to the end"),
)

_RUN = Section(
    "The run",
    _key("q", "leave", "quit", "quit (asks while the run is going)"),
    _key("p", "pause", "pause", "pause after the current turn"),
    _key("p", "resume", "go on", "go on, when paused"),
    _key("s", "skip", "skip", "skip this conversation until you resume; press again to undo"),
    _hidden("S", "stop", "stop", "stop and keep what there is (resumable)"),
)

_GIVING_UP = "end the conversation with the words that the role has for it"
PERSON = Section(
    "Playing a role yourself",
    Binding("ctrl+g", "phrase(0)", "give up", tooltip=_GIVING_UP, key_display="^g", priority=True),
    _key("i", "answer", "answer", "go back to the line in which you answer (escape leaves it)"),
)

_CONVERSATIONS = Section(
    "Conversations",
    _key("f", "follow", "follow", "follow the run, or stay where you are reading"),
    _key("x", "failure(1)", "failure", "read the next failure"),
    _hidden("X", "failure(-1)", "failure before", "read the previous failure"),
    _key("enter", "steps", "steps", "read this conversation step by step", "enter"),
    _key("F", "filter", "filter", "list all, failed, incorrect or differing conversations"),
    _key("a", "side_by_side", "arms", "one turn in every arm, side by side"),
    _key("v", "view", "view", "show conversations as a list, as a grid, or not at all"),
    _hidden("greater_than_sign", "widen('#board', 4)", "wider", "make the list wider", ">"),
    _hidden("less_than_sign", "widen('#board', -4)", "narrower", "make the list narrower", "<"),
    _hidden("o", "order", "order", "differing conversations first, or in the order of the run"),
    _hidden("down,j", "move(1)", "next", "read the next conversation"),
    _hidden("up,k", "move(-1)", "previous", "read the previous conversation"),
    _hidden("right,l", "arm(1)", "next arm", "read the next arm"),
    _hidden("left,h", "arm(-1)", "previous arm", "read the previous arm"),
    _hidden("g", "move(-1000000)", "first", "read the first conversation"),
    _hidden("G", "move(1000000)", "last", "read the last conversation"),
    _hidden("T", "groups", "by tool", "results by tool, by skill, by tag and by suite, as a heat map"),
    _hidden("C", "card", "result", "the result so far on one screen"),
    _hidden("R", "runs", "runs", "all stored runs"),
)

_TRANSCRIPT = Section(
    "Transcript",
    *_searching("the transcript"),
    _key("escape", "end_search", "end search", "end the search"),
    _key("r", "full", "all", "show a call and its response in full, or cut them"),
    _key("c", "copy", "copy", "copy the chosen call as JSON, or the last one in view"),
    _hidden("O", "edit", "edit", "open the file of the conversation at this turn in $VISUAL or $EDITOR"),
    _key("w", "write", "write", "write the conversation or a picture of the screen to a file"),
    _key("e", "expected", "expected", "show or hide the ground truth"),
    _hidden("right_parenthesis", "widen('#expectations', 4)", "wider", "make it wider", ")"),
    _hidden("left_parenthesis", "widen('#expectations', -4)", "narrower", "make it narrower", "("),
    _hidden("tab", "call(1)", "next call", "choose the next call"),
    _hidden("shift+tab", "call(-1)", "call before", "choose the previous call"),
    _hidden("right_square_bracket", "turn(1)", "next turn", "go to the next turn", "]"),
    _hidden("left_square_bracket", "turn(-1)", "turn before", "go to the previous turn", "["),
    *_SCROLLING,
)

RUN = (_RUN, PERSON, _CONVERSATIONS, _TRANSCRIPT)

_PLACES = Section(
    "Places",
    _key("q", "leave", "back", "back to where you came from"),
    _hidden("escape", "back", "back", "end the search, or go back"),
    _hidden("down,j", "move(1)", "next", "next step"),
    _hidden("up,k", "move(-1)", "previous", "previous step"),
    _key("right_square_bracket", "turn(1)", "turn", "next turn", "]"),
    _hidden("left_square_bracket", "turn(-1)", "turn before", "previous turn", "["),
    _key("x", "wrong(1)", "failure", "next step that went wrong"),
    _hidden("X", "wrong(-1)", "failure before", "previous step that went wrong"),
    _hidden("g", "move(-1000000)", "first", "the conversation as a whole"),
    _hidden("G", "move(1000000)", "last", "the last step"),
    _key("right,l", "column(1)", "next arm", "the same step in the next arm", "right l"),
    _hidden("left,h", "column(-1)", "previous arm", "the same step in the previous arm"),
    _key("right_curly_bracket", "neighbour(1)", "conversation", "the next conversation", "}"),
    _hidden("left_curly_bracket", "neighbour(-1)", "previous", "the previous conversation", "{"),
)

_VIEWS = Section(
    "Views",
    _hidden("tab", "next_view(1)", "view", "next view"),
    _hidden("shift+tab", "next_view(-1)", "view before", "previous view"),
    _hidden("1", "view(0)", "story", "what was said, called, answered and judged"),
    _hidden("2", "view(1)", "tokens", "tokens: how likely each was, or that it was forced"),
    _hidden("3", "view(2)", "raw", "the text as it was generated"),
    _hidden("4", "view(3)", "world", "what each call did to the world"),
    _hidden("5", "view(4)", "time", "tokens and seconds"),
    _key("a,6", "view(5)", "arms", "all arms side by side", "a 6"),
    _key("r", "full", "all", "show long texts in full, or cut them"),
    _key("c", "copy", "copy", "copy the step as JSON"),
    _hidden("O", "edit", "edit", "open the file of the conversation at this turn in $VISUAL or $EDITOR"),
    _key("w", "write", "write", "write the conversation, the page, or a picture of the screen to a file"),
    *_searching("this page"),
    *_SCROLLING,
)

CONVERSATION = (_PLACES, _VIEWS)

_LISTED_RUN = Section(
    "The run at the cursor",
    _key("q", "leave", "leave", "leave"),
    _key("enter", "open", "open", "open it as it stands, or follow it if it is in progress", "enter"),
    _key("w", "watch", "watch", "replay it from the start"),
    _key("r", "resume", "resume", "continue it where it was interrupted"),
    _key("d", "delete", "delete", "delete it from the store (asks)"),
    _hidden("u", "adjudicate", "unclear", "decide whether its unclear texts mean the same"),
    _hidden("y", "copy", "copy id", "copy its id"),
)

ADJUDICATION = (
    Section(
        "Unclear texts",
        _key("q,escape", "leave", "back", "back to where you came from; answers are kept", "q"),
        _key("y", "answer(True)", "same", "they mean the same"),
        _key("n", "answer(False)", "different", "they do not mean the same"),
        _key("s", "skip", "skip", "leave this pair open"),
        _key("u", "undo", "undo", "go back, and take back your answer"),
        *_SCROLLING,
    ),
)

_LIST = Section(
    "The list",
    _key("space", "mark", "mark", "mark it for comparing, or unmark it"),
    _key("c", "compare", "compare", "compare the arms of the marked runs, or of this one"),
    _hidden("p", "compare(True)", "paths", "where the arms of the marked runs, or of this one, part"),
    _key("slash", "filter", "filter", "list only runs that contain these words", "/"),
    _key("escape", "end_filter", "list all", "list all runs again, and unmark them"),
    _hidden("down,j", "move(1)", "next", "next run"),
    _hidden("up,k", "move(-1)", "previous", "previous run"),
    _hidden("g,home", "move(-1000000)", "first", "the newest run"),
    _hidden("G,end", "move(1000000)", "last", "the oldest run"),
    _hidden("pagedown", "scroll(1)", "scroll", "scroll the numbers down"),
    _hidden("pageup,b", "scroll(-1)", "scroll back", "scroll the numbers up"),
)

RUNS = (_LISTED_RUN, _LIST)

TEXT = (
    Section(
        "Text",
        _key("q", "leave", "back", "back to where you came from"),
        _hidden("escape", "back", "back", "end the search; without one, back"),
        _hidden("down,j", "line(1)", "down", "a line down"),
        _hidden("up,k", "line(-1)", "up", "a line up"),
        _key("right,l", "shift(8)", "cut off", "to what is cut off", "right l"),
        _hidden("left,h", "shift(-8)", "left", "back to the left"),
        _key("pagedown,space", "scroll(1)", "scroll", "scroll down", "pgdn space"),
        _hidden("pageup,b", "scroll(-1)", "scroll back", "scroll up"),
        _hidden("home,g", "scroll_to(0)", "top", "to the beginning"),
        _hidden("end,G", "scroll_to(1)", "end", "to the end"),
        *_searching("it"),
        _key("c", "copy", "copy", "copy all of it"),
    ),
)

REPLAY = Section(
    "Replay",
    _key("q", "leave", "leave", "leave; the run is not touched"),
    _key("p", "pause", "pause", "pause here"),
    _key("p", "resume", "go on", "go on, when paused"),
    _key("plus,equals_sign", "faster", "faster", "twice as fast", "+"),
    _key("minus", "slower", "slower", "half as fast", "-"),
    _key("full_stop", "step", "step", "show the next turn whole and pause", "."),
    _key("s", "seek", "play this", "play the conversation you read, from its beginning"),
    _hidden("S", "seek_start", "from the start", "play the run from its beginning"),
    _hidden("E", "seek_end", "to the end", "show the run as it ended, or as it stands"),
)

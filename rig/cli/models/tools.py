"""What `rig models info` says about a model's tool calls: the form in its template, with an example."""

from collections.abc import Iterator

import click

from rig.calls import Call, JsonObject, Outcome
from rig.cli.output import say
from rig.engine.grammar.language import Tags
from rig.engine.native.detection import Native, Unsupported, native_of
from rig.engine.native.form import NativeFormat
from rig.engine.native.shape import ID, INDEX
from rig.engine.templates.template import ChatTemplate, TemplateError
from rig.errors import RigError
from rig.models import CallMessage, ToolDoc, UserMessage

_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
_TOOL = ToolDoc("get_weather", "The weather of the next days.", _PARAMETERS)
_CALL = Call("get_weather", {"city": "Paris", "days": 2})
_LONGEST, _MOST_LINES = 1200, 32
"""Characters and lines of an example; its end is what matters."""
_KEPT = {
    "never": "dropped from earlier messages",
    "within a turn": "kept until the user speaks again",
    "always": "kept in all earlier messages",
}


def tools_json(source: str | None) -> JsonObject:
    """What was found, by name; `fault` where there is nothing."""
    try:
        template = ChatTemplate(source or "")
        native = native_of(template)
    except (RigError, Unsupported) as error:
        return {"format": "rig", "fault": str(error)}
    shape = native.as_json()
    return {
        "format": "native" if native.is_supported else "rig",
        "native": native.name,
        **shape,
        "faults": list(native.faults),
        "call": native.shape.write((_CALL,)),
        "example": _example(template, native),
    }


def show_tools(source: str | None) -> None:
    """Print it: the form, what the template does not do, and a call as the model sees and writes it."""
    click.echo("\nTool calls:")
    try:
        template = ChatTemplate(source or "")
        native = native_of(template)
    except RigError as error:
        say(f"rig's form: {error}")
        return
    except Unsupported as error:
        say(f"rig's form: the chat template {error}, nor is its family known")
        return
    for title, text in _facts(native):
        say(f"{title:<13} {text}")
    click.echo("\nWith a tool that it called, the model is shown this; the call is what it writes itself:")
    say(_example(template, native))


def _facts(native: Native) -> Iterator[tuple[str, str]]:
    shape, thinking = native.shape, native.thinking
    how = "as the template shows calls" if not native.family else f"as known for {native.family}"
    default = "" if native.is_supported else "; `--format auto` takes rig's form, `--format native` this one"
    yield "format", f"native, {how}{default}"
    yield (
        "a call",
        f"{_shown(shape.open)} NAME {_shown(shape.after_name)} ARGUMENTS {_shown(shape.close)}".strip(),
    )
    yield "arguments", _arguments(native)
    yield (
        "tools",
        f"declared by the template: {native.tools_in}" if native.declares else "declared by rig in words",
    )
    yield (
        "several calls",
        f"yes, with {_shown(shape.between)} between them" if shape.parallel else "no, one a message",
    )
    if thinking.known:
        switch = "no switch"
        if thinking.off is not None:
            switch = f"switched by {', '.join(thinking.off)}"
        elif thinking.off_word:
            switch = f"switched off by {thinking.off_word} in the system prompt"
        marks = f"between {_shown(thinking.open)} and {_shown(thinking.close)}"
        yield "thoughts", f"{marks}; {switch}; {_KEPT[thinking.kept]}"
    else:
        yield "thoughts", "none that the template knows of"
    for fault in native.faults:
        yield "note", fault
    if not native.has_stable_prefix:
        yield (
            "note",
            "the tools stand before the last message of the user: prompts share less from turn to turn",
        )
    if native.faults:
        yield "", "another template can be given with --chat-template FILE"


def _arguments(native: Native) -> str:
    style = native.shape.arguments
    if not isinstance(style, Tags):
        return "one JSON object" if style.is_json else "one object in a spelling of its own"
    if style.quoted:
        return "by name, as Python writes them"
    return f"one by one, each as {_shown(style.argument('PARAMETER', 'TEXT'))}"


def _example(template: ChatTemplate, native: Native) -> str:
    """A prompt with a call and its result. Special tokens are spelled out."""
    form = NativeFormat((_TOOL,), "json", template, native=native)
    messages = (UserMessage("How is the weather in Paris?"), CallMessage(_CALL, Outcome({"sky": "clear"})))
    chat = [message.with_written_calls() for message in form.write(messages)]
    offer = form.offer()
    try:
        fragments = template.render(chat, offer.declarations, form.variables)
    except TemplateError as error:
        return f"the template refuses it: {error}"
    text = "".join(fragment.text for fragment in fragments)
    end = "\n".join(text[-_LONGEST:].split("\n")[-_MOST_LINES:])
    return end if end == text else f"…{end}"


def _shown(text: str) -> str:
    """A text of a form in one line, with words for what differs from call to call."""
    return repr(text.replace(ID, "ID").replace(INDEX, "NUMBER"))

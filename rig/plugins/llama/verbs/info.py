"""What `rig models info` shows: a file, how it fits on this machine, and how its model calls tools."""

import json
import re
from collections.abc import Iterator

import click

from rig.cli.output import print_facts, print_json, print_table, say
from rig.core.calls import Call, JsonObject, Outcome
from rig.core.errors import RigError, counted
from rig.core.meters import available_cores
from rig.core.models import CallMessage, ToolDoc, UserMessage
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.core.template import ChatTemplate, TemplateError, probing
from rig.plugins.llama.files.adapters import AdapterInfo
from rig.plugins.llama.files.info import GgufInfo
from rig.plugins.llama.files.registry import Entry, family_of, template_of
from rig.plugins.llama.formats.detection import Native, Unsupported, native_of
from rig.plugins.llama.formats.form import NativeFormat
from rig.plugins.llama.formats.probe import find_variables
from rig.plugins.llama.formats.shape import AGAIN, ID, INDEX, ORDINAL
from rig.plugins.llama.grammar.language import NestedTags, Tags
from rig.show.texts import file_size, millions

_FIT_HEADER = ("ON", "LAYERS", "WEIGHTS", "KV CACHE", "STATE", "WORKING", "OTHER", "ALL", "FREE", "MARGIN")


def show_info(gguf: GgufInfo, entry: Entry | None, adapter: AdapterInfo | None, source: str | None) -> None:
    """Print the facts of a file, its tool calls by the chat template in use, and its templates."""
    bits = gguf.bits_per_weight
    facts: dict[str, object] = {
        "file": str(gguf.path),
        "size": file_size(gguf.size),
        "name": gguf.name,
        "licence": gguf.licence,
        "registry": entry and f"{entry.name}: {entry.notes}",
        "origin": entry and entry.origin,
        "made": gguf.origin and gguf.origin.note,
        "adapter": adapter and _adapter(adapter),
        "architecture": gguf.architecture,
        "parameters": millions(gguf.parameters),
        "quantization": gguf.quantization + (f", {bits:.2f} bits per weight" if bits else ""),
        "tensors": ", ".join(
            f"{kind.tensors} {name} ({file_size(kind.bytes)})" for name, kind in gguf.tensor_types.items()
        ),
        "context": gguf.context_length,
        "layers": gguf.layers,
        "embedding": gguf.embedding_length,
        "heads": _per_layer(gguf.heads),
        "KV heads": _per_layer(gguf.kv_heads),
        "head size": gguf.key_length and f"{gguf.key_length} (keys), {gguf.value_length} (values)",
        "experts": gguf.experts,
        "window": gguf.sliding_window,
        "memory": gguf.memory + ("; cannot drop part of its state" if gguf.memory != "attention" else ""),
        "vocabulary": gguf.vocabulary_size,
        "tokenizer": " / ".join(part for part in (gguf.tokenizer, gguf.pre_tokenizer) if part),
        "sampling": ", ".join(f"{name} {value}" for name, value in gguf.sampling.items()),
        "special": ", ".join(f"{name} {token}" for name, token in gguf.special_tokens.items()),
    }
    print_facts(facts)
    click.echo("\n--fit says what memory it takes, with --n-ctx, --parallel and --kv as you like")
    show_tools(source, gguf.other)
    own = gguf.chat_template or template_of(family_of(gguf))
    of_registry = " (the registry's)" if own and not gguf.chat_template else ""
    others = ((f" {name}", text) for name, text in gguf.other_templates.items())
    for title, template in ((of_registry, own), *others):
        say(f"\nChat template{title}:")
        say("none; `rig run` needs --chat-template" if template is None else template)


def _adapter(adapter: AdapterInfo) -> str:
    low, high = adapter.ranks
    ranks = f"rank {low}" if low == high else f"ranks {low} to {high}"
    shape = f"{counted(len(adapter.changes), 'weight')}, {ranks}, alpha {adapter.alpha:g}"
    return f"{adapter.path}: {shape}, {' '.join(adapter.types)}, {file_size(adapter.size)}"


def _per_layer(heads: int | tuple[int, ...] | None) -> str | None:
    if not isinstance(heads, tuple):
        return None if heads is None else str(heads)
    return f"{min(heads)} to {max(heads)}, by layer" if heads else None


def show_fit(
    name: str, info: GgufInfo, settings: EngineSettings, source: str | None, *, load: bool, as_json: bool
) -> None:
    """Print the plan for loading a model with this chat template; with `load`, of what was really loaded."""
    # Imported here, because it loads llama.cpp.
    from rig.plugins.llama.loading import with_room_to_think
    from rig.plugins.llama.memory.fit import plan_for

    tried: list[str] = []
    settings = with_room_to_think(settings, source or "")
    plan = plan_for(info, settings, tried.append, load=load)
    if as_json:
        print_json(
            {
                "name_in_rig": name,
                "path": str(info.path),
                **plan.as_json(),
                "n_threads": available_cores(),
                "context_length": info.context_length,
                "loaded": load,
                "made_from": info.origin and info.origin.as_json(),
                "tried": tried,
            }
        )
        return
    where = " and ".join(use.title for use in plan.gpus) or "the CPU"
    layers = f"{plan.n_gpu_layers} of {plan.offloadable}" if plan.gpus else f"all {plan.offloadable}"
    experts = f"those of the first {counted(plan.n_cpu_moe, 'layer')} on the CPU" if plan.n_cpu_moe else None
    print_facts(
        {
            "layers": f"{layers} on {where}",
            "experts": experts,
            "context": f"{plan.n_ctx} tokens of the model's {info.context_length or 'unknown number'}",
            "batch": f"{plan.n_batch} tokens",
            "sequences": f"{plan.n_seq}; {plan.most_sequences} would fit",
            "KV cache": f"{plan.kv_type}, flash attention {'on' if plan.flash_attention else 'off'}",
            "threads": available_cores(),
            "made": info.origin and info.origin.note,
        }
    )
    click.echo()
    rows = []
    for use in plan.uses:
        sizes = (use.weights, use.kv, use.state, use.compute, use.other, use.held, use.free, use.margin)
        rows.append((use.title, use.layers, *map(file_size, sizes)))
    print_table(_FIT_HEADER, rows)
    click.echo("(weights on the CPU are pages of the file, which it can give up; the margin is left free)")
    for line in (*tried, *plan.remarks):
        say(line)
    if load:
        click.echo("loaded like this, and released again")
    elif plan.fits:
        click.echo("it fits")


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
    "beside calls": "kept in earlier messages with calls",
    "in part": "kept in some earlier messages",
    "always": "kept in all earlier messages",
}


@probing()
def tools_json(source: str | None) -> JsonObject:
    """Return what a chat template does about tool calls, by name; `fault` if it has none.

    The format is null if the template itself is missing or cannot be used.
    """
    try:
        template = _template(source)
        native = native_of(template)
    except (RigError, Unsupported) as error:
        return {"format": None if isinstance(error, RigError) else "rig", "fault": str(error)}
    return {
        "format": "native" if native.is_supported else "rig",
        "native": native.family or "derived",
        **native.as_json(),
        "certainty": _certainty(native),
        "faults": list(native.faults),
        "call": native.shape.write((_CALL,)),
        "example": _example(template, native),
        "variables": [variable._asdict() for variable in find_variables(template)],
    }


def _template(source: str | None) -> ChatTemplate:
    if source is None:
        raise RigError("there is no chat template")
    return ChatTemplate(source)


@probing()
def show_tools(source: str | None, other: str = "") -> None:
    """Print the form of tool calls, the template's faults, and a call as the model sees and writes it.

    `other` says what the file holds instead of a model that writes text.
    """
    click.echo("\nTool calls:")
    try:
        if other:
            say(f"none: it is {other}, which writes no text")
            return
        template = _template(source)
        native = native_of(template)
    except RigError as error:
        say(f"none: {error}; `rig run` needs --chat-template")
        return
    except Unsupported as error:
        say(f"rig's form: the chat template {error}, nor is its family known")
        for title, text in _variables(template):
            say(f"{title:<13} {text}")
        return
    for title, text in (*_facts(native), *_variables(template)):
        say(f"{title:<13} {text}")
    click.echo(
        "\nWith a tool that it called, the model is shown this; the call is what it should write itself:"
    )
    say(_example(template, native))


def _facts(native: Native) -> Iterator[tuple[str, str]]:
    shape, thinking = native.shape, native.thinking
    how = "as the template shows calls" if not native.family else f"as known for {native.family}"
    default = "" if native.is_supported else "; `--format auto` takes rig's form, `--format native` this one"
    yield "format", f"native, {how}{default}"
    yield "certainty", f"{_certainty(native)}; what the model really writes, `rig doctor MODEL` asks it"
    call = f"{_shown(shape.open)} NAME {_shown(shape.after_name)} ARGUMENTS {_shown(shape.close)}"
    yield "a call", call.strip()
    yield "arguments", _arguments(native)
    by_whom = f"the template: {native.tools_in}" if native.tools_in else "rig in words"
    yield "tools", f"declared by {by_whom}"
    several = f"yes, with {_shown(shape.between)} between them" if shape.between else "no, one a message"
    yield "several calls", several
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
    if native.tools_in == "last user message":
        yield (
            "note",
            "the tools stand before the last message of the user: prompts share less from turn to turn",
        )
    if native.faults:
        yield "", "another template can be given with --chat-template FILE"


def _certainty(native: Native) -> str:
    """Return what a form was concluded from, the surest first."""
    if native.shows_calls:
        return "the template writes calls like this"
    if native.tools_in:
        return f"the template declares tools and has marks of {native.family}, but does not write such calls"
    return f"a guess: the template has marks of {native.family}, and knows no tools"


def _variables(template: ChatTemplate) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(variable_lines(template)):
        yield ("" if number else "variables"), line


@probing()
def variable_lines(template: ChatTemplate) -> list[str]:
    """Return the variables that the template reads, with defaults and the values that change a prompt."""
    lines = []
    for name, default, values, is_open in find_variables(template):
        texts = [json.dumps(value, ensure_ascii=False) for value in values] + ["any text"] * is_open
        usual = f" (by default {json.dumps(default, ensure_ascii=False)})" if default is not None else ""
        what = f": {', '.join(texts)}" if texts else ": no value that was tried changes a prompt"
        lines.append(f"{name}{usual}{what}")
    return lines


def _arguments(native: Native) -> str:
    style = native.shape.arguments
    if isinstance(style, NestedTags):
        return f"one by one, each as {_shown(style.write({'PARAMETER': 'TEXT'}))}"
    if not isinstance(style, Tags):
        return "one JSON object" if style.is_json else "one object in a spelling of its own"
    if style.quoted:
        return "by name, as Python writes them"
    return f"one by one, each as {_shown(style.write({'PARAMETER': 'TEXT'}))}"


def _example(template: ChatTemplate, native: Native) -> str:
    """Return a prompt with a call and its result. Special tokens are spelled out."""
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
    """Return a text of a form in one line, with words for what differs from call to call."""
    words = {ID: "ID", INDEX: "NUMBER", ORDINAL: "NUMBER", AGAIN: "NAME"}
    return repr(re.sub("|".join(words), lambda hole: words[hole[0]], text))

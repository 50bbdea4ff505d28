"""Where prompts come from: the templates of model files and of Jinja2 files, and servers."""

from collections.abc import Mapping
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rig.config.engine import assignments
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.files import read_text
from rig.plugins.llama.core.options import EngineOptions
from rig.plugins.llama.core.template import ChatTemplate
from rig.plugins.llama.formats.probe import check_variables
from rig.plugins.templates.comparison import Prompt, Render, by_jinja
from rig.plugins.templates.talks import TemplateTalk

if TYPE_CHECKING:  # which loads llama.cpp
    from rig.plugins.llama.engine import LlamaCppModel

_JINJA = (".jinja", ".jinja2", ".j2", ".txt")


class NamedTemplate(NamedTuple):
    """A template with the name that people gave."""

    name: str
    template: ChatTemplate


def named(text: str, *, tokens: ChatTemplate | None = None) -> NamedTemplate:
    """Return the template of a Jinja2 file, or the one that rig runs a model with. Raises RigError.

    A Jinja2 file names no tokens for beginning and end; they are those of another template, or `<s>`.
    """
    if text.endswith(_JINJA):
        bos, eos = (tokens.bos, tokens.eos) if tokens else ("<s>", "</s>")
        return NamedTemplate(text, _compiled(text, read_text(Path(text)), bos, eos))
    # Imported here, because they load llama.cpp.
    from rig.plugins.llama.core.llama import LlamaModel
    from rig.plugins.llama.core.tokenizer import Tokenizer
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.files.registry import resolve
    from rig.plugins.llama.loading import compiled, source_of
    from rig.plugins.llama.memory.weights import check_loads

    info, options = inspect(resolve(text).path), EngineOptions()
    source = source_of(info, options)
    check_loads(info.path, weightless=True)
    with closing(LlamaModel(info.path, weightless=True)) as model:
        return NamedTemplate(text, compiled(source, text, Tokenizer(model), options))


def template_like(model: "LlamaCppModel", options: EngineOptions) -> ChatTemplate:
    """Return the template that a loaded model's file runs with under other options. Raises RigError."""
    from rig.plugins.llama.files.info import inspect
    from rig.plugins.llama.loading import compiled, source_of

    source, path = source_of(inspect(model.weights.path), options), options.chat_template
    return compiled(source, path or model.weights.path, model.tokenizer, options)


def _compiled(name: str, source: str, bos: str, eos: str) -> ChatTemplate:
    try:
        return ChatTemplate(source, bos=bos, eos=eos)
    except RigError as error:
        raise RigError(f"{name}: {error}") from error


def with_variables(one: NamedTemplate, chosen: str | None) -> NamedTemplate:
    """Return a template with variables that hold in all prompts. Raises RigError if it reads none such."""
    if not chosen:
        return one
    template = one.template
    check_variables(template, assignments(chosen))
    changed = ChatTemplate(template.source, bos=template.bos, eos=template.eos, chosen=assignments(chosen))
    return NamedTemplate(f"{one.name} with {chosen}", changed)


def tokens_of(
    model: str, texts: Mapping[str, Prompt], others: Mapping[str, Prompt]
) -> tuple[int, int] | None:
    """Return the tokens of all prompts that two templates make, by the model's tokenizer.

    Conversations that one of them refuses do not count. None for a Jinja2 file, which has no tokenizer.
    """
    if model.endswith(_JINJA):
        return None
    # Imported here, because they load llama.cpp.
    from rig.plugins.llama.core.llama import LlamaModel
    from rig.plugins.llama.core.tokenizer import Tokenizer
    from rig.plugins.llama.files.registry import resolve

    names = [name for name in texts if not (texts[name].refusal or others[name].refusal)]
    with closing(LlamaModel(resolve(model).path, weightless=True)) as opened:
        tokenizer = Tokenizer(opened)
        first, second = (
            sum(len(tokenizer.template(prompts[name].text)) for name in names) for prompts in (texts, others)
        )
    return first, second


def second_of(model: str) -> NamedTemplate:
    """Return the template of a file besides the one that rig runs it with. Raises RigError."""
    from rig.plugins.llama.files import registry
    from rig.plugins.llama.files.info import inspect

    if not model.endswith(_JINJA):
        info = inspect(registry.resolve(model).path)
        used = registry.template_source(info, None, own_format=True)
        templates = {"its default template": info.chat_template, **info.other_templates}
        of_family = registry.template_of(registry.family_of(info))
        for name, source in {**templates, "the registry's template": of_family}.items():
            if source and source != used:
                first = named(model).template
                return NamedTemplate(f"{model}: {name}", _compiled(name, source, first.bos, first.eos))
    raise RigError(f"{model}: has one template; give another file to compare it with, or --server URL")


def weights_of(model: str) -> str:
    """Return the path of a model file, which llama.cpp's server needs for its tokens. Raises RigError."""
    from rig.plugins.llama.files.registry import resolve

    if model.endswith(_JINJA):
        raise RigError(f"{model}: llama.cpp's engine needs a model file, too; put it before the template")
    return str(resolve(model).path)


SERVED: JsonObject = {"enable_thinking": True}
"""What llama-server gives to every template, unless a conversation says otherwise."""


def by_server(url: str, template: ChatTemplate, now: datetime) -> Render:
    """Return what has a llama-server render conversations. Raises RigError if it runs another template.

    It writes today's date; `now` says when that is.
    """
    from rig.plugins.served.wire.address import Address
    from rig.plugins.served.wire.client import HttpClient
    from rig.plugins.served.wire.faults import ServerFault

    client = HttpClient(Address.parse(url), timeout_s=60.0)
    client.find()
    theirs = client.try_get("/props").get("chat_template")
    if not isinstance(theirs, str):
        raise RigError(f"{url}: tells no chat template; --server is for llama-server")
    if not _is_same(theirs, template.source):
        raise RigError(f"{url}: runs another chat template than the file's; start it with the same file")
    bos, in_turn = template.bos, by_jinja(template, SERVED, now)

    def render(talk: TemplateTalk) -> Prompt:
        talk = talk.with_texts()
        variables = {**SERVED, **talk.variables}
        body: JsonObject = {"messages": list(talk.messages), "chat_template_kwargs": variables}
        if talk.tools:
            body["tools"] = list(talk.tools)
        try:
            answer = client.post("/apply-template", body)
        except ServerFault as fault:
            return Prompt("", " ".join(str(fault).split())[:200])
        text = str(answer.get("prompt", "")) if isinstance(answer, dict) else ""
        # The server leaves out a first token that its tokenizer adds.
        ours = in_turn(talk)
        is_added = bool(bos) and ours.text.startswith(bos) and not text.startswith(bos)
        return Prompt(bos + text if is_added else text)

    return render


_SWITCHED_OFF = "{%- if false %}"
"""What llama.cpp puts in the place of tests in some templates that it cannot take."""


def _is_same(theirs: str, ours: str) -> bool:
    """Whether a server runs a template, but for the tests that llama.cpp switches off in it."""
    lines, others = theirs.strip().splitlines(), ours.strip().splitlines()
    return len(lines) == len(others) and all(
        line == other or line.strip() == _SWITCHED_OFF for line, other in zip(lines, others, strict=True)
    )

"""The answer formats by name, and which of them a model uses."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from rig import plugins
from rig.calls import JsonObject
from rig.engine.core.settings import EngineSettings
from rig.engine.core.template import ChatTemplate
from rig.engine.formats.base import AnswerFormat
from rig.engine.formats.rig import RigFormat
from rig.errors import RigError
from rig.models import ToolDoc
from rig.options import GrammarArm

Make: TypeAlias = Callable[[tuple[ToolDoc, ...], GrammarArm, ChatTemplate], AnswerFormat]


class FormatChoice(NamedTuple):
    """A form for one model: how it is made for a set of tools, and all of it that can change an answer.

    `remarks` are lines that a person should know before a run.
    """

    make: Make
    fingerprint: JsonObject
    salvage_rules: str
    remarks: tuple[str, ...] = ()


def names() -> list[str]:
    """What `--format` takes."""
    registry = plugins.registered()
    return list(dict.fromkeys(("auto", "native", *registry.formats, *registry.presets)))


def check_name(name: str) -> None:
    """Raise RigError for a form that there is not; it says what others there are."""
    if name not in names():
        raise RigError(f"--format {name}: no such format; choose from {', '.join(names())}")


def is_own(name: str) -> bool:
    """Whether a form is a model's own, or looked for there: neither rig's nor a plugin's."""
    return name not in plugins.registered().formats


def choose(settings: EngineSettings, template: ChatTemplate) -> FormatChoice:
    """The form that the settings ask for, for a model with this template. Raises RigError."""
    formats: Mapping[str, type[AnswerFormat]] = plugins.registered().formats
    check_name(settings.format)
    name = settings.format
    remarks: tuple[str, ...] = ()
    if name not in formats:
        choice = _native(settings, template)
        if isinstance(choice, FormatChoice):
            return choice
        name, remarks = RigFormat.name, (choice,)
    format_class = formats[name]
    if settings.tool_choice != "auto" and format_class is RigFormat:
        raise RigError(
            f"--tool-choice {settings.tool_choice} is for models' own formats;"
            " in rig's form a model always chooses (--format native)"
        )
    several = {} if settings.several_calls or format_class is RigFormat else {"several_calls": False}
    fingerprint = {"prompt_format": f"{format_class.name}-{format_class.version}", **several}
    return FormatChoice(format_class, fingerprint, format_class.salvage_rules, remarks)


def _native(settings: EngineSettings, template: ChatTemplate) -> FormatChoice | str:
    """The model's own form, or that of a family; a line that says why `auto` takes none."""
    from rig.engine.grammar.language import Tags
    from rig.engine.native.detection import Unsupported, family_native, native_of
    from rig.engine.native.form import NativeFormat

    name = settings.format
    no_tools = "no tools in its chat template"
    try:
        native = native_of(template) if name in ("auto", "native") else family_native(name, template)
    except Unsupported as error:
        if name == "auto":
            return (
                f"{f'its chat template {error}' if error.shows_calls else no_tools}: it answers in rig's form"
            )
        raise RigError(
            f"--format native: the chat template {error}; use --format rig, a family"
            f" ({', '.join(plugins.registered().presets)}), or another template with --chat-template"
        ) from error
    if name == "auto" and not native.is_supported:
        return f"{no_tools}: it answers in rig's form"
    style = native.shape.arguments
    is_tagged = isinstance(style, Tags) and not style.quoted  # texts in them were read otherwise before 2
    form = NativeFormat.name if name == "auto" else name
    fingerprint = {
        "prompt_format": f"{form}-{2 if is_tagged else NativeFormat.version}",
        "native_format": native.as_json(),
        "several_calls": settings.several_calls,
        "tool_choice": settings.tool_choice,
    }
    if native.thinking.known:
        fingerprint |= {"thinking": settings.thinking, "thinking_tokens": settings.thinking_tokens}
    make = partial(NativeFormat, native=native, thinking=settings.thinking)
    return FormatChoice(make, fingerprint, NativeFormat.salvage_rules, native.remarks(settings.thinking))

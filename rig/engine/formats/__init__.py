"""The forms in which models answer, by name, and which of them one is to use."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from rig import plugins
from rig.calls import JsonObject
from rig.engine.formats.base import AnswerFormat
from rig.engine.formats.rig import RigFormat
from rig.engine.settings import EngineSettings, GrammarArm
from rig.engine.template import ChatTemplate
from rig.errors import RigError
from rig.models import ToolDoc

Make: TypeAlias = Callable[[tuple[ToolDoc, ...], GrammarArm, ChatTemplate], AnswerFormat]


class Chosen(NamedTuple):
    """A form for one model: how it is made for a set of tools, and all of it that can change an answer.

    `remarks` are lines that a person should know before a run.
    """

    make: Make
    fingerprint: JsonObject
    salvage_rules: str
    remarks: tuple[str, ...] = ()


def names() -> list[str]:
    """What `--format` takes."""
    from rig.engine.formats.native.presets import PRESETS

    known = dict[str, object].fromkeys(plugins.registered().formats)
    return ["auto", "native", *known, *(name for name in PRESETS if name not in known)]


def check_name(name: str) -> None:
    """Raise RigError for a form that there is not; it says what others there are."""
    if name not in names():
        raise RigError(f"--format {name}: there is none; there are {', '.join(names())}")


def is_own(name: str) -> bool:
    """Whether a form is a model's own, or looked for there: neither rig's nor a plugin's."""
    return name not in plugins.registered().formats


def choose(settings: EngineSettings, template: ChatTemplate) -> Chosen:
    """The form that the settings ask for, for a model with this template. Raises RigError."""
    name = settings.format
    known: Mapping[str, type[AnswerFormat]] = plugins.registered().formats
    check_name(name)
    if name not in known:
        chosen = _native(settings, template)
        if chosen is not None:
            return chosen
        name = RigFormat.name
    made = known[name]
    if settings.tool_choice != "auto" and made is RigFormat:
        raise RigError(
            f"--tool-choice {settings.tool_choice} is for models' own formats;"
            " in rig's form a model always chooses (--format native)"
        )
    several = {} if settings.several_calls or made is RigFormat else {"several_calls": False}
    remarks = (
        ("no tools in its chat template: it answers in rig's form",) if settings.format == "auto" else ()
    )
    return Chosen(
        made, {"prompt_format": f"{made.name}-{made.version}", **several}, made.salvage_rules, remarks
    )


def _native(settings: EngineSettings, template: ChatTemplate) -> Chosen | None:
    """The model's own form, or that of a family; None where `auto` finds none."""
    from rig.engine.formats.native.form import NativeFormat
    from rig.engine.formats.native.found import Unsupported, family_native, native_of

    try:
        native = (
            native_of(template)
            if settings.format in ("auto", "native")
            else family_native(settings.format, template)
        )
    except Unsupported as error:
        if settings.format == "auto":
            return None
        raise RigError(
            f"--format native: the chat template {error}; use --format rig, a family"
            f" ({', '.join(names()[3:])}), or another template with --chat-template"
        ) from error
    if settings.format == "auto" and not native.is_supported:
        return None
    form = NativeFormat.name if settings.format == "auto" else settings.format
    fingerprint = {
        "prompt_format": f"{form}-{NativeFormat.version}",
        "native_format": native.as_json(),
        "several_calls": settings.several_calls,
        "tool_choice": settings.tool_choice,
        **(
            {"thinking": settings.thinking, "thinking_tokens": settings.thinking_tokens}
            if native.thinking.known
            else {}
        ),
    }
    make = partial(NativeFormat, native=native, thinking=settings.thinking)
    return Chosen(make, fingerprint, NativeFormat.salvage_rules, native.remarks(settings.thinking))

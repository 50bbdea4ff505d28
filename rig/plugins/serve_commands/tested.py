"""The settings with which an arm was played, read from its fingerprint and its run.

A store may come from anywhere. Nothing that it names is opened; what does not fit into a command, such as a
line break in a path, is refused.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rig.config.engine import LeakedCalls, ThinkingArm, assignments
from rig.config.options import told_by
from rig.core.calls import JsonObject
from rig.core.errors import RigError
from rig.core.paths import REGISTRY
from rig.plugins.documents.documents import parsed
from rig.plugins.llama.core.options import OWN_TEMPLATE
from rig.plugins.llama.core.settings import Sampling, kv_types
from rig.plugins.llama.files.registry import entry_of, load_registry, template_of
from rig.store import StoredArm, StoredRun


def _one_line(text: str) -> str:
    if not text or not text.isprintable():
        raise ValueError(f"{text[:60]!a} holds characters that no command can have")
    return text


Text = Annotated[str, AfterValidator(_one_line)]
Count = Annotated[int, Field(ge=0)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[float, Field(allow_inf_nan=False)]


class _TestedSettings(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class _Thinking(_TestedSettings):
    on: JsonObject | None = None
    off: JsonObject | None = None
    off_word: str = ""


class _Native(_TestedSettings):
    tools_in: str = ""
    thinking: _Thinking = _Thinking()


class Knobs(_TestedSettings):
    """llama.cpp's own parameters that were set (`--llama`), by its names; `others` are texts `NAME=VALUE`."""

    rope_scaling_type: Literal["none", "linear", "yarn", "longrope"] | None = None
    rope_freq_base: Number | None = None
    rope_freq_scale: Number | None = None
    yarn_orig_ctx: Count | None = None
    yarn_ext_factor: Number | None = None
    yarn_attn_factor: Number | None = None
    yarn_beta_fast: Number | None = None
    yarn_beta_slow: Number | None = None
    tensor_buft_overrides: Text | None = None
    tensor_split: Text | None = None
    split_mode: Literal["none", "layer", "row", "tensor"] | None = None
    main_gpu: Count | None = None
    others: tuple[Text, ...] = ()

    @property
    def named(self) -> list[str]:
        """The names of those that were set, and the others as they were written."""
        return [name for name, value in self if name != "others" and value is not None] + [*self.others]


class Tested(_TestedSettings):
    """What an arm's fingerprint says about how its model was run, by the fingerprint's own names.

    Lengths are tokens, and -1 layers are all. `native_format` is None where the model answered in a form that
    is not its own.
    """

    file: Text
    file_sha256: Digest
    file_bytes: Count
    n_ctx: Annotated[int, Field(gt=0)]
    n_batch: Annotated[int, Field(gt=0)]
    n_threads: Annotated[int, Field(gt=0)]
    n_gpu_layers: Annotated[int, Field(ge=-1)]
    kv_type: Text
    flash_attention: bool
    cpu_weight_layouts: bool = True
    max_tokens: Count
    temperature: Number
    chat_template_sha256: Digest
    prompt_format: Text
    sampling: Text | None = None
    n_cpu_moe: Count | None = None
    knobs: Knobs = Knobs()
    adapter: Text | None = None
    adapter_scale: Number = 1.0
    template_set: Text | None = None
    thinking: ThinkingArm = "auto"
    thinking_tokens: Count | None = None
    native_format: _Native | None = None
    leaked_calls: LeakedCalls | None = None
    grammar: Text = "none"
    made_from: JsonObject | None = None

    @property
    def kv(self) -> tuple[str, str]:
        """The types of keys and values. Raises RigError for unknown ones."""
        return kv_types(self.kv_type)

    @property
    def samplers(self) -> Sampling:
        """How tokens were chosen. Raises RigError."""
        if self.sampling is None:
            return parsed(Sampling, {"temp": self.temperature}, "model.temperature", "a temperature")
        values = dict(part.partition("=")[::2] for part in self.sampling.split(","))
        return parsed(Sampling, values, "model.sampling", "settings of sampling")

    @property
    def variables(self) -> JsonObject:
        """The variables of the chat template that were set, those for thinking among them."""
        thinking = self.native_format.thinking if self.native_format else _Thinking()
        switch = {"auto": {}, "on": thinking.on or {}, "off": thinking.off or {}}[self.thinking]
        return {**switch, **assignments(self.template_set)}

    @property
    def budget(self) -> int | None:
        """The most tokens of thoughts; None for a model that has none, or whose thinking is off."""
        return None if self.thinking == "off" else self.thinking_tokens


class ServedArm(_TestedSettings):
    """An arm to be served: its settings, and where the files are that it was run with.

    `remarks` are about these files.
    """

    run: str
    arm: str
    tested: Tested
    file: Text
    adapter: Text | None = None
    template: Text | None = None
    remarks: tuple[str, ...] = ()


def read(run: StoredRun, arm: StoredArm) -> ServedArm:
    """Return how an arm was run. Raises RigError for one that was not run from a file, and for damage."""
    where = f"{run.id}/{arm.name}"
    fingerprint = arm.fingerprint or {}
    if fingerprint.get("model.engine") != "llama.cpp":
        served = fingerprint.get("model.engine") == "served"
        why = "its model is behind a server already" if served else "no file was run"
        raise RigError(f"{where}: {why}; there is nothing to serve")
    parts = ((name.partition("model."), value) for name, value in fingerprint.items())
    own = {name: value for (before, mark, name), value in parts if mark and not before}
    knobs = {name.removeprefix("llama."): value for name, value in own.items() if name.startswith("llama.")}
    others = tuple(f"{name}={value}" for name, value in knobs.items() if name not in Knobs.model_fields)
    own["knobs"] = {**knobs, "others": others}
    tested = parsed(Tested, own, where, "what rig stores of a model")
    remarks: list[str] = []
    values: dict[str, Any] = {"run": run.id, "arm": arm.name, "tested": tested}
    values["file"] = _place(tested.file, _files(run.settings.get("models")), remarks)
    if tested.adapter is not None:
        adapters = [*_scaled(run.settings.get("lora")), *_registered_adapters(run.settings.get("models"))]
        values["adapter"] = _place(tested.adapter, adapters, remarks)
    values["template"] = _template_of(run, arm) or _registered_template(tested)
    return parsed(ServedArm, {**values, "remarks": tuple(remarks)}, where, "an arm that can be served")


def _template_of(run: StoredRun, arm: StoredArm) -> Any:
    """Return the template that an option named for an arm; of several, the one that the arm's name tells."""
    template = run.settings.get("chat_template")
    if isinstance(template, list) and len(template) > 1 and len(texts := _texts(template)) == len(template):
        places = [None if text == OWN_TEMPLATE else Path(text) for text in texts]
        place = told_by(arm.name, "chat_template", places)
        return place and str(place)
    return None if template == OWN_TEMPLATE else template


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _files(models: Any) -> list[str]:
    registry = load_registry()
    return [str(registry[text].path) if text in registry else text for text in _texts(models)]


def _scaled(adapters: Any) -> Iterable[str]:
    for text in _texts(adapters):
        yield text
        yield text.rpartition(":")[0]


def _registered_adapters(models: Any) -> list[str]:
    entries = map(load_registry().get, _texts(models))
    return [str(entry.adapter.path) for entry in entries if entry and entry.adapter]


def _place(name: str, places: Sequence[str], remarks: list[str]) -> str:
    """Return the one place of a file with this name, else the name in the current folder."""
    candidates = list(dict.fromkeys(place for place in places if Path(place).name == name))
    if len(candidates) == 1:
        return candidates[0] if Path(candidates[0]).is_absolute() else f"./{candidates[0]}"
    why = f"names {len(candidates)} files" if candidates else "does not say where the file is that is"
    remarks.append(f"the run {why} called {name}: take the one with the SHA-256 that was tested")
    return f"./{name}"


def _registered_template(tested: Tested) -> str | None:
    """Return the file of rig's own template, if a model was run with it because its file has none."""
    origin: Mapping[str, Any] = tested.made_from or {}
    for digest in (tested.file_sha256, origin.get("root_sha256")):
        entry = entry_of(str(digest))
        source = template_of(entry)
        if entry and source and hashlib.sha256(source.encode()).hexdigest() == tested.chat_template_sha256:
            return str(REGISTRY.parent / str(entry.chat_template))
    return None

"""How two arms differ, by their fingerprints: the factors that a comparison is about."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import starmap

from rig.core.calls import Json, JsonObject


@dataclass(frozen=True, slots=True)
class Factor:
    """One thing in which an arm differs from the baseline, with the settings that show it.

    `settings` are the baseline's and the arm's values by name, None for a setting that one of them does not
    have.
    """

    name: str
    settings: Mapping[str, tuple[Json, Json]]

    def as_json(self) -> JsonObject:
        """Return the name, and the values of both."""
        values = {name: {"baseline": was, "arm": now} for name, (was, now) in self.settings.items()}
        return {"factor": self.name, "settings": values}

    def __str__(self) -> str:
        if self.name != MODEL:
            return _change(self.name, *next(iter(self.settings.values())))
        if "model.engine" in self.settings:
            # An oracle has none of a model's settings, so each of these differs.
            named = [(factor, makers[0]) for factor, makers, _ in _GROUPS if factor in _OF_ONE_ENGINE]
            others = [(factor, *self.settings[name]) for factor, name in named if name in self.settings]
            return ", ".join([f"{MODEL} ({self._model(0)} -> {self._model(1)})", *starmap(_change, others)])
        was, now = self.settings.get("model.file", (None, None))
        if not (was and now):
            was, now = (self._adapter(side) or "no adapter" for side in (0, 1))
        return f"{MODEL} ({was} -> {now})" if was != now else MODEL

    def _model(self, side: int) -> str:
        """Return the file of the baseline or the arm with its adapter, or the engine if it has no file."""
        file = self.settings.get("model.file", (None, None))[side] or self.settings["model.engine"][side]
        return " + ".join(filter(None, [str(file), self._adapter(side)]))

    def _adapter(self, side: int) -> str:
        """Return the adapter, with its scale if the two differ in that; empty if there is none."""
        parts = (self.settings.get(f"model.adapter{end}", (None, None))[side] for end in ("", "_scale"))
        return " ".join(str(part) for part in parts if part is not None)


def _change(name: str, was: Json, now: Json) -> str:
    return f"{name} ({_short(was)} -> {_short(now)})"


MODEL = "model"
SEED = "seed"
GRADER = "grader."
HASH = "_sha256"
"""Ends the name of the hash of what settings of one name mean, as `dial_sha256` beside `dial.level`."""


def _of_model(names: str) -> tuple[str, ...]:
    return tuple(f"model.{name}" for name in names.split())


_OF_FILE = _of_model(
    "file_sha256 file_bytes engine file architecture quantization tensor_types made_from adapter_sha256"
    " adapter_scale adapter"
)
_PLANNED = _of_model(
    "cpu_weight_layouts devices flash_attention n_batch n_cpu_moe n_ctx n_gpu_layers n_seq prefill_piece"
)
"""Settings that are decided at loading, by what fits."""

_OF_FORMAT = _of_model(
    "native_format several_calls tool_choice thinking thinking_tokens leaked_calls leak_rules"
)
"""Settings that only a model's own form of answers has."""

_GROUPS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        MODEL,
        _OF_FILE,
        ("model.chat_roles", "model.chat_template_sha256", "model.native_format", *_PLANNED),
    ),
    (
        "chat template",
        ("model.chat_template_sha256",),
        ("model.chat_roles", "model.prompt_format", *_OF_FORMAT, "model.salvage_rules", *_PLANNED),
    ),
    (
        "format",
        ("model.prompt_format",),
        (*_OF_FORMAT, "model.salvage_rules", "model.chat_roles", "model.chat_template_sha256"),
    ),
    ("KV cache", ("model.kv_type",), _PLANNED),
    ("exact", ("model.exact",), ("model.fast_forward", "model.n_seq", "model.prefill_piece")),
    ("sequences", ("model.n_seq",), ("model.prefill_piece",)),
    ("docs", ("protocol.docs",), ("protocol.prompt_sha256",)),
    ("form", ("protocol.form",), ("protocol.prompt_sha256",)),
    ("sampling", ("model.sampling",), ("model.temperature", "model.top_p", "model.min_p", "model.seed")),
    ("temperature", ("model.temperature",), ("model.top_p", "model.min_p", "model.seed")),
    ("llama.cpp", _of_model("llama_cpp llama_cpp_python llama_cpp_system"), _PLANNED),
    ("grammar", _of_model("grammar grammar_engine grammar_front grammar_separators"), ()),
    ("rig's version", ("rig",), ()),
    ("world", ("world_sha256",), ()),
)
"""Factors: the settings that make one, and those that may differ with it as its consequence."""

_OF_ONE_ENGINE = ("format", "KV cache", "exact", "sampling", "temperature", "grammar")
"""Factors that are named beside the model where the other arm has another engine, such as an oracle."""

_ASKED = {
    "model.n_ctx": "n_ctx",
    "model.n_batch": "n_batch",
    "model.n_gpu_layers": "gpu_layers",
    "model.n_cpu_moe": "n_cpu_moe",
    "model.n_seq": "parallel",
    "model.flash_attention": "flash_attention",
    "model.chat_template_sha256": "chat_template",
    "model.prompt_format": "format",
    "model.thinking": "thinking",
    "model.tool_choice": "tool_choice",
}
"""Settings that follow from the model unless an option of the run sets them, with that option."""


@dataclass(frozen=True, slots=True)
class ArmSettings:
    """An arm's fingerprint, and the options its run was started with."""

    fingerprint: JsonObject
    options: JsonObject


def factors(baseline: ArmSettings, arm: ArmSettings) -> tuple[Factor, ...]:
    """Return everything in which two arms differ, except the grader."""
    was, now = baseline.fingerprint, arm.fingerprint
    every = dict.fromkeys((*was, *now))
    names = [name for name in every if was.get(name) != now.get(name) and not name.startswith(GRADER)]
    if "model.file_sha256" in was and "model.file_sha256" not in names and "model.file" in names:
        names.remove("model.file")
    grouped = []
    for factor, makers, followers in _GROUPS:
        if not any(name in makers for name in names):
            continue
        if factor == MODEL and "model.engine" in names:
            # Settings of different engines cannot be compared.
            mine = [name for name in names if name.startswith("model.")]
        else:
            # What an option of a run sets does not follow from another setting.
            told = {
                name
                for name, option in _ASKED.items()
                if baseline.options.get(option) != arm.options.get(option)
                # Several values, each for some of the arms.
                or isinstance(arm.options.get(option), list)
            }
            mine = [
                name
                for name in (*makers, *followers)
                # A form that has no such setting has none to be asked for.
                if name in names and (name in makers or name not in told or not (name in was and name in now))
            ]
        grouped.append(_factor(factor, mine, was, now))
        names = [name for name in names if name not in mine]
    # The hash of a group of settings follows from which of them there are.
    groups = {name: f"{name.removesuffix(HASH)}." for name in names if name.endswith(HASH)}
    names = [
        name for name in names if name not in groups or _below(groups[name], was) == _below(groups[name], now)
    ]
    return (*grouped, *(_factor(name.split(".", 1)[-1], [name], was, now) for name in names))


def _below(place: str, fingerprint: JsonObject) -> set[str]:
    return {name for name in fingerprint if name.startswith(place)}


def grader_differences(baseline: ArmSettings, arm: ArmSettings) -> tuple[str, ...]:
    """Return the names of what differs in the graders' fingerprints, such as the version of a library."""
    was, now = baseline.fingerprint, arm.fingerprint
    names = sorted(name for name in was.keys() | now.keys() if name.startswith(GRADER))
    return tuple(name.removeprefix(GRADER) for name in names if was.get(name) != now.get(name))


def _factor(factor: str, names: list[str], was: JsonObject, now: JsonObject) -> Factor:
    return Factor(factor, {name: (was.get(name), now.get(name)) for name in names})


def _short(value: Json) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 24 else f"{text[:21]}..."

"""Where sampling settings come from: the command line, a file, or the model's author."""

from collections.abc import Mapping
from pathlib import Path

from rig.core.calls import Json, JsonObject
from rig.core.errors import RigError
from rig.core.files import read_text
from rig.core.paths import expanded
from rig.plugins.documents.documents import Foreign, json_of, parsed
from rig.plugins.llama.core.settings import GREEDY, EngineSettings, Sampling
from rig.plugins.llama.files.info import GgufInfo

LLAMA_CPP: JsonObject = {"temp": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}
"""What llama.cpp's programs use when neither the request nor the file says anything (common/common.h)."""

GENERATION_CONFIG = "generation_config.json"


class _GenerationConfig(Foreign):
    """The part of transformers' generation_config.json that is about sampling."""

    do_sample: bool | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None


def sampling_of(text: str, info: GgufInfo) -> Sampling:
    """Return what `--sampling` means for a model. Raises RigError if it means nothing."""
    where = f"--sampling {text}"
    if text == "greedy":
        return GREEDY
    if text == "author":
        sampling = author_of(info)
        if sampling is None:
            raise RigError(
                f"{where}: {info.path.name} does not say what its author recommends, and there is no"
                f" {GENERATION_CONFIG} beside it; give what the model card says, as temp=0.6,top_k=20"
            )
        return sampling
    return _of_info(info, LLAMA_CPP) if text == "llama.cpp" else _of_user(text)


def check_sampling(text: str) -> None:
    """Raise RigError for what means nothing to any model."""
    if text not in ("greedy", "author", "llama.cpp"):
        _of_user(text)


def _of_user(text: str) -> Sampling:
    """Return the settings that a user wrote, or those of the user's file."""
    where = f"--sampling {text}"
    if "=" in text and not expanded(text).exists():
        return _sampling(_values(text, where), where)
    path = expanded(text)
    if not path.is_file():
        raise RigError(
            f"{where}: no such file; give greedy, author, llama.cpp, a JSON file,"
            " or settings as temp=0.6,top_k=20"
        )
    return _from_file(path)


def sampling_for_server(settings: EngineSettings) -> Sampling | None:
    """Return how a server should choose tokens; None to let it decide. Raises RigError."""
    text = settings.sampling
    if text in ("author", "llama.cpp"):
        return None
    if text is None:
        return Sampling(temp=settings.temperature)
    return GREEDY if text == "greedy" else _of_user(text)


def author_of(info: GgufInfo) -> Sampling | None:
    """Return what the model's author recommends, in the GGUF file or beside it; None if neither has it.

    Raises RigError if these settings are not valid.
    """
    if info.sampling:
        return _of_info(info, {})
    beside = info.path.resolve().parent / GENERATION_CONFIG
    return _from_file(beside) if beside.is_file() else None


def _of_info(info: GgufInfo, otherwise: Mapping[str, Json]) -> Sampling:
    own = dict(info.sampling)
    if not own.get("mirostat"):  # written as 0 beside the others
        own = {name: value for name, value in own.items() if not name.startswith("mirostat")}
    return _sampling({**otherwise, **own}, info.path)


def _from_file(path: Path) -> Sampling:
    """Return the settings of a JSON file: transformers' generation_config.json, or one with rig's names."""
    value = json_of(read_text(path), str(path))
    if (isinstance(value, Mapping) and "transformers_version" in value) or path.name == GENERATION_CONFIG:
        config = parsed(_GenerationConfig, value, str(path), "a generation config")
        if config.do_sample is False:
            return GREEDY
        value = config.model_dump(exclude_none=True, exclude={"do_sample"})
    return _sampling(value, path)


def _sampling(values: Json, where: str | Path) -> Sampling:
    return parsed(Sampling, values, str(where), "settings of sampling")


def _values(text: str, where: str) -> dict[str, Json]:
    values: dict[str, Json] = {}
    for pair in text.split(","):
        name, separator, value = pair.partition("=")
        if not separator or name.strip() in values:
            raise RigError(f"{where}: {pair!r} is no setting, or there twice; give them as temp=0.6,top_k=20")
        values[name.strip()] = value.strip()
    return values

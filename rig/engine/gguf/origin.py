"""What a GGUF file that rig made says about its origin: its parent, and what it was before.

llama.cpp's quantizer writes it into the new file itself, so it goes wherever the file goes.
"""

from dataclasses import asdict, dataclass

from rig.calls import JsonObject
from rig.engine.gguf.header import Header

PREFIX = "rig.made_from."
_NEEDED = ("name", "sha256", "root_sha256", "quantizations")
_LEADS_TO = " > "
_LONGEST = 127
"""Bytes of a text that llama.cpp can be told to write."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The parent of a file: its name and SHA-256, and the SHA-256 of the file that everything began with.

    `quantizations` are those that its weights went through before, the first ancestor's first. `requantized`
    says that they were quantized already, so that what was lost then is lost here too. `adapters` were merged
    into the weights, the first first; the SHA-256 is the last one's.
    """

    name: str
    sha256: str
    root_sha256: str
    quantizations: tuple[str, ...]
    requantized: bool
    adapters: tuple[str, ...] = ()
    adapter_sha256: str = ""

    @classmethod
    def read(cls, header: Header) -> "Origin | None":
        """What a file says of itself; None if it says nothing, or only a part."""
        texts = {key: header.get(PREFIX + key, str) for key in (*_NEEDED, "adapters", "adapter_sha256")}
        requantized = header.get(PREFIX + "requantized", bool)
        if requantized is None or None in map(texts.get, _NEEDED):
            return None
        name, sha256, root, before, adapters, adapter_sha256 = (text or "" for text in texts.values())
        quantizations = tuple(before.split(_LEADS_TO))
        merged = tuple(filter(None, adapters.split(_LEADS_TO)))
        return cls(name, sha256, root, quantizations, requantized, merged, adapter_sha256)

    @property
    def note(self) -> str:
        """In words: `requantized from smollm2-135m (Q4_1)`."""
        verb = "requantized" if self.requantized else "quantized"
        merged = f", with {', '.join(self.adapters)} merged" if self.adapters else ""
        return f"{verb} from {self.name} ({_LEADS_TO.join(self.quantizations)}){merged}"

    def metadata(self) -> dict[str, str | bool]:
        """The keys and values to be written; long texts lose their beginning."""
        texts = [self.name, self.sha256, self.root_sha256, _LEADS_TO.join(self.quantizations)]
        named = dict(zip(_NEEDED, texts, strict=True))
        if self.adapters:
            named |= {"adapters": _LEADS_TO.join(self.adapters), "adapter_sha256": self.adapter_sha256}
        ends = {key: text.encode("utf-8", "replace")[-_LONGEST:] for key, text in named.items()}
        return {
            **{PREFIX + key: end.decode("utf-8", "ignore") for key, end in ends.items()},
            PREFIX + "requantized": self.requantized,
        }

    def as_json(self) -> JsonObject:
        """Every field by name, and the note."""
        return {
            **asdict(self),
            "quantizations": list(self.quantizations),
            "adapters": list(self.adapters),
            "note": self.note,
        }

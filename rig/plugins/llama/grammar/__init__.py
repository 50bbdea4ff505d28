"""Which tokens may come next: the arms of `--grammar`, and what enforces them."""

from importlib.metadata import version
from typing import TYPE_CHECKING

from rig.core.calls import JsonObject
from rig.plugins.llama.core.settings import EngineSettings
from rig.plugins.llama.grammar import patterns, schema
from rig.plugins.llama.grammar.language import BETWEEN_ITEMS, BETWEEN_KEY_AND_VALUE, FreeGrammar, Grammar

if TYPE_CHECKING:  # answer formats can be listed without loading a model library
    from rig.plugins.llama.core.llama import LlamaModel
    from rig.plugins.llama.core.tokenizer import Tokenizer


def make_grammar(model: "LlamaModel", tokenizer: "Tokenizer", settings: EngineSettings) -> Grammar:
    """Make the grammar for these settings."""
    if settings.grammar == "none":
        return FreeGrammar(tokenizer)
    from rig.plugins.llama.grammar.llguidance import LLGuidanceGrammar

    return LLGuidanceGrammar(model, tokenizer)


def remark(settings: EngineSettings) -> str:
    """Return what a person should know about the grammar before a run; empty for the default one."""
    if settings.grammar == "none":
        held = f"; nothing holds it to --tool-choice {settings.tool_choice}"
        return f"no grammar; answers are salvaged{held if settings.tool_choice != 'auto' else ''}"
    return "grammar strict: formats are enforced" if settings.grammar == "strict" else ""


def fingerprint(settings: EngineSettings, salvage_rules: str) -> JsonObject:
    """Return the part of the grammar that can change an answer, or the salvage rules without a grammar."""
    if settings.grammar == "none":
        return {"grammar": "none", "salvage_rules": salvage_rules}
    return {
        "grammar": settings.grammar,
        "grammar_rules": schema.RULES,
        **({"grammar_formats": patterns.version()} if settings.grammar == "strict" else {}),
        "grammar_engine": f"llguidance {version('llguidance')}",
        "grammar_front": f"outlines {version('outlines')}",
        "grammar_separators": [BETWEEN_ITEMS, BETWEEN_KEY_AND_VALUE],
    }

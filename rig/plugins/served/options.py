"""The options of servers."""

from dataclasses import dataclass

from rig.config.option import option


@dataclass(frozen=True, kw_only=True)
class ServerOptions:
    """How a server is spoken to."""

    dialect: str | None = option(
        None,
        "How the server is spoken to: llama-server, llama-cpp-python, ollama, lm-studio or vllm.",
        metavar="NAME",
        unset="found by asking it",
        verbs="judge",
        reader="engine",
        recorded="never",
    )
    timeout: float = option(
        600.0,
        "Give up on an answer of a server after N seconds.",
        metavar="N",
        more_than=0,
        most=86_400,
        verbs="judge",
        reader="engine",
        recorded="never",
    )
    thorough: bool = option(
        False,
        "Probe a server before a run for as long as it takes, instead of at most 20 s.",
        verbs="judge",
        reader="engine",
        recorded="never",
    )

from collections.abc import Callable, Iterator
from functools import cache

import pytest
import tiny_gguf
from native_known import NAMES, Known, Writer, known

from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.tokenizer import Tokenizer
from rig.plugins.llama.grammar.llguidance import LLGuidanceGrammar


@pytest.fixture(params=NAMES)
def each(request: pytest.FixtureRequest) -> Known:
    """Every template that calls can be written for."""
    return known(request.param)


@pytest.fixture(scope="session")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Writer]]:
    """Tiny models by their tokenizer and the special tokens that they have."""
    folder = tmp_path_factory.mktemp("native")
    opened: list[LlamaModel] = []

    @cache
    def open_(tokenizer: str = "bpe", marks: tuple[str, ...] = ()) -> Writer:
        path = folder / f"{len(opened)}.gguf"
        model = LlamaModel(tiny_gguf.write(path, tokenizer=tokenizer, marks=marks))
        opened.append(model)
        found = Tokenizer(model)
        return Writer(found, (LLGuidanceGrammar(model, found),))

    yield open_
    for model in opened:
        model.close()

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.plugins.llama.core.llama import LlamaModel
from rig.plugins.llama.core.tokenizer import Tokenizer


@pytest.fixture(scope="module", params=["bpe", "spm"])
def tokenizer(request: pytest.FixtureRequest, tiny_path: Callable[..., Path]) -> Iterator[Tokenizer]:
    model = LlamaModel(tiny_path(tokenizer=request.param))
    yield Tokenizer(model)
    model.close()


def joined(tokenizer: Tokenizer, tokens: list[int]) -> str:
    return b"".join(map(tokenizer.piece, tokens)).decode()


@given(text=st.text(max_size=80))
def test_content_survives_byte_for_byte(tokenizer: Tokenizer, text: str) -> None:
    assert joined(tokenizer, tokenizer.content(text)) == text


@pytest.mark.parametrize("special", ["<|im_end|>", "<end_of_turn>", "</s>", "<0x41>"])
def test_special_tokens_in_content_stay_text(tokenizer: Tokenizer, special: str) -> None:
    tokens = tokenizer.content(f"a{special}b")
    assert joined(tokenizer, tokens) == f"a{special}b"
    assert not set(tokens) & set(tokenizer.end_of_generation)


def test_special_tokens_of_the_template_are_recognised(tokenizer: Tokenizer) -> None:
    spelled = tokenizer.special_text(tokenizer.eos)
    assert tokenizer.template(spelled) == [tokenizer.eos]
    assert tokenizer.eos in tokenizer.end_of_generation


@given(data=st.data())
def test_a_long_text_has_the_tokens_of_its_pieces(tokenizer: Tokenizer, data: st.DataObject) -> None:
    specials = sorted(tokenizer.specials)
    bits = st.sampled_from(
        [*specials, *(text[:-1] for text in specials), "a", " the", " ", "\n", "é", "<", "|>"]
    )
    text = "".join(data.draw(st.lists(bits, max_size=60)))
    for special in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rig.plugins.llama.core.tokenizer.LONGEST_WHOLE", 0)
            patch.setattr("rig.plugins.llama.core.tokenizer._PIECE", 5)
            pieces = tokenizer._tokenize(text, special=special)
        assert pieces == tokenizer._tokenize(text, special=special)


def test_many_special_tokens_are_tokenised_in_a_moment(tokenizer: Tokenizer) -> None:
    """llama.cpp alone takes hours and any amount of memory for as many."""
    mark = tokenizer.special_text(tokenizer.eos)
    started = time.process_time()
    assert tokenizer.template(mark * 390_000) == [tokenizer.eos] * 390_000
    assert time.process_time() - started < 20


def test_sentencepiece_content_gets_no_space_of_its_own(tiny_path: Callable[..., Path]) -> None:
    model = LlamaModel(tiny_path(tokenizer="spm"))
    tokenizer = Tokenizer(model)
    assert tokenizer.piece(tokenizer.content("the alarm")[0]) == b"the"
    model.close()


def test_a_missing_token_has_no_text(tokenizer: Tokenizer) -> None:
    assert tokenizer.special_text(-1) == ""


@pytest.mark.model
def test_the_real_tokenizer_agrees(smollm2: Path) -> None:
    model = LlamaModel(smollm2)
    tokenizer = Tokenizer(model)
    text: Any = "Zażółć 😀 <|im_end|> 12:30"
    assert joined(tokenizer, tokenizer.content(text)) == text
    assert tokenizer.template("<|im_end|>\n")[0] == tokenizer.eos
    model.close()

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.world.world import decode, encode, encode_name, key

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None))
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def spelled(value: Any) -> str:
    """A text that tells 1, 1.0 and true apart."""
    return json.dumps(value)


@given(values)
def test_decoding_gives_back_what_was_encoded(value: Any) -> None:
    assert spelled(decode(encode(value))) == spelled(value)
    assert spelled(decode(encode_name(value))) == spelled(value)


@given(values, values)
def test_different_values_are_stored_differently(one: Any, other: Any) -> None:
    assert (encode(one) == encode(other)) == (spelled(one) == spelled(other))


@pytest.mark.parametrize("text", ["", "null", "5", '"x"', "\x00", "naïve 😀"])
def test_text_is_stored_as_it_is(text: str) -> None:
    assert encode(text) == text


def test_half_a_surrogate_pair_is_stored_all_the_same() -> None:
    assert decode(encode("\ud800")) == "\ud800"


@given(scalars, scalars)
def test_keys_are_equal_where_python_finds_them_equal(one: Any, other: Any) -> None:
    assert (key(one) == key(other)) == (one in {other: None} or spelled(one) == spelled(other))


@pytest.mark.parametrize("name", [1, 1.0, True])
def test_numbers_and_truth_values_share_a_key(name: Any) -> None:
    assert key(name) == key(1)


@pytest.mark.parametrize("name", [[], {}, ["x"]])
def test_lists_and_objects_cannot_be_keys(name: Any) -> None:
    with pytest.raises(TypeError):
        key(name)

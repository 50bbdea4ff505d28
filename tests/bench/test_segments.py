from collections.abc import Sequence
from itertools import accumulate, combinations

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.engine.render import cut

PROMPTS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=9), min_size=1, max_size=6)


def shared(left: Sequence[int], right: Sequence[int]) -> int:
    length = 0
    while length < min(len(left), len(right)) and left[length] == right[length]:
        length += 1
    return length


@given(PROMPTS)
def test_prompts_are_cut_where_any_two_of_them_part(prompts: list[list[int]]) -> None:
    segments = cut(prompts)
    assert [[token for part in parts for token in part] for parts in segments] == prompts
    assert all(part for parts in segments for part in parts)
    edges = [{0, *accumulate(map(len, parts))} for parts in segments]
    for one, other in combinations(range(len(prompts)), 2):
        length = shared(prompts[one], prompts[other])
        assert length in edges[one]
        assert length in edges[other]
        # Up to there both are cut alike, so what the one left in the cache is found by the other.
        assert {at for at in edges[one] if at <= length} == {at for at in edges[other] if at <= length}


@given(PROMPTS)
def test_the_last_token_stands_alone(prompts: list[list[int]]) -> None:
    assert all(len(parts[-1]) == 1 for parts in cut(prompts))


def test_one_prompt_alone() -> None:
    assert cut([[5, 6, 7]]) == [((5, 6), (7,))]
    assert cut([[5]]) == [((5,),)]
    assert cut([[5, 6], [5, 6]]) == [((5,), (6,))] * 2

"""Text on its way to the screen: made inert, tinted, wrapped."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from rig.show.texts import clip, clip_json
from tui.text.lines import Flow, JsonTint, Tint, fit, inert, inert_line, spread, tint_json, width_of, wrap

anything = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines", "two\nlines"),
        ("\x1b[31mred\x1b[0m", "\\e[31mred\\e[0m"),
        ("bell\x07, tab\t, return\r", "bell\\x07, tab\\t, return\\r"),
        ("a\u202eb", "a\\u202eb"),
        ("\u200d\ufe0f", "\\u200d\\ufe0f"),
        ("half \ud800 pair", "half \\ud800 pair"),
        ("[bold red]not markup[/]", "[bold red]not markup[/]"),
        ("日本語 ok", "日本語 ok"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_hidden_characters_become_visible(text: str, shown: str) -> None:
    assert inert(text) == shown


@given(anything)
def test_nothing_inert_steers_a_terminal(text: str) -> None:
    shown = inert(text)
    assert not [c for c in shown if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert "\n" not in inert_line(text)
    shown.encode()


@given(anything, st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap([(inert(text), Tint.PLAIN)], width)
    assert all(width_of(line) <= width for line in lines)
    joined = "".join(part for line in lines for part, _ in line)
    assert joined.replace(" ", "") == inert(text).replace("\n", "").replace(" ", "")


@given(anything, st.integers(2, 40), st.integers(1, 9))
def test_text_that_comes_in_pieces_is_wrapped_as_if_it_came_whole(text: str, width: int, size: int) -> None:
    flow = Flow(width)
    for start in range(0, len(text), size):
        flow.feed([(inert(text[start : start + size]), Tint.PLAIN)])
    assert flow.lines == wrap([(inert(text), Tint.PLAIN)], width)


def test_lines_break_at_words_and_long_words_anywhere() -> None:
    assert [line[0][0] for line in wrap([("to be or not to be", Tint.PLAIN)], 9)] == ["to be or", "not to be"]
    assert [line[0][0] for line in wrap([("a" * 20, Tint.PLAIN)], 8)] == ["a" * 8, "a" * 8, "a" * 4]
    assert [line[0][0] for line in wrap([("日本語の", Tint.PLAIN)], 5)] == ["日本", "語の"]


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_tinting_keeps_every_character(value: object) -> None:
    text = json.dumps(value)
    assert "".join(part for part, _ in tint_json(text)) == text


@given(anything)
def test_tinting_takes_what_is_no_json(text: str) -> None:
    assert "".join(part for part, _ in tint_json(text)) == text


def tints(spans: list[tuple[str, Tint]]) -> list[tuple[str, Tint]]:
    return [(character, tint) for text, tint in spans for character in text]


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), st.integers(1, 5))
def test_json_in_pieces_has_the_tints_of_the_whole(value: object, size: int) -> None:
    text = json.dumps(value, ensure_ascii=False)
    tint = JsonTint()
    spans = [span for start in range(0, len(text), size) for span in tint.feed(text[start : start + size])]
    # A number or a word cut in two is two spans of one tint.
    assert tints(spans) == tints(tint_json(text))


def test_keys_and_values_are_told_apart() -> None:
    spans = tint_json('{"a": "b", "c": ["d", {"e": 1}], "f\\"g": true}')
    assert [text for text, tint in spans if tint is Tint.KEY] == [
        *('"', "a", '"', '"', "c", '"', '"', "e", '"'),
        *('"', "f", "\\", '"', "g", '"'),
    ]
    assert [text for text, tint in spans if tint is Tint.NUMBER] == ["1", "true"]


@given(st.lists(st.tuples(anything.map(inert_line), st.sampled_from(Tint))), st.integers(0, 60))
def test_fitted_lines_fit(line: list[tuple[str, Tint]], width: int) -> None:
    assert width_of(fit(line, width)) <= width
    assert width_of(spread(line, line, width)) <= max(width, 0)


def test_clips_say_what_they_left_out() -> None:
    assert clip("abc", 3).omitted == 0
    assert (clip("abcdef", 4).text, clip("abcdef", 4).omitted) == ("abcd", 2)
    assert clip_json({"a": "ü"}).text == '{"a": "ü"}'
    assert cell_len(clip_json("x" * 10_000, 20).text) == 20

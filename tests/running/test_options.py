"""The table of options, and what is made of it: stored JSON, labels of arms, settings of the engine."""

from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.cli.options import click_option
from rig.config.engine import EngineOptions
from rig.config.option import GROUPS, Option
from rig.config.options import OF_ENGINE, TABLE, engine_fingerprint
from rig.running.planning import Options

NAMES = [name for name in TABLE if name not in ("models", "lora", "role", "similarity")]
"""Options whose values are stored as they are, and not as files or models."""


def _values(option: Option) -> st.SearchStrategy[Any]:
    if option.choices:
        one: st.SearchStrategy[Any] = st.sampled_from(option.choices)
    elif option.kind is bool:
        one = st.booleans()
    elif option.kind is int:
        one = st.integers(int(option.least or 0), int(option.most or 10_000))
    elif option.kind is float:
        one = st.floats(0, 100)
    elif option.kind is Path:
        one = st.sampled_from([Path("/tmp/a"), Path("/b")])
    else:
        one = st.text("abcxyz", min_size=1)
    return st.lists(one, min_size=1, unique=True).map(tuple) if option.several or option.listed else one


@given(st.fixed_dictionaries({}, optional={name: _values(TABLE[name]) for name in NAMES}))
def test_what_is_stored_is_what_was_asked_for(values: dict[str, Any]) -> None:
    options = Options(**values)
    stored = options.as_json(())
    assert Options.from_json(stored) == options
    assert stored.keys() == TABLE.keys()
    changed = {name for name in TABLE if options.is_changed(name)}
    assert changed == {name for name in values if values[name] != TABLE[name].start}


@pytest.mark.parametrize("option", TABLE.values(), ids=lambda option: option.name)
def test_an_option_of_the_table_is_whole(option: Option) -> None:
    if not option.help:
        assert option.name in ("models", "noise", "whole_prompt")
        return
    assert option.group in GROUPS
    assert option.help.endswith((".", "*"))
    if option.choices and option.default not in (None, ()):
        assert option.default in option.choices
    parsed = click_option(option)
    assert isinstance(parsed, click.Option)
    context = click.Context(click.Command("verb"))
    # Several values in one text are one after the callback.
    read = parsed.process_value if option.commas else parsed.type_cast_value
    assert read(context, option.start) == option.start


def test_every_option_of_the_engine_is_in_its_settings() -> None:
    assert {option.field for option in OF_ENGINE.values()} == set(EngineOptions.__dataclass_fields__)
    [settings] = Options(flash_attention="on", kv=("q8_0",), threads=3).engines().values()
    assert (settings.flash_attention, settings.kv_type, settings.n_threads) == (True, "q8_0", 3)
    assert engine_fingerprint(settings)["kv_type"] == "q8_0"


def test_what_is_no_option_is_refused() -> None:
    with pytest.raises(TypeError, match="no option is called colour"):
        Options(colour="red")
    with pytest.raises(AttributeError):
        _ = Options().colour

"""The table of options, and what is made of it: stored JSON, labels of arms, settings of the engine."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.cli.options import click_option
from rig.config.option import Option
from rig.config.options import TABLE, RunConfig
from rig.core.errors import RigError
from rig.plugins.llama.core.options import AUTO, OF_ENGINE, EngineOptions, engine_fingerprint
from rig.running.planning import config_of, recipe_of

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
        one = st.floats(option.least or 0.5, min(option.most or 100, 100))
    elif option.kind is Path:
        one = st.sampled_from([Path("/tmp/a"), Path("/b")])
    else:
        one = st.text("abcxyz", min_size=1)
    return st.lists(one, min_size=1, unique=True).map(tuple) if option.several or option.listed else one


@given(st.fixed_dictionaries({}, optional={name: _values(TABLE[name]) for name in NAMES}))
def test_what_is_stored_is_what_was_asked_for(values: dict[str, Any]) -> None:
    config = RunConfig.of(**values)
    stored = recipe_of(config, ())
    assert config_of(json.loads(json.dumps(stored))) == config
    assert stored.keys() == TABLE.keys()
    changed = {name for name in TABLE if config.is_changed(name)}
    assert changed == {name for name in values if TABLE[name].read(values[name]) != TABLE[name].start}


@pytest.mark.parametrize("option", TABLE.values(), ids=lambda option: option.name)
def test_an_option_of_the_table_is_whole(option: Option) -> None:
    if not option.help:
        assert option.name in ("models", "noise", "whole_prompt")
        return
    assert option.title
    assert option.help.endswith((".", "*"))
    if option.choices and option.default not in (None, ()):
        assert option.default in option.choices
    parsed = click_option(option)
    assert isinstance(parsed, click.Option)
    assert parsed.is_flag is (option.kind is bool and not option.choices)
    context = click.Context(click.Command("verb"))
    words = tuple(map(option.word, option.start))
    read = parsed.type_cast_value(context, words if parsed.multiple else words[0])
    assert option.read(read) == option.start


def test_every_option_of_the_engine_is_in_its_settings() -> None:
    assert {option.field for option in OF_ENGINE.values()} == set(EngineOptions.__dataclass_fields__)
    settings = RunConfig.of(flash_attention="on", kv="q8_0", threads=3).part(EngineOptions)
    assert (settings.flash_attention, settings.kv_type, settings.n_threads) == (True, "q8_0", 3)
    assert engine_fingerprint(settings)["kv_type"] == "q8_0"


def test_what_is_no_option_is_refused() -> None:
    with pytest.raises(RigError, match="no option 'colour'"):
        RunConfig.of(colour="red")


def test_an_option_that_makes_arms_is_its_first_value_with_the_levels_beside_it() -> None:
    config = RunConfig.of(temperature=[0, 0.7, 0.7], docs="names", flash_attention=True)
    llama = config.part(EngineOptions)
    assert (llama.temperature, config.docs, llama.flash_attention) == (0.0, "names", True)
    assert config.levels == {"temperature": (0.0, 0.7)}
    arms = {label: config.replace(**values) for label, values in config.combinations("engine").items()}
    assert {label: arm.part(EngineOptions).temperature for label, arm in arms.items()} == {
        "temperature=0": 0.0,
        "temperature=0.7": 0.7,
    }
    assert not any(arm.levels for arm in arms.values())


def test_a_copy_keeps_what_words_mean_which_nobody_can_give_as_such() -> None:
    config = RunConfig.of(n_ctx="auto")
    assert config.part(EngineOptions).n_ctx == AUTO
    assert config.replace(seed=1).part(EngineOptions).n_ctx == AUTO
    with pytest.raises(RigError, match="n_ctx takes a whole number from 1 on or auto, not 0"):
        RunConfig.of(n_ctx=AUTO)

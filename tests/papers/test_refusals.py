"""What a paper does not have is refused in a line that says so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rig.core.errors import RigError
from rig.plugins.papers.paper import Paper, of_method


@pytest.mark.parametrize(
    "ask",
    [
        lambda paper: paper.recorded([], None, {}),
        lambda paper: paper.convert([], Path(), None),
        lambda paper: paper.tables([]),
        lambda paper: paper.predictions(None, Path("place"), "toy"),
        lambda paper: paper.record(None, {}, None, None),
        lambda paper: paper.export([], Path()),
    ],
)
def test_what_a_paper_has_not_is_refused_in_a_line(ask: Callable[[Paper], object]) -> None:
    with pytest.raises(RigError, match=r"toy|place") as refused:
        ask(of_method("toy"))
    assert "\n" not in str(refused.value)

"""What holds of every world: a snapshot is all of it, and whatever happens can be undone."""

import tracemalloc
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.world import World
from rig.world.world import Snapshots, hexadecimal

IDS = hexadecimal(2, 4)


class Shelf(World):
    schema: ClassVar[str] = "CREATE TABLE books (title TEXT PRIMARY KEY NOT NULL);\n"


ACTS = st.one_of(
    st.tuples(st.just("clock"), st.datetimes()),
    st.tuples(st.just("token"), st.none() | st.text(st.characters(codec="utf-8"), max_size=5)),
    st.tuples(st.just("draw"), st.sampled_from(["a", "b"])),
    st.tuples(st.just("book"), st.text(st.characters(codec="utf-8"), max_size=5)),
)


def act(world: World, acts: list[tuple[str, Any]]) -> list[str]:
    drawn = []
    for kind, value in acts:
        match kind:
            case "clock":
                world.set_clock(value)
            case "token":
                world.set_session_token(value)
            case "draw":
                drawn.append(world.draw(value, IDS))
            case "book":
                world.database.execute("INSERT OR IGNORE INTO books VALUES (?)", [value])
    return drawn


@settings(deadline=None)
@given(st.lists(ACTS, max_size=6), st.lists(ACTS, max_size=6))
def test_restoring_undoes_everything_and_all_goes_on_alike(before: list[Any], after: list[Any]) -> None:
    world, other = Shelf(), Shelf()
    act(world, before)
    snapshot, dump = world.snapshot(), world.dump()
    drawn = act(world, after)
    end = world.sha256()
    world.restore(snapshot)
    assert (world.dump(), world.snapshot()) == (dump, snapshot)
    other.restore(snapshot)
    assert act(other, after) == act(world, after) == drawn
    assert world.sha256() == other.sha256() == end


@settings(deadline=None)
@given(st.lists(ACTS, max_size=6), st.lists(ACTS, min_size=1, max_size=6))
def test_a_failed_block_leaves_no_trace(before: list[Any], within: list[Any]) -> None:
    world = Shelf()
    act(world, before)
    dump = world.dump()

    def fail() -> None:
        with world.atomic():
            act(world, within)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert world.dump() == dump


def test_a_world_without_tables_of_its_own(tmp_path: Path) -> None:
    world = World()
    world.begin(datetime.fromisoformat("2024-03-05 09:00:00"), "anybody", {"session_token": "t"})
    assert (world.now.year, world.session_token, world.username) == (2024, "t", None)
    (tmp_path / "world.sqlite").write_bytes(world.snapshot().image)
    assert World.open(tmp_path / "world.sqlite").dump() == world.dump()
    with pytest.raises(RigError, match="not a world of this version"):
        Shelf.open(tmp_path / "world.sqlite")


def test_many_snapshots_of_a_world_share_what_did_not_change() -> None:
    world, kept, images = Shelf(), Snapshots(), []
    world.database["books"].insert_all({"title": f"{number:0500}"} for number in range(400))
    tracemalloc.start()
    for number in range(300):
        world.database.execute("INSERT INTO books VALUES (?)", [f"book {number}"])
        snapshot = world.snapshot()
        assert kept.add(snapshot) == kept.add(snapshot) == number
        images.append(sha256(snapshot.image).digest())
        size = len(snapshot.image)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 0.2 * 300 * size
    assert [sha256(kept[number].image).digest() for number in range(300)] == images

"""What a person is shown of two texts that are not clear."""

from rig.plugins.text.judge import marked


def test_clauses_are_shown_side_by_side_with_what_remains_in_brackets() -> None:
    assert marked("water the ferns", "water the ferns by mistake") == [
        ("water the ferns", "water the ferns [by] [mistake]")
    ]


def test_what_is_the_same_is_not_shown() -> None:
    clauses = marked("The pier is lit. Bring rope.", "Bring rope. The pier might be lit.")
    assert [other for _, other in clauses] == ["The pier [might] [be] lit."]

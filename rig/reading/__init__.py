"""English as rig reads it: clauses of words, and what they state as facts, as typed values.

The grader of free text, the facts of queries and the scripted user all use this one reading.
"""

from rig.reading.claims import facts, is_denied, names, states, yes_or_no
from rig.reading.clauses import Atom, Clause, ReadText, read_text
from rig.reading.facts import Fact, Sort

__all__ = [
    "Atom",
    "Clause",
    "Fact",
    "ReadText",
    "Sort",
    "facts",
    "is_denied",
    "names",
    "read_text",
    "states",
    "yes_or_no",
]

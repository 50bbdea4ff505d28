"""English as rig reads it: clauses of words, and what they state as facts, as typed values.

The grader of free text, the facts of queries and the scripted user all use this one reading.
"""

"""Free text: words, clauses, the facts they state, and whether two texts mean the same."""

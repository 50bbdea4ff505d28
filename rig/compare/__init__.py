"""Compare arms of stored runs: rates, differences, what flipped, and what can be concluded."""

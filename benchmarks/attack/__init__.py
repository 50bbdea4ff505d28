"""Campaigns: hostile inputs from a seed, and what must hold for each. docs/lab/reliability.md has the counts.

    python -m benchmarks.attack.calls --seed 7 --count 1000

The last line is JSON: how many cases there were, how each ended, and those that did not end as they may. The
exit code is 1 if there were any. The same seed gives the same cases.
"""

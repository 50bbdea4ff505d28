"""Judges over finished answers: whether they pass, which of two wins, and how far a judge can be trusted."""

from typing import Any


def register(registry: Any) -> None:
    """Offer judging as two methods (`rig.plugins`)."""
    from rig.judging.method import JudgePass, JudgeWin
    from rig.methods.base import Method

    methods: tuple[Method, ...] = (JudgePass(), JudgeWin())
    for method in methods:
        registry.add_method(method)

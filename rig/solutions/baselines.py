"""What can be said about a solution without a judge: words of apology, and how much its path achieved.

Sources: upstream's `pass_rate.py` (until September 2023), and the detail score of its normalized evaluator.
A call succeeded if its tool reported no error; upstream asks a judge for that number.
"""

import json
from math import log

from rig.calls import Json
from rig.solutions.solution import FINISH, Solution

APOLOGIES = ("sorry", "apologize", "apology", "unfortunately", "couldn't")
"""If any of these is in an answer, in any case, the answer fails by the keyword rule."""


def keyword_pass(solution: Solution) -> bool:
    """Whether a solution ends with an answer that has no word of apology."""
    words = solution.final_answer.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    is_answer = solution.is_finished and solution.final == "answer"
    return is_answer and not any(word in words for word in APOLOGIES)


def without_judge(solution: Solution | None) -> dict[str, float]:
    """What is counted of an answer that nobody has judged."""
    if solution is None:
        return {"answered": 0, "finished": 0}
    return {
        "answered": 1,
        "finished": int(solution.is_finished and solution.final == "answer"),
        "keyword_passes": int(keyword_pass(solution)),
        "detail_score": detail_score(solution),
        "invented": int(bool(solution.invented)),
        "steps": solution.total_steps,
    }


def detail_score(solution: Solution) -> float:
    """10 for a call that succeeded, 5 for each tool used, less 5 times the logarithm of the steps."""
    calls = [call for node in solution.steps if (call := node.call) is not None and call.name != FINISH]
    succeeded = sum(is_success(call.response) for call in calls)
    return score_of(succeeded, len({call.name for call in calls}), solution.total_steps)


def score_of(succeeded: float, tools: float, steps: int) -> float:
    """The detail score of these numbers; `steps` is the number of all nodes."""
    return -100000.0 if steps <= 0 else 10 * succeeded + 5 * tools - 5 * log(steps)


def is_success(response: str) -> bool:
    """Whether a tool reported no error."""
    try:
        answer: Json = json.loads(response)
    except (ValueError, RecursionError):
        return bool(response)
    return not (isinstance(answer, dict) and answer.get("error"))

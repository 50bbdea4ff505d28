"""The looks at arms after every conversation, as text."""

from rig.compare import SequentialComparison


def looks_text(looks: SequentialComparison) -> str:
    """What was found of each arm, and between what its loss lies."""
    each_end = f"each end of an interval is wrong with a chance of at most {100 * looks.alpha:g}%"
    shared = f" for all {len(looks.arms)} arms together" if len(looks.arms) > 1 else ""
    lines = [
        f"baseline {looks.baseline}, graded by {looks.grader}",
        f"looking after every conversation costs nothing: {each_end}{shared}, however often one looks",
        *looks.notes,
        "",
    ]
    for arm in looks.arms:
        lines.append(f"{arm.arm}: {arm.judged.text}")
        lines += [f"  {arm.note}"] if arm.note else []
        if arm.suite:
            lines.append(f"  {arm.suite.bounds} points in this suite")
        lines.append(f"  {arm.alike.bounds} points in conversations like these")
    return "\n".join(lines)

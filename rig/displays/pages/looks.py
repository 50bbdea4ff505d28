"""The looks at arms after every conversation, as text."""

from rig.compare import Looks


def looks_text(looks: Looks) -> str:
    """What was found of each arm, and between what its loss lies."""
    each_end = f"each end of an interval is wrong with a chance of at most {100 * looks.alpha:g}%"
    shared = f" for all {len(looks.arms)} arms together" if len(looks.arms) > 1 else ""
    lines = [
        f"baseline {looks.baseline}, graded by {looks.grader}",
        f"looking after every conversation costs nothing: {each_end}{shared}, however often one looks",
        *looks.notes,
        "",
    ]
    for each in looks.arms:
        lines.append(f"{each.arm}: {each.judged.text}")
        lines += [f"  {each.note}"] if each.note else []
        if each.suite:
            lines.append(f"  {each.suite.bounds} points in this suite")
        lines.append(f"  {each.alike.bounds} points in conversations like these")
    return "\n".join(lines)

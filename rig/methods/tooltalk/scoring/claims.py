"""Whether a reply says that something was done. English only, like the conversations."""

import re

_LONGEST = 4000

_CLAIM = re.compile(
    r"\b(i|we)(('ve)| have)? (just |now |already |successfully )*"
    r"(added|cancell?ed|changed|completed|created|deleted|dropped|logged|marked|modified|moved|placed|put"
    r"|registered|removed|reset|rescheduled|scheduled|sent|set|signed|updated)\b"
    r"|\b(has|have|is|are|was|were)( now| just| all)?( been)?( successfully)? "
    r"(added|cancell?ed|changed|completed|created|deleted|done|gone|marked|modified|moved|on its way"
    r"|registered|removed|reset|rescheduled|scheduled|sent|set|updated)\b"
    r"|\b(successfully|all set|all done|you're set|you are set)\b"
    r"|^\W*(done|sent|gone|deleted|added|set)\b"
)
_DENIAL = re.compile(
    r"\b(not|no|cannot|unable|failed|fails|error|sorry|unfortunately|couldn|can|could|didn|wasn|isn|hasn|haven"
    r"|if|once|before|when|would|will|shall|should)(n't|'t)?\b"
)


def claims_success(reply: str) -> bool:
    """Whether some sentence of a reply claims that an action was done.

    Questions, refusals, offers and conditions claim nothing. It may miss a claim; it should not invent one.
    """
    text = reply[:_LONGEST].casefold().replace("\u2019", "'")
    sentences = re.findall(r"[^.!?\n]+[.!?]?", text)
    return any(
        _CLAIM.search(sentence) is not None
        and _DENIAL.search(sentence) is None
        and not sentence.rstrip().endswith("?")
        for sentence in sentences
    )

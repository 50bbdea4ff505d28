"""Whether a text is an expression of Java or JavaScript: operands and operators take turns.

BFCL's reader parses the language and takes nothing with a fault in it, such as `value=John Doe`. This one
knows no grammar but that of expressions; bodies of functions and of classes are not looked into.
"""

import re

STRING = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""

_NUMBER = (
    r"(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+"
    r"|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)[lLfFdDn]?(?![\w$])"
)
_OPERATOR = (
    r">>>=|\.\.\.|===|!==|>>>|\*\*=|<<=|>>=|&&=|\|\|=|\?\?=|=>|->|::|\?\.|\?\?|&&|\|\||\*\*|\+\+|--|<<|>>"
    r"|[-+*/%&|^=!<>]=|[-+*/%&|^~!<>=?:.,]"
)
_TOKEN = re.compile(
    rf"\s*(?:(?P<string>{STRING})|(?P<number>{_NUMBER})|(?P<word>[^\W\d][\w$]*|\$[\w$]*)"
    rf"|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<operator>{_OPERATOR}))",
    re.DOTALL,
)
_REGEX = re.compile(r"\s*/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_TYPE_ARGUMENTS = re.compile(r"(?<=[\w>])\s*<[\w\s,.?<>\[\]&]*>(?=\s*(?:[(\[{,)>:]|$))")
_CAST = re.compile(r"\(\s*[A-Za-z_][\w.]*(?:\s*\[\s*\])*\s*\)")
_PREFIXES = {"+", "-", "!", "~", "++", "--", "..."}
_PREFIX_WORDS = {"new", "typeof", "void", "delete", "await", "async", "function", "yield"}
_BINARY_WORDS = {"instanceof", "in"}


def is_expression(text: str, language: str) -> bool:
    """Whether a text, whose brackets match, is an expression of the language."""
    is_java = language == "java"
    if is_java:
        text = _TYPE_ARGUMENTS.sub("", text)
    place, last, expects, opened = 0, "", True, list[str]()
    choices = [0]  # of each bracket that is open, how many `?` still wait for their `:`
    while text[place:].strip():
        regex = _REGEX.match(text, place) if expects and not is_java else None
        token = regex or _TOKEN.match(text, place)
        if token is None:
            return False
        start, place, symbol = token.start(), token.end(), token[0].strip()
        kind = "string" if regex else token.lastgroup
        innermost = opened[-1] if opened else ""
        is_member = innermost == "{" and not is_java
        if kind in ("string", "number") or (kind == "word" and symbol not in _BINARY_WORDS | _PREFIX_WORDS):
            if not expects and not _is_cast(text, start):
                return False
            expects = False
        elif kind == "word" and symbol in _PREFIX_WORDS:
            if not expects and not _is_cast(text, start):
                return False
            expects = last != "::"
        elif kind == "open":
            if symbol == "{" and last in (")", "=>", "->"):
                place, expects, last = _after_body(text, place), False, "}"
                continue
            if is_java and expects and (symbol == "[" or (symbol == "{" and innermost != "{")):
                return False  # Java has no lists but those behind `new`
            opened.append(symbol)
            choices.append(0)
            expects = True
        elif kind == "close":
            if (expects and last not in (*"([{", ",")) or choices.pop():
                return False
            opened = opened[:-1]
            expects = False
        elif (symbol in _PREFIXES and expects) or symbol in ("++", "--"):
            pass
        elif symbol == "," and innermost == "[" and last in ("[", ",") and not is_java:
            pass  # an element that is left out
        elif expects or (symbol == "," and not opened) or (symbol == ":" and not (choices[-1] or is_member)):
            return False
        else:
            choices[-1] += {"?": 1, ":": -1 if choices[-1] else 0}.get(symbol, 0)
            expects = True
        last = symbol
    return not expects and not any(choices)


def _is_cast(text: str, place: int) -> bool:
    """Whether a type in brackets stands before a place."""
    start = text.rfind("(", 0, place)
    return start >= 0 and _CAST.fullmatch(text[start:place].strip()) is not None


def _after_body(text: str, place: int) -> int:
    """The place behind the `}` of a body that was opened before."""
    depth = 1
    for token in re.compile(rf"{STRING}|[{{}}]", re.DOTALL).finditer(text, place):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if not depth:
            return token.end()
    return len(text)

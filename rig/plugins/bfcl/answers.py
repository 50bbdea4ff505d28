"""Reading answers as calls: a model's own, and those in BFCL's result files, from any of its handlers.

BFCL's reader parses Java and JavaScript, and rejects texts with a fault, such as `value=John Doe`. This
one only knows the grammar of expressions, and skips the bodies of functions and classes.
"""

import ast
import math
import operator
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rig.core.budget import parse_json
from rig.core.calls import Call, Json, JsonObject
from rig.plugins.bfcl.data import AS_TEXT, BfclSettings, SingleTurnEntry, tools_of
from rig.plugins.bfcl.forms import TAGS, PromptForm

LONGEST = 200_000
"""The most characters of an answer that is read."""


_UNREADABLE = (SyntaxError, ValueError, TypeError, AttributeError, RecursionError, MemoryError)
"""What reading a text as Python can raise."""


class Undecodable(ValueError):
    """Raised for an answer without calls in a known form."""


def output_of(calls: Sequence[Call], entry: SingleTurnEntry, settings: BfclSettings) -> list[dict[str, Any]]:
    """Return a model's calls in BFCL's form, with objects that were requested as texts parsed."""
    if settings.prompt_form is not None:  # nothing was
        return [{call.name: call.arguments} for call in calls]
    tools = tools_of(entry.functions, entry.language, settings)
    declared = {tool.name: tool.parameters["properties"] for tool in tools}
    output: list[dict[str, Any]] = []
    for call in calls:
        arguments, properties = call.arguments, declared.get(call.name, {})
        if isinstance(arguments, dict):
            arguments = {name: _object(value, properties.get(name, {})) for name, value in arguments.items()}
        output.append({call.name: arguments})
    return output


def _object(value: Json, declared: JsonObject) -> Any:
    if not isinstance(value, str) or not declared.get("description", "").endswith(AS_TEXT):
        return value
    try:
        whole = parse_json(value)
    except (ValueError, RecursionError):
        return value
    return whole if isinstance(whole, dict) else value


def decode(result: Json, language: str = "python") -> Json:
    """Return the calls in a line of results: a text with calls, or objects of functions and arguments.

    Texts are in the `language` of the functions. Raises Undecodable for anything else.
    """
    if isinstance(result, str):
        text = _bracketed(result)
        return _python(text) if language == "python" else _other(text, language)
    if isinstance(result, dict):
        result = [result]
    if not isinstance(result, list):
        raise Undecodable("neither a text nor a list of calls")
    if not all(isinstance(call, dict) for call in result):
        raise Undecodable("a call is no object")
    try:
        return [
            {name: parse_json(part) if isinstance(part, str) else part for name, part in call.items()}
            for call in result
        ]
    except (ValueError, RecursionError) as error:
        raise Undecodable(f"arguments that are no JSON: {error}") from error


def decode_form(text: str, form: PromptForm) -> Json:
    """Return the calls in a text that was requested in a form. Raises Undecodable."""
    text = _bracketed(text)
    if all(form.tags):
        text = _between(text, *TAGS)[len(TAGS[0]) : -len(TAGS[1])].strip()
    try:
        match form.returns:
            case "python":
                return _python(text)
            case "json":
                return _json_calls(text)
            case returns:
                return _xml_calls(_between(text, "<functions>", "</functions>"), returns == "verbose_xml")
    except (*_UNREADABLE, LookupError) as e:
        raise Undecodable(f"not in the form: {type(e).__name__}: {str(e)[:200]}") from e


def _bracketed(text: str) -> str:
    """Return any text in the brackets of a list, which is how BFCL's own readers begin."""
    if len(text) > LONGEST:
        raise Undecodable("too long")
    text = text.strip("`\n ")
    return ("" if text.startswith("[") else "[") + text + ("" if text.endswith("]") else "]")


def _between(text: str, opening: str, closing: str) -> str:
    """Return the first part of a text from one mark to the other, with both. Raises Undecodable."""
    start = text.find(opening)
    end = text.find(closing, start + len(opening))
    if start < 0 or end < 0:
        raise Undecodable(f"no {opening} with {closing}")
    return text[start : end + len(closing)]


def _json_calls(text: str) -> list[dict[str, Any]]:
    """Read calls from a list of objects, which ends where a bracket first follows an object, as upstream.

    A list of objects among the arguments therefore cannot be read, and the result has no calls.
    """
    start, end = text.find("["), text.rfind("]")
    text = text[start : end + 1] if 0 <= start < end else text
    if (first := _LIST_OF_OBJECTS.search(text)) and (last := _END_OF_OBJECTS.search(text, first.end())):
        text = text[first.start() : last.end()]
    try:
        listed = parse_json(text)
    except ValueError:
        return []
    return [{call["function"]: call["parameters"]} for call in listed if isinstance(call, dict)]


_LIST_OF_OBJECTS, _END_OF_OBJECTS = re.compile(r"\[\s*\{"), re.compile(r"\}\s*\]")


def _xml_calls(text: str, is_verbose: bool) -> list[dict[str, Any]]:
    """Read calls from XML elements. A text holds no declarations, so no entity can expand."""
    calls = []
    for function in ElementTree.fromstring(text).findall("function"):
        place = function.find("params") if is_verbose else None
        arguments: dict[Any, Any] = {}
        for element in (function if place is None else place).findall("param"):
            cast = _CASTS.get(element.attrib.get("type", "string"), str)
            if is_verbose:
                arguments[element.attrib.get("name")] = cast(element.attrib.get("value", ""))
            else:
                arguments[element.attrib["name"]] = cast((element.text or "").strip())
        calls.append({function.attrib["name"]: arguments})
    return calls


_CASTS: Mapping[str, Callable[[str], Any]] = {
    "integer": int,
    "float": float,
    "boolean": lambda text: text.lower() == "true",
    "null": lambda _text: None,
    **dict.fromkeys(("array", "tuple", "object", "dict"), ast.literal_eval),
}
"""Functions that read a value of a type from its text; a value of any other type is the text."""


def _other(text: str, language: str) -> list[dict[str, Any]]:
    """Read a call written in Java or JavaScript. Its values stay texts, without their quotes.

    BFCL's own reader only takes the first call, and only bare words as arguments without a name.
    """
    match = _CALLED.fullmatch(text[1:-1].strip())
    if not match:
        raise Undecodable("no call")
    arguments: dict[str, Any] = {}
    for piece in _pieces(match[2]):
        named = _NAMED.match(piece)
        if not _is_expression(piece[named.end() :] if named else piece, language):
            raise Undecodable(f"no {language}: {piece[:80]}")
        if not named and not _WORD.fullmatch(piece):
            continue
        name, value = (named[1], piece[named.end() :].strip()) if named else ("None", piece)
        if name in arguments:
            raise Undecodable(f"{name} is given twice")
        is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        if is_quoted and (language == "javascript" or _SYMBOL.fullmatch(value)):
            value = value[1:-1]
        elif language == "java" and (body := _BODY.fullmatch(value)):
            value = body[1]
        arguments[name] = value
    return [{match[1]: arguments}]


_CALLED = re.compile(r"([A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)\s*\((.*)\)\s*;?", re.DOTALL)
_NAMED = re.compile(r"([A-Za-z_$][\w$]*)\s*=(?![=>])\s*")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_SYMBOL = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|[\[({\])},"'`]""", re.DOTALL)
_BODY = re.compile(r"(new\s[\w.<>,\s]+\([^{}]*\))\s*\{.*\}", re.DOTALL)
"""A Java object with a class body, which BFCL's reader drops."""


def _pieces(text: str) -> Iterator[str]:
    """Yield the arguments in a text, which are separated by commas outside brackets and quotes.

    Raises Undecodable if brackets or quotes do not match.
    """
    begun, seen, angles, opened = 0, 0, 0, list[str]()
    for token in _SYMBOL.finditer(text):
        symbol, between = token[0], text[seen : token.start()]
        angles += between.count("<") - between.count(">") + between.count("=>")
        seen = token.end()
        if symbol in "[({":
            opened.append({"[": "]", "(": ")", "{": "}"}[symbol])
        elif symbol in "])}":
            if not opened or opened.pop() != symbol:
                raise Undecodable("brackets do not match")
        elif symbol in "\"'`":
            raise Undecodable("a text has no end")
        elif symbol == "," and not opened and angles <= 0:
            yield text[begun : token.start()].strip()
            begun, angles = token.end(), 0
    if opened:
        raise Undecodable("brackets do not match")
    if text[begun:].strip():
        yield text[begun:].strip()


def _python(text: str) -> list[dict[str, Any]]:
    """Read calls written in Python, a list or a single one, without executing anything."""
    try:
        body = ast.parse(text.strip().strip("'"), mode="eval").body
        elements = [body] if isinstance(body, ast.Call) else getattr(body, "elts", None)
        if elements is None or not all(isinstance(element, ast.Call) for element in elements):
            raise Undecodable("no list of calls")
        return [_call(element) for element in elements]
    except _UNREADABLE as error:
        raise Undecodable(f"no Python: {error}") from error


def _call(node: ast.Call) -> dict[str, Any]:
    """Read a call's name and keyword arguments; positional ones are dropped."""
    parts: list[str] = []
    function = node.func
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    return {".".join(reversed(parts)): {str(word.arg): _value(word.value) for word in node.keywords}}


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value):
            return "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value)) if isinstance(value, int | float | complex):
            return -value  # whatever the operator is, as BFCL's reader has it
        case ast.List(elements):
            return [_value(element) for element in elements]
        case ast.Tuple(elements):
            return tuple(_value(element) for element in elements)
        case ast.Dict(keys, values):
            return {_value(key): _value(member) for key, member in zip(keys, values, strict=True) if key}
        case ast.Name(name):
            return name
        case ast.Call():
            return _call(node) if node.keywords else ast.unparse(node)
        case ast.BinOp():
            return _computed(node)
        case ast.Subscript(value, inner):
            return f"{ast.unparse(value)}[{ast.unparse(inner)}]"
    raise Undecodable(f"a {type(node).__name__} is no value")


_OPERATORS: Mapping[type[ast.operator] | type[ast.unaryop], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


def _computed(node: ast.expr) -> Any:
    """Compute an expression of literals and operators as Python does, which BFCL's reader uses.

    Raises Undecodable for a name or a call, and if the result could be very large.
    """
    match node:
        case ast.Constant(value):
            return value
        case ast.List(elements):
            return list(map(_computed, elements))
        case ast.Tuple(elements):
            return tuple(map(_computed, elements))
        case ast.UnaryOp(sign, operand):
            return _OPERATORS[type(sign)](_computed(operand))
        case ast.BinOp(left, sign, right):
            values = _computed(left), _computed(right)
            if _is_large(sign, *values):
                raise Undecodable("a result of any size")
            try:
                return _OPERATORS[type(sign)](*values)
            except (ArithmeticError, KeyError) as error:
                raise Undecodable(f"arithmetic: {error}") from error
    raise Undecodable(f"a {type(node).__name__} is not computed")


def _is_large(sign: ast.operator, left: Any, right: Any) -> bool:
    """Return whether the result of an operation could be much larger than its operands."""
    if isinstance(left, str | bytes | list | tuple) or isinstance(right, str | bytes | list | tuple):
        if isinstance(sign, ast.Mod):
            return re.search(r"\d{4}|\*", str(left)) is not None
        sizes = (len(value) if hasattr(value, "__len__") else value for value in (left, right))
        return isinstance(sign, ast.Mult) and bool(math.prod(map(abs, sizes)) > LONGEST)
    if isinstance(sign, ast.Pow | ast.LShift):
        return bool(abs(left) >= 1e6 or abs(right) >= 100)
    return False


_STRING = r""""(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"""

_NUMBER = (
    r"(?:0[xX][\da-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+"
    r"|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)[lLfFdDn]?(?![\w$])"
)
_OPERATOR = (
    r">>>=|\.\.\.|===|!==|>>>|\*\*=|<<=|>>=|&&=|\|\|=|\?\?=|=>|->|::|\?\.|\?\?|&&|\|\||\*\*|\+\+|--|<<|>>"
    r"|[-+*/%&|^=!<>]=|[-+*/%&|^~!<>=?:.,]"
)
_TOKEN = re.compile(
    rf"\s*(?:(?P<string>{_STRING})|(?P<number>{_NUMBER})|(?P<word>[^\W\d][\w$]*|\$[\w$]*)"
    rf"|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<operator>{_OPERATOR}))",
    re.DOTALL,
)
_REGEX = re.compile(r"\s*/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_TYPE_ARGUMENTS = re.compile(r"(?<=[\w>])\s*<[\w\s,.?<>\[\]&]*>(?=\s*(?:[(\[{,)>:]|$))")
_CAST = re.compile(r"\(\s*[A-Za-z_][\w.]*(?:\s*\[\s*\])*\s*\)")
_PREFIXES = {"+", "-", "!", "~", "++", "--", "..."}
_PREFIX_WORDS = {"new", "typeof", "void", "delete", "await", "async", "function", "yield"}
_BINARY_WORDS = {"instanceof", "in"}


def _is_expression(text: str, language: str) -> bool:
    """Return whether a text with matching brackets is an expression: operands and operators alternate."""
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
        if kind in ("string", "number") or (kind == "word" and symbol not in _BINARY_WORDS):
            if not expects and not _is_cast(text, start):
                return False
            expects = kind == "word" and symbol in _PREFIX_WORDS and last != "::"
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
    """Return whether a type in brackets, such as `(int)`, precedes a position."""
    start = text.rfind("(", 0, place)
    return start >= 0 and _CAST.fullmatch(text[start:place].strip()) is not None


def _after_body(text: str, place: int) -> int:
    """Return the position after the `}` of a body that was opened before `place`."""
    depth = 1
    for token in re.compile(rf"{_STRING}|[{{}}]", re.DOTALL).finditer(text, place):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if not depth:
            return token.end()
    return len(text)

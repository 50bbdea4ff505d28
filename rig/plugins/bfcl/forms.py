"""BFCL's format sensitivity: how a prompt asks for calls as text, and how it shows the functions.

A form's name is the format of calls, and what else differs from the plain form: `json:tag:xml` asks for
calls in JSON between tags, and shows functions in XML. The prompts' words are rig's own.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rig.config.option import Option
from rig.core.calls import Call, JsonObject
from rig.core.errors import RigError

NO_FORM = "none"
"""No form: calls are made as in other methods (`--format`)."""
VERSION = "1"
"""The version of how functions are shown; in the fingerprint of arms with a form."""
TAGS = "<TOOLCALL>", "</TOOLCALL>"

INSTRUCTIONS = """\
You are an assistant with functions. Call those that answer the user's request, with the values that the user
gives; if several calls are due, make all of them at once. If no function can answer it, or a value that one
needs is missing, reply in words and call nothing."""
_EXPERIMENTAL = """\
Turn the request into calls. Pick the functions that serve it, fill in what the user states, and list every
call that is needed in this single answer. Should none fit, or should something be unknown, explain that
instead of calling."""
_ASKED = (
    "If you call something, answer with the calls alone, written like this:",
    "Output format for calls, without anything around it:",
)
_OFFERED = "The functions that there are, in {}:", "Callable ({}):"
"""In the usual words, and in the experimental ones."""
_OF_TYPES = "\nA type is string, integer, float, boolean, array, dict or tuple; the last three as in Python."
_EXAMPLE = Call("first_function", {"name": "value", "other": 2}), Call("second_function", {})

_RETURNS = "python", "json", "verbose_xml", "concise_xml"
_MORE = "tag", "python", "xml", "markdown", "experimental"
_TYPES: Mapping[type, str] = {bool: "boolean", int: "integer", float: "float", list: "array", dict: "dict"}
_PYTHON_TYPES = {"string": "str", "integer": "int", "boolean": "bool", "array": "list"}


class PromptForm(NamedTuple):
    """A form: the format that an answer `returns`, and what `differs` from the plain form, which has no tags,
    the usual words, plain text, and functions in JSON.
    """

    returns: str
    differs: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> "PromptForm | None":
        """Return the form that a text names, or None for `none`. Raises RigError."""
        if text == NO_FORM:
            return None
        returns, *words = text.split(":")
        if returns not in _RETURNS or not {*words} <= {*_MORE} or {"python", "xml"} <= {*words}:
            raise RigError(
                f"{text!r} is not a form: none, all, or {', '.join(_RETURNS)}, and after a colon each what"
                " differs: tag, markdown, experimental, or python or xml for how functions are written"
            )
        return cls(returns, frozenset(words))

    def __str__(self) -> str:
        return ":".join((self.returns, *(word for word in _MORE if word in self.differs)))

    @property
    def tags(self) -> tuple[str, str]:
        """The marks before and after the calls."""
        return TAGS if "tag" in self.differs else ("", "")

    @property
    def config(self) -> str:
        """The form as it is written in the ids of upstream's results."""
        written = next((name for name in ("python", "xml") if name in self.differs), "json")
        return (
            f"ret_fmt={self.returns}&tool_call_tag={'tag' in self.differs}&func_doc_fmt={written}"
            f"&prompt_fmt={'markdown' if 'markdown' in self.differs else 'plaintext'}"
            f"&style={'experimental' if 'experimental' in self.differs else 'classic'}"
        )

    @property
    def instructions(self) -> str:
        """What is the same in all prompts of this form: the task, and how calls are written."""
        is_experimental = "experimental" in self.differs
        types = _OF_TYPES if "xml" in self.returns else ""
        task = self._headed("Task", _EXPERIMENTAL if is_experimental else INSTRUCTIONS)
        asked = self._headed("Calls", f"{_ASKED[is_experimental]}\n{self.write(_EXAMPLE)}{types}")
        return f"{task}\n\n{asked}"

    def documentation(self, functions: Sequence[JsonObject]) -> str:
        """Return the functions as a model reads them. Any change here raises `VERSION`."""
        if "python" in self.differs:
            name, text = "Python", "\n\n".join(map(_in_python, functions))
        elif "xml" in self.differs:
            name, text = "XML", "\n".join(map(_in_xml, functions))
        else:
            name, text = "JSON", json.dumps(functions, indent=2, ensure_ascii=False)
        return self._headed("Functions", f"{_OFFERED['experimental' in self.differs].format(name)}\n{text}")

    def _headed(self, heading: str, text: str) -> str:
        return f"## {heading}\n{text}" if "markdown" in self.differs else text

    def write(self, calls: Iterable[Call]) -> str:
        """Return calls as an answer in this form."""
        pairs = [(call.name, call.arguments if isinstance(call.arguments, dict) else {}) for call in calls]
        if self.returns == "python":
            parts = [
                f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"
                for name, arguments in pairs
            ]
            text = f"[{', '.join(parts)}]"
        elif self.returns == "json":
            listed = [{"function": name, "parameters": arguments} for name, arguments in pairs]
            text = f"```json\n{json.dumps(listed, ensure_ascii=False)}\n```"
        else:
            text = _answer_in_xml(pairs, self.returns == "verbose_xml")
        return text.join(self.tags)


def _answer_in_xml(calls: Iterable[tuple[str, JsonObject]], is_verbose: bool) -> str:
    """Return calls as XML elements, with values as Python writes them and their types."""
    root = Element("functions")
    for name, arguments in calls:
        function = SubElement(root, "function", name=name)
        place = SubElement(function, "params") if is_verbose else function
        for key, value in arguments.items():
            parameter = SubElement(place, "param", name=key, type=_TYPES.get(type(value), "string"))
            text = value if isinstance(value, str) else repr(value)
            if is_verbose:
                parameter.set("value", text)
            else:
                parameter.text = text
    return tostring(root, "unicode")


def _members(declared: JsonObject) -> Iterator[tuple[str, JsonObject, bool]]:
    """Yield a function's parameters, or an object's or a list's members, and whether each is required."""
    items = declared.get("items")
    declared = items if isinstance(items, dict) else declared
    for name, member in (declared.get("properties") or {}).items():
        yield name, member, name in (declared.get("required") or ())


def _described(declared: JsonObject) -> str:
    choices = f"One of {declared['enum']}." if declared.get("enum") else ""
    return " ".join(filter(None, (declared.get("description", ""), choices)))


def _kind(declared: JsonObject, names: Mapping[str, str]) -> str:
    kind, items = declared.get("type", "string"), declared.get("items")
    inner = f"[{_kind(items, names)}]" if isinstance(items, dict) and items else ""
    return f"{names.get(kind, kind)}{inner}"


def _in_python(function: JsonObject) -> str:
    """Return a function as a Python definition, with all parameters in the docstring."""
    head = (
        f"{name}: {_kind(member, _PYTHON_TYPES)}" + ("" if needed else f" = {member.get('default')!r}")
        for name, member, needed in _members(function["parameters"])
    )
    begin = f'def {function["name"]}({", ".join(head)}):\n    """{function["description"]}\n'
    return "\n".join((begin, *_python_lines(function["parameters"], "    "), '    """'))


def _python_lines(declared: JsonObject, margin: str) -> Iterator[str]:
    for name, member, _ in _members(declared):
        yield f"{margin}{name} ({_kind(member, _PYTHON_TYPES)}): {_described(member)}"
        yield from _python_lines(member, f"{margin}    ")


def _in_xml(function: JsonObject) -> str:
    """Return a function as an XML element with a description and parameters, which can be nested."""
    root = Element("function", name=function["name"])
    SubElement(root, "description").text = function["description"]
    _add_parameters(root, function["parameters"])
    indent(root)
    return tostring(root, "unicode")


def _add_parameters(place: Element, declared: JsonObject) -> None:
    for name, member, needed in _members(declared):
        told = {"name": name, "type": _kind(member, {}), "required": "yes" if needed else "no"}
        told |= {"default": str(member["default"])} if "default" in member else {}
        parameter = SubElement(place, "parameter", told)
        parameter.text = _described(member)
        _add_parameters(parameter, member)


def _forms(*parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(":".join(filter(None, words)) for words in product(_RETURNS, *parts))


FORMS = (*_forms(("tag", ""), ("python", "xml", "")), "python:markdown", "python:experimental")
"""The category's 26 forms, in its order."""


def form_told_by(instructions: str) -> PromptForm | None:
    """Return the form that instructions ask for, or None. It leaves open how functions are written."""
    names = _forms(("", "tag"), ("", "markdown"), ("", "experimental"))
    forms = filter(None, map(PromptForm.parse, names))
    return next((form for form in forms if form.instructions == instructions), None)


class FormOption(Option):
    """The option that names forms; `all` stands for those of the category."""

    def levels(self, text: str) -> tuple[Any, ...]:
        """Return the forms in a text with commas, each in its canonical spelling. Raises RigError."""
        words = (form for word in text.split(",") for form in (FORMS if word == "all" else (word.strip(),)))
        return tuple(dict.fromkeys(str(PromptForm.parse(word) or NO_FORM) for word in words))

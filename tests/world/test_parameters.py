"""Schemas as the field writes them: read as they are meant, tool by tool, within a budget."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rig.core.errors import RigError
from rig.core.models import ToolDoc
from rig.plugins.documents.documents import DocumentPart
from rig.plugins.llama.formats.base import CallChecker
from rig.plugins.llama.formats.salvage import AnswerError
from rig.plugins.llama.grammar.schema import narrow
from rig.plugins.own_tools.listing import Listing, listing_of
from rig.plugins.own_tools.parameters import ParameterReader
from rig.world.schemas import fits

STRING: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
REQUIRED_A = {"type": "object", "properties": {"a": STRING}, "required": ["a"]}


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def read(schema: Any) -> Any:
    return ParameterReader(DocumentPart(schema, Path("tools.json"))).parameters()


def tool(schema: Any, name: str = "do_it") -> dict[str, Any]:
    return {"name": name, "description": "d", "inputSchema": schema}


def listed(*tools: Any) -> Listing:
    return listing_of(DocumentPart({"tools": list(tools)}, Path("tools.json")))


@pytest.mark.parametrize(
    ("schema", "meaning"),
    [
        ({"type": "object", "properties": {"a": STRING}, "required": None}, of(a=STRING)),
        ({"type": "object", "properties": None}, of()),
        ({"type": "object", "properties": []}, of()),  # PHP
        (None, of()),
        ([], of()),
        ({}, of()),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, of()),
        ({"type": "object", "required": {}}, of()),
        ({"properties": {"a": STRING}}, of(a=STRING)),
        ({"type": "OBJECT", "properties": {"a": {"type": "STRING"}}}, of(a=STRING)),  # Gemini
        ({"type": "dict", "properties": {"a": {"type": "float"}}}, of(a={"type": "number"})),  # BFCL
        (of(a={"type": "any"}), of(a={})),
        (of(a=None, b=True), of(a={}, b={})),
        (of(a={"type": "string", "enum": None, "items": None, "description": None}), of(a=STRING)),
        (of(a={"type": "string", "enum": []}), of(a=STRING)),
        (of(a={"type": "string", "enum": "x"}), of(a={"type": "string", "enum": ["x"]})),
        (
            of(a={"type": "integer", "minimum": 0, "exclusiveMinimum": True, "exclusiveMaximum": False}),
            of(a={"type": "integer", "exclusiveMinimum": 0}),
        ),
        (
            of(a={"type": "array", "items": [STRING, WHOLE], "additionalItems": False}),
            of(a={"type": "array", "prefixItems": [STRING, WHOLE], "items": False}),
        ),
        ({"type": "object", "properties": {"a": {"type": "string", "required": True}}}, REQUIRED_A),
        (of(a={"type": "string", "required": False}), of(a=STRING)),
        ({"properties": {"a": STRING}, "required": "a"}, REQUIRED_A),
        (of(a={"type": "string", "nullable": True}), of(a={"type": ["string", "null"]})),
        (
            of(a={"type": "string", "enum": ["x"], "nullable": True}),
            of(a={"type": ["string", "null"], "enum": ["x", None]}),
        ),
        (
            {**of(a={"$ref": "#/definitions/x", "nullable": True}), "definitions": {"x": STRING}},
            of(a={"anyOf": [STRING, {"type": "null"}]}),
        ),
        (
            of(a={"type": "string", "example": "e", "discriminator": {}, "xml": {}, "x-order": 1}),
            of(a=STRING),
        ),
        (of(a={"type": "integer", "divisibleBy": 5}), of(a={"type": "integer", "multipleOf": 5})),
        (of(a={"type": "string", "minLength": "3"}), of(a={"type": "string", "minLength": 3})),
        ({"properties": {"a": "string"}}, of(a=STRING)),
        (of(a={"type": "string", "maxLength": 5.0}), of(a={"type": "string", "maxLength": 5})),
        (
            {**of(a=STRING, b=STRING), "dependencies": {"a": ["b"]}},
            {**of(a=STRING, b=STRING), "dependentRequired": {"a": ["b"]}},
        ),
        (
            of(a={"minLength": 1}, b={"items": STRING}),
            of(a={"type": "string", "minLength": 1}, b={"type": "array", "items": STRING}),
        ),
        ({"type": "object", "properties": {}, "required": ["a"]}, {**of(a={}), "required": ["a"]}),
        (
            of(a={"allOf": [STRING, {"minLength": 1}, {"minLength": 3}]}),
            of(a={"type": "string", "minLength": 3}),
        ),
        (of(a={"oneOf": [STRING, WHOLE]}), of(a={"anyOf": [STRING, WHOLE]})),
        (of(a=False), of(a={"not": {}})),
    ],
)
def test_a_schema_is_read_as_it_is_meant(schema: Any, meaning: Any) -> None:
    assert read(schema) == {**meaning, "required": meaning.get("required", [])}
    assert read(read(schema)) == read(schema)


@pytest.mark.parametrize(
    "odd",
    [
        tool({"type": "array"}),
        tool(of(a={"type": "strin"})),
        tool(of(a={"type": {"b": 1}})),
        tool(of(a={"type": ["string", {"b": 1}]})),
        tool({**of(a=STRING), "required": ["a", ["b"], {"c": 1}]}),
        tool(of(a={"type": "string", "x-format": ["a"]})),
        tool(of(a={"type": "string", "pattern": 3})),
        tool(of(a={"$ref": "#/$defs/b"})),
        tool(of(a={"$ref": "https://x/y"})),
        tool(of(a={"$ref": 3})),
        tool({"$ref": "#"}),
        tool({"oneOf": [{"$ref": "#/oneOf/0"}]}),
        tool({"allOf": [{"$ref": "#/allOf/0"}]}),
        tool({"properties": 3}),
        tool(3),
        tool(of(), name="no spaces"),
        tool(of(), name="x" * 201),
        {"name": None, "inputSchema": of()},
        {"inputSchema": of()},
        3,
        None,
        tool(of(), name="good"),  # a second one of this name
    ],
)
def test_what_cannot_be_read_leaves_out_that_tool_alone(odd: Any) -> None:
    listing = listed(tool(of(a=STRING), "good"), odd, tool(of(b=STRING), "better"))
    assert [each.name for each in listing.tools] == ["good", "better"]
    [line] = listing.left_out
    assert "tools.2" in line
    assert "\n" not in line
    with pytest.raises(RigError, match="holds no tools"):
        listed(3)


@pytest.mark.parametrize("name", ["a/b", "x" * 100, "größe", "3d", "a:b", "ns.tool-1"])
def test_names_as_servers_have_them(name: str) -> None:
    assert listed(tool(of(), name)).tools[0].name == name


def test_a_schema_that_holds_itself_keeps_its_reference() -> None:
    node = {
        **of(name=STRING, children={"type": "array", "items": {"$ref": "#/$defs/node"}}),
        "required": ["name"],
    }
    schema = read({**of(root={"$ref": "#/$defs/node"}), "$defs": {"node": node}})
    leaf = {"name": "c", "children": []}
    assert fits({"root": {"name": "a", "children": [{"name": "b", "children": [leaf]}]}}, schema)
    assert not fits(
        {"root": {"name": "a", "children": [{"name": "b", "children": [{"children": []}]}]}}, schema
    )
    for whole in ({**of(sub={"$ref": "#"}), "required": []}, {**of(sub={"$ref": "#/properties/sub"})}):
        if whole["properties"]["sub"]["$ref"] == "#":
            assert fits({"sub": {"sub": {}}}, read(whole))
            assert not fits({"sub": {"sub": 3}}, read(whole))
        else:
            with pytest.raises(RigError, match="refers to itself"):
                read(whole)


def test_schemas_that_hold_each_other_are_read() -> None:
    names = [f"n{number}" for number in range(30)]
    defs = {name: of(**{other: {"$ref": f"#/$defs/{other}"} for other in names}, v=WHOLE) for name in names}
    schema = read({**of(a={"$ref": "#/$defs/n0"}), "$defs": defs})
    assert fits({"a": {"n3": {"n4": {"n3": {"n9": {"v": 1}}}}}}, schema)
    assert not fits({"a": {"n3": {"n4": {"n3": {"n9": {"v": "1"}}}}}}, schema)


def test_a_demand_that_never_ends_is_a_fault() -> None:
    """Every walk passes a member first, so that only the definitions together show the circle."""
    defs = {
        "x": {"anyOf": [of(c={"$ref": "#/$defs/y"}), {"$ref": "#/$defs/y"}]},
        "y": {"anyOf": [of(d={"$ref": "#/$defs/x"}), {"$ref": "#/$defs/x"}]},
    }
    with pytest.raises(RigError, match="refers to itself"):
        read({**of(a={"$ref": "#/$defs/x"}), "$defs": defs})


def test_alternatives_that_cannot_be_one_schema_stay_and_are_judged() -> None:
    parts = [
        {"anyOf": [{"type": "string", "maxLength": number + part} for number in range(5)]}
        for part in range(8)
    ]
    schema = read(of(a={"allOf": parts}))
    assert fits({"a": "abcd"}, schema)
    assert not fits({"a": "abcde"}, schema)
    both = read(of(a={"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}]}))
    assert [fits({"a": text}, both) for text in ("ab", "a", "b")] == [True, False, False]


def test_what_belongs_together_is_judged() -> None:
    schema = read({**of(a=STRING, b=WHOLE), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert (list(schema["properties"]), schema["required"]) == (["a", "b"], [])
    assert [fits(value, schema) for value in ({"a": "x"}, {"b": 1}, {})] == [True, True, False]
    either = read({"anyOf": [REQUIRED_A, {**of(b=WHOLE), "required": ["b"]}]})
    assert [fits(value, either) for value in ({"a": "x"}, {"b": 1}, {"b": "1"})] == [True, True, False]


RIGHT: list[tuple[dict[str, Any], Any]] = [
    (WHOLE, 1234567890123456789),
    ({"type": "integer", "minimum": -(2**63), "maximum": 2**63 - 1}, 2**63 - 1),
    ({"type": "integer", "minimum": 0}, 2**256),
    ({"type": "number"}, 1e18),
    ({"type": "number"}, 1e-07),
    ({"type": "number", "multipleOf": 0.01}, 19.99),
    ({"type": "string", "maxLength": 10_000}, "word " * 1_000),
    ({"type": "string", "minLength": 500}, "x" * 500),
    ({"type": "array", "items": WHOLE, "maxItems": 1_000}, list(range(900))),
    ({"type": "array", "items": WHOLE, "minItems": 300}, list(range(300))),
    ({"type": "string", "pattern": r"^[\s\S]{1,200}$"}, "a\nb"),
    ({"type": "string", "pattern": r"^(?=.*\d)[a-z\d]+$"}, "a1"),
    ({"type": "object"}, {"a": {"b": {"c": [[1], [2]]}}}),
    ({"type": "array"}, [{"a": [None]}]),
    ({}, {"a": [1, "b"]}),
    ({"type": "array", "prefixItems": [STRING, WHOLE]}, ["a", 1]),
    ({"type": ["string", "null"]}, None),
    ({"enum": [["a", "b"], {"c": 1}]}, {"c": 1}),
]


@pytest.mark.parametrize(("schema", "value"), RIGHT)
def test_a_call_is_judged_by_the_schema_of_its_tool(schema: dict[str, Any], value: Any) -> None:
    parameters = read(of(a=schema))
    call = CallChecker((ToolDoc("do_it", "", parameters),), "none").call("do_it", {"a": value})
    assert call.arguments == {"a": value}
    assert fits({"a": value}, narrow(parameters, "do_it", formats=False))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "maxLength": 10_000}, "x" * 10_001),
        ({"type": "array", "items": WHOLE, "uniqueItems": True}, [1, 1]),
        ({"type": "number", "multipleOf": 0.01}, 0.005),
        ({"type": "string", "pattern": r"^(?=.*\d)[a-z\d]+$"}, "ab"),
        ({"type": "string", "pattern": "^a$"}, "a\n"),
        ({"type": "string", "pattern": "^a", "maxLength": 2}, "abc"),
        ({"not": WHOLE}, 3),
        ({**of(x=STRING), "minProperties": 1}, {}),
        ({"type": "integer", "maximum": 10**400}, 10**401),
    ],
)
def test_what_no_grammar_holds_is_judged_all_the_same(schema: dict[str, Any], value: Any) -> None:
    checker = CallChecker((ToolDoc("do_it", "", read(of(a=schema))),), "json")
    with pytest.raises(AnswerError):
        checker.call("do_it", {"a": value})


def test_null_is_an_absent_argument_and_others_are_as_the_schema_says() -> None:
    checker = CallChecker((ToolDoc("do_it", "", read(REQUIRED_A | of(a=STRING, b=WHOLE))),), "none")
    assert checker.call("do_it", {"a": "x", "b": None, "more": True}).arguments["more"]
    with pytest.raises(AnswerError):
        checker.call("do_it", {"a": None})
    closed = CallChecker(
        (ToolDoc("do_it", "", {**read(of(a=STRING)), "additionalProperties": False}),), "none"
    )
    with pytest.raises(AnswerError):
        closed.call("do_it", {"more": True})


KINDS = st.sampled_from(
    ["string", "integer", "number", "boolean", "null", "array", "object", None, "x", 3, {}, []]
)
WORDS = st.sampled_from(
    (
        *("type", "properties", "required", "items", "prefixItems", "additionalProperties", "enum", "const"),
        *("anyOf", "allOf", "oneOf", "not", "if", "$ref", "pattern", "format", "x-format", "minLength"),
        *("maximum", "exclusiveMinimum", "multipleOf", "nullable", "patternProperties", "dependencies"),
        *("uniqueItems", "minItems", "description", "default", "$defs", "unheard"),
    )
)
LEAVES = st.one_of(
    *(KINDS, st.none(), st.booleans(), st.integers(-(10**400), 10**400), st.floats(), st.text(max_size=5)),
    st.sampled_from(["#", "#/$defs/a", "#/properties/a", "^a$", "(", "date", "a"]),
)
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(WORDS, inner, max_size=5)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=25,
)


@given(SCHEMAS, SCHEMAS)
def test_anything_is_read_or_refused(schema: Any, value: Any) -> None:
    try:
        parameters = read(schema)
    except RigError:
        return
    json.dumps(parameters)
    narrowed = narrow(parameters, "t", formats=True)
    assert set(narrowed["properties"]) >= set(parameters["properties"])
    fits(value, parameters)


def chain(length: int) -> dict[str, Any]:
    defs = {f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(length)}
    return {**of(a={"$ref": "#/$defs/d0"}), "$defs": {**defs, f"d{length}": STRING}}


def nested(schema: Any, wrap: Callable[[Any, int], Any], times: int) -> Any:
    for number in range(times):
        schema = wrap(schema, number)
    return schema


def doubled(times: int) -> dict[str, Any]:
    defs = {
        f"d{n}": of(a={"$ref": f"#/$defs/d{n - 1}"}, b={"$ref": f"#/$defs/d{n - 1}"}) for n in range(1, times)
    }
    return {**of(x={"$ref": f"#/$defs/d{times - 1}"}), "$defs": {"d0": STRING, **defs}}


def choices(lists: int, of_each: int) -> dict[str, Any]:
    options = [
        {"anyOf": [{"type": "string", "description": f"{part}.{option}"} for option in range(of_each)]}
        for part in range(lists)
    ]
    return of(x={"allOf": options})


MANY = [f"n{number}" for number in range(30_000)]
BOMBS: dict[str, Callable[[], Any]] = {
    **{
        f"choices {lists}×{each}": lambda lists=lists, each=each: tool(choices(lists, each))
        for lists, each in ((13, 4), (40, 3), (300, 2), (4, 300))
    },
    **{
        f"chain of {length}": lambda length=length: tool(chain(length)) for length in (50, 900, 2_900, 20_000)
    },
    **{f"doubled {times}": lambda times=times: tool(doubled(times)) for times in (12, 30, 60)},
    "digits": lambda: tool(of(a={"type": "integer", "minimum": 1, "maximum": 10**400 - 1})),
    "thousands of digits": lambda: tool(
        of(a={"type": "number", "multipleOf": 10**4_000, "maximum": 10**4_000})
    ),
    "3,000 tools": lambda: [
        tool(of(**{f"p{p}": {**STRING, "enum": ["a", "b"]} for p in range(20)}), f"t{n}")
        for n in range(3_000)
    ],
    "20,000 tools of one name": lambda: [tool(of(a=STRING))] * 20_000,
    "3,000 large tools": lambda: [
        tool(of(**{f"p{p}": of(q=STRING) for p in range(60)}), f"t{n}") for n in range(3_000)
    ],
    "names required": lambda: tool({**of(), "required": MANY}),
    "names required of all": lambda: tool(
        {"allOf": [{**of(**dict.fromkeys(MANY[:300], STRING)), "required": MANY[:300]}] * 300}
    ),
    "one member of many": lambda: tool(
        {"allOf": [of(a={"type": "string", "description": str(n)}) for n in range(3_000)]}
    ),
    "members of many alternatives": lambda: tool(
        {"anyOf": [of(**{f"m{m}": {**STRING, "maxLength": n} for m in range(20)}) for n in range(250)]}
    ),
    "a large choice, repeated": lambda: tool(
        {**of(**{f"p{p}": {"$ref": "#/$defs/e"} for p in range(3_000)}), "$defs": {"e": {"enum": MANY}}}
    ),
    "a long text, repeated": lambda: tool(
        {
            **of(**{f"p{p}": {"$ref": "#/$defs/e"} for p in range(3_000)}),
            "$defs": {"e": {"description": "x" * 10**6}},
        }
    ),
    "many patterns": lambda: [
        tool(
            of(**{f"p{p}": {**STRING, "pattern": "^" + "a?" * 20_000 + f"{p}$"} for p in range(20)}), f"t{n}"
        )
        for n in range(20)
    ],
    "slow patterns": lambda: tool(
        of(**{f"p{p}": {**STRING, "pattern": f"^(?:(?:a{{{p + 1}}}){{90}}){{9}}$"} for p in range(500)})
    ),
    "a pattern too large": lambda: tool(of(a={**STRING, "pattern": "^((a{1000}){1000}){1000}$"})),
    "each refers to all": lambda: tool(
        {
            **of(a={"$ref": "#/$defs/n0"}),
            "$defs": {
                f"n{n}": of(**{f"r{m}": {"$ref": f"#/$defs/n{m}"} for m in range(60)}) for n in range(60)
            },
        }
    ),
    "each is one of all": lambda: tool(
        {
            **of(a={"$ref": "#/$defs/n0"}),
            "$defs": {
                f"n{n}": {"anyOf": [of(r={"$ref": f"#/$defs/n{m}"}) for m in range(60)]} for n in range(60)
            },
        }
    ),
    "deep lists": lambda: tool(of(a=nested(STRING, lambda inner, _: {"type": "array", "items": inner}, 400))),
    "deep alternatives": lambda: tool(
        of(a=nested(STRING, lambda inner, n: {"anyOf": [inner, {"type": "integer", "maximum": n}]}, 400))
    ),
    "deep demands": lambda: tool(
        of(a=nested(STRING, lambda inner, n: {"allOf": [inner, {"minLength": n}]}, 400))
    ),
    "deep conditions": lambda: tool(
        of(a=nested(STRING, lambda inner, _: {"not": inner, "if": inner, "then": inner}, 9))
    ),
    "demands of choices": lambda: tool(
        of(
            a=nested(
                {"anyOf": [STRING, WHOLE]},
                lambda inner, _: {"allOf": [inner, {"anyOf": [STRING, WHOLE, {"type": "null"}]}]},
                40,
            )
        )
    ),
    "unhashable": lambda: tool(
        of(a={"allOf": [{"enum": [{"a": 1}, [2]]}, {"enum": [[1], {"a": 1}]}, {"type": ["string"]}]})
    ),
}

_PROGRAM = """
import json, resource, sys, time
from pathlib import Path
from benchmarks.memory import peak_memory
from rig.plugins.documents.documents import DocumentPart
from rig.plugins.llama.grammar.schema import narrow
from rig.core.errors import RigError
from rig.plugins.own_tools.listing import listing_of
from rig.world.schemas import fits
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for line in sys.stdin:
    name, tools = json.loads(line)
    began = time.process_time()
    try:
        for tool in listing_of(DocumentPart({"tools": tools}, Path("tools.json"))).tools:
            narrow(tool.parameters, tool.name, formats=True)
            json.dumps(tool.as_json())
            fits({"a": "text", "x": {"a": 1}}, tool.parameters)
    except RigError as error:
        assert "\\n" not in str(error)
    took = time.process_time() - began
    print(json.dumps([name, took, peak_memory() >> 20]), flush=True)
"""


@pytest.mark.slow
def test_small_files_take_little_time_and_memory() -> None:
    """Each less than 20 s of a processor, all less than 1 GB, and no traceback."""
    lines = []
    for name, make in BOMBS.items():
        tools = make()
        lines.append(json.dumps([name, tools if isinstance(tools, list) else [tools]]) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input="".join(lines), capture_output=True, text=True
    )
    assert done.returncode == 0, (done.stdout[-200:], done.stderr[-1_000:])
    results = list(map(json.loads, done.stdout.splitlines()))
    assert [name for name, *_ in results] == list(BOMBS)
    assert not [result for result in results if result[1] > 20 or result[2] > 1_000]

"""Files of tools: whose form they have, what is made of their schemas, and what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import pytest

from rig.core.errors import RigError
from rig.plugins.llama.grammar.schema import narrow
from rig.plugins.own_tools.listing import is_action, read_listing, write_listing
from rig.world.schemas import schema_faults

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
MCP = {"name": "get_weather", "description": "The weather.", "inputSchema": CITY}
OPENAI = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": CITY, "description": "The weather."},
}
FLAT = {"name": "get_weather", "description": "The weather.", "parameters": CITY}


def listing(tmp_path: Path, value: Any) -> Any:
    (tmp_path / "tools.json").write_text(value if isinstance(value, str) else json.dumps(value))
    return read_listing(tmp_path / "tools.json")


def parameters(tmp_path: Path, schema: Any) -> Any:
    return listing(tmp_path, [{"name": "f", "parameters": schema}]).tools[0].parameters


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ({"tools": [MCP]}, "MCP"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [MCP], "nextCursor": None}}, "MCP"),
        ([MCP], "MCP"),
        ([OPENAI], "OpenAI"),
        ({"model": "x", "tools": [OPENAI]}, "OpenAI"),
        ([{"type": "function", **FLAT, "strict": True}], "OpenAI"),
        ({"functions": [FLAT]}, "rig"),
        ({"tools": [FLAT]}, "rig"),
        (FLAT, "rig"),
        ([{"name": "get_weather", "description": "The weather.", "input_schema": CITY}], "Anthropic"),
    ],
)
def test_the_form_is_told_by_what_is_in_a_file(tmp_path: Path, value: Any, form: str) -> None:
    found = listing(tmp_path, value)
    [tool] = found.tools
    assert (found.form, tool.name, tool.description, tool.action) == (
        form,
        "get_weather",
        "The weather.",
        False,
    )
    assert tool.parameters == CITY
    write_listing(found, tmp_path / "again.json")
    again = read_listing(tmp_path / "again.json")
    assert (again.form, again.tools) == ("rig", found.tools)


def test_descriptions_keep_their_lines(tmp_path: Path) -> None:
    lines = "The weather.\n\n- today\n- tomorrow"
    [tool] = listing(tmp_path, {**FLAT, "description": f"\n{lines}\n"}).tools
    assert tool.description == lines


@pytest.mark.parametrize(
    ("name", "acts"),
    [
        ("get_user", False),
        ("listItems", False),
        ("files.search", False),
        ("send_mail", True),
        ("SendMail", True),
    ],
)
def test_a_name_says_whether_a_tool_acts(name: str, acts: bool) -> None:
    assert is_action(name) is acts


def test_what_a_listing_says_counts_more_than_the_name(tmp_path: Path) -> None:
    hinted = [
        {**MCP, "name": name, "annotations": {"readOnlyHint": hint}}
        for name, hint in (("get_a", False), ("do_b", True))
    ]
    assert [tool.action for tool in listing(tmp_path, hinted).tools] == [True, False]
    assert listing(tmp_path, [{**MCP, "action": True}]).tools[0].action


def test_references_are_followed(tmp_path: Path) -> None:
    point = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}
    schema = {
        "type": "object",
        "properties": {
            "at": {"$ref": "#/$defs/point"},
            "all": {"type": "array", "items": {"$ref": "#/$defs/point"}},
            "either": {"oneOf": [{"type": "string"}, {"$ref": "#/definitions/n"}]},
            "both": {"allOf": [{"$ref": "#/$defs/point"}, {"properties": {"y": {"type": "number"}}}]},
        },
        "$defs": {"point": point},
        "definitions": {"n": {"type": "integer"}},
    }
    found = parameters(tmp_path, schema)
    properties = found["properties"]
    assert properties["at"]["properties"] == point["properties"]
    assert properties["all"]["items"]["required"] == ["x"]
    assert properties["either"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert list(properties["both"]["properties"]) == ["x", "y"]
    narrow(found, "f", formats=True)
    assert not list(schema_faults(found, {"at": {"x": 1}, "all": [{"x": 2}], "either": 3}))
    assert [each.name for each in schema_faults(found, {"at": {"x": "1"}, "all": [{}], "either": None})] == [
        "at",
        "all",
    ]


@pytest.mark.parametrize(
    ("schema", "note"),
    [
        ({"type": "string", "pattern": "(("}, "not held to: the pattern '((' (missing )"),
        ({"type": "string", "unheard": 1}, "a: not held to: unheard"),
        ({"type": "object", "properties": {}, "required": ["b"]}, "a: requires 'b', which is not a property"),
    ],
)
def test_what_rig_does_not_know_is_noted(tmp_path: Path, schema: Any, note: str) -> None:
    assert note in "".join(
        listing(tmp_path, [{"name": "f", "parameters": {"properties": {"a": schema}}}]).notes
    )


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ("{", "tools.json, line 1: not JSON"),
        ("[]", "tools.json: holds no tools"),
        ('{"a": 1}', "no tools here"),
        ("3", "needs names with values"),
        ([{"description": "x"}], "holds no tools (1: a tool needs a name)"),
        (
            [{"name": "f", "parameters": {"type": "array"}}],
            "holds no tools (f: 1.parameters: the parameters have to be of type object, not 'array')",
        ),
        (
            [{"name": "f", "parameters": CITY, "match": {"town": "exact"}}],
            "match.town: is not a parameter of this tool",
        ),
        (
            [{"name": "f", "parameters": CITY, "match": {"city": "fuzzy"}}],
            "match.city: 'fuzzy' is not a rule",
        ),
        ([{"name": "f", "parameters": CITY, "action": "yes"}], "action: needs true or false, not a text"),
    ],
)
def test_a_fault_is_one_line_with_its_place(tmp_path: Path, value: Any, fault: str) -> None:
    with pytest.raises(RigError) as caught:
        listing(tmp_path, value)
    assert fault in str(caught.value)
    assert "tools.json" in str(caught.value)


def test_objects_of_which_nothing_is_declared_are_taken(tmp_path: Path) -> None:
    """As MCP servers declare them; a model is held to names with plain values."""
    properties = {
        "more": {"type": "object", "description": "Whatever."},
        "labels": {"type": "object", "additionalProperties": {"$ref": "#/$defs/text/anyOf/0"}},
        "open": {"type": "object", "additionalProperties": {}},
        "none": {"type": "object", "additionalProperties": False},
    }
    schema = {"properties": properties, "$defs": {"text": {"anyOf": [{"type": "string"}]}}}
    file = tmp_path / "tools.json"
    file.write_text(json.dumps([{"name": "f", "parameters": schema}]))
    [found] = read_listing(file).tools
    assert found.parameters["properties"] == {
        **properties,
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "open": {"type": "object"},
    }
    narrowed = narrow(found.parameters, "f", formats=True)["properties"]
    assert narrowed["none"]["additionalProperties"] is False
    assert all(
        isinstance(narrowed[name]["additionalProperties"], dict) for name in ("more", "labels", "open")
    )


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
EITHER = [
    {"type": "object", "properties": {"a": TEXT, "c": TEXT}, "required": ["a", "c"]},
    {"type": "object", "properties": {"b": WHOLE, "c": WHOLE}, "required": ["b", "c"]},
]


def listed(tmp_path: Path, schema: Any) -> Any:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps({"tools": [{"name": "x", "inputSchema": schema}]}))
    return read_listing(file).tools[0].parameters


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_alternatives_at_the_top_are_one_object_with_what_all_require(tmp_path: Path, keyword: str) -> None:
    parameters = listed(tmp_path, {keyword: EITHER})
    assert parameters["required"] == ["c"]
    assert parameters["properties"] == {"a": TEXT, "c": {"anyOf": [TEXT, WHOLE]}, "b": WHOLE}


def test_what_stands_beside_alternatives_holds_for_each(tmp_path: Path) -> None:
    beside = {"type": "object", "properties": {"a": TEXT, "b": WHOLE}}
    parameters = listed(tmp_path, {**beside, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert (list(parameters["properties"]), parameters["required"]) == (["a", "b"], [])
    deep = listed(
        tmp_path, {"properties": {"q": {"type": "string", "oneOf": [{"enum": ["x"]}, {"pattern": "^y$"}]}}}
    )
    assert deep["properties"]["q"]["anyOf"][1] == {"type": "string", "pattern": "^y$"}


def test_references_and_combinations_are_followed_at_any_depth(tmp_path: Path) -> None:
    point = {
        "allOf": [
            {"type": "object", "properties": {"p": TEXT}},
            {"properties": {"r": WHOLE}, "required": ["r"]},
        ]
    }
    schema = {
        "allOf": [
            {"$ref": "#/$defs/Named"},
            {"oneOf": [{"properties": {"k": {"const": "x"}}}, {"required": ["at"]}]},
        ],
        "$defs": {
            "Named": {
                "type": "object",
                "properties": {"at": {"type": "array", "items": {"$ref": "#/$defs/Point"}}},
            },
            "Point": {"oneOf": [point, {"type": "null"}]},
        },
    }
    parameters = listed(tmp_path, schema)
    item = parameters["properties"]["at"]["items"]["anyOf"][0]
    assert (item["required"], list(item["properties"])) == (["r"], ["p", "r"])
    assert list(parameters["properties"]) == ["at", "k"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"type": "date"}, {"type": "string", "format": "date"}),
        ({"type": "List[str]"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "string[]"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "array<integer>"}, {"type": "array", "items": {"type": "integer"}}),
        ({"type": "Optional[int]"}, {"type": ["integer", "null"]}),
        ({"type": "str | None"}, {"type": ["string", "null"]}),
        ({"type": "Dict[str, int]"}, {"type": "object"}),
        ({"type": "integer", "minimum": "3"}, {"type": "integer", "minimum": 3}),
        ({"type": "string", "maxLength": "20"}, {"type": "string", "maxLength": 20}),
        ("string", {"type": "string"}),
    ],
)
def test_types_as_programming_languages_write_them(tmp_path: Path, written: Any, read: Any) -> None:
    assert parameters(tmp_path, {"properties": {"a": written}})["properties"]["a"] == read


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": {"city": True, "day": False},
        },
        {"type": "object", "properties": [{"name": "city", "type": "string", "required": True}]},
        [{"name": "city", "type": "string", "required": True}],
        {"city": {"type": "string", "required": True}},
        json.dumps(CITY),
    ],
)
def test_properties_in_other_places_than_under_properties(tmp_path: Path, schema: Any) -> None:
    assert parameters(tmp_path, schema) == CITY


@pytest.mark.parametrize(
    ("tool", "form"),
    [
        ({"functionDeclarations": [{"name": "f", "parameters": CITY}]}, "rig"),
        ({"toolSpec": {"name": "f", "inputSchema": {"json": CITY}}}, "Bedrock"),
        ({"name": "f", "parameter_definitions": {"city": {"type": "str", "required": True}}}, "Cohere"),
    ],
)
def test_forms_of_other_interfaces(tmp_path: Path, tool: Any, form: str) -> None:
    for value in ([tool], {"tools": [tool]}):
        found = listing(tmp_path, value)
        assert (found.form, found.tools[0].parameters) == (form, CITY)


def test_no_element_and_no_number_refuse_no_file(tmp_path: Path) -> None:
    of = {"a": {"type": "array", "items": False}, "b": {"type": "number", "maximum": float("inf")}}
    read = parameters(tmp_path, {"properties": of})
    assert read["properties"] == {"a": {"type": "array", "items": False}, "b": {"type": "number"}}
    assert [fault.name for fault in schema_faults(read, {"a": [1]})] == ["a"]
    assert not list(schema_faults(read, {"a": [], "b": 1e9}))

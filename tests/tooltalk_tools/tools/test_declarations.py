import ast
import hashlib
import inspect
import json
import re

import jsonschema
import pytest

from rig.core.errors import RigError
from rig.plugins.tooltalk_tools import TOOLTALK, account, mail, planner, weather
from rig.world.spec import Response

NO_ACTION = [
    *("GetAccountInformation", "QueryUser", "FindAlarms", "QueryCalendar", "SearchInbox", "SearchMessages"),
    *("GetReminders", "CurrentWeather", "ForecastWeather", "HistoricWeather"),
]
NO_LOGIN = [
    *("RegisterUser", "ResetPassword", "SendVerificationCode", "UserLogin"),
    *("CurrentWeather", "ForecastWeather", "HistoricWeather"),
]
ARGUMENTS = {
    "ChangePassword": "old_password! new_password!",
    "DeleteAccount": "password!",
    "GetAccountInformation": "",
    "LogoutUser": "",
    "QueryUser": "username email",
    "RegisterUser": "username! password! email! name phone",
    "ResetPassword": "username! verification_code! new_password!",
    "SendVerificationCode": "username! email!",
    "UpdateAccountInformation": "password! new_email new_phone_number new_name",
    "UserLogin": "username! password!",
    "AddAlarm": "time!",
    "DeleteAlarm": "alarm_id!",
    "FindAlarms": "start_range end_range",
    "CreateEvent": "name! event_type! start_time! end_time! description location attendees",
    "DeleteEvent": "event_id!",
    "ModifyEvent": "event_id! new_name new_start_time new_end_time"
    " new_description new_location new_attendees",
    "QueryCalendar": "start_time! end_time!",
    "SearchInbox": "query match_type sender start_date end_date",
    "SendEmail": "to! subject! body!",
    "SearchMessages": "query match_type sender start_date end_date",
    "SendMessage": "receiver! message!",
    "AddReminder": "task! due_date",
    "CompleteReminder": "reminder_id!",
    "DeleteReminder": "reminder_id!",
    "GetReminders": "",
    "CurrentWeather": "location!",
    "ForecastWeather": "location!",
    "HistoricWeather": "location! month!",
}
ORDER = list(ARGUMENTS)
LISTS = {("CreateEvent", "attendees"), ("ModifyEvent", "new_attendees"), ("SendEmail", "to")}
CHOICES = {
    ("CreateEvent", "event_type"): ["meeting", "event"],
    ("SearchInbox", "match_type"): ["any", "all"],
    ("SearchMessages", "match_type"): ["any", "all"],
}


PLUGINS = ("AccountTools", "Alarm", "Calendar", "Email", "Messages", "Reminder", "Weather")


def test_the_tools_and_their_order() -> None:
    assert list(TOOLTALK.tools) == ORDER
    assert [tool.name for tool in TOOLTALK.tools.values()] == ORDER
    assert TOOLTALK.plugins == PLUGINS


def test_flags() -> None:
    assert [name for name, tool in TOOLTALK.tools.items() if not tool.action] == NO_ACTION
    assert [name for name, tool in TOOLTALK.tools.items() if not tool.auth] == NO_LOGIN


@pytest.mark.parametrize("name", ORDER)
def test_the_schema_of_the_arguments(name: str) -> None:
    schema = TOOLTALK.tools[name].parameters
    jsonschema.Draft202012Validator.check_schema(schema)
    expected = ARGUMENTS[name].split()
    assert list(schema["properties"]) == [argument.rstrip("!") for argument in expected]
    assert schema["required"] == [argument[:-1] for argument in expected if argument.endswith("!")]
    assert schema["additionalProperties"] is False
    assert set(schema) == {"type", "properties", "required", "additionalProperties"}
    for argument, part in schema["properties"].items():
        assert part["type"] == ("array" if (name, argument) in LISTS else "string")
        assert part.get("enum") == CHOICES.get((name, argument))
        assert part["description"]


def test_formats_are_named_for_a_grammar() -> None:
    formats = {
        (name, argument): part.get("x-format") or part.get("items", {}).get("x-format")
        for name, tool in TOOLTALK.tools.items()
        for argument, part in tool.parameters["properties"].items()
    }
    assert formats["AddAlarm", "time"] == formats["FindAlarms", "end_range"] == "time"
    assert formats["CreateEvent", "start_time"] == formats["SearchInbox", "end_date"] == "datetime"
    assert formats["RegisterUser", "email"] == formats["SendEmail", "to"] == "email"
    assert formats["RegisterUser", "phone"] == "phone"
    assert formats["HistoricWeather", "month"] == "month"
    assert formats["SendMessage", "message"] is None


@pytest.mark.parametrize("name", ORDER)
def test_times_say_in_which_format(name: str) -> None:
    forms = {"time": "HH:MM:SS", "datetime": "YYYY-MM-DD HH:MM:SS", "phone": "555-555-5555"}
    for part in TOOLTALK.tools[name].parameters["properties"].values():
        assert forms.get(part.get("x-format", ""), "") in part["description"]


def test_facts_that_tooltalks_documentation_has_wrong() -> None:
    assert "status: pending or complete}" in TOOLTALK.tools["GetReminders"].returns
    assert "next 3 days" in TOOLTALK.tools["ForecastWeather"].description
    assert "enum" not in TOOLTALK.tools["CreateEvent"].parameters["properties"]["name"]


def test_searches_name_the_ids_they_are_matched_by() -> None:
    for tool in TOOLTALK.tools.values():
        assert (tool.match.ids is not None) == (tool.match.response is Response.IDS)
        if tool.match.ids is not None:
            records, id_field = tool.match.ids
            assert re.search(rf"{records}: list of {{{id_field}, ", tool.returns)
        assert set(tool.match.arguments) <= set(tool.parameters["properties"])


def test_the_documentation_is_short() -> None:
    """About 3,000 tokens of SmolLM2 for all tools, at 4 characters a token and more."""
    texts = [
        f"{doc.name} {doc.description} {doc.returns} {json.dumps(doc.parameters)}" for doc in TOOLTALK.docs()
    ]
    assert len("".join(texts)) < 13_500


def test_documentation_without_descriptions_keeps_names_types_and_requirements() -> None:
    for bare, full in zip(TOOLTALK.docs(descriptions=False), TOOLTALK.docs(), strict=True):
        assert (bare.name, bare.description, bare.returns) == (full.name, "", "")
        assert bare.parameters["required"] == full.parameters["required"]
        for name, part in bare.parameters["properties"].items():
            assert part == {**full.parameters["properties"][name], "description": ""}


def test_documentation_of_some_tools_comes_in_the_order_of_all() -> None:
    docs = TOOLTALK.docs(["SendEmail", "AddAlarm", "AddAlarm"])
    assert [doc.name for doc in docs] == ["AddAlarm", "SendEmail"]
    assert TOOLTALK.docs([]) == ()


def test_documentation_of_an_unknown_tool_is_refused() -> None:
    with pytest.raises(RigError, match="no tool is named Foo"):
        TOOLTALK.docs(["AddAlarm", "Foo"])


def test_runs_know_the_tools_by_a_hash_that_changes_with_them() -> None:
    """Where the code is another, both hashes have to be; how it imports what it needs is not of the tools."""
    digest = hashlib.sha256()
    for module in (account, mail, planner, weather):
        lines = inspect.getsource(module).splitlines()
        for node in ast.parse("\n".join(lines)).body:
            if not isinstance(node, ast.Import | ast.ImportFrom):
                digest.update("\n".join(lines[node.lineno - 1 : node.end_lineno]).encode())
    assert (digest.hexdigest()[:16], TOOLTALK.sha256[:16]) == ("adf608f281093a84", "b8c9df0fc5c55abc")

"""28 tools as a user brings them, for tests of leaked calls: some have names that are everyday words."""

from random import Random

from rig.core.calls import Call, Json, JsonObject

_KINDS = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "n": {"type": "number"},
    "b": {"type": "boolean"},
    "l": {"type": "array", "items": {"type": "string"}},
}
_TOOLS = {
    "get_weather": ("city:s days:i?", "Forecast of the weather in a city"),
    "send_email": ("to:s subject:s body:s? cc:l?", "Send an e-mail"),
    "search": ("query:s limit:i?", "Search the web"),
    "create_event": ("title:s start:s end:s? attendees:l?", "Create an event in the calendar"),
    "delete_event": ("event_id:s", "Delete an event"),
    "list_files": ("path:s?", "List the files in a folder"),
    "read_file": ("path:s", "Read a file"),
    "write_file": ("path:s content:s append:b?", "Write a file"),
    "run_shell": ("command:s timeout:i?", "Run a command"),
    "calculator": ("expression:s", "Calculate"),
    "translate": ("text:s target:s", "Translate a text"),
    "get_stock_price": ("symbol:s", "Price of a stock"),
    "convert_currency": ("amount:n source:s target:s", "Convert an amount of money"),
    "book_flight": ("origin:s destination:s date:s seats:i?", "Book a flight"),
    "search_hotels": ("city:s check_in:s nights:i?", "Search hotels"),
    "set_alarm": ("time:s label:s?", "Set an alarm"),
    "play_music": ("artist:s? song:s? shuffle:b?", "Play music"),
    "AddReminder": ("task:s due_date:s", "Add a reminder"),
    "QueryBalance": ("account:s", "Balance of an account"),
    "math.factorial": ("number:i", "Factorial of a number"),
    "db-query": ("sql:s readonly:b?", "Query the database"),
    "files/move": ("source:s destination:s", "Move a file"),
    "now": ("", "The time"),
    "get_user": ("name:s", "Look a user up"),
    "update_ticket": ("ticket_id:i status:s tags:l?", "Change a ticket"),
    "summarize": ("text:s words:i?", "Summarize a text"),
    "route": ("origin:s destination:s mode:s?", "Find a route"),
    "天气查询": ("城市:s", "查询天气"),
}


def _schema(parameters: str) -> JsonObject:
    parts = [part.partition(":") for part in parameters.split()]
    return {
        "type": "object",
        "properties": {name: _KINDS[kind.rstrip("?")] for name, _, kind in parts},
        "required": [name for name, _, kind in parts if not kind.endswith("?")],
        "additionalProperties": False,
    }


SCHEMAS: dict[str, JsonObject] = {name: _schema(parameters) for name, (parameters, _) in _TOOLS.items()}
DESCRIPTIONS = {name: description for name, (_, description) in _TOOLS.items()}
_WORDS = (
    *("Oslo", "São Paulo", "a report", "2026-03-14", "Anna Berg", "MSFT", "docs/plan.md", "07:30", "München"),
    *("it's late", "ping 10.0.0.1", "3 * (4 + 5)", "SELECT 1;", "hi@ex.org", "北京", "Line one", "a, b; c"),
)


def call(random: Random, names: list[str] | None = None) -> Call:
    """A call that its tool accepts, with at least one argument if it has any."""
    name = random.choice(names or list(SCHEMAS))
    schema = SCHEMAS[name]
    required = schema["required"] or list(schema["properties"])[:1]
    others = [key for key in schema["properties"] if key not in required and random.random() < 0.4]
    return Call(name, {key: _value(random, schema["properties"][key]) for key in [*required, *others]})


def _value(random: Random, schema: JsonObject) -> Json:
    match schema["type"]:
        case "string":
            return random.choice(_WORDS)
        case "integer":
            return random.randrange(1, 400)
        case "number":
            return random.choice((9.5, 100, 0.25))
        case "boolean":
            return random.random() < 0.5
    return [random.choice(_WORDS) for _ in range(random.randrange(1, 3))]

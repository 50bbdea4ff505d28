"""A small checkout of our own in the shape of τ²-bench's: a lamp for the agent, and a knob for the user."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ENVIRONMENT = """
import hashlib, json
from types import SimpleNamespace

class Environment:
    def __init__(self, policy, tools, user_tools, is_solo):
        self.policy, self.tools, self.user_tools, self.is_solo = policy, tools, user_tools, is_solo
        self.syncs = 0

    def sync_tools(self):
        self.syncs += 1
        self.bulb = self.tools.db["lamp"]

    def set_state(self, initialization_data, initialization_actions, message_history):
        if initialization_data is not None:
            for kit, data in (
                (self.tools, initialization_data.agent_data),
                (self.user_tools, initialization_data.user_data),
            ):
                if data is not None:
                    kit.update_db(data)
        for call in initialization_actions or ():
            kit = self.user_tools if call.env_type == "user" else self.tools
            getattr(kit, call.func_name)(**call.arguments)
            self.sync_tools()
        self.sync_tools()

    def get_response(self, message):
        try:
            is_users = message.name in self.user_tools.tools if self.is_solo else message.requestor == "user"
            kit = self.user_tools if is_users else self.tools
            text, error = kit.use_tool(message.name, **message.arguments), False
            self.sync_tools()
        except Exception as fault:
            text, error = f"Error: {fault}", True
        return SimpleNamespace(content=text if isinstance(text, str) else json.dumps(text), error=error)

    def get_db_hash(self):
        return hashlib.sha256(json.dumps(self.tools.db, sort_keys=True).encode()).hexdigest()

    def get_user_db_hash(self):
        return hashlib.sha256(json.dumps(self.user_tools.db, sort_keys=True).encode()).hexdigest()
"""
DOMAIN = '''
import json, os
from pathlib import Path
from types import SimpleNamespace
import toml
from addict import Dict
from docstring_parser import parse
from dotenv import load_dotenv
from loguru import logger
from tau2.environment.environment import Environment

load_dotenv()
logger.info("loaded")
DATA = Path(os.environ["TAU2_DATA_DIR"]) / "tau2" / "domains" / "mock"

def loaded(path):
    with open(path) as file:
        return toml.load(file)

class Kit:
    def __init__(self, db):
        self.db = db

    @property
    def tools(self):
        return {name: getattr(self, name) for name in self.names}

    def use_tool(self, tool_name, **arguments):
        if tool_name not in self.names:
            raise ValueError(f"there is no {tool_name}")
        return self.tools[tool_name](**arguments)

    def tool_type(self, name):
        return SimpleNamespace(value="write" if name in ("light", "press", "hang") else "read")

    def update_db(self, data):
        merged = Dict(self.db)
        merged.update(Dict(data))
        self.db = merged.to_dict()

    def get_tools(self):
        docs = {name: parse(tool.__doc__) for name, tool in self.tools.items()}
        return {name: SimpleNamespace(openai_schema={"function": {
            "name": name, "description": doc.short_description, "parameters": {
                "type": "object", "required": [part.arg_name for part in doc.params],
                "properties": {part.arg_name: {"type": "boolean", "description": part.description}
                               for part in doc.params}}}}) for name, doc in docs.items()}

class Agent(Kit):
    names = ("light", "look", "transfer_to_human_agents", "hang", "leave")

    def light(self, on):
        """Switches the lamp.

        Args:
            on: Whether it is to be on.
        """
        self.db["lamp"] = on
        self.db["marks"].append(on)
        return {"lamp": on}

    def look(self):
        """Says how the lamp is."""
        print("printed by a tool")
        return {"lamp": self.db["lamp"]}

    def transfer_to_human_agents(self, summary=""):
        """Hands over."""
        return "Transfer successful"

    def hang(self):
        """Never ends."""
        while True:
            pass

    def leave(self):
        """Ends everything."""
        raise SystemExit(3)

    def assert_lamp(self, on):
        return self.db["lamp"] == on

    def assert_nothing(self):
        raise KeyError("nothing")

    def assert_text(self):
        return "yes"

class User(Kit):
    names = ("press",)

    def press(self):
        """Presses the knob."""
        self.db["presses"] += 1
        return "pressed"

    def break_knob(self, times):
        self.db["presses"] = -times

    def assert_presses(self, count):
        return self.db["presses"] == count

def get_environment(solo_mode=False):
    policy = (DATA / ("policy_solo.md" if solo_mode else "policy.md")).read_text()
    return Environment(policy, Agent(loaded(DATA / "db.toml")), User({"presses": 0}), solo_mode)
'''


def write_checkout(place: Path, tasks: Sequence[dict[str, Any]]) -> Path:
    """Write the checkout with these tasks; the folder of its domain `mock`."""
    code, data = place / "src/tau2", place / "data/tau2/domains/mock"
    for name, text in {"environment/environment": ENVIRONMENT, "domains/mock/environment": DOMAIN}.items():
        file = code / f"{name}.py"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    (code / "__init__.py").write_text("raise AssertionError('everything would be imported')")
    data.mkdir(parents=True)
    (data / "tasks.json").write_text(json.dumps(tasks))
    (data / "db.toml").write_text("lamp = false\nmarks = []\n[room]\nwindow = 1\ndoor = 2\n")
    (data / "policy.md").write_text("With a user.")
    (data / "policy_solo.md").write_text("Lamps are to be on.")
    (place / ".env").write_text("SECRET=1\n")
    return data

"""The worlds that scenes are played in: ToolTalk's, with a user's alarms, events and mail, or a toolbox's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from rig.core.calls import SESSION_TOKEN, SIGNED_IN, JsonObject
from rig.core.times import INSTANT
from rig.plugins.author.cast import Cast, CastMember, hexes
from rig.plugins.author.draft import ConversationDraft
from rig.plugins.author.play import Stage, Unplayable
from rig.plugins.author.scenes import Scene
from rig.plugins.author.voices import MISFITS, Day, DayAndTime, Manner, Scope, UnknownName
from rig.plugins.documents.documents import DocumentPart
from rig.world.toolbox import Simulator, Toolbox

DRAWN = (
    *("AddAlarm", "CreateEvent", "AddReminder", "SendEmail", "SendMessage", "UserLogin", "RegisterUser"),
    "SendVerificationCode",
)
"""The tools that make up ids, which differ in every conversation."""

_RECORDS = {
    "alarms": ("Alarm", "alarm_id", (4, 4)),
    "events": ("Calendar", "event_id", (8, 4)),
    "reminders": ("Reminder", "reminder_id", (2, 4)),
    "emails": ("Email", "email_id", (2, 4, 8)),
    "messages": ("Message", "message_id", (8, 8)),
}
_SECTIONS = (*_RECORDS, "weather", "noise", "account")


@dataclass
class SceneWorld:
    """The world of one conversation, just as a toolbox of one's own makes it. Scenes cannot add to it."""

    random: Random
    now: datetime
    toolbox: Toolbox
    simulator: Simulator
    lists: Mapping[str, Any]
    cast: Cast = field(init=False)

    def __post_init__(self) -> None:
        self.cast = Cast(self.random, self.now)

    def stage(self, login: str) -> Stage:
        """Return an empty stage on which scenes are prepared and performed."""
        names: dict[str, Any] = {
            "now": DayAndTime(self.now, self.now),
            "today": Day(self.now.date(), self.now),
        }
        scope = Scope(self.random, self.now, names, Manner.of(self.random))
        return Stage(self.random, self.cast, scope, ConversationDraft(self._begin), self.lists)

    def add(self, part: DocumentPart, scope: Scope) -> None:
        """Add a scene's `world` part to the world. Raises RigError."""
        raise part.fault(f"the world of {self.toolbox.name} is made by its code; leave out `world`")

    def about(self) -> JsonObject:
        """Return the parts of a conversation that say who speaks, when and where."""
        return {"scenario": "", "user": {"username": ""}, "metadata": {"timestamp": f"{self.now:{INSTANT}}"}}

    def _begin(self) -> Simulator:
        self.simulator.start(self.now)
        return self.simulator


@dataclass
class Household(SceneWorld):
    """ToolTalk's world, with only the user and some people that the user knows."""

    me: CastMember = field(init=False)
    login: str = "in"
    records: dict[str, list[JsonObject]] = field(default_factory=lambda: {name: [] for name in _RECORDS})
    skies: dict[tuple[str, str], str] = field(default_factory=dict)
    account: JsonObject = field(default_factory=dict)

    def stage(self, login: str) -> Stage:
        self.login = login
        self.me = self.cast.person(with_account=login != "new")
        self.cast.city()
        stage = super().stage(login)
        stage.scope.names |= {"me": self.me, "home": self.cast.towns[0].name}
        stage.called = self._called
        return stage

    def add(self, part: DocumentPart, scope: Scope) -> None:
        for name, section in part.known_fields(_SECTIONS).items():
            for entry in [section] if name in ("account", "noise") else section.items():
                try:
                    if name == "account":
                        self.account |= scope.value(section.value)
                    elif name == "noise":
                        self._add_noise(section.value, scope)
                    else:
                        self._add_record(name, dict(entry.value), scope)
                except (UnknownName, *MISFITS) as error:
                    raise entry.fault(f"{type(error).__name__}: {error}") from error

    def _add_record(self, kind: str, template: JsonObject, scope: Scope) -> None:
        condition = template.pop("if", {})
        if any(str(scope.value(f"{{{name}}}")) != str(value) for name, value in condition.items()):
            return
        name = template.pop("as", None)
        values = scope.value(template)
        if kind == "weather":
            self.skies[values["location"], values["day"]] = values["sky"]
            return
        _, key, sizes = _RECORDS[kind]
        record = {key: hexes(self.random, *sizes), **self._record(kind, values)}
        self.records[kind].append(record)
        if name is not None:
            scope.names[name] = record

    def _add_noise(self, counts: JsonObject, scope: Scope) -> None:
        """Add records that no turn is about; events and reminders are more than a week away."""
        for kind, count in counts.items():
            for template in self.random.sample(list(self.lists[f"noise_{kind}"]), int(count)):
                values = dict(template)
                if kind == "events":
                    at = self.now.replace(hour=self.random.randint(8, 18), minute=0)
                    values["start_time"] = f"{at + timedelta(days=self.random.randint(12, 24)):{INSTANT}}"
                elif kind == "reminders":
                    due = self.now.replace(hour=9, minute=0) + timedelta(days=self.random.randint(9, 20))
                    values["due_date"] = f"{due:{INSTANT}}"
                elif kind == "messages" or values.get("sender") == "person":
                    who = self.cast.person()
                    values["sender"] = who.username if kind == "messages" else who.email
                    scope.names["sender"] = who
                self._add_record(kind, values, scope)

    def _record(self, kind: str, values: JsonObject) -> JsonObject:
        """Return a record as the world's files store it, without its id."""
        if kind == "alarms":
            return {"time": values["time"]}
        if kind == "reminders":
            due, status = values.get("due_date"), values.get("status", "pending")
            return {"task": values["task"], "due_date": due, "status": status}
        if kind == "emails":
            texts = {name: values[name] for name in ("sender", "subject", "body")}
            return {"date": values.get("date") or self._earlier(), "receivers": [self.me.email], **texts}
        if kind == "messages":
            sent = values.get("timestamp") or self._earlier()
            return {"timestamp": sent, "sender": values["sender"], "message": values["message"]}
        guests = values.get("attendees")
        end = datetime.fromisoformat(values["start_time"]) + timedelta(minutes=values.get("minutes", 60))
        return {
            "name": values["name"],
            "event_type": "meeting" if guests else "event",
            "start_time": values["start_time"],
            "end_time": values.get("end_time", f"{end:{INSTANT}}"),
            "location": values.get("location"),
            "description": values.get("description"),
            "attendees": [*guests, self.me.username] if guests else None,
        }

    def _earlier(self) -> str:
        return f"{self.now - timedelta(minutes=5 * self.random.randint(4, 560)):{INSTANT}}"

    def _called(self, tool: str, stage: Stage) -> None:
        if tool == "SendVerificationCode":
            accounts: Any = stage.draft.simulator.world
            stage.scope.names["code"] = accounts.accounts.find(self.me.username).verification_code

    def _seeds(self) -> JsonObject:
        owner = self.me.username
        accounts = {person.username: person.account for person in self.cast.people}
        if self.account:
            accounts[owner] |= self.account
        seeds: JsonObject = {"Account": accounts}
        for kind, (database, key, _) in _RECORDS.items():
            records = sorted(self.records[kind], key=lambda record: self.random.random())
            if self.login != "new":
                seeds[database] = {owner: {record[key]: record for record in records}}
        seeds["Weather"], seeds["HistoricWeather"] = self.cast.weather(self.skies)
        return seeds | {"Drawn": {tool: self.random.randrange(40) for tool in DRAWN}}

    def _begin(self) -> Simulator:
        self.seeds = self._seeds()
        try:
            self.simulator.start(self.now, self.me.username, self._credentials, self.seeds)
        except KeyError as error:
            raise Unplayable(str(error)) from error
        return self.simulator

    @property
    def _credentials(self) -> dict[str, Any]:
        return {SESSION_TOKEN: SIGNED_IN} if self.login == "in" else {}

    def about(self) -> JsonObject:
        fields = ("username", "email", "phone", "name", "password")
        signed_in = {**self._credentials, **({"username": self.me.username} if self._credentials else {})}
        about = {"location": self.cast.towns[0].name, "timestamp": f"{self.now:{INSTANT}}"}
        return {
            "scenario": "",
            "user": {**{name: getattr(self.me, name) for name in fields}, **self._credentials},
            "metadata": {**about, **signed_in},
            "world": self.seeds,
        }


def is_in_time(scene: Scene, now: datetime) -> bool:
    """Return whether a scene can be played at this time of day."""
    if scene.now is None:
        return True
    first, _, last = scene.now.partition("..")
    return first.zfill(5) <= f"{now:%H:%M}" <= last.zfill(5)

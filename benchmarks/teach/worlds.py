"""Worlds of one conversation each: a user, some acquaintances, and a few things of theirs, all made up."""

from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from random import Random

from benchmarks.teach import words
from benchmarks.teach.speech import note
from rig.core.calls import JsonObject
from rig.plugins.author.speech import capital, expand, neat
from rig.plugins.tooltalk_tools.seeds import fill
from rig.plugins.tooltalk_tools.world import ToolTalkWorld

STAMP = "%Y-%m-%d %H:%M:%S"
MONTHS = tuple(f"{date(2000, month, 1):%B}" for month in range(1, 13))
_DRAWS = (
    "AddAlarm",
    "CreateEvent",
    "AddReminder",
    "SendEmail",
    "SendMessage",
    "UserLogin",
    "RegisterUser",
    "SendVerificationCode",
)


def invented(random: Random, syllables: int | None = None) -> str:
    """A word that there may not be, such as "Brealond"."""
    parts = (
        random.choice(words.ONSETS) + random.choice(words.VOWELS) + random.choice(words.CODAS)
        for _ in range(syllables or 2)
    )
    return "".join(parts).capitalize()


def town(random: Random) -> str:
    """A town: one that there is, or an invented one."""
    if random.random() < 0.65:
        return random.choice(words.CITIES)
    name = invented(random, 1) + random.choice(words.TOWN_ENDINGS)
    return random.choice(
        [name, name, invented(random), f"{random.choice(['Port', 'New', 'San', 'Upper'])} {name}"]
    )


def place(random: Random) -> str:
    """Where something is: a place of the list, or one that is put together."""
    roll = random.random()
    if roll < 0.35:
        return random.choice(words.PLACES)
    spot = random.choice(words.SPOTS)
    owner = random.choice([firm(random)[0], f"the {random.choice(words.SPOTS)}", invented(random)])
    if roll < 0.7:
        return f"the {spot} {random.choice(['behind', 'next to', 'near', 'opposite', 'beside'])} {owner}"
    if roll < 0.85:
        kind = random.choice(["Street", "Road", "Lane", "Hall", "Park"])
        return f"{invented(random)} {kind} {random.randint(2, 90)}"
    return random.choice([f"the {invented(random)} {spot}", f"room {random.randint(2, 40)}", firm(random)[0]])


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with an account, or about to have one."""

    first: str
    last: str
    username: str
    email: str
    phone: str
    password: str

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


@dataclass(frozen=True, slots=True)
class Mail:
    """An email in the inbox, what it is about, and one thing that it says."""

    record: JsonObject
    sender: str
    topic: str
    says: str
    asks: str


@dataclass(slots=True)
class Things:
    """All that a conversation starts from. Records are as in the seed files of a world."""

    now: datetime
    cities: list[str]
    """Where there is weather; the first is where the user is."""
    me: Person
    others: list[Person]
    alarms: list[JsonObject] = field(default_factory=list)
    events: list[JsonObject] = field(default_factory=list)
    reminders: list[JsonObject] = field(default_factory=list)
    mails: list[Mail] = field(default_factory=list)
    messages: list[JsonObject] = field(default_factory=list)

    @property
    def city(self) -> str:
        return self.cities[0]

    def world(self, random: Random) -> ToolTalkWorld:
        """The world in which this is so. Its tools have made up some ids already, other ones each time."""
        owner = self.me.username
        people = [self.me, *self.others]
        seeds: JsonObject = {
            "Account": {
                each.username: {
                    "username": each.username,
                    "email": each.email,
                    "phone": each.phone,
                    "name": each.name,
                    "password": each.password,
                    "session_token": None,
                }
                for each in people
            },
            "Alarm": {owner: {each["alarm_id"]: each for each in self.alarms}},
            "Calendar": {owner: {each["event_id"]: each for each in self.events}},
            "Reminder": {owner: {each["reminder_id"]: each for each in self.reminders}},
            "Email": {owner: {mail.record["email_id"]: mail.record for mail in self.mails}},
            "Message": {owner: {each["message_id"]: each for each in self.messages}},
            "Weather": {city.lower(): _days(random, self.now) for city in self.cities},
            "HistoricWeather": {
                city.lower(): {name.lower(): _month(random) for name in MONTHS} for city in self.cities
            },
        }
        world = ToolTalkWorld()
        fill(world.database, seeds)
        drawn = [{"tool": tool, "drawn": random.randrange(40)} for tool in _DRAWS]
        world.database.table("id_generators").insert_all(drawn)
        return world


def things(random: Random) -> Things:
    """A new user's things at some moment of 2024 to 2026."""
    day = date(2024, 1, 1) + timedelta(days=random.randrange(3 * 365))
    now = datetime.combine(day, time(random.randint(6, 22), random.randrange(0, 60, 5)))
    people = _people(random, random.randint(3, 5))
    cities = list(dict.fromkeys(town(random) for _ in range(4)))
    made = Things(now, cities, people[0], people[1:])
    names = [each.first for each in made.others]
    made.alarms = [
        {"alarm_id": hexes(random, 4, 4), "time": f"{moment:%H:%M:%S}"}
        for moment in sorted({_alarm_time(random) for _ in range(random.choice([1, 2, 3, 3, 4]))})
    ]
    made.events = _events(random, now, made)
    made.reminders = _reminders(random, now, names)
    made.mails = [mail(random, now, made.me, made.others) for _ in range(random.choice([1, 2]))]
    made.messages = _messages(random, now, made)
    return made


def hexes(random: Random, *sizes: int) -> str:
    """An id: groups of so many hexadecimal digits."""
    return "-".join(f"{random.randrange(16**size):0{size}x}" for size in sizes)


def password(random: Random) -> str:
    """A password as people make them up."""
    first, second = random.sample(words.PASSWORD_WORDS, 2)
    if random.random() < 0.35:
        first = random.choice([str.lower, str.capitalize])(invented(random))
    number = random.choice(
        [str(random.randint(1, 99)), str(random.randint(100, 9999)), str(random.randint(1, 9))]
    )
    mark = random.choice("!_-.*#&$%+?")
    letters = "".join(
        random.choice("abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789")
        for _ in range(random.randint(7, 10))
    )
    return random.choice(
        [
            f"{first}{number}",
            f"{first}{mark}{number}",
            f"{first}{mark}{second}",
            f"{first}{mark}{second}{number}",
            f"{number}{mark}{first}",
            f"{first}-{second}-{number}",
            letters,
            f"{first.upper()}{number}{mark}",
        ]
    )


def phone(random: Random) -> str:
    """A phone number of the form that the tools want."""
    return f"{random.randint(201, 989)}-555-{random.randint(0, 9999):04}"


def person(random: Random) -> Person:
    """Somebody new."""
    first, last = random.choice(words.FIRST), random.choice(words.LAST)
    if random.random() < 0.4:
        last = invented(random)
    f, l = first.lower(), last.lower()  # noqa: E741 - beside f, for the last name
    number = random.randint(2, 99)
    username = random.choice(
        [
            f"{f}_{l}",
            f"{f}.{l}",
            f"{f}{l}",
            f"{f[0]}{l}",
            f"{f}_{l[0]}",
            f"{l}_{f[0]}",
            f"{f}{number}",
            f"{l}{number}",
            f"{f}_{number}",
            f"{f[0]}.{l}",
            f"{l}.{f}",
            f"{f}{l[:2]}",
            f"{f}_{l[:2]}",
            f"the_{l}",
        ]
    )
    host = random.choice([*(f"{host}.example" for host in words.MAIL_HOSTS), f"{firm(random)[1]}.example"])
    address = random.choice([f"{f}.{l}", f, f"{f[0]}.{l}", f"{f}{number}", f"{l}.{f}", f"{f}_{l}"])
    return Person(first, last, username, f"{address}@{host}", phone(random), password(random))


def firm(random: Random) -> tuple[str, str]:
    """A firm's name and its domain, without the ending."""
    first, last = random.choice(words.FIRM_FIRST), random.choice(words.FIRM_LAST)
    if random.random() < 0.4:
        first = invented(random)
    return f"{first} {last}", f"{first}{last}".lower()


def task(random: Random, names: list[str]) -> str:
    """Something to do, such as "return the ladder"."""
    if random.random() < 0.5:
        return random.choice(words.TASKS).format(name=random.choice(names))
    tail = random.choice(
        ["", "", "", f" for {random.choice(names)}", " from the storage unit", f" to {random.choice(names)}"]
    )
    return f"{random.choice(words.TASK_VERBS)} the {random.choice(words.THINGS)}{tail}"


def title(random: Random, names: list[str]) -> str:
    """What an event is called."""
    if random.random() < 0.4:
        return random.choice(words.EVENT_NAMES).format(name=random.choice(names), city=town(random))
    return f"{capital(random.choice(words.EVENT_TOPICS))} {random.choice(words.EVENT_KINDS)}"


def hours(random: Random, day: date) -> tuple[datetime, datetime]:
    """When something begins and ends on a day."""
    start = datetime.combine(day, time(random.randint(8, 19), random.choice([0, 0, 0, 30, 30, 15, 45])))
    if random.random() < 0.3:  # over noon, from it or up to it, where the hours' names begin anew
        start = start.replace(hour=random.choice([9, 10, 11, 12]))
        return start, start + timedelta(hours=random.choice([1, 2, 3, 4, 5]))
    return start, start + timedelta(minutes=random.choice([30, 45, 60, 60, 60, 90, 120, 120, 180]))


def event(random: Random, day: date, made: Things) -> JsonObject:
    """An event of the user's calendar on a day."""
    start, end = hours(random, day)
    guests = random.sample([each.username for each in made.others], random.choice([0, 0, 0, 1, 2]))
    where = place(random) if random.random() < 0.6 else None
    return {
        "event_id": hexes(random, 8, 4),
        "name": title(random, [each.first for each in made.others]),
        "event_type": "meeting" if guests else "event",
        "start_time": f"{start:{STAMP}}",
        "end_time": f"{end:{STAMP}}",
        "location": capital(where) if where else None,
        "description": None,
        "attendees": [*guests, made.me.username] if guests else None,
    }


def mail(random: Random, now: datetime, me: Person, others: list[Person]) -> Mail:
    """An email of the last days. Its topic is in the subject or in the body."""
    topic = random.choice(words.TOPICS)
    if random.random() < 0.5:
        writer = random.choice(others)
        sender, address, signed = writer.first, writer.email, random.choice([writer.first, writer.name])
    else:
        sender, domain = firm(random)
        address, signed = (
            f"{random.choice(_DESKS)}@{domain}.example",
            sender,
        )
    sent = now - timedelta(minutes=random.randint(30, 12000))
    ahead = (now + timedelta(days=random.randint(1, 20))).date()
    at = neat(time(random.randint(8, 19), random.choice([0, 15, 30, 45])))
    fields = {
        "topic": topic,
        "day": f"{ahead:%A}, {ahead:%B} {ahead.day}",
        "at": at,
        "price": random.randint(2, 90) * 10,
        "name": random.choice(others).first,
        "number": random.randint(2, 40),
        "place": place(random),
    }
    says, asks = random.choice(_FACTS)
    says = expand(random, says, **fields)
    subject = random.choice(
        [
            capital(topic),
            f"Your {topic}",
            f"About the {topic}",
            f"{capital(topic)}: {random.choice(['news', 'update', 'question', 'reminder', 'details'])}",
        ]
    )
    more = random.choice(
        [
            "",
            "",
            " "
            + random.choice(
                [
                    "Let me know if that suits you.",
                    "Please confirm.",
                    "Sorry for the delay.",
                    "See you soon.",
                    "Call me with any questions.",
                ]
            ),
        ]
    )
    record = {
        "email_id": hexes(random, 2, 4, 8),
        "date": f"{sent:{STAMP}}",
        "sender": address,
        "receivers": [me.email],
        "subject": subject,
        "body": f"{random.choice(['Hi', 'Hello', 'Dear'])} {me.first},\n\n{capital(says)}.{more}\n\n{signed}",
    }
    return Mail(record, sender, topic, says, expand(random, asks, **fields))


_DESKS = ("info", "office", "hello", "service", "team", "orders", "desk")

_FACTS = (
    (
        "the {topic} [is planned for|is on|will take place on] {day} at {at}",
        "[when is the {topic}|what day is the {topic}|at what time is the {topic}]",
    ),
    (
        "the {topic} costs {price} euros [including tax|in total|]",
        "[how much is the {topic}|what does the {topic} cost]",
    ),
    (
        "[there is a problem with|we have to postpone|we had to cancel] the {topic} until {day}",
        "[what's wrong with the {topic}|what happened to the {topic}]",
    ),
    (
        "{name} [will take care of|is responsible for|asked about] the {topic}",
        "who [takes care of|handles] the {topic}",
    ),
    (
        "we need {number} [people|copies|boxes|chairs] for the {topic} by {day}",
        "[how many do they need for the {topic}|what do they need for the {topic}]",
    ),
    ("the {topic} has been moved to {place}", "where is the {topic} now"),
    (
        "could we [discuss|talk about|look at] the {topic} on {day} at {at}",
        "[what do they want about the {topic}|what about the {topic}]",
    ),
)


def _days(random: Random, now: datetime) -> JsonObject:
    """Four days of weather, from today on."""
    found = {}
    for ahead in range(4):
        low = random.randint(10, 75)
        day = f"{now + timedelta(days=ahead):%Y-%m-%d}"
        found[day] = {
            "date": day,
            "high": low + random.randint(5, 25),
            "low": low,
            "conditions": random.choice(words.CONDITIONS),
        }
    return found


def _month(random: Random) -> JsonObject:
    """A month's usual weather."""
    low = random.randint(5, 75)
    high = low + random.randint(8, 22)
    return {
        "min_temp": low,
        "max_temp": high,
        "record_min_temp": low - random.randint(8, 25),
        "record_max_temp": high + random.randint(8, 25),
        "avg_rainfall": random.randint(0, 90) / 10,
        "snow_days": max(0, (40 - low) // 4),
    }


def _people(random: Random, count: int) -> list[Person]:
    found: dict[str, Person] = {}
    while len(found) < count:
        each = person(random)
        if each.first not in {other.first for other in found.values()}:
            found[each.username] = each
    return list(found.values())


def _alarm_time(random: Random) -> time:
    return time(random.choice([5, 5, 6, 6, 6, 7, 7, 8, 9, 13, 15, 17, 20, 22]), random.randrange(0, 60, 5))


def _events(random: Random, now: datetime, made: Things) -> list[JsonObject]:
    found: dict[str, JsonObject] = {}
    days = [random.choice([0, 1, 1, 2, 3, 4, 5, 6, 8, 11]) for _ in range(random.randint(1, 3))]
    for ahead in random.choices(days, k=random.choice([1, 2, 2, 3])):
        each = event(random, (now + timedelta(days=ahead)).date(), made)
        found[each["name"]] = each
    return list(found.values())


def _reminders(random: Random, now: datetime, names: list[str]) -> list[JsonObject]:
    found: dict[str, JsonObject] = {}
    for _ in range(random.choice([1, 2, 2, 3])):
        due = datetime.combine(
            (now + timedelta(days=random.randint(-2, 14))).date(),
            time(random.randint(8, 20), random.choice([0, 30])),
        )
        text = capital(task(random, names))
        found[text] = {
            "reminder_id": hexes(random, 2, 4),
            "task": text,
            "due_date": f"{due:{STAMP}}" if random.random() < 0.8 else None,
            "status": "pending" if random.random() < 0.9 or not found else "complete",
        }
    return list(found.values())


def _messages(random: Random, now: datetime, made: Things) -> list[JsonObject]:
    found = []
    for number in range(random.choice([1, 2, 3])):
        sent = now - timedelta(minutes=random.randint(5, 400) + number * 700)
        found.append(
            {
                "message_id": hexes(random, 8, 8),
                "timestamp": f"{sent:{STAMP}}",
                "sender": random.choice(made.others).username,
                "message": note(random, sent, [each.first for each in made.others]).direct,
            }
        )
    return found

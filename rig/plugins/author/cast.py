"""People and towns for made-up worlds, and the weather there."""

import calendar
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, ClassVar, NamedTuple

from rig.core.budget import parse_toml
from rig.core.calls import JsonObject

MONTHS = tuple(calendar.month_name)[1:]


@dataclass(frozen=True, slots=True)
class CastMember:
    """A person who has an account, or is about to open one."""

    first: str
    last: str
    username: str
    email: str
    phone: str
    password: str
    they: str = "they"
    parts: ClassVar[tuple[str, ...]] = (
        *("first", "last", "name", "known", "username", "email", "phone", "password"),
        *("they", "them", "their"),
    )

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def known(self) -> str:
        """What to call them when only their username was seen: the first name if the username contains it."""
        return self.first if self.first.lower() in self.username else self.username

    @property
    def them(self) -> str:
        return {"she": "her", "he": "him"}.get(self.they, "them")

    @property
    def their(self) -> str:
        return {"she": "her", "he": "his"}.get(self.they, "their")

    @property
    def account(self) -> JsonObject:
        """The account as it is stored in a world's files."""
        fields = ("username", "email", "phone", "name", "password")
        return {**{name: getattr(self, name) for name in fields}, "session_token": None}

    def __str__(self) -> str:
        return self.first


class Town(NamedTuple):
    """A town, its mean highs in January and July (°F), and the rain of a wet month in inches."""

    name: str
    january: float
    july: float
    rain: float

    def high(self, day: date) -> float:
        """Return the mean high of a day of the year, on a cosine between the two months."""
        turn = math.cos((day.timetuple().tm_yday - 15) / 365.25 * 2 * math.pi)
        return (self.january + self.july) / 2 + (self.january - self.july) / 2 * turn

    def month(self, number: int, random: Random) -> JsonObject:
        """Return a month's usual weather: temperatures in °F, rainfall in inches, days of snow."""
        top = round(self.high(date(2000, number, 15)))
        low = top - random.randint(12, 20)
        return {
            "min_temp": low,
            "max_temp": top,
            "record_min_temp": low - random.randint(12, 24),
            "record_max_temp": top + random.randint(9, 19),
            "avg_rainfall": round(self.rain * random.uniform(0.35, 1), 1),
            "snow_days": max(0, (40 - low) // 3),
        }

    def day(self, when: date, random: Random, sky: str = "any") -> JsonObject:
        """Draw the weather of a day; `sky` is "wet", "dry" or "any"."""
        top = round(self.high(when) + random.uniform(-7, 7))
        wet = sky == "wet" or (sky == "any" and random.random() < 0.4)
        kind = ("snow" if top < 36 else "wet") if wet else ("cold" if top < 45 else "dry")
        fall = random.randint(6, 10) if wet else random.randint(11, 19)
        return {"date": f"{when}", "high": top, "low": top - fall, "conditions": random.choice(_SKIES[kind])}


_SKIES = {
    "wet": ("Rain", "Steady rain", "Heavy showers", "Rain most of the day", "Thundery showers"),
    "snow": ("Snow", "Snow showers", "Heavy snow", "Snow turning to sleet"),
    "dry": ("Sunny", "Mostly sunny", "Dry with some clouds", "Clear skies", "Bright and dry"),
    "cold": ("Cold and clear", "Frosty but dry", "Dry and overcast", "Cold sunshine"),
}


class Lists(NamedTuple):
    """The lists of cast.toml."""

    first: tuple[tuple[str, str], ...]
    last: tuple[str, ...]
    hosts: tuple[str, ...]
    trades: tuple[str, ...]
    passwords: tuple[str, ...]
    towns: tuple[Town, ...]


@cache
def lists() -> Lists:
    """Read the names that ship with rig."""
    table = parse_toml(Path(__file__).with_name("cast.toml").read_text(encoding="utf-8"))
    first = tuple((name, they) for they in ("she", "he") for name in table[they].split())
    towns = []
    for line in " ".join(table["cities"].split()).split("; "):
        name, *numbers = line.rsplit(" ", 3)
        towns.append(Town(name, *map(float, numbers)))
    last, hosts, trades, words = (
        tuple(table[part].split()) for part in ("last", "hosts", "trades", "passwords")
    )
    return Lists(first, last, hosts, trades, words, tuple(towns))


@dataclass(slots=True)
class Cast:
    """The people, towns and months drawn for one conversation. None of them is drawn twice."""

    random: Random
    now: datetime
    people: list[CastMember] = field(default_factory=list)
    towns: list[Town] = field(default_factory=list)
    months: list[str] = field(default_factory=list)

    def person(self, *, with_account: bool = True) -> CastMember:
        """Draw a new person. Without an account they are not added to `people`."""
        random, names = self.random, lists()
        used = {part for person in self.people for part in (person.first, person.last)}
        first, they = random.choice([pair for pair in names.first if pair[0] not in used])
        last = random.choice([name for name in names.last if name not in used])
        f, l = first.lower(), last.lower()  # noqa: E741 - beside f, for the last name
        username = random.choice(
            [f"{f}.{l[:4]}", f"{f[0]}{l}", f"{f}{random.randint(11, 98)}", f"{l}_{f}", f"{f}_{l[:3]}"]
        )
        address = random.choice([f"{f}.{l}", f"{f[0]}.{l}", f"{f}{l[0]}", f"hello.{f}"])
        email = f"{address}@{random.choice(names.hosts)}"
        person = CastMember(first, last, username, email, self.phone(), self.password(), they)
        if with_account:
            self.people.append(person)
        return person

    def city(self) -> str:
        """Draw a town that was not drawn before and return its name."""
        town = self.random.choice([town for town in lists().towns if town not in self.towns])
        self.towns.append(town)
        return town.name

    def month(self) -> str:
        """Draw a month that was not drawn before and return its name."""
        self.months.append(self.random.choice([name for name in MONTHS if name not in self.months]))
        return self.months[-1]

    def phone(self) -> str:
        """Draw a phone number in the form that the tools accept."""
        return f"{self.random.randint(212, 985)}-555-{self.random.randint(1000, 9999)}"

    def password(self) -> str:
        """Draw a password of the kind that people make up."""
        first, second = self.random.sample(lists().passwords, 2)
        number, mark = self.random.randint(12, 987), self.random.choice("!#%+_-")
        forms = (f"{first}{mark}{number}", f"{number}{first}{mark}", f"{first}{mark}{second}{number % 10}")
        return self.random.choice(forms)

    def firm(self) -> dict[str, str]:
        """Draw a firm and return its name and its email address."""
        name, trade = self.random.choice(lists().last), self.random.choice(lists().trades)
        domain = f"{name}{trade}".lower()
        desk = self.random.choice(("post", "bookings", "counter", "care", "studio"))
        return {"name": f"{name} {trade}", "email": f"{desk}@{domain}.example"}

    def weather(self, skies: dict[tuple[str, str], str]) -> tuple[JsonObject, JsonObject]:
        """Draw the weather of four days and of the drawn months for every town; `skies` by town and day."""
        days = [(self.now + timedelta(days=ahead)).date() for ahead in range(4)]
        near = {
            town.name.lower(): {
                f"{day}": town.day(day, self.random, skies.get((town.name, f"{day}"), "any")) for day in days
            }
            for town in self.towns
        }
        months = dict.fromkeys([*self.months, f"{self.now:%B}"])
        usual = {
            town.name.lower(): {
                name.lower(): town.month(MONTHS.index(name) + 1, self.random) for name in months
            }
            for town in self.towns
        }
        return near, usual


KINDS: dict[str, Callable[[Cast], Any]] = {
    "person": Cast.person,
    "newcomer": lambda cast: cast.person(with_account=False),
    "city": Cast.city,
    "firm": Cast.firm,
    "password": Cast.password,
    "phone": Cast.phone,
    "month": Cast.month,
}
"""The kinds of slot that a single word names."""


def hexes(random: Random, *sizes: int) -> str:
    """Draw an id: groups of hexadecimal digits of these sizes, joined by hyphens."""
    return "-".join(f"{random.randrange(16**size):0{size}x}" for size in sizes)

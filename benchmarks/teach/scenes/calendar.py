"""The calendar: looked at, filled, changed, cleared."""

from datetime import date, datetime, timedelta
from typing import Any

from benchmarks.teach import words
from benchmarks.teach.speech import TAIL
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import STAMP, hours, place, title
from rig.plugins.author.speech import capital, clock, day, duration, full_day, neat, span


def look(talk: Talk) -> None:
    """See what there is on a day, and perhaps change or delete one of the things."""
    event = talk.random.choice(talk.things.events)
    found = look_at_day(talk, _starts(event).date())
    if found and _starts(event).date() > talk.now.date() and talk.random.random() < 0.8:
        follow_up(talk, talk.random.choice(found))


def look_at_day(talk: Talk, when: date) -> list[dict[str, Any]]:
    """Let the user ask what there is on a day."""
    said = day(talk.random, talk.now, when, weekday=0.5)
    talk.wish(
        "calendar_day",
        "[[what's|what is|what do i have|what have i got|anything] [in my calendar|"
        "planned|scheduled|on my agenda|on|] {said}?"
        "|do i have [anything|something|any appointments|plans] {said}?|what does my "
        "[day|schedule|calendar] look like {said}?"
        "|am i [free|busy] {said}?|show me my calendar {said}|what am i doing {said}?"
        "|what's happening {said}?|anything going on {said}?|{said}, what's on?|how full am i {said}?"
        "|where do i have to be {said}?|read me my calendar {said}|have i got plans {said}?]",
        said=said,
    )
    found = _query(talk, when, said)
    talk.reply(_listing(talk, found) if found else "[Nothing, you're free|There's nothing in your calendar].")
    return found


def look_at_event(talk: Talk, event: dict[str, Any]) -> None:
    """Let the user ask when or where an event of a certain day is."""
    when = _starts(event).date()
    said = day(talk.random, talk.now, when, weekday=0.5)
    talk.user(
        (
            "[[when|what time|at what time] [is|does] {what} {said}?|when's {what} "
            "{said}?|where is {what} {said}?|{said} there's {what}, when exactly?"
            "|how late is {what} {said}?|{what} {said}, [what time|where] was that?]"
        ),
        what=the(event["name"]),
        said=said,
    )
    _query(talk, when, said)
    site = f", {event['location']}" if event["location"] else ""
    talk.reply(
        "{name} is {on}, from {start} to {end}{place}.",
        name=event["name"],
        on=full_day(talk.now, when),
        start=neat(_starts(event).time()),
        end=neat(_ends(event).time()),
        place=site,
    )


def follow_up(talk: Talk, event: dict[str, Any]) -> None:
    """Change or delete an event that was just shown."""
    talk.random.choice(
        [move, move, move, rename, relocate, delete_shown, delete_shown, delete_shown, tell_guests]
    )(talk, event)


def move(talk: Talk, event: dict[str, Any]) -> None:
    """Another time or day for an event that was shown."""
    start, end = _starts(event), _ends(event)
    length = end - start
    what = the(event["name"])
    kind = talk.random.random()
    if kind < 0.4:
        new = start.replace(hour=talk.random.randint(8, 18), minute=talk.random.choice([0, 0, 30]))
        talk.user(
            "[move {what} to {at}|{what} [starts|is] at {at} [now|instead]|can you "
            "[change|shift] {what} to {at}?|they [want|need] {what} at {at} instead, change it"
            "|[make it|make that|put it at|it's] {at} instead]"
            "[, same length|, still {length}|. [still|again|it still takes] {length}|, {length} as before|]",
            what=what,
            at=clock(talk.random, new.time(), bare="event"),
            length=duration(talk.random, int(length.total_seconds() // 60)),
        )
        last = new + length
    elif kind < 0.6:
        minutes = talk.random.choice([30, 60, 30, 60, 15, 90])
        later = talk.random.random() < 0.6
        new = start + timedelta(minutes=minutes if later else -minutes)
        talk.user(
            "[move|push|shift] {what} {length} {side}",
            what=what,
            length=duration(talk.random, minutes),
            side="later" if later else "earlier",
        )
        last = new + length
    elif kind < 0.8:
        ahead = talk.random.randint(1, 9)
        new = start + timedelta(days=ahead)
        talk.user(
            "[move {what} to|change {what} to|{what} is] {when}[, same time|, same hours|]",
            what=what,
            when=_no_on(day(talk.random, talk.now, new.date(), weekday=0.2)),
        )
        last = new + length
    elif kind < 0.9:
        minutes = talk.random.choice([15, 30, 60])
        new, last = start, end + timedelta(minutes=minutes)
        talk.user(
            "{what} [ends|finishes] {length} later[, the start stays|], [change that|please fix it]",
            what=what,
            length=duration(talk.random, minutes),
        )
    else:
        new, last = start - timedelta(minutes=30), end
        talk.user("{what} starts half an hour earlier, the end stays the same", what=what)
    talk.forget(event)
    talk.call(
        "ModifyEvent",
        event_id=event["event_id"],
        new_start_time=f"{new:{STAMP}}",
        new_end_time=f"{last:{STAMP}}",
    )
    talk.reply(
        "{name} is {on} from {start} to {end} now.",
        name=event["name"],
        on=full_day(talk.now, new.date()),
        start=neat(new.time()),
        end=neat(last.time()),
    )


def rename(talk: Talk, event: dict[str, Any]) -> None:
    """Another title."""
    new = title(talk.random, _names(talk))
    talk.user(
        '[rename {what} to|call {what}|change the [name|title] of {what} to] "{new}"',
        what=the(event["name"]),
        new=new,
    )
    talk.forget(event)
    talk.call("ModifyEvent", event_id=event["event_id"], new_name=new)
    talk.reply('[Done, it\'s|It is] called "{new}" now.', new=new)


def relocate(talk: Talk, event: dict[str, Any]) -> None:
    """Another place."""
    where = place(talk.random)
    talk.user(
        (
            "[{what} is [at|in] {place} now, [change that|please change it]|change the "
            "[place|location] of {what} to {place}|move {what} to {place}]"
        ),
        what=the(event["name"]),
        place=where,
    )
    talk.forget(event)
    talk.call("ModifyEvent", event_id=event["event_id"], new_location=capital(where))
    talk.reply("{name} is at {place} now.", name=event["name"], place=where)


def delete_shown(talk: Talk, event: dict[str, Any]) -> None:
    """Delete an event that was just shown."""
    what = the(event["name"])
    talk.wish(
        "event_gone",
        "[[delete|cancel|remove|drop] {what}|[take|get] {what} out of [my|the] "
        "calendar|{what} [is off|was canceled|isn't happening|is canceled], [delete "
        "it|remove it|take it out]"
        "|i'm not going to {what}[, delete it|, remove it from my calendar]|you can delete {what}"
        "|{what} [fell through|got called off|isn't needed now|can go], [bin it|scrap it|clear it|strike it]"
        "|get rid of {what}|clear {what}|scrap {what}, [they're ill|nobody has time|i can't go]]",
        what=what,
    )
    talk.forget(event)
    talk.call("DeleteEvent", event_id=event["event_id"])
    talk.reply(
        "[{name} is deleted|I've removed {what} from your calendar|{name} is out of your calendar].",
        name=event["name"],
        what=what,
    )


def tell_guests(talk: Talk, event: dict[str, Any]) -> None:
    """Send a message to all who attend."""
    guests = [each for each in event["attendees"] or [] if each != talk.things.me.username]
    if not guests:
        return move(talk, event)
    text = talk.random.choice(
        [
            "I'll be late",
            "I can't come",
            "I'm bringing a guest",
            "I have the papers",
            "we start on time",
            "I'll bring the slides",
            "I need a ride",
            "I'll join by phone",
        ]
    )
    talk.user("tell [everyone|the others|all of them|everybody] [who's coming|there|] that {text}", text=text)
    for guest in guests:
        talk.call("SendMessage", receiver=guest, message=f"{capital(text)}.")
    talk.reply("I've told {guests}.", guests=" and ".join(guests))
    return None


def change_unseen(talk: Talk) -> None:
    """Change or delete an event that has to be looked up first, in the same turn."""
    event = event_ahead(talk)
    when = _starts(event).date()
    said = day(talk.random, talk.now, when, weekday=0.5)
    what = the(event["name"])
    if talk.random.random() < 0.4:
        talk.user("[delete|cancel|remove] {what} {said}", what=what, said=said)
        _query(talk, when, said)
        talk.forget(event)
        talk.call("DeleteEvent", event_id=event["event_id"])
        talk.reply("{name} is deleted.", name=event["name"])
        return
    start, end = _starts(event), _ends(event)
    new = start.replace(hour=talk.random.randint(8, 18), minute=talk.random.choice([0, 0, 30]))
    talk.user(
        "[move|change|shift] {what} {said} to {at}[, same length|]",
        what=what,
        said=said,
        at=clock(talk.random, new.time(), bare="event"),
    )
    _query(talk, when, said)
    talk.forget(event)
    talk.call(
        "ModifyEvent",
        event_id=event["event_id"],
        new_start_time=f"{new:{STAMP}}",
        new_end_time=f"{new + (end - start):{STAMP}}",
    )
    talk.reply(
        "{name} is from {start} to {end} now.",
        name=event["name"],
        start=neat(new.time()),
        end=neat((new + (end - start)).time()),
    )


def create(talk: Talk) -> None:
    """A new event. What is missing is asked for."""
    name = title(talk.random, _names(talk))
    when = (
        talk.now + timedelta(days=talk.random.choice([1, 1, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 24, 33]))
    ).date()
    start, end = hours(talk.random, when)
    guests = talk.random.sample(
        [each.username for each in talk.things.others], talk.random.choice([0, 0, 0, 1, 2])
    )
    site = place(talk.random) if talk.random.random() < 0.5 else None
    on, gap = day(talk.random, talk.now, when, weekday=0.2), talk.random.choice([", ", " ", " "])
    said = f"{on}{gap}{span(talk.random, start, end)}"
    where = (
        "" if site is None else f"{talk.random.choice(['', ','])} {talk.random.choice(['at', 'in'])} {site}"
    )
    where = " on Zoom" if site == "Zoom" else where
    people = f" with {' and '.join(guests)}" if guests else ""
    shown = talk.random.choice([f'"{name}"', name, the(name).removeprefix("the ")])
    if talk.random.random() < 0.4:
        talk.wish(
            "event_open",
            "[[can you|could you|] [put|add] {what}{people} [in|to] my calendar[?|]"
            "|[i want to|i need to] schedule {what}{people}|new [event|appointment]: {what}{people}]",
            what=shown,
            people=people,
        )
        talk.reply(
            "[Sure|Gladly|Of course|]. [When does it start and end|When is it, and "
            "for how long|When is it, from when to when]?"
        )
        talk.user(f"{{said}}{{where}}{TAIL}", said=said, where=where)
    else:
        talk.wish(
            "event_whole",
            "[[put|add] {what}{people} [in|to] my calendar[, | ]{said}{where}"
            "|[schedule|create|book] {what}{people} {said}{where}"
            "|{what}{people} {said}{where}, [put it in my calendar|add it to my calendar]]",
            what=shown,
            people=people,
            said=said,
            where=where,
        )
    response = talk.call(
        "CreateEvent",
        name=name,
        event_type="meeting" if guests else "event",
        start_time=f"{start:{STAMP}}",
        end_time=f"{end:{STAMP}}",
        location=capital(site) if site else None,
        attendees=guests or None,
    )
    talk.reply(
        "[{name} is in your calendar|I've added {name}] {on}, {start} to {end}.",
        name=name,
        on=full_day(talk.now, when),
        start=neat(start.time()),
        end=neat(end.time()),
    )
    if talk.random.random() < 0.3:
        made = {
            "event_id": response["event_id"],
            "name": name,
            "start_time": f"{start:{STAMP}}",
            "end_time": f"{end:{STAMP}}",
            "location": site,
            "attendees": guests,
        }
        talk.random.choice([move, move, delete_shown, relocate])(talk, made)


def event_ahead(talk: Talk) -> dict[str, Any]:
    """One of the events that the user has, of tomorrow or later."""
    today = f"{talk.now:%Y-%m-%d} 24"
    return talk.random.choice([each for each in talk.things.events if each["start_time"] > today])


def the(name: str) -> str:
    """An event's name within a sentence."""
    if (
        "'s " in name
        or " with " in name
        or name.split()[0]
        in (
            "Dinner",
            "Lunch",
            "Coffee",
            "Call",
            "Cinema",
            "Tennis",
            "Trip",
            "Train",
            "Flight",
            "Weekend",
            "Visit",
        )
    ):
        return f"{name[:1].lower()}{name[1:]}" if name.split("'")[0] not in words.FIRST else name
    return f"the {name if name.split()[0] in ('Spanish', 'Italian') else name[:1].lower() + name[1:]}"


def _query(talk: Talk, when: date, said: str) -> list[dict[str, Any]]:
    """Look a day up.

    Of a weekday without a date the whole coming week is looked up: no clock here tells weekdays.
    """
    first = last = when
    if said.split()[-1] in _WEEKDAYS:
        first, last = talk.now.date(), talk.now.date() + timedelta(days=7)
    found: list[dict[str, Any]] = talk.call(
        "QueryCalendar", start_time=f"{first} 00:00:00", end_time=f"{last} 23:59:59"
    )["events"]
    return [each for each in found if _starts(each).date() == when]


_WEEKDAYS = tuple(f"{date(2024, 1, number):%A}" for number in range(1, 8))


def _listing(talk: Talk, found: list[dict[str, Any]]) -> str:
    parts = [
        f"{each['name']} from {neat(_starts(each).time())} to {neat(_ends(each).time())}" for each in found
    ]
    return f"[You have |]{'; '.join(parts)} {full_day(talk.now, _starts(found[0]).date())}."


def _no_on(said: str) -> str:
    return said.removeprefix("on ")


def _names(talk: Talk) -> list[str]:
    return [each.first for each in talk.things.others]


def _starts(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["start_time"])


def _ends(event: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(event["end_time"])


SCENES = ((look, 6), (create, 4), (change_unseen, 1.2))

"""Things said without asking for anything: the assistant offers, and does nothing before it is told to."""

from datetime import time, timedelta

from benchmarks.teach import words
from benchmarks.teach.scenes.calendar import the
from benchmarks.teach.scenes.reminders import due_moment, spoken
from benchmarks.teach.speech import TAIL, note
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import STAMP, hours, task, title
from rig.plugins.author.speech import capital, clock, day, full_day, neat, span

_NO = (
    "[no, |nah, |no need, |thanks, but no, |]"
    "[i'll manage|not now|it's fine|i just wanted to say it|leave it|i was just thinking aloud]"
)


def _declines(talk: Talk) -> bool:
    """Let the user want nothing of it, now and then."""
    if talk.random.random() > 0.25:
        return False
    talk.user(_NO, please=False)
    talk.reply("[All right|Okay|As you like|Sure][!|.]")
    return True


def early(talk: Talk) -> None:
    """Somebody has to be up at some time, and says when after being asked."""
    talk.user(
        "[[i have|i've got] an early [flight|train|shift|start|lesson|delivery] tomorrow"
        "|[i can't|i mustn't] [oversleep|be late] tomorrow|[big|long] day tomorrow, no lying in"
        "|tomorrow i'm on the [early|late] shift|i always sleep [too long|through] on days like tomorrow]"
    )
    talk.reply("[When should I wake you|At what time should an alarm ring|Shall I set an alarm? For when]?")
    if _declines(talk):
        return
    moment = time(talk.random.randint(4, 9), talk.random.randrange(0, 60, 5))
    talk.user(f"[at|for||make it] {{said}}{TAIL}", said=clock(talk.random, moment, bare="alarm"))
    talk.call("AddAlarm", time=f"{moment:%H:%M:%S}")
    talk.reply("[The alarm is set for {at}|I'll wake you at {at}].", at=neat(moment))


def undone(talk: Talk) -> None:
    """Somebody is afraid to forget something."""
    text = task(talk.random, _names(talk))
    talk.user(
        "[i [always|often|tend to] forget to {text}|i mustn't forget to {text}"
        "|i [still|really] have to {text}|somebody has to {text}: me|i haven't managed to {text} yet]",
        text=text,
    )
    talk.reply("[Shall I remind you? When|I can remind you. For when|Should I set a reminder? For when]?")
    if _declines(talk):
        return
    due = due_moment(talk)
    talk.user(f"[yes, |ok, |sure, |]{{when}}{TAIL}", when=spoken(talk, due))
    talk.call("AddReminder", task=capital(text), due_date=f"{due:{STAMP}}")
    talk.reply(
        "[I'll remind you|There's a reminder] {on} at {at}.",
        on=full_day(talk.now, due.date()),
        at=neat(due.time()),
    )


def planned(talk: Talk) -> None:
    """Somebody speaks of something that will be, and says from when to when after being asked."""
    name = title(talk.random, _names(talk))
    when = (talk.now + timedelta(days=talk.random.randint(1, 12))).date()
    on = day(talk.random, talk.now, when, weekday=0)
    talk.user(
        "[{what} is {on}|{on} [it's|there's|comes] {what}|they put {what} {on}"
        "|{what} {on}, [at last|finally|of all days]]",
        what=the(name),
        on=on,
    )
    talk.reply(
        "[Shall I put it in your calendar? From when to when"
        "|Should I add it to your calendar? What are the hours]?"
    )
    if _declines(talk):
        return
    start, end = hours(talk.random, when)
    talk.user(f"[yes, |sure, |]{{said}}{TAIL}", said=span(talk.random, start, end))
    talk.call(
        "CreateEvent",
        name=name,
        event_type="event",
        start_time=f"{start:{STAMP}}",
        end_time=f"{end:{STAMP}}",
    )
    talk.reply(
        "{name} is in your calendar {on}, {start} to {end}.",
        name=name,
        on=full_day(talk.now, when),
        start=neat(start.time()),
        end=neat(end.time()),
    )


def waited_for(talk: Talk) -> None:
    """Somebody else may want to hear something."""
    who = talk.random.choice(talk.things.others).username
    talk.user(
        "{who} [is waiting for [me|news|an answer]|hasn't heard from me [today|for days]|doesn't know yet"
        "|will wonder where i am|keeps asking me about it]",
        who=who,
    )
    talk.reply("[Shall I send {who} a message? What should it say|Should I write to {who}? What]?", who=who)
    if _declines(talk):
        return
    direct = note(talk.random, talk.now, _names(talk)).direct
    talk.user("[yes: |yes, |just say: |]{direct}", direct=direct.rstrip("."), please=False)
    talk.call("SendMessage", receiver=who, message=direct)
    talk.reply("[Sent to {who}|I've told {who}].", who=who)


def outdoors(talk: Talk) -> None:
    """Somebody will be outside and does not trust the weather; where, is asked for."""
    ahead = talk.random.randint(1, 3)
    near = {1: "tomorrow", 2: "the day after tomorrow"}.get(
        ahead, f"on {talk.now + timedelta(days=ahead):%A}"
    )
    here = talk.things.city
    talk.user(
        "[i'm [taking|showing] [my class|my parents|the team|some friends|the dogs|{name}] "
        "[round|up the hill|out|to the lake] {near}|we're [out|outside|on the water|in the {spot}] {near}"
        "|{near} we're [camping|rowing|cycling|in the open]]"
        "[ and i don't trust [the sky|those clouds]|, and look at that sky| and it looks grim|]",
        name=talk.random.choice(_names(talk)),
        near=near,
        spot=talk.random.choice(words.SPOTS),
    )
    talk.reply(
        "[Shall I [check|get] the forecast? [You'll be in|For] {here}|Do you want the forecast for {here}]?",
        here=here,
    )
    if _declines(talk):
        return
    city = here if talk.random.random() < 0.35 else talk.random.choice(talk.things.cities[1:])
    if city == here:
        talk.user("[yes|yes please|please do|yes, {here}|exactly|go ahead]", here=here)
    else:
        talk.user(
            "[[no, |nope, |not here, |][we're|i'm] [going to|in|off to] {city} "
            "[this time|instead|for that|]|[no, |]for {city}]",
            city=city,
        )
    got = talk.call("ForecastWeather", location=city)["forecast"][ahead - 1]
    talk.reply(
        "{sky} in {city} {on}, {low} to {high} degrees.",
        city=city,
        on=full_day(talk.now, (talk.now + timedelta(days=ahead)).date()),
        sky=got["conditions"],
        low=got["low"],
        high=got["high"],
    )


def _names(talk: Talk) -> list[str]:
    return [each.first for each in talk.things.others]


SCENES = ((early, 1), (undone, 1), (planned, 1), (waited_for, 1), (outdoors, 1.2))

"""Alarms: set, looked up, deleted, set anew."""

from datetime import datetime, time, timedelta

from benchmarks.teach.scenes.calendar import event_ahead, look_at_event
from benchmarks.teach.speech import TAIL
from benchmarks.teach.talk import Talk
from rig.plugins.author.speech import clock, duration, neat


def add(talk: Talk) -> None:
    """Set an alarm, whose time may have to be asked for."""
    moment = _some_time(talk)
    said = clock(talk.random, moment, bare="alarm")
    if talk.random.random() < 0.4:
        talk.wish(
            "alarm_open",
            "[[can you|could you|please|] [set|add|make] [an alarm|a new alarm|an "
            "alarm for me][?|]|i need an alarm"
            "|i need to be woken up|wake me up tomorrow|i have to get up tomorrow|alarm please|can "
            "you get me out of bed"
            "|could you do an alarm|i want to be up in time tomorrow|make sure i wake up]",
        )
        talk.reply("[At what time|For what time|When] [should it ring|do you need it|should I set it]?")
        talk.user(f"[at|for||] {{said}}{TAIL}", said=said)
    else:
        talk.wish(
            "alarm_at",
            "[[[wake me|get me up|wake me up] at|[set|add|make] [an|an|another] "
            "alarm for|alarm at|i need an alarm at"
            "|can you wake me at|i need to be up at|get me out of bed at|do an alarm for|ring me "
            "out of bed at|alarm, "
            "|stick an alarm on for|one alarm at|make sure i'm up by] {said}|{said}, [alarm|wake me"
            "|that's when i get up]]",
            said=said,
        )
    talk.call("AddAlarm", time=f"{moment:%H:%M:%S}")
    talk.reply(
        "[An alarm is set for {at}|There's an alarm for {at} now|The alarm will ring at {at}].",
        at=neat(moment),
    )
    if talk.random.random() < 0.35:
        _change(talk, moment)


def _change(talk: Talk, old: time) -> None:
    """The alarm that was just set is wanted at another time: a new one, and the old one deleted."""
    made = talk.last("AddAlarm")["alarm_id"]
    minutes = talk.random.choice([-60, -45, -30, -20, -15, -10, 10, 15, 20, 30, 45, 60])
    new = (datetime.combine(talk.now, old) + timedelta(minutes=minutes)).time()
    if talk.random.random() < 0.5:
        talk.user(
            "[make it|make that|no,|change it to|better|actually,] {length} {side}",
            length=duration(talk.random, abs(minutes)),
            side="later" if minutes > 0 else "earlier",
        )
    else:
        talk.user(
            "[[actually|hmm|no wait|sorry], [make it|make that|change it to] {said}|change that to {said}"
            "|{said} is better, [change it|please change it]]",
            said=clock(talk.random, new, bare="alarm"),
        )
    talk.call("AddAlarm", time=f"{new:%H:%M:%S}")
    talk.call("DeleteAlarm", alarm_id=made)
    talk.reply("The alarm rings at {at} now[, the other one is gone|].", at=neat(new))


def before_event(talk: Talk) -> None:
    """Look at tomorrow, and be woken some time before the first thing."""
    event = event_ahead(talk)
    start = datetime.fromisoformat(event["start_time"])
    look_at_event(talk, event)
    minutes = talk.random.choice([60, 90, 120, 30, 45, 180])
    moment = (start - timedelta(minutes=minutes)).time()
    talk.user(
        "[wake me|set an alarm|i want an alarm] {length} [before that|earlier than that|ahead of it]",
        length=duration(talk.random, minutes),
    )
    talk.call("AddAlarm", time=f"{moment:%H:%M:%S}")
    talk.reply("[I've set it for|It will ring at] {at}.", at=neat(moment))


def find(talk: Talk) -> None:
    """Look up alarms, all or some, and perhaps delete one."""
    if talk.random.random() < 0.5:
        talk.wish(
            "alarms_seen",
            "[[which|what] alarms [do i have|are on|are set|are there|are active]?|show [me|"
            "] my alarms|list [all|] my alarms|when are my alarms"
            "|[what|when] have i set alarms for|have i got alarms on|which alarms did i leave on"
            "|check my alarms"
            "|do i have any alarms set?|what alarms are on?]",
        )
        found = talk.call("FindAlarms")["alarms"]
    else:
        found = _find_between(talk)
    if not found:
        talk.reply("[No, there is none|You have no alarm then].")
        return
    times = [neat(time.fromisoformat(alarm["time"])) for alarm in found]
    talk.reply("[You have [alarms|one|some] at {times}|There's {times}].", times=_listed(times))
    if talk.random.random() < 0.15:
        talk.user("[which is the first|which one is the earliest|what's the earliest one]?")
        talk.reply("The one at {at}.", at=neat(min(time.fromisoformat(alarm["time"]) for alarm in found)))
    if talk.random.random() < 0.8:
        delete_shown(talk, found)


def _find_between(talk: Talk) -> list[dict[str, str]]:
    alarm = talk.random.choice(talk.things.alarms)
    moment = time.fromisoformat(alarm["time"])
    first, last = (
        time(max(moment.hour - talk.random.randint(0, 1), 0)),
        time(min(moment.hour + talk.random.randint(1, 2), 23)),
    )
    kind = talk.random.random()
    if kind < 0.55:
        talk.user(
            (
                "[do i have [an alarm|any alarms|something set]|is there an alarm|any "
                "alarms] between {first} and {last}?"
            ),
            first=_plainly(talk, first),
            last=clock(talk.random, last),
        )
        ends = f"{first:%H:%M:%S}", f"{last:%H:%M:%S}"
    elif kind < 0.75:
        said = clock(talk.random, last)
        talk.user("[any alarms|do i have alarms|is an alarm set] [before|until] {said}?", said=said)
        ends = "00:00:00", f"{last:%H:%M:%S}"
    else:
        talk.user("[is there|do i have] an alarm [at|for] {said}?", said=clock(talk.random, moment))
        ends = alarm["time"], alarm["time"]
    found: list[dict[str, str]] = talk.call("FindAlarms", start_range=ends[0], end_range=ends[1])["alarms"]
    return found


def _plainly(talk: Talk, moment: time) -> str:
    return f"{moment.hour % 12 or 12}" if talk.random.random() < 0.5 else clock(talk.random, moment)


def delete_shown(talk: Talk, found: list[dict[str, str]]) -> None:
    """Delete one of the alarms that were just shown."""
    alarm = talk.random.choice(found)
    moment = time.fromisoformat(alarm["time"])
    said = talk.random.choice(
        [f"{moment.hour % 12 or 12}:{moment.minute:02}", f"{moment:%H:%M}", neat(moment)]
    )
    which = f"the {said} [one|alarm|]"
    if len(found) == 1 and talk.random.random() < 0.5:
        which = "[it|that one|that]"
    talk.user(
        f"[[delete|remove|cancel|turn off|drop|scrap|ditch|bin|kill] {which}|i don't need {which} "
        f"[anymore|any more|]|get rid of {which}"
        f"|{which} can go|{which} is [not needed|a leftover|too much], [delete|drop] it|lose "
        f"{which}|scratch {which}]"
    )
    talk.forget(alarm)
    talk.call("DeleteAlarm", alarm_id=alarm["alarm_id"])
    talk.reply("[The {at} alarm is [deleted|gone|off]|I've deleted the alarm at {at}].", at=neat(moment))


def delete(talk: Talk) -> None:
    """Delete an alarm of a certain time, which has to be looked up first."""
    alarm = talk.random.choice(talk.things.alarms)
    moment = time.fromisoformat(alarm["time"])
    talk.user(
        "[[delete|cancel|remove|turn off|kill] my {said} alarm|[delete|cancel|remove] the alarm at {said}"
        "|i don't need the {said} alarm any more]",
        said=talk.random.choice(
            [f"{moment.hour % 12 or 12}:{moment.minute:02}", neat(moment), f"{moment:%H:%M}"]
        ),
    )
    if talk.random.random() < 0.5:
        talk.call("FindAlarms")
    else:
        talk.call("FindAlarms", start_range=alarm["time"], end_range=alarm["time"])
    talk.forget(alarm)
    talk.call("DeleteAlarm", alarm_id=alarm["alarm_id"])
    talk.reply("[The {at} alarm is deleted|I've deleted your {at} alarm].", at=neat(moment))


def _some_time(talk: Talk) -> time:
    hour = talk.random.choice(
        [4, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]
    )
    return time(hour, talk.random.choice([0, 0, 0, 30, 30, 15, 45, 10, 20, 40, 50, 5, 55, 25, 35]))


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


SCENES = ((add, 5), (find, 4), (delete, 1.5), (before_event, 0.8))

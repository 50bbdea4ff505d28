"""One wish that takes several calls of the same tool."""

from datetime import time

from benchmarks.teach.scenes.reminders import about, due_moment, spoken
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import STAMP, task
from rig.plugins.author.speech import capital, clock, neat


def alarms(talk: Talk) -> None:
    """Two alarms."""
    first, second = (
        time(hour, talk.random.choice([0, 15, 30, 45]))
        for hour in sorted(talk.random.sample(range(5, 11), 2))
    )
    talk.user(
        "[[set|i need|add|make] [two alarms[,|:|] |alarms for |an alarm for ]{first} "
        "and [one for |another for |]{second}"
        "|wake me at {first} and [again at |]{second}]",
        first=clock(talk.random, first, bare="alarm"),
        second=clock(talk.random, second, bare="alarm"),
    )
    for moment in (first, second):
        talk.call("AddAlarm", time=f"{moment:%H:%M:%S}")
    talk.reply("[There are alarms|The alarms are set] for {a} and {b}.", a=neat(first), b=neat(second))


def no_alarms(talk: Talk) -> None:
    """Delete all alarms, which are looked up first."""
    talk.user(
        "[[delete|remove|clear|cancel|turn off] all [my|the|of my] alarms"
        "|i don't need any of my alarms, delete them]"
    )
    found = talk.call("FindAlarms")["alarms"]
    for alarm in found:
        talk.call("DeleteAlarm", alarm_id=alarm["alarm_id"])
        talk.forget(alarm)
    at = [neat(time.fromisoformat(alarm["time"])) for alarm in found]
    talk.reply("[All gone|I've deleted them all]: {at}.", at=", ".join(at))


def reminders(talk: Talk) -> None:
    """Two things to be reminded of."""
    names = [each.first for each in talk.things.others]
    texts = [task(talk.random, names) for _ in range(2)]
    dues = [due_moment(talk) for _ in range(2)]
    first, second = (f"{text} {spoken(talk, due)}" for text, due in zip(texts, dues, strict=True))
    talk.user("remind me to {first}[,|] and [also |then |]to {second}", first=first, second=second)
    for text, due in zip(texts, dues, strict=True):
        talk.call("AddReminder", task=capital(text), due_date=f"{due:{STAMP}}")
    talk.reply("[There are two reminders now|I'll remind you of both].")


def all_done(talk: Talk) -> None:
    """Look at the reminders, and settle all that are open, or two that are named."""
    talk.user(
        "[what's on my list|show me my reminders|which reminders are there|what do i still have to do]?"
    )
    found = talk.call("GetReminders")["reminders"]
    talk.reply("{listed}.", listed="; ".join(each["task"] for each in found))
    pending = [each for each in found if each["status"] == "pending"]
    done = talk.random.random() < 0.6
    named = f"{about(pending[0]['task'])} and {about(pending[-1]['task'])}"
    if len(pending) != 2 or talk.random.random() < 0.5:
        talk.user(
            "[all|everything|both] [done|finished], [tick them off|check them off]"
            if done
            else "[delete|remove|clear] [all of them|everything on it|the lot]"
        )
    else:
        talk.user("{named} are done" if done else "[delete|remove] {named}", named=named)
    for each in pending if done else found if len(pending) != 2 else pending:
        talk.call("CompleteReminder" if done else "DeleteReminder", reminder_id=each["reminder_id"])
        talk.forget(each)
    talk.reply("[Done|They are marked as complete]." if done else "[They're gone|I've deleted them].")


SCENES = ((alarms, 1.2), (no_alarms, 0.8), (reminders, 1), (all_done, 1))

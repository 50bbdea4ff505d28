"""Reminders: added, listed, ticked off, deleted, moved."""

from datetime import datetime, time, timedelta
from typing import Any

from benchmarks.teach.scenes.calendar import event_ahead, look_at_event
from benchmarks.teach.speech import TAIL
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import STAMP, task
from rig.plugins.author.speech import capital, clock, day, full_day, neat


def add(talk: Talk) -> None:
    """Add a reminder; its day may have to be asked for."""
    text = task(talk.random, [each.first for each in talk.things.others])
    due = due_moment(talk)
    when = spoken(talk, due)
    kind = talk.random.random()
    if kind < 0.4:
        talk.wish(
            "reminder_open",
            "[[can you|could you|] remind me to {text}[?|]|[i need|add|set] a "
            "reminder to {text}|don't let me forget to {text}"
            "|new reminder: {text}|{text}, [remind me of that|i need a nudge for that|put that on my list]"
            "|give me a nudge to {text}|note for me: {text}|i want to be reminded to {text}]",
            text=text,
        )
        talk.reply("[Sure|Of course|Gladly|]. [When should I remind you|When is it due|For when]?")
        talk.user(f"{{when}}{TAIL}", when=when)
    elif kind < 0.5:
        talk.user("[i need a reminder|set a reminder|add a reminder|can you remind me of something?]")
        talk.reply("[Of what, and when|What is it, and when is it due|What about, and for when]?")
        talk.user("[{text}, {when}|to {text} {when}|{when}, to {text}]", text=text, when=when)
    else:
        talk.wish(
            "reminder_whole",
            "[remind me {when} to {text}|remind me to {text} {when}|[set|add] a reminder {when}: {text}"
            "|[set|add] a reminder to {text} {when}|can you remind me to {text} {when}?"
            "|nudge me {when} to {text}|{text} {when}, [remind me|don't let me forget|put it on my list]"
            "|i have to {text} {when}, [can you remind me?|remind me]|put down {when}: {text}]",
            text=text,
            when=when,
        )
    talk.call("AddReminder", task=capital(text), due_date=f"{due:{STAMP}}")
    talk.reply(_done(talk, due), text=text)
    if talk.random.random() < 0.2:
        _move(talk, text, due)


def _done(talk: Talk, due: datetime) -> str:
    at = f"{full_day(talk.now, due.date())} at {neat(due.time())}"
    return f"[I'll remind you {at} to {{text}}|There's a reminder {at} to {{text}}|I've set a reminder {at}]."


def _move(talk: Talk, text: str, due: datetime) -> None:
    """The reminder that was just added is wanted at another time: deleted, and added anew."""
    made = talk.last("AddReminder")["reminder_id"]
    if talk.random.random() < 0.5:
        new = due.replace(hour=talk.random.randint(7, 20), minute=0)
        talk.user("[no, |sorry, |hmm, |][make it|make that|better] {at}", at=clock(talk.random, new.time()))
    else:
        new = datetime.combine((talk.now + timedelta(days=talk.random.randint(1, 6))).date(), due.time())
        talk.user(
            "[no, |wait, |][make it|better|rather] {when}[, same time|]",
            when=day(talk.random, talk.now, new.date(), weekday=0.15),
        )
    talk.call("DeleteReminder", reminder_id=made)
    talk.call("AddReminder", task=capital(text), due_date=f"{new:{STAMP}}")
    talk.reply("The reminder is {on} at {at} now.", on=full_day(talk.now, new.date()), at=neat(new.time()))


def before_event(talk: Talk) -> None:
    """Look at an event, and be reminded of something before it."""
    event = event_ahead(talk)
    start = datetime.fromisoformat(event["start_time"])
    look_at_event(talk, event)
    text = task(talk.random, [each.first for each in talk.things.others])
    if talk.random.random() < 0.6:
        early, said = talk.random.choice(
            [(60, "an hour"), (120, "two hours"), (30, "half an hour"), (180, "three hours")]
        )
        due = start - timedelta(minutes=early)
        talk.user(
            (
                "[set a reminder {said} before [that|it starts] to {text}|{said} before "
                "[that|it begins], remind me to {text}]"
            ),
            said=said,
            text=text,
        )
    else:
        moment = time(talk.random.randint(15, 21))
        due = datetime.combine(start.date() - timedelta(days=1), moment)
        talk.user(
            "[and |]remind me the day before at {at} to {text}", at=clock(talk.random, moment), text=text
        )
    talk.call("AddReminder", task=capital(text), due_date=f"{due:{STAMP}}")
    talk.reply(_done(talk, due), text=text)


def show(talk: Talk) -> None:
    """List the reminders, and perhaps tick one off or delete it."""
    talk.wish(
        "reminders_seen",
        "[[show|list|read|give] me my reminders|what [reminders do i have|are my reminders|do i have to do]?"
        "|what's [on my list|on my to-do list|still open]?|which reminders [are "
        "there|do i have]?|do i have any reminders?"
        "|my reminders please|what do i need to remember?|tell me what's on my reminder list"
        "|what did i want to do|read me my list|which things did i note down|what have i still got "
        "to do|reminders]",
    )
    found = talk.call("GetReminders")["reminders"]
    talk.reply("{listed}.", listed=_listed(talk, found))
    if talk.random.random() < 0.15:
        talk.user("[how many are there|how many is that|so how many]?")
        talk.reply("[{count}|There are {count}|{count} in all].", count=len(found))
    pending = [each for each in found if each["status"] == "pending"]
    if pending and talk.random.random() < 0.7:
        one = talk.random.choice(pending)
        settle(talk, one)
        rest = [each for each in pending if each is not one]
        if rest and talk.random.random() < 0.3:
            settle(talk, talk.random.choice(rest))


def settle(talk: Talk, reminder: dict[str, Any]) -> None:
    """Complete or delete a reminder that was shown."""
    what = about(reminder["task"])
    if talk.random.random() < 0.6:
        talk.wish(
            "reminder_done",
            "[[i've done|i already did|i finished] [the one about|] {what}, [tick it "
            "off|mark it as done|check it off|that's done]"
            "|mark {what} as done|tick off {what}|check off {what}|{what} is done[, tick that off|]"
            "|mark the one about {what} as [done|complete]|{what}: done|{what}, [sorted|that's "
            "sorted|all done|finished]"
            "|i'm through with {what}|{what} can be ticked off|cross out {what}, i did it]",
            what=what,
        )
        talk.forget(reminder)
        talk.call("CompleteReminder", reminder_id=reminder["reminder_id"])
        talk.reply("[Done, |]{what} is marked as complete.", what=what)
    else:
        talk.wish(
            "reminder_gone",
            "[[delete|remove|drop|cancel] the [one|reminder] about {what}|{what} "
            "[isn't needed any more|is no longer needed"
            "|took care of itself], [delete it|remove it|take it off]|you can delete "
            "{what}|forget about {what}, delete it]",
            what=what,
        )
        talk.forget(reminder)
        talk.call("DeleteReminder", reminder_id=reminder["reminder_id"])
        talk.reply("[The reminder about {what} is [deleted|gone]|I've deleted it].", what=what)


def settle_unseen(talk: Talk) -> None:
    """Complete or delete a reminder that has to be looked up first."""
    pending = [each for each in talk.things.reminders if each["status"] == "pending"]
    if not pending:
        return show(talk)
    reminder = talk.random.choice(pending)
    what = about(reminder["task"])
    done = talk.random.random() < 0.55
    if done:
        talk.user(
            (
                "[mark the reminder about {what} as done|i did {what}, tick off the "
                "reminder|the reminder about {what} is done]"
            ),
            what=what,
        )
    else:
        talk.user("[delete|remove|cancel] [my|the] reminder about {what}", what=what)
    talk.call("GetReminders")
    talk.forget(reminder)
    talk.call("CompleteReminder" if done else "DeleteReminder", reminder_id=reminder["reminder_id"])
    talk.reply(
        "The reminder about {what} is [marked as complete|done|complete]."
        if done
        else "The reminder about {what} is deleted.",
        what=what,
    )
    return None


def due_moment(talk: Talk) -> datetime:
    """When something is due, in the next weeks."""
    ahead = talk.random.choice([0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 23])
    hour = (
        talk.random.randint(max(7, talk.now.hour + 1), 22)
        if ahead == 0 and talk.now.hour < 21
        else talk.random.randint(7, 21)
    )
    if ahead == 0 and talk.now.hour >= 21:
        ahead = 1
    moment = time(hour, talk.random.choice([0, 0, 0, 30, 30, 15, 45]))
    if ahead > 0 and talk.random.random() < 0.15:
        moment = time(12)
    return datetime.combine((talk.now + timedelta(days=ahead)).date(), moment)


def spoken(talk: Talk, due: datetime) -> str:
    """A moment as somebody says it."""
    on = day(talk.random, talk.now, due.date(), weekday=0.15)
    at = clock(talk.random, due.time())
    if on == "today" and due.hour >= 18 and talk.random.random() < 0.6:
        on = "tonight"
        at = f"{due.hour % 12}:{due.minute:02}" if due.minute else f"{due.hour % 12}"
    return talk.random.choice([f"{on} at {at}", f"{on} at {at}", f"at {at} {on}", f"{on}, {at}"])


def about(text: str) -> str:
    """How somebody refers to a task: by what it is done to, or in its own words."""
    lowered = text[:1].lower() + text[1:]
    _, found, thing = lowered.partition(" the ")
    return (
        f"the {thing.split(' for ')[0].split(' to ')[0].split(' from ')[0]}"
        if found and not thing.startswith("{")
        else lowered
    )


def _listed(talk: Talk, found: list[dict[str, Any]]) -> str:
    parts = []
    for each in found:
        due = each["due_date"] and datetime.fromisoformat(each["due_date"])
        parts.append(each["task"] if not due else f"{each['task']}, due {due:%B} {due.day}")
    return "; ".join(parts) or "There are no reminders"


SCENES = ((add, 5), (show, 4), (settle_unseen, 2), (before_event, 0.8))

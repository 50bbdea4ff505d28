"""Emails and messages: found, read, answered, written."""

import re
from datetime import timedelta

from benchmarks.teach.speech import note
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import person
from rig.plugins.author.speech import capital


def search_inbox(talk: Talk) -> None:
    """Find an email by what it is about, and perhaps answer it."""
    mail = talk.random.choice(talk.things.mails)
    start = None
    kind = talk.random.random()
    if kind < 0.85:
        talk.wish(
            "mail_about",
            "[[is there|do i have|did i get|have i got] [an email|a mail|any mail|"
            "any email|anything in my inbox] about the {topic}?|[has|did] {sender} "
            "[written|email|write|emailed] [me |]about the {topic}?"
            "|{asks}? [it's in my email|there was an email|{sender} emailed|they "
            "sent a mail]|what did {sender} [write|say|email] about the {topic}?|"
            "[find|search for|look for] the email about the {topic}"
            "|who [emailed|wrote] [me |]about the {topic}?|check my [inbox|email] "
            "for [the |]{topic}|{sender} emailed about the {topic}, {asks}?"
            "|{asks}? [i got an email|it was in an email|must be in my mail]|what was in that email "
            "about the {topic}?"
            "|there was something about the {topic} in my mail, {asks}?]",
            topic=mail.topic,
            sender=mail.sender,
            asks=mail.asks,
        )
        query = (
            mail.topic
            if talk.random.random() < 0.75
            else mail.topic.split()[-1 if len(mail.topic.split()[-1]) > 3 else 0]
        )
        found = talk.call("SearchInbox", query=query, start_date=start)
    else:
        address = mail.record["sender"]
        talk.user(
            "[any [email|mail] from|did i get an email from|show me emails from] {address}?", address=address
        )
        found = talk.call("SearchInbox", sender=address)
    assert found["emails"]
    talk.reply(
        "[Yes, {sender} wrote|{sender} writes|Yes: {sender} writes]: {says}.",
        sender=mail.sender,
        says=mail.says,
    )
    roll = talk.random.random()
    if roll < 0.2:
        talk.user(
            "[when did that come|when was it sent|who sent that|which address did it "
            "come from|what was that again]?"
        )
        talk.reply(
            "[It came from {address} on {date}|{sender} sent it on {date}, from {address}].",
            address=mail.record["sender"],
            date=mail.record["date"][:10],
            sender=mail.sender,
        )
    elif roll < 0.65:
        text = _note(talk)
        subject = talk.random.choice(
            [
                capital(mail.topic),
                mail.topic.split()[-1].capitalize(),
                f"Re: {mail.record['subject']}",
                "Your email",
            ]
        )
        talk.user(
            "[[answer|reply to|write back to|email] [them|her|him|{sender}] {text}[.|"
            ",] subject[:| is] {subject}|[answer|reply|write back] {text}[.|,] "
            'subject "{subject}"'
            "|write [them|back] {text}, with the subject {subject}]",
            sender=mail.sender,
            text=text[1],
            subject=subject,
        )
        talk.call("SendEmail", to=[mail.record["sender"]], subject=subject, body=text[0])
        talk.reply(
            "[I've answered {sender}|I've written to {sender}|The answer is sent].", sender=mail.sender
        )


def send_email(talk: Talk) -> None:
    """Write an email. What is missing is asked for."""
    known = talk.random.sample(talk.things.others, 2)
    to = [each.email for each in known[: talk.random.choice([1, 1, 1, 1, 2])]]
    if talk.random.random() < 0.5:
        to = [person(talk.random).email for _ in to]
    direct, reported = _note(talk)
    thing = direct.rstrip(".?").split()
    subject = talk.random.choice(
        [
            capital(" ".join(thing[-2:])),
            capital(" ".join(thing[-3:])),
            "News",
            "Question",
            "Hello",
            "Our plan",
            "About tomorrow",
            "Short note",
            "Heads up",
        ]
    )
    subject = subject.strip(".?")
    names = " and ".join(to)
    kind = talk.random.random()
    if kind < 0.35:
        talk.user(
            (
                "[[i need to|i want to|i have to|can you|could you|help me] [send an "
                "email to|email|write an email to|write to] {to}|send an email to {to}|"
                "email to {to}]"
            ),
            to=names,
        )
        talk.reply(
            "[Sure|Of course|]. [What should it say, and what is the subject|What "
            "are the subject and the text|Which subject and text should it have]?"
        )
        talk.user(
            (
                "[subject[:| is] {subject}. [text|body|it should say|message]: {direct}|"
                'subject {subject}, text {direct}|"{subject}" as the subject, and the '
                "text: {direct}|{direct} subject: {subject}]"
            ),
            subject=subject,
            direct=direct,
            please=False,
        )
    elif kind < 0.7:
        talk.user(
            "[email|write to|write|send an email to] {to} {reported}[.|,|;] [the |]subject[:| is|] {subject}",
            to=names,
            reported=reported,
            subject=subject,
        )
    else:
        talk.user(
            (
                "[email {to}|send an email to {to}|new email to {to}][,|:] subject "
                '"{subject}", [text|body] "{direct}"'
            ),
            to=names,
            subject=subject,
            direct=direct,
            please=False,
        )
    talk.call("SendEmail", to=to, subject=subject, body=direct)
    talk.reply(
        "[I've sent the email to {to}|The email to {to} is sent|Done, I've written to {to}].", to=names
    )


def send_message(talk: Talk) -> None:
    """Write a message. What is missing is asked for."""
    many = talk.random.random() < 0.15
    receivers = [each.username for each in talk.random.sample(talk.things.others, 2 if many else 1)]
    direct, reported = _note(talk)
    names = " and ".join(receivers)
    kind = talk.random.random()
    if kind < 0.35:
        talk.wish(
            "message_open",
            (
                "[[can you|could you|please|] [message|text|send a message to|write a "
                "message to] {to} [for me|][?|]|i need to [message|text] {to}|[message|"
                "text] {to}|send {to} a message|drop {to} a line|get a message to {to}|i have to "
                "tell {to} something]"
            ),
            to=names,
        )
        talk.reply(
            "[Sure|Of course|Gladly|]. [What should it say|What should I write|What "
            "should I tell them|What would you like to say]?"
        )
        talk.user(
            talk.random.choice(["{direct}", "{reported}", "{direct}", "{reported}"])
            if not reported.startswith("if")
            else "{direct}",
            direct=direct.rstrip("."),
            reported=reported,
            please=False,
        )
    elif kind < 0.75:
        is_question = reported.startswith(("if", "whether"))
        verb = "ask" if is_question else talk.random.choice(["tell", "message", "text", "write"])
        if reported.startswith("that "):
            talk.wish("message_whole", f"{verb} {{to}} {{that}}", to=names, that=reported)
        else:
            talk.user(f"{verb} {{to}} {{reported}}", to=names, reported=reported)
    else:
        talk.user("[message|text|send] {to}: {direct}", to=names, direct=direct.rstrip("."), please=False)
    for receiver in receivers:
        talk.call("SendMessage", receiver=receiver, message=direct)
    talk.reply("[I've told {to}|The message to {to} is sent|Sent to {to}].", to=names)


def search_messages(talk: Talk) -> None:
    """Find messages by sender or by a word, and perhaps answer."""
    message = talk.random.choice(talk.things.messages)
    sender = message["sender"]
    today = message["timestamp"][:10] == f"{talk.now:%Y-%m-%d}"
    kind = talk.random.random()
    if kind < 0.55:
        when = talk.random.choice(["", "", "today", "this week", "yesterday or today"])
        start = None
        if when == "today" and today:
            start = f"{talk.now:%Y-%m-%d} 00:00:00"
        else:
            when = ""
        talk.wish(
            "messages_from",
            "[[has|did] {sender} [messaged|message|texted|text|write|written] me "
            "{when}?|any [messages|message|texts] from {sender} {when}?|what did "
            "{sender} [message|text|write] [me|] {when}?"
            "|do i have messages from {sender} {when}?|show me {sender}'s messages {when}"
            "|anything from {sender} {when}?|did {sender} get back to me {when}?|{sender} said "
            "something, what was it?]",
            sender=sender,
            when=when,
        )
        talk.call("SearchMessages", sender=sender, start_date=start)
    else:
        word = keyword(message["message"])
        roll = talk.random.random()
        if roll < 0.4:
            talk.user(
                "[someone|somebody|one of them] [messaged|texted|wrote] [me |]{clause}[, |. ]"
                "[who|which of them|remind me who] [was that|did that|wrote that]?",
                clause=clause(message["message"]),
            )
            talk.call("SearchMessages", query=word)
        elif roll < 0.6:
            talk.user(
                (
                    "[what did {sender} [message|text|write] me about the {word}?|"
                    "{sender} messaged me about {word}, what was it?|has {sender} texted "
                    "about the {word}?]"
                ),
                sender=sender,
                word=word,
            )
            talk.call("SearchMessages", query=word, sender=sender)
        else:
            talk.user(
                "[somebody [messaged|texted] me about the {word}, [who was that|what "
                "did it say]?|who [messaged|texted] me about the {word}?|[find|"
                "search for] the message about the {word}"
                "|is there a message about the {word}?|did anyone text me about "
                "{word}?|there was a message with {word} in it, what did it say?]",
                word=word,
            )
            talk.call("SearchMessages", query=word)
    talk.reply(
        "[Yes, {sender} wrote|{sender} writes|From {sender}]: {text}", sender=sender, text=message["message"]
    )
    if talk.random.random() < 0.2:
        talk.user("[when was that|when did that come|what time was that]?")
        talk.reply(
            "[On {date} at {at}|At {at} on {date}].",
            date=message["timestamp"][:10],
            at=message["timestamp"][11:16],
        )
    if talk.random.random() < 0.45:
        direct, reported = _note(talk)
        verb = (
            "ask"
            if reported.startswith(("if", "whether"))
            else talk.random.choice(["tell", "tell", "message", "text"])
        )
        talk.user(
            f"[{verb} {{sender}}|{verb} [him|her|them]|{verb} [him|her|them]] {{reported}}",
            sender=sender,
            reported=reported,
        )
        talk.call("SendMessage", receiver=sender, message=direct)
        talk.reply("[I've told {sender}|Sent to {sender}|I've messaged {sender}].", sender=sender)


def keyword(text: str) -> str:
    """The longest word of a text that says what it is about, which a search would look for."""
    found = [word.strip(".,?!").lower() for word in text.split()]
    return max([word for word in found if word not in _OF_ANYTHING] or found, key=len)


_OF_ANYTHING = (
    "please",
    "tomorrow",
    "tonight",
    "today",
    "weekend",
    "friday",
    "monday",
    "sunday",
    "talked",
    "returned",
)


def clause(text: str) -> str:
    """What a text says, as somebody tells it of another."""
    said = text.rstrip(".?")
    if said.startswith("Please "):
        return f"asking me to {said.removeprefix('Please ')}"
    if said.startswith("Can you "):
        return f"asking whether i can {said.removeprefix('Can you ')}"
    said = said[:1].lower() + said[1:] if said.split()[0].lower() in _PLAIN else said
    for mine, theirs in _OF_OTHERS:
        said = re.sub(rf"\b{mine}\b", theirs, said)
    return f"that {said}"


_PLAIN = ("the", "we", "there", "your", "dinner", "everything", "my", "all")
_OF_OTHERS = (("I'm", "they're"), ("i'm", "they're"), ("I'll", "they'll"), ("I", "they"), ("my", "their"))


def _note(talk: Talk) -> tuple[str, str]:
    """A text to send, as it is written and as it is asked for."""
    said = note(talk.random, talk.now, [each.first for each in talk.things.others])
    return said.direct, said.reported.format(they=talk.random.choice(["they", "she", "he"]))


def recent(talk: Talk) -> None:
    """All that came in since some day."""
    back = talk.random.choice([0, 1, 2, 7])
    said = {0: "today", 1: "since yesterday", 2: "in the last two days", 7: "in the last week"}[back]
    start = f"{(talk.now - timedelta(days=back)):%Y-%m-%d} 00:00:00"
    if talk.random.random() < 0.5:
        talk.user(
            "[any new messages|what messages did i get|did anyone text me|do i have messages] {said}?",
            said=said,
        )
        found = talk.call("SearchMessages", start_date=start)["messages"]
    else:
        talk.user(
            "[any new emails|what emails did i get|did i get any mail|what's in my inbox] {said}?", said=said
        )
        found = talk.call("SearchInbox", start_date=start)["emails"]
    senders = sorted({each["sender"] for each in found})
    talk.reply(
        "[Yes, from {senders}|From {senders}]." if found else "[No, nothing|Nothing] {said}.",
        senders=" and ".join(senders),
        said=said,
    )


SCENES = ((search_inbox, 4), (send_email, 4), (send_message, 4), (search_messages, 3.5), (recent, 1))

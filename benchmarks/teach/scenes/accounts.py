"""Accounts: opened, logged in to and out of, looked up, updated, closed."""

from typing import Any

from benchmarks.teach.scenes.passwords import change_password, forgotten, reset
from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import Person, person, phone


def log_in(talk: Talk) -> None:
    """Log in; what is needed may be asked for, and the password may be wrong at first."""
    me = talk.things.me
    if talk.random.random() < 0.5:
        talk.wish(
            "login_open",
            "[[log me in|sign me in|i want to log in|i'd like to sign in|can you log "
            "me in|login please]|hi, [log me in|sign me in] please]",
        )
        talk.reply(
            "[Sure|Of course|]. [Tell me your username and your password|Username "
            "and password, please|I need your username and password]."
        )
        _credentials(talk, me, "")
    else:
        _credentials(talk, me, "[log me in|log me in as|sign me in|sign in|login][:|,|]")
    talk.reply(
        "[You're logged in|Welcome, {name}, you're logged in|You're logged in as {user}].",
        name=me.first,
        user=me.username,
    )


def _credentials(talk: Talk, who: Person, before: str) -> None:
    """Let the user give username and password, and log in, after a wrong try or at once."""
    if talk.random.random() < 0.2:
        wrong = _mistyped(talk, who.password)
        talk.user(f"{before} {{user}}[,| and| /] {{secret}}", user=who.username, secret=wrong, please=False)
        talk.call("UserLogin", username=who.username, password=wrong, fails=True)
        talk.reply(
            "[That password is wrong|The password isn't right|That password didn't "
            "work]. [Could you try again|Try again]?"
        )
        talk.user("[sorry, |oops, |i mean |][{secret}|it's {secret}]", secret=who.password, please=False)
    else:
        talk.user(
            (
                f"{before} [{{user}}, {{secret}}|{{user}} / {{secret}}|{{user}} and "
                f"{{secret}}|{{user}}, password {{secret}}|username {{user}}, password "
                f"{{secret}}|i'm {{user}}, my password is {{secret}}]"
            ),
            user=who.username,
            secret=who.password,
            please=False,
        )
    talk.call("UserLogin", username=who.username, password=who.password)
    talk.me = who


def _mistyped(talk: Talk, secret: str) -> str:
    place = talk.random.randrange(len(secret) - 1)
    return (
        secret[:place]
        + secret[place + 1]
        + secret[place]
        + secret[place + 2 :]
        + ("" if secret[place] != secret[place + 1] else "x")
    )


def register(talk: Talk) -> None:
    """Open an account, with a name and a phone number where the user gives them."""
    new = person(talk.random)
    extras = talk.random.random()
    given: dict[str, Any]
    more, given = "", {}
    if extras < 0.2:
        more, given = ", my name is {name}", {"name": new.name}
    elif extras < 0.35:
        more, given = ", phone {phone}", {"phone": new.phone}
    elif extras < 0.45:
        more, given = ", name {name}, phone {phone}", {"name": new.name, "phone": new.phone}
    if talk.random.random() < 0.6:
        talk.user(
            "[[i'm new here|i don't have an account yet|i'd like to sign up|i want "
            "an account|can i get an account?|create an account for me|how do i "
            "register?|register me]|[hi|hello], [i'd like to register|i need an "
            "account]]"
        )
        talk.reply(
            "[Welcome! |Gladly. |][Please choose a username and a password, and give "
            "me an email address|Tell me a username, a password and your email|What "
            "should the username, the password and the email be?]"
        )
        begin = ""
    else:
        begin = "[sign me up|create an account|register me|i want an account][:|,|]"
    talk.user(
        (
            f"{begin} [{{user}}, {{secret}}, {{email}}|username {{user}}, password "
            f"{{secret}}, email {{email}}|{{user}} / {{secret}} / {{email}}|{{user}}, "
            f"password {{secret}} and {{email}}]{more}"
        ),
        user=new.username,
        secret=new.password,
        email=new.email,
        name=new.name,
        phone=new.phone,
        please=False,
    )
    talk.call("RegisterUser", username=new.username, password=new.password, email=new.email, **given)
    talk.switch(new)
    talk.me = new
    talk.reply(
        (
            "[The account is set up, and you are logged in|Welcome, {user}! You're "
            "logged in now|The account {user} is ready]."
        ),
        user=new.username,
    )


def log_out(talk: Talk) -> None:
    """Log out, and perhaps let somebody else log in."""
    other = talk.random.choice(talk.things.others)
    if talk.random.random() < 0.2:
        talk.user(
            (
                "[i think|ok,|right,|well,] [that was everything|i'm done for today|"
                "that's it for now|i have all i need]"
            ),
            please=False,
        )
        talk.reply("[All right|Good|Very well]! [Have a nice day|Bye|See you]!")
    talk.user(
        (
            "[[log me out|sign me out|log out|i'm done, log me out|that's all, sign me "
            "out|please log me out|end my session|logout]|[log me out|sign me out], "
            "{name} [needs|wants] the [laptop|phone|tablet|computer]]"
        ),
        name=other.first,
    )
    talk.call("LogoutUser")
    talk.me = None
    talk.reply("[You're logged out|You're signed out|Done, you're logged out].")
    if talk.random.random() < 0.4:
        talk.switch(other)
        if talk.random.random() < 0.5:
            talk.user(
                "[hi|hello|hey], [{name} here|this is {name}|it's {name}], [log me in|can you log me in]",
                name=other.first,
            )
            talk.reply(
                (
                    "[Hi {name}|Hello {name}]! [Please tell me username and password|"
                    "Username and password, please|I need your username and password]"
                ),
                name=other.first,
            )
            _credentials(talk, other, "")
        else:
            _credentials(talk, other, "[hi|now log me in|log me in|it's me now|][,|:|]")
        talk.reply("[Welcome, {name}|Hello {name}], you're logged in.", name=other.first)


def update(talk: Talk) -> None:
    """A new address or number; the password may have to be asked for, and may be wrong at first."""
    me = talk.things.me
    new = person(talk.random)
    number = talk.random.random() < 0.5
    value = phone(talk.random) if number else new.email
    what = "phone number" if number else "email address"
    kind = talk.random.random()
    secret = "[my password is|password|pw] {secret}"
    if kind < 0.5:
        talk.wish(
            "update_open",
            (
                "[i have a new {what}|my {what} has changed|i need to change my {what}|"
                "can you update my {what}?|update my {what}]"
            ),
            what=what,
        )
        talk.reply(
            (
                "[Sure|Of course|]. [What's the new {what}, and your password|What is "
                "the new one, and your password to confirm]?"
            ),
            what=what,
        )
        talk.user(
            (
                f"[{{value}}, {secret}|{{value}}, {{secret}}|it's {{value}} and the "
                f"password is {{secret}}|{{value}} / {{secret}}]"
            ),
            value=value,
            secret=me.password,
            please=False,
        )
    elif kind < 0.75:
        talk.user(
            "[change my {what} to {value}|my new {what} is {value}|update my {what}: {value}]",
            what=what,
            value=value,
        )
        talk.reply("[What's your password|Please tell me your password to confirm]?")
        talk.user("[it's |sure, |ok. |][{secret}|{secret}]", secret=me.password, please=False)
    else:
        talk.user(
            f"[change my {{what}} to {{value}}|my new {{what}} is {{value}}], {secret}",
            what=what,
            value=value,
            secret=me.password,
            please=False,
        )
    talk.call(
        "UpdateAccountInformation",
        password=me.password,
        new_phone_number=value if number else None,
        new_email=None if number else value,
    )
    talk.reply("[Your {what} is {value} now|Done, your new {what} is {value}].", what=what, value=value)


def own_account(talk: Talk) -> None:
    """What the account says."""
    field = talk.random.choice(["email", "phone", "name", "username"])
    words = {"email": "email address", "phone": "phone number", "name": "name", "username": "username"}
    talk.wish(
        "own_account",
        "[which {what} [have you got for me|is in my account|am i registered with|is "
        "on my account|is saved for me|do you know of mine|did i sign up with]?|what's my {what}?|"
        "what {what} do you have on record?|is my "
        "{what} still right in my account? what is it?"
        "|show me my account|what does my account say?|what do you know about me?|my account details please]",
        what=words[field],
    )
    got = talk.call("GetAccountInformation")["user"]
    if got.get(field):
        talk.reply(
            "[Your {what} is {value}|The {what} in your account is {value}].",
            what=words[field],
            value=got[field],
        )
    else:
        talk.reply("There is no {what} in your account.", what=words[field])


def query_user(talk: Talk) -> None:
    """Look somebody up by username or email address."""
    other = talk.random.choice(talk.things.others)
    if talk.random.random() < 0.6:
        talk.user(
            (
                "[who is {user}?|who's {user}?|what's {user}'s [phone number|email|email "
                "address|full name|number]?|look up {user}|do you know {user}?|what's "
                "the [number|email] of {user}?|i need {user}'s [phone number|email]]"
            ),
            user=other.username,
        )
        talk.call("QueryUser", username=other.username)
    else:
        talk.user(
            (
                "[who [is|has the address|uses] {email}?|does {email} have an account "
                "[here|]?|whose email is {email}?|look up {email}|which user has "
                "{email}?]"
            ),
            email=other.email,
        )
        talk.call("QueryUser", email=other.email)
    talk.reply(
        "[That's {name}|It's {name}|{user} is {name}], {email}, {phone}.",
        name=other.name,
        user=other.username,
        email=other.email,
        phone=other.phone,
    )


def close(talk: Talk) -> None:
    """Delete the account, after a warning; the password may be wrong at first."""
    me = talk.things.me
    talk.wish(
        "close_open",
        "[[delete|close|remove] my account|i want to [delete|close] my account|i "
        "don't need this account any more, delete it|please close my account|i'd "
        "like my account deleted]",
    )
    talk.reply(
        "[That can't be undone|This is final]. [If you are sure, what's your "
        "password|Please confirm with your password|Are you sure? Then tell me your "
        "password][.|?]"
    )
    if talk.random.random() < 0.2:
        wrong = _mistyped(talk, me.password)
        talk.user("{secret}", secret=wrong, please=False)
        talk.call("DeleteAccount", password=wrong, fails=True)
        talk.reply("[That password is wrong|The password isn't right]. Could you check it?")
    talk.user(
        (
            "[yes, |sure, |yes. |i am. |certain. |absolutely, |go ahead: |do it, |ok. |]"
            "[{secret}|{secret}|it's {secret}|password {secret}|my password is {secret}]"
        ),
        secret=me.password,
        please=False,
    )
    talk.call("DeleteAccount", password=me.password)
    talk.me = None
    talk.reply("[Your account has been deleted|The account is deleted].")


def needs_login(talk: Talk) -> None:
    """Something is wanted that needs a login: that is asked for, then both are done."""
    me = talk.things.me
    wish = talk.random.choice(
        [
            ("[what's on my reminder list|show me my reminders|what are my reminders]?", "GetReminders"),
            ("[which alarms do i have|what alarms are set]?", "FindAlarms"),
            ("[set an alarm for|wake me at] {at}", "AddAlarm"),
            ("[what does my account say|which number is in my account]?", "GetAccountInformation"),
        ]
    )
    hour = talk.random.randint(5, 11)
    talk.user(wish[0], at=f"{hour}:30 am")
    talk.reply(
        "[You're not logged in|You have to log in for that|That needs a login]. "
        "[Please tell me username and password|Your username and password, please|"
        "With which username and password?]"
    )
    _credentials(talk, me, "")
    talk.call(wish[1], time=f"{hour:02}:30:00" if wish[1] == "AddAlarm" else None)
    talk.reply("[You're logged in|Logged in], [and that is done|there you are].")


OUTSIDE = ((log_in, 2.5), (register, 3), (forgotten, 3), (reset, 2), (needs_login, 1))
"""Where nobody is logged in."""

SCENES = ((change_password, 2.6), (update, 2.5), (own_account, 2.8), (query_user, 2.5))
"""Where the user is logged in, and stays so."""

LAST = ((log_out, 2.5), (close, 2))
"""Where the user is logged in, and may be logged out afterwards."""

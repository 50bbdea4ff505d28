"""Accounts: opened, logged in to and out of, looked up, changed, closed."""

from typing import Any

from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import Person, password, person, phone


def log_in(talk: Talk) -> None:
    """Log in; what is needed may be asked for, and the password may be wrong at first."""
    me = talk.things.me
    if talk.random.random() < 0.5:
        talk.user(
            "[[log me in|sign me in|i want to log in|i'd like to sign in|can you log "
            "me in|login please]|hi, [log me in|sign me in] please]"
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


def forgotten(talk: Talk) -> None:
    """Have a code sent, set a new password with it, and perhaps log in."""
    me = talk.things.me
    kind = talk.random.random()
    if kind < 0.6:
        talk.user(
            "[i forgot my password|i can't log in, i forgot my password|my password "
            "doesn't work any more|i've lost my password|i need to reset my password|"
            "password forgotten]"
        )
        talk.reply(
            "[A code will help|No problem, you'll get a code|Let's reset it]. "
            "[Please tell me your username and your email|Username and email "
            "address, please|I need the username and the email of the account]."
        )
        talk.user(
            (
                "[{user}, {email}|{user} and {email}|username {user}, email {email}|my "
                "username is {user} and the email is {email}]"
            ),
            user=me.username,
            email=me.email,
            please=False,
        )
    elif kind < 0.8:
        talk.user("[i forgot my password|i need a new password], my username is {user}", user=me.username)
        talk.reply(
            "[I'll mail you a code|No problem]. [What's the email of the account|And your email address]?"
        )
        talk.user("{email}", email=me.email, please=False)
    else:
        talk.user(
            (
                "[send me a verification code|i need a reset code|send a code to reset "
                "my password], {user}, {email}"
            ),
            user=me.username,
            email=me.email,
        )
    talk.call("SendVerificationCode", username=me.username, email=me.email)
    talk.reply(
        (
            "[A code is on its way to {email}|I've sent a verification code to {email}]. "
            "[Tell me the code and a new password.|What's the code, and the new "
            "password?|]"
        ),
        email=me.email,
    )
    if talk.random.random() < 0.5:
        _reset(talk, talk.code_sent(), asked=True)


def reset(talk: Talk) -> None:
    """Set a new password with a code that was sent before the conversation."""
    code = f"{talk.random.randrange(10**6):06}"
    talk.begins_with_code(code)
    _reset(talk, code, asked=False)


def _reset(talk: Talk, code: str, *, asked: bool) -> None:
    me, new = talk.things.me, password(talk.random)
    if not asked and talk.random.random() < 0.6:
        talk.user(
            "[[i have|i got|here's] [the|a] [code|verification code] [to reset my "
            "password|for my password|for a new password]|i got the code by email|"
            "the reset code arrived]"
        )
        talk.reply(
            "[Good|Great]. [Now I need your username, that code and the new password|"
            "Please tell me username, code and new password]."
        )
        talk.user(
            (
                "[{user}, {code}, {new}|{user}, {code}, new password {new}|username "
                "{user}, code {code}, password {new}]"
            ),
            user=me.username,
            code=code,
            new=new,
            please=False,
        )
    elif not asked:
        talk.user(
            (
                "[reset my password|set a new password|i want to reset my password]: "
                "[{user}, code {code}, new password {new}|username {user}, {code}, {new}|"
                "i'm {user}, the code is {code} and the new password {new}]"
            ),
            user=me.username,
            code=code,
            new=new,
            please=False,
        )
    elif talk.random.random() < 0.25:
        wrong = (
            code[:2] + code[3] + code[2] + code[4:] if code[2] != code[3] else f"{(int(code) + 7) % 10**6:06}"
        )
        talk.user("{wrong}, [new password|and] {new}", wrong=wrong, new=new, please=False)
        talk.call(
            "ResetPassword", username=me.username, verification_code=wrong, new_password=new, fails=True
        )
        talk.reply("[That code is wrong|The code isn't right]. Could you check it?")
        talk.user("[sorry, |oh, |][{code}|it's {code}]", code=code, please=False)
    else:
        talk.user(
            (
                "[{code}, {new}|{code} and {new}|the code is {code}, new password {new}|"
                "{code}. the new password should be {new}]"
            ),
            code=code,
            new=new,
            please=False,
        )
    talk.call("ResetPassword", username=me.username, verification_code=code, new_password=new)
    talk.reply(
        "[Your password has been reset|Done, you can log in with the new password|The new password is set]."
    )
    if talk.random.random() < 0.4:
        talk.user("[now log me in|ok, log me in with it|log me in with that|sign me in now]")
        talk.call("UserLogin", username=me.username, password=new)
        talk.me = me
        talk.reply("You're logged in.")


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


def change_password(talk: Talk) -> None:
    """A new password; the present one may have to be asked for."""
    me, new = talk.things.me, password(talk.random)
    if talk.random.random() < 0.6:
        talk.user(
            "[i want to change my password|can you change my password?|i'd like a "
            "new password|change my password|i need to update my password|let's "
            "change my password]"
        )
        talk.reply(
            "[Sure|Of course|]. [What's your current password, and the new one|Your "
            "current password and the new one, please|Tell me the old and the new "
            "password]."
        )
        talk.user(
            (
                "[old[:| one is| is] {old}, new[:| one is| is] {new}|{old}, new one "
                "{new}|from {old} to {new}|current: {old}, new: {new}|it's {old} now, "
                "make it {new}|the current one is {old}, the new one should be {new}]"
            ),
            old=me.password,
            new=new,
            please=False,
        )
    else:
        talk.user(
            (
                "[change my password from {old} to {new}|my password is {old}, change it "
                "to {new}|i want a new password: {new}. the old one is {old}]"
            ),
            old=me.password,
            new=new,
            please=False,
        )
    talk.call("ChangePassword", old_password=me.password, new_password=new)
    talk.reply("[Your password has been changed|Done, your password is changed|The new password is set].")


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
        talk.user(
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
    talk.user(
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
    talk.user(
        "[[delete|close|remove] my account|i want to [delete|close] my account|i "
        "don't need this account any more, delete it|please close my account|i'd "
        "like my account deleted]"
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

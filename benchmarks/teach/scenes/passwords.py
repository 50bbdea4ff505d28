"""Passwords: forgotten and set anew with a code, or changed."""

from benchmarks.teach.talk import Talk
from benchmarks.teach.worlds import password


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


def change_password(talk: Talk) -> None:
    """A new password; the present one may have to be asked for."""
    me, new = talk.things.me, password(talk.random)
    if talk.random.random() < 0.6:
        talk.wish(
            "password_open",
            "[i want to change my password|can you change my password?|i'd like a "
            "new password|change my password|i need to update my password|let's "
            "change my password]",
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

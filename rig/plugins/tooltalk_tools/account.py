"""Accounts: logging in and out, registering, looking users up, passwords."""

from typing import Annotated

from rig.core.calls import Json
from rig.plugins.tooltalk_tools.arguments import EmailAddress, Phone, is_email, is_phone
from rig.plugins.tooltalk_tools.world import SESSION_TOKENS, TOKEN, VERIFICATION_CODES, Account
from rig.plugins.tooltalk_tools.world import ToolTalkWorld as World
from rig.world.spec import Composed, ToolError, tool

_SUCCESS = {"status": "success"}


def _named(world: World, username: str) -> Account:
    account = world.accounts.find(username)
    if account is None:
        raise ToolError("There is no user of that name.")
    return account


def _check_password(account: Account, password: str, message: str = "The password is incorrect.") -> None:
    if account.password != password:
        raise ToolError(message)


@tool("AccountTools", action=True, injected=TOKEN, returns="status")
def change_password(
    world: World,
    old_password: Annotated[str, "current password"],
    new_password: Annotated[str, Composed(), "new password"],
) -> Json:
    """Change the logged-in user's password."""
    account = world.caller()
    _check_password(account, old_password, "The old password is incorrect.")
    world.accounts.change(account, password=new_password)
    return dict(_SUCCESS)


@tool("AccountTools", action=True, injected=TOKEN, login="out", returns="status")
def delete_account(world: World, password: Annotated[str, "password, to confirm"]) -> Json:
    """Delete the logged-in user's account for good and log out."""
    account = world.caller()
    _check_password(account, password)
    world.accounts.remove(account)
    world.set_session_token(None)
    return dict(_SUCCESS)


@tool("AccountTools", action=False, injected=TOKEN, returns="user: {username, email, phone, name}")
def get_account_information(world: World) -> Json:
    """Show the logged-in user's own account."""
    return {"user": world.caller().public()}


@tool("AccountTools", action=True, injected=TOKEN, login="out", returns="status")
def logout_user(world: World) -> Json:
    """Log the user out."""
    world.accounts.change(world.caller(), session_token=None)
    world.set_session_token(None)
    return dict(_SUCCESS)


@tool("AccountTools", action=False, injected=TOKEN, returns="users: list of {username, email, phone, name}")
def query_user(
    world: World,
    username: Annotated[str | None, "username"] = None,
    email: Annotated[EmailAddress | None, "email address"] = None,
) -> Json:
    """Look up a user by exact username, or by exact email."""
    world.caller()
    if username is None and email is None:
        raise ToolError("Give a username or an email.")
    if username is None:
        return {"users": [account.public() for account in world.accounts.all() if account.email == email]}
    account = world.accounts.find(username)
    return {"users": [] if account is None else [{**account.public(), "username": username}]}


@tool("AccountTools", action=True, login="in", returns="session_token, user")
def register_user(
    world: World,
    username: Annotated[str, "wanted username"],
    password: Annotated[str, "wanted password"],
    email: Annotated[EmailAddress, "email address"],
    name: Annotated[str | None, "full name"] = None,
    phone: Annotated[Phone | None, "format 555-555-5555"] = None,
) -> Json:
    """Create an account and log in to it. Only while nobody is logged in."""
    if world.accounts.find(username) is not None:
        raise ToolError("That username is taken.")
    if not is_email(email):
        raise ToolError("The email must be an address such as name@host.com.")
    if phone is not None and not is_phone(phone):
        raise ToolError("The phone must have the form 555-555-5555.")
    token = world.draw("RegisterUser", SESSION_TOKENS)
    shared: dict[str, Json] = {"username": username, "email": email, "phone": phone, "name": name}
    world.accounts.add(**shared, password=password, session_token=token)
    world.set_session_token(token)
    return {"session_token": token, "user": shared}


def _use_up_code(world: World, username: str, **_others: Json) -> None:
    """ToolTalk's verification codes never wear out."""
    world.accounts.change(_named(world, username), verification_code=None)


@tool("AccountTools", action=True, returns="status", amends=_use_up_code)
def reset_password(
    world: World,
    username: Annotated[str, "username"],
    verification_code: Annotated[str, "6-digit code the user received"],
    new_password: Annotated[str, Composed(), "new password"],
) -> Json:
    """Set a new password with the code that SendVerificationCode sent."""
    account = _named(world, username)
    if account.verification_code is None or account.verification_code != verification_code:
        raise ToolError("The verification code is incorrect.")
    world.accounts.change(account, password=new_password)
    return dict(_SUCCESS)


@tool("AccountTools", action=True, returns="status")
def send_verification_code(
    world: World,
    username: Annotated[str, "username"],
    email: Annotated[EmailAddress, "email address of the account"],
) -> Json:
    """Start a password reset: email a verification code to the user."""
    account = _named(world, username)
    if account.email != email:
        raise ToolError("That is not the email of this account.")
    world.accounts.change(account, verification_code=world.draw("SendVerificationCode", VERIFICATION_CODES))
    return dict(_SUCCESS)


@tool("AccountTools", action=True, injected=TOKEN, returns="status")
def update_account_information(
    world: World,
    password: Annotated[str, "password, to confirm"],
    new_email: Annotated[EmailAddress | None, "new email address"] = None,
    new_phone_number: Annotated[Phone | None, "format 555-555-5555"] = None,
    new_name: Annotated[str | None, Composed(), "new full name"] = None,
) -> Json:
    """Change the logged-in user's account. Needs new_email or new_phone_number; new_name is extra."""
    account = world.caller()
    _check_password(account, password)
    if new_email is None and new_phone_number is None:
        raise ToolError("Give new_email or new_phone_number.")
    if new_email is not None:
        if not is_email(new_email):
            raise ToolError("new_email must be an address such as name@host.com.")
        world.accounts.change(account, email=new_email)
    if new_phone_number is not None:
        if not is_phone(new_phone_number):
            raise ToolError("new_phone_number must have the form 555-555-5555.")
        world.accounts.change(account, phone=new_phone_number)
    if new_name is not None:
        world.accounts.change(account, name=new_name)
    return dict(_SUCCESS)


@tool("AccountTools", action=True, login="in", returns="session_token")
def user_login(
    world: World,
    username: Annotated[str, "username"],
    password: Annotated[str, "password"],
) -> Json:
    """Log a user in. Only while nobody is logged in."""
    account = _named(world, username)
    _check_password(account, password)
    if account.session_token is not None:
        raise ToolError("That user is already logged in.")
    token = world.draw("UserLogin", SESSION_TOKENS)
    world.accounts.change(account, session_token=token)
    world.set_session_token(token)
    return {"session_token": token}

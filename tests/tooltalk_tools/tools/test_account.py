import pytest
from small_world import SEEDS, call, fail, log_in, log_out, public, respond

from rig.world.toolbox import Simulator

SUCCESS = {"status": "success"}
FIRST_CODE = "984520"


def test_change_password(both: Simulator) -> None:
    assert fail(both, "ChangePassword", old_password="pw-theo", new_password="x")
    assert respond(both, "ChangePassword", old_password="pw-mara", new_password="x") == SUCCESS
    respond(both, "LogoutUser")
    assert fail(both, "UserLogin", username="mara", password="pw-mara") == "The password is incorrect."
    assert respond(both, "UserLogin", username="mara", password="x")


def test_delete_account_logs_out_and_leaves_the_rest(both: Simulator) -> None:
    assert fail(both, "DeleteAccount", password="x") == "The password is incorrect."
    assert respond(both, "DeleteAccount", password="pw-mara") == SUCCESS
    assert fail(both, "GetAccountInformation") == "User is not logged in"
    assert fail(both, "UserLogin", username="mara", password="pw-mara")
    respond(both, "RegisterUser", username="mara", password="x", email="a@b")
    assert len(respond(both, "FindAlarms")["alarms"]) == len(SEEDS["Alarm"]["mara"])


def test_get_account_information(both: Simulator) -> None:
    assert respond(both, "GetAccountInformation") == {"user": public("mara")}


def test_query_user_by_username_is_exact(both: Simulator) -> None:
    assert respond(both, "QueryUser", username="theo") == {"users": [public("theo")]}
    for username in ("Theo", "the", "theo ", ""):
        assert respond(both, "QueryUser", username=username) == {"users": []}


def test_query_user_by_email_may_find_several(both: Simulator) -> None:
    found = {"users": [public("theo"), public("ines")]}
    assert respond(both, "QueryUser", email="theo@post.example") == found
    assert respond(both, "QueryUser", email="Theo@post.example") == {"users": []}


def test_query_user_ignores_the_email_when_there_is_a_username(both: Simulator) -> None:
    assert respond(both, "QueryUser", username="zz", email="theo@post.example") == {"users": []}
    assert respond(both, "QueryUser", username="mara", email="theo@post.example") == {
        "users": [public("mara")]
    }


def test_query_user_needs_one_of_them(both: Simulator) -> None:
    assert fail(both, "QueryUser")


def test_register_user(both: Simulator) -> None:
    log_out(both)
    new = {"username": "new", "email": "new@post.example", "phone": "555-123-4567", "name": "New One"}
    response = respond(both, "RegisterUser", password="x", **new)
    assert response == {"session_token": "e149636f-d9ca-0792", "user": new}
    assert respond(both, "GetAccountInformation") == {"user": new}


def test_register_user_without_the_optional(both: Simulator) -> None:
    log_out(both)
    user = respond(both, "RegisterUser", username="new", password="x", email="a@b")["user"]
    assert user == {"username": "new", "email": "a@b", "phone": None, "name": None}


@pytest.mark.parametrize(
    "wrong",
    [{"username": "theo"}, {"email": "a"}, {"email": "a b@c"}, {"phone": "5551234567"}, {"phone": ""}],
)
def test_register_user_is_refused(both: Simulator, wrong: dict[str, str]) -> None:
    log_out(both)
    assert fail(both, "RegisterUser", **{"username": "new", "password": "x", "email": "a@b", **wrong})
    assert fail(both, "UserLogin", username="new", password="x")


def test_a_newline_at_the_end_of_an_address_or_number_is_overlooked(both: Simulator) -> None:
    log_out(both)
    respond(both, "RegisterUser", username="new", password="x", email="a@b\n", phone="555-123-4567\n")


def test_reset_password(both: Simulator) -> None:
    log_out(both)
    reset = {"username": "theo", "verification_code": FIRST_CODE, "new_password": "x"}
    assert fail(both, "ResetPassword", **reset)
    assert respond(both, "SendVerificationCode", username="theo", email="theo@post.example") == SUCCESS
    assert fail(both, "ResetPassword", **{**reset, "verification_code": "000000"})
    assert fail(both, "ResetPassword", **{**reset, "username": "mara"})
    assert respond(both, "ResetPassword", **reset) == SUCCESS
    respond(both, "UserLogin", username="theo", password="x")


def test_a_verification_code_can_be_used_once(default: Simulator) -> None:
    respond(default, "SendVerificationCode", username="theo", email="theo@post.example")
    reset = {"username": "theo", "verification_code": FIRST_CODE, "new_password": "x"}
    respond(default, "ResetPassword", **reset)
    assert fail(default, "ResetPassword", **reset)
    respond(default, "SendVerificationCode", username="theo", email="theo@post.example")
    respond(default, "ResetPassword", **{**reset, "verification_code": "968507"})


def test_upstream_a_verification_code_never_wears_out(upstream: Simulator) -> None:
    respond(upstream, "SendVerificationCode", username="theo", email="theo@post.example")
    for password in ("x", "y"):
        reset = {"username": "theo", "verification_code": FIRST_CODE, "new_password": password}
        respond(upstream, "ResetPassword", **reset)


def test_send_verification_code_needs_the_right_address(both: Simulator) -> None:
    assert fail(both, "SendVerificationCode", username="theo", email="mara@post.example")
    assert fail(both, "SendVerificationCode", username="nobody", email="theo@post.example")


def test_update_account_information(both: Simulator) -> None:
    update = {"new_email": "m@post.example", "new_phone_number": "555-999-9999", "new_name": "Mara L."}
    assert respond(both, "UpdateAccountInformation", password="pw-mara", **update) == SUCCESS
    assert respond(both, "GetAccountInformation")["user"] == {
        "username": "mara",
        "email": "m@post.example",
        "phone": "555-999-9999",
        "name": "Mara L.",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        {"password": "x", "new_email": "m@post.example"},
        {"password": "pw-mara"},
        {"password": "pw-mara", "new_name": "Mara L."},
        {"password": "pw-mara", "new_email": "x"},
        {"password": "pw-mara", "new_phone_number": "x"},
    ],
)
def test_update_account_information_is_refused(both: Simulator, arguments: dict[str, str]) -> None:
    assert fail(both, "UpdateAccountInformation", **arguments)
    assert respond(both, "GetAccountInformation") == {"user": public("mara")}


def test_user_login(both: Simulator) -> None:
    log_out(both)
    assert fail(both, "UserLogin", username="nobody", password="x")
    assert fail(both, "UserLogin", username="theo", password="x") == "The password is incorrect."
    assert respond(both, "UserLogin", username="theo", password="pw-theo")["session_token"]
    log_in(both)
    assert call(both, "GetAccountInformation").username == "mara"


def test_a_user_whose_record_holds_a_token_cannot_log_in(both: Simulator) -> None:
    both.world.accounts.change(both.world.accounts.all()[1], session_token="t")
    respond(both, "LogoutUser")
    assert fail(both, "UserLogin", username="theo", password="pw-theo")

"""Which variables of the environment are managed secrets."""

from __future__ import annotations

import pytest

from redact.test_shapes import rnd
from serai.redact import Redactor
from serai.redact.managed import managed_from_environment

VALUE = rnd(30)


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "GH_TOKEN", "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "CLIENT_SECRET", "SECRET_KEY_BASE",
        "AZURE_CREDENTIALS", "SERAI_DATABASE_KEY", "GITHUB_PAT", "npm_config_token", "APIKEY",
        "SSH_KEY_PASSPHRASE", "TOKEN",
    ],
)  # fmt: skip
def test_a_name_that_says_so_makes_a_secret(name: str) -> None:
    assert managed_from_environment({name: VALUE}) == {name: VALUE}


@pytest.mark.parametrize(
    "name",
    [
        "PATH", "HOME", "SSH_AUTH_SOCK", "TOKENIZERS_PARALLELISM", "KEYBOARD_LAYOUT", "PWD", "OLDPWD",
        "GPG_KEY", "AWS_ACCESS_KEY_ID", "TOKEN_FILE", "SECRET_NAME", "MONKEY", "PATTERN", "MAX_TOKENS",
        "TOKEN_LIMIT", "KEYTIMEOUT", "XDG_SESSION_ID", "PASSENGER_ROOT", "COMPATIBLE",
    ],
)  # fmt: skip
def test_other_names_do_not(name: str) -> None:
    assert managed_from_environment({name: VALUE}) == {}


@pytest.mark.parametrize(
    "value",
    [
        "", "short", "12345678901", "true", "disabled", "change-me-please", "Production",
        "/run/secrets/token", "~/.config/token", "./some/file.txt",
        "C:\\Users\\me\\key.pem", " " * 20, "SOME_PLAIN_WORDS",
    ],
)  # fmt: skip
def test_a_value_that_is_no_secret_is_not_managed(value: str) -> None:
    assert managed_from_environment({"SOME_TOKEN": value}) == {}


@pytest.mark.parametrize(
    "value", [VALUE, "/" + rnd(39) + "/", "hunter2hunter2", "correctHorseBattery", "a b c 1 2 3"]
)
def test_other_values_are(value: str) -> None:
    assert managed_from_environment({"SOME_TOKEN": value}) == {"SOME_TOKEN": value}


def test_of_an_address_the_password_is_the_secret() -> None:
    environ = {"DATABASE_URL": f"postgres://app:{VALUE}%2F@db:5432/x", "PROXY": "http://host:8080/"}
    assert managed_from_environment(environ) == {"DATABASE_URL": f"{VALUE}/"}


@pytest.mark.parametrize("value", ["p\udce4ssword-12-x", "half \ud83d a character"])
def test_a_secret_that_is_not_unicode_is_managed_like_any_other(value: str) -> None:
    redactor = Redactor(managed_from_environment({"MY_TOKEN": value}))
    assert redactor.redact(f"it is {value}.") == "it is [secret:MY_TOKEN]."

"""What an operator may write into [console], and what is told him when he may not."""

import pytest

from perlica.app.config import ConfigInvalid, parse_config
from perlica.domain.texts import Language
from tests.app.configs import MINIMAL


def codes(section: str) -> list[tuple[str, str]]:
    try:
        parse_config(f"{MINIMAL}\n[console]\n{section}")
    except ConfigInvalid as invalid:
        return [(problem.key, problem.code) for problem in invalid.problems]
    return []


@pytest.mark.parametrize(
    "section",
    [
        "",
        'listen = "127.0.0.1:8450"',
        'listen = "[::1]:8450"',
        'listen = "0.0.0.0:8450"\npublic_url = "https://perlica.example.internal"',
        'listen = "127.0.0.1:8450"\npublic_url = "http://perlica.lan:8080/"',
    ],
)
def test_a_safe_console_is_accepted(section: str) -> None:
    assert codes(section) == []


@pytest.mark.parametrize(
    ("section", "key", "code"),
    [
        ('listen = "0.0.0.0:8450"', "console.listen", "console_open"),
        ('listen = "10.0.0.5:8450"', "console.listen", "console_open"),
        (
            'listen = "10.0.0.5:8450"\npublic_url = "http://perlica.lan"',
            "console.listen",
            "console_open",
        ),
        ('listen = "localhost:8450"', "console.listen", "listen_bad"),
        ('public_url = "https://a.example/console"', "console.public_url", "console_url_path"),
        ('public_url = "http://a.example"', "console.public_url", "address_not_encrypted_http"),
        ('public_url = "https://u:p@a.example"', "console.public_url", "address_with_credentials"),
        (
            'proxy_secret_file = "/var/lib/perlica/x"',
            "console.proxy_secret_file",
            "secret_in_state",
        ),
        ("threads = 0", "console.threads", "out_of_range"),
        ("refresh_s = 0.1", "console.refresh_s", "out_of_range"),
        ("token_days = 9999", "console.token_days", "out_of_range"),
        ("login_wait_s = inf", "console.login_wait_s", "out_of_range"),
    ],
)
def test_an_unsafe_one_is_told_with_its_key(section: str, key: str, code: str) -> None:
    assert codes(section) == [(key, code)]


def test_a_token_has_no_place_in_the_configuration() -> None:
    with pytest.raises(ConfigInvalid) as invalid:
        parse_config(f'{MINIMAL}\n[console]\ntoken = "secret-canary"')

    assert "secret-canary" not in invalid.value.say(Language.en)


def test_a_console_is_off_unless_it_is_given_an_address() -> None:
    assert parse_config(MINIMAL).console.listen is None

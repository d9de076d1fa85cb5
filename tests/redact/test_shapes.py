"""Shapes of credentials: what is masked, and what only looks like one.

Example credentials are made at run time, so that no scanner finds any in this repository.
"""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid
from pathlib import Path

import pytest

import serai
from serai.redact import Redactor
from serai.redact.shapes import LIMIT, name_tells

ALNUM = string.ascii_letters + string.digits
URL_SAFE = ALNUM + "-_"
HEX = "0123456789abcdef"


def rnd(size: int, alphabet: str = ALNUM, seed: int = 7) -> str:
    # Random, but the same every time, with letters, capitals and digits.
    return "".join(random.Random(seed).choices(alphabet, k=size))


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


JWT = ".".join(
    [b64(b'{"alg":"HS256","typ":"JWT"}'), b64(b'{"sub":"1234567890","name":"A"}'), rnd(43, URL_SAFE)]
)
JWE = ".".join([b64(b'{"alg":"dir","enc":"A256GCM"}'), "", rnd(16), rnd(80), rnd(22)])
PEM_BODY = "\n".join(rnd(64, ALNUM + "+/", seed) for seed in range(12)) + "\n" + rnd(30) + "=="
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_BODY}\n-----END RSA PRIVATE KEY-----"
MASKED_PEM = "-----BEGIN RSA PRIVATE KEY-----[masked:private-key]"

PROVIDER_KEYS = {
    "sk-" + rnd(48): "sk-[masked:api-key]",
    "sk-" + rnd(32, HEX): "sk-[masked:api-key]",
    "sk-proj-" + rnd(100, URL_SAFE): "sk-[masked:api-key]",
    "sk-or-v1-" + rnd(64, HEX): "sk-[masked:api-key]",
    "sk-ant-api03-" + rnd(93, URL_SAFE): "sk-ant-[masked:anthropic-key]",
    "ghp_" + rnd(36): "ghp_[masked:github-token]",
    "srt_" + rnd(43): "srt_[masked:serai-token]",
    "gho_" + rnd(36): "gho_[masked:github-token]",
    "ghs_" + rnd(36): "ghs_[masked:github-token]",
    "github_pat_" + rnd(22) + "_" + rnd(59): "github_pat_[masked:github-token]",
    "glpat-" + rnd(20, URL_SAFE): "glpat-[masked:gitlab-token]",
    "xoxb-"
    + rnd(12, string.digits)
    + "-"
    + rnd(13, string.digits)
    + "-"
    + rnd(24): "xoxb-[masked:slack-token]",
    "xapp-1-" + rnd(11) + "-" + rnd(13, string.digits) + "-" + rnd(64, HEX): "xapp-[masked:slack-token]",
    "sk_live_" + rnd(24): "sk_live_[masked:stripe-key]",
    "AKIA" + rnd(16, string.ascii_uppercase + string.digits): "AKIA[masked:aws-key-id]",
    "ASIA" + rnd(16, string.ascii_uppercase + string.digits): "ASIA[masked:aws-key-id]",
    "AIza" + rnd(35, URL_SAFE): "AIza[masked:google-key]",
    "GOCSPX-" + rnd(28, URL_SAFE): "GOCSPX-[masked:google-secret]",
    "ya29." + rnd(60, URL_SAFE): "ya29.[masked:google-token]",
    "hf_" + rnd(34): "hf_[masked:huggingface-token]",
    "srt_" + rnd(43, URL_SAFE): "srt_[masked:serai-token]",
    "npm_" + rnd(36): "npm_[masked:npm-token]",
    "pypi-" + "AgEIcHlwaS5vcmc" + rnd(120, URL_SAFE): "pypi-[masked:pypi-token]",
    "dckr_pat_" + rnd(27, URL_SAFE): "dckr_pat_[masked:docker-token]",
    "hvs." + rnd(90, URL_SAFE): "hvs.[masked:vault-token]",
    "SG." + rnd(22, URL_SAFE) + "." + rnd(43, URL_SAFE): "SG.[masked:sendgrid-key]",
    "gsk_" + rnd(52): "gsk_[masked:api-key]",
    "AGE-SECRET-KEY-1" + rnd(58, string.ascii_uppercase + string.digits): "AGE-SECRET-KEY-1[masked:age-key]",
    JWT: "eyJ[masked:jwt]",
    JWE: "eyJ[masked:jwt]",
}
"""Keys, and what is shown of them."""

SURROUNDINGS = [
    "{}",
    "my key is {} as you know",
    "`{}`",
    '{{"a":"{}"}}',
    "a\\n{}\\nb",  # inside a JSON text
    "\x1b[31m{}\x1b[0m",  # coloured by a terminal
    "https://example.org/?q=1%3D{}",
    "({}),",
    "first {0} second {0}.",
]


def redact(text: str) -> str:
    return Redactor().redact(text)


def streamed(text: str, size: int) -> str:
    stream = Redactor().stream()
    return "".join([*(stream.feed(text[i : i + size]) for i in range(0, len(text), size)), stream.flush()])


@pytest.mark.parametrize("surrounding", SURROUNDINGS)
@pytest.mark.parametrize(("key", "masked"), PROVIDER_KEYS.items(), ids=[k[:7] for k in PROVIDER_KEYS])
def test_keys_of_providers_are_masked_with_their_kind(key: str, masked: str, surrounding: str) -> None:
    expected = surrounding.format(masked)
    assert redact(surrounding.format(key)) == expected
    assert streamed(surrounding.format(key), 1) == expected
    assert redact(expected) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('password = "{}"', "password"),
        ("PASSWORD={}", "password"),
        ("db_password: {}", "password"),
        ("export GITHUB_TOKEN={}", "token"),
        ('{{"accessToken": "{}"}}', "token"),
        ('{{\\"accessToken\\": \\"{}\\"}}', "token"),
        ("aws_secret_access_key = {}", "secret"),
        ("client_secret='{}'", "secret"),
        ("api-key: {}", "api-key"),
        ("X-Api-Key: {}", "api-key"),
        ('os.environ["SERVICE_TOKEN"] = "{}"', "token"),
        ('if token == "{}":', "token"),
        ("AccountName=x;AccountKey={};", "accountkey"),
        ("<password>{}</password>", "password"),
        ("login --token {} --verbose", "token"),
        ("login --api-key={}", "api-key"),
        ("Authorization: Bearer {}", "bearer-token"),
        ("authorization: bearer {}", "bearer-token"),
        ("Authorization: Token {}", "token"),
        ("curl -H 'authorization:token {}' https://x.example", "token"),
        ('{{"Authorization": "Token {}"}}', "token"),
        ('{{"authorization":"token {}"}}', "token"),
        ("{{'Authorization': 'Token {}'}}", "token"),
        ('{{\\"Authorization\\": \\"Token {}\\"}}', "token"),
    ],
)
@pytest.mark.parametrize("value", [rnd(40, ALNUM + "/+"), rnd(32, HEX), rnd(24), rnd(64, URL_SAFE)])
def test_a_random_value_is_masked_where_its_name_says_what_it_is(text: str, kind: str, value: str) -> None:
    expected = text.format(f"[masked:{kind}]")
    assert redact(text.format(value)) == expected
    assert streamed(text.format(value), 1) == expected
    assert redact(expected) == expected


def test_basic_credentials_are_masked() -> None:
    value = base64.b64encode(f"user:{rnd(20)}".encode()).decode().rstrip("=")
    assert redact(f"Authorization: Basic {value}") == "Authorization: Basic [masked:basic-credentials]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres://app:{}@db:5432/x", "postgres://app:[masked:url-password]@db:5432/x"),
        ("redis://:{}@cache", "redis://:[masked:url-password]@cache"),
        ("https://{}@github.com/a/b.git", "https://[masked:url-credentials]@github.com/a/b.git"),
        ("https://{}:x-oauth-basic@host/", "https://[masked:url-credentials]@host/"),
    ],
)
def test_credentials_in_urls_are_masked(text: str, expected: str) -> None:
    for size in (1, 3, 1000):
        assert streamed(text.format(rnd(24)), size) == expected
    assert redact(expected) == expected


# -- private keys ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
@pytest.mark.parametrize("form", ["{}", 'a = "{}"', "cat key\n{}\n$ ls"])
def test_a_private_key_is_masked_as_a_whole(size: int, form: str) -> None:
    assert streamed(form.format(PEM), size) == form.format(MASKED_PEM)


@pytest.mark.parametrize("size", [1, 50, 100_000])
def test_a_private_key_in_a_json_text_and_one_with_line_numbers_are_masked(size: int) -> None:
    escaped = PEM.replace("\n", "\\n")
    assert streamed(escaped, size) == MASKED_PEM
    numbered = PEM.replace("\n", "\n   12\t| ")
    assert streamed(numbered, size) == MASKED_PEM


def test_a_private_key_of_any_length_is_masked_and_not_kept_in_memory() -> None:
    stream = Redactor().stream()
    out = stream.feed("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    most = 0
    for seed in range(1000):
        out += stream.feed(rnd(70, ALNUM + "+/", seed) + "\n")
        most = max(most, stream.held)
    out += stream.feed("-----END OPENSSH PRIVATE KEY-----\nand on")
    assert out + stream.flush() == "-----BEGIN OPENSSH PRIVATE KEY-----[masked:private-key]\nand on"
    assert most < 100


@pytest.mark.parametrize("size", [1, 33, 100_000])
def test_a_private_key_that_breaks_off_ends_where_no_line_of_it_follows(size: int) -> None:
    prose = "and then the work went on with short words, as it does when people talk to each other. " * 5
    begun = "-----BEGIN PRIVATE KEY-----"
    text = f"{begun}\n{PEM_BODY[:300]}\n{prose}"
    assert streamed(text, size) == f"{begun}[masked:private-key]\n{prose}"
    assert (
        streamed(text[:300], size) == f"{begun}[masked:private-key]"
    )  # the last line has a few characters only


def test_a_header_and_a_footer_without_a_key_stay() -> None:
    text = 'START = "-----BEGIN OPENSSH PRIVATE KEY-----"\nEND = "-----END OPENSSH PRIVATE KEY-----"\n'
    assert redact(text) == streamed(text, 1) == text


def test_certificates_and_public_keys_stay() -> None:
    certificate = PEM.replace("RSA PRIVATE KEY", "CERTIFICATE")
    public = PEM.replace("RSA PRIVATE KEY", "PUBLIC KEY")
    assert redact(certificate) == certificate
    assert redact(public) == public


# -- what stays --------------------------------------------------------------------------------------------

ORDINARY = [
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "sha256:" + hashlib.sha256(b"x").hexdigest(),
    "the digest is " + hashlib.sha512(b"x").hexdigest(),
    str(uuid.UUID(int=0x1234567890ABCDEF1234567890ABCDEF)),
    "integrity sha512-" + base64.b64encode(hashlib.sha512(b"x").digest()).decode(),
    "data:image/png;base64," + base64.b64encode(random.Random(3).randbytes(3000)).decode(),
    base64.b64encode(b'{"some":"json","that":"is","no":"token","n":1234567890}').decode(),
    "sk-folding-cube-container sk-circle-fade-dot-12 sk-cube-grid-large-v2",
    "task-runner risk-based disk-usage-analyzer-2024",
    "token = get_token_from_environment()",
    "token: str | None = None",
    "password: str = Field(min_length=8)",
    'password = os.environ["DB_PASSWORD_2"]',
    "secret=self.config.secret_v2_value",
    "apiKey: process.env.OPENAI_API_KEY_2",
    'api_key="your-api-key-here-1234"',
    "TOKEN=$GITHUB_TOKEN_2 PASSWORD=${DB_PASSWORD1} PWD=%DB_PASSWORD1%",
    "password=<your password 1>",
    "token = OAuth2TokenResponse.from_json(body)",
    "token = Base64Encoder2",
    'const token = await client.auth.getTokenV2({ scope: "repo" })',
    "max_tokens: 4096, token_count=12345, tokens: 1,234",
    "token_hash: " + hashlib.sha256(b"x").hexdigest(),
    "secret_id: 3f786850e387550fdab836ed7e6dc881de23001b",
    "the token: it is in the file; the password: ask someone",
    "npm_config_cache=/home/me/.npm npm_lifecycle_event",
    "from huggingface_hub import hf_hub_download",
    "the bearer of-this-letter, bearer authentication-mechanisms-are",
    "basic knowledge-of-mathematics",
    "Authorization: Token authentication-is-used, error: token expired-on-2026-01-31-at-noon",
    "https://example.com:8080/a@b and git@github.com:a/b and ssh://git@host:22/x",
    "https://registry.npmjs.org/a/-/a-1.0.0.tgz#3f786850e387550fdab836ed7e6dc881de23001b",
    "f'https://{user}:{password}@{host}/' 'http://%s:%s@host' postgres://$USER:$PASS@host",
    "token=/var/run/secrets/kubernetes.io/serviceaccount2/token",
    "AKIA is how they begin; AIzawa is a name; eyJ begins base64 of JSON",
    "--- a/file\n+++ b/file\n-----\n--output build/v2/some-file-1.2.3.tar.gz",
    "toolu_01A09q90qw90lq917835lq9 call_abc123DEF456ghi789",
    "/home/me/.cache/pypoetry/virtualenvs/serai-Xy12Ab9z-py3.11/bin/python",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 user@host",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert redact(text) == text
    assert streamed(text, 1) == text


def test_the_source_of_this_package_and_its_dependencies_stays_as_it_is() -> None:
    folder = Path(serai.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert redact(text) == text, path


@pytest.mark.parametrize(
    "name", ["token_count", "tokenizer", "secretName", "api_key_id", "passwordHash", "path"]
)
def test_names_that_tell_of_something_else(name: str) -> None:
    assert name_tells(name) is None


# -- how it behaves ----------------------------------------------------------------------------------------


def test_a_candidate_past_the_limit_is_masked_and_its_rest_dropped() -> None:
    stream = Redactor().stream()
    text = "token=" + "a" * (3 * LIMIT) + " and on"
    out, most = "", 0
    for start in range(0, len(text), 100):
        out += stream.feed(text[start : start + 100])
        most = max(most, stream.held)
    assert out + stream.flush() == "token=[masked:secret] and on" == redact(text)
    assert most <= LIMIT + 100


def test_a_secret_inside_a_name_that_turns_out_to_be_none_is_held() -> None:
    key = "sk-abc1" + rnd(30)
    assert streamed(f"--my-{key}", 1) == "--my-sk-[masked:api-key]"


def test_what_a_person_typed_keeps_its_shapes() -> None:
    key = "ghp_" + rnd(36)
    redactor = Redactor({"MINE": "some known value"})
    assert redactor.redact(f"{key} some known value", observed=False) == f"{key} [secret:MINE]"
    stream = redactor.stream(observed=False)
    assert stream.feed(f"{key} some known") + stream.feed(" value") + stream.flush() == f"{key} [secret:MINE]"


@pytest.mark.parametrize(
    "unit", ["sk-", "-eyJ", "token=", "-----BEGIN ", "://", "--a ", "A", "eyJa.", "password:a1!"]
)
def test_no_text_takes_long(unit: str) -> None:
    # Linear, and far from the seconds that going over a text again and again would take.
    text = unit * (200_000 // len(unit))
    assert isinstance(redact(text), str)

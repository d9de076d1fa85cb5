from __future__ import annotations

import json

import pytest

from serai.config.settings import is_loopback
from serai.errors import ConfigInvalid
from serai.relay.tokens import digest
from serai.serve.guard import Admission, Guard, Refusal, refuse_open_bind
from serai.serve.http import refusal_answer

TOKEN = "the-right-token"
EVERYONE = "0.0.0.0"
BEARER = ("Authorization", f"Bearer {TOKEN}")
LOCAL = ("Host", "localhost:7777")


def a_guard(
    *,
    hosts: tuple[str, ...] = (),
    origins: tuple[str, ...] = (),
    bound: str = "127.0.0.1",
    tokens: tuple[str, ...] = (TOKEN,),
) -> Guard:
    return Guard(
        digests=[digest(token) for token in tokens],
        port=7777,
        host=bound,
        allowed_hosts=hosts,
        allowed_origins=origins,
    )


def status(guard: Guard, *headers: tuple[str, str], path: str = "/", query: str = "") -> int:
    """What an upgrade gets; 101 when it is let in."""
    decision = guard.upgrade(path, query, headers)
    return decision.status if isinstance(decision, Refusal) else 101


class TestToken:
    def test_a_program_with_the_token_is_let_in(self) -> None:
        decision = a_guard().upgrade("/ahp", "", [LOCAL, BEARER])
        assert decision == Admission(digest(TOKEN))

    @pytest.mark.parametrize("query", [f"tkn={TOKEN}", f"a=b&tkn={TOKEN}", f"tkn={TOKEN}&tkn2=x"])
    def test_the_token_may_stand_in_the_address(self, query: str) -> None:
        assert a_guard().upgrade("/", query, [LOCAL]) == Admission(digest(TOKEN))

    def test_a_page_offers_it_as_a_protocol_so_that_no_address_has_it(self) -> None:
        offered = ("Sec-WebSocket-Protocol", f"serai, serai.tkn.{TOKEN}")
        assert a_guard().upgrade("/ahp", "", [LOCAL, offered]) == Admission(digest(TOKEN))
        for wrong in (f"serai.tkn.{TOKEN}, serai.tkn.other", "serai.tkn.", TOKEN):
            assert status(a_guard(), LOCAL, ("Sec-WebSocket-Protocol", wrong)) == 401

    def test_of_several_tokens_each_is_told_by_its_digest(self) -> None:
        guard = a_guard(tokens=("first", "second"))
        assert guard.upgrade("/", "tkn=second", [LOCAL]) == Admission(digest("second"))

    @pytest.mark.parametrize(
        "query",
        [
            "",
            "tkn",
            "token=" + TOKEN,
            "TKN=" + TOKEN,
            "&".join(f"p{n}=1" for n in range(100)) + f"&tkn={TOKEN}",
        ],
    )
    def test_without_a_token_nobody_is_let_in(self, query: str) -> None:
        decision = a_guard().upgrade("/", query, [LOCAL])
        assert isinstance(decision, Refusal)
        assert decision.status == 401

    @pytest.mark.parametrize(
        ("headers", "query"),
        [
            ((), "tkn=wrong"),
            ((), "tkn="),
            ((), f"tkn={TOKEN}&tkn={TOKEN}"),
            ((), f"tkn={TOKEN.upper()}"),
            ((("Authorization", "Bearer wrong"),), ""),
            ((("Authorization", "Bearer"),), ""),
            ((("Authorization", "Bearer "),), ""),
            ((BEARER, BEARER), ""),
            ((("Authorization", "Bearer wrong"),), f"tkn={TOKEN}"),
            ((("Authorization", "Bearer \xff\xfe"),), ""),
        ],
    )
    def test_a_wrong_token_is_refused(self, headers: tuple[tuple[str, str], ...], query: str) -> None:
        decision = a_guard().upgrade("/", query, [LOCAL, *headers])
        assert isinstance(decision, Refusal)
        assert (decision.status, decision.code) == (401, "token_wrong")

    def test_a_digest_is_not_a_token(self) -> None:
        assert status(a_guard(), LOCAL, query=f"tkn={digest(TOKEN)}") == 401

    def test_without_tokens_the_door_is_open_to_this_machine(self) -> None:
        guard = a_guard(tokens=())
        assert guard.upgrade("/", "", [LOCAL]) == Admission("")
        assert guard.upgrade("/", "tkn=any", [LOCAL]) == Admission("")
        assert status(guard, ("Host", "evil.example")) == 403

    def test_a_refusal_says_what_to_do_and_asks_for_a_token(self) -> None:
        decision = a_guard().upgrade("/", "", [LOCAL])
        assert isinstance(decision, Refusal)
        answer = refusal_answer(decision)
        assert set(json.loads(bytes(answer.body))) == {"code", "message", "remedy"}
        assert answer.headers["www-authenticate"] == "Bearer"


class TestHost:
    @pytest.mark.parametrize(
        "host",
        [
            "localhost",
            "localhost:7777",
            "localhost.",
            "localhost:65535",
            "127.0.0.1",
            "127.0.0.1:8888",  # a forwarded port
            "[::1]",
            "[0:0:0:0:0:0:0:1]:7777",
        ],
    )
    def test_loopback_names_are_ours(self, host: str) -> None:
        assert status(a_guard(), ("Host", host), BEARER) == 101

    @pytest.mark.parametrize(
        "host",
        [
            "",
            "evil.example",
            "localhost.evil.example",
            "sub.localhost",
            "127.0.0.1.nip.io",
            "127.0.0.2",
            "2130706433",
            EVERYONE,
            "192.168.1.5:7777",
            "::1",
            "[::1",
            "[::]",
            "[::ffff:127.0.0.1]",
            "[::1%25lo]",
            "localhost:0",
            "localhost:",
            "localhost:\u0667\u0667",
            "user@localhost",
            "localhost/",
            "localhost,evil.example",
            "localhost\x00",
            "loc\u0430lhost",
            "http://localhost",
        ],
    )
    def test_all_else_is_refused_even_with_the_token(self, host: str) -> None:
        assert status(a_guard(), ("Host", host), BEARER) == 403

    def test_there_must_be_one_host(self) -> None:
        assert status(a_guard(), BEARER) == 403
        assert status(a_guard(), LOCAL, LOCAL, BEARER) == 403
        assert status(a_guard(), LOCAL, ("host", "evil.example"), BEARER) == 403

    def test_a_host_that_was_allowed_is_ours_on_any_port(self) -> None:
        guard = a_guard(hosts=("Inn.Example", "[FD00::1]"))
        for host in ("inn.example", "INN.example.:9000", "[fd00::1]:7777", "[fd00:0::1]"):
            assert status(guard, ("Host", host), BEARER) == 101
        for host in ("example", "x.inn.example", "inn.example.evil", "[fd00::2]"):
            assert status(guard, ("Host", host), BEARER) == 403

    def test_a_host_that_was_allowed_with_a_port_is_ours_on_that_port(self) -> None:
        guard = a_guard(hosts=("inn.example:8443", "web.example:443"))
        assert status(guard, ("Host", "inn.example:8443"), BEARER) == 101
        assert status(guard, ("Host", "inn.example:8444"), BEARER) == 403
        assert status(guard, ("Host", "inn.example"), BEARER) == 403
        assert status(guard, ("Host", "web.example"), BEARER) == 101

    def test_the_address_that_is_listened_on_is_ours(self) -> None:
        assert status(a_guard(bound="192.168.1.5"), ("Host", "192.168.1.5:7777"), BEARER) == 101
        assert status(a_guard(bound="fd00::5"), ("Host", "[fd00::5]:7777"), BEARER) == 101
        assert status(a_guard(bound="[fd00::5]"), ("Host", "[fd00::5]:7777"), BEARER) == 101

    @pytest.mark.parametrize("bound", [EVERYONE, "::", ""])
    def test_all_addresses_are_not_a_name(self, bound: str) -> None:
        guard = a_guard(bound=bound)
        for host in ("0.0.0.0:7777", "[::]:7777", "192.168.1.5:7777"):
            assert status(guard, ("Host", host), BEARER) == 403

    @pytest.mark.parametrize(
        "entry", ["", "http://inn.example", "inn.example/", "*.example", "a b", "inn:0", "*"]
    )
    def test_a_name_that_is_none_is_refused_before_the_start(self, entry: str) -> None:
        with pytest.raises(ConfigInvalid):
            a_guard(hosts=(entry,))


class TestOrigin:
    @pytest.mark.parametrize(
        ("host", "origin"),
        [
            ("localhost:7777", "http://localhost:7777"),
            ("localhost:7777", "HTTP://LOCALHOST:7777"),
            ("localhost:7777", "http://127.0.0.1:7777"),  # ours by another name
            ("127.0.0.1:7777", "http://[::1]:7777"),
            ("localhost:8888", "http://localhost:8888"),  # a forwarded port
            ("localhost", "http://localhost"),
            ("localhost:80", "http://localhost"),
            ("localhost", "https://localhost:443"),
        ],
    )
    def test_pages_of_ours_may_connect(self, host: str, origin: str) -> None:
        assert status(a_guard(), ("Host", host), ("Origin", origin), BEARER) == 101

    @pytest.mark.parametrize(
        "origin",
        [
            "null",
            "",
            "http://evil.example:7777",
            "http://localhost",
            "http://localhost:3000",  # another program's page on this machine
            "http://localhost:7777.evil.example",
            "http://localhost:7777@evil.example",
            "http://localhost:7777/",
            "ws://localhost:7777",
            "file://localhost:7777",
            "chrome-extension://abcdef",
            "localhost:7777",
            "http://localhost:7777 http://evil.example",
        ],
    )
    def test_pages_of_others_may_not(self, origin: str) -> None:
        assert status(a_guard(), LOCAL, ("Origin", origin), BEARER) == 403

    def test_there_may_be_one_origin(self) -> None:
        own = ("Origin", "http://localhost:7777")
        assert status(a_guard(), LOCAL, own, own, BEARER) == 403

    def test_a_rebound_name_is_refused_though_it_is_its_own_origin(self) -> None:
        headers = (("Host", "evil.example:7777"), ("Origin", "http://evil.example:7777"), BEARER)
        assert status(a_guard(), *headers) == 403

    def test_pages_of_an_allowed_host_may_connect_also_when_a_tunnel_renames_the_host(self) -> None:
        guard = a_guard(hosts=("inn.example", "odd.example:8443"))
        for origin in (
            "https://inn.example",
            "http://inn.example",
            "http://inn.example:7777",
            "https://odd.example:8443",
        ):
            assert status(guard, LOCAL, ("Origin", origin), BEARER) == 101
        for origin in ("https://inn.example:3000", "https://x.inn.example", "https://odd.example"):
            assert status(guard, LOCAL, ("Origin", origin), BEARER) == 403
        mapped = (("Host", "inn.example:9000"), ("Origin", "https://inn.example:9000"), BEARER)
        assert status(guard, *mapped) == 101

    def test_an_allowed_origin_is_taken_whole(self) -> None:
        guard = a_guard(origins=("http://localhost:3000/", "vscode-webview://Abc"))
        assert status(guard, LOCAL, ("Origin", "http://localhost:3000"), BEARER) == 101
        assert status(guard, LOCAL, ("Origin", "vscode-webview://abc"), BEARER) == 101
        assert status(guard, LOCAL, ("Origin", "http://localhost:3001"), BEARER) == 403

    @pytest.mark.parametrize("entry", ["", "null", "*", "inn.example", "http://inn.example/page"])
    def test_an_origin_that_is_none_is_refused_before_the_start(self, entry: str) -> None:
        with pytest.raises(ConfigInvalid):
            a_guard(origins=(entry,))


class TestPath:
    @pytest.mark.parametrize("path", ["/", "/ahp"])
    def test_websockets_are_here(self, path: str) -> None:
        assert status(a_guard(), LOCAL, BEARER, path=path) == 101

    @pytest.mark.parametrize("path", ["", "/ahp/", "//", "/AHP", "/%61hp", "/x", "http://localhost/", "*"])
    def test_and_nowhere_else(self, path: str) -> None:
        assert status(a_guard(), LOCAL, BEARER, path=path) == 404

    def test_a_stranger_does_not_learn_what_is_here(self) -> None:
        assert status(a_guard(), LOCAL, path="/x") == 401
        assert status(a_guard(), ("Host", "evil.example"), path="/x") == 403

    def test_health_needs_no_token_but_a_name_of_ours(self) -> None:
        guard = a_guard()
        assert guard.request("/healthz", "", [LOCAL]) == Admission("")
        for headers in ([("Host", "evil.example")], [LOCAL, ("Origin", "http://evil.example")]):
            decision = guard.request("/healthz", "", headers)
            assert isinstance(decision, Refusal)
            assert decision.status == 403

    @pytest.mark.parametrize(
        "path", ["/", "/link", "/assets/1a/js/main.js", "/manifest.webmanifest", "/service-worker.js"]
    )
    def test_the_page_needs_no_token_but_a_name_of_ours(self, path: str) -> None:
        assert a_guard().request(path, "", [LOCAL]) == Admission("")
        decision = a_guard().request(path, "", [("Host", "evil.example")])
        assert isinstance(decision, Refusal)
        assert decision.status == 403

    @pytest.mark.parametrize(
        "path",
        ["/assets", "/Assets/x", "/link/", "/readyz", "/healthz/", "/HEALTHZ", "//healthz", "/healthz/.."],
    )
    def test_all_else_needs_one(self, path: str) -> None:
        decision = a_guard().request(path, "", [LOCAL])
        assert isinstance(decision, Refusal)
        assert decision.status == 401


class TestBind:
    @pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "127.0.0.9", "::1", "[::1]"])
    def test_loopback_may_be_bound_without_a_token(self, host: str) -> None:
        assert is_loopback(host)
        refuse_open_bind(host, [])

    @pytest.mark.parametrize(
        "host", [EVERYONE, "::", "", "192.168.1.5", "inn.example", "localhost.evil.example"]
    )
    def test_beyond_it_a_token_is_needed(self, host: str) -> None:
        with pytest.raises(ConfigInvalid) as caught:
            refuse_open_bind(host, [])
        assert caught.value.remedy
        refuse_open_bind(host, [digest(TOKEN)])

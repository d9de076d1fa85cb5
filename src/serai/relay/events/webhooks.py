"""Webhooks: events of the workspace, posted to URLs that the owner names, signed and in their order.

Each webhook has its own place in the order of events, which is stored. An event that is not accepted is
posted again, later each time, also after a restart. So an event may come twice, and no stored event is left
out.

Posts are signed: HMAC-SHA256 over the time and the body, in two headers. The receiver computes the same, and
refuses what is old.

    X-Serai-Timestamp: 1767225600
    X-Serai-Signature: sha256=<hex of HMAC(secret, timestamp + "." + body)>
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import random
import secrets
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec.structs import replace

from serai import contract as c
from serai.errors import ConnectionLost, InvalidParams, ProtocolError, SeraiError
from serai.relay import WorkspacePart
from serai.relay.tokens import Caller
from serai.store.contract import RelayWrite

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_log = logging.getLogger(__name__)

TIMESTAMP, SIGNATURE = "X-Serai-Timestamp", "X-Serai-Signature"
_MOST = 64 * 1024
"""Most bytes of an answer that are read."""
_TIMEOUT = 30.0
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 300.0


class _Kept(c.Record):
    webhook: c.Webhook
    secret: str


class Webhooks(WorkspacePart):
    """All webhooks of a workspace. Secrets that became known after an event was written are masked, too."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._events = workspace.events
        self._kept: dict[str, _Kept] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def open(self) -> None:
        """Read all webhooks, and go on where each of them was."""
        for number, until, data in await self._store.relay("webhooks"):
            kept = c.decode(data, _Kept)
            self._begin(replace(kept, webhook=replace(kept.webhook, id=str(number), delivered_until=until)))

    async def close(self) -> None:
        """Stop posting, and store how far each webhook is: what was skipped is not read again."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for webhook_id, kept in self._kept.items():
            self._write("move_webhook", int(webhook_id), kept.webhook.delivered_until)

    def create(self, caller: Caller, params: c.WebhookParams) -> c.WebhookResult:
        """Post the events of a filter from now on.

        Raises:
            InvalidParams: The URL cannot be posted to.
        """
        self._workspace.filter_of(caller, params)
        check_url(params.url)
        number = max(map(int, self._kept), default=0) + 1
        webhook = c.Webhook(
            id=str(number),
            url=params.url,
            types=params.types,
            agent=params.agent,
            room=params.room,
            delivered_until=self._events.last_id,
        )
        kept = _Kept(webhook=webhook, secret=secrets.token_urlsafe(32))
        self._write("put_webhook", number, webhook.delivered_until, c.encode(kept))
        self._begin(kept)
        return c.WebhookResult(webhook=self._masked(webhook), secret=kept.secret)

    def list(self, _caller: Caller, _params: c.Empty) -> c.WebhooksResult:
        """List all webhooks, the oldest first. A secret in a URL is masked."""
        return c.WebhooksResult(webhooks=tuple(self._masked(kept.webhook) for kept in self._kept.values()))

    def _masked(self, webhook: c.Webhook) -> c.Webhook:
        return self._redactor.redact_value(webhook, observed=True)

    def delete(self, _caller: Caller, params: c.IdParams) -> c.Empty:
        """Delete a webhook.

        Raises:
            InvalidParams: There is no such webhook.
        """
        if self._kept.pop(params.id, None) is None:
            raise InvalidParams(f"there is no webhook {params.id!r}", field="params.id")
        self._tasks.pop(params.id).cancel()
        self._write("delete_webhook", int(params.id))
        return c.Empty()

    def _write(self, statement: str, *values: object) -> None:
        self._ledger.write_table(RelayWrite(statement, values))

    # -- posting -------------------------------------------------------------------------------------------

    def _begin(self, kept: _Kept) -> None:
        webhook_id = kept.webhook.id
        self._kept[webhook_id] = kept
        self._redactor.register(f"webhook {webhook_id}", kept.secret)
        self._tasks[webhook_id] = asyncio.create_task(self._run(webhook_id))

    async def _run(self, webhook_id: str) -> None:
        webhook = self._kept[webhook_id].webhook
        after, source = await self._events.starting(webhook.delivered_until)
        if source == "gap":
            _log.warning("events after %s are gone for webhook %s", webhook.delivered_until, webhook_id)
        wants = self._workspace.filter_of(Caller(c.Role.OWNER), webhook, is_new=False)
        async with contextlib.aclosing(self._workspace.follow(after, webhook, lambda _event: True)) as events:
            async for event in events:
                if wants(event):
                    await self._post(webhook_id, self._redactor.redact_value(event, observed=False))
                    self._write("move_webhook", int(webhook_id), event.id)
                self._put(webhook_id, delivered_until=event.id, error=None)

    def _put(self, webhook_id: str, **changes: str | None) -> None:
        kept = self._kept[webhook_id]
        self._kept[webhook_id] = replace(kept, webhook=replace(kept.webhook, **changes))

    async def _post(self, webhook_id: str, event: c.WorkspaceEvent) -> None:
        """Post an event, again and again until it is accepted."""
        kept, wait = self._kept[webhook_id], _FIRST_WAIT
        while True:
            try:
                await post_signed(kept.webhook.url, event, kept.secret, _TIMEOUT)
            except SeraiError as error:
                self._put(webhook_id, error=error.message)
                _log.info("the event %s is not taken by webhook %s: %s", event.id, webhook_id, error)
                await asyncio.sleep(wait * (0.75 + random.random() / 2))  # noqa: S311 - jitter, no secret
                wait = min(wait * 2, _LONGEST_WAIT)
            else:
                return


# -- signed posts ------------------------------------------------------------------------------------------


def check_url(url: str) -> None:
    """Check that a URL can be posted to.

    Raises:
        InvalidParams: It is none.
    """
    try:
        parts = urlsplit(url)
        is_fit = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_fit = False
    if not is_fit:
        raise InvalidParams("the URL must begin with http: or https:, and name a host", field="params.url")


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a body."""
    signed = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return f"sha256={signed.hexdigest()}"


async def post_signed(url: str, content: c.Record, secret: str, seconds: float) -> bytes:
    """Post a record as JSON, and return the body of the answer. Redirects are not followed.

    Cancelling ends the wait; what was sent may have arrived.

    Raises:
        ConnectionLost: Nobody answers there, or not in time.
        ProtocolError: The answer is not one of success.
    """
    body = c.encode(content)
    timestamp = str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        TIMESTAMP: timestamp,
        SIGNATURE: signature(secret, timestamp, body),
    }
    from httpx2 import AsyncClient, HTTPError, InvalidURL  # noqa: PLC0415 - slow to import, and rarely needed

    answer = b""
    try:
        async with (
            asyncio.timeout(seconds),
            AsyncClient(trust_env=False, timeout=seconds) as client,
            client.stream("POST", url, content=body, headers=headers) as response,
        ):
            async for piece in response.aiter_bytes():
                if len(answer := answer + piece) > _MOST:
                    break
    except (HTTPError, InvalidURL, OSError, TimeoutError, ValueError) as error:
        what = str(error) or type(error).__name__
        raise ConnectionLost(f"nobody answers at the URL ({what})") from None
    if not response.is_success:
        raise ProtocolError(f"the URL answers {response.status_code}")
    return answer

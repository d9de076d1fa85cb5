"""`serai serve`: starts the host."""

from __future__ import annotations

import argparse
import asyncio
import inspect
import logging
import os
import socket
import sys
from pkgutil import resolve_name
from typing import Any, cast

from msgspec.structs import replace

from serai.cli.console.target import called_by
from serai.cli.link import address_for_phones, link_of, show
from serai.client.address import nearest_url
from serai.config.keys import DatabaseKey, find_database_key, find_token
from serai.config.load import Configuration, Source, load
from serai.config.paths import Paths, find_paths, here
from serai.config.trust import Trust
from serai.errors import ConfigInvalid
from serai.harness.callback import Answer, CallbackHarness
from serai.harness.demo import DemoHarness
from serai.host.agents import HostedHarness
from serai.host.host import Host
from serai.host.surroundings.files import directory_of
from serai.machine.safe_paths import keep_private
from serai.redact import Redactor
from serai.redact.managed import managed_from_environment
from serai.relay.tokens import digest, new_code
from serai.serve.frames import text_frame
from serai.serve.run import run_host
from serai.store.sqlite.lock import write_address
from serai.store.sqlite.store import SqliteStore
from serai.version import __version__
from serai.web.assets import Page

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
"""Seconds between two looks at the person's settings."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `serai serve`."""
    parser.add_argument("--host", metavar="ADDRESS", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, metavar="N", help="the port to listen on (7777)")
    parser.add_argument(
        "--allowed-hosts", metavar="NAME", action="append", help="another name to be called by: a tunnel's"
    )
    parser.add_argument(
        "--agent",
        metavar="MODULE:FUNCTION",
        action="append",
        help="your own function as an agent; the module is looked for in this folder, too",
    )
    parser.add_argument("--log-level", choices=["debug", "info", "warning", "error"], help="(info)")
    parser.set_defaults(run=_serve, opens_page=False)


def _serve(options: argparse.Namespace) -> int:
    keep_private()
    paths = find_paths(options.home, os.environ)
    flags = {
        "host": options.host,
        "port": options.port,
        "allowed_hosts": options.allowed_hosts,
        "log_level": options.log_level,
    }
    configuration = load(paths, os.environ, flags=flags)
    level, screen = configuration.settings.log_level.upper(), logging.StreamHandler()
    screen.setLevel(level)  # clients that follow the log may want finer lines
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s"
    logging.basicConfig(level=level, format=form, handlers=[screen])
    # A line for each request to a model is of no use.
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    paths.make_home()
    key = find_database_key(paths, os.environ, use_keyring=configuration.settings.use_keyring)
    token = find_token(paths) if configuration.settings.require_token else None
    functions = [function_agent(words) for words in options.agent or ()]
    asyncio.run(_run(configuration, key, token, functions, opens_page=options.opens_page))
    return 0


async def _run(
    configuration: Configuration,
    key: DatabaseKey,
    token: str | None,
    functions: list[HostedHarness],
    *,
    opens_page: bool,
) -> None:
    settings, paths = configuration.settings, configuration.paths
    redactor = Redactor(managed_from_environment(os.environ))
    if token is not None:
        redactor.register("SERAI_TOKEN", token)
    redactor.register("SERAI_DATABASE_KEY", key.value if isinstance(key.value, str) else key.value.hex())
    names = called_by(settings.host)
    if names[0] != settings.host.strip("[]"):
        # A host on all addresses of a machine is called by them. Foreign pages have no such names.
        own = [socket.gethostname().lower(), *(f"[{one}]" if ":" in one else one for one in names[1:])]
        settings = replace(settings, allowed_hosts=(*settings.allowed_hosts, *own))

    codes, allowed = (new_code(), new_code()), configuration.settings.allowed_hosts

    def started(port: int) -> None:
        write_address(paths.database, f"{settings.host}:{port}")
        addresses = [f"{nearest_url(name, port)}/" for name in names]
        _welcome(configuration, key, addresses, link_of(addresses[0], codes[0]))
        if opens_page:
            show(codes, addresses[0], address_for_phones(allowed, settings.host, port))

    host = Host(
        SqliteStore(paths.database, key.value),
        [DemoHarness(), *functions, *_model_harnesses(configuration, redactor)],
        text_frame,
        settings=settings,
        default_directory=here().as_uri(),
        home=paths.home,
        redactor=redactor,
        folder_agent=lambda directory: _folder_agent(paths, directory),
        is_trusted=Trust(paths.trust).is_trusted,
        user_settings=paths.user_config.parent,
    )
    await run_host(
        host,
        {digest(token)} if token else (),
        started=started,
        page=Page().routes,
        background=lambda host: _keep_agents(host, configuration),
        first_codes=codes if opens_page else codes[:1],
    )


def function_agent(words: str) -> HostedHarness:
    """Return a function as an agent of the same name, given as `module:function`.

    Raises:
        ConfigInvalid: There is no such module or function, its import fails, or it cannot be an agent.
    """
    name = words.rpartition(":")[2]
    if not words.rpartition(":")[0] or not name.isidentifier():
        raise ConfigInvalid(f"--agent {words}: this is no function", remedy="Write it as module:function")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        answer: Any = resolve_name(words)
        summary = (inspect.getdoc(answer) or "").partition("\n")[0]
        return CallbackHarness(name.replace("_", "-"), cast("Answer", answer), description=summary)
    except Exception as error:
        raise ConfigInvalid(
            f"--agent {words}: {type(error).__name__}: {error}",
            remedy="Start the host in the folder of the module, or install it",
        ) from error


def _model_harnesses(configuration: Configuration, redactor: Redactor) -> list[HostedHarness]:
    """Return the agents that are models, and workflows of them, if `[models]` has any."""
    if not configuration.models:
        return []
    from serai.harness.model.harness import ModelHarness  # noqa: PLC0415 - see above
    from serai.harness.model.runs import WorkflowHarness  # noqa: PLC0415 - the same

    paths = configuration.paths
    models = ModelHarness(
        configuration.models,
        configuration.settings.chat,
        redactor,
        settings_folder=paths.user_config.parent,
        is_trusted=Trust(paths.trust).is_trusted,
    )
    return [models, WorkflowHarness(models)]


async def _keep_agents(host: Host, configuration: Configuration) -> None:
    """Offer the installed agents, and look for them again when the person's settings change."""
    host.agent_list.look_again = lambda: host.agent_list.look_for(_look_for_agents(host, configuration))
    before = None
    while True:
        try:
            found = configuration.paths.user_config.stat()
            stamp = (found.st_mtime_ns, found.st_size)
        except OSError:
            stamp = (0, 0)  # there is no file
        if stamp != before:
            before = stamp
            host.agent_list.look_again()
        await asyncio.sleep(_LOOK_SECONDS)


async def _look_for_agents(host: Host, configuration: Configuration) -> None:
    """Offer the agents that are installed. Their modules are not loaded before the host is ready."""
    from serai.agents.catalogue.agents import known_agents  # noqa: PLC0415 - the same
    from serai.agents.catalogue.finder import Finder  # noqa: PLC0415 - see above
    from serai.cli.agents import managed_secrets  # noqa: PLC0415 - the same
    from serai.harness.acp.harness import offer_installed  # noqa: PLC0415 - the same

    try:
        configuration = load(configuration.paths, os.environ)  # it may have changed since the start
    except ConfigInvalid as error:
        _log.warning("%s", error)
        return
    catalogue, _ = await known_agents(configuration, lambda warning: _log.warning("%s", warning))
    host.redactor.register_all(managed_secrets(catalogue))
    await offer_installed(host, catalogue, Finder())


def _folder_agent(paths: Paths, directory: str) -> str | None:
    """Return the agent that the `serai.toml` of a working directory chooses for its sessions.

    An unreadable file changes nothing, and is logged: one broken folder must not stop the host, nor block the
    sessions in it, whatever a stranger has put there.
    """
    folder = directory_of(directory)
    try:
        found = load(paths, os.environ, project=folder)
    except Exception as error:  # noqa: BLE001 - see above
        _log.warning("the configuration in %s does not count: %s", folder, error)
        return None
    for ignored in found.ignored:
        _log.warning("%s", ignored)
    is_chosen = found.provenance["default_agent"].source is Source.PROJECT
    return found.settings.default_agent if is_chosen else None


def _welcome(configuration: Configuration, key: DatabaseKey, urls: list[str], link: str) -> None:
    lines = [
        f"Serai {__version__} is ready.",
        f"  address  {urls[0]}",
        *(f"           {url}" for url in urls[1:]),
        f"  open     {link}",
        f"  home     {configuration.paths.home}",
        f"  key      {key.source}",
        *(f"  note     {note}" for note in key.notes),
        "Press Ctrl-C to stop. Sessions stay.",
    ]
    print("\n".join(lines), flush=True)

"""`serai acp`: look into the Agent Client Protocol."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import msgspec

from serai.acp.capabilities import AgentCapabilities
from serai.acp.shapes import is_object, object_of
from serai.cli.console.output import print_json
from serai.cli.console.terminal import read_input
from serai.depth import checked
from serai.errors import Mismatch, ParseError
from serai.jsonrpc.lines import mended

__all__ = ["configure"]

_OWN_FIELDS = frozenset({"loadSession", "mcpCapabilities", "promptCapabilities", "sessionCapabilities"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands of `serai acp`."""
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    capabilities = commands.add_parser(
        "capabilities",
        help="print what an agent's handshake says that it can do",
        description="Print, as JSON, what an agent's handshake says that it can do.",
        epilog=(
            "The input is what an agent answered to 'initialize': the whole response, or its result, or a "
            'recording {"agent", "initialize"} with the response in it.'
        ),
    )
    capabilities.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="by default, standard input"
    )
    capabilities.set_defaults(run=_capabilities)


def _capabilities(options: argparse.Namespace) -> int:
    capabilities = AgentCapabilities.of(_result(read_input(options.file)))
    print_json(capabilities)
    return 0


def _result(data: bytes) -> Mapping[str, Any]:
    """The result of `initialize`, wherever in the document it is."""
    document = _document(data.removeprefix(b"\xef\xbb\xbf"))
    if not is_object(document):
        raise Mismatch("expected an object: the answer to 'initialize'", field="")
    if is_object(recorded := document.get("initialize")):
        document = recorded
    if "error" in document and "result" not in document:
        said = document["error"]
        text = said.get("message") if is_object(said) else said
        raise Mismatch(f"the agent answered with an error: {text}", field="error")
    if "result" in document:
        return object_of(document["result"])
    if "agentCapabilities" not in document and _OWN_FIELDS & document.keys():
        return {"agentCapabilities": document}
    return document


def _document(data: bytes) -> Any:
    """The JSON, also what is not quite JSON and would be understood in a conversation with an agent."""
    try:
        return msgspec.json.decode(checked(data))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = error
    try:
        return msgspec.json.decode(checked(mended(data)))
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ParseError(f"this is not readable JSON: {problem}") from None

"""Workflow files on the disk, and the names that they may use on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from serai.config.models import ModelServer, find_model
from serai.customizations.agent_files import find_agent
from serai.errors import AgentUnknown, ConfigInvalid, FileUnreadable
from serai.harness.model.tools.registry import is_tool_name
from serai.session import yaml
from serai.session.agent_file import Known
from serai.session.yaml import MAX_BYTES, Document


def read_document(path: Path, name: str) -> Document:
    """The document of a file, which is called by a name in messages.

    Raises:
        DocumentInvalid: It is none that is read here.
        FileUnreadable: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise FileUnreadable(f"{name} cannot be read: {error.strerror}") from None
    return yaml.load(data, name)


def known_here(
    servers: Mapping[str, ModelServer], folder: Path | None, settings_folder: Path | None, *, trusted: bool
) -> Known:
    """What a workflow may name: the tools that there are, the models, and the agents that have files.

    Args:
        servers: The models: `[models]`.
        folder: The working directory. Its agents count where it is trusted.
        settings_folder: The folder of the person's `serai.toml`.
        trusted: Whether the working directory is.
    """

    def is_agent(slug: str) -> bool:
        try:
            find_agent(slug, folder, settings_folder, trusted=trusted)
        except AgentUnknown:
            return False
        return True

    def is_model(model: str) -> bool:
        try:
            find_model(servers, model)
        except ConfigInvalid:
            return False
        return True

    return Known(is_tool_name, is_model, is_agent)

"""Secrets that configuration gives to agents."""

from __future__ import annotations

from serai.agents.catalogue import built_in, make_catalogue
from serai.agents.secrets import managed_secrets
from serai.config.agents import AgentSettings
from serai.journal.redact import Redactor


def test_what_configuration_gives_to_an_agent_under_a_secrets_name_is_masked() -> None:
    env = {"MINE_API_KEY": "k-0123456789", "MINE_MODE": "fast-and-loose", "PROXY": "http://me:pass-word-1@x"}
    catalogue = make_catalogue({"mine": AgentSettings(command="mine", env=env)})
    secrets = managed_secrets(catalogue)
    assert secrets == {"agents.mine.MINE_API_KEY": "k-0123456789", "agents.mine.PROXY": "pass-word-1"}
    assert "k-0123456789" not in Redactor(secrets).redact("it said k-0123456789")


def test_the_catalogue_itself_has_none() -> None:
    assert managed_secrets(built_in()) == {}

"""The rows of the vendors, and that the committed table tells the same."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from odysseus.config import EndpointConfig
from odysseus.errors import ConfigError
from odysseus.providers.profiles import PROFILES, profile_of, table


def endpoint(base_url: str, profile: str = "") -> EndpointConfig:
    return EndpointConfig(id="e", kind="openai", base_url=base_url, profile=profile)


@pytest.mark.parametrize(
    ("base_url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://API.OpenAI.com:443/v1", "openai"),
        ("https://my-place.openai.azure.com/openai/deployments/gpt?api-version=1", "azure"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://generativelanguage.googleapis.com/v1beta/openai", "gemini"),
        ("http://127.0.0.1:8080/v1", "generic"),
        ("https://api.openai.com.evil.example/v1", "generic"),
        ("https://notapi.deepseek.com/v1", "generic"),
        ("", "generic"),
        ("http://[broken", "generic"),
    ],
)
def test_the_host_tells_the_profile(base_url: str, name: str) -> None:
    assert profile_of(endpoint(base_url)).name == name


def test_a_named_profile_comes_before_the_host_and_must_exist() -> None:
    assert profile_of(endpoint("https://api.openai.com/v1", "mistral")).name == "mistral"
    with pytest.raises(ConfigError, match=r"endpoint 'e': there is no 'mistrall'\. Known: openai, "):
        profile_of(endpoint("http://x", "mistrall"))


def test_names_and_hosts_are_each_there_once() -> None:
    names = [profile.name for profile in PROFILES]
    hosts = [host for profile in PROFILES for host in profile.hosts]
    assert len(set(names)) == len(names)
    assert len(set(hosts)) == len(hosts)


def test_the_price_column_agrees_with_the_price_table() -> None:
    priced = tomllib.loads((files("odysseus.providers") / "pricing.toml").read_text("utf-8"))
    for profile in PROFILES:
        assert (profile.prices == "table") == any(host in priced for host in profile.hosts), profile.name


def test_the_key_is_shown_in_the_vendors_own_header() -> None:
    azure = next(profile for profile in PROFILES if profile.name == "azure")
    openrouter = next(profile for profile in PROFILES if profile.name == "openrouter")
    assert azure.key_headers("k") == {"api-key": "k"}
    assert openrouter.key_headers("k") == {"X-Title": "Odysseus", "Authorization": "Bearer k"}
    assert openrouter.key_headers("") == {"X-Title": "Odysseus"}


def test_the_page_of_the_providers_holds_the_table_that_the_command_prints() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "odysseus.providers.profiles"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout
    assert printed == table()
    assert f"\n\n{printed}\n" in (root / "docs" / "providers.md").read_text("utf-8")

"""Settings: three sources over each other, and one sentence with the full name for whatever is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from odysseus.config import Config, load_config
from odysseus.errors import ConfigError

UP = '[[endpoints]]\nid = "up"\nkind = "openai"\nbase_url = "http://localhost/v1"\n'


def loaded(folder: Path, toml: str, environ: Mapping[str, str] | None = None, **flags: Any) -> Config:
    """The settings of this file's text under this environment and these flags of [server]."""
    (folder / "c.toml").write_text(toml, "utf-8")
    return load_config(folder / "c.toml", environ or {}, {"server": flags})


def test_nothing_given_is_all_defaults(tmp_path: Path) -> None:
    assert loaded(tmp_path, "") == load_config(None, {}) == Config()


def test_flags_beat_the_environment_and_that_beats_the_file(tmp_path: Path) -> None:
    toml = '[server]\nport = 1\nhost = "a"\nheartbeat = 1.0\n'
    environ = {"ODYSSEUS_SERVER_PORT": "2", "ODYSSEUS_SERVER_HOST": "b"}
    server = loaded(tmp_path, toml, environ, port=3).server
    assert (server.port, server.host, server.heartbeat) == (3, "b", 1.0)


def test_the_file_may_begin_with_a_byte_order_mark_and_end_its_lines_in_crlf(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"\xef\xbb\xbf[server]\r\nport = 7\r\n")
    assert load_config(tmp_path / "c.toml", {}).server.port == 7


@pytest.mark.parametrize(
    ("name", "text", "section", "key", "value"),
    [
        ("ODYSSEUS_SERVER_PORT", "0", "server", "port", 0),
        ("ODYSSEUS_SERVER_HEARTBEAT", "2", "server", "heartbeat", 2.0),
        ("ODYSSEUS_SERVER_HOST", "", "server", "host", ""),
        ("ODYSSEUS_SERVER_HOST", "null", "server", "host", "null"),
        ("ODYSSEUS_SERVER_ALLOWED_HOSTS", "a, b ,,c", "server", "allowed_hosts", ("a", "b", "c")),
        ("ODYSSEUS_SERVER_ALLOWED_HOSTS", "", "server", "allowed_hosts", ()),
        ("ODYSSEUS_CHAT_SYSTEM_PROMPT", "say 5", "chat", "system_prompt", "say 5"),
        ("ODYSSEUS_LOCAL_MAX_TOKENS", "64", "local", "max_tokens", 64),
    ],
)
def test_a_variable_is_read_in_its_settings_type(name: str, text: str, section: str, key: str, value: object) -> None:
    config = load_config(None, {name: text})
    assert getattr(getattr(config, section), key) == value


@pytest.mark.parametrize(
    "name", ["ODYSSEUS_TOKEN", "ODYSSEUS_", "ODYSSEUS_SERVER", "ODYSSEUS_SERVER_", "odysseus_server_port", "PORT"]
)
def test_variables_that_are_no_settings_are_left_alone(name: str) -> None:
    assert load_config(None, {name: "x"}) == Config()


WRONG: dict[str, tuple[str, dict[str, str], str]] = {
    "an unknown key": ("[server]\nprot = 1", {}, "Unknown setting server.prot."),
    "an unknown section": ("[sever]", {}, "Unknown setting sever."),
    "a value in place of a section": ("server = 5", {}, "Setting server: expected "),
    "the same under a variable": ("server = 5", {"ODYSSEUS_SERVER_PORT": "1"}, "Setting server: expected "),
    "a section in place of a value": ("[server.port]", {}, "Setting server.port: "),
    "a text for a number": ('[server]\nport = "1"', {}, "Setting server.port: "),
    "a number for a text": ("[server]\nhost = 1", {}, "Setting server.host: "),
    "a port out of range": ("[server]\nport = -1", {}, "Setting server.port: "),
    "no seconds": ("[server]\nheartbeat = 0", {}, "Setting server.heartbeat: "),
    "seconds that are no number": ("[server]\nheartbeat = nan", {}, "Setting server.heartbeat: "),
    "a date": ("[server]\nidle_seconds = 2026-01-01", {}, "Setting server.idle_seconds: "),
    "an unknown mode": ('[chat]\nmode = "dream"', {}, "Setting chat.mode: "),
    "an endpoint without an id": ('[[endpoints]]\nkind = "local"', {}, "Setting endpoints[0]: "),
    "an endpoint without an address": (
        '[[endpoints]]\nid = "a"\nkind = "openai"',
        {},
        "Setting endpoints[0].base_url: ",
    ),
    "an address of another kind": (UP.replace("http", "ftp"), {}, "Setting endpoints[0].base_url: "),
    "an id used twice": (UP + UP, {}, "Setting endpoints[1].id: 'up' is used twice."),
    "an id with a slash": (UP.replace('"up"', '"a/b"'), {}, "Setting endpoints[0].id: "),
    "an unknown kind": (UP.replace('"openai"', '"magic"'), {}, "Setting endpoints[0].kind: "),
    "an unknown key of the second": (UP + UP.replace("up", "b") + "x = 1", {}, "Unknown setting endpoints[1].x."),
    "endpoints that are no array": ("[endpoints]", {}, "Setting endpoints: "),
    "no TOML": ("[server", {}, "is not valid TOML: "),
    "a key given twice": ("[server]\nport = 1\nport = 2", {}, "is not valid TOML: "),
    "nesting without end": ("a = " + "[" * 9000, {}, "nested too deeply."),
    "an unknown variable": ("", {"ODYSSEUS_SERVER_PROT": "1"}, "ODYSSEUS_SERVER_PROT"),
    "a variable that is no number": ("", {"ODYSSEUS_SERVER_PORT": "x"}, "ODYSSEUS_SERVER_PORT"),
    "a variable out of range": ("", {"ODYSSEUS_SERVER_PORT": "70000"}, "ODYSSEUS_SERVER_PORT"),
}


@pytest.mark.parametrize(("toml", "environ", "words"), WRONG.values(), ids=WRONG.keys())
def test_what_is_wrong_is_named_in_full_on_one_line(
    tmp_path: Path, toml: str, environ: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigError) as told:
        loaded(tmp_path, toml, environ)
    assert words in told.value.message
    assert "\n" not in told.value.message
    assert "`$" not in told.value.message


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_bytes(b"\xff\xfe[\x00")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path / "c.toml", {})


def test_a_key_comes_from_the_setting_or_from_the_variable_it_names(tmp_path: Path) -> None:
    (given, named) = loaded(tmp_path, UP + 'api_key = "k"\n' + UP.replace("up", "b") + 'api_key_env = "K"\n').endpoints
    assert given.key({}) == "k"
    assert (named.key({}), named.key({"K": "v"})) == ("", "v")

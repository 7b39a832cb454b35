"""Settings: config.toml, then environment variables, then flags, to frozen dataclasses.

One wrong setting is one ConfigError that names its full key. Knows the shape of the settings, not who uses them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, field

from odysseus.errors import ConfigError

Seconds = Annotated[float, Meta(gt=0)]
EndpointId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
AgentName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
ToolPolicy = Literal["allow", "ask", "deny"]
EndpointKind = Literal["local", "openai", "openai-responses", "anthropic", "ollama"]


class ServerConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[server]: where it listens, where it keeps its data, and the limits of a run."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535)] = 8000
    allowed_hosts: tuple[str, ...] = ()
    data: str = "data"
    heartbeat: Seconds = 10.0
    send_timeout: Seconds = 60.0
    replay_seconds: Seconds = 180.0
    replay_bytes: Annotated[int, Meta(ge=65_536)] = 33_554_432
    max_wall_seconds: Seconds = 7200.0
    idle_seconds: Seconds = 900.0
    checkpoint_seconds: Seconds = 1.0
    shutdown_seconds: Seconds = 1.0
    max_body_bytes: Annotated[int, Meta(ge=65_536)] = 1_048_576


class ChatConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[chat]: what a new session starts with."""

    mode: Literal["chat", "agent"] = "chat"
    endpoint: str = "local"
    model: str = ""
    system_prompt: str = "You are a helpful assistant. Answer in Markdown."


class LocalConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[local]: the embedded model's runtime."""

    model: str = "qwen2.5-coder-0.5b"
    context_length: Annotated[int, Meta(ge=512, le=1_048_576)] = 8192
    threads: Annotated[int, Meta(ge=0, le=256)] = 0
    max_tokens: Annotated[int, Meta(ge=1)] = 2048
    unload_seconds: Seconds = 600.0


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[agent]: the limits of the loop, and where it works. Costs in US dollars; 0 is no limit."""

    max_rounds: Annotated[int, Meta(ge=1, le=1000)] = 50
    max_tool_calls: Annotated[int, Meta(ge=0)] = 0
    max_cost: Annotated[float, Meta(ge=0)] = 0.0
    system_prompt: str = ""
    approval_seconds: Seconds = 600.0
    ask_after_outside: bool = True
    workspace: str = ""


class ShellConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[shell]: the limits of one command."""

    seconds: Seconds = 120.0
    cpu_seconds: Seconds = 120.0
    memory_mb: Annotated[int, Meta(ge=64)] = 2048
    keep_env: tuple[str, ...] = ()


class WebConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[web]: how the agent reaches the web. `search` "auto" takes what is configured, else DuckDuckGo."""

    search: Literal["auto", "searxng", "brave", "duckduckgo"] = "auto"
    searxng_url: Annotated[str, Meta(pattern=r"^(https?://\S+)?$")] = ""
    brave_key_env: str = "BRAVE_API_KEY"
    results: Annotated[int, Meta(ge=1, le=20)] = 6
    fetch_seconds: Seconds = 20.0
    fetch_bytes: Annotated[int, Meta(ge=1024)] = 5_000_000
    allow_hosts: tuple[str, ...] = ()


class ImagesConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[images]: who makes pictures for the agent; without an endpoint the tool is not offered."""

    endpoint: str = ""
    model: str = ""


class UploadsConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[uploads]: the files that a user sends."""

    max_file_bytes: Annotated[int, Meta(ge=1)] = 100_000_000
    max_files: Annotated[int, Meta(ge=1, le=100)] = 10


class MemoryConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[memory]: what may be remembered without the user's word."""

    ask: bool = False
    propose_after_turn: bool = False


class RetrievalConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[retrieval]: the library, and who makes its vectors. Without an endpoint it is the model of the extra."""

    on: bool = True
    endpoint: str = ""
    model: str = ""
    passages: Annotated[int, Meta(ge=1, le=20)] = 6
    tokens: Annotated[int, Meta(ge=100, le=100_000)] = 2000
    similarity: Annotated[float, Meta(ge=0, le=1)] = 0.2
    refresh_minutes: Seconds = 15.0
    unload_seconds: Seconds = 600.0


class ResearchConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[research]: what one job may do. `queries` are those of one round, `pages` those of all."""

    rounds: Annotated[int, Meta(ge=1, le=10)] = 2
    queries: Annotated[int, Meta(ge=1, le=10)] = 4
    pages: Annotated[int, Meta(ge=1, le=200)] = 16
    minutes: Seconds = 20.0


class McpConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[[mcp]]: one server of the Model Context Protocol, by its command or by its address."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}$")]
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    keep_env: tuple[str, ...] = ()
    url: Annotated[str, Meta(pattern=r"^(https?://\S+)?$")] = ""
    headers: dict[str, str] = field(default_factory=dict)
    policy: ToolPolicy = "ask"
    seconds: Seconds = 60.0


class EndpointConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[[endpoints]]: one place that answers.

    `api_key_env` names the variable that holds the key. `profile` names the vendor's ways where the address does not
    tell. `fallback` lists who is tried next, as `endpoint` or `endpoint/model`; `image_models` who makes pictures.
    """

    id: EndpointId
    kind: EndpointKind
    label: str = ""
    base_url: Annotated[str, Meta(pattern=r"^(https?://\S+)?$")] = ""
    api_key_env: str = ""
    api_key: str = ""
    models: tuple[str, ...] = ()
    image_models: tuple[str, ...] = ()
    profile: str = ""
    context_length: Annotated[int, Meta(ge=0)] = 0
    fallback: tuple[str, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)
    connect_timeout: Seconds = 10.0
    silence_timeout: Seconds = 300.0

    @property
    def name(self) -> str:
        """What people read."""
        return self.label or self.id

    def key(self, environ: Mapping[str, str] | None = None) -> str:
        """The API key, empty when there is none."""
        source = os.environ if environ is None else environ
        return self.api_key or (source.get(self.api_key_env, "") if self.api_key_env else "")


class AgentProfile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[agents.<name>]: an agent that other programs call by its name.

    `tools` are the names it may use, `allow` those of them that need no approval; what would ask a person is refused.
    `max_tokens` 0 and an absent `temperature` leave it to the endpoint.
    """

    description: str = ""
    instructions: str = ""
    endpoint: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=0)] = 0
    max_rounds: Annotated[int, Meta(ge=1, le=1000)] = 10
    session_minutes: Seconds = 30.0
    max_sessions: Annotated[int, Meta(ge=1)] = 1000
    keepalive: Seconds = 15.0
    max_file_bytes: Annotated[int, Meta(ge=1)] = 50_000_000
    max_files_bytes: Annotated[int, Meta(ge=1)] = 100_000_000
    cors_origins: tuple[str, ...] = ()


def _shipped_agents() -> dict[str, AgentProfile]:
    instructions = "You answer questions for a support desk. Be short and friendly. Say so when you do not know."
    return {
        "support": AgentProfile(
            description="Answers questions, calculates, and knows the time.",
            instructions=instructions,
            tools=("calculate", "current_time"),
        )
    }


class Price(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """[prices."model"]: dollars per million tokens, in place of the list price."""

    input: Annotated[float, Meta(ge=0)]
    output: Annotated[float, Meta(ge=0)]
    cached: Annotated[float, Meta(ge=0)] | None = None


class Config(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings."""

    server: ServerConfig = ServerConfig()
    chat: ChatConfig = ChatConfig()
    local: LocalConfig = LocalConfig()
    agent: AgentConfig = AgentConfig()
    tools: dict[str, ToolPolicy] = field(default_factory=dict)
    shell: ShellConfig = ShellConfig()
    web: WebConfig = WebConfig()
    images: ImagesConfig = ImagesConfig()
    uploads: UploadsConfig = UploadsConfig()
    memory: MemoryConfig = MemoryConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    research: ResearchConfig = ResearchConfig()
    mcp: tuple[McpConfig, ...] = ()
    agents: dict[AgentName, AgentProfile] = field(default_factory=_shipped_agents)
    prices: dict[str, Price] = field(default_factory=dict)
    endpoints: tuple[EndpointConfig, ...] = (EndpointConfig(id="local", kind="local", label="Embedded model"),)


NEED_A_PERSON = frozenset({"ask_user", "ui_control"})
ADDED_PREFIX = "added-"
"""How the ids of endpoints begin that are added while the server runs."""

ENV_PREFIX = "ODYSSEUS_"
_SECTIONS = {
    item.name: item.type
    for item in msgspec.structs.fields(Config)
    if isinstance(item.type, type) and issubclass(item.type, Struct)
}


def load_config(
    path: Path | None, environ: Mapping[str, str], flags: Mapping[str, Mapping[str, Any]] | None = None
) -> Config:
    """Read `path` (None: defaults only), lay `ODYSSEUS_SECTION_KEY` and then `flags` over it, and check the whole.

    Raises ConfigError that names the key in full, like `server.port`.
    """
    raw = _read(path) if path else {}
    for section, values in _from_environment(environ).items():
        raw[section] = {**_table(raw, section), **values}
    for section, given in (flags or {}).items():
        raw[section] = {**_table(raw, section), **given}
    return _convert(raw)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError as error:
        raise ConfigError(f"The config file {path} does not exist.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The config file {path} cannot be read: {error}.") from error
    except RecursionError as error:
        raise ConfigError(f"The config file {path} is nested too deeply.") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The config file {path} is not valid TOML: {error}.") from error


def _table(raw: Mapping[str, Any], section: str) -> dict[str, Any]:
    table = raw.get(section, {})
    if not isinstance(table, dict):
        raise ConfigError(f"Setting {section}: expected a table, got {type(table).__name__}.")
    return table


def _from_environment(environ: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name, text in environ.items():
        section, _, key = name.removeprefix(ENV_PREFIX).lower().partition("_")
        if name.startswith(ENV_PREFIX) and section in _SECTIONS and key:
            found.setdefault(section, {})[key] = _parse_variable(_SECTIONS[section], name, key, text)
    return found


def _parse_variable(section: Any, name: str, key: str, text: str) -> Any:
    """A variable's text in its setting's own type: a list is comma-separated, a number is a number."""
    kinds = {item.encode_name: item.type for item in msgspec.structs.fields(section)}
    if key not in kinds:
        raise ConfigError(f"Unknown setting in the environment variable {name}.")
    if kinds[key] == tuple[str, ...]:
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return msgspec.convert(text, kinds[key], strict=False)
    except msgspec.ValidationError as error:
        raise ConfigError(f"The environment variable {name} is wrong: {_reason(error)}.") from error


def _convert(raw: dict[str, Any]) -> Config:
    try:
        config = msgspec.convert(raw, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(_explain(error)) from error
    if "endpoint" not in _table(raw, "chat") and config.endpoints:
        config = _with_first_endpoint(config)
    _check(config)
    return config


def _with_first_endpoint(config: Config) -> Config:
    """Without a word on it, new sessions use the embedded model where it is an endpoint, else the first one."""
    ids = [endpoint.id for endpoint in config.endpoints]
    chosen = config.chat.endpoint if config.chat.endpoint in ids else ids[0]
    return msgspec.structs.replace(config, chat=msgspec.structs.replace(config.chat, endpoint=chosen))


def _check(config: Config) -> None:
    seen: set[str] = set()
    for index, endpoint in enumerate(config.endpoints):
        where = f"endpoints[{index}]"
        if endpoint.id in seen:
            raise ConfigError(f"Setting {where}.id: {endpoint.id!r} is used twice.")
        if endpoint.kind != "local" and not endpoint.base_url:
            raise ConfigError(f"Setting {where}.base_url: an endpoint of kind {endpoint.kind!r} needs one.")
        seen.add(endpoint.id)
    chosen = config.chat.endpoint
    if chosen not in seen and not chosen.startswith(ADDED_PREFIX):
        raise ConfigError(f"Setting chat.endpoint: there is no endpoint {chosen!r}.")
    _check_mcp(config)
    _check_agents(config, seen)
    for index, endpoint in enumerate(config.endpoints):
        for text in endpoint.fallback:
            named = text.partition("/")[0]
            if named not in seen and not named.startswith(ADDED_PREFIX):
                raise ConfigError(f"Setting endpoints[{index}].fallback: there is no endpoint {named!r}.")


def _check_agents(config: Config, endpoints: set[str]) -> None:
    for name, agent in config.agents.items():
        where = f"agents.{name}"
        if agent.endpoint and agent.endpoint not in endpoints and not agent.endpoint.startswith(ADDED_PREFIX):
            raise ConfigError(f"Setting {where}.endpoint: there is no endpoint {agent.endpoint!r}.")
        for tool in agent.allow:
            if tool not in agent.tools:
                raise ConfigError(f"Setting {where}.allow: {tool!r} is not among the agent's tools.")
        for tool in agent.tools:
            if tool in NEED_A_PERSON:
                raise ConfigError(f"Setting {where}.tools: {tool!r} needs a person before a page.")
        for origin in agent.cors_origins:
            if not re.fullmatch(r"\*|https?://[^/\s]+", origin):
                raise ConfigError(f"Setting {where}.cors_origins: {origin!r} is no origin like https://example.org.")


def _check_mcp(config: Config) -> None:
    names: set[str] = set()
    for index, server in enumerate(config.mcp):
        if server.name in names:
            raise ConfigError(f"Setting mcp[{index}].name: {server.name!r} is used twice.")
        if bool(server.command) == bool(server.url):
            raise ConfigError(f"Setting mcp[{index}]: give either command or url.")
        names.add(server.name)


_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`$")
_UNKNOWN = re.compile(r"unknown field `(?P<name>[^`]+)`")


def _reason(error: msgspec.ValidationError) -> str:
    text = _PATH.sub("", str(error))
    return text[:1].lower() + text[1:]


def _explain(error: msgspec.ValidationError) -> str:
    """msgspec's words and JSON path as one sentence that begins with the setting's full name."""
    found = _PATH.search(str(error))
    where = found["path"].lstrip(".") if found else ""
    unknown = _UNKNOWN.search(str(error))
    if unknown:
        return f"Unknown setting {where + '.' if where else ''}{unknown['name']}."
    return f"Setting {where or 'config'}: {_reason(error)}."

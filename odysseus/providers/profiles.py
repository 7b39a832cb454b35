"""How OpenAI-compatible vendors differ, as data: one row each. A new vendor is a row here and nothing else.

Pure: must not know sockets. `python -m odysseus.providers.profiles` prints the rows as the table of docs/providers.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from odysseus.config import EndpointConfig
from odysseus.errors import ConfigError

Limit = Literal["max_tokens", "max_completion_tokens"]
Schema = Literal["json_schema", "json_object", "none"]
Prices = Literal["listed", "table", "unknown"]


@dataclass(frozen=True, slots=True)
class Profile:
    """What one vendor takes and gives. The defaults are what nearly all do.

    `hosts` that begin with a dot stand for every name under them. `call_ids` is the shape of the ids of tool calls that
    the vendor takes back, empty for any. `models_path` is empty where models cannot be listed. `prices`: told with the
    list of models, in pricing.toml, or not known.
    """

    name: str
    label: str
    hosts: tuple[str, ...] = ()
    asks_usage: bool = True
    limit: Limit = "max_tokens"
    returns_reasoning: bool = False
    tools: bool = True
    images: bool = True
    schema: Schema = "json_schema"
    call_ids: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    key_header: str = "Authorization"
    models_path: str = "models"
    prices: Prices = "unknown"
    note: str = ""

    def key_headers(self, key: str) -> Mapping[str, str]:
        """The headers of every request to this vendor: its own, and those that show the key."""
        shown = f"Bearer {key}" if self.key_header == "Authorization" else key
        return {**self.headers, self.key_header: shown} if key else self.headers


GENERIC = Profile("generic", "Any other server", note="what it refuses is left out when asked again")

_SHORT_IDS = ".{1,40}"
_NINE_IDS = "[a-zA-Z0-9]{9}"

PROFILES: tuple[Profile, ...] = (
    Profile(
        "openai",
        "OpenAI",
        ("api.openai.com",),
        limit="max_completion_tokens",
        call_ids=_SHORT_IDS,
        prices="table",
        note="reasoning stays hidden here; the kind `openai-responses` carries it",
    ),
    Profile(
        "azure",
        "Azure OpenAI",
        (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com"),
        limit="max_completion_tokens",
        call_ids=_SHORT_IDS,
        key_header="api-key",
        models_path="",
        note="`base_url` ends with the deployment, or with `/openai/v1`; `?api-version=` is kept; name the `models`",
    ),
    Profile(
        "openrouter",
        "OpenRouter",
        ("openrouter.ai",),
        headers={"X-Title": "Odysseus"},
        prices="listed",
        note="`reasoning_details` go back as they came",
    ),
    Profile(
        "deepseek",
        "DeepSeek",
        ("api.deepseek.com",),
        returns_reasoning=True,
        images=False,
        schema="json_object",
        note="refuses a tool turn without its reasoning",
    ),
    Profile("groq", "Groq", ("api.groq.com",), limit="max_completion_tokens", note="usage may come as `x_groq`"),
    Profile(
        "mistral",
        "Mistral",
        ("api.mistral.ai", "codestral.mistral.ai"),
        asks_usage=False,
        call_ids=_NINE_IDS,
        prices="table",
        note="refuses unknown fields; the usage comes unasked; content may be typed blocks",
    ),
    Profile("together", "Together", ("api.together.xyz", "api.together.ai"), note="lists models without an envelope"),
    Profile("xai", "xAI", ("api.x.ai",), limit="max_completion_tokens"),
    Profile(
        "gemini",
        "Gemini",
        ("generativelanguage.googleapis.com",),
        prices="table",
        note="calls without index; thought signatures go back as they came",
    ),
    Profile("fireworks", "Fireworks", ("api.fireworks.ai",)),
    Profile("cerebras", "Cerebras", ("api.cerebras.ai",), limit="max_completion_tokens", images=False),
    Profile("perplexity", "Perplexity", ("api.perplexity.ai",), tools=False, models_path="", note="name the `models`"),
    Profile(
        "moonshot",
        "Moonshot",
        ("api.moonshot.ai", "api.moonshot.cn"),
        returns_reasoning=True,
        schema="json_object",
        note="the usage may come inside the choice",
    ),
    Profile(
        "dashscope",
        "DashScope",
        ("dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
        schema="json_object",
        note="repeats ids as empty texts",
    ),
    Profile("huggingface", "Hugging Face", ("router.huggingface.co",)),
    Profile("nvidia", "NVIDIA", ("integrate.api.nvidia.com",)),
    Profile("litellm", "LiteLLM", note="`thinking_blocks` and provider fields go back as they came"),
    Profile("vllm", "vLLM", note="may give a call a new id in every piece"),
    Profile("llama.cpp", "llama.cpp", note="one model; its list tells the context length"),
    Profile("lmstudio", "LM Studio"),
    Profile("ollama", "Ollama `/v1`", note="index 0 for every call; the kind `ollama` also sets the context length"),
    GENERIC,
)


def profile_of(config: EndpointConfig) -> Profile:
    """The profile that the endpoint names, else the one of its host, else GENERIC. Raises ConfigError."""
    if config.profile:
        found = next((profile for profile in PROFILES if profile.name == config.profile), None)
        if found is None:
            known = ", ".join(profile.name for profile in PROFILES)
            raise ConfigError(
                f"Setting profile of the endpoint {config.id!r}: there is no {config.profile!r}. Known: {known}."
            )
        return found
    try:
        host = urlsplit(config.base_url).hostname or ""
    except ValueError:
        return GENERIC  # the address is judged where it is used
    return next((profile for profile in PROFILES if _is_at(profile, host)), GENERIC)


def _is_at(profile: Profile, host: str) -> bool:
    return any(host.endswith(own) if own.startswith(".") else host == own for own in profile.hosts)


def table() -> str:
    """The rows as a Markdown table, vendor by feature."""
    heads: tuple[str, ...] = (
        "profile",
        "vendor",
        "asked for usage",
        "length field",
        "reasoning sent back",
        "tools",
        "images",
    )
    heads += ("answer by schema", "ids of calls", "key header", "models listed", "price", "remarks")
    rows = [heads, ("---",) * len(heads), *map(_row, PROFILES)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(profile: Profile) -> tuple[str, ...]:
    ids = {_SHORT_IDS: "at most 40 characters", _NINE_IDS: "9 letters or digits"}
    return (
        f"`{profile.name}`",
        profile.label,
        _yes(profile.asks_usage),
        f"`{profile.limit}`",
        _yes(profile.returns_reasoning),
        _yes(profile.tools),
        _yes(profile.images),
        profile.schema,
        ids.get(profile.call_ids, "any"),
        f"`{profile.key_header}`",
        _yes(bool(profile.models_path)),
        profile.prices,
        profile.note,
    )


def _yes(value: bool) -> str:
    return "yes" if value else "no"


if __name__ == "__main__":
    print(table(), end="")

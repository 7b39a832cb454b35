"""What a tool is, what it is given, and what it gives back.

A tool knows the work it does and nothing of models, runs and dialects. Whether it may run is decided around it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from odysseus.errors import OdysseusError
from odysseus.events import Event
from odysseus.tools.cited import Cited
from odysseus.tools.workspace import Workspace

Effect = Literal["read", "write", "execute", "network", "private", "destructive"]
Policy = Literal["allow", "ask", "deny"]

SECONDS = 60.0
OUTPUT_LIMIT = 16_000
COMMAND_LIMIT = 240


class ToolError(OdysseusError):
    """The call could not be done. The message goes to the model and the user: what was wrong, and what to do."""

    status = 400


class OutsideError(ToolError):
    """The same, where the message quotes what others wrote."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of a tool's arguments. A field says what it is for in `Annotated[..., Meta(description=...)]`."""


A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """Where and for whom a call runs.

    `progress(message, tail)` may be called at any time, from the event loop only; it is cheap. `incognito` forbids
    to leave anything on disk outside the workspace. `time_zone` is the user's, like `Europe/Oslo`, or empty. `outside`
    says that others' text has entered the chat, `approved` that the user has seen and approved this very call.
    `sources` numbers what the answer may cite.
    """

    session_id: str
    run_id: str
    call_id: str
    workspace: Workspace
    progress: Callable[[str, str], None]
    incognito: bool = False
    time_zone: str = ""
    outside: bool = False
    approved: bool = False
    sources: Cited = field(default_factory=Cited)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a call.

    `output` is read by the model and the user. `exit_code` is 0 for success and another number for a failure. `extras`
    are further fields of the contract's `tool_output`. `events` are shown before the row closes, `after` behind it.
    `ends_turn` says that the user has the next word. `outside` marks this one result of a tool whose others are not.
    """

    output: str
    exit_code: int | None = 0
    extras: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Event] = ()
    after: Sequence[Event] = ()
    ends_turn: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Preview:
    """What a call will do, in full, for the user to decide on: the command, the diff, the address.

    `fingerprint` names the state it was made from; a call whose fingerprint has changed is not the one approved.
    """

    content: str
    fingerprint: str = ""


Seen = Callable[[str], bool]
"""Whether a text was in what the user wrote or a tool told, word for word."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that can be offered.

    `parameters` is the JSON schema of its arguments and `parse` checks them (ToolError). `run` may raise ToolError;
    being cancelled it leaves nothing running. `command` says for people what is called. `seconds` is its time limit and
    `output_limit` the most characters of its output. `sends` says whether a call with the effect `network` can carry
    something out of the house.

    `outside`: its results hold what others wrote, which is data and no order. `keeps`: it leaves something in the
    server's own store. `trusted`: the settings let it act whatever has entered the run. `alone`: nothing runs at its
    side. `family`: the heading that it is listed under.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    effects: frozenset[Effect]
    parse: Callable[[Mapping[str, Any]], Any]
    run: Callable[[Any, ToolContext], Awaitable[ToolResult]]
    command: Callable[[Any], str]
    preview: Callable[[Any, ToolContext], Awaitable[Preview]]
    sends: Callable[[Any, Seen], bool]
    policy: Policy = "allow"
    seconds: float = SECONDS
    output_limit: int = OUTPUT_LIMIT
    outside: bool = False
    keeps: bool = False
    trusted: bool = False
    alone: bool = False
    family: str = ""

    @property
    def reads_only(self) -> bool:
        """Whether it changes nothing, so that several such calls may run side by side."""
        return not self.effects & {"write", "execute", "destructive", "private"}


def make_tool(
    name: str,
    description: str,
    arguments: type[A],
    run: Callable[[A, ToolContext], Awaitable[ToolResult]],
    effects: Sequence[Effect],
    *,
    command: Callable[[A], str] | None = None,
    preview: Callable[[A, ToolContext], Awaitable[Preview]] | None = None,
    sends: Callable[[A, Seen], bool] | None = None,
    policy: Policy = "allow",
    seconds: float = SECONDS,
    output_limit: int = OUTPUT_LIMIT,
    outside: bool = False,
) -> Tool:
    """A tool with typed arguments; the schema and the check come from the type."""
    shown = command or first_value

    async def show(given: A, _: ToolContext) -> Preview:
        return Preview(shown(given))

    return Tool(
        name,
        description,
        schema_of(arguments),
        frozenset(effects),
        lambda given: parse_arguments(name, arguments, given),
        run,
        shown,
        preview or show,
        sends or (lambda _given, _seen: True),
        policy,
        seconds,
        output_limit,
        outside,
    )


def schema_of(arguments: type[Arguments]) -> Mapping[str, Any]:
    """The JSON schema of the arguments, without references and titles."""
    (schema,), components = msgspec.json.schema_components([arguments])
    inlined: Mapping[str, Any] = _inlined(schema, components)
    return inlined


def parse_arguments(name: str, arguments: type[A], given: Mapping[str, Any]) -> A:
    """The arguments as their type; a number in a string counts. Raises ToolError that names the field."""
    try:
        return msgspec.convert(given, arguments, strict=False)
    except msgspec.ValidationError as error:
        wanted = ", ".join(arguments.__struct_encode_fields__)
        raise ToolError(f"Wrong arguments for {name}: {error}. Its arguments are: {wanted or 'none'}.") from error


def first_value(arguments: Any) -> str:
    """The first argument as one line, which is what most calls are about."""
    values = [getattr(arguments, name) for name in arguments.__struct_fields__]
    return one_line(str(values[0])) if values else ""


def one_line(text: str) -> str:
    """Text on one line, for people."""
    return " ".join(text.split())


def _inlined(value: Any, components: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_inlined(item, components) for item in value]
    if not isinstance(value, Mapping):
        return value
    if reference := value.get("$ref"):
        return _inlined(components[str(reference).rpartition("/")[2]], components)
    kept = {key: item for key, item in value.items() if key != "title" or not isinstance(item, str)}
    return {key: _inlined(item, components) for key, item in kept.items()}

"""Every call of the server, described; a test holds it to the routes. A new family of calls is added here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from odysseus.web.openapi.chat_calls import CHAT, MESSAGES, SESSIONS
from odysseus.web.openapi.operation import Operation
from odysseus.web.openapi.server_calls import ENDPOINTS, MODELS, SERVER

TAGS: Mapping[str, str] = {
    "Chat": "Send messages, follow runs, stop them",
    "Sessions": "The chats",
    "Messages": "What was said, and files",
    "Models": "What can be asked, and what an agent can do",
    "Endpoints": "Where models are asked",
    "Server": "The page and the server itself",
}
OPERATIONS: Sequence[Operation] = (*CHAT, *SESSIONS, *MESSAGES, *MODELS, *ENDPOINTS, *SERVER)

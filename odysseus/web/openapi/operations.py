"""Every call of the server, described; a test holds it to the routes. A new family of calls is added here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from odysseus.web.openapi.agent_calls import CALLS
from odysseus.web.openapi.agent_types import EVENT_TYPES, AgentEvent
from odysseus.web.openapi.archive_calls import ARCHIVE
from odysseus.web.openapi.chat_calls import CHAT, MESSAGES, SESSIONS
from odysseus.web.openapi.compare_calls import COMPARE
from odysseus.web.openapi.document_calls import DOCUMENTS
from odysseus.web.openapi.frames import ChatFrame, Delta, StreamError, TypedFrame
from odysseus.web.openapi.kept_calls import FILES, MEMORIES
from odysseus.web.openapi.library_calls import LIBRARY, LibraryFinal, LibraryFrame, LibraryProgress
from odysseus.web.openapi.operation import Operation
from odysseus.web.openapi.research_calls import RESEARCH, ResearchFinal, ResearchFrame, ResearchProgress
from odysseus.web.openapi.run_shapes import ApprovalCard, Question
from odysseus.web.openapi.search_calls import SEARCH
from odysseus.web.openapi.server_calls import ENDPOINTS, MODELS, SERVER

TAGS: Mapping[str, str] = {
    "Chat": "Send messages, follow runs, stop them",
    "Sessions": "The chats",
    "Messages": "What was said, and files",
    "Search": "Everything that the user has",
    "Compare": "The same question to several models",
    "Documents": "Texts that you and the agent work on",
    "Memories": "What is remembered beyond a chat",
    "Research": "Questions that the web is searched and read for",
    "Library": "Files that answers can draw on",
    "Models": "What can be asked, and what an agent can do",
    "Endpoints": "Where models are asked",
    "Agents": "Agents of the settings, for other programs",
    "Server": "The page and the server itself",
}
OPERATIONS: Sequence[Operation] = (
    *CHAT,
    *SESSIONS,
    *ARCHIVE,
    *MESSAGES,
    *SEARCH,
    *FILES,
    *COMPARE,
    *DOCUMENTS,
    *MEMORIES,
    *RESEARCH,
    *LIBRARY,
    *MODELS,
    *ENDPOINTS,
    *CALLS,
    *SERVER,
)

UNIONS: Mapping[str, Any] = {
    "ChatEvent": TypedFrame,
    "ChatFrame": ChatFrame,
    "AgentEvent": AgentEvent,
    "LibraryFrame": LibraryFrame,
    "ResearchFrame": ResearchFrame,
}
"""Components that have no class of their own."""
UNNAMED: Sequence[Any] = (
    *(Delta, StreamError, Question, ApprovalCard, *EVENT_TYPES),
    *(LibraryProgress, LibraryFinal, ResearchProgress, ResearchFinal),
)
"""Types that only those name."""

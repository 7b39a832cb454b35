"""The calls of the chat: messages, runs, sessions, the history. One entry for each: what goes in, what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from odysseus.web import chat, messages, sessions
from odysseus.web.openapi import answers, context_answers
from odysseus.web.openapi.frames import ChatStreamEvent
from odysseus.web.openapi.operation import CHANGES, EVENTS, Answer, Body, Operation, Parameter, of_file, said


class SendBody(chat.ChatBody, frozen=True, kw_only=True):
    """A message. Unknown fields are ignored."""

    attachments: Annotated[tuple[str, ...], Meta(description="Ids of uploads")] = ()


SESSION = Parameter("session", "path", "The session's id")
RUN_ID = Parameter("X-Odysseus-Run-Id", "header", "The run's id, as its stream told it")
DIALECT = Parameter("dialect", "query", "`page` asks for frames that are made for drawing", Literal["chat", "page"])
IDS = Parameter("ids", "query", "`1` puts a line `id: N` before each frame", Literal["0", "1"])
AFTER = Parameter("after", "query", "Skip the first N frames", Annotated[int, Meta(ge=0, lt=10**15)])
LAST_EVENT = Parameter(
    "Last-Event-ID", "header", "The same; `after` comes before it", Annotated[int, Meta(ge=0, lt=10**15)]
)
TZ_OFFSET = Parameter(
    "X-Tz-Offset", "header", "The user's clock: minutes east of UTC", Annotated[int, Meta(ge=-1080, le=1080)]
)
TZ_NAME = Parameter("X-Tz-Name", "header", "The user's zone", example="Europe/Berlin")

STREAM = Answer(
    "Server-sent events. The schema is that of one event.",
    {EVENTS: ChatStreamEvent},
    {"X-Odysseus-Run-Id": "The run, for resume and stop; a compare run has none"},
)

CHAT: Sequence[Operation] = (
    Operation(
        method="post",
        path="/api/chat_stream",
        id="send",
        tag="Chat",
        summary="Send a message and read the answer as it comes",
        description="The run goes on when the client leaves. A second send in a session replaces the first. "
        "In forms a boolean is `true` or `false`, and an array is JSON in a string.",
        parameters=(DIALECT, IDS, TZ_OFFSET, TZ_NAME),
        body=Body(SendBody, example={"session": "{session}", "message": "Say hello."}),
        answers={200: STREAM},
        errors=(404, 409, 507),
    ),
    Operation(
        method="get",
        path="/api/chat/resume/{session}",
        id="resume",
        tag="Chat",
        summary="Replay the run's frames, then go on live",
        parameters=(SESSION, AFTER, LAST_EVENT, DIALECT, IDS),
        answers={200: STREAM},
        errors=(400, 404),
    ),
    Operation(
        method="get",
        path="/api/chat/stream_status/{session}",
        id="streamStatus",
        tag="Chat",
        summary="Tell of the run without reading it",
        parameters=(SESSION,),
        answers=said("The run", answers.StreamStatus),
        errors=(404,),
    ),
    Operation(
        method="post",
        path="/api/chat/stop/{session}",
        id="stop",
        tag="Chat",
        summary="Stop this very run",
        description="Returns when the request to the model is cancelled, tools have ended and the answer is stored.",
        parameters=(SESSION, RUN_ID),
        answers=said("Whether it was going", answers.Stopped),
    ),
    Operation(
        method="post",
        path="/api/runs/{run_id}/undo",
        id="undoRun",
        tag="Chat",
        summary="Give every file that a run changed what it held before",
        parameters=(Parameter("run_id", "path", "The run's id"),),
        answers=said("All files are as before", answers.Undone),
        errors=(404, 409, 507),
    ),
)

SESSIONS: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/sessions",
        id="listSessions",
        tag="Sessions",
        summary="List the sessions",
        parameters=(
            Parameter("q", "query", "Only those whose name has these words"),
            Parameter("archived", "query", "Those that are put away, in place of the others", bool),
        ),
        answers=said("The sessions, the newest first", list[answers.Session]),
    ),
    Operation(
        method="post",
        path="/api/session",
        id="createSession",
        tag="Sessions",
        summary="Make a session",
        body=Body(sessions.NewSession, required=False),
        answers=said("The new session", answers.Session),
        errors=(507,),
    ),
    Operation(
        method="patch",
        path="/api/session/{session}",
        id="changeSession",
        tag="Sessions",
        summary="Change a session",
        parameters=(SESSION,),
        body=Body(sessions.SessionChange, required=False, example={"name": "A name"}),
        answers=said("The session as it is now", answers.Session),
        errors=CHANGES,
    ),
    Operation(
        method="delete",
        path="/api/session/{session}",
        id="deleteSession",
        tag="Sessions",
        summary="Delete a session with its messages, and stop its run",
        parameters=(SESSION,),
        answers=said("It is gone", answers.Deleted),
        errors=CHANGES,
    ),
    Operation(
        method="post",
        path="/api/session/{session}/fork",
        id="forkSession",
        tag="Sessions",
        summary="Make a new session of the messages up to one",
        parameters=(SESSION,),
        body=Body(sessions.ForkPoint),
        answers=said("The new session", answers.Session),
        errors=CHANGES,
    ),
)

MESSAGES: Sequence[Operation] = (
    Operation(
        method="get",
        path="/api/session/{session}/context",
        id="context",
        tag="Messages",
        summary="See what the next request would hold",
        description="What the model sees of the session when a message comes that wishes for nothing else.",
        parameters=(
            SESSION,
            Parameter("brief", "query", "`1` gives estimates alone, and asks no tokenizer", Literal["0", "1"]),
            TZ_OFFSET,
            TZ_NAME,
        ),
        answers=said("The prompt by source", context_answers.Context),
        errors=(400, 404),
    ),
    Operation(
        method="get",
        path="/api/history/{session}",
        id="history",
        tag="Messages",
        summary="Read a session's messages",
        parameters=(
            SESSION,
            Parameter("limit", "query", "How many", Annotated[int, Meta(ge=1, le=messages.PAGE_LIMIT)]),
            Parameter("before", "query", "Only those before this message"),
            Parameter(
                "leaf", "query", "Of the branch through this message, down to the newest beneath it; absent: the shown"
            ),
        ),
        answers=said("A page of them", answers.History),
        errors=(400, 404),
    ),
    Operation(
        method="post",
        path="/api/session/{session}/branch",
        id="switchBranch",
        tag="Messages",
        summary="Show the branch through a message",
        description="Down to the newest message beneath it. A message that is shown changes nothing.",
        parameters=(SESSION,),
        body=Body(messages.BranchPoint),
        answers=said("It is shown", answers.Done),
        errors=(*CHANGES, 409),
    ),
    Operation(
        method="post",
        path="/api/session/{session}/edit-message",
        id="editMessage",
        tag="Messages",
        summary="Give a message another text",
        parameters=(SESSION,),
        body=Body(messages.Edit),
        answers=said("It is stored", answers.Done),
        errors=CHANGES,
    ),
    Operation(
        method="post",
        path="/api/session/{session}/delete-messages",
        id="deleteMessages",
        tag="Messages",
        summary="Delete messages",
        parameters=(SESSION,),
        body=Body(messages.Ids),
        answers=said("They are gone", answers.Done),
        errors=CHANGES,
    ),
    Operation(
        method="post",
        path="/api/session/{session}/truncate",
        id="truncateSession",
        tag="Messages",
        summary="Delete all messages after one",
        parameters=(SESSION,),
        body=Body(messages.TruncatePoint),
        answers=said("They are gone", answers.Done),
        errors=CHANGES,
    ),
    Operation(
        method="get",
        path="/api/search",
        id="search",
        tag="Messages",
        summary="Search the messages of all sessions, or of one",
        parameters=(
            Parameter("q", "query", "Words that a message must all have"),
            Parameter("session", "query", "Only this session, its hits in the order of the chat"),
        ),
        answers=said("The hits, the newest first", list[answers.SearchHit]),
    ),
    Operation(
        method="get",
        path="/api/upload/{upload}",
        id="download",
        tag="Messages",
        summary="Read a kept file",
        parameters=(
            Parameter("upload", "path", "The file's id"),
            Parameter("thumb", "query", "A small picture of about this width", Annotated[int, Meta(ge=1, le=4096)]),
        ),
        answers=of_file(
            "Its bytes: a picture to show, anything else as an attachment", "image/*", "application/octet-stream"
        ),
        errors=(400, 404, 507),
    ),
)

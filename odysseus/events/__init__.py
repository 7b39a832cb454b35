"""The vocabulary: everything a run can say, as small frozen values.

Providers make the deltas, the run adds the rest, a dialect writes each as bytes. Nothing here knows how an event is
made, stored or written.
"""

from __future__ import annotations

from odysseus.events.agent import (
    AgentPrepared,
    ApprovalDecision,
    ApprovalResolved,
    BudgetExceeded,
    CallWritten,
    LoopBroken,
    NudgesExhausted,
    RoundBegun,
    RoundsExhausted,
    ToolEnded,
    ToolProgressed,
    ToolStarted,
    UserAsked,
)
from odysseus.events.given import (
    Compacted,
    ContextTrimmed,
    DocumentOpened,
    DocumentSuggested,
    DocumentUpdated,
    DocumentWritten,
    FilesAttached,
    ImageMade,
    MemoriesUsed,
    PassagesUsed,
    PlanUpdated,
    QuestionGiven,
    UiControlled,
    WebSourcesUsed,
    WorkspaceRejected,
)
from odysseus.events.research import (
    ResearchDone,
    ResearchEnded,
    ResearchFound,
    ResearchProgressed,
    ResearchSourced,
    ResearchStatus,
)
from odysseus.events.run import (
    FellBack,
    FinishReason,
    MessageSaved,
    Metrics,
    Mode,
    ModelInfo,
    Noted,
    ReasoningDelta,
    Retrying,
    RunEnded,
    RunFailed,
    RunStatus,
    RunTimedOut,
    StopReason,
    StreamDone,
    TextDelta,
    UsageReport,
)

Event = (
    TextDelta
    | ReasoningDelta
    | ModelInfo
    | Retrying
    | FellBack
    | AgentPrepared
    | RoundBegun
    | CallWritten
    | ToolStarted
    | ToolProgressed
    | ToolEnded
    | UserAsked
    | ApprovalResolved
    | ImageMade
    | UiControlled
    | PlanUpdated
    | WorkspaceRejected
    | FilesAttached
    | QuestionGiven
    | PassagesUsed
    | WebSourcesUsed
    | MemoriesUsed
    | Compacted
    | ContextTrimmed
    | RoundsExhausted
    | BudgetExceeded
    | LoopBroken
    | NudgesExhausted
    | DocumentOpened
    | DocumentWritten
    | DocumentUpdated
    | DocumentSuggested
    | ResearchProgressed
    | ResearchSourced
    | ResearchFound
    | ResearchDone
    | ResearchEnded
    | Noted
    | UsageReport
    | Metrics
    | RunTimedOut
    | MessageSaved
    | RunEnded
    | RunFailed
    | StreamDone
)

__all__ = [
    "AgentPrepared",
    "ApprovalDecision",
    "ApprovalResolved",
    "BudgetExceeded",
    "CallWritten",
    "Compacted",
    "ContextTrimmed",
    "DocumentOpened",
    "DocumentSuggested",
    "DocumentUpdated",
    "DocumentWritten",
    "Event",
    "FellBack",
    "FilesAttached",
    "FinishReason",
    "ImageMade",
    "LoopBroken",
    "MemoriesUsed",
    "MessageSaved",
    "Metrics",
    "Mode",
    "ModelInfo",
    "Noted",
    "NudgesExhausted",
    "PassagesUsed",
    "PlanUpdated",
    "QuestionGiven",
    "ReasoningDelta",
    "ResearchDone",
    "ResearchEnded",
    "ResearchFound",
    "ResearchProgressed",
    "ResearchSourced",
    "ResearchStatus",
    "Retrying",
    "RoundBegun",
    "RoundsExhausted",
    "RunEnded",
    "RunFailed",
    "RunStatus",
    "RunTimedOut",
    "StopReason",
    "StreamDone",
    "TextDelta",
    "ToolEnded",
    "ToolProgressed",
    "ToolStarted",
    "UiControlled",
    "UsageReport",
    "UserAsked",
    "WebSourcesUsed",
    "WorkspaceRejected",
]

/**
 * The shapes the page shares: what the server sends, and what the store keeps. Types only.
 *
 * @typedef {{ endpoint_id: string, model: string }} Route
 *
 * @typedef {"chat" | "agent"} Mode
 *
 * @typedef {object} Session
 * @property {string} id
 * @property {string} name
 * @property {string} model
 * @property {string} endpoint_id
 * @property {Mode} [mode]
 * @property {string} [workspace]  the folder the agent works in; empty when the session has its own
 * @property {boolean} pinned
 * @property {boolean} [archived]
 * @property {boolean} running
 * @property {number | string} updated_at
 * @property {number | string | null} last_message_at
 *
 * @typedef {object} Failure
 * @property {number | null} status
 * @property {string} message
 *
 * @typedef {object} Usage
 * @property {number} [input_tokens]
 * @property {number} [output_tokens]
 * @property {number} [total_tokens]
 * @property {number | null} [cost]
 * @property {string} [usage_source]
 * @property {number | null} [tokens_per_second]
 * @property {number} [cached_input_tokens]
 * @property {number} [reasoning_tokens]
 * @property {number | null} [context_percent]
 *
 * @typedef {Usage & { total_time?: number, response_time?: number, time_to_first_token?: number | null, model?: string,
 *   endpoint_label?: string }} Metrics
 *
 * @typedef {"completed" | "stopped" | "failed" | "timeout" | "interrupted"} RunStatus
 *
 * @typedef {object} Upload  A file that was sent, and what was read in it.
 * @property {string} id
 * @property {string} name
 * @property {string} [mime]
 * @property {number} size
 * @property {string} [extraction]  text, ocr, image, none or failed
 * @property {string | null} [note]
 * @property {number | null} [width]
 * @property {number | null} [height]
 * @property {number} [text_chars]
 *
 * @typedef {{ url?: unknown, title?: unknown, snippet?: unknown, domain?: unknown }} WebSource
 * @typedef {{ filename?: unknown, snippet?: unknown, page?: unknown }} PassageSource
 * @typedef {WebSource & { number: number, page?: unknown }} FoundSource  What a tool found. Without an address it is a passage.
 * @typedef {{ number: number, kind: "Web" | "Library", title: string, about: string, text: string, href: string }} Source
 *   One that an answer's text may cite. `href` is empty when nothing can be opened.
 * @typedef {{ id?: unknown, text?: unknown, type?: unknown }} MemorySource  `type` is pinned or recalled.
 *
 * @typedef {object} Given  What the model was given beside the conversation.
 * @property {Upload[]} files
 * @property {WebSource[]} web
 * @property {PassageSource[]} passages
 * @property {FoundSource[]} found  what the agent's tools found
 * @property {MemorySource[]} memories
 * @property {Research | null} research  the research that the answer comes from
 * @property {{ text?: unknown, passage?: unknown, source_url?: unknown, source_title?: unknown }[]} findings  those of the research
 *
 * @typedef {object} Research  How far a research is.
 * @property {string} id
 * @property {string} phase
 * @property {number} round
 * @property {string} title  the page that is read
 * @property {number} pages
 * @property {number} findings
 * @property {boolean} done
 *
 * @typedef {object} ResearchJob
 * @property {string} id
 * @property {string} question
 * @property {"running" | "done" | "error" | "cancelled"} status
 * @property {string} message
 * @property {string | null} phase
 * @property {number | null} total_sources
 * @property {number | null} total_findings
 * @property {string | null} finished_at
 *
 * @typedef {{ text: string, source_url: string, source_title: string }} ResearchFinding
 * @typedef {ResearchJob & { findings: ResearchFinding[] }} ResearchState
 *
 * @typedef {object} SeenMessage  A message as the model is told it. Texts are cut; `chars` is how long they are.
 * @property {string} role
 * @property {string} text
 * @property {number} chars
 * @property {number} images
 * @property {string[]} calls
 * @property {{ title: string, text: string, chars: number }[]} given
 *
 * @typedef {object} SeenContext  What the next request of a session would hold, in tokens.
 * @property {string} model
 * @property {number} context_length
 * @property {number} answer_room
 * @property {number} used
 * @property {number} free
 * @property {number | null} summarised_from  tokens above which older messages are summarised; null when they are left out before that
 * @property {boolean} estimated
 * @property {Record<string, number>} sources
 * @property {number} left_out
 * @property {{ text: string } | null} summary
 * @property {SeenMessage[]} messages
 *
 * @typedef {object} Attachment  A file that waits in the composer.
 * @property {string} key
 * @property {string} name
 * @property {number} size
 * @property {File | null} file  null when the server had it already
 * @property {"sending" | "ready" | "failed"} state
 * @property {number} sent  how much of it has been sent, 0 to 1
 * @property {string} problem  why it failed, in words
 * @property {Upload | null} upload
 * @property {AbortController} cancel
 *
 * @typedef {object} Terminal  The terminal record, and so the metadata of a stored answer.
 * @property {string} [run_id]
 * @property {string | null} [message_id]
 * @property {string | null} [user_message_id]
 * @property {RunStatus} [status]
 * @property {string | null} [stop_reason]
 * @property {string | null} [finish_reason]
 * @property {string | null} [note]  what is to be known of an answer that is whole
 * @property {string} [model]
 * @property {string} [endpoint_label]
 * @property {Usage} [usage]
 * @property {{ total_time?: number, time_to_first_token?: number | null }} [timing]
 * @property {Failure | null} [failure]
 * @property {string} [thinking]
 * @property {Fallback} [fallback]
 * @property {number} [rounds]  requests to a model
 * @property {number} [tool_calls]
 * @property {boolean} [stopped]
 * @property {boolean} [undone]  The changes of files were taken back.
 * @property {unknown[]} [tool_events]
 * @property {any[]} [notices]
 * @property {unknown[]} [attachments]
 * @property {unknown[]} [web_sources]
 * @property {unknown[]} [rag_sources]
 * @property {unknown[]} [memories_used]
 * @property {unknown} [research]
 * @property {unknown[]} [images]
 * @property {string} [plan]
 * @property {{ state?: string }} [ask_user]
 * @property {Approval} [approval]
 *
 * @typedef {object} StoredMessage
 * @property {string} id
 * @property {"user" | "assistant"} role
 * @property {string} content
 * @property {string | null} html
 * @property {Terminal | null} metadata
 * @property {string | null} [parent_id]  the message before it
 * @property {string[]} [siblings]  the messages behind the same one, itself among them
 *
 * @typedef {object} HistoryPage
 * @property {StoredMessage[]} history
 * @property {boolean} has_more_before
 *
 * @typedef {object} StreamStatus
 * @property {"streaming" | "done" | "error" | "stopped"} status
 * @property {string} run_id
 * @property {string} query
 * @property {number} [frames]
 *
 * @typedef {{ session_id: string, message_id: string, name: string, snippet: string }} SearchHit
 *
 * @typedef {"ready" | "missing" | "loading" | "idle" | "failed" | "unreachable"} EndpointState
 *
 * @typedef {object} ModelItem  One endpoint with its models.
 * @property {string} endpoint_id
 * @property {string} endpoint_label
 * @property {string} kind
 * @property {boolean} online
 * @property {EndpointState} state
 * @property {string} [note]
 * @property {{ id: string, context_length?: number | null }[]} models
 *
 * @typedef {object} Install
 * @property {"idle" | "running" | "done" | "failed"} state
 * @property {string} [name]
 * @property {number} [received]
 * @property {number | null} [total]
 * @property {string} [message]
 *
 * @typedef {{ id: string, label: string, kind: string, base_url?: string, has_key?: boolean, removable: boolean }} Endpoint
 *
 * @typedef {{ label: string, kind: string, base_url: string, models: string[] }} FoundServer  A local server that answers.
 *
 * @typedef {"allow" | "ask" | "deny"} Policy
 *
 * @typedef {object} ToolInfo
 * @property {string} name
 * @property {string} family
 * @property {string} description
 * @property {string[]} effects
 * @property {Policy} policy
 * @property {Policy} default  what the settings file says
 * @property {boolean} fixed  the settings file denies it
 * @property {string} note
 *
 * @typedef {{ name: string, state: "starting" | "ready" | "failed" | "missing", note: string }} ToolServer
 *
 * @typedef {object} AgentInfo
 * @property {string} name
 * @property {string} description
 * @property {string} endpoint
 * @property {string} model
 * @property {string[]} tools
 * @property {string[]} allow
 * @property {boolean} ready
 * @property {string} path
 *
 * @typedef {object} Memory
 * @property {string} id
 * @property {string} text
 * @property {string} category
 * @property {boolean} pinned
 * @property {"kept" | "proposed"} state
 * @property {boolean} outside
 *
 * @typedef {object} LibraryEntry
 * @property {string} id
 * @property {"file" | "folder" | "upload"} kind
 * @property {string} name
 * @property {string | null} path
 * @property {"waiting" | "indexing" | "ready" | "failed"} state
 * @property {string} note
 * @property {number} documents
 * @property {number} chunks
 * @property {number} failed
 * @property {number} empty
 * @property {{ path: string, note: string }[]} problems
 *
 * @typedef {{ items: LibraryEntry[], mode: "hybrid" | "words" | "off", note: string, documents: number, chunks: number }} LibraryList
 * @typedef {{ filename: string, heading: string, page: number | null, snippet: string, similarity: number }} Passage
 * @typedef {{ source_id: string | null, name: string, done: number, total: number, file: string, failed: number }} LibraryProgress
 * @typedef {{ status: string, version: string, runs: number, uptime: number }} Health
 *
 * @typedef {{ id: string, event: string, data: string }} StreamEvent  One event of an event stream, as text.
 *
 * @typedef {{ type?: undefined, delta: string, thinking?: boolean }} DeltaFrame
 * @typedef {{ type: "block", index: number, open: boolean, html: string }} BlockFrame
 * @typedef {{ type: "page_text", text: string, thinking: string }} PageTextFrame
 * @typedef {{ type: "model_info", model: string, endpoint_id: string, endpoint_label: string }} ModelInfoFrame
 * @typedef {{ selected_model: string, answered_by: string, reason: string }} Fallback
 * @typedef {{ type: "fallback" } & Fallback} FallbackFrame
 * @typedef {{ type: "retry", attempt: number, attempts: number, seconds: number, reason: string }} RetryFrame
 * @typedef {{ type: "usage", data: Usage }} UsageFrame
 * @typedef {{ type: "metrics", data: Metrics }} MetricsFrame
 * @typedef {{ type: "message_saved", id: string }} SavedFrame
 * @typedef {{ type: "chat_terminal" | "agent_terminal", data: Terminal }} TerminalFrame
 * @typedef {{ type: "tool_start" | "tool_progress" | "tool_output" | "ask_user" | "tool_approval_resolved"
 *   | "generated_image" | "plan_update" | "ui_control" | "rounds_exhausted" | "budget_exceeded"
 *   | "loop_breaker_triggered" | "intent_nudge_exhausted" | "workspace_rejected" | "compacted" | "context_trimmed" | "replay_gap" }} WorkFrame  Read with care: tools are many.
 * @typedef {{ type: "attachments" | "web_sources" | "rag_sources" | "memories_used" | "research_progress" | "research_sources"
 *   | "research_findings" | "research_done", data: unknown }} GivenFrame
 * @typedef {DeltaFrame | BlockFrame | PageTextFrame | ModelInfoFrame | FallbackFrame | RetryFrame | UsageFrame | MetricsFrame
 *   | SavedFrame | TerminalFrame | WorkFrame | GivenFrame} Frame  The frames the page acts on. Others are passed over.
 *
 * @typedef {{ html: string, open: boolean }} Block
 *
 * @typedef {"approve" | "approve_task" | "deny"} Decision
 * @typedef {{ approval_id?: string, decision?: Decision }} Approval
 * @typedef {{ label: string, value: string, description: string }} Option
 *
 * @typedef {object} ToolRow  One call of a tool. `version` grows with each change.
 * @property {string} callId
 * @property {string} tool
 * @property {number} round
 * @property {number} block  how many blocks of the answer stand before it
 * @property {"running" | "done" | "failed" | "waiting" | "stopped"} state
 * @property {string} command  in one line
 * @property {string} full
 * @property {string} message
 * @property {string} tail
 * @property {string} output
 * @property {number | null} exitCode
 * @property {number} elapsed  seconds
 * @property {{ file?: string, added?: number, removed?: number, text: string } | null} diff
 * @property {string} documentTitle
 * @property {string} documentId
 * @property {string} imageUrl
 * @property {number} version
 *
 * @typedef {{ type: string, block: number, round: number, [field: string]: any }} Notice
 *
 * @typedef {object} Ask  A question to the user, or an approval card.
 * @property {"question" | "approval"} kind
 * @property {string} id
 * @property {string} question
 * @property {string} description
 * @property {Option[]} options
 * @property {boolean} multi
 * @property {string} tool
 * @property {string} content  the whole of what will happen
 * @property {string[]} effects
 * @property {string} workspace
 * @property {number} expiresAt  milliseconds since 1970; 0 when it does not expire
 * @property {"pending" | "approved" | "denied" | "expired" | "retired"} state
 * @property {string} problem  why it could not be answered
 *
 * @typedef {object} Work  What an agent did in one answer.
 * @property {ToolRow[]} rows
 * @property {Notice[]} notices
 * @property {{ url?: unknown, image_prompt?: unknown }[]} images
 * @property {string} plan
 * @property {Ask | null} ask
 * @property {Approval | null} approval  the decision that began the answer
 * @property {Record<string, unknown>[]} controls  what the page shall do; taken out as it is done
 *
 * @typedef {"open" | "paused" | "queued" | "lost"} Link  The state of the connection behind a live answer.
 *
 * @typedef {object} Live  An answer while it is being received.
 * @property {string} session
 * @property {string} runId
 * @property {number} cursor  the id of the last frame applied
 * @property {string} text
 * @property {string} thinking
 * @property {Block[]} blocks
 * @property {Work} work
 * @property {Given} given
 * @property {number} seenBefore  frames up to this one were sent before this page followed
 * @property {string} model
 * @property {string} endpointLabel
 * @property {Metrics | null} metrics
 * @property {Terminal | null} terminal
 * @property {Failure | null} error
 * @property {string | null} savedId
 * @property {Fallback | null} fallback  who answers in place of whom
 * @property {number} used  tokens of the last request and its answer; 0 while that is not known
 * @property {boolean} gap  frames were lost to the page: the history tells all, once the run has ended
 * @property {string} retry  why the endpoint is asked again, in words; empty once it answers
 * @property {boolean} stopping  a stop was asked for
 * @property {"" | "branch" | "again"} place  beside what the answer may stand: the history has to tell. "again" when other answers to its question were there
 * @property {boolean} ended
 * @property {Link} link
 *
 * @typedef {object} Message  A message in the transcript. `key` stays when `id` becomes known.
 * @property {string} key
 * @property {string | null} id
 * @property {"user" | "assistant"} role
 * @property {string} content
 * @property {string | null} html
 * @property {Terminal | null} metadata
 * @property {Live | null} live
 * @property {boolean} secret  a question that is stored nowhere, and so is its answer
 * @property {Work} work
 * @property {Given} given
 * @property {string | null} [parent]  the message before it; null for a first one, undefined until the history has told
 * @property {string[]} siblings  the ids of the messages behind the same one, itself among them; empty while that is not known
 *
 * @typedef {object} Chat  One opened session. Late callbacks hold their own chat, so they cannot draw into another.
 * @property {string | null} session  null until the first message creates it
 * @property {"loading" | "ready" | "failed"} phase
 * @property {string} problem  why the phase is failed, in words
 * @property {boolean} gone  it does not exist any more
 * @property {Message[]} messages
 * @property {boolean} hasMore
 * @property {boolean} loadingEarlier
 * @property {boolean} sending
 * @property {Live | null} live
 * @property {string | null} target  a message to show once, from a search
 *
 * @typedef {object} State
 * @property {Chat} chat
 * @property {Session[]} sessions
 * @property {Session[]} archived  read when they are looked at, or when one of them is open
 * @property {ModelItem[]} models
 * @property {boolean} modelsKnown
 * @property {Route} defaultRoute
 * @property {Mode} defaultMode
 * @property {Route | null} choice  the route picked for a chat that has no session yet
 * @property {Install} install
 * @property {string} alert  an error to show, in words
 * @property {{ id: string, title: string, given: boolean } | null} document  the one beside the chat, without an id the list of them; `given`: it goes with messages
 * @property {boolean} away  the server does not answer at all
 */

export {};

CREATE TABLE sessions (
    id              TEXT PRIMARY KEY,
    name            TEXT NOT NULL DEFAULT '',
    endpoint_id     TEXT NOT NULL DEFAULT '',
    model           TEXT NOT NULL DEFAULT '',
    mode            TEXT NOT NULL,
    fallback        TEXT NOT NULL DEFAULT '[]',
    archived        INTEGER NOT NULL DEFAULT 0,
    pinned          INTEGER NOT NULL DEFAULT 0,
    total_tokens    INTEGER NOT NULL DEFAULT 0,
    created_at      REAL NOT NULL,
    updated_at      REAL NOT NULL,
    last_message_at REAL
);

-- `position` orders a session's messages; the time of day never does.
CREATE TABLE messages (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    content    TEXT NOT NULL,
    metadata   TEXT NOT NULL DEFAULT '{}',
    created_at REAL NOT NULL,
    UNIQUE (session_id, position)
);

CREATE TABLE runs (
    record_id       INTEGER PRIMARY KEY,
    run_id          TEXT NOT NULL UNIQUE,
    session_id      TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    user_message_id TEXT NOT NULL,
    message_id      TEXT,
    mode            TEXT NOT NULL,
    status          TEXT NOT NULL,
    stop_reason     TEXT,
    record          TEXT NOT NULL DEFAULT '{}',
    started_at      REAL NOT NULL,
    finished_at     REAL
);

CREATE INDEX runs_of_session ON runs (session_id);
CREATE INDEX runs_going ON runs (status) WHERE status = 'running';

-- What a run that still goes on has said so far: pieces in order, gone once its message is stored.
CREATE TABLE run_text (
    number INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    kind   TEXT NOT NULL CHECK (kind IN ('text', 'thinking')),
    piece  TEXT NOT NULL,
    at     REAL NOT NULL
);

CREATE INDEX run_text_of_run ON run_text (run_id);

CREATE TABLE endpoints (
    id       TEXT PRIMARY KEY,
    label    TEXT NOT NULL,
    kind     TEXT NOT NULL,
    base_url TEXT NOT NULL,
    api_key  TEXT NOT NULL DEFAULT ''
);

CREATE VIRTUAL TABLE messages_index USING fts5 (
    content, content = 'messages', content_rowid = 'number', tokenize = 'trigram'
);

CREATE TRIGGER messages_index_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_index (rowid, content) VALUES (new.number, new.content);
END;

CREATE TRIGGER messages_index_delete AFTER DELETE ON messages BEGIN
    INSERT INTO messages_index (messages_index, rowid, content) VALUES ('delete', old.number, old.content);
END;

CREATE TRIGGER messages_index_update AFTER UPDATE OF content ON messages BEGIN
    INSERT INTO messages_index (messages_index, rowid, content) VALUES ('delete', old.number, old.content);
    INSERT INTO messages_index (rowid, content) VALUES (new.number, new.content);
END;

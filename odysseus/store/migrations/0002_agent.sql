ALTER TABLE sessions ADD COLUMN workspace TEXT NOT NULL DEFAULT '';

-- What a run that still goes on has said and done so far: pieces in order, gone once its message is stored.
CREATE TABLE run_pieces (
    number INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    kind   TEXT NOT NULL CHECK (kind IN ('text', 'thinking', 'step')),
    piece  TEXT NOT NULL,
    at     REAL NOT NULL
);

INSERT INTO run_pieces (number, run_id, kind, piece, at) SELECT number, run_id, kind, piece, at FROM run_text;
DROP TABLE run_text;
CREATE INDEX run_pieces_of_run ON run_pieces (run_id);

-- A call that waits for the user: sealed, used once.
CREATE TABLE approvals (
    id         TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    run_id     TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'retired')),
    digest     TEXT NOT NULL,
    sealed     TEXT NOT NULL,
    created_at REAL NOT NULL,
    expires_at REAL NOT NULL
);

CREATE INDEX approvals_of_session ON approvals (session_id) WHERE state = 'pending';

-- What a file held before a run changed it; `before` is NULL for a file that was not there.
CREATE TABLE file_changes (
    number     INTEGER PRIMARY KEY,
    run_id     TEXT NOT NULL REFERENCES runs (run_id) ON DELETE CASCADE,
    root       TEXT NOT NULL,
    path       TEXT NOT NULL,
    before     BLOB,
    mode       INTEGER,
    after_hash TEXT,
    undone_at  REAL
);

CREATE INDEX file_changes_of_run ON file_changes (run_id);

CREATE TABLE documents (
    id         TEXT PRIMARY KEY,
    session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
    title      TEXT NOT NULL,
    language   TEXT NOT NULL DEFAULT 'markdown',
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
);

CREATE TABLE document_versions (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    content     TEXT NOT NULL,
    author      TEXT NOT NULL CHECK (author IN ('user', 'agent')),
    created_at  REAL NOT NULL,
    PRIMARY KEY (document_id, version)
);

CREATE TABLE document_suggestions (
    id          TEXT PRIMARY KEY,
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    find        TEXT NOT NULL,
    replacement TEXT NOT NULL,
    reason      TEXT NOT NULL DEFAULT '',
    state       TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'accepted', 'rejected')),
    created_at  REAL NOT NULL
);

CREATE INDEX suggestions_of_document ON document_suggestions (document_id);

CREATE TABLE memories (
    id         TEXT PRIMARY KEY,
    text       TEXT NOT NULL,
    category   TEXT NOT NULL DEFAULT 'fact',
    pinned     INTEGER NOT NULL DEFAULT 0,
    session_id TEXT,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
);

-- Files that were sent or made, kept by the hash of their bytes in the data folder.
CREATE TABLE uploads (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    mime       TEXT NOT NULL,
    size       INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    created_at REAL NOT NULL
);

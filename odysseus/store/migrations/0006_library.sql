-- What the user has added to the library: a file, a folder (by its path), or an upload (by its id).
CREATE TABLE library_sources (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('file', 'folder', 'upload')),
    place      TEXT NOT NULL,
    name       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('waiting', 'ready', 'failed', 'removed')),
    note       TEXT NOT NULL DEFAULT '',
    added_at   REAL NOT NULL,
    checked_at REAL,
    UNIQUE (kind, place)
);

-- `path` is below its source; `mtime` in nanoseconds and `size` tell whether the file has to be looked at again.
CREATE TABLE library_documents (
    id         TEXT PRIMARY KEY,
    source_id  TEXT NOT NULL REFERENCES library_sources (id) ON DELETE CASCADE,
    path       TEXT NOT NULL,
    name       TEXT NOT NULL,
    size       INTEGER NOT NULL,
    mtime      INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    note       TEXT NOT NULL DEFAULT '',
    indexed_at REAL NOT NULL,
    UNIQUE (source_id, path)
);

-- AUTOINCREMENT: a number is never used again, so what is kept beside the database can be told to be gone.
CREATE TABLE library_chunks (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id TEXT NOT NULL REFERENCES library_documents (id) ON DELETE CASCADE,
    position    INTEGER NOT NULL,
    heading     TEXT NOT NULL DEFAULT '',
    page        INTEGER,
    text        TEXT NOT NULL,
    UNIQUE (document_id, position)
);

-- Vectors as signed bytes: `whole` of the chunk, `parts` of its pieces one after the other.
CREATE TABLE library_vectors (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk  INTEGER NOT NULL UNIQUE REFERENCES library_chunks (number) ON DELETE CASCADE,
    model  TEXT NOT NULL,
    whole  BLOB NOT NULL,
    parts  BLOB NOT NULL
);

-- The columns hold terms that are already made, so the tokenizer only has to part them.
CREATE VIRTUAL TABLE library_words USING fts5 (
    title, words, tokenize = "unicode61 remove_diacritics 0 categories 'L* N* M* Co'"
);
CREATE VIRTUAL TABLE library_terms USING fts5vocab (library_words, 'row');

CREATE TRIGGER library_chunks_delete AFTER DELETE ON library_chunks BEGIN
    DELETE FROM library_words WHERE rowid = old.number;
END;

-- The same question to several models. `vote` is a pane's letter, 'tie' or 'none'; NULL before there is one.
CREATE TABLE comparisons (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    question   TEXT NOT NULL,
    blind      INTEGER NOT NULL,
    vote       TEXT,
    created_at REAL NOT NULL
);

-- One model of a comparison. Its session is no chat of the user's: it lives and dies with the comparison.
CREATE TABLE compare_panes (
    session_id     TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    comparison_id  TEXT NOT NULL REFERENCES comparisons (id) ON DELETE CASCADE,
    place          INTEGER NOT NULL,
    endpoint_id    TEXT NOT NULL,
    endpoint_label TEXT NOT NULL,
    model          TEXT NOT NULL,
    UNIQUE (comparison_id, place)
) WITHOUT ROWID;

-- Research jobs, and what each has done so far: a step is written once, so that a job goes on where it was.
CREATE TABLE research_jobs (
    id          TEXT PRIMARY KEY,
    session_id  TEXT REFERENCES sessions (id) ON DELETE CASCADE,
    question    TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    model       TEXT NOT NULL,
    budget      TEXT NOT NULL,
    status      TEXT NOT NULL,
    message     TEXT NOT NULL DEFAULT '',
    seconds     REAL NOT NULL DEFAULT 0,
    started_at  REAL NOT NULL,
    finished_at REAL
);

CREATE INDEX research_jobs_by_session ON research_jobs (session_id);

CREATE TABLE research_steps (
    number INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL REFERENCES research_jobs (id) ON DELETE CASCADE,
    key    TEXT NOT NULL,
    result TEXT NOT NULL,
    at     REAL NOT NULL,
    UNIQUE (job_id, key)
);

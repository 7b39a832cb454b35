-- Chats that a document was opened in, beside the one it belongs to.
CREATE TABLE document_guests (
    document_id TEXT NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    session_id  TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    PRIMARY KEY (document_id, session_id)
);

CREATE INDEX document_guests_of_session ON document_guests (session_id);
CREATE INDEX documents_of_session ON documents (session_id);

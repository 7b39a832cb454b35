-- What the user chose for a tool on the page, over what the settings say. The name is of any tool, also one that is gone.
CREATE TABLE tool_policies (
    name   TEXT PRIMARY KEY,
    policy TEXT NOT NULL CHECK (policy IN ('allow', 'ask', 'deny'))
);

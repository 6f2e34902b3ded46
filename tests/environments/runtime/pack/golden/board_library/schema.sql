CREATE TABLE boards (
    board_code TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    remark TEXT
) STRICT;
CREATE TABLE loans (
    loan_id INTEGER PRIMARY KEY,
    board_code TEXT NOT NULL REFERENCES boards (board_code),
    borrower TEXT NOT NULL,
    lent_at TEXT NOT NULL
) STRICT;
CREATE TABLE members (
    member_id TEXT PRIMARY KEY,
    name TEXT NOT NULL
) STRICT;

-- A repair cafe: visitors bring broken things to an event, volunteers repair them together with their owners.
-- Prices are euro cents, weights grams; days and times are UTC.

CREATE TABLE events (
    event_id INTEGER PRIMARY KEY,
    held_on TEXT NOT NULL UNIQUE CHECK (length(held_on) = 10),
    venue TEXT NOT NULL,
    num_benches INTEGER NOT NULL CHECK (num_benches BETWEEN 1 AND 30),
    status TEXT NOT NULL CHECK (status IN ('announced', 'open', 'closed'))
) STRICT;

CREATE TABLE volunteers (
    volunteer_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    skill TEXT NOT NULL CHECK (skill IN ('electrical', 'textile', 'wood', 'bicycle', 'electronics')),
    is_active INTEGER NOT NULL CHECK (is_active IN (0, 1))
) STRICT;

CREATE TABLE visitors (
    visitor_id TEXT PRIMARY KEY CHECK (length(visitor_id) = 36),
    name TEXT NOT NULL,
    email TEXT NOT NULL UNIQUE CHECK (email = lower(email)),
    registered_at TEXT NOT NULL
) STRICT;

CREATE TABLE items (
    item_id TEXT PRIMARY KEY,
    visitor_id TEXT NOT NULL REFERENCES visitors (visitor_id),
    event_id INTEGER NOT NULL REFERENCES events (event_id),
    skill TEXT NOT NULL CHECK (skill IN ('electrical', 'textile', 'wood', 'bicycle', 'electronics')),
    name TEXT NOT NULL,
    fault TEXT NOT NULL,
    weight_grams INTEGER NOT NULL CHECK (weight_grams BETWEEN 1 AND 60000),
    status TEXT NOT NULL CHECK (status IN ('waiting', 'on_bench', 'repaired', 'beyond_repair', 'collected')),
    has_agreed INTEGER NOT NULL CHECK (has_agreed IN (0, 1)),
    cost_limit_cents INTEGER NOT NULL CHECK (cost_limit_cents BETWEEN 0 AND 50000)
) STRICT;
CREATE INDEX items_by_event ON items (event_id, status);
CREATE INDEX items_by_visitor ON items (visitor_id);

CREATE TABLE repairs (
    repair_id INTEGER PRIMARY KEY,
    item_id TEXT NOT NULL REFERENCES items (item_id),
    volunteer_id TEXT NOT NULL REFERENCES volunteers (volunteer_id),
    outcome TEXT CHECK (outcome IN ('repaired', 'beyond_repair', 'come_back')),
    notes TEXT,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    CHECK ((outcome IS NULL) = (finished_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX one_open_repair_of_an_item ON repairs (item_id) WHERE outcome IS NULL;
CREATE INDEX repairs_by_volunteer ON repairs (volunteer_id);

CREATE TABLE spare_parts (
    part_number TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    price_cents INTEGER NOT NULL CHECK (price_cents >= 0),
    stock INTEGER NOT NULL CHECK (stock BETWEEN 0 AND 1000)
) STRICT;

CREATE TABLE part_uses (
    repair_id INTEGER NOT NULL REFERENCES repairs (repair_id),
    part_number TEXT NOT NULL REFERENCES spare_parts (part_number),
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    price_cents INTEGER NOT NULL CHECK (price_cents >= 0),
    PRIMARY KEY (repair_id, part_number)
) STRICT;

-- A seed bank: seeds collected in the wild are dried, packed into vaults, tested and sent out on request.
-- Moisture is in percent, temperature in degrees Celsius; days and times are UTC.

CREATE TABLE species (
    species_code TEXT PRIMARY KEY CHECK (length(species_code) = 6),
    scientific_name TEXT NOT NULL UNIQUE,
    common_name TEXT,
    family TEXT NOT NULL,
    storage_behaviour TEXT NOT NULL CHECK (storage_behaviour IN ('orthodox', 'intermediate', 'recalcitrant')),
    is_protected INTEGER NOT NULL CHECK (is_protected IN (0, 1))
) STRICT;
CREATE INDEX species_by_family ON species (family);

CREATE TABLE sites (
    site_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    country TEXT NOT NULL CHECK (length(country) = 2),
    latitude REAL NOT NULL CHECK (latitude BETWEEN -90 AND 90),
    longitude REAL NOT NULL CHECK (longitude BETWEEN -180 AND 180),
    habitat TEXT NOT NULL,
    UNIQUE (country, name)
) STRICT;

CREATE TABLE vaults (
    vault_code TEXT PRIMARY KEY,
    temperature_c REAL NOT NULL,
    capacity_packets INTEGER NOT NULL CHECK (capacity_packets > 0),
    status TEXT NOT NULL CHECK (status IN ('open', 'maintenance'))
) STRICT;

CREATE TABLE accessions (
    accession_id TEXT PRIMARY KEY,
    species_code TEXT NOT NULL REFERENCES species (species_code),
    site_id INTEGER NOT NULL REFERENCES sites (site_id),
    collected_on TEXT NOT NULL CHECK (length(collected_on) = 10),
    collector TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('received', 'drying', 'stored', 'withdrawn')),
    moisture_percent REAL CHECK (moisture_percent BETWEEN 0 AND 100),
    notes TEXT
) STRICT;
CREATE INDEX accessions_by_species ON accessions (species_code, status);
CREATE INDEX accessions_by_site ON accessions (site_id);

CREATE TABLE packets (
    packet_id INTEGER PRIMARY KEY,
    accession_id TEXT NOT NULL REFERENCES accessions (accession_id),
    vault_code TEXT NOT NULL REFERENCES vaults (vault_code),
    purpose TEXT NOT NULL CHECK (purpose IN ('base', 'active', 'duplicate')),
    num_seeds INTEGER NOT NULL CHECK (num_seeds >= 0),
    sealed_at TEXT NOT NULL
) STRICT;
CREATE INDEX packets_by_accession ON packets (accession_id);
CREATE INDEX packets_by_vault ON packets (vault_code);

CREATE TABLE germination_tests (
    test_id INTEGER PRIMARY KEY,
    packet_id INTEGER NOT NULL REFERENCES packets (packet_id),
    method TEXT NOT NULL CHECK (method IN ('agar', 'filter_paper', 'sand', 'tetrazolium')),
    num_sown INTEGER NOT NULL CHECK (num_sown BETWEEN 10 AND 500),
    num_germinated INTEGER CHECK (num_germinated BETWEEN 0 AND num_sown),
    status TEXT NOT NULL CHECK (status IN ('running', 'finished', 'abandoned')),
    started_at TEXT NOT NULL,
    CHECK ((status = 'finished') = (num_germinated IS NOT NULL))
) STRICT;
CREATE INDEX tests_by_packet ON germination_tests (packet_id);

CREATE TABLE requests (
    request_id TEXT PRIMARY KEY CHECK (length(request_id) = 36),
    institution TEXT NOT NULL,
    contact TEXT NOT NULL,
    purpose TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('open', 'approved', 'declined', 'completed')),
    decision_reason TEXT,
    requested_at TEXT NOT NULL
) STRICT;

CREATE TABLE request_items (
    request_id TEXT NOT NULL REFERENCES requests (request_id),
    species_code TEXT NOT NULL REFERENCES species (species_code),
    num_seeds INTEGER NOT NULL CHECK (num_seeds > 0),
    PRIMARY KEY (request_id, species_code)
) STRICT;

CREATE TABLE shipments (
    shipment_id INTEGER PRIMARY KEY,
    request_id TEXT NOT NULL,
    species_code TEXT NOT NULL,
    packet_id INTEGER NOT NULL REFERENCES packets (packet_id),
    num_seeds INTEGER NOT NULL CHECK (num_seeds > 0),
    shipped_at TEXT NOT NULL,
    FOREIGN KEY (request_id, species_code) REFERENCES request_items (request_id, species_code)
) STRICT;
CREATE INDEX shipments_by_item ON shipments (request_id, species_code);

CREATE TABLE custody_log (
    entry_id INTEGER PRIMARY KEY,
    accession_id TEXT NOT NULL REFERENCES accessions (accession_id),
    action TEXT NOT NULL CHECK (action IN ('received', 'dried', 'packed', 'moved', 'sampled', 'shipped', 'withdrawn')),
    num_seeds INTEGER,
    details TEXT,
    logged_at TEXT NOT NULL
) STRICT;
CREATE INDEX custody_by_accession ON custody_log (accession_id);

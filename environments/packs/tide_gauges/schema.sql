-- A network of tide gauges: where they stand, what they measured, and who went there.
-- Levels and heights are millimetres above chart datum; times are UTC.

CREATE TABLE stations (
    station_code TEXT PRIMARY KEY CHECK (length(station_code) = 4),
    name TEXT NOT NULL UNIQUE,
    latitude REAL NOT NULL CHECK (latitude BETWEEN -90 AND 90),
    longitude REAL NOT NULL CHECK (longitude BETWEEN -180 AND 180),
    status TEXT NOT NULL CHECK (status IN ('operating', 'suspended', 'closed')),
    alert_level_mm INTEGER NOT NULL
) STRICT;

CREATE TABLE benchmarks (
    benchmark_code TEXT PRIMARY KEY,
    station_code TEXT NOT NULL REFERENCES stations (station_code),
    height_mm INTEGER NOT NULL,
    surveyed_on TEXT NOT NULL
) STRICT;
CREATE INDEX benchmarks_by_station ON benchmarks (station_code);

CREATE TABLE sensors (
    serial_number TEXT PRIMARY KEY,
    station_code TEXT REFERENCES stations (station_code),
    kind TEXT NOT NULL CHECK (kind IN ('radar', 'pressure', 'float')),
    status TEXT NOT NULL CHECK (status IN ('spare', 'in_service', 'retired')),
    offset_mm INTEGER NOT NULL,
    CHECK ((status = 'in_service') = (station_code IS NOT NULL))
) STRICT;
CREATE INDEX sensors_by_station ON sensors (station_code);

CREATE TABLE readings (
    station_code TEXT NOT NULL REFERENCES stations (station_code),
    observed_at TEXT NOT NULL CHECK (length(observed_at) = 20),
    serial_number TEXT NOT NULL REFERENCES sensors (serial_number),
    level_mm INTEGER NOT NULL,
    quality TEXT NOT NULL CHECK (quality IN ('raw', 'good', 'suspect', 'bad')),
    PRIMARY KEY (station_code, observed_at)
) STRICT;

CREATE TABLE visits (
    visit_id INTEGER PRIMARY KEY,
    station_code TEXT NOT NULL REFERENCES stations (station_code),
    planned_for TEXT NOT NULL CHECK (length(planned_for) = 10),
    purpose TEXT NOT NULL CHECK (purpose IN ('inspection', 'levelling', 'sensor_change', 'repair')),
    status TEXT NOT NULL CHECK (status IN ('planned', 'done', 'cancelled')),
    report TEXT,
    created_at TEXT NOT NULL,
    CHECK ((status = 'done') = (report IS NOT NULL))
) STRICT;
CREATE INDEX visits_by_station ON visits (station_code, planned_for);

CREATE TABLE levellings (
    levelling_id INTEGER PRIMARY KEY,
    visit_id INTEGER NOT NULL REFERENCES visits (visit_id),
    benchmark_code TEXT NOT NULL REFERENCES benchmarks (benchmark_code),
    measured_mm INTEGER NOT NULL,
    UNIQUE (visit_id, benchmark_code)
) STRICT;

CREATE TABLE quality_log (
    entry_id INTEGER PRIMARY KEY,
    station_code TEXT NOT NULL,
    observed_at TEXT NOT NULL,
    old_quality TEXT NOT NULL,
    new_quality TEXT NOT NULL,
    reason TEXT NOT NULL,
    logged_at TEXT NOT NULL,
    FOREIGN KEY (station_code, observed_at) REFERENCES readings (station_code, observed_at)
) STRICT;

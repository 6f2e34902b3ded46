"""Tools of the tide-gauge network."""


def list_stations(ctx, *, status: str | None = None) -> dict:
    stations = ctx.db.all(
        "SELECT station_code, name, status FROM stations"
        " WHERE :status IS NULL OR status = :status ORDER BY station_code",
        status=status,
    )
    return {"stations": stations}


def get_station(ctx, *, station_code: str) -> dict:
    station = ctx.db.one(
        "SELECT station_code, name, latitude, longitude, status, alert_level_mm FROM stations"
        " WHERE station_code = :station_code",
        station_code=station_code,
    )
    station["sensor"] = ctx.db.one(
        "SELECT serial_number, kind, offset_mm FROM sensors WHERE station_code = :station_code",
        station_code=station_code,
    )
    station["benchmarks"] = ctx.db.all(
        "SELECT benchmark_code, height_mm, surveyed_on FROM benchmarks WHERE station_code = :station_code"
        " ORDER BY benchmark_code",
        station_code=station_code,
    )
    return station


def record_reading(ctx, *, station_code: str, observed_at: str, raw_level_mm: int) -> dict:
    if observed_at > ctx.now():
        ctx.reject("reading_in_future", "A reading cannot be later than now.")
    sensor = ctx.db.one(
        "SELECT serial_number, offset_mm FROM sensors WHERE station_code = :station_code", station_code=station_code
    )
    level_mm = raw_level_mm + sensor["offset_mm"]
    ctx.db.run(
        "INSERT INTO readings (station_code, observed_at, serial_number, level_mm, quality)"
        " VALUES (:station_code, :observed_at, :serial_number, :level_mm, 'raw')",
        station_code=station_code,
        observed_at=observed_at,
        serial_number=sensor["serial_number"],
        level_mm=level_mm,
    )
    station = ctx.db.one(
        "SELECT alert_level_mm FROM stations WHERE station_code = :station_code", station_code=station_code
    )
    return {"level_mm": level_mm, "is_alert": level_mm >= station["alert_level_mm"]}


def list_readings(
    ctx, *, station_code: str, start: str, end: str, quality: str | None = None, limit: int = 100
) -> dict:
    readings = ctx.db.all(
        "SELECT observed_at, level_mm, quality, serial_number FROM readings"
        " WHERE station_code = :station_code AND observed_at >= :start AND observed_at < :end"
        " AND (:quality IS NULL OR quality = :quality) ORDER BY observed_at LIMIT :limit",
        station_code=station_code,
        start=start,
        end=end,
        quality=quality,
        limit=limit,
    )
    return {"readings": readings}


def summarise_levels(ctx, *, station_code: str, start: str, end: str) -> dict:
    summary = ctx.db.one(
        "SELECT count(*) AS num_readings, min(level_mm) AS lowest_mm, max(level_mm) AS highest_mm,"
        " avg(level_mm) AS mean_mm FROM readings WHERE station_code = :station_code"
        " AND observed_at >= :start AND observed_at < :end AND quality IN ('raw', 'good')",
        station_code=station_code,
        start=start,
        end=end,
    )
    if summary["num_readings"] == 0:
        ctx.reject("no_readings", "There is no raw or good reading in this time.")
    summary["range_mm"] = summary["highest_mm"] - summary["lowest_mm"]
    return summary


def flag_reading(ctx, *, station_code: str, observed_at: str, quality: str, reason: str) -> dict:
    reading = ctx.db.one(
        "SELECT quality FROM readings WHERE station_code = :station_code AND observed_at = :observed_at",
        station_code=station_code,
        observed_at=observed_at,
    )
    _set_quality(ctx, station_code, observed_at, reading["quality"], quality, reason)
    return {"old_quality": reading["quality"], "new_quality": quality}


def mark_outliers(ctx, *, station_code: str, start: str, end: str, max_deviation_mm: int) -> dict:
    readings = ctx.db.all(
        "SELECT observed_at, level_mm, quality FROM readings WHERE station_code = :station_code"
        " AND observed_at >= :start AND observed_at < :end AND quality IN ('raw', 'good') ORDER BY observed_at",
        station_code=station_code,
        start=start,
        end=end,
    )
    if len(readings) < 3:
        ctx.reject("too_few_readings", "At least three raw or good readings are needed to judge outliers.")
    levels = sorted(reading["level_mm"] for reading in readings)
    median_mm = levels[len(levels) // 2]
    outliers = [reading for reading in readings if abs(reading["level_mm"] - median_mm) > max_deviation_mm]
    for reading in outliers:
        reason = f"more than {max_deviation_mm} mm from the median of {median_mm} mm"
        _set_quality(ctx, station_code, reading["observed_at"], reading["quality"], "suspect", reason)
    return {
        "median_mm": median_mm,
        "num_checked": len(readings),
        "marked": [reading["observed_at"] for reading in outliers],
    }


def install_sensor(ctx, *, serial_number: str, station_code: str, offset_mm: int) -> dict:
    ctx.db.run(
        "UPDATE sensors SET station_code = :station_code, status = 'in_service', offset_mm = :offset_mm"
        " WHERE serial_number = :serial_number",
        serial_number=serial_number,
        station_code=station_code,
        offset_mm=offset_mm,
    )
    return {"serial_number": serial_number, "status": "in_service"}


def remove_sensor(ctx, *, serial_number: str, is_reusable: bool = True) -> dict:
    sensor = ctx.db.one(
        "SELECT station_code FROM sensors WHERE serial_number = :serial_number", serial_number=serial_number
    )
    status = "spare" if is_reusable else "retired"
    ctx.db.run(
        "UPDATE sensors SET station_code = NULL, status = :status WHERE serial_number = :serial_number",
        serial_number=serial_number,
        status=status,
    )
    return {"serial_number": serial_number, "status": status, "removed_from": sensor["station_code"]}


def plan_visit(ctx, *, station_code: str, planned_for: str, purpose: str) -> dict:
    if planned_for < ctx.now()[:10]:
        ctx.reject("date_in_past", "A visit cannot be planned for a day that is over.")
    visit_id = ctx.new_id("visits")
    ctx.db.run(
        "INSERT INTO visits (visit_id, station_code, planned_for, purpose, status, report, created_at)"
        " VALUES (:visit_id, :station_code, :planned_for, :purpose, 'planned', NULL, :created_at)",
        visit_id=visit_id,
        station_code=station_code,
        planned_for=planned_for,
        purpose=purpose,
        created_at=ctx.now(),
    )
    return {"visit_id": visit_id}


def list_visits(ctx, *, station_code: str | None = None, status: str | None = None) -> dict:
    visits = ctx.db.all(
        "SELECT visit_id, station_code, planned_for, purpose, status, report FROM visits"
        " WHERE (:station_code IS NULL OR station_code = :station_code) AND (:status IS NULL OR status = :status)"
        " ORDER BY planned_for, visit_id",
        station_code=station_code,
        status=status,
    )
    return {"visits": visits}


def complete_visit(ctx, *, visit_id: int, report: str) -> dict:
    visit = ctx.db.one("SELECT planned_for FROM visits WHERE visit_id = :visit_id", visit_id=visit_id)
    if visit["planned_for"] > ctx.now()[:10]:
        ctx.reject("visit_in_future", "The day of the visit has not come yet.")
    ctx.db.run(
        "UPDATE visits SET status = 'done', report = :report WHERE visit_id = :visit_id",
        visit_id=visit_id,
        report=report,
    )
    return {"visit_id": visit_id, "status": "done"}


def cancel_visit(ctx, *, visit_id: int) -> dict:
    ctx.db.run("UPDATE visits SET status = 'cancelled' WHERE visit_id = :visit_id", visit_id=visit_id)
    return {"visit_id": visit_id, "status": "cancelled"}


def record_levelling(ctx, *, visit_id: int, benchmark_code: str, measured_mm: int) -> dict:
    levelling_id = ctx.new_id("levellings")
    ctx.db.run(
        "INSERT INTO levellings (levelling_id, visit_id, benchmark_code, measured_mm)"
        " VALUES (:levelling_id, :visit_id, :benchmark_code, :measured_mm)",
        levelling_id=levelling_id,
        visit_id=visit_id,
        benchmark_code=benchmark_code,
        measured_mm=measured_mm,
    )
    benchmark = ctx.db.one(
        "SELECT height_mm FROM benchmarks WHERE benchmark_code = :benchmark_code", benchmark_code=benchmark_code
    )
    return {"levelling_id": levelling_id, "drift_mm": measured_mm - benchmark["height_mm"]}


def set_station_status(ctx, *, station_code: str, status: str) -> dict:
    station = ctx.db.one("SELECT status FROM stations WHERE station_code = :station_code", station_code=station_code)
    ctx.db.run(
        "UPDATE stations SET status = :status WHERE station_code = :station_code",
        station_code=station_code,
        status=status,
    )
    return {"station_code": station_code, "old_status": station["status"], "new_status": status}


def _set_quality(ctx, station_code, observed_at, old_quality, new_quality, reason):
    ctx.db.run(
        "UPDATE readings SET quality = :quality WHERE station_code = :station_code AND observed_at = :observed_at",
        station_code=station_code,
        observed_at=observed_at,
        quality=new_quality,
    )
    ctx.db.run(
        "INSERT INTO quality_log (entry_id, station_code, observed_at, old_quality, new_quality, reason, logged_at)"
        " VALUES (:entry_id, :station_code, :observed_at, :old_quality, :new_quality, :reason, :logged_at)",
        entry_id=ctx.new_id("quality_log"),
        station_code=station_code,
        observed_at=observed_at,
        old_quality=old_quality,
        new_quality=new_quality,
        reason=reason,
        logged_at=ctx.now(),
    )

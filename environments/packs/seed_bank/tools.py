"""Tools of the seed bank."""

MAX_MOISTURE_PERCENT = 7.0


def search_species(
    ctx, *, text: str | None = None, family: str | None = None, only_protected: bool = False, limit: int = 20
) -> dict:
    species = ctx.db.all(
        "SELECT species_code, scientific_name, common_name, family, storage_behaviour FROM species"
        " WHERE (:text IS NULL OR instr(lower(scientific_name || ' ' || coalesce(common_name, '')), lower(:text)) > 0)"
        " AND (:family IS NULL OR family = :family) AND (is_protected = 1 OR NOT :only_protected)"
        " ORDER BY scientific_name LIMIT :limit",
        text=text,
        family=family,
        only_protected=only_protected,
        limit=limit,
    )
    return {"species": species}


def get_species(ctx, *, species_code: str) -> dict:
    species = ctx.db.one(
        "SELECT species_code, scientific_name, common_name, family, storage_behaviour, is_protected FROM species"
        " WHERE species_code = :species_code",
        species_code=species_code,
    )
    species["is_protected"] = species["is_protected"] == 1
    stock = ctx.db.one(
        "SELECT count(DISTINCT a.accession_id) AS num_accessions, coalesce(sum(p.num_seeds), 0) AS num_seeds"
        " FROM accessions a LEFT JOIN packets p USING (accession_id)"
        " WHERE a.species_code = :species_code AND a.status <> 'withdrawn'",
        species_code=species_code,
    )
    return {**species, **stock}


def add_species(
    ctx,
    *,
    species_code: str,
    scientific_name: str,
    family: str,
    storage_behaviour: str,
    common_name: str | None = None,
    is_protected: bool = False,
) -> dict:
    ctx.db.run(
        "INSERT INTO species (species_code, scientific_name, common_name, family, storage_behaviour, is_protected)"
        " VALUES (:species_code, :scientific_name, :common_name, :family, :storage_behaviour, :is_protected)",
        species_code=species_code,
        scientific_name=scientific_name,
        common_name=common_name,
        family=family,
        storage_behaviour=storage_behaviour,
        is_protected=is_protected,
    )
    return {"species_code": species_code}


def protect_species(ctx, *, species_code: str) -> dict:
    ctx.db.run("UPDATE species SET is_protected = 1 WHERE species_code = :species_code", species_code=species_code)
    affected = ctx.db.all(
        "SELECT r.institution FROM requests r JOIN request_items i USING (request_id)"
        " WHERE i.species_code = :species_code AND r.status = 'open' ORDER BY r.institution",
        species_code=species_code,
    )
    return {"species_code": species_code, "open_requests_of": [row["institution"] for row in affected]}


def list_sites(ctx, *, country: str | None = None) -> dict:
    sites = ctx.db.all(
        "SELECT s.site_id, s.name, s.country, s.habitat, count(a.accession_id) AS num_accessions"
        " FROM sites s LEFT JOIN accessions a USING (site_id) WHERE :country IS NULL OR s.country = :country"
        " GROUP BY s.site_id ORDER BY s.country, s.name",
        country=country,
    )
    return {"sites": sites}


def add_site(ctx, *, name: str, country: str, latitude: float, longitude: float, habitat: str) -> dict:
    site_id = ctx.new_id("sites")
    ctx.db.run(
        "INSERT INTO sites (site_id, name, country, latitude, longitude, habitat)"
        " VALUES (:site_id, :name, :country, :latitude, :longitude, :habitat)",
        site_id=site_id,
        name=name,
        country=country,
        latitude=latitude,
        longitude=longitude,
        habitat=habitat,
    )
    return {"site_id": site_id}


def register_accession(
    ctx, *, species_code: str, site_id: int, collected_on: str, collector: str, notes: str | None = None
) -> dict:
    if collected_on > ctx.now()[:10]:
        ctx.reject("collected_in_future", "Seeds cannot have been collected on a day to come.")
    accession_id = ctx.new_id("accessions")
    ctx.db.run(
        "INSERT INTO accessions (accession_id, species_code, site_id, collected_on, collector, status, notes)"
        " VALUES (:accession_id, :species_code, :site_id, :collected_on, :collector, 'received', :notes)",
        accession_id=accession_id,
        species_code=species_code,
        site_id=site_id,
        collected_on=collected_on,
        collector=collector,
        notes=notes,
    )
    _log(ctx, accession_id, "received", details=notes)
    return {"accession_id": accession_id, "status": "received"}


def get_accession(ctx, *, accession_id: str) -> dict:
    accession = ctx.db.one(
        "SELECT a.accession_id, a.species_code, s.scientific_name, t.name AS site, a.collected_on, a.collector,"
        " a.status, a.moisture_percent, a.notes"
        " FROM accessions a JOIN species s USING (species_code) JOIN sites t USING (site_id)"
        " WHERE a.accession_id = :accession_id",
        accession_id=accession_id,
    )
    accession["num_seeds"] = _num_seeds(ctx, accession_id)
    return accession


def search_accessions(
    ctx,
    *,
    species_code: str | None = None,
    site_id: int | None = None,
    status: str | None = None,
    from_: str | None = None,
    limit: int = 20,
) -> dict:
    accessions = ctx.db.all(
        "SELECT accession_id, species_code, site_id, collected_on, status FROM accessions"
        " WHERE (:species_code IS NULL OR species_code = :species_code) AND (:site_id IS NULL OR site_id = :site_id)"
        " AND (:status IS NULL OR status = :status) AND (:from_ IS NULL OR collected_on >= :from_)"
        " ORDER BY collected_on, accession_id LIMIT :limit",
        species_code=species_code,
        site_id=site_id,
        status=status,
        from_=from_,
        limit=limit,
    )
    return {"accessions": accessions}


def record_moisture(ctx, *, accession_id: str, moisture_percent: float) -> dict:
    ctx.db.run(
        "UPDATE accessions SET moisture_percent = :moisture_percent,"
        " status = CASE status WHEN 'received' THEN 'drying' ELSE status END WHERE accession_id = :accession_id",
        accession_id=accession_id,
        moisture_percent=moisture_percent,
    )
    _log(ctx, accession_id, "dried", details=f"{moisture_percent} percent")
    return {"accession_id": accession_id, "is_dry_enough": moisture_percent <= MAX_MOISTURE_PERCENT}


def edit_accession_notes(ctx, *, accession_id: str, notes: str) -> dict:
    ctx.db.run(
        "UPDATE accessions SET notes = :notes WHERE accession_id = :accession_id",
        accession_id=accession_id,
        notes=notes,
    )
    return {"accession_id": accession_id, "notes": notes}


def withdraw_accession(ctx, *, accession_id: str, reason: str) -> dict:
    num_seeds = _num_seeds(ctx, accession_id)
    ctx.db.run("UPDATE packets SET num_seeds = 0 WHERE accession_id = :accession_id", accession_id=accession_id)
    ctx.db.run(
        "UPDATE accessions SET status = 'withdrawn' WHERE accession_id = :accession_id", accession_id=accession_id
    )
    _log(ctx, accession_id, "withdrawn", num_seeds=num_seeds, details=reason)
    return {"accession_id": accession_id, "num_seeds_destroyed": num_seeds}


def list_vaults(ctx, *, min_free_packets: int = 0) -> dict:
    vaults = ctx.db.all(
        "SELECT v.vault_code, v.temperature_c, v.status, v.capacity_packets,"
        " v.capacity_packets - count(p.packet_id) AS num_free FROM vaults v"
        " LEFT JOIN packets p ON p.vault_code = v.vault_code AND p.num_seeds > 0"
        " GROUP BY v.vault_code HAVING num_free >= :min_free_packets ORDER BY v.vault_code",
        min_free_packets=min_free_packets,
    )
    return {"vaults": vaults}


def set_vault_status(ctx, *, vault_code: str, status: str) -> dict:
    ctx.db.run(
        "UPDATE vaults SET status = :status WHERE vault_code = :vault_code", vault_code=vault_code, status=status
    )
    return {"vault_code": vault_code, "status": status}


def store_packet(ctx, *, accession_id: str, vault_code: str, purpose: str, num_seeds: int) -> dict:
    packet_id = _new_packet(ctx, accession_id, vault_code, purpose, num_seeds)
    ctx.db.run("UPDATE accessions SET status = 'stored' WHERE accession_id = :accession_id", accession_id=accession_id)
    _log(ctx, accession_id, "packed", num_seeds=num_seeds, details=f"{purpose} packet in {vault_code}")
    return {"packet_id": packet_id}


def list_packets(ctx, *, accession_id: str, include_empty: bool = False) -> dict:
    packets = ctx.db.all(
        "SELECT packet_id, vault_code, purpose, num_seeds FROM packets WHERE accession_id = :accession_id"
        " AND (num_seeds > 0 OR :include_empty) ORDER BY packet_id",
        accession_id=accession_id,
        include_empty=include_empty,
    )
    return {"packets": packets}


def find_packets_to_ship(ctx, *, species_code: str, min_seeds: int = 1) -> dict:
    packets = ctx.db.all(
        "SELECT p.packet_id, p.accession_id, p.vault_code, p.num_seeds FROM packets p"
        " JOIN accessions a USING (accession_id) JOIN vaults v USING (vault_code)"
        " WHERE a.species_code = :species_code AND p.purpose = 'active'"
        " AND p.num_seeds >= :min_seeds AND v.status = 'open' ORDER BY p.num_seeds, p.packet_id",
        species_code=species_code,
        min_seeds=min_seeds,
    )
    return {"packets": packets}


def move_packet(ctx, *, packet_id: int, vault_code: str) -> dict:
    packet = ctx.db.one(
        "SELECT accession_id, vault_code FROM packets WHERE packet_id = :packet_id", packet_id=packet_id
    )
    ctx.db.run(
        "UPDATE packets SET vault_code = :vault_code WHERE packet_id = :packet_id",
        packet_id=packet_id,
        vault_code=vault_code,
    )
    _log(ctx, packet["accession_id"], "moved", details=f"from {packet['vault_code']} to {vault_code}")
    return {"packet_id": packet_id, "moved_from": packet["vault_code"]}


def split_packet(ctx, *, packet_id: int, num_seeds: int, purpose: str) -> dict:
    packet = ctx.db.one(
        "SELECT accession_id, vault_code, num_seeds FROM packets WHERE packet_id = :packet_id", packet_id=packet_id
    )
    ctx.db.run(
        "UPDATE packets SET num_seeds = num_seeds - :num_seeds WHERE packet_id = :packet_id",
        packet_id=packet_id,
        num_seeds=num_seeds,
    )
    new_packet_id = _new_packet(ctx, packet["accession_id"], packet["vault_code"], purpose, num_seeds)
    _log(ctx, packet["accession_id"], "packed", num_seeds=num_seeds, details="split from another packet")
    return {"new_packet_id": new_packet_id, "num_seeds_left": packet["num_seeds"] - num_seeds}


def start_germination_test(ctx, *, packet_id: int, method: str, num_sown: int = 50) -> dict:
    packet = ctx.db.one("SELECT accession_id FROM packets WHERE packet_id = :packet_id", packet_id=packet_id)
    test_id = ctx.new_id("germination_tests")
    ctx.db.run(
        "UPDATE packets SET num_seeds = num_seeds - :num_sown WHERE packet_id = :packet_id",
        packet_id=packet_id,
        num_sown=num_sown,
    )
    ctx.db.run(
        "INSERT INTO germination_tests (test_id, packet_id, method, num_sown, status, started_at)"
        " VALUES (:test_id, :packet_id, :method, :num_sown, 'running', :started_at)",
        test_id=test_id,
        packet_id=packet_id,
        method=method,
        num_sown=num_sown,
        started_at=ctx.now(),
    )
    _log(ctx, packet["accession_id"], "sampled", num_seeds=num_sown, details=f"germination test on {method}")
    return {"test_id": test_id}


def finish_germination_test(ctx, *, test_id: int, num_germinated: int) -> dict:
    ctx.db.run(
        "UPDATE germination_tests SET num_germinated = :num_germinated, status = 'finished' WHERE test_id = :test_id",
        test_id=test_id,
        num_germinated=num_germinated,
    )
    test = ctx.db.one("SELECT num_sown FROM germination_tests WHERE test_id = :test_id", test_id=test_id)
    return {"test_id": test_id, "viability_percent": round(100 * num_germinated / test["num_sown"], 1)}


def abandon_germination_test(ctx, *, test_id: int) -> dict:
    ctx.db.run("UPDATE germination_tests SET status = 'abandoned' WHERE test_id = :test_id", test_id=test_id)
    return {"test_id": test_id, "status": "abandoned"}


def list_germination_tests(ctx, *, accession_id: str, status: str | None = None) -> dict:
    tests = ctx.db.all(
        "SELECT t.test_id, t.packet_id, t.method, t.num_sown, t.num_germinated, t.status FROM germination_tests t"
        " JOIN packets p USING (packet_id) WHERE p.accession_id = :accession_id"
        " AND (:status IS NULL OR t.status = :status) ORDER BY t.test_id",
        accession_id=accession_id,
        status=status,
    )
    return {"tests": tests}


def get_viability(ctx, *, accession_id: str) -> dict:
    result = ctx.db.one(
        "SELECT count(*) AS num_tests, sum(t.num_sown) AS num_sown, sum(t.num_germinated) AS num_germinated"
        " FROM germination_tests t JOIN packets p USING (packet_id)"
        " WHERE p.accession_id = :accession_id AND t.status = 'finished'",
        accession_id=accession_id,
    )
    if result["num_tests"] == 0:
        ctx.reject("never_tested", "No germination test of this accession is finished.")
    result["viability_percent"] = round(100 * result["num_germinated"] / result["num_sown"], 1)
    return result


def open_request(ctx, *, institution: str, contact: str, purpose: str, items: list) -> dict:
    wanted = [item["species_code"] for item in items]
    if len(set(wanted)) != len(wanted):
        ctx.reject("species_repeated", "Each species is asked for once; add the numbers together.")
    for species_code in wanted:
        known = ctx.db.one("SELECT 1 FROM species WHERE species_code = :species_code", species_code=species_code)
        if known is None:
            ctx.reject("species_not_found", f"There is no species {species_code}.")
    request_id = ctx.new_id("requests")
    ctx.db.run(
        "INSERT INTO requests (request_id, institution, contact, purpose, status, requested_at)"
        " VALUES (:request_id, :institution, :contact, :purpose, 'open', :requested_at)",
        request_id=request_id,
        institution=institution,
        contact=contact,
        purpose=purpose,
        requested_at=ctx.now(),
    )
    for item in items:
        ctx.db.run(
            "INSERT INTO request_items (request_id, species_code, num_seeds)"
            " VALUES (:request_id, :species_code, :num_seeds)",
            request_id=request_id,
            species_code=item["species_code"],
            num_seeds=item["num_seeds"],
        )
    return {"request_id": request_id, "num_items": len(items)}


def get_request(ctx, *, request_id: str) -> dict:
    request = ctx.db.one(
        "SELECT request_id, institution, contact, purpose, status, decision_reason FROM requests"
        " WHERE request_id = :request_id",
        request_id=request_id,
    )
    request["items"] = ctx.db.all(
        "SELECT i.species_code, i.num_seeds, coalesce(sum(s.num_seeds), 0) AS num_shipped FROM request_items i"
        " LEFT JOIN shipments s USING (request_id, species_code) WHERE i.request_id = :request_id"
        " GROUP BY i.species_code ORDER BY i.species_code",
        request_id=request_id,
    )
    return request


def list_requests(ctx, *, status: str | None = None, species_code: str | None = None) -> dict:
    requests = ctx.db.all(
        "SELECT request_id, institution, status, requested_at FROM requests r"
        " WHERE (:status IS NULL OR status = :status) AND (:species_code IS NULL OR EXISTS ("
        "SELECT 1 FROM request_items i WHERE i.request_id = r.request_id AND i.species_code = :species_code))"
        " ORDER BY requested_at, institution",
        status=status,
        species_code=species_code,
    )
    return {"requests": requests}


def decide_request(ctx, *, request_id: str, is_approved: bool, reason: str) -> dict:
    status = "approved" if is_approved else "declined"
    ctx.db.run(
        "UPDATE requests SET status = :status, decision_reason = :reason WHERE request_id = :request_id",
        request_id=request_id,
        status=status,
        reason=reason,
    )
    return {"request_id": request_id, "status": status}


def ship_seeds(ctx, *, request_id: str, packet_id: int, num_seeds: int) -> dict:
    packet = ctx.db.one(
        "SELECT p.accession_id, a.species_code FROM packets p JOIN accessions a USING (accession_id)"
        " WHERE p.packet_id = :packet_id",
        packet_id=packet_id,
    )
    shipment_id = ctx.new_id("shipments")
    ctx.db.run(
        "UPDATE packets SET num_seeds = num_seeds - :num_seeds WHERE packet_id = :packet_id",
        packet_id=packet_id,
        num_seeds=num_seeds,
    )
    ctx.db.run(
        "INSERT INTO shipments (shipment_id, request_id, species_code, packet_id, num_seeds, shipped_at)"
        " VALUES (:shipment_id, :request_id, :species_code, :packet_id, :num_seeds, :shipped_at)",
        shipment_id=shipment_id,
        request_id=request_id,
        species_code=packet["species_code"],
        packet_id=packet_id,
        num_seeds=num_seeds,
        shipped_at=ctx.now(),
    )
    _log(ctx, packet["accession_id"], "shipped", num_seeds=num_seeds)
    missing = ctx.db.one(
        "SELECT count(*) AS num_items FROM request_items i WHERE i.request_id = :request_id AND i.num_seeds >"
        " (SELECT coalesce(sum(s.num_seeds), 0) FROM shipments s"
        " WHERE s.request_id = i.request_id AND s.species_code = i.species_code)",
        request_id=request_id,
    )
    if missing["num_items"] == 0:
        ctx.db.run("UPDATE requests SET status = 'completed' WHERE request_id = :request_id", request_id=request_id)
    return {"shipment_id": shipment_id, "num_items_missing": missing["num_items"]}


def summarise_stock(ctx, *, family: str | None = None) -> dict:
    families = ctx.db.all(
        "SELECT s.family, count(DISTINCT s.species_code) AS num_species,"
        " count(DISTINCT a.accession_id) AS num_accessions, coalesce(sum(p.num_seeds), 0) AS num_seeds FROM species s"
        " LEFT JOIN accessions a ON a.species_code = s.species_code AND a.status <> 'withdrawn'"
        " LEFT JOIN packets p USING (accession_id) WHERE :family IS NULL OR s.family = :family"
        " GROUP BY s.family ORDER BY s.family",
        family=family,
    )
    return {"families": families}


def get_custody_log(ctx, *, accession_id: str, limit: int = 50) -> dict:
    entries = ctx.db.all(
        "SELECT action, num_seeds, details, logged_at FROM custody_log WHERE accession_id = :accession_id"
        " ORDER BY entry_id DESC LIMIT :limit",
        accession_id=accession_id,
        limit=limit,
    )
    return {"entries": entries}


def _num_seeds(ctx, accession_id):
    total = ctx.db.one(
        "SELECT coalesce(sum(num_seeds), 0) AS num_seeds FROM packets WHERE accession_id = :accession_id",
        accession_id=accession_id,
    )
    return total["num_seeds"]


def _new_packet(ctx, accession_id, vault_code, purpose, num_seeds):
    packet_id = ctx.new_id("packets")
    ctx.db.run(
        "INSERT INTO packets (packet_id, accession_id, vault_code, purpose, num_seeds, sealed_at)"
        " VALUES (:packet_id, :accession_id, :vault_code, :purpose, :num_seeds, :sealed_at)",
        packet_id=packet_id,
        accession_id=accession_id,
        vault_code=vault_code,
        purpose=purpose,
        num_seeds=num_seeds,
        sealed_at=ctx.now(),
    )
    return packet_id


def _log(ctx, accession_id, action, num_seeds=None, details=None):
    ctx.db.run(
        "INSERT INTO custody_log (entry_id, accession_id, action, num_seeds, details, logged_at)"
        " VALUES (:entry_id, :accession_id, :action, :num_seeds, :details, :logged_at)",
        entry_id=ctx.new_id("custody_log"),
        accession_id=accession_id,
        action=action,
        num_seeds=num_seeds,
        details=details,
        logged_at=ctx.now(),
    )

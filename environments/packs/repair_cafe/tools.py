"""Tools of the repair cafe."""


def list_events(ctx, *, status: str | None = None) -> dict:
    events = ctx.db.all(
        "SELECT e.event_id, e.held_on, e.venue, e.status, e.num_benches,"
        " e.num_benches - count(i.item_id) AS num_free_benches"
        " FROM events e LEFT JOIN items i ON i.event_id = e.event_id AND i.status = 'on_bench'"
        " WHERE :status IS NULL OR e.status = :status GROUP BY e.event_id ORDER BY e.held_on",
        status=status,
    )
    return {"events": events}


def find_visitor(ctx, *, email: str) -> dict:
    visitor = ctx.db.one(
        "SELECT visitor_id, name, email FROM visitors WHERE email = :email", email=email.strip().lower()
    )
    if visitor is None:
        ctx.reject("visitor_not_found", "Nobody is registered with this address.")
    visitor["items"] = ctx.db.all(
        "SELECT item_id, name, status FROM items WHERE visitor_id = :visitor_id ORDER BY event_id, name",
        visitor_id=visitor["visitor_id"],
    )
    return visitor


def register_visitor(ctx, *, name: str, email: str) -> dict:
    visitor_id = ctx.new_id("visitors")
    ctx.db.run(
        "INSERT INTO visitors (visitor_id, name, email, registered_at)"
        " VALUES (:visitor_id, :name, :email, :registered_at)",
        visitor_id=visitor_id,
        name=name,
        email=email.lower(),
        registered_at=ctx.now(),
    )
    return {"visitor_id": visitor_id}


def register_item(ctx, *, visitor_id: str, event_id: int, skill: str, name: str, fault: str, weight_grams: int) -> dict:
    item_id = ctx.new_id("items")
    ctx.db.run(
        "INSERT INTO items (item_id, visitor_id, event_id, skill, name, fault, weight_grams, status, has_agreed,"
        " cost_limit_cents) VALUES (:item_id, :visitor_id, :event_id, :skill, :name, :fault, :weight_grams, 'waiting',"
        " 0, 0)",
        item_id=item_id,
        visitor_id=visitor_id,
        event_id=event_id,
        skill=skill,
        name=name,
        fault=fault,
        weight_grams=weight_grams,
    )
    ahead = ctx.db.one(
        "SELECT count(*) - 1 AS num_items FROM items"
        " WHERE event_id = :event_id AND skill = :skill AND status = 'waiting'",
        event_id=event_id,
        skill=skill,
    )
    return {"item_id": item_id, "num_ahead": ahead["num_items"]}


def list_waiting_items(ctx, *, event_id: int, skill: str | None = None, only_agreed: bool = False) -> dict:
    items = ctx.db.all(
        "SELECT item_id, name, fault, skill, has_agreed FROM items WHERE event_id = :event_id AND status = 'waiting'"
        " AND (:skill IS NULL OR skill = :skill) AND (has_agreed = 1 OR NOT :only_agreed) ORDER BY name, item_id",
        event_id=event_id,
        skill=skill,
        only_agreed=only_agreed,
    )
    for item in items:
        item["has_agreed"] = item["has_agreed"] == 1
    return {"items": items}


def get_item(ctx, *, item_id: str) -> dict:
    item = ctx.db.one(
        "SELECT i.item_id, i.name, i.fault, i.skill, i.weight_grams, i.status, i.event_id, i.has_agreed,"
        " i.cost_limit_cents, v.name AS owner FROM items i JOIN visitors v USING (visitor_id)"
        " WHERE i.item_id = :item_id",
        item_id=item_id,
    )
    item["has_agreed"] = item["has_agreed"] == 1
    item["cost_cents"] = _cost_cents(ctx, item_id)
    item["repairs"] = ctx.db.all(
        "SELECT r.repair_id, v.name AS volunteer, r.outcome, r.notes FROM repairs r"
        " JOIN volunteers v USING (volunteer_id) WHERE r.item_id = :item_id ORDER BY r.repair_id",
        item_id=item_id,
    )
    return item


def find_volunteers(ctx, *, skill: str | None = None, only_free: bool = False) -> dict:
    volunteers = ctx.db.all(
        "SELECT v.volunteer_id, v.name, v.skill, NOT EXISTS (SELECT 1 FROM repairs r"
        " WHERE r.volunteer_id = v.volunteer_id AND r.outcome IS NULL) AS is_free FROM volunteers v"
        " WHERE v.is_active = 1 AND (:skill IS NULL OR v.skill = :skill) ORDER BY v.name",
        skill=skill,
    )
    for volunteer in volunteers:
        volunteer["is_free"] = volunteer["is_free"] == 1
    return {"volunteers": [volunteer for volunteer in volunteers if volunteer["is_free"] or not only_free]}


def start_repair(ctx, *, item_id: str, volunteer_id: str) -> dict:
    repair_id = ctx.new_id("repairs")
    ctx.db.run(
        "INSERT INTO repairs (repair_id, item_id, volunteer_id, started_at)"
        " VALUES (:repair_id, :item_id, :volunteer_id, :started_at)",
        repair_id=repair_id,
        item_id=item_id,
        volunteer_id=volunteer_id,
        started_at=ctx.now(),
    )
    ctx.db.run("UPDATE items SET status = 'on_bench' WHERE item_id = :item_id", item_id=item_id)
    return {"repair_id": repair_id}


def use_part(ctx, *, repair_id: int, part_number: str, quantity: int = 1) -> dict:
    ctx.db.run(
        "UPDATE spare_parts SET stock = stock - :quantity WHERE part_number = :part_number",
        part_number=part_number,
        quantity=quantity,
    )
    ctx.db.run(
        "INSERT INTO part_uses (repair_id, part_number, quantity, price_cents)"
        " SELECT :repair_id, part_number, :quantity, price_cents FROM spare_parts WHERE part_number = :part_number"
        " ON CONFLICT (repair_id, part_number) DO UPDATE SET quantity = quantity + excluded.quantity",
        repair_id=repair_id,
        part_number=part_number,
        quantity=quantity,
    )
    repair = ctx.db.one("SELECT item_id FROM repairs WHERE repair_id = :repair_id", repair_id=repair_id)
    part = ctx.db.one("SELECT stock FROM spare_parts WHERE part_number = :part_number", part_number=part_number)
    return {"stock_left": part["stock"], "cost_cents": _cost_cents(ctx, repair["item_id"])}


def finish_repair(ctx, *, repair_id: int, outcome: str, notes: str | None = None) -> dict:
    repair = ctx.db.one("SELECT item_id FROM repairs WHERE repair_id = :repair_id", repair_id=repair_id)
    status = "waiting" if outcome == "come_back" else outcome
    ctx.db.run(
        "UPDATE repairs SET outcome = :outcome, notes = :notes, finished_at = :finished_at"
        " WHERE repair_id = :repair_id",
        repair_id=repair_id,
        outcome=outcome,
        notes=notes,
        finished_at=ctx.now(),
    )
    ctx.db.run("UPDATE items SET status = :status WHERE item_id = :item_id", item_id=repair["item_id"], status=status)
    return {
        "item_id": repair["item_id"],
        "item_status": status,
        "cost_cents": _cost_cents(ctx, repair["item_id"]),
    }


def list_parts(ctx, *, name_contains: str | None = None, only_in_stock: bool = True) -> dict:
    parts = ctx.db.all(
        "SELECT part_number, name, price_cents, stock FROM spare_parts"
        " WHERE (:name_contains IS NULL OR instr(lower(name), lower(:name_contains)) > 0)"
        " AND (stock > 0 OR NOT :only_in_stock) ORDER BY part_number",
        name_contains=name_contains,
        only_in_stock=only_in_stock,
    )
    return {"parts": parts}


def restock_part(ctx, *, part_number: str, quantity: int, price_cents: int | None = None) -> dict:
    ctx.db.run(
        "UPDATE spare_parts SET stock = stock + :quantity, price_cents = coalesce(:price_cents, price_cents)"
        " WHERE part_number = :part_number",
        part_number=part_number,
        quantity=quantity,
        price_cents=price_cents,
    )
    return ctx.db.one(
        "SELECT part_number, stock, price_cents FROM spare_parts WHERE part_number = :part_number",
        part_number=part_number,
    )


def agree_to_house_rules(ctx, *, item_id: str) -> dict:
    ctx.db.run("UPDATE items SET has_agreed = 1 WHERE item_id = :item_id", item_id=item_id)
    return {"item_id": item_id, "has_agreed": True}


def set_cost_limit(ctx, *, item_id: str, limit_cents: int) -> dict:
    ctx.db.run(
        "UPDATE items SET cost_limit_cents = :limit_cents WHERE item_id = :item_id",
        item_id=item_id,
        limit_cents=limit_cents,
    )
    return {"item_id": item_id, "cost_limit_cents": limit_cents}


def confirm_collection(ctx, *, item_id: str) -> dict:
    ctx.db.run("UPDATE items SET status = 'collected' WHERE item_id = :item_id", item_id=item_id)
    return {"item_id": item_id, "cost_cents": _cost_cents(ctx, item_id)}


def _cost_cents(ctx, item_id):
    cost = ctx.db.one(
        "SELECT coalesce(sum(u.quantity * u.price_cents), 0) AS cents FROM repairs r JOIN part_uses u USING (repair_id)"
        " WHERE r.item_id = :item_id",
        item_id=item_id,
    )
    return cost["cents"]

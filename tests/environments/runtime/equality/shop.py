"""A small shop: customers, orders with lines, a log; used by examples, golden files and sizes."""

from environments.runtime.equality import StartState
from environments.runtime.tables import ForeignKey
from tests.environments.runtime.equality.worlds import ID, NOTE, Random, column, insert, table, update

CUSTOMERS = table("customers", ID, column("name"), column("email"), column("level", "INTEGER"), unique=[("email",)])
ORDERS = table(
    "orders",
    ID,
    column("customer_id", "INTEGER"),
    column("status"),
    NOTE,
    column("total", "REAL"),
    column("made_at", comparison="exempt", generated="now"),
    foreign_keys=[ForeignKey(("customer_id",), "customers", ("id",))],
)
LINES = table(
    "lines",
    column("order_id", "INTEGER"),
    column("line", "INTEGER"),
    column("item"),
    column("data", is_json=True),
    key=("order_id", "line"),
    foreign_keys=[ForeignKey(("order_id",), "orders", ("id",))],
    role="link",
)
MAILS = table(
    "mails",
    ID,
    column("address"),
    column("text"),
    foreign_keys=[ForeignKey(("address",), "customers", ("email",))],
    role="log",
)
TABLES = (CUSTOMERS, ORDERS, LINES, MAILS)
LONG_NOTE = "please leave the parcel with the friendly neighbour at the green door today"


def start(num_customers=3, language="en"):
    customers = [
        {"id": number, "name": f"c{number}", "email": f"c{number}@x", "level": 1}
        for number in range(1, num_customers + 1)
    ]
    orders = [
        {"id": 1, "customer_id": 1, "status": "new", "note": "one two three four five", "total": 1e6, "made_at": "t0"}
    ]
    lines = [{"order_id": 1, "line": 1, "item": "tea", "data": "{}"}]
    mails = [{"id": 1, "address": "c1@x", "text": "hello"}]
    rows = {"customers": customers, "orders": orders, "lines": lines, "mails": mails}
    return StartState(TABLES, rows, language=language)


def order(number, **values):
    row = {"id": number, "customer_id": 1, "status": "new", "note": None, "total": 5.0, "made_at": f"t{number}"}
    return insert("orders", row | values)


def line(order_id, number, **values):
    row = {"order_id": order_id, "line": number, "item": "tea", "data": "{}"} | values
    return insert("lines", row, ("order_id", "line"))


def mail(number, **values):
    return insert("mails", {"id": number, "address": "c1@x", "text": "hello"} | values)


def many(num_rows, seed, *, is_near=False, num_wrong=0):
    """The changes of a run over `start(2_000)`: orders of three lines each, and customers with another level."""
    rng = Random(seed)
    num_orders = max(1, num_rows // 5)
    ids = rng.sample(range(10**6, 10**6 + 2 * num_orders), num_orders)
    changes = []
    for number, order_id in enumerate(ids):
        values = {
            "customer_id": 1 + number % 1_500,
            "status": "wrong" if number < num_wrong else "new",
            "note": LONG_NOTE.replace("today", "tonight") if is_near else LONG_NOTE,
            "total": (10.0 + number % 7) * (1 + 2e-7 * is_near),
        }
        changes.append(order(order_id, **values))
        changes += [line(order_id, place, item=f"i{number % 11}", data=f'{{"n":{number % 5}}}') for place in range(3)]
    changes += [update("customers", {"id": number + 1}, level=2) for number in range(num_rows - len(changes))]
    rng.shuffle(changes)
    return changes

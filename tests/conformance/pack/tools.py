"""Tools by the names that the MCP conformance suite calls."""


def test_simple_text(ctx) -> dict:
    return ctx.db.one("SELECT text FROM texts WHERE name = 'test_simple_text'")


def test_error_handling(ctx) -> dict:
    ctx.reject("always_refused", "This tool intentionally returns an error for testing.")


def json_schema_2020_12_tool(
    ctx, *, name: str | None = None, address: dict | None = None, contact_method: str | None = None,
    phone: str | None = None, email: str | None = None,
) -> dict:  # fmt: skip
    return {"text": phone or email}

"""tools.py as text: readable, clean, the same everywhere, and nothing in it that could not matter."""

import ast
import builtins
import keyword
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from environments.core.compile.emission import emit_schema, emit_tools
from environments.core.compile.semantics import ArgumentRole, Kind
from tests.environments.core.compile.emission.odd import odd
from tests.factories.blueprints import shop

GOLDEN = Path(__file__).parent / "golden" / "shop_tools.py.txt"
RULES = "E,F,W,B,I,SIM,RET,C4,UP,PIE,PERF,RUF"
RUFF = [str(Path(sys.executable).parent / "ruff")]


@pytest.mark.parametrize("make", [shop, odd])
def test_text_is_clean(make):
    text = emit_tools(make())
    check = [*RUFF, "check", "--isolated", "--line-length=120", f"--select={RULES}", "--output-format=concise", "-"]
    found = subprocess.run(check, input=text, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout
    layout = [*RUFF, "format", "--isolated", "--line-length=120", "-"]
    assert subprocess.run(layout, input=text, capture_output=True, text=True, check=True).stdout == text


@pytest.mark.parametrize("make", [shop, odd])
def test_no_name_hides_one_that_is_used(make):
    for node in ast.parse(emit_tools(make())).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        arguments = [each.arg for each in (*node.args.args, *node.args.kwonlyargs)]
        stored = [each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]
        called = {
            each.func.id for each in ast.walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)
        }
        assert not set(arguments) & set(stored)
        assert not (set(arguments) | set(stored)) & called & set(dir(builtins))
        assert "json" not in arguments + stored
        assert not any(map(keyword.iskeyword, arguments))


def test_text_is_as_it_was():
    """Reviewed by people; written anew with `emit_tools(shop())` after a change that is wanted."""
    assert emit_tools(shop()) == GOLDEN.read_text()


def test_pack_is_the_same_under_any_hash_seed():
    code = (
        "from environments.core.compile.emission import emit_pack\n"
        "from environments.runtime.pack import content_sha256\n"
        "from tests.environments.core.compile.emission.odd import odd\n"
        "from tests.factories.blueprints import shop\n"
        "print([content_sha256(emit_pack(make(), [], [])) for make in (shop, odd)])"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("5", "77")
    }
    assert len(runs) == 1


def test_what_cannot_matter_is_not_written():
    text = emit_tools(shop())
    functions = {node.name: ast.unparse(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    assert "LIMIT" not in functions["list_order_lines"]
    assert "ORDER BY sku'" in functions["list_order_lines"]
    assert "count(*)" not in functions["list_orders"]
    assert "db.one" not in functions["delete_order"]
    assert "_find" not in functions["watch_product"]
    assert "_show_order_line" not in functions


def test_scope_that_a_check_held_against_the_row_is_not_asked_again():
    blueprint = shop()
    [line] = [tool for tool in blueprint.tools if tool.name == "get_order"]
    scope = replace(
        line.meaning.arguments[0], name="buyer", python_name="buyer", role=ArgumentRole.SCOPE, column="customer_id"
    )
    found = replace(line.meaning.checks[0], where=(("id", "id"), ("customer_id", "buyer")))
    held = replace(line.meaning, arguments=(*line.meaning.arguments, scope), checks=(found,), kind=Kind.DELETE)
    texts = [
        emit_tools(replace(blueprint, tools=(replace(line, meaning=meaning),)))
        for meaning in (held, replace(held, checks=line.meaning.checks))
    ]
    assert ["DELETE FROM orders WHERE id = :id AND customer_id = :buyer" in text for text in texts] == [False, True]


def test_row_that_no_argument_names_is_an_error():
    blueprint = shop()
    [tool] = [tool for tool in blueprint.tools if tool.name == "delete_order_line"]
    meaning = replace(tool.meaning, arguments=tool.meaning.arguments[:1])
    with pytest.raises(ValueError, match="sku"):
        emit_tools(replace(blueprint, tools=(replace(tool, meaning=meaning),)))


def test_schema_says_what_rows_must_be():
    text = emit_schema(shop())
    for part in (
        "-- A person who buys.\nCREATE TABLE customers (",
        "    email TEXT NOT NULL UNIQUE, -- The email.",
        "CHECK (status IN ('open', 'paid', 'shipped', 'cancelled'))",
        "is_active INTEGER NOT NULL CHECK (is_active IN (0, 1))",
        "tags TEXT CHECK (tags IS NULL OR json_valid(tags))",
        "REFERENCES customers (id) ON DELETE SET NULL",
        "    PRIMARY KEY (order_id, sku)\n",
        "CREATE INDEX orders_by_customer_id ON orders (customer_id);",
    ):
        assert part in text
    assert "order_lines_by_order_id" not in text
    assert 'FOREIGN KEY ("group", item) REFERENCES items ("group", name) ON DELETE CASCADE' in emit_schema(odd())

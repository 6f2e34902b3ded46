"""Figures of environments: what they are made of, what repeats, and what the report says of all of them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.core.compile.report import (
    TABLE_BARS,
    TOOL_BARS,
    Copy,
    DocumentFacts,
    EnvironmentFacts,
    Report,
    Suspicion,
    describe,
    environment_facts,
    find_repetitions,
    find_suspicion,
    make_report,
)
from environments.core.compile.semantics import Kind
from environments.runtime.pack.shapes import from_document, to_json
from tests.factories.blueprints import shop
from tests.factories.compilation import facts, tool_facts


def document(api: str = "api", version: str = "1") -> DocumentFacts:
    return DocumentFacts("1" * 64, api, version, "x:api.json", "An API")


def numbered(count: int, provider: str = "example.org", **changes):
    """Environments of different tools and different APIs."""
    return [
        facts(
            f"library_{number}", provider,
            tools=(tool_facts(f"list_{number}"), *(tool_facts(f"make_{number}_{each}", "create") for each in range(4))),
            documents=(document(f"api {provider} {number}"),), **changes,
        )
        for number in range(count)
    ]  # fmt: skip


class TestFacts:
    def test_counts_what_the_blueprint_has(self):
        blueprint = shop()

        found = environment_facts(blueprint, num_rows=40, num_cases=90, meets_bar=True)

        assert [tool.name for tool in found.tools] == [tool.name for tool in blueprint.tools]
        assert found.tables == tuple(table.name for table in blueprint.tables)
        assert found.num_foreign_keys == sum(len(table.foreign_keys) for table in blueprint.tables)
        assert found.num_link_tables == 1
        assert found.num_checks == sum(bool(column.values) for table in blueprint.tables for column in table.columns)
        assert (found.num_rows, found.num_cases, found.meets_bar) == (40, 90, True)

    def test_tools_that_failed_are_not_among_its_tools(self):
        found = environment_facts(shop(), failed={"list_orders": "tool_failed"})

        assert "list_orders" not in {tool.name for tool in found.tools}
        assert found.failed == (("list_orders", "tool_failed"),)

    def test_survives_json(self):
        found = environment_facts(shop(), failed={"list_orders": "tool_failed"})

        assert from_document(EnvironmentFacts, to_json(found)) == found

    def test_loose_bar_needs_five_tools_a_read_and_a_write(self):
        whole = facts()

        assert whole.meets_loose_bar
        assert not replace(whole, tools=whole.tools[:4]).meets_loose_bar
        assert not replace(whole, tools=tuple(replace(tool, kind="list") for tool in whole.tools)).meets_loose_bar
        assert not replace(whole, tools=tuple(replace(tool, kind="patch") for tool in whole.tools)).meets_loose_bar

    def test_groups_are_the_four_largest_families_and_others(self):
        assert [facts(provider=name).group for name in ("azure.com", "microsoft.com", "a.org")] == [
            "Azure and Microsoft Graph", "Azure and Microsoft Graph", "Others",
        ]  # fmt: skip


class TestSuspicion:
    def test_sound_plan_has_none_beyond_its_lost_filters(self):
        assert find_suspicion(shop()) == Suspicion()

    def test_list_without_any_way_to_one_row_is_suspect(self):
        blueprint = shop()
        names = ("list_orders", "list_customers", "get_customer")
        tools = tuple(tool for tool in blueprint.tools if tool.name in names)

        assert find_suspicion(replace(blueprint, tools=tools)).keyless_lists == 0.5

    def test_table_that_nothing_reads_is_suspect(self):
        blueprint = shop()
        tools = tuple(tool for tool in blueprint.tools if tool.name in ("create_order", "get_customer"))

        assert find_suspicion(replace(blueprint, tools=tools)).create_only == 0.5

    def test_lost_parameters_are_counted_among_optional_ones(self):
        blueprint = shop()
        tool = next(tool for tool in blueprint.tools if tool.name == "list_customers")
        lost = replace(tool, dropped=tuple((f"p{number}", "no_column") for number in range(4)))

        assert find_suspicion(replace(blueprint, tools=(lost,))).dropped_filters == 0.5

    def test_tables_of_the_same_columns_are_suspect_unless_a_key_ties_them(self):
        blueprint = shop()
        twin = replace(blueprint.tables[0], name="people", noun="person")

        assert find_suspicion(replace(blueprint, tables=(*blueprint.tables, twin))).twin_tables == pytest.approx(2 / 6)

    def test_score_is_the_mean(self):
        assert Suspicion(1, 0.5, 0.5, 0).score == 0.5


class TestRepetitions:
    def test_different_environments_all_count(self):
        assert find_repetitions(numbered(5)) == {}

    def test_near_copy_counts_once_and_the_larger_one_stays(self):
        tools = tuple(tool_facts(f"tool_{number}", arguments=("a", "b")) for number in range(20))
        large = facts("large", "a.org", tools=tools, documents=(document("a"),))
        small = facts("small", "b.org", tools=tools[:-1], documents=(document("b"),))
        other = facts("other", "c.org", tools=tools[:-3], documents=(document("c"),))

        found = find_repetitions([small, other, large])

        assert found.keys() == {("b.org", "small")}
        assert (found["b.org", "small"].kind, found["b.org", "small"].of) == (Copy.NEAR_COPY, ("a.org", "large"))
        assert found["b.org", "small"].alike == 0.95

    def test_names_of_arguments_tell_environments_apart(self):
        first = facts("first", tools=tuple(tool_facts(f"t{n}", arguments=("a", "b")) for n in range(5)))
        second = facts("second", tools=tuple(tool_facts(f"t{n}", arguments=("c", "d")) for n in range(5)))

        assert find_repetitions([first, second]) == {}

    def test_newest_version_stays(self):
        old = facts("old", tools=(tool_facts("a"),), documents=(document(version="2019-12-01"),))
        new = facts("new", tools=(tool_facts("b"),), documents=(document(version="2020-01-01"),))

        found = find_repetitions([old, new])

        assert found.keys() == {old.key}
        assert (found[old.key].kind, found[old.key].of) == (Copy.OLDER_VERSION, new.key)

    def test_environments_of_one_document_are_no_versions(self):
        assert find_repetitions([facts("a", tools=(tool_facts("a"),)), facts("b", tools=(tool_facts("b"),))]) == {}

    def test_environment_with_one_newest_document_stays(self):
        mixed = facts("mixed", tools=(tool_facts("a"),), documents=(document(version="1"), document("other")))
        new = facts("new", tools=(tool_facts("b"),), documents=(document(version="2"),))

        assert find_repetitions([mixed, new]) == {}

    @given(st.permutations(range(6)))
    def test_order_does_not_matter(self, order):
        environments = [
            *numbered(3), *(replace(each, provider="copy.org") for each in numbered(2)),
            replace(numbered(1)[0], name="old", documents=(document("api example.org 1", version="0"),)),
        ]  # fmt: skip
        expected = find_repetitions(environments)

        assert find_repetitions([environments[place] for place in order]) == expected
        assert len(expected) == 3


class TestDistribution:
    @given(st.lists(st.integers(0, 80), min_size=1))
    def test_bars_hold_every_value_once(self, values):
        found = describe(values, TOOL_BARS)

        assert sum(num for _first, _last, num in found.bars) == len(values)
        assert (found.minimum, found.maximum) == (min(values), max(values))
        assert found.minimum <= found.p10 <= found.median <= found.p90 <= found.maximum

    def test_bars_name_their_first_and_last_value(self):
        assert describe([1, 4, 5, 70], TOOL_BARS).bars[:2] == ((1, 4, 2), (5, 9, 1))
        assert describe([1, 4, 5, 70], TOOL_BARS).bars[-1] == (61, 70, 1)

    def test_nothing_is_a_distribution_too(self):
        assert describe([], TABLE_BARS).num == 0


class TestReport:
    def test_operations_are_tools_and_what_was_left(self):
        report = make_report([facts()], {"resource_has_no_key": 3, "deprecated": 4})

        assert (report.operations, report.tools) == (12, 5)
        assert [(each.name, each.num) for each in report.reasons] == [("deprecated", 4), ("resource_has_no_key", 3)]

    def test_bars_count_distinct_providers_and_others(self):
        environments = [*numbered(50), *numbered(3, "azure.com"), *numbered(2, "b.org", meets_bar=False)]
        copies = find_repetitions([*environments[:50]])
        assert copies == {}

        report = make_report(environments, {}, copies)

        assert (report.loose.all, report.loose.others, report.loose.others_capped) == (55, 52, 42)
        assert (report.strict.all, report.strict.others_capped, report.strict.providers) == (53, 40, 2)
        assert report.strict.tools == 53 * 5

    def test_copies_count_in_no_distribution(self):
        environment = facts()
        copy = replace(environment, provider="b.org", documents=(document("b"),))

        report = make_report([environment, copy], {})

        assert (report.loose.all, report.loose.distinct, report.tools_of_each.num) == (2, 1, 1)
        assert [(each.name, each.num) for each in report.repetitions] == [("near_copy", 1)]
        assert report.repeated_names == ("library",)

    def test_share_of_transitions_and_of_tables(self):
        plain = replace(facts("plain"), tools=facts().tools[:4])

        report = make_report([facts(), plain], {})

        assert report.transitions_share == 0.5
        assert report.tools_per_table.maximum == 2
        assert {each.name for each in report.kinds} <= {kind.value for kind in Kind}

    def test_suspicious_ones_are_counted(self):
        odd = facts(suspicion=Suspicion(keyless_lists=1.0))

        assert (make_report([odd], {}).suspicious, make_report([odd], {}).suspicion_mean) == (1, 0.25)

    def test_nothing_gives_an_empty_report(self):
        assert make_report([], {}) == Report()

    def test_survives_json(self):
        report = make_report([facts(), *numbered(3)], {"deprecated": 4})

        assert from_document(Report, to_json(report)) == report

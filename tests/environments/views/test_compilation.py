"""The pages of compilations: the list, one run, its ledger, and how a version was compiled."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from environments.models import Compilation, CompiledEnvironment, CompiledOperation, EnvironmentVersion, Job, Operation
from tests.factories.compilation import a_compilation
from tests.factories.registry import little_version
from tests.factories.sources import guarded_document

pytestmark = pytest.mark.django_db

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}


def text(response: Any) -> str:
    return str(response.content.decode())


def words(response: Any) -> str:
    """What a person reads: no tags, entities as characters, spaces as one."""
    body = text(response).split("<main", 1)[-1].split('<div id="toasts"')[0]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def page(compilation: Compilation, name: str = "compilation_detail") -> str:
    return reverse(name, args=[compilation.code])


def compiled_version() -> EnvironmentVersion:
    found = CompiledEnvironment.objects.get(outcome="verified").version
    assert found is not None
    return found


def version_page(name: str = "version_compiled", *arguments: Any) -> str:
    version = compiled_version()
    return reverse(name, args=[version.environment.name, version.number, *arguments])


class TestList:
    def test_shows_scope_and_counts_of_each(self, operator_client: Client) -> None:
        a_compilation(target_tools=50)

        shown = words(operator_client.get(reverse("compilation_list")))

        assert "Provider example.org compiler/1, seed 7, aimed at 50 tools" in shown
        assert "Finished" in shown
        assert "1 of 2" in shown
        assert "1 of 1" in shown

    def test_belongs_to_the_environments_of_the_rail(self, operator_client: Client) -> None:
        shown = text(operator_client.get(reverse("compilation_list")))

        rail = re.findall(r'<a[^>]*href="([^"]*)"[^>]*aria-current="page"', shown)
        assert reverse("environment_list") in rail

    def test_teaches_when_there_is_none(self, operator_client: Client, viewer: Any) -> None:
        shown = text(operator_client.get(reverse("compilation_list")))
        client = Client()
        client.force_login(viewer)

        assert "?kind=compile_environments" in shown
        assert "An operator or an admin can compile" in words(client.get(reverse("compilation_list")))

    def test_has_no_figures_of_a_run_that_goes_on(self, operator_client: Client) -> None:
        a_compilation(is_finished=False)

        shown = words(operator_client.get(reverse("compilation_list")))

        assert "Running" in shown
        assert "1 of 2" not in shown

    def test_partial_is_the_region(self, operator_client: Client) -> None:
        a_compilation()

        shown = text(operator_client.get(reverse("compilation_list"), headers=PARTIAL))

        assert shown.strip().startswith('<section class="section region" id="compilations"')


class TestStart:
    def test_starts_the_job_of_a_scope(self, operator_client: Client) -> None:
        document = guarded_document()

        answer = operator_client.post(reverse("compilation_start"), {"document": str(document.code), "target": "50"})

        job = Job.objects.get()
        assert (job.kind, job.parameters["documents"], job.parameters["target"]) == (
            "compile_environments", [str(document.code)], 50,
        )  # fmt: skip
        assert answer["Location"] == reverse("job_detail", args=[job.code])

    @pytest.mark.parametrize("data", [{"target": "61"}, {"target": "x"}, {"document": "x"}, {"provider": "x" * 201}])
    def test_says_what_is_wrong(self, operator_client: Client, data: dict[str, str]) -> None:
        answer = operator_client.post(reverse("compilation_start"), data)

        assert answer.status_code == 422
        assert f"{next(iter(data))}: " in words(answer)
        assert not Job.objects.exists()

    def test_button_says_how_many_operations(self, operator_client: Client) -> None:
        document = guarded_document()

        on_list = text(operator_client.get(reverse("source_list")))
        on_page = text(operator_client.get(reverse("source_detail", args=[document.source.code])))

        assert "Compile 2 operations" in on_list
        assert f'name="document" value="{document.code}"' in on_page

    @pytest.mark.parametrize(
        ("query", "offered"),
        [("provider=example.org", True), ("q=pet", False), ("terms=free", False), ("collection=none", False)],
    )
    def test_is_offered_for_what_a_scope_can_name(self, operator_client: Client, query: str, offered: bool) -> None:
        guarded_document()

        shown = text(operator_client.get(f"{reverse('source_list')}?{query}"))

        assert ("Compile 2 operations" in shown) == offered

    def test_is_not_offered_to_who_may_not_start(self, viewer: Any) -> None:
        guarded_document()
        client = Client()
        client.force_login(viewer)

        assert "Compile 2 operations" not in text(client.get(reverse("source_list")))


class TestDetail:
    def test_funnel_has_what_came_in_why_it_was_left_and_what_became_tools(self, operator_client: Client) -> None:
        compilation = a_compilation()

        shown = words(operator_client.get(page(compilation)))

        assert "n = 3 operations of 1 document" in shown
        assert "resource has no key 1 33.3 %" in shown
        assert "Tools 1 33.3 %" in shown

    def test_charts_have_their_tables(self, operator_client: Client) -> None:
        compilation = a_compilation()

        shown = words(operator_client.get(page(compilation)))

        assert "Tools of an environment n = 1 environments" in shown
        assert "1 to 4 1 100.0 %" in shown
        assert "mean 3.0, median 3, 10 % up to 3, 90 % up to 3, most 3" in shown
        assert "What tools do n = 1 tools" in shown

    def test_names_what_was_discarded_and_why(self, operator_client: Client) -> None:
        compilation = a_compilation()

        shown = words(operator_client.get(page(compilation)))

        assert "lost_library" in shown
        assert "Discarded environment discarded" in shown

    def test_reasons_lead_to_examples_and_to_the_ledger(self, operator_client: Client) -> None:
        compilation = a_compilation()

        shown = text(operator_client.get(page(compilation)))

        assert "GET /pets/{petId}" in shown
        assert f"{page(compilation, 'compilation_operations')}?reason=resource_has_no_key" in shown

    @pytest.mark.parametrize(
        ("query", "names"),
        [("outcome=verified", {"library"}), ("outcome=discarded", {"lost_library"}), ("q=lost", {"lost_library"}),
         ("family=plain&sort=-tools", {"library", "lost_library"}), ("provider=nobody", set())],
    )  # fmt: skip
    def test_narrows_environments(self, operator_client: Client, query: str, names: set[str]) -> None:
        compilation = a_compilation()

        context = operator_client.get(f"{page(compilation)}?{query}").context

        assert {line.row.name for line in context["lines"]} == names

    def test_says_which_copy_an_environment_is(self, operator_client: Client) -> None:
        compilation = a_compilation()
        copy = {"environment": ["example.org", "library"], "kind": "near_copy", "of": ["x", "other"],
                "alike": 0.95}  # fmt: skip
        Compilation.objects.update(copies=[copy])

        assert "near copy of other" in words(operator_client.get(page(compilation)))

    def test_says_that_it_goes_on(self, operator_client: Client) -> None:
        compilation = a_compilation(is_finished=False)

        shown = words(operator_client.get(page(compilation)))

        assert "It is still running" in shown
        assert "What became of the operations" not in shown
        assert "library" in shown

    def test_names_batches_that_failed(self, operator_client: Client) -> None:
        compilation = a_compilation(failures={"azure.com network": "failed: timed_out"})

        shown = words(operator_client.get(page(compilation)))

        assert "azure.com network failed: timed_out" in shown
        assert "Finished with gaps" in shown

    def test_queries_do_not_grow_with_environments(
        self, operator_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        compilation = a_compilation()
        row = CompiledEnvironment.objects.get(outcome="verified")
        for number in range(30):
            row.pk, row.name = None, f"library_{number}"
            row.save(force_insert=True)

        with django_assert_max_num_queries(12):
            operator_client.get(page(compilation))

    def test_unknown_code_is_not_found(self, operator_client: Client) -> None:
        assert operator_client.get(reverse("compilation_detail", args=[a_version_code()])).status_code == 404


def a_version_code() -> Any:
    return little_version().code


class TestLedger:
    @pytest.mark.parametrize(
        ("query", "keys"),
        [("", {"GET /pets", "POST /pets", "GET /pets/{petId}"}), ("reason=tool", {"GET /pets"}),
         ("reason=tool_failed", {"POST /pets"}), ("kind=list", {"GET /pets"}), ("q=petId", {"GET /pets/{petId}"}),
         ("q=join", {"POST /pets"}), ("reason=x", set())],
    )  # fmt: skip
    def test_narrows_operations(self, operator_client: Client, query: str, keys: set[str]) -> None:
        compilation = a_compilation()

        answer = operator_client.get(f"{page(compilation, 'compilation_operations')}?{query}")

        assert {line.row.key for line in answer.context["lines"]} == keys

    def test_tool_leads_to_its_source(self, operator_client: Client) -> None:
        compilation = a_compilation()

        shown = text(operator_client.get(page(compilation, "compilation_operations")))

        assert version_page("version_compiled_tool", "list_books") in shown

    def test_hostile_text_is_only_text(self, operator_client: Client) -> None:
        compilation = a_compilation()
        row = CompiledOperation.objects.get(reason="resource_has_no_key")
        row.pk, row.tool, row.detail = None, "x", "<script>alert(1)</script>"
        row.save(force_insert=True)

        assert "<script>alert" not in text(operator_client.get(page(compilation, "compilation_operations")))


class TestVersion:
    def test_shows_what_was_kept_dropped_and_left_out(self, operator_client: Client) -> None:
        a_compilation()

        shown = words(operator_client.get(version_page()))

        assert "list_books GET /pets List books" in shown
        assert "Dropped by verification 1" in shown
        assert "a case did not hold" in shown
        assert "Left out of the same documents 1" in shown
        assert "resource has no key 1" in shown

    def test_warns_of_what_looks_misread(self, operator_client: Client) -> None:
        a_compilation()

        assert "Lists without a key 1.00" in words(operator_client.get(version_page()))

    def test_left_out_is_narrowed_by_reason(self, operator_client: Client) -> None:
        a_compilation()

        context = operator_client.get(f"{version_page()}?reason=other").context

        assert context["lines"] == []
        assert context["num_left"] == 1

    def test_partial_is_the_region(self, operator_client: Client) -> None:
        a_compilation()

        shown = text(operator_client.get(version_page(), headers=PARTIAL))

        assert shown.strip().startswith('<section class="section region" id="left-out"')

    def test_source_stands_beside_the_tool(self, operator_client: Client) -> None:
        a_compilation()

        shown = words(operator_client.get(version_page("version_compiled_tool", "list_books")))

        assert "Lists the pets of the shelter" in shown
        assert "species query text no" in shown
        assert "def list_books(ctx, *, limit=10):" in shown
        assert "species no column" in shown

    def test_operation_that_is_read_no_more_is_said_so(self, operator_client: Client) -> None:
        a_compilation()
        Operation.objects.filter(key="GET /pets").delete()

        shown = words(operator_client.get(version_page("version_compiled_tool", "list_books")))

        assert "A newer reading of the document has no such operation" in shown

    def test_version_that_was_not_compiled_has_no_such_page(self, operator_client: Client) -> None:
        version = little_version()
        arguments = [version.environment.name, version.number]

        assert operator_client.get(reverse("version_compiled", args=arguments)).status_code == 404
        assert ">Compiled</a>" not in text(operator_client.get(reverse("version_detail", args=arguments)))

    def test_tab_is_there_for_compiled_versions(self, operator_client: Client) -> None:
        a_compilation()

        assert ">Compiled</a>" in text(operator_client.get(version_page("version_detail")))

    def test_unknown_tool_is_not_found(self, operator_client: Client) -> None:
        a_compilation()

        assert operator_client.get(version_page("version_compiled_tool", "nothing")).status_code == 404

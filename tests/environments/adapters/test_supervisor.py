"""Keeping processes up, with real processes."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from environments.adapters import supervisor as module
from environments.adapters.supervisor import Supervisor

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
DIE = [sys.executable, "-c", "raise SystemExit(3)"]

# Two processes that ignore SIGTERM, the second a child of the first.
STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if len(sys.argv) > 2:
    child = subprocess.Popen([sys.executable, __file__, sys.argv[1]])
    pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(600)
"""

# A process that leaves a child behind when it is asked to stop; the child does not listen.
LEAVING = """
import pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
child = subprocess.Popen(
    [sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"]
)
time.sleep(1)  # until the child does not listen
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
time.sleep(600)
"""


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def has_text(file: Path) -> bool:
    return file.exists() and file.read_text() != ""


def pid_of(supervisor: Supervisor) -> int | None:
    process = supervisor._children[0].process
    return None if process is None else process.pid


def test_process_runs_in_a_session_of_its_own():
    with Supervisor() as supervisor:
        pid = supervisor.start("sleeper", SLEEP)

        assert os.getsid(pid) == pid != os.getsid(0)
    assert not is_alive(pid)


def test_environment_is_passed_on_beside_the_own_one(tmp_path):
    show = "import os; print(os.environ['X'], 'PATH' in os.environ, flush=True)"
    with Supervisor(log_directory=tmp_path / "log") as supervisor:
        supervisor.start("shower", [sys.executable, "-c", show], {"X": "1"})
        log = tmp_path / "log" / "shower.log"
        wait_until(lambda: has_text(log), "it has spoken")

    assert log.read_text() == "1 True\n"


def test_both_outputs_go_to_the_log_and_are_kept_when_restarted(tmp_path):
    speak = [sys.executable, "-c", "import sys; print('out', flush=True); print('err', file=sys.stderr)"]
    log = tmp_path / "log" / "speaker.log"
    with Supervisor(log_directory=tmp_path / "log") as supervisor:
        supervisor.start("speaker", speak)
        wait_until(lambda: log.exists() and log.read_text() == "out\nerr\n", "it has spoken")

        def spoke_again() -> bool:
            supervisor.tend()
            return log.read_text() == "out\nerr\nout\nerr\n"

        wait_until(spoke_again, "it has spoken again")
    assert [file.name for file in (tmp_path / "log").iterdir()] == ["speaker.log"]


def test_process_is_started_again_when_it_is_killed():
    with Supervisor() as supervisor:
        first = supervisor.start("sleeper", SLEEP)
        other = supervisor.start("other", SLEEP)
        os.kill(first, signal.SIGKILL)

        def is_back() -> bool:
            supervisor.tend()
            return pid_of(supervisor) not in {None, first}

        wait_until(is_back, "it is started again")
        assert is_alive(other)
        assert supervisor._children[1].process.pid == other
        again = pid_of(supervisor)
    assert not is_alive(again)
    assert not is_alive(other)


def test_delay_doubles_up_to_a_limit_when_it_keeps_dying(caplog, monkeypatch):
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    delays = []
    supervisor = Supervisor()
    supervisor.start("dying", DIE)
    child = supervisor._children[0]

    for _ in range(8):
        assert child.process is not None
        child.process.wait()
        supervisor.tend()
        assert child.process is None
        delays.append(child.restart_at - now)
        now = child.restart_at - 0.01
        supervisor.tend()
        assert child.process is None, "it was started too early"
        now = child.restart_at
        supervisor.tend()

    assert delays == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]
    assert "event=process_died name=dying status=3" in caplog.text
    supervisor.stop()


def test_process_is_started_at_once_when_it_had_been_steady(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    supervisor = Supervisor()
    supervisor.start("dying", DIE)
    child = supervisor._children[0]
    child.num_quick_deaths = 5
    first = child.process
    assert first is not None
    first.wait()

    now += module.STEADY_SECONDS
    supervisor.tend()

    assert child.process is not None
    assert child.process is not first
    assert child.num_quick_deaths == 0
    supervisor.stop()


def test_everything_of_a_session_is_killed_when_nothing_in_it_listens(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "STOP_SECONDS", 1.0)
    script, note = tmp_path / "stubborn.py", tmp_path / "pid"
    script.write_text(STUBBORN)
    supervisor = Supervisor()
    parent = supervisor.start("stubborn", [sys.executable, str(script), str(note), "parent"])
    wait_until(lambda: has_text(note), "the grandchild runs")
    grandchild = int(note.read_text())
    time.sleep(0.5)

    supervisor.stop()

    assert not is_alive(parent)
    wait_until(lambda: not is_alive(grandchild), "the grandchild is gone", 5)


def test_grandchild_is_killed_when_its_parent_has_stopped_by_itself(tmp_path):
    note = tmp_path / "pid"
    supervisor = Supervisor()
    parent = supervisor.start("leaving", [sys.executable, "-c", LEAVING, str(note)])
    wait_until(lambda: has_text(note), "the grandchild runs")
    grandchild = int(note.read_text())

    started = time.monotonic()
    supervisor.stop()

    assert time.monotonic() - started < module.STOP_SECONDS
    assert not is_alive(parent)
    wait_until(lambda: not is_alive(grandchild), "the grandchild is gone", 5)


def test_grandchild_is_killed_when_its_parent_was_killed_before(tmp_path):
    note = tmp_path / "pid"
    supervisor = Supervisor()
    parent = supervisor.start("leaving", [sys.executable, "-c", LEAVING, str(note)])
    wait_until(lambda: has_text(note), "the grandchild runs")
    grandchild = int(note.read_text())
    os.kill(parent, signal.SIGKILL)
    wait_until(lambda: not is_alive(parent), "the parent is gone")

    supervisor.tend()
    supervisor.stop()

    wait_until(lambda: not is_alive(grandchild), "the grandchild is gone", 5)


def test_a_listening_process_is_given_the_time_to_stop(tmp_path):
    note = tmp_path / "said"
    polite = (
        "import pathlib, signal, sys, time\n"
        "def stop(*_):\n"
        "    time.sleep(0.5); pathlib.Path(sys.argv[1]).write_text('goodbye'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        "pathlib.Path(sys.argv[1] + '.ready').touch()\n"
        "time.sleep(600)\n"
    )
    with Supervisor() as supervisor:
        supervisor.start("polite", [sys.executable, "-c", polite, str(note)])
        wait_until(Path(f"{note}.ready").exists, "it listens")

    assert note.read_text() == "goodbye"


def test_nothing_is_left_when_the_body_fails():
    pids = []

    def body() -> None:
        with Supervisor() as supervisor:
            pids.append(supervisor.start("sleeper", SLEEP))
            raise RuntimeError("body")

    with pytest.raises(RuntimeError, match="body"):
        body()

    assert not is_alive(pids[0])


def test_stop_does_nothing_when_nothing_runs():
    supervisor = Supervisor()
    supervisor.stop()
    supervisor.stop()
    supervisor.tend()

    assert supervisor == Supervisor()

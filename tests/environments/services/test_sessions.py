"""Sessions as rows: restored anywhere, one change at a time, nothing lost and nothing twice."""

import contextlib
import dataclasses
import json
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from environments import services, tasks
from environments.core.errors import (
    InvalidInputError,
    NotVerifiedError,
    PermissionDeniedError,
    QuotaExceededError,
    ReplayDiffersError,
    SandboxFailedError,
    SessionClosedError,
    SessionLeasedError,
)
from environments.models import EnvironmentSession, EnvironmentVersion, PastEpisode, ToolCall
from environments.runtime.records import CallStatus
from environments.runtime.session import Session
from environments.runtime.transcripts import read_transcript
from environments.services import sessions
from tests.factories.environments import UserFactory
from tests.factories.little_pack import TOOL_LIST, TOOLS, object_schema, tool
from tests.factories.registry import little_pack, little_version

LEND = ("lend", {"member_id": 1, "book_id": "bk-1"})
DRAW = ("draw", {})
SLOW = """
def wait(ctx, *, rounds):
    number = 0
    for round in range(rounds):
        number = (number * 31 + round) % 1000003
    return {"number": number}
"""


def verified(version):
    assert version.move(EnvironmentVersion.Status.VERIFIED)
    return version


@pytest.fixture
def version(db):
    return verified(little_version())


@pytest.fixture
def session(version, operator):
    return services.create_session(user=operator, version=version, scenario="small")


def play(session, *calls, **options):
    return services.call_session(session=session, calls=calls, **options)


def forget():
    """As in another process: nothing is kept."""
    for pk in list(sessions._kept._by_pk):
        sessions._kept.drop(pk)


def live_of(version, *calls, scenario="small"):
    """A session in memory after the same calls: what everything is compared with."""
    live = services.environment_of(version).open(scenario)
    live.calls(calls)
    return live


def fresh(session):
    return EnvironmentSession.objects.get(pk=session.pk)


# --- Restoring --------------------------------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 70])
def test_session_goes_on_alike_when_another_process_takes_it(session, version, count):
    calls = [(DRAW, LEND, ("get_book", {"book_id": "none"}), ("draw", {"count": "x"}))[i % 4] for i in range(count)]
    expected = live_of(version, *calls, DRAW)

    for call in calls:
        play(session, call)
    forget()
    (made,) = play(session, DRAW)

    assert made.observation == expected.transcript[-1].observation
    assert made.index == count
    assert services.session_snapshot(session=session).encode() == expected.snapshot()
    stored = fresh(session)
    assert stored.num_calls - stored.snapshot_calls < sessions.SNAPSHOT_CALLS


@pytest.mark.django_db
def test_batch_stores_the_snapshot_that_it_led_to(session, version):
    play(session, *[DRAW] * 40)

    stored = fresh(session)
    assert (stored.num_calls, stored.snapshot_calls) == (40, 40)
    assert stored.snapshot.encode() == live_of(version, *[DRAW] * 40).snapshot()


@pytest.mark.django_db
def test_kept_state_is_not_used_when_another_process_has_changed_the_row(session, version):
    play(session, DRAW)
    kept = sessions._kept._by_pk[session.pk].runtime
    other = fresh(session)
    live = live_of(version, DRAW)
    assert other.append([live.call("draw", {})])

    (made,) = play(session, DRAW)

    assert (made.index, made.observation) == (2, live.call("draw", {}).observation)
    assert sessions._kept._by_pk[session.pk].runtime is not kept


@pytest.mark.django_db
def test_reading_leaves_the_row_as_it_is(session, django_assert_max_num_queries):
    play(session, DRAW)
    before = EnvironmentSession.objects.values().get(pk=session.pk)

    with django_assert_max_num_queries(1):
        services.session_state(session=session)
    services.session_diff(session=session)
    services.session_snapshot(session=session)

    assert EnvironmentSession.objects.values().get(pk=session.pk) == before


@pytest.mark.django_db
def test_calls_that_failed_are_not_played_again(operator, monkeypatch):
    source = f"{TOOLS}\n\ndef fail(ctx):\n    raise ValueError\n\n\ndef spin(ctx):\n    while True:\n        pass\n"
    added = (tool("fail", "write", object_schema()), tool("spin", "write", object_schema()))
    spinning = verified(little_version(tools=(*TOOL_LIST, *added), tools_py=source, title="Spinning"))
    session = services.create_session(user=operator, version=spinning, scenario="small")
    made = play(session, DRAW, ("fail", {}), ("spin", {}), DRAW)
    assert [record.status for record in made] == [
        CallStatus.SUCCESS, CallStatus.FAILURE, CallStatus.INFRASTRUCTURE, CallStatus.SUCCESS,
    ]  # fmt: skip
    forget()
    again = []
    play_again = Session.calls
    monkeypatch.setattr(
        Session, "calls", lambda live, calls, **options: again.extend(calls) or play_again(live, calls, **options)
    )

    snapshot = services.session_snapshot(session=session)

    assert [name for name, _ in again] == ["draw", "draw"]
    assert snapshot.encode() == live_of(spinning, DRAW, DRAW).snapshot()


@pytest.mark.django_db
def test_session_stops_when_its_record_is_not_what_the_environment_says_and_reset_helps(session):
    record = dataclasses.replace(live_of(session.version, DRAW).transcript[0], observation='{"ticket":"forged"}')
    assert fresh(session).append([record])

    with pytest.raises(ReplayDiffersError, match="Call 0"):
        play(session, DRAW)
    assert fresh(session).num_calls == 1
    services.reset_session(session=session)
    assert play(session, DRAW)[0].index == 0


@pytest.mark.django_db
def test_session_stops_when_its_snapshot_no_longer_fits_and_restore_helps(session):
    start = services.session_snapshot(session=session)
    play(session, *[DRAW] * 32)
    EnvironmentSession.objects.update(snapshot=fresh(session).snapshot.replace("tickets", "nothing"))
    forget()

    with pytest.raises(ReplayDiffersError, match="does not fit"):
        play(session, DRAW)
    services.restore_snapshot(session=session, snapshot=start)
    assert play(session, DRAW)[0].index == 0


# --- One change at a time ---------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_nothing_is_stored_and_nothing_kept_when_the_database_fails(session, version, monkeypatch):
    play(session, LEND)

    def fail(*args, **options):
        raise DatabaseError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(EnvironmentSession, "append", fail)
        with pytest.raises(DatabaseError):
            play(session, DRAW)

    assert session.pk not in sessions._kept._by_pk
    assert play(session, DRAW)[0].index == 1
    assert services.session_snapshot(session=session).encode() == live_of(version, LEND, DRAW).snapshot()


@pytest.mark.django_db(transaction=True)
def test_changing_within_another_transaction_is_a_bug(session):
    with transaction.atomic(), pytest.raises(RuntimeError, match="durable"):
        play(session, DRAW)


@pytest.mark.django_db
def test_holder_over_mcp_keeps_others_out_and_loses_the_session_when_its_lease_ends(session):
    holder = fresh(session)
    assert holder.append([], leases=True)

    for change in (
        lambda: play(session, DRAW),
        lambda: services.reset_session(session=session),
        lambda: services.restore_snapshot(session=session, snapshot="{}"),
    ):
        with pytest.raises(SessionLeasedError):
            change()
    EnvironmentSession.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    play(session, DRAW)

    assert holder.append([]) is False


@pytest.mark.django_db
def test_episodes_before_are_kept(session):
    play(session, DRAW, DRAW)
    snapshot = services.session_snapshot(session=session)
    services.reset_session(session=session, scenario="empty", seed=3)
    play(session, DRAW)
    services.restore_snapshot(session=session, snapshot=json.dumps(json.loads(snapshot), indent=1))

    stored = fresh(session)
    assert (stored.episode, stored.scenario, stored.num_calls) == (2, "small", 0)
    assert stored.start_snapshot == snapshot, "in the worker's form, not the caller's"
    past = PastEpisode.objects.values_list("number", "scenario", "seed", "num_calls")
    assert list(past) == [(0, "small", None, 2), (1, "empty", 3, 1)]
    forget()
    assert services.session_snapshot(session=session) == snapshot
    assert read_transcript(services.session_transcript(session=stored)).start.snapshot.decode() == snapshot


@pytest.mark.django_db
@pytest.mark.parametrize("at", [0, 5, 31, 32, 39, 40, None])
def test_fork_has_the_state_of_its_calls(session, version, operator, at):
    play(session, *[DRAW] * 32)
    play(session, *[DRAW] * 8)

    fork = services.fork_session(session=session, user=operator, at=at)

    count = 40 if at is None else at
    expected = live_of(version, *[DRAW] * count)
    assert services.session_snapshot(session=fork).encode() == expected.snapshot()
    names = ("index", "observation", "changes", "at")
    theirs = list(session.calls.filter(index__lt=count).order_by("index").values_list(*names))
    assert list(fork.calls.order_by("index").values_list(*names)) == theirs
    play(fork, DRAW)
    assert fresh(session).num_calls == 40


@pytest.mark.django_db
def test_opening_is_checked(version, operator, viewer, settings):
    with pytest.raises(PermissionDeniedError):
        services.create_session(user=viewer, version=version, scenario="small")
    with pytest.raises(InvalidInputError, match="no scenario"):
        services.create_session(user=operator, version=version, scenario="x" * 1000)
    for seed in (2**53 + 1, -(2**63), 10**69):
        with pytest.raises(InvalidInputError, match="2\\^53"):
            services.create_session(user=operator, version=version, scenario="small", seed=seed)
    settings.SESSION_QUOTA = 1
    services.create_session(user=operator, version=version, scenario="small", seed=-(2**53))
    with pytest.raises(QuotaExceededError):
        services.create_session(user=operator, version=version, scenario="small")
    version.move(EnvironmentVersion.Status.RETIRED)
    with pytest.raises(NotVerifiedError):
        services.create_session(user=operator, version=version, scenario="small")


@pytest.mark.django_db
def test_closing_twice_is_harmless(session):
    services.close_session(session=session)
    first = session.closed_at

    services.close_session(session=session)

    assert session.closed_at == first
    with pytest.raises(SessionClosedError):
        play(session, DRAW)


# --- Parking and deleting ---------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_sweep_parks_the_idle_and_deletes_the_old(session, version, operator, settings):
    settings.SESSION_IDLE_SECONDS, settings.SESSION_KEEP_DAYS = 600, 7
    names = ("in use", "idle", "closed", "old", "another old")
    rows = {name: services.create_session(user=operator, version=version, scenario="small") for name in names}
    play(rows["old"], DRAW)
    services.reset_session(session=rows["old"])
    child = services.fork_session(session=rows["old"], user=operator)
    for name in ("closed", "old", "another old"):
        services.close_session(session=rows[name])
    now = timezone.now()
    EnvironmentSession.objects.filter(pk=rows["idle"].pk).update(
        used_at=now - timedelta(seconds=601), leased_until=now - timedelta(seconds=500)
    )
    old = [rows["old"].pk, rows["another old"].pk]
    EnvironmentSession.objects.filter(pk__in=old).update(closed_at=now - timedelta(days=8))

    for _ in range(2):
        tasks.sweep_sessions.apply(throw=True)

    left = {row.pk: row.status for row in EnvironmentSession.objects.all()}
    assert left == {
        session.pk: "open", rows["in use"].pk: "open", child.pk: "open", rows["idle"].pk: "parked",
        rows["closed"].pk: "closed",
    }  # fmt: skip
    assert fresh(rows["idle"]).leased_until is None
    assert fresh(child).forked_from is None
    assert not ToolCall.objects.filter(session__in=old).exists()


@pytest.mark.django_db
def test_old_sessions_are_deleted_in_portions(version, operator, monkeypatch):
    monkeypatch.setattr(sessions, "DELETED_AT_ONCE", 2)
    for _ in range(5):
        services.close_session(session=services.create_session(user=operator, version=version, scenario="small"))
    EnvironmentSession.objects.update(closed_at=timezone.now() - timedelta(days=100))

    assert services.delete_old_sessions() == 5
    assert not EnvironmentSession.objects.exists()


def test_sweep_is_started_by_beat(settings):
    assert settings.CELERY_BEAT_SCHEDULE["sweep-sessions"]["task"] == tasks.sweep_sessions.name


@pytest.mark.django_db(transaction=True)
def test_session_that_a_request_holds_is_not_parked(session):
    EnvironmentSession.objects.update(used_at=timezone.now() - timedelta(days=1))
    found = []

    def sweep():
        found.append(services.park_idle_sessions())
        connection.close()

    with transaction.atomic():
        sessions.lock_session(session)
        thread = threading.Thread(target=sweep)
        thread.start()
        thread.join(10)
        assert found == [0], "it neither parks nor waits"
    assert services.park_idle_sessions() == 1


# --- Many at once -----------------------------------------------------------------------------------------------------


def at_once(actions):
    """Runs them in threads of their own and returns what each gave or raised, in order."""
    barrier = threading.Barrier(len(actions))

    def run(action):
        barrier.wait(30)
        try:
            return action()
        except Exception as error:  # noqa: BLE001 - the test looks at it
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return [future.result(120) for future in [pool.submit(run, action) for action in actions]]


@pytest.mark.django_db(transaction=True)
def test_calls_of_one_session_queue_up_when_many_threads_make_them(session, version):
    def hammer():
        return [record for _ in range(5) for record in play(session, DRAW, ("get_book", {"book_id": "bk-1"}))]

    made = at_once([hammer] * 8)

    records = sorted((record for each in made for record in each), key=lambda record: record.index)
    assert [record.index for record in records] == list(range(80))
    expected = live_of(version, *[(record.tool, record.arguments) for record in records])
    assert [record.observation for record in records] == [record.observation for record in expected.transcript]
    assert services.session_snapshot(session=session).encode() == expected.snapshot()
    stored = [call.to_core() for call in session.calls.order_by("index")]
    assert [call.observation for call in stored] == [record.observation for record in records]


@pytest.mark.django_db(transaction=True)
def test_sessions_never_see_one_another_when_many_are_played_at_once(version, operator):
    rows = [
        services.create_session(user=operator, version=version, scenario="small", seed=number) for number in range(50)
    ]
    calls = [("join", {"name": str(number), "email": f"{number}@example.org"}) for number in range(50)]

    def hammer(first):
        for number in range(first, 50, 5):
            play(rows[number], calls[number], DRAW)
            play(rows[number], LEND)

    assert at_once([lambda first=first: hammer(first) for first in range(5)]) == [None] * 5

    for number, row in enumerate(rows):
        live = services.environment_of(version).open("small", number)
        live.calls([calls[number], DRAW, LEND])
        assert services.session_snapshot(session=row).encode() == live.snapshot()
        assert [call.observation for call in row.calls.order_by("index")] == [
            record.observation for record in live.transcript
        ]
        live.close()


@pytest.mark.django_db(transaction=True)
def test_last_place_is_taken_once_when_many_ask_for_it(version, operator, settings):
    settings.SESSION_QUOTA = 3
    other = UserFactory.create(role="operator")

    made = at_once(
        [lambda: services.create_session(user=operator, version=version, scenario="small")] * 8
        + [lambda: services.create_session(user=other, version=version, scenario="small")] * 2
    )

    assert sum(isinstance(each, QuotaExceededError) for each in made[:8]) == 5
    assert EnvironmentSession.objects.filter(user=operator).count() == 3
    assert EnvironmentSession.objects.filter(user=other).count() == 2


@pytest.mark.django_db(transaction=True)
def test_nothing_waits_for_ever_when_everything_is_done_at_once(session, version, operator):
    snapshot = services.session_snapshot(session=session)
    doomed = services.create_session(user=operator, version=version, scenario="small")
    usual = (SessionClosedError, SessionLeasedError)

    def often(action):
        def run():
            for _ in range(4):
                with contextlib.suppress(*usual):
                    action()

        return run

    actions = [
        lambda: play(session, DRAW),
        lambda: play(session, LEND, DRAW),
        lambda: services.reset_session(session=session),
        lambda: services.restore_snapshot(session=session, snapshot=snapshot),
        lambda: services.close_session(
            session=services.fork_session(session=session, user=operator)
        ),
        lambda: services.session_state(session=session),
        lambda: services.session_diff(session=session, since=snapshot),
        lambda: (services.park_idle_sessions(), services.delete_old_sessions()),
        lambda: play(doomed, DRAW),
        lambda: services.close_session(session=doomed),
    ]  # fmt: skip

    assert at_once([often(action) for action in actions]) == [None] * len(actions)

    stored = fresh(session)
    indices = list(session.calls.order_by("episode", "index").values_list("episode", "index"))
    for number in range(stored.episode + 1):
        found = [index for episode, index in indices if episode == number]
        past = stored.past_episode(number)
        assert found == list(range(stored.num_calls if past is None else past.num_calls))
    forget()
    play(session, DRAW)


# --- Lost workers -----------------------------------------------------------------------------------------------------


def worker_pids(version):
    runner = services.worker_pool().runner(b"", version.content_sha256)
    return [worker.process_id for worker in runner.workers]


@pytest.mark.django_db
def test_next_call_is_fine_when_the_worker_is_killed_between_calls(session, version):
    play(session, LEND)
    for pid in worker_pids(version):
        os.kill(pid, signal.SIGKILL)

    (made,) = play(session, DRAW)

    assert made.status is CallStatus.SUCCESS
    assert services.session_snapshot(session=session).encode() == live_of(version, LEND, DRAW).snapshot()


@pytest.mark.django_db(transaction=True)
def test_next_call_is_fine_when_the_worker_is_killed_in_the_middle_of_one(operator):
    added = tool("wait", "read", object_schema(("rounds",), rounds={"type": "integer"}))
    pack = little_pack(tools=(*TOOL_LIST, added), tools_py=TOOLS + SLOW, title="Slow")
    origin = EnvironmentVersion.Origin.UPLOADED
    version = verified(services.import_pack(pack=pack, origin=origin, user=None).version)
    session = services.create_session(user=operator, version=version, scenario="small")
    play(session, LEND)
    stop = threading.Event()

    def kill():
        """Again and again while the call runs: the sandbox tries a lost call once more by itself."""
        while not stop.wait(0.15):
            for pid in worker_pids(version):
                os.kill(pid, signal.SIGKILL)

    def call():
        try:
            return play(session, ("wait", {"rounds": 8_000_000}))
        finally:
            stop.set()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        (made,) = call()
    except SandboxFailedError:
        assert fresh(session).num_calls == 1, "nothing was stored"
    else:
        # SIGKILL is also how the kernel ends what takes too much memory, which would be the tool's fault.
        assert made.status in {CallStatus.INFRASTRUCTURE, CallStatus.FAILURE}
        assert fresh(session).num_calls == 2
    finally:
        stop.set()
        killer.join()
    services.worker_pool().release(version.content_sha256)

    assert play(session, DRAW)[0].status is CallStatus.SUCCESS
    assert services.session_snapshot(session=session).encode() == live_of(version, LEND, DRAW).snapshot()

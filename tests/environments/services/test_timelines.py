"""Timelines of real sessions against what the worker held; playing again, and forks beside their record."""

from typing import Any

import pytest

from environments import services
from environments.core.errors import (
    InvalidInputError,
    NotVerifiedError,
    PermissionDeniedError,
    QuotaExceededError,
    ReplayDiffersError,
)
from environments.core.timeline import START
from environments.models import EnvironmentSession, EnvironmentVersion, ToolCall, User
from environments.services import timelines
from environments.services.timelines import Episode
from tests.factories.sessions import add_calls, open_session, play_case, played_session

pytestmark = pytest.mark.django_db

SHIPPED = ["repair_cafe", "seed_bank", "tide_gauges"]


def episode_of(session: EnvironmentSession, number: int | None = None) -> Episode:
    session = EnvironmentSession.objects.select_related("version__environment", "forked_from").get(pk=session.pk)
    found = services.find_episode(session=session, number=number)
    assert found is not None
    return found


@pytest.fixture
def session(operator: User) -> EnvironmentSession:
    return played_session(operator)


class TestTimeline:
    @pytest.mark.parametrize("name", SHIPPED)
    def test_is_the_worker_s_state_after_every_call_of_a_shipped_pack(self, operator: User, name: str) -> None:
        session = open_session(operator, name)
        states = [services.session_state(session=session)]
        cases = [case for case in session.version.to_core().cases if case.scenario == session.scenario]
        for case in cases:
            states += [services.session_state(session=now) for now in play_case(session, case)]

        line = services.episode_timeline(episode=episode_of(session))

        assert len(states) > 70
        assert [line.state(at) for at in range(START, session.num_calls)] == states
        assert line.since_start(session.num_calls - 1) == services.session_diff(session=session)

    def test_starts_at_the_snapshot_when_the_episode_does(self, operator: User, session: EnvironmentSession) -> None:
        held = services.session_state(session=session)
        services.restore_snapshot(session=session, snapshot=services.session_snapshot(session=session))

        line = services.episode_timeline(episode=episode_of(session))

        assert line.state(START) == held
        assert line.num_steps == 0

    def test_knows_the_state_of_a_past_episode(self, session: EnvironmentSession) -> None:
        held, num_calls = services.session_state(session=session), session.num_calls
        services.reset_session(session=session)

        past, now = episode_of(session, 0), episode_of(session)

        assert (past.is_past, past.num_calls, now.num_calls) == (True, num_calls, 0)
        assert services.episode_timeline(episode=past).state(num_calls - 1) == held
        assert services.find_episode(session=now.session, number=7) is None

    def test_is_made_once_until_calls_are_added(self, session: EnvironmentSession) -> None:
        first = services.episode_timeline(episode=episode_of(session))

        again = services.episode_timeline(episode=episode_of(session))
        services.call_session(session=session, calls=[("no_such_tool", {})])
        later = services.episode_timeline(episode=episode_of(session))

        assert again is first
        assert later is not first
        assert later.num_steps == first.num_steps + 1

    def test_lets_old_ones_go_when_they_hold_too_much(
        self, session: EnvironmentSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept: Any = timelines._Kept(10, lambda text: len(text))
        for key, text in [("a", "12345"), ("b", "12345"), ("a", "never made"), ("c", "12345")]:
            kept.get(key, lambda text=text: text)

        assert kept.get("a", lambda: "made anew") == "12345"
        assert kept.get("b", lambda: "made anew") == "made anew"

    def test_says_that_the_record_is_suspect_when_changes_do_not_fit(self, session: EnvironmentSession) -> None:
        change = {"table": "nothing", "key": {"id": 1}, "kind": "insert", "before": None, "after": {"id": 1}}
        add_calls(session, ["{}"], changes=[change])

        with pytest.raises(ReplayDiffersError, match="suspect"):
            services.episode_timeline(episode=episode_of(session))


class TestReplayCheck:
    def test_says_that_all_is_the_same(self, session: EnvironmentSession) -> None:
        services.call_session(session=session, calls=[("no_such_tool", {})])

        check = services.check_replay(episode=episode_of(session))

        assert check.is_same
        assert 100 < check.num_played < check.num_calls

    def test_is_the_same_from_a_snapshot_on(self, session: EnvironmentSession) -> None:
        services.restore_snapshot(session=session, snapshot=services.session_snapshot(session=session))
        add_first_call(session)

        assert services.check_replay(episode=episode_of(session)).is_same
        assert services.check_replay(episode=episode_of(session, 0)).is_same

    def test_names_the_first_call_that_answers_otherwise(self, session: EnvironmentSession) -> None:
        first = session.transcript.filter(status="success")[0]
        add_calls(session, ['{"forged":1}', '{"forged":2}'], tool=first.tool, arguments=first.arguments)

        check = services.check_replay(episode=episode_of(session))

        assert check.difference is not None
        assert check.difference.index == session.num_calls - 2
        assert check.difference.recorded == '{"forged":1}'
        assert check.difference.made.startswith("{")

    def test_notices_an_end_that_is_not_the_recorded_one(self, session: EnvironmentSession) -> None:
        last = session.transcript.filter(status="success").exclude(changes=[]).last()
        assert last is not None
        change = {**last.changes[0], "kind": "delete", "before": {"x": 1}, "after": None}
        # A call that no tool is played for, and yet says that it changed something.
        add_calls(session, ["{}"], status="infrastructure", error_code="worker_lost", changes=[change])

        check = services.check_replay(episode=episode_of(session))

        assert check.difference is None
        assert not check.is_same

    def test_plays_nothing_of_a_version_in_quarantine(self, session: EnvironmentSession) -> None:
        assert session.version.move(EnvironmentVersion.Status.REJECTED, reason="suspect")

        with pytest.raises(NotVerifiedError):
            services.check_replay(episode=episode_of(session))


def add_first_call(session: EnvironmentSession) -> None:
    """Makes the first successful call of the past episode again."""
    first = session.calls.filter(status="success").order_by("episode", "index")[0]
    services.call_session(session=session, calls=[(first.tool, first.arguments)], audience=None)


class TestWhatIf:
    def edited(self, session: EnvironmentSession) -> ToolCall:
        """A write that later calls stand on."""
        call = session.transcript.filter(status="success").exclude(changes=[]).first()
        assert call is not None
        return call

    def test_leaves_the_record_and_compares_each_call_that_follows(
        self, operator: User, session: EnvironmentSession
    ) -> None:
        call = self.edited(session)
        before = list(session.calls.order_by("pk").values())
        fork = services.try_what_if(
            episode=episode_of(session), user=operator, index=call.index, arguments=call.arguments, goes_on=True
        )

        comparison = services.compare_with_record(episode=episode_of(fork))

        assert list(session.calls.order_by("pk").values()) == before
        assert fork.num_calls == session.num_calls
        assert comparison is not None
        assert set(comparison.words.values()) == {timelines.SAME}
        assert comparison.divergence is None
        difference = services.end_difference(episode=episode_of(fork))
        assert difference is not None
        assert difference.changes == ()

    def test_shows_where_it_departs_from_the_record(self, operator: User, session: EnvironmentSession) -> None:
        call = self.edited(session)
        assert call.tool == "add_species"
        fork = services.try_what_if(
            episode=episode_of(session), user=operator, index=call.index, goes_on=True,
            arguments={**call.arguments, "common_name": "Bluebell"},
        )  # fmt: skip

        comparison = services.compare_with_record(episode=episode_of(fork))
        difference = services.end_difference(episode=episode_of(fork))

        assert comparison is not None
        assert comparison.edited == comparison.first == call.index
        assert comparison.words[call.index] == timelines.EDITED
        assert difference is not None
        assert [(change.table, change.after) for change in difference.changes] == [
            ("species", {"common_name": "Bluebell"})
        ]
        assert services.recorded_call(episode=episode_of(fork), index=call.index, characters=9) == call
        assert services.recorded_call(episode=episode_of(fork), index=0, characters=9) is None

    def test_plays_only_the_edited_call_unless_told_to_go_on(self, operator: User, session: EnvironmentSession) -> None:
        fork = services.try_what_if(
            episode=episode_of(session), user=operator, index=1, arguments=session.transcript[1].arguments
        )

        assert fork.num_calls == 2
        assert services.end_difference(episode=episode_of(fork)) == timelines.EndDifference(1, ())

    def test_forks_from_a_past_episode(self, operator: User, session: EnvironmentSession) -> None:
        num_calls = session.num_calls
        services.reset_session(session=session)

        fork = services.try_what_if(
            episode=episode_of(session, 0), user=operator, index=0, goes_on=True,
            arguments=session.calls.get(episode=0, index=0).arguments,
        )  # fmt: skip

        assert fork.num_calls == num_calls
        comparison = services.compare_with_record(episode=episode_of(fork))
        assert comparison is not None
        assert comparison.count(timelines.SAME) == num_calls

    def test_marks_calls_that_the_record_has_not(self, operator: User, session: EnvironmentSession) -> None:
        fork = services.fork_session(session=session, user=operator)
        services.call_session(session=fork, calls=[("no_such_tool", {})])

        comparison = services.compare_with_record(episode=episode_of(fork))

        assert comparison is not None
        assert comparison.words == {session.num_calls: timelines.ADDED}
        assert comparison.num_compared == 0
        assert services.compare_with_record(episode=episode_of(session)) is None

    def test_says_by_pointer_what_does_not_fit_and_forks_nothing(
        self, operator: User, session: EnvironmentSession
    ) -> None:
        call = self.edited(session)
        for arguments, pointer in [({**call.arguments, "no_such": 1}, ""), ({"a": "\x00"}, "/a")]:
            with pytest.raises(InvalidInputError) as found:
                services.try_what_if(episode=episode_of(session), user=operator, index=call.index, arguments=arguments)
            assert pointer in {fault.pointer for fault in found.value.fields}
        with pytest.raises(InvalidInputError):
            services.try_what_if(episode=episode_of(session), user=operator, index=9999, arguments={})

        assert EnvironmentSession.objects.count() == 1

    def test_closes_the_fork_when_it_cannot_be_played(self, operator: User, session: EnvironmentSession) -> None:
        first = session.transcript.filter(status="success")[0]
        add_calls(session, ['{"forged":1}', "{}"], tool=first.tool, arguments=first.arguments)

        with pytest.raises(ReplayDiffersError):
            services.try_what_if(
                episode=episode_of(session), user=operator, index=session.num_calls - 1, arguments=first.arguments
            )

        assert EnvironmentSession.objects.latest("pk").status == EnvironmentSession.Status.CLOSED

    def test_needs_the_permission_and_a_free_place(
        self, operator: User, viewer: User, session: EnvironmentSession, settings: Any
    ) -> None:
        settings.SESSION_QUOTA = 1
        arguments = session.transcript[0].arguments

        with pytest.raises(QuotaExceededError):
            services.try_what_if(episode=episode_of(session), user=operator, index=0, arguments=arguments)
        with pytest.raises(PermissionDeniedError):
            services.try_what_if(episode=episode_of(session), user=viewer, index=0, arguments=arguments)

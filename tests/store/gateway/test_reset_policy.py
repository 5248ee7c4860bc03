"""Reset policies as functions of time: idle, daily, zones, clocks that jump, clocks set back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes_store.config.settings import GatewayConfig, ResetPolicy
from hermes_store.errors import ConfigError
from hermes_store.gateway.reset_policy import ResetReason, due, last_boundary, policy_for, zone_of

BERLIN = ZoneInfo("Europe/Berlin")
# Changes at 2:00 and at midnight, by half an hour, over a whole day, and never.
ZONES = [
    ZoneInfo(name)
    for name in ("Europe/Berlin", "America/New_York", "America/Havana", "Africa/Cairo",
                 "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu",
                 "America/St_Johns", "UTC")
]  # fmt: skip
MOMENTS = st.datetimes(datetime(2005, 1, 1), datetime(2037, 12, 31)).map(
    lambda moment: moment.replace(tzinfo=UTC).timestamp()
)
HOURS = st.integers(0, 23)
POLICIES = st.builds(
    ResetPolicy,
    mode=st.sampled_from(["idle", "daily", "both", "none"]),
    idle_minutes=st.integers(1, 100_000),
    at_hour=HOURS,
)


def at(text: str, zone: ZoneInfo = BERLIN) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()


def daily(hour: int = 4) -> ResetPolicy:
    return ResetPolicy(mode="daily", at_hour=hour)


@settings(deadline=None)
@given(MOMENTS, HOURS, st.sampled_from(ZONES))
@example(datetime(2011, 12, 30, 12, tzinfo=UTC).timestamp(), 4, ZoneInfo("Pacific/Apia"))
@example(datetime(2026, 3, 29, 1, tzinfo=UTC).timestamp(), 2, BERLIN)
@example(datetime(2024, 2, 29, 12, tzinfo=UTC).timestamp(), 0, BERLIN)
@example(datetime(2026, 11, 1, 5, tzinfo=UTC).timestamp(), 0, ZoneInfo("America/Havana"))
def test_the_boundary_is_the_last_time_the_clock_showed_the_hour(
    now: float, hour: int, zone: ZoneInfo
) -> None:
    found = last_boundary(now, hour, zone)
    # A zone that left out a whole day has its boundaries two days apart once.
    assert 0 <= now - found < 49 * 3600
    shown = datetime.fromtimestamp(found, zone)
    if shown.hour != hour:
        # An hour that was left out: just before it, the clock showed an earlier one.
        before = datetime.fromtimestamp(found - 3601, zone)
        assert shown.utcoffset() != before.utcoffset()
    assert (shown.minute, shown.second) in ((0, 0), (30, 0))
    # No later moment up to now qualifies, by walking there hour by hour.
    for step in range(1, int((now - found) // 3600) + 1):
        later = datetime.fromtimestamp(found + step * 3600, zone)
        again = later.date() == shown.date() and later.hour == hour
        assert later.hour != hour or again or later.minute


@settings(deadline=None)
@given(MOMENTS, HOURS, st.sampled_from(ZONES), st.integers(0, 400 * 86_400))
def test_boundaries_never_go_back(now: float, hour: int, zone: ZoneInfo, more: int) -> None:
    found = last_boundary(now, hour, zone)
    assert last_boundary(now + more, hour, zone) >= found
    assert last_boundary(found, hour, zone) == found
    assert last_boundary(found - 1, hour, zone) < found


@settings(deadline=None)
@given(POLICIES, MOMENTS, st.floats(0, 400 * 86_400), st.sampled_from(ZONES))
def test_due_is_what_the_policy_says(
    policy: ResetPolicy, last: float, passed: float, zone: ZoneInfo
) -> None:
    now = last + passed
    idle = policy.mode in ("idle", "both") and passed > policy.idle_minutes * 60
    crossed = policy.mode in ("daily", "both") and last < last_boundary(now, policy.at_hour, zone)
    found = due(policy, last, now, zone)
    assert (found is not None) == (idle or crossed)
    if found is not None:
        assert found is (ResetReason.IDLE if idle else ResetReason.DAILY)


@settings(deadline=None)
@given(POLICIES, MOMENTS, st.floats(0, 400 * 86_400), st.sampled_from(ZONES))
def test_a_clock_that_goes_back_makes_nothing_due(
    policy: ResetPolicy, last: float, back: float, zone: ZoneInfo
) -> None:
    assert due(policy, last, last - back, zone) is None


@settings(deadline=None)
@given(POLICIES, MOMENTS, st.floats(0, 86_400), st.floats(0, 86_400), st.sampled_from(ZONES))
def test_what_is_due_stays_due(
    policy: ResetPolicy, last: float, passed: float, more: float, zone: ZoneInfo
) -> None:
    if due(policy, last, last + passed, zone) is not None:
        assert due(policy, last, last + passed + more, zone) is not None


def test_idle_is_real_time_over_a_change_of_clocks() -> None:
    policy = ResetPolicy(mode="idle", idle_minutes=60)
    # 1:30 to 3:15 on the wall, but only 45 minutes.
    assert due(policy, at("2026-03-29T01:30"), at("2026-03-29T03:15"), BERLIN) is None
    # 2:30 to 2:45 on the wall, but 75 minutes.
    first = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)
    second = datetime(2026, 10, 25, 2, 45, fold=1, tzinfo=BERLIN)
    assert due(policy, first.timestamp(), second.timestamp(), BERLIN) is ResetReason.IDLE


def test_idle_ends_after_not_at_the_minute() -> None:
    policy = ResetPolicy(mode="idle", idle_minutes=1)
    assert due(policy, 1000.0, 1060.0) is None
    assert due(policy, 1000.0, 1060.001) is ResetReason.IDLE


def test_an_hour_that_is_left_out_counts_when_clocks_jump() -> None:
    jump = datetime(2026, 3, 29, 1, tzinfo=UTC).timestamp()
    assert last_boundary(jump + 1, 2, BERLIN) == jump
    assert due(daily(2), jump - 60, jump, BERLIN) is ResetReason.DAILY
    assert due(daily(2), jump - 60, jump - 1, BERLIN) is None


def test_an_hour_that_comes_twice_counts_once() -> None:
    first = datetime(2026, 10, 25, 0, tzinfo=UTC).timestamp()
    assert last_boundary(first + 10, 2, BERLIN) == first
    assert due(daily(2), first + 60, first + 3700, BERLIN) is None
    days = [first + day * 86_400 + 3600 * (day > 0) for day in (-1, 0, 1)]
    assert [last_boundary(day + 5, 2, BERLIN) for day in days] == days


def test_a_clock_that_goes_back_over_midnight_was_past_it() -> None:
    """In Newfoundland, until 2011, one minute after midnight clocks went back to 23:01."""
    zone = ZoneInfo("America/St_Johns")
    midnight = datetime(2010, 11, 7, 2, 30, tzinfo=UTC).timestamp()
    assert datetime.fromtimestamp(midnight + 900, zone).day == 6
    assert last_boundary(midnight + 900, 0, zone) == midnight
    assert last_boundary(midnight + 7200, 0, zone) == midnight
    assert due(daily(0), midnight + 900, midnight + 7200, zone) is None


def test_every_day_has_one_boundary_over_leap_day_and_new_year() -> None:
    for start in (datetime(2024, 2, 27), datetime(2025, 12, 30), datetime(2028, 2, 28)):
        noons = [(start + timedelta(days=day)).replace(hour=12, tzinfo=BERLIN) for day in range(4)]
        found = [last_boundary(noon.timestamp(), 4, BERLIN) for noon in noons]
        assert [b - a for a, b in pairwise(found)] == [86_400.0] * 3


def test_the_zone_decides() -> None:
    last, now = at("2026-06-01T03:00"), at("2026-06-01T05:00")
    assert due(daily(), last, now, BERLIN) is ResetReason.DAILY
    assert due(daily(), last, now, ZoneInfo("America/New_York")) is None


def test_the_platform_counts_before_the_kind_and_that_before_the_rest() -> None:
    telegram, group = ResetPolicy(mode="none"), ResetPolicy(mode="daily")
    config = GatewayConfig(reset_by_platform={"telegram": telegram}, reset_by_type={"group": group})
    assert policy_for(config, "telegram", "group") is telegram
    assert policy_for(config, "discord", "group") is group
    assert policy_for(config, "discord", "dm") == ResetPolicy()


def test_a_zone_that_does_not_exist_is_a_sentence() -> None:
    assert zone_of(GatewayConfig()) is None
    assert zone_of(GatewayConfig(timezone="Europe/Berlin")) == BERLIN
    for name in ("Mars/Base", "../etc/passwd", "Europe"):
        with pytest.raises(ConfigError, match=r"gateway\.timezone: '.*' is not a time zone"):
            zone_of(GatewayConfig(timezone=name))

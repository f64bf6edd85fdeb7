"""Who may act: the token, the time between two wrong ones, names, and how long a visit lasts."""

from __future__ import annotations

import pytest

from joinery.ui.access import Door, SignInError, TokenError

TOKEN = "a token of many characters"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(clock: Clock) -> Door:
    return Door(TOKEN, clock)


def refused(door: Door, token: str = "wrong", name: str = "Ada") -> SignInError:
    with pytest.raises(SignInError) as refusal:
        door.sign_in(token, name)
    return refusal.value


def test_who_has_the_token_is_known_by_the_name_they_typed(door: Door) -> None:
    visit = door.visit(door.sign_in(TOKEN, "  Ada   Abel "))

    assert visit is not None
    assert "Ada Abel" == visit.name
    assert visit.by.startswith("Ada Abel (page of ")


def test_a_cookie_that_was_not_given_is_nobodys(door: Door) -> None:
    door.sign_in(TOKEN, "Ada")

    assert [None, None, None] == [door.visit(each) for each in ("", "x", TOKEN)]


@pytest.mark.parametrize("token", ["", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "é\udcff"])
def test_any_other_token_is_refused(door: Door, token: str) -> None:
    assert refused(door, token).wrong


def test_each_wrong_token_doubles_the_time_until_the_next_try(door: Door, clock: Clock) -> None:
    waits = []
    for _ in range(7):
        waits.append(refused(door).wait_s)
        clock.now += waits[-1]

    assert [1, 2, 4, 8, 16, 30, 30] == waits


def test_until_then_the_right_token_is_refused_too(door: Door, clock: Clock) -> None:
    refused(door)
    clock.now += 0.9
    early = refused(door, TOKEN)
    clock.now += 0.1

    assert (False, 1) == (early.wrong, early.wait_s)
    assert door.visit(door.sign_in(TOKEN, "Ada")) is not None


def test_a_try_that_comes_too_early_makes_no_later_one_wait_longer(
    door: Door, clock: Clock
) -> None:
    refused(door)
    for _ in range(50):
        refused(door)
    clock.now += 1

    assert 2 == refused(door).wait_s


def test_wrong_tokens_of_long_ago_are_forgiven(door: Door, clock: Clock) -> None:
    for _ in range(5):
        clock.now += refused(door).wait_s
    clock.now += 1000

    assert 1 == refused(door).wait_s


@pytest.mark.parametrize("name", ["", "   ", "a" * 61, "a\x00b", "\u202etxet", "a\x1b[2Jb"])
def test_a_name_that_would_not_be_seen_in_a_log_is_refused(door: Door, name: str) -> None:
    refusal = refused(door, TOKEN, name)

    assert (False, 0) == (refusal.wrong, refusal.wait_s)


def test_a_visit_ends_after_twelve_hours(door: Door, clock: Clock) -> None:
    cookie = door.sign_in(TOKEN, "Ada")
    clock.now = 12 * 3600 - 1
    assert door.visit(cookie) is not None
    clock.now += 1

    assert door.visit(cookie) is None


def test_a_visit_ends_with_signing_out(door: Door) -> None:
    mine, other = door.sign_in(TOKEN, "Ada"), door.sign_in(TOKEN, "Ben")

    door.sign_out(mine)

    assert door.visit(mine) is None
    assert door.visit(other) is not None


def test_a_thousand_visits_are_remembered(door: Door) -> None:
    cookies = [door.sign_in(TOKEN, "Ada") for _ in range(1001)]

    assert door.visit(cookies[0]) is None
    assert all(door.visit(each) is not None for each in cookies[1:])


def test_a_form_is_of_one_visit(door: Door) -> None:
    mine, other = (door.visit(door.sign_in(TOKEN, name)) for name in ("Ada", "Ben"))

    assert mine is not None
    assert other is not None
    assert mine.owns(mine.form)
    assert not mine.owns(other.form)
    assert not mine.owns("")


def test_a_token_is_made_where_none_is_given_and_is_long() -> None:
    one, other = Door().token, Door().token

    assert one != other
    assert len(one) >= 40


def test_a_short_token_is_refused_and_not_told() -> None:
    with pytest.raises(TokenError) as refusal:
        Door("secret")

    told = f"{refusal.value.message} {refusal.value.detail} {refusal.value.hint}"
    assert "fewer than 16" in told
    assert "secret" not in told

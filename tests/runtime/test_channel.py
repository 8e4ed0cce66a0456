"""Channel and Fanout: bounded, a sender that never waits, receivers that end with their job."""

from __future__ import annotations

import asyncio
import os
import threading
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concurrency_gate.runtime.channel import Channel, ChannelClosed, Fanout, WhenFull
from concurrency_gate.runtime.errors import JobTimeout, Refused, Stopping
from concurrency_gate.runtime.job import job_scope

from .threads import in_thread, until

T = TypeVar("T")

OUTCOMES = {"refuse": [1, 2], "drop_new": [1, 2], "drop_old": [2, 3]}


def asleep(channel: Channel[T], receivers: int = 1) -> None:
    """Return when so many receivers sleep in the channel."""
    until(lambda: len(channel._sleepers) >= receivers, "receivers asleep")


@pytest.mark.parametrize("full", OUTCOMES)
def test_a_full_channel_does_what_was_declared(full: WhenFull) -> None:
    channel: Channel[int] = Channel(2, full=full)
    assert channel.send_nowait(1)
    assert channel.send_nowait(2)
    if full == "refuse":
        with pytest.raises(Refused, match="holds 2 items"):
            channel.send_nowait(3)
    else:
        assert channel.send_nowait(3) == (full == "drop_old")
    assert channel.dropped == (full != "refuse")
    channel.close()
    assert list(channel) == OUTCOMES[full]


@given(
    st.sampled_from(sorted(OUTCOMES)),
    st.integers(1, 4),
    st.lists(st.one_of(st.none(), st.integers()), max_size=30),
)
def test_nothing_is_lost_uncounted_and_order_is_kept(
    full: WhenFull, maxsize: int, steps: list[int | None]
) -> None:
    """None receives, a number is sent. Against a list that is told the same."""
    channel: Channel[int] = Channel(maxsize, full=full)
    model: list[int] = []
    dropped = refused = 0
    for step in steps:
        if step is None:
            if model:
                assert channel.receive(timeout=0) == model.pop(0)
            else:
                with pytest.raises(TimeoutError):
                    channel.receive(timeout=0)
        elif len(model) < maxsize:
            assert channel.send_nowait(step)
            model.append(step)
        elif full == "refuse":
            with pytest.raises(Refused):
                channel.send_nowait(step)
            refused += 1
        else:
            assert channel.send_nowait(step) == (full == "drop_old")
            dropped += 1
            if full == "drop_old":
                model = [*model[1:], step]
        assert len(channel) == len(model) <= maxsize
        assert channel.dropped == dropped


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"maxsize": 0}, "maxsize must be an integer from 1"),
        ({"maxsize": 1, "full": "wait"}, "full must be 'refuse', 'drop_new' or 'drop_old'"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Channel(**arguments)  # type: ignore[arg-type]


def test_a_sleeping_thread_gets_the_item() -> None:
    channel: Channel[str] = Channel(1)
    received = in_thread(channel.receive)
    asleep(channel)
    channel.send_nowait("news")
    assert received.result(5) == "news"


@pytest.mark.parametrize("event", ["send", "close"])
def test_what_comes_between_looking_and_falling_asleep_wakes(event: str) -> None:
    channel: Channel[str] = Channel(1)
    falling_asleep, _ = next(channel._receiving(None))
    if event == "send":
        channel.send_nowait("news")
    else:
        channel.close()
    woken: list[bool] = []
    withdraw = falling_asleep(lambda: woken.append(True))
    assert woken
    withdraw()
    assert not channel._sleepers


def test_a_sleeping_task_gets_the_item_from_another_thread() -> None:
    channel: Channel[str] = Channel(1)
    received = in_thread(lambda: asyncio.run(channel.receive_async()))
    asleep(channel)
    channel.send_nowait("news")
    assert received.result(5) == "news"


def test_threads_and_tasks_share_the_items_without_loss_or_double() -> None:
    channel: Channel[int] = Channel(3000)

    def thread() -> list[int]:
        return list(channel)

    async def task() -> list[int]:
        return [item async for item in channel]

    receivers = [
        *(in_thread(thread) for _ in range(3)),
        *(in_thread(lambda: asyncio.run(task())) for _ in range(3)),
    ]
    for number in range(3000):
        channel.send_nowait(number)
    channel.close()
    assert sorted(item for receiver in receivers for item in receiver.result(10)) == list(range(3000))


def test_a_receiver_that_is_cancelled_takes_no_item_and_no_wakeup_with_it() -> None:
    channel: Channel[str] = Channel(1)

    async def main() -> str:
        gone = asyncio.create_task(channel.receive_async())
        waiting = asyncio.create_task(channel.receive_async())
        await asyncio.to_thread(asleep, channel, 2)
        gone.cancel()
        channel.send_nowait("news")
        return await waiting

    assert asyncio.run(main()) == "news"
    assert not channel._sleepers


def test_closing_lets_receivers_have_the_rest_and_then_ends_them() -> None:
    channel: Channel[int] = Channel(5)
    sleeping = in_thread(lambda: list(channel))
    asleep(channel)
    with channel:
        channel.send_nowait(1)
        channel.send_nowait(2)
    assert sleeping.result(5) == [1, 2]
    with pytest.raises(ChannelClosed):
        channel.receive()
    with pytest.raises(ChannelClosed):
        channel.send_nowait(3)


@pytest.mark.parametrize("how", ["thread", "task"])
def test_stop_ends_a_sleeping_receiver(how: str) -> None:
    channel: Channel[int] = Channel(1)
    with job_scope("receive", timeout=60) as job:
        if how == "thread":
            receiver = in_thread(channel.receive)
        else:
            receiver = in_thread(lambda: asyncio.run(channel.receive_async()))
        asleep(channel)
        job.stop("shutdown")
        with pytest.raises(Stopping, match="shutdown"):
            receiver.result(5)
    assert not channel._sleepers


def test_a_receiver_ends_with_its_jobs_deadline_or_its_own_timeout_and_says_which() -> None:
    channel: Channel[int] = Channel(1)
    with job_scope("receive", timeout=0.02), pytest.raises(JobTimeout):
        channel.receive(timeout=60)
    with pytest.raises(TimeoutError) as own:
        channel.receive(timeout=0.02)
    assert not isinstance(own.value, JobTimeout)
    with pytest.raises(TimeoutError):
        asyncio.run(channel.receive_async(timeout=0.02))


def test_a_stopped_receiver_stops_although_items_keep_coming() -> None:
    channel: Channel[int] = Channel(5)
    channel.send_nowait(1)
    with job_scope("receive", timeout=60) as job:
        job.stop()
        with pytest.raises(Stopping):
            channel.receive()


def test_a_forked_child_begins_with_an_empty_channel() -> None:
    channel: Channel[int] = Channel(5)
    channel.send_nowait(1)
    with channel._lock:  # held by a thread at the moment of the fork, as it may be
        child = os.fork()
        if child == 0:
            channel.send_nowait(7)
            os._exit(channel.receive())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert channel.receive() == 1


def test_drops_are_logged_without_filling_the_log(caplog: pytest.LogCaptureFixture) -> None:
    channel: Channel[int] = Channel(1, full="drop_new", name="events")
    for number in range(1001):
        channel.send_nowait(number)
    assert channel.dropped == 1000
    fields = [record.concurrency for record in caplog.records]  # type: ignore[attr-defined]
    assert fields == [{"channel": "events", "dropped": 2**power} for power in range(10)]


def test_a_slow_receiver_holds_up_neither_the_sender_nor_the_others() -> None:
    fanout: Fanout[int] = Fanout(maxsize=10)
    with fanout.subscribe() as slow, fanout.subscribe() as quick:
        for number in range(100):
            assert fanout.publish(number) == 2
            assert quick.receive() == number
        assert slow.dropped == 90
        assert quick.dropped == 0
        assert [slow.receive() for _ in range(10)] == list(range(90, 100))


def test_a_slow_receiver_may_be_disconnected_instead() -> None:
    fanout: Fanout[int] = Fanout(maxsize=2, slow="disconnect")
    slow, quick = fanout.subscribe(), fanout.subscribe()
    for number in range(3):
        fanout.publish(number)
        assert quick.receive() == number
    assert list(slow) == [0, 1]
    assert slow.closed
    assert len(fanout) == 1
    assert fanout.publish(3) == 1


def test_receivers_are_bounded_and_leaving_makes_room() -> None:
    fanout: Fanout[int] = Fanout(max_receivers=2)
    with fanout.subscribe():
        staying = fanout.subscribe()
        with pytest.raises(Refused, match="2 receivers"):
            fanout.subscribe()
    fanout.subscribe()
    fanout.publish(1)
    assert staying.receive() == 1


def test_closing_a_fanout_ends_every_receiver() -> None:
    fanout: Fanout[int] = Fanout()
    channels = [fanout.subscribe() for _ in range(3)]
    fanout.publish(1)
    fanout.close()
    assert [list(channel) for channel in channels] == [[1]] * 3
    assert fanout.publish(2) == 0
    with pytest.raises(ChannelClosed):
        fanout.subscribe()


def test_publishing_while_receivers_come_and_go_is_safe() -> None:
    fanout: Fanout[int] = Fanout(max_receivers=100)
    over = threading.Event()

    def come_and_go() -> int:
        visits = 0
        while not over.is_set():
            with fanout.subscribe():
                visits += 1
        return visits

    visitors = [in_thread(come_and_go) for _ in range(3)]
    with fanout.subscribe() as constant:
        for number in range(2000):
            fanout.publish(number)
            assert constant.receive() == number
    over.set()
    assert all(visitor.result(5) > 0 for visitor in visitors)
    assert len(fanout) == 0

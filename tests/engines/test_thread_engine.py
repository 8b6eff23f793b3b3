"""The thread engine: results, order of work, the clock and Ctrl-C, with fake tasks that watch the stop flag."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from taxolearn.engines import Clock, Outcome, ThreadEngine, interrupts, running, worker_count
from taxolearn.errors import DataError

PATIENCE = 60.0  # seconds: only a broken engine waits this long


@pytest.fixture
def real_ctrl_c() -> Iterator[None]:
    """Python's own SIGINT handler, whatever the runner has installed."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


def until_stopped(clock: Clock) -> bool:
    """What a long kernel does: work until the flag is set."""
    end = time.monotonic() + PATIENCE
    while clock.stop[0] == 0:
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


def echo(shared, task, clock):
    return task


def test_a_bare_engine_answers_to_the_clock_it_is_given():
    seen = []
    with ThreadEngine(2) as engine:
        assert (
            engine.map(echo, None, [1, 2, 3], Clock(), lambda *pair: seen.append(pair)) is Outcome.COMPLETED
        )
        stopped = Clock()
        stopped.stop[0] = 1
        assert engine.map(echo, None, [4, 5, 6, 7], stopped, lambda *_: None) is Outcome.INTERRUPTED
    assert sorted(seen) == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_every_task_gives_one_result(n_jobs):
    results = {}
    main = threading.get_ident()
    workers = set()

    def work(shared, x, clock):
        workers.add(threading.get_ident())
        return shared * x * x

    def keep(task, result):
        assert threading.get_ident() == main  # callbacks need no locks
        results[task] = result

    with ThreadEngine(n_jobs) as engine, running(engine) as run:
        found = run.map(work, 10, list(range(20)), keep)
    assert run.outcome is Outcome.COMPLETED
    assert found == [10 * x * x for x in range(20)]  # in the order of the tasks
    assert results == {x: 10 * x * x for x in range(20)}
    assert main not in workers
    assert len(workers) <= n_jobs


def test_one_pool_serves_all_maps_of_an_engine():
    threads = set()
    with ThreadEngine(2) as engine:
        for _ in range(20):
            with running(engine) as run:
                run.map(lambda shared, task, clock: threads.add(threading.current_thread()), None, [1, 2])
        assert len(threads) <= 2
    assert not any(thread.is_alive() for thread in threads)


def test_light_tasks_run_in_the_calling_thread():
    with running() as run:
        assert run.map(lambda *_: threading.get_ident(), None, [1], light=True) == [threading.get_ident()]
    with running(max_seconds=1e-9) as run:
        seen = []
        assert run.map(echo, None, [1, 2], lambda task, _: seen.append(task), light=True) == [None, None]
        assert run.outcome is Outcome.TIME_LIMIT
    assert seen == []


def test_one_worker_keeps_the_order_and_no_tasks_are_fine():
    seen = []
    with running() as run:
        run.map(echo, None, [3, 1, 2], lambda task, _: seen.append(task))
        assert seen == [3, 1, 2]
        assert run.map(echo, None, []) == []
        assert run.outcome is Outcome.COMPLETED


def test_two_workers_work_at_the_same_time():
    both = threading.Barrier(2, timeout=PATIENCE)
    with ThreadEngine(2) as engine, running(engine) as run:
        run.map(lambda *_: both.wait(), None, [0, 1])
        assert run.outcome is Outcome.COMPLETED


def test_time_limit_stops_the_running_and_drops_the_waiting():
    results = []
    with running(max_seconds=0.05) as run:
        found = run.map(
            lambda shared, task, clock: until_stopped(clock),
            None,
            ["a", "b", "c"],
            lambda *pair: results.append(pair),
        )
    assert run.outcome is Outcome.TIME_LIMIT
    assert results == [("a", True)]  # what it had was kept
    assert found == [True, None, None]
    assert run.clock.stop[0] == 1
    assert run.clock.seconds >= 0.05
    assert run.over()


def test_a_limit_that_passes_with_the_last_result_is_no_limit():
    seen = []
    with running(max_seconds=1e-9) as run:
        run.map(echo, None, [1])
        assert run.outcome is Outcome.COMPLETED
        run.map(echo, None, [1, 2], lambda task, _: seen.append(task))
    assert run.outcome is Outcome.TIME_LIMIT
    assert seen == [1]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("real_ctrl_c")
def test_ctrl_c_stops_the_running_and_drops_the_waiting(n_jobs):
    ready = threading.Barrier(n_jobs, timeout=PATIENCE)
    results = []

    def work(shared, task, clock):
        if ready.wait() == 0:
            time.sleep(0.3)  # all workers run: by now the engine waits for them
            os.kill(os.getpid(), signal.SIGINT)
        return until_stopped(clock)

    with ThreadEngine(n_jobs) as engine, running(engine) as run:
        run.map(work, None, list(range(n_jobs + 3)), lambda *pair: results.append(pair))
    assert run.outcome is Outcome.INTERRUPTED
    assert sorted(results) == [(task, True) for task in range(n_jobs)]


def test_an_interrupt_in_a_callback_keeps_what_the_others_return():
    results = []

    def work(shared, task, clock):
        return "quick" if task == "first" else until_stopped(clock)

    def keep(task, result):
        results.append((task, result))
        if task == "first":
            raise KeyboardInterrupt

    with ThreadEngine(2) as engine, running(engine) as run:
        run.map(work, None, ["first", "second", "third"], keep)
    assert run.outcome is Outcome.INTERRUPTED
    assert results == [("first", "quick"), ("second", True)]


def test_a_second_interrupt_leaves():
    def keep(task, result):
        raise KeyboardInterrupt

    def work(shared, task, clock):
        if clock.stop[0] == 0:
            return task
        raise AssertionError("dropped tasks must not run")

    with running() as run:
        run.map(work, None, [1, 2], keep)
    assert run.outcome is Outcome.INTERRUPTED
    with ThreadEngine(2) as engine, running(engine) as run, pytest.raises(KeyboardInterrupt):
        run.map(lambda shared, task, clock: task == "a" or until_stopped(clock), None, ["a", "b"], keep)


def test_an_interrupt_after_the_time_is_over_is_an_interrupt():
    calls = []

    def keep(task, result):
        calls.append(result)
        raise KeyboardInterrupt

    with running(max_seconds=0.01) as run:
        run.map(lambda shared, task, clock: until_stopped(clock), None, [1, 2], keep)
    assert run.outcome is Outcome.INTERRUPTED
    assert calls == [True]


def test_an_error_in_a_task_reaches_the_caller():
    def work(shared, task, clock):
        if task == 2:
            raise ValueError("task two")
        return task

    with running() as run, pytest.raises(ValueError, match="task two"):
        run.map(work, None, [1, 2, 3])


def test_an_error_stops_the_other_workers():
    stopped = []

    def work(shared, task, clock):
        if task == "bad":
            raise ValueError("bad task")
        stopped.append(until_stopped(clock))

    with ThreadEngine(2) as engine, running(engine) as run, pytest.raises(ValueError, match="bad task"):
        run.map(work, None, ["good", "bad"])
    assert stopped == [True]


def test_worker_counts():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert worker_count(None) == 1
    assert worker_count(np.int64(3)) == 3
    assert worker_count(-1) == cores
    assert worker_count(-2) == max(1, cores - 1)
    assert worker_count(-1000) == 1
    assert ThreadEngine(2).n_workers == 2


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
def test_a_bad_number_of_jobs_is_named(n_jobs):
    with pytest.raises(DataError, match="n_jobs must be a non-zero integer"):
        worker_count(n_jobs)


@pytest.mark.usefixtures("real_ctrl_c")
def test_ctrl_c_while_a_thread_is_being_started_leaves_no_thread_behind(monkeypatch):
    before = set(threading.enumerate())
    start = threading.Thread.start

    def pressed(thread):
        start(thread)
        os.kill(os.getpid(), signal.SIGINT)  # as an exception it would leave the pool without this thread

    monkeypatch.setattr(threading.Thread, "start", pressed)
    ends = []
    with running() as run:
        run.map(lambda shared, task, clock: ends.append(until_stopped(clock)), None, ["a", "b"])
    assert run.outcome is Outcome.INTERRUPTED
    assert ends == [True]
    assert set(threading.enumerate()) == before


@pytest.mark.usefixtures("real_ctrl_c")
def test_a_request_ends_all_work_of_its_context_but_what_must_be_done():
    seen = []
    with interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        with running() as run:
            run.map(echo, None, [1, 2], lambda task, _: seen.append(task))
            assert run.outcome is Outcome.INTERRUPTED
        with running() as run:
            assert run.over()  # the request stands: the next piece of work ends at its first look
        with running(to_the_end=True) as run:
            run.map(echo, None, [3, 4], lambda task, _: seen.append(task))
            assert run.outcome is Outcome.COMPLETED  # a certificate is still made
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert seen == [1, 3, 4]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("real_ctrl_c")
def test_a_request_inside_an_inner_run_ends_the_outer_one_too():
    with running() as outer:
        with running(outer.engine) as inner:
            os.kill(os.getpid(), signal.SIGINT)
            assert inner.clock.stop[0] == 1
            # the inner work finishes before it looks
        assert outer.clock.stop[0] == 1
        assert outer.over()
        assert outer.outcome is Outcome.INTERRUPTED


@pytest.mark.usefixtures("real_ctrl_c")
def test_a_request_that_nobody_hears_is_not_lost():
    done = []

    def unheard():
        with interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the work after the key")

    with pytest.raises(KeyboardInterrupt):
        unheard()
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_handlers_and_other_threads_are_left_alone():
    class Mine(BaseException):
        pass

    def mine(*_):
        raise Mine

    old = signal.signal(signal.SIGINT, mine)
    try:
        with interrupts():
            assert signal.getsignal(signal.SIGINT) is mine
            with pytest.raises(Mine):
                os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, old)
    results = []

    def in_a_thread():
        with running() as run:
            results.append(run.map(echo, None, ["ab"]))

    worker = threading.Thread(target=in_a_thread)
    worker.start()
    worker.join(PATIENCE)
    assert results == [["ab"]]

"""The thread engine: results, order of work, the clock and Ctrl-C, with fake tasks that watch the stop flag."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from taxolearn.engines import Outcome, ThreadEngine, interrupts, worker_count
from taxolearn.errors import DataError

PATIENCE = 60.0  # seconds: only a broken engine waits this long


@pytest.fixture
def real_ctrl_c() -> Iterator[None]:
    """Python's own SIGINT handler, whatever the runner has installed."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


def until_stopped(engine: ThreadEngine) -> bool:
    """What a long kernel does: work until the flag is set."""
    end = time.monotonic() + PATIENCE
    while engine.stop[0] == 0:
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_every_task_gives_one_result(n_jobs):
    results = {}
    main = threading.get_ident()
    workers = set()

    def work(x):
        workers.add(threading.get_ident())
        return x * x

    def keep(task, result):
        assert threading.get_ident() == main  # callbacks need no locks
        results[task] = result

    outcome = ThreadEngine(n_jobs).run(work, list(range(20)), keep)
    assert outcome is Outcome.COMPLETED
    assert results == {x: x * x for x in range(20)}
    assert main not in workers
    assert len(workers) <= n_jobs


def test_one_worker_keeps_the_order_and_no_tasks_are_fine():
    seen = []
    assert ThreadEngine().run(lambda x: x, [3, 1, 2], lambda task, _: seen.append(task)) is Outcome.COMPLETED
    assert seen == [3, 1, 2]
    assert ThreadEngine(2).run(lambda x: x, [], lambda task, _: seen.append(task)) is Outcome.COMPLETED
    assert seen == [3, 1, 2]


def test_two_workers_work_at_the_same_time():
    both = threading.Barrier(2, timeout=PATIENCE)
    engine = ThreadEngine(2)
    assert engine.run(lambda _: both.wait(), [0, 1], lambda *_: None) is Outcome.COMPLETED


def test_time_limit_stops_the_running_and_drops_the_waiting():
    engine = ThreadEngine(1, max_seconds=0.05)
    results = []
    outcome = engine.run(lambda _: until_stopped(engine), ["a", "b", "c"], lambda *pair: results.append(pair))
    assert outcome is Outcome.TIME_LIMIT
    assert results == [("a", True)]  # what it had was kept
    assert engine.stop[0] == 1
    assert engine.seconds >= 0.05


def test_a_limit_that_passes_with_the_last_result_is_no_limit():
    engine = ThreadEngine(1, max_seconds=0.0)
    assert engine.run(lambda x: x, [1], lambda *_: None) in (Outcome.COMPLETED, Outcome.TIME_LIMIT)
    late = ThreadEngine(1, max_seconds=1e-9)
    seen = []
    assert late.run(lambda x: x, [1, 2], lambda task, _: seen.append(task)) is Outcome.TIME_LIMIT
    assert seen == [1]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.usefixtures("real_ctrl_c")
def test_ctrl_c_stops_the_running_and_drops_the_waiting(n_jobs):
    engine = ThreadEngine(n_jobs)
    ready = threading.Barrier(n_jobs, timeout=PATIENCE)
    results = []

    def work(task):
        if ready.wait() == 0:
            time.sleep(0.3)  # all workers run: by now the engine waits for them
            os.kill(os.getpid(), signal.SIGINT)
        return until_stopped(engine)

    outcome = engine.run(work, list(range(n_jobs + 3)), lambda *pair: results.append(pair))
    assert outcome is Outcome.INTERRUPTED
    assert sorted(results) == [(task, True) for task in range(n_jobs)]


def test_an_interrupt_in_a_callback_keeps_what_the_others_return():
    engine = ThreadEngine(2)
    results = []

    def work(task):
        return "quick" if task == "first" else until_stopped(engine)

    def keep(task, result):
        results.append((task, result))
        if task == "first":
            raise KeyboardInterrupt

    assert engine.run(work, ["first", "second", "third"], keep) is Outcome.INTERRUPTED
    assert results == [("first", "quick"), ("second", True)]


def test_a_second_interrupt_leaves():
    engine = ThreadEngine(1)

    def keep(task, result):
        raise KeyboardInterrupt

    def work(task):
        if engine.stop[0] == 0:
            return task
        raise AssertionError("dropped tasks must not run")

    assert engine.run(work, [1, 2], keep) is Outcome.INTERRUPTED
    engine = ThreadEngine(2)
    with pytest.raises(KeyboardInterrupt):
        engine.run(lambda task: task == "a" or until_stopped(engine), ["a", "b"], keep)


def test_an_interrupt_after_the_time_is_over_is_an_interrupt():
    engine = ThreadEngine(1, max_seconds=0.01)
    calls = []

    def keep(task, result):
        calls.append(result)
        raise KeyboardInterrupt

    assert engine.run(lambda _: until_stopped(engine), [1, 2], keep) is Outcome.INTERRUPTED
    assert calls == [True]


def test_an_error_in_a_task_reaches_the_caller():
    def work(task):
        if task == 2:
            raise ValueError("task two")
        return task

    with pytest.raises(ValueError, match="task two"):
        ThreadEngine(1).run(work, [1, 2, 3], lambda *_: None)


def test_an_error_stops_the_other_workers():
    engine = ThreadEngine(2)
    stopped = []

    def work(task):
        if task == "bad":
            raise ValueError("bad task")
        stopped.append(until_stopped(engine))

    with pytest.raises(ValueError, match="bad task"):
        engine.run(work, ["good", "bad"], lambda *_: None)
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
    engine = ThreadEngine(1)
    before = set(threading.enumerate())
    start = threading.Thread.start

    def pressed(thread):
        start(thread)
        os.kill(os.getpid(), signal.SIGINT)  # as an exception it would leave the pool without this thread

    monkeypatch.setattr(threading.Thread, "start", pressed)
    ends = []
    outcome = engine.run(lambda _: ends.append(until_stopped(engine)), ["a", "b"], lambda *_: None)
    assert outcome is Outcome.INTERRUPTED
    assert ends == [True]
    assert set(threading.enumerate()) == before


@pytest.mark.usefixtures("real_ctrl_c")
def test_a_request_outlives_the_steps_between_two_runs():
    seen = []
    with interrupts():
        os.kill(os.getpid(), signal.SIGINT)
        assert ThreadEngine().run(seen.append, [1, 2], lambda *_: None) is Outcome.INTERRUPTED
        assert ThreadEngine().run(seen.append, [3], lambda *_: None) is Outcome.COMPLETED  # taken once
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert seen == [1, 3]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("real_ctrl_c")
def test_a_request_that_nobody_takes_is_not_lost():
    done = []

    def untaken():
        with interrupts():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("the work after the key")

    with pytest.raises(KeyboardInterrupt):
        untaken()
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
    worker = threading.Thread(target=lambda: results.append(ThreadEngine().run(len, ["ab"], lambda *_: None)))
    worker.start()
    worker.join(PATIENCE)
    assert results == [Outcome.COMPLETED]

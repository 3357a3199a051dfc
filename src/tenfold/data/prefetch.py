"""Prefetching: threads that produce the next items of an iteration, in order, while the current one is used."""

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def read_ahead(source: Generator[T], most: int) -> Generator[T]:
    """The items of `source`, produced by another thread while the last item is used; its errors are raised here.

    At most `most` items exist at a time, including the one in use and the one being produced, if the consumer releases
    an item before it requests the next. The thread ends with the iteration: close it, or use ``contextlib.closing``.
    """
    items: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
    free, stopped = threading.Semaphore(most), threading.Event()

    def work() -> None:
        try:
            while free.acquire() and not stopped.is_set():
                items.put((next(source), None))
        except BaseException as error:
            items.put((None, error))
        finally:
            source.close()

    thread = threading.Thread(target=work, name="tenfold reader", daemon=True)
    try:
        thread.start()
        while True:
            item, error = items.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
            del item
            free.release()
    finally:
        stopped.set()
        free.release()
        if thread.ident is not None:
            thread.join()


def in_order(work: Callable[[T], U], items: Iterable[T], workers: int) -> Generator[U]:
    """``work(item)`` of every item in order, by `workers` threads, with at most `workers` + 1 items in flight."""
    waiting: deque[Future[U]] = deque()
    with ThreadPoolExecutor(workers, "tenfold decoder") as pool:
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()

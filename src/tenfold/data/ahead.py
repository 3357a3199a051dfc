"""Work of other threads, handed over in order: what comes next is made while what came is used."""

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def read_ahead(source: Generator[T], depth: int) -> Generator[T]:
    """What `source` gives, made by another thread up to `depth` items ahead; its errors are raised here.

    The thread ends with the iteration, however that ends: close it, or hold it in ``contextlib.closing``.
    """
    items: queue.Queue[tuple[T | None, BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def offer(item: T | None, error: BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                items.put((item, error), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in source:
                if not offer(item, None):
                    return
            offer(None, StopIteration())
        except BaseException as error:
            offer(None, error)
        finally:
            source.close()

    thread = threading.Thread(target=work, name="tenfold reader", daemon=True)
    thread.start()
    try:
        while True:
            item, error = items.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()


def in_order(work: Callable[[T], U], items: Iterable[T], workers: int) -> Generator[U]:
    """``work(item)`` of every item in order, by so many threads, which are at most one item ahead of each other."""
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

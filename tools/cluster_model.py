"""A pass over the rows of a large cluster, simulated: what it takes with 10 to 10 000 workers.

One static graph: a task lifts each chunk, a tree of some fan-in merges the statistics by the position of the chunks.
The scheduler is one server that is told of every task and hands out the next ones; a worker does one task at a time,
and is sent one statistic at a time. Prints the table of docs/cluster.md. Usage: python tools/cluster_model.py
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from math import ceil, log2
from random import Random


@dataclass(frozen=True)
class Cluster:
    """Sizes in bytes, times in seconds. The words about a task and the work of client and scheduler on it were measured
    with `distributed` 2026.8 on one machine; latency, bandwidth and arithmetic are those of an ordinary cluster.
    """

    workers: int
    chunks_each: int = 4
    chunk_bytes: int = 1 << 27
    columns: int = 100
    fan_in: int = 2
    latency: float = 2e-4
    bandwidth: float = 1.25e9  # 10 Gbit/s
    words: int = 1_500  # said to the scheduler and by it to a worker, about a task
    graph_time: float = 1e-4  # of the client, a task
    scheduler_time: float = 1e-3  # a task
    products: float = 2e10  # multiplied and added a second, by a core
    memory: float = 1e10  # bytes read a second, by a core

    @property
    def chunks(self) -> int:
        return self.workers * self.chunks_each

    @property
    def rows(self) -> int:
        return self.chunks * (self.chunk_bytes // (8 * self.columns))

    @property
    def statistic(self) -> int:
        """Bytes of second moments, the largest statistic."""
        return 8 * self.columns**2


@dataclass(frozen=True)
class Pass:
    """Seconds of a pass, and of its lifts alone; bytes from the client, between workers and to the client; messages."""

    seconds: float
    lifts: float
    from_client: int
    between: int
    to_client: int
    messages: int


def tree(chunks: int, fan_in: int) -> Iterator[list[tuple[int, ...]]]:
    """The levels of the tree: for every node the positions of its children in the level below; an only child goes up
    as it is.
    """
    width = chunks
    while width > 1:
        yield [tuple(range(i, min(i + fan_in, width))) for i in range(0, width, fan_in)]
        width = ceil(width / fan_in)


def simulate(cluster: Cluster, seed: int = 0) -> Pass:
    """One pass, event by event; Dask places chunks as it likes, so their workers are drawn at random."""
    c, random = cluster, Random(seed)
    levels = list(tree(c.chunks, c.fan_in))
    tasks = c.chunks + sum(len(children) > 1 for level in levels for children in level)
    places = [i % c.workers for i in range(c.chunks)]
    random.shuffle(places)
    owner = [places] + [[0] * len(level) for level in levels]
    waiting = [[len(children) for children in level] for level in levels]
    start = tasks * (c.graph_time + c.words / c.bandwidth) + tasks * c.scheduler_time / 2 + c.latency
    # the lift goes from worker to worker, twice as many have it in every round
    spread = [start + ceil(log2(w + 2)) * (c.latency + 8 * c.columns / c.bandwidth) for w in range(c.workers)]
    free = spread[:]  # when a worker has done its work, and
    open_ = spread[:]  # when it can be sent the next statistic
    lift = max(c.chunk_bytes / c.memory, c.chunk_bytes / 8 * c.columns / c.products)
    events: list[tuple[float, int, int, int]] = []
    order = count()
    for i, worker in enumerate(places):
        free[worker] += lift
        heappush(events, (free[worker] + c.latency, next(order), 0, i))
    lifted, scheduler, moved, now = max(free), start, 0, start
    while events:
        now, _, height, i = heappop(events)
        scheduler = now = max(now, scheduler) + c.scheduler_time / 2
        while height < len(levels) and len(levels[height][i // c.fan_in]) == 1:
            owner[height + 1][i // c.fan_in] = owner[height][i]
            height, i = height + 1, i // c.fan_in
        if height == len(levels):
            break
        parent = i // c.fan_in
        waiting[height][parent] -= 1
        if waiting[height][parent]:
            continue
        children = levels[height][parent]
        here = owner[height][children[0]]
        owner[height + 1][parent] = here
        ready = now + c.latency
        for child in children[1:]:
            if owner[height][child] != here:
                open_[here] = ready = max(ready, open_[here]) + c.latency + c.statistic / c.bandwidth
                moved += c.statistic
        free[here] = max(ready, free[here]) + (len(children) - 1) * 3 * c.statistic / c.memory
        heappush(events, (free[here] + c.latency, next(order), height + 1, parent))
    end = now + 2 * (c.latency + c.statistic / c.bandwidth)  # by way of the scheduler
    between = moved + (c.workers - 1) * 8 * c.columns
    messages = 2 * tasks + moved // c.statistic + c.workers + 2
    return Pass(end, lifted - start, tasks * c.words, between, c.statistic, messages)


def size(number: float) -> str:
    """Bytes, or a count, in words."""
    for unit, name in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:.3g} "


def table() -> str:
    """The page's table: clusters that grow with their data."""
    head = ["workers", "rows", "lifts", "lifts and tree", "a pass", "fan-in 8", "fan-in 32", "from the client"]
    head += ["between workers", "to the client", "messages"]
    lines = [head, ["---:"] * len(head)]
    for workers in (10, 100, 1_000, 10_000):
        cluster = Cluster(workers)
        result = simulate(cluster)
        bare = simulate(replace(cluster, scheduler_time=0.0, graph_time=0.0, words=0)).seconds
        wider = [simulate(replace(cluster, fan_in=fan_in)).seconds for fan_in in (8, 32)]
        seconds = [f"{time:.2f} s" for time in (result.lifts, bare, result.seconds, *wider)]
        moved = [f"{size(part)}B" for part in (result.from_client, result.between, result.to_client)]
        lines.append([f"{workers:,}", size(cluster.rows).strip(), *seconds, *moved, size(result.messages).strip()])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    print(table())

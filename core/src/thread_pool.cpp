#include "tenfold/thread_pool.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace tenfold {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto spin_time = std::chrono::microseconds(50); // of an idle thread before it sleeps
constexpr int most_threads = 256;

// The state of one call, on the caller's stack; `seats`, `helpers`, `joined` and membership in the list of jobs are
// guarded by the pool's mutex, so it is destroyed only when no helper works on it.
struct Job {
  Job(Index count_, int threads, Body body_, void *context_)
      : count(count_), body(body_), context(context_), seats(threads - 1) {}

  const Index count;
  const Body body;
  void *const context;
  int seats;                   // helpers that may still join
  std::atomic<int> helpers{0}; // helpers at work
  int joined = 0;              // helpers so far: the next one's worker number is joined + 1
  std::atomic<Index> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  std::mutex error_mutex;
};

struct Pool {
  std::mutex mutex;
  std::condition_variable work;
  std::condition_variable done;
  std::vector<Job *> jobs;
  std::atomic<std::uint64_t> calls{0}; // incremented with every job, so that spinning threads see new work
  int threads = 0;
};

// Never destroyed: its threads sleep in it until the process ends.
std::unique_ptr<Pool> &instance() {
  static auto *pool = std::make_unique<std::unique_ptr<Pool>>(std::make_unique<Pool>()).release();
  return *pool;
}

void before_fork() { instance()->mutex.lock(); }
void after_fork_in_parent() { instance()->mutex.unlock(); }
void after_fork_in_child() {
  // The parent's threads do not exist here, and its condition variables may still count them: abandon the pool.
  static_cast<void>(instance().release());
  instance() = std::make_unique<Pool>();
}

// Waits at most spin_time for ready().
template <class F> bool spin(F ready) {
  const auto end = Clock::now() + spin_time;
  for (;;) {
    for (int i = 0; i < 64; ++i) {
      if (ready())
        return true;
      pause();
    }
    if (Clock::now() >= end)
      return false;
  }
}

void run_items(Job &job, int worker) {
  for (;;) {
    const Index item = job.next.fetch_add(1, std::memory_order_relaxed);
    if (item >= job.count || job.failed.load(std::memory_order_relaxed))
      return;
    try {
      job.body(job.context, item, worker);
    } catch (...) {
      const std::lock_guard lock(job.error_mutex);
      if (!job.error)
        job.error = std::current_exception();
      job.failed.store(true, std::memory_order_relaxed);
    }
  }
}

Job *open_job(Pool &pool) {
  for (Job *job : pool.jobs)
    if (job->seats > 0 && job->next.load(std::memory_order_relaxed) < job->count)
      return job;
  return nullptr;
}

void help(Pool &pool) {
  std::unique_lock lock(pool.mutex);
  for (;;) {
    Job *job = open_job(pool);
    if (job == nullptr) {
      const std::uint64_t seen = pool.calls.load();
      lock.unlock();
      spin([&] { return pool.calls.load(std::memory_order_relaxed) != seen; });
      lock.lock();
      pool.work.wait(lock, [&] { return (job = open_job(pool)) != nullptr; });
    }
    --job->seats;
    ++job->helpers;
    const int worker = ++job->joined;
    lock.unlock();
    run_items(*job, worker);
    lock.lock();
    if (--job->helpers == 0)
      pool.done.notify_all();
  }
}

// Signals are delivered to the threads of the program: the new threads inherit a mask that blocks all of them.
void grow(Pool &pool, int wanted) {
  if (pool.threads >= std::min(wanted, most_threads))
    return;
  sigset_t everything, before;
  sigfillset(&everything);
  pthread_sigmask(SIG_SETMASK, &everything, &before);
  try {
    while (pool.threads < std::min(wanted, most_threads)) {
      std::thread([&pool] { help(pool); }).detach();
      ++pool.threads;
    }
  } catch (const std::system_error &) {
    // The system refuses more threads: the existing ones and the caller do the work.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace

void run_on_pool(Index count, int threads, Body body, void *context) {
  static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  static_cast<void>(registered);
  Pool &pool = *instance();
  Job job(count, threads, body, context);
  {
    const std::lock_guard lock(pool.mutex);
    grow(pool, threads - 1);
    pool.jobs.push_back(&job);
    pool.calls.fetch_add(1);
  }
  for (int i = 1; i < threads; ++i)
    pool.work.notify_one();
  run_items(job, 0);
  spin([&] { return job.helpers.load(std::memory_order_relaxed) == 0; });
  std::unique_lock lock(pool.mutex);
  std::erase(pool.jobs, &job);
  pool.done.wait(lock, [&] { return job.helpers == 0; });
  lock.unlock();
  if (job.error)
    std::rethrow_exception(job.error);
}

int pool_size() {
  const std::lock_guard lock(instance()->mutex);
  return instance()->threads;
}

} // namespace tenfold

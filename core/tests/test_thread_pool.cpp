// The thread pool: every item once, exceptions, concurrent and nested callers, fork.
#include "check.hpp"

#include "tenfold/thread_pool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <stdexcept>
#include <thread>

using namespace tenfold;
using namespace tenfold::test;

namespace {

// Whether one call with this many items and threads runs each item once, with workers in range and never shared.
bool runs_each_once(Index count, int threads) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
  std::vector<std::atomic<int>> busy(static_cast<std::size_t>(threads));
  std::atomic<bool> good{true};
  parallel(count, threads, [&](Index item, int worker) {
    if (worker < 0 || worker >= threads || busy[static_cast<std::size_t>(worker)].fetch_add(1) != 0)
      good = false;
    seen[static_cast<std::size_t>(item)].fetch_add(1);
    busy[static_cast<std::size_t>(worker)].fetch_sub(1);
  });
  for (const auto &times : seen)
    good = good && times == 1;
  return good;
}

void test_items() {
  for (const int threads : {1, 2, 3, 8})
    for (const Index count : {0, 1, 2, 7, 1000})
      check(runs_each_once(count, threads), "each item runs once");
}

void test_exceptions() {
  for (const int threads : {1, 2, 4}) {
    bool caught = false;
    try {
      parallel(100, threads, [](Index item, int) {
        if (item == 50)
          throw std::invalid_argument("fifty");
      });
    } catch (const std::invalid_argument &error) {
      caught = std::string(error.what()) == "fifty";
    }
    check(caught, "an exception of a body reaches the caller");
    check(runs_each_once(100, threads), "the pool works after an exception");
  }
}

void test_many_callers() {
  std::atomic<bool> good{true};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        if (!runs_each_once(20, 3))
          good = false;
    });
  for (std::thread &caller : callers)
    caller.join();
  check(good, "eight callers at once");
}

void test_nested() {
  std::atomic<int> total{0};
  parallel(8, 4, [&](Index, int) { parallel(8, 4, [&](Index, int) { total.fetch_add(1); }); });
  check(total == 64, "a call inside a call");
}

void test_sleep() {
  // After a call the threads must come to rest: a second of waiting costs almost no processor time.
  parallel(8, 4, [](Index, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const double busy = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  check(busy < 0.05, "idle threads do not spin: " + std::to_string(busy) + " s");
}

bool child_works() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20); // a deadlock ends here
    const bool fresh = pool_size() == 0;
    _exit(fresh && runs_each_once(100, 4) && runs_each_once(100, 2) ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void test_fork() {
  check(runs_each_once(100, 4), "before fork");
  check(child_works(), "the child of a fork starts afresh");
  check(runs_each_once(100, 4), "the parent goes on after a fork");
  // Fork while other threads are inside the pool.
  std::atomic<bool> stop{false}, good{true};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 2; ++caller)
    callers.emplace_back([&] {
      while (!stop)
        if (!runs_each_once(50, 3))
          good = false;
    });
  for (int i = 0; i < 10; ++i)
    check(child_works(), "a fork while others are inside the pool");
  stop = true;
  for (std::thread &caller : callers)
    caller.join();
  check(good, "callers during forks");
}

} // namespace

int main() {
  test_items();
  test_exceptions();
  test_many_callers();
  test_nested();
  test_sleep();
  test_fork();
  return result();
}

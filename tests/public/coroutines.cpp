// SPDX-License-Identifier: BSD-2-Clause
/*
 * coroutines.cpp - coroutines of C++20 that go on in another thread at each co_await.
 *
 * A compiler may compute the address of thread-local storage once in a coroutine, and use it on
 * both sides of a co_await.  Each thread's cache must stay its own all the same.  Two thousand
 * coroutines take slots and give them back on four threads, which resume whichever is next.  Each
 * slot has a word for its owner: a slot that is handed out while somebody owns it was in two
 * threads' hands.
 *
 * Compiled and run by tests/scripts/check-cxx.sh, with optimisation, by each compiler that is
 * found.  Exit status: 0, or 1 if some pool handed out a slot twice or lost one.
 */
#include <cpool/cpool.hpp>

#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#if defined(__clang__) && __clang_major__ < 14 // which looks for these names
namespace std {
namespace experimental {
using std::coroutine_handle;
using std::coroutine_traits;
} // namespace experimental
} // namespace std
#endif

struct parcel {
    char bytes[48];
};

constexpr unsigned coroutines = 2000;
constexpr unsigned threads = 4;
constexpr unsigned bursts = 50;
constexpr unsigned held_most = 4;
constexpr std::size_t room = coroutines * held_most;

CPOOL_STATIC_POOL(parcels, parcel);
CPOOL_DEFINE(parcels, parcel, .capacity = room, .magazine_rounds = 8);

namespace {

// --- Coroutines, and the threads that resume them ---

std::mutex mutex; // guards the two below
std::queue<std::coroutine_handle<>> queue;
unsigned travelling; // coroutines that are not at their end
std::condition_variable changed;

// After this another thread may be running the coroutine.
__attribute__((__noinline__)) void post(std::coroutine_handle<> one)
{
    std::lock_guard<std::mutex> lock(mutex);
    queue.push(one);
    changed.notify_one();
}

void run_coroutines()
{
    std::unique_lock<std::mutex> lock(mutex);

    while (travelling > 0) {
        if (queue.empty()) {
            changed.wait(lock);
            continue;
        }
        std::coroutine_handle<> next = queue.front();
        queue.pop();
        lock.unlock();
        next.resume();
        lock.lock();
    }
}

struct hop {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> self) const { post(self); }
    void await_resume() const noexcept {}
};

struct journey {
    struct promise_type {
        journey get_return_object() noexcept { return {}; }
        hop initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() noexcept
        {
            std::lock_guard<std::mutex> lock(mutex);
            if (--travelling == 0)
                changed.notify_all();
        }
        [[noreturn]] void unhandled_exception() noexcept { std::abort(); }
    };
};

// --- Owners of slots ---

struct ledger {
    explicit ledger(cpool_t *of) : pool(of), owners(cpool_index_limit(of)) {}
    ledger(const ledger &) = delete;
    ledger &operator=(const ledger &) = delete;

    void own(const void *slot, unsigned number)
    {
        if (owners.at(cpool_index(pool, slot)).exchange(number) != 0)
            ++twice;
    }
    void disown(const void *slot, unsigned number)
    {
        if (owners.at(cpool_index(pool, slot)).exchange(0) != number)
            ++twice;
    }

    cpool_t *pool;
    std::vector<std::atomic<unsigned>> owners; // by index, 0: nobody
    std::atomic<unsigned> twice{0};            // slots that had an owner, or another one when freed
    std::atomic<unsigned> failed{0};           // allocs without a slot
};

cpool_t *by_descriptor;
cpool::pool<parcel> *by_class;

struct descriptor_way {
    static parcel *take() { return static_cast<parcel *>(cpool_alloc(by_descriptor)); }
    static void give(parcel *one) { cpool_free(by_descriptor, one); }
};
struct class_way {
    static parcel *take() { return by_class->create(); }
    static void give(parcel *one) { by_class->destroy(one); }
};
struct typed_way {
    static parcel *take() { return parcels_alloc(); }
    static void give(parcel *one) { parcels_free(one); }
};

// Takes a few slots and gives them back, again and again, and may be in another thread after each
// of these.
template <class way> journey travel(ledger &slots, unsigned number)
{
    parcel *held[held_most];

    for (unsigned burst = 0; burst < bursts; burst++) {
        unsigned n = 1 + (number + burst) % held_most;

        for (unsigned i = 0; i < n; i++) {
            held[i] = way::take();
            if (held[i] != nullptr)
                slots.own(held[i], number);
            else
                ++slots.failed;
            co_await hop{};
        }
        for (unsigned i = 0; i < n; i++) {
            if (held[i] != nullptr) {
                slots.disown(held[i], number);
                way::give(held[i]);
            }
            co_await hop{};
        }
    }
}

// Takes all slots there are.  Returns how many are lost.
std::size_t take_all_again(ledger &slots)
{
    std::vector<void *> all;

    while (all.size() < slots.owners.size()) {
        void *slot = cpool_alloc(slots.pool);
        if (slot == nullptr)
            break;
        slots.own(slot, 1);
        all.push_back(slot);
    }
    for (void *slot : all)
        cpool_free(slots.pool, slot);
    return all.size() < room ? room - all.size() : 0;
}

template <class way> bool try_pool(const char *name, cpool_t *pool)
{
    ledger slots(pool);
    std::vector<std::thread> running;

    travelling = coroutines;
    for (unsigned i = 1; i <= coroutines; i++)
        travel<way>(slots, i);
    for (unsigned i = 0; i < threads; i++)
        running.emplace_back(run_coroutines);
    for (std::thread &one : running)
        one.join();
    std::size_t lost = take_all_again(slots);
    if (slots.twice + slots.failed + lost == 0)
        return true;
    std::fprintf(stderr, "%s: %u slots had two owners, %u allocs failed, %zu slots are lost\n",
                 name, slots.twice.load(), slots.failed.load(), lost);
    return false;
}

cpool_t *create_pool()
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool = nullptr;

    config.slot_size = sizeof(parcel);
    config.capacity = room;
    config.magazine_rounds = 8;
    if (cpool_create(&pool, &config) != 0)
        std::abort();
    return pool;
}

bool try_descriptor()
{
    by_descriptor = create_pool();
    bool kept = try_pool<descriptor_way>("by descriptor", by_descriptor);
    return cpool_destroy(by_descriptor) == 0 && kept;
}

bool try_class()
{
    cpool::pool<parcel> pool(room);

    by_class = &pool;
    return try_pool<class_way>("cpool::pool", pool.native_handle());
}

} // namespace

int main()
{
    bool kept = true;

    kept &= try_descriptor();
    kept &= try_class();
    kept &= try_pool<typed_way>("typed", parcels_pool());
    return kept ? 0 : 1;
}

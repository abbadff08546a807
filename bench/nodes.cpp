// SPDX-License-Identifier: BSD-2-Clause
/*
 * nodes.cpp - nodes of std::list and std::map that come and go, with cpool's allocator and
 * memory resource and with others.
 *
 *   nodes [MILLISECONDS]     for each cell; without it a few, to see that all of it works
 *
 * Workloads, for 1 and 2 threads, each with containers of its own:
 *
 *   list   pushes 1000 at the back, removes them from the front, over and over
 *   map    inserts random keys below 4096 and erases as many others
 *
 * Each cell is the median of ROUNDS, interleaved over the allocators, as nanoseconds for
 * an insert and an erase.
 */
#include <cpool/cpool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

#if defined(__has_include)
#if __has_include(<boost/pool/pool_alloc.hpp>)
#include <boost/pool/pool_alloc.hpp>
#define HAS_BOOST 1
#endif
#endif

namespace {

const std::size_t rounds = 5;
const int burst = 1000;
const unsigned keys = 4096;

using clock_type = std::chrono::steady_clock;

// The functions that tbb::scalable_allocator calls, of a library that need not be there.
void *(*scalable_malloc)(std::size_t);
void (*scalable_free)(void *);

bool find_scalable()
{
    void *library = dlopen("libtbbmalloc.so.2", RTLD_NOW);

    if (library == nullptr)
        return false;
    scalable_malloc =
        reinterpret_cast<void *(*)(std::size_t)>(dlsym(library, "scalable_malloc"));
    scalable_free = reinterpret_cast<void (*)(void *)>(dlsym(library, "scalable_free"));
    return scalable_malloc != nullptr && scalable_free != nullptr;
}

template <class T> struct scalable_allocator {
    using value_type = T;
    scalable_allocator() = default;
    template <class U> scalable_allocator(const scalable_allocator<U> &) noexcept {}
    T *allocate(std::size_t n) { return static_cast<T *>(scalable_malloc(n * sizeof(T))); }
    void deallocate(T *block, std::size_t) { scalable_free(block); }
    bool operator==(const scalable_allocator &) const { return true; }
    bool operator!=(const scalable_allocator &) const { return false; }
};

unsigned next(unsigned &state)
{
    return (state = state * 1664525u + 1013904223u) >> 8;
}

// Pairs of an insert and an erase until `ends`.  A sum shows that nothing was lost.
template <class Allocator>
std::uint64_t run_list(const Allocator &allocator, const std::atomic<bool> &ends)
{
    std::list<int, typename std::allocator_traits<Allocator>::template rebind_alloc<int>> list(
        allocator);
    std::uint64_t pairs = 0;

    while (!ends.load(std::memory_order_relaxed)) {
        long sum = 0;

        for (int i = 0; i < burst; i++)
            list.push_back(i);
        for (int i = 0; i < burst; i++, list.pop_front())
            sum += list.front();
        if (sum != static_cast<long>(burst) * (burst - 1) / 2 || !list.empty())
            std::abort();
        pairs += burst;
    }
    return pairs;
}

template <class Allocator>
std::uint64_t run_map(const Allocator &allocator, const std::atomic<bool> &ends)
{
    using value = std::pair<const unsigned, unsigned>;
    std::map<unsigned, unsigned, std::less<unsigned>,
             typename std::allocator_traits<Allocator>::template rebind_alloc<value>>
        map(allocator);
    std::uint64_t inserted = 0;
    std::uint64_t erased = 0;
    unsigned state = 1;

    while (!ends.load(std::memory_order_relaxed)) {
        for (int i = 0; i < burst; i++) {
            inserted += map.emplace(next(state) % keys, 1u).second;
            erased += map.erase(next(state) % keys);
        }
    }
    if (inserted - erased != map.size())
        std::abort();
    return inserted;
}

struct contestant {
    std::string name;
    std::function<std::uint64_t(bool map, const std::atomic<bool> &ends)> run;
};

template <class Allocator> contestant contest(const char *name, const Allocator &allocator)
{
    return {name, [allocator](bool map, const std::atomic<bool> &ends) {
                return map ? run_map(allocator, ends) : run_list(allocator, ends);
            }};
}

// Nanoseconds for a pair.
double measure(const contestant &one, bool map, std::size_t threads, std::chrono::milliseconds time)
{
    std::atomic<bool> ends(false);
    std::vector<std::thread> crew;
    std::vector<std::uint64_t> pairs(threads);
    clock_type::time_point began = clock_type::now();
    std::uint64_t all = 0;

    for (std::size_t i = 0; i < threads; i++)
        crew.emplace_back([&, i]() { pairs[i] = one.run(map, ends); });
    std::this_thread::sleep_for(time);
    ends = true;
    for (std::thread &thread : crew)
        thread.join();
    for (std::uint64_t count : pairs)
        all += count;
    return std::chrono::duration<double, std::nano>(clock_type::now() - began).count() *
           static_cast<double>(threads) / static_cast<double>(std::max<std::uint64_t>(all, 1));
}

void print_row(const std::vector<contestant> &contestants, bool map, std::size_t threads,
               std::chrono::milliseconds time)
{
    std::vector<std::vector<double>> cells(contestants.size());

    for (std::size_t round = 0; round < rounds; round++)
        for (std::size_t i = 0; i < contestants.size(); i++)
            cells[i].push_back(measure(contestants[i], map, threads, time));
    std::printf("%-4s  %zu thread%s", map ? "map" : "list", threads, threads == 1 ? " " : "s");
    for (std::vector<double> &cell : cells) {
        std::sort(cell.begin(), cell.end());
        std::printf("  %22.1f", cell[rounds / 2]);
    }
    std::printf("\n");
}

} // namespace

int main(int argc, char **argv)
{
    const std::chrono::milliseconds time(argc > 1 ? std::atoi(argv[1]) : 2);
    cpool::sized blocks(CPOOL_SIZED_CONFIG_INIT);
    std::vector<contestant> contestants;

    contestants.push_back(contest("cpool::allocator", cpool::allocator<int>(blocks)));
#if CPOOL_HAS_PMR_
    cpool::sized_resource own;
    std::pmr::synchronized_pool_resource theirs;
    contestants.push_back(
        contest("cpool::sized_resource", std::pmr::polymorphic_allocator<int>(&own)));
    contestants.push_back(
        contest("pmr::synchronized_pool", std::pmr::polymorphic_allocator<int>(&theirs)));
#endif
    contestants.push_back(contest("std::allocator", std::allocator<int>()));
#if defined(HAS_BOOST)
    contestants.push_back(contest("boost::fast_pool", boost::fast_pool_allocator<int>()));
#endif
    if (find_scalable())
        contestants.push_back(contest("tbb::scalable", scalable_allocator<int>()));
    std::printf("ns for an insert and an erase\n%15s", "");
    for (const contestant &one : contestants)
        std::printf("  %22s", one.name.c_str());
    std::printf("\n");
    for (bool map : {false, true})
        for (std::size_t threads : {1u, 2u})
            print_row(contestants, map, threads, time);
    return EXIT_SUCCESS;
}

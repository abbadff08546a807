// SPDX-License-Identifier: BSD-2-Clause
/*
 * check_cxx.cpp - the public header in a C++ program: the initialisers, the
 * inline path and its thread-local word, several threads.
 *
 * Includes the public API only, and does without Check.  Builds as C++11.
 */
#include <cpool.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#define REQUIRE(condition) ((condition) ? (void)0 : fail(__LINE__, #condition))

namespace {

void fail(int line, const char *what)
{
    std::fprintf(stderr, "check_cxx.cpp:%d: %s\n", line, what);
    std::abort();
}

struct job {
    explicit job(int a) : number(a), half(a / 2.0) {}

    int number;
    double half;
};

struct token {
    int number;
    char text[44];
};

} // namespace

CPOOL_DECLARE(tokens, token);
CPOOL_DEFINE(tokens, token, .capacity = 500, .magazine_rounds = 20);

namespace {

void work_typed()
{
    std::vector<token *> held;

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 100; i++) {
            held.push_back(i % 2 == 0 ? tokens_alloc() : tokens_calloc());
            REQUIRE(held.back() != nullptr);
            held.back()->number = i;
        }
        for (int i = 100; i-- > 0; held.pop_back()) {
            REQUIRE(held.back()->number == i);
            tokens_free(held.back());
        }
    }
}

const std::size_t capacity = 1000;

// Constructs in slots, keeps them for a while, and destroys them.
void work(cpool_t *pool, int from)
{
    cpool_cache_t *cache = cpool_cache(pool);

    REQUIRE(cache != nullptr);
    for (int round = 0; round < 50; round++) {
        std::vector<job *> jobs;

        for (int i = 0; i < 200; i++) {
            void *slot = i % 2 == 0 ? cpool_alloc(pool) : cpool_cache_alloc(cache);

            REQUIRE(cpool_owns(pool, slot));
            jobs.push_back(new (slot) job(from + i));
        }
        for (int i = 0; i < 200; i++) {
            REQUIRE(jobs[static_cast<std::size_t>(i)]->number == from + i);
            jobs[static_cast<std::size_t>(i)]->~job();
            if (i % 2 == 0)
                cpool_free(pool, jobs[static_cast<std::size_t>(i)]);
            else
                cpool_cache_free(cache, jobs[static_cast<std::size_t>(i)]);
        }
    }
}

} // namespace

int main()
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_stats_t stats = CPOOL_STATS_INIT;
    cpool_t *pool = nullptr;
    std::vector<std::thread> threads;

    config.name = "c++";
    config.slot_size = sizeof(job);
    config.slot_align = alignof(job);
    config.capacity = capacity;
    REQUIRE(cpool_create(&pool, &config) == CPOOL_OK);
    for (int i = 0; i < 4; i++)
        threads.emplace_back(work, pool, 1000 * i);
    for (std::thread &thread : threads)
        thread.join();
    REQUIRE(cpool_stats(pool, &stats) == CPOOL_OK);
    REQUIRE(stats.live == 0);
    REQUIRE(stats.thread_caches == 0);
    REQUIRE(std::strcmp(cpool_strerror(CPOOL_EDRY), cpool_strerror(CPOOL_OK)) != 0);
    REQUIRE(cpool_destroy(pool) == 0);
    work_typed();
    std::thread(work_typed).join();
    REQUIRE(cpool_stats(tokens_pool(), &stats) == CPOOL_OK);
    REQUIRE(stats.live == 0 && stats.slot_size == sizeof(token));
    REQUIRE(tokens_close() == 0);
    return EXIT_SUCCESS;
}

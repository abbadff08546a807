/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * handover.c - a correct program in which threads get each other's slots, by every
 * function that hands slots out or takes them back, in pools of every kind: no
 * thread touches a slot that is not its own.  ThreadSanitizer is to say nothing.
 *
 * Compiled by check-tsan.sh with -fsanitize=thread, as a user would.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include <cpool.h>
#include <cpool/frame.h>

/* More than a function knows how to zero by itself. */
enum { THREADS = 3, CAPACITY = 48, ROUNDS = 4, WORDS = 25, MOST = 5, TAKES = 6 };

/* First in turns, so that slots change hands for certain.  Then all at once. */
enum { IN_TURNS = 80, AT_ONCE = 400 };

static atomic_uint turn;

struct item {
    uint64_t words[WORDS];
};

CPOOL_DECLARE(items, struct item);
CPOOL_DEFINE(items, struct item, .capacity = CAPACITY, .magazine_rounds = ROUNDS);

struct party {
    unsigned number;
    cpool_t *pool;
    cpool_cache_t *cache;
    bool waits;
    bool is_typed;
    uint64_t stamp;
};

/* --- Every way in and out --- */

static void *one_slot(cpool_t *pool, void *(*alloc)(cpool_t *pool))
{
    return alloc(pool);
}

static void *by_wait(struct party *party)
{
    const struct timespec moment = { 0, 100000 };

    return party->waits ? cpool_alloc_wait(party->pool, &moment) : cpool_alloc(party->pool);
}

static void *by_type(struct party *party)
{
    return party->is_typed ? (void *)items_alloc() : cpool_alloc(party->pool);
}

enum { WAYS_IN = 8, WAYS_OUT = 5 };

static size_t take(struct party *party, unsigned way, void **slots)
{
    switch (way) {
    case 0: slots[0] = cpool_alloc(party->pool); break;
    case 1: slots[0] = cpool_calloc(party->pool); break;
    case 2: slots[0] = cpool_alloc_uncached(party->pool); break;
    case 3: slots[0] = cpool_cache_alloc(party->cache); break;
    case 4: slots[0] = by_wait(party); break;
    case 5: slots[0] = one_slot(party->pool, cpool_alloc); break;
    case 6: return cpool_alloc_bulk(party->pool, slots, MOST, 0);
    default: slots[0] = by_type(party); break;
    }
    return slots[0] != NULL;
}

static void give(struct party *party, unsigned way, void **slots, size_t count)
{
    if (way == 3) {
        cpool_free_bulk(party->pool, slots, count);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (way == 4 && party->is_typed)
            items_free(slots[i]);
        else if (way == 0)
            cpool_free(party->pool, slots[i]);
        else if (way == 1)
            cpool_free_uncached(party->pool, slots[i]);
        else
            cpool_cache_free(party->cache, slots[i]);
    }
}

/* --- The parties --- */

/* Each word once, and by its own value: ThreadSanitizer remembers the last few
 * accesses to a word only, and does not see all that compilers make of memset. */
static void use(struct party *party, uint64_t *slot)
{
    for (unsigned i = 0; i < WORDS; i++)
        slot[i] = party->stamp ^ i;
    for (unsigned i = 0; i < WORDS; i++) {
        if (slot[i] != (party->stamp ^ i))
            abort();
    }
}

/* The frame's record fills magazines, which go from thread to thread. */
static void use_frame(struct party *party)
{
    cpool_frame_t *frame;
    void *slot;

    if (cpool_frame_begin(&frame, party->pool) != CPOOL_OK)
        abort();
    for (unsigned i = 0; i < 3 * ROUNDS && (slot = cpool_frame_alloc(frame)) != NULL; i++)
        use(party, slot);
    cpool_frame_end(frame);
}

static void take_and_give(struct party *party, unsigned round)
{
    void *slots[TAKES][MOST];
    size_t counts[TAKES];

    for (unsigned n = 0; n < TAKES; n++) {
        counts[n] = take(party, (round + n) % WAYS_IN, slots[n]);
        for (size_t i = 0; i < counts[n]; i++)
            use(party, slots[n][i]);
    }
    for (unsigned n = 0; n < TAKES; n++)
        give(party, (round + n) / 3 % WAYS_OUT, slots[n], counts[n]);
    use_frame(party);
    if (round % 2 == 0)
        cpool_flush(party->pool);
}

/* Relaxed: it tells the next thread, but orders nothing. */
static void await_turn(unsigned number)
{
    while (atomic_load_explicit(&turn, memory_order_relaxed) % THREADS != number)
        sched_yield();
}

static void *take_part(void *argument)
{
    struct party *party = argument;
    unsigned round;

    if (cpool_cache_create(&party->cache, party->pool) != CPOOL_OK)
        abort();
    for (round = 0; round < IN_TURNS; round++) {
        await_turn(party->number);
        take_and_give(party, round);
        atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
    }
    for (; round < IN_TURNS + AT_ONCE; round++)
        take_and_give(party, round);
    cpool_cache_destroy(party->cache);
    return NULL;
}

static void run_on(cpool_t *pool, bool is_typed)
{
    struct party parties[THREADS];
    pthread_t threads[THREADS];

    atomic_store_explicit(&turn, 0, memory_order_relaxed);
    for (unsigned i = 0; i < THREADS; i++) {
        parties[i].number = i;
        parties[i].pool = pool;
        parties[i].waits = i % 2 != 0;
        parties[i].is_typed = is_typed;
        parties[i].stamp = (uint64_t)(i + 1) << 32;
        if (pthread_create(&threads[i], NULL, take_part, &parties[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    if (cpool_destroy(pool) != 0)
        abort();
}

static cpool_t *create(unsigned flags)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    config.slot_size = WORDS * sizeof(uint64_t);
    config.capacity = CAPACITY;
    config.magazine_rounds = ROUNDS;
    config.flags = flags;
    if (cpool_create(&pool, &config) != CPOOL_OK)
        abort();
    return pool;
}

/* A mistake is refused as ever, wherever the address points. */
static int reports;

static void count_report(const cpool_error_t *error, void *context)
{
    (void)error;
    (void)context;
    reports++;
}

static void misuse(void)
{
    cpool_t *pool = create(0);

    cpool_set_error_handler((cpool_error_handler_t){ count_report, NULL });
    cpool_free(pool, (void *)(uintptr_t)8);
    cpool_free(pool, (void *)~(uintptr_t)7);
    cpool_free(pool, &reports);
    cpool_free(pool, NULL);
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    if (reports != 3 || cpool_destroy(pool) != 0)
        abort();
}

int main(void)
{
    run_on(create(0), false);
    run_on(create(CPOOL_CHECKED), false);
    run_on(create(CPOOL_NO_POISON), false);
    run_on(items_pool(), true);
    misuse();
    puts("handed over");
    return 0;
}

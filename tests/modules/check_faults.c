/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_faults.c - the system refuses: every call in turn, or every call from
 * some point on, or all memory beyond a limit.  Afterwards the pool is whole.
 *
 * Includes waiter.h, pool_impl.h to see which waiters sleep, and the system's.  The
 * five calls that the library makes are defined here, in place of the C library's.
 */
#include "waiter.h"

#include <cpool/events.h>

#include "inside.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/syscall.h>
#endif

/* Sanitizers have their own in that place already. */
#if (defined(SYS_mmap) || defined(SYS_mmap2)) && defined(SYS_mincore) && !SUPPORT_SANITIZED
#define CAN_REFUSE 1
#else
#define CAN_REFUSE 0
#endif

#define NO_REFUSAL "no way here to refuse system calls"
#define NO_LIMIT "sanitizers need address space and memory of their own"

/*
 * ---- Refusing ------------------------------------------------------------
 */

/* A child's message to its parent, too. */
struct refusal {
    _Atomic size_t calls;   /* since it was armed */
    _Atomic size_t refused; /* of them */
    size_t at;              /* the call to refuse, from 1, or 0 for none */
    bool lasting;           /* and all that follow */
};

static struct refusal *refusal; /* shared with children */

static void arm(size_t at, bool lasting)
{
    /* relaxed, here and below: each counts by itself. */
    atomic_store_explicit(&refusal->calls, 0, memory_order_relaxed);
    atomic_store_explicit(&refusal->refused, 0, memory_order_relaxed);
    refusal->lasting = lasting;
    refusal->at = at;
}

static void disarm(void)
{
    refusal->at = 0;
}

#if CAN_REFUSE

static bool is_refused(void)
{
    size_t call;

    if (refusal == NULL || refusal->at == 0)
        return false;
    call = atomic_fetch_add_explicit(&refusal->calls, 1, memory_order_relaxed) + 1;
    if (call != refusal->at && !(refusal->lasting && call > refusal->at))
        return false;
    atomic_fetch_add_explicit(&refusal->refused, 1, memory_order_relaxed);
    errno = ENOMEM;
    return true;
}

/* The system call's arguments are not everywhere those of the function. */
static void *map(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
#if defined(SYS_mmap2)
    /* Offsets in units of 4096 bytes: no test has one. */
    return (void *)syscall(SYS_mmap2, address, size, protection, flags, file,
                           (unsigned long)offset / 4096);
#elif defined(__s390x__)
    unsigned long arguments[6] = { (unsigned long)address, size, (unsigned long)protection,
                                   (unsigned long)flags, (unsigned long)file,
                                   (unsigned long)offset };

    return (void *)syscall(SYS_mmap, arguments);
#else
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
#endif
}

void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset)
{
    if (is_refused())
        return MAP_FAILED;
    return map(address, size, protection, flags, file, offset);
}

int munmap(void *address, size_t size)
{
    return is_refused() ? -1 : (int)syscall(SYS_munmap, address, size);
}

int mprotect(void *address, size_t size, int protection)
{
    return is_refused() ? -1 : (int)syscall(SYS_mprotect, address, size, protection);
}

int madvise(void *address, size_t size, int advice)
{
    return is_refused() ? -1 : (int)syscall(SYS_madvise, address, size, advice);
}

int mincore(void *address, size_t size, unsigned char *states)
{
    return is_refused() ? -1 : (int)syscall(SYS_mincore, address, size, states);
}

#endif

/*
 * ---- A pool's life -------------------------------------------------------
 */

/* Few slots, because each of some thousand lives verifies all of them. */
enum { SLOT_SIZE = 256, CAPACITY = 750, MAX_CAPACITY = 2250 };

struct life {
    unsigned flags;
    size_t max_capacity;
};

static void work_elsewhere(void *argument)
{
    struct hold *hold = argument;

    hold_take(hold, CAPACITY / 3);
    hold_verify(hold);
    hold_free_all(hold);
}

static void free_some(struct hold *hold, uint64_t *random, size_t n)
{
    while (n-- > 0 && hold->count > 0)
        hold_free_one(hold, random_below(random, hold->count));
}

/* More slots are free than that: nothing but a refusal is a reason not to. */
static void reserve(cpool_t *pool)
{
    size_t refused = atomic_load_explicit(&refusal->refused, memory_order_relaxed);
    int code = cpool_reserve(pool, 100);

    if (refused == atomic_load_explicit(&refusal->refused, memory_order_relaxed))
        REQUIRE_EQUAL(code, 0);
    else
        REQUIRE(code == 0 || code == CPOOL_ENOMEM);
}

/* All functions that make system calls, and the steps between. */
static void use(cpool_t *pool, struct hold *hold, struct hold *elsewhere, struct worker *worker)
{
    uint64_t random = 3;

    hold_take(hold, CAPACITY * 2 / 3);
    worker_do(worker, work_elsewhere, elsewhere);
    free_some(hold, &random, hold->count * 9 / 10);
    cpool_trim(pool);
    hold_verify(hold);
    cpool_grow(pool, CAPACITY / 6);
    hold_take(hold, SIZE_MAX);
    free_some(hold, &random, hold->count / 2);
    cpool_shrink(pool, CAPACITY / 3);
    hold_verify(hold);
    reserve(pool);
    hold_take(hold, CAPACITY / 2);
    worker_do(worker, work_elsewhere, elsewhere);
    cpool_flush(pool);
    hold_verify(hold);
}

/* With memory again: nothing is lost, and everything can be had. */
static void require_whole(cpool_t *pool, struct hold *hold, const struct life *life)
{
    cpool_stats_t stats = support_stats(pool);
    size_t most = life->max_capacity != 0 ? life->max_capacity : stats.capacity;

    REQUIRE_EQUAL(stats.live, hold->count);
    REQUIRE_EQUAL(stats.live + stats.in_depot + stats.in_caches + stats.fresh,
                  stats.capacity + stats.slack);
    hold_take(hold, SIZE_MAX);
    REQUIRE(hold->count >= most);
    hold_free_all(hold);
    cpool_grow(pool, SIZE_MAX);
    REQUIRE_EQUAL(support_stats(pool).capacity, support_stats(pool).max_capacity);
    REQUIRE_EQUAL(cpool_reserve(pool, support_stats(pool).max_capacity), 0);
    cpool_trim(pool);
    support_require_live(pool, 0);
}

static void live(void *argument)
{
    const struct life *life = argument;
    cpool_config_t config = support_config(SLOT_SIZE, CAPACITY);
    struct worker *worker = worker_start();
    size_t at = refusal->at;
    struct hold elsewhere;
    struct hold hold;
    cpool_t *pool;
    int code;

    config.flags = life->flags;
    config.max_capacity = life->max_capacity;
    arm(at, refusal->lasting);
    code = cpool_create(&pool, &config);
    if (code != 0) {
        REQUIRE_EQUAL(code, CPOOL_ENOMEM);
        REQUIRE(pool == NULL);
        disarm();
        worker_stop(worker);
        return;
    }
    hold_init(&hold, pool);
    hold_init(&elsewhere, pool);
    use(pool, &hold, &elsewhere, worker);
    disarm();
    require_whole(pool, &hold, life);
    worker_stop(worker);
    hold_fini(&elsewhere);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

/* Until a life has made fewer calls than it would take to be refused one. */
static void refuse_each_in_turn(struct life *life, bool lasting)
{
    size_t at = 0;

    do {
        arm(++at, lasting);
        support_in_child(live, life);
    } while (atomic_load_explicit(&refusal->refused, memory_order_relaxed) > 0);
    REQUIRE(at > 10); /* there were calls to refuse */
    disarm();
}

static void refusals_init(void)
{
    refusal = mmap(NULL, sizeof(*refusal), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    REQUIRE(refusal != MAP_FAILED);
}

START_TEST(refusal_of_any_one_call_leaves_pool_whole)
{
    struct life life = { growth_kinds[_i % GROWTH_KINDS], _i < GROWTH_KINDS ? 0 : MAX_CAPACITY };

    SKIP_IF(!CAN_REFUSE, NO_REFUSAL);
    refusals_init();
    refuse_each_in_turn(&life, false);
}
END_TEST

START_TEST(refusal_of_all_calls_from_any_one_on_leaves_pool_whole)
{
    struct life life = { growth_kinds[_i % GROWTH_KINDS], _i < GROWTH_KINDS ? 0 : MAX_CAPACITY };

    SKIP_IF(!CAN_REFUSE, NO_REFUSAL);
    refusals_init();
    refuse_each_in_turn(&life, true);
}
END_TEST

/* Nothing can be done about it, and nobody is the worse. */
static void destroy_refused(void *argument)
{
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

    (void)argument;
    support_require_obtainable(pool, 0);
    arm(1, true);
    REQUIRE_EQUAL(cpool_destroy(pool), 0);
    disarm();
    pool = support_create_plain(SLOT_SIZE, CAPACITY);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}

START_TEST(refusal_to_unmap_on_destroy_is_endured)
{
    SKIP_IF(!CAN_REFUSE, NO_REFUSAL);
    refusals_init();
    support_in_child(destroy_refused, NULL);
    REQUIRE(atomic_load_explicit(&refusal->refused, memory_order_relaxed) > 0);
}
END_TEST

/* Each operation would want a table, or a cache. */
static void *use_without_table(void *pool)
{
    enum { PAIRS = 50000, MOST_CALLS = 100 };

    arm(1, true);
    for (int i = 0; i < PAIRS; i++) {
        void *slot = cpool_alloc(pool);

        REQUIRE(slot != NULL);
        cpool_free(pool, slot);
    }
    disarm();
    REQUIRE(atomic_load_explicit(&refusal->calls, memory_order_relaxed) > 0);
    REQUIRE(atomic_load_explicit(&refusal->calls, memory_order_relaxed) < MOST_CALLS);
    /* A thread that asks for a cache by name gets it.  Others do after a while. */
    REQUIRE(cpool_cache(pool) != NULL);
    return NULL;
}

static void *use_until_cached(void *pool)
{
    arm(1, true);
    cpool_free(pool, cpool_alloc(pool));
    disarm();
    while (support_stats(pool).thread_caches == 1)
        cpool_free(pool, cpool_alloc(pool));
    return NULL;
}

START_TEST(refusal_of_a_table_is_remembered_for_a_while)
{
    cpool_t *pool;

    SKIP_IF(!CAN_REFUSE, NO_REFUSAL);
    refusals_init();
    pool = support_create_plain(SLOT_SIZE, CAPACITY);
    support_require_obtainable(pool, 0);
    support_in_thread(_i == 0 ? use_without_table : use_until_cached, pool);
    support_require_obtainable(pool, 0);
    support_destroy_empty(pool);
}
END_TEST

/* Neither a slot nor a cache has brought magazines into the pool. */
static void *reserve_without_table(void *argument)
{
    cpool_t *other = argument;
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

    arm(1, true);
    cpool_free(other, cpool_alloc(other));
    disarm();
    REQUIRE_EQUAL(cpool_reserve(pool, CAPACITY), 0);
    REQUIRE_EQUAL(support_stats(pool).thread_caches, 0);
    REQUIRE_EQUAL(support_stats(pool).in_depot, CAPACITY);
    support_destroy_empty(pool);
    return NULL;
}

START_TEST(reserve_by_a_thread_without_a_table_finds_fresh_slots)
{
    cpool_t *other;

    SKIP_IF(!CAN_REFUSE, NO_REFUSAL);
    refusals_init();
    other = support_create_plain(SLOT_SIZE, CAPACITY);
    cpool_free(other, cpool_alloc(other));
    support_in_thread(reserve_without_table, other);
    support_destroy_empty(other);
}
END_TEST

/*
 * ---- Limits --------------------------------------------------------------
 */

static struct rlimit within(struct rlimit limit, rlim_t bytes)
{
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    return limit;
}

static void lift_address_space_limit(void)
{
    struct rlimit limit;

    REQUIRE_EQUAL(getrlimit(RLIMIT_AS, &limit), 0);
    limit = within(limit, RLIM_INFINITY);
    REQUIRE_EQUAL(setrlimit(RLIMIT_AS, &limit), 0);
}

static void set_data_limit(rlim_t bytes)
{
    struct rlimit limit;

    REQUIRE_EQUAL(getrlimit(RLIMIT_DATA, &limit), 0);
    limit = within(limit, bytes);
    REQUIRE_EQUAL(setrlimit(RLIMIT_DATA, &limit), 0);
}

/* A pool as large as this reserves more than a small machine has. */
static cpool_t *create_huge(unsigned flags)
{
    cpool_config_t config = support_config(64, (size_t)1 << 20);

    config.flags = flags;
    config.max_capacity = (size_t)1 << 30;
    return support_create(&config);
}

/* No address space is left beside what was reserved: the pool goes on. */
static void live_without_address_space(void *argument)
{
    cpool_t *pool = create_huge(*(const unsigned *)argument);
    struct hold hold;

    hold_init(&hold, pool);
    REQUIRE_EQUAL(hold_take(&hold, 1000), 1000);
    support_limit_address_space(0);
    REQUIRE_EQUAL(hold_take(&hold, 50000), 50000);
    hold_free(&hold, 25000);
    REQUIRE_EQUAL(cpool_reserve(pool, 100), CPOOL_ENOMEM);
    REQUIRE_EQUAL(cpool_trim(pool), 0);
    hold_verify(&hold);
    support_require_live(pool, hold.count);
    REQUIRE_EQUAL(hold_take(&hold, 25000), 25000);
    lift_address_space_limit();
    hold_free_all(&hold);
    REQUIRE_EQUAL(cpool_reserve(pool, 100), 0);
    REQUIRE(cpool_trim(pool) > 0 || (*(const unsigned *)argument & CPOOL_CHECKED) != 0);
    support_require_live(pool, 0);
    hold_fini(&hold);
    support_destroy_empty(pool);
}

START_TEST(huge_pool_without_address_space_goes_on)
{
    unsigned flags = growth_kinds[_i];

    SKIP_IF(SUPPORT_SANITIZED, NO_LIMIT);
    support_in_child(live_without_address_space, &flags);
}
END_TEST

/* Bytes of private memory that the process may have. */
enum { LIMIT = 64 * 1024 * 1024 };

/* The system commits no more: NULL, until it does again. */
static void live_without_memory(void *argument)
{
    cpool_t *pool = create_huge(*(const unsigned *)argument);
    size_t taken = 0;
    void *first = cpool_alloc(pool);
    size_t before;

    REQUIRE(first != NULL);
    set_data_limit((rlim_t)LIMIT);
    while (cpool_alloc(pool) != NULL)
        taken++;
    REQUIRE(taken > 1000 && taken < LIMIT / 64);
    REQUIRE_EQUAL(support_stats(pool).live, taken + 1);
    cpool_free(pool, first);
    REQUIRE(cpool_alloc(pool) == first);
    before = taken;
    set_data_limit(RLIM_INFINITY);
    while (taken < before + 100000 && cpool_alloc(pool) != NULL)
        taken++;
    REQUIRE_EQUAL(taken, before + 100000);
    REQUIRE_EQUAL(cpool_reset(pool), taken + 1);
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}

START_TEST(huge_pool_without_memory_is_dry_until_there_is_some)
{
    unsigned flags = growth_kinds[_i];

    SKIP_IF(SUPPORT_SANITIZED, NO_LIMIT);
    support_in_child(live_without_memory, &flags);
}
END_TEST

static void wait_for_memory(void *argument)
{
    cpool_t *pool = argument;
    void *slot = waiter_wait(pool);

    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
}

/* The memory is there again, and the thread that takes a slot of it says that
 * there are more. */
START_TEST(wait_without_memory_ends_when_there_is_some)
{
    struct worker *worker = worker_start();
    cpool_config_t config = support_config((size_t)1 << 20, 8);
    void *slots[2];
    cpool_t *pool;

    refusals_init();
    config.flags = CPOOL_WAITABLE;
    pool = support_create(&config);
    slots[0] = cpool_alloc(pool);
    arm(1, true);
    worker_begin(worker, wait_for_memory, pool);
    if (CAN_REFUSE)
        waiter_await_sleep(pool, 1);
    disarm();
    slots[1] = cpool_alloc(pool);
    worker_await(worker);
    for (int i = 0; i < 2; i++)
        cpool_free(pool, slots[i]);
    worker_stop(worker);
    support_destroy_empty(pool);
}
END_TEST

/* No other thread does anything with the pool, and all its slots are free. */
static void count_ring(cpool_t *pool, void *rings)
{
    (void)pool;
    ++*(int *)rings;
}

/* Otherwise an event loop would be called for as long as there is no memory. */
START_TEST(bell_does_not_ring_for_want_of_memory)
{
    cpool_config_t config = support_config((size_t)1 << 20, 8);
    cpool_t *pool;
    void *slot;
    int rings = 0;

    SKIP_IF(!CAN_REFUSE, NO_REFUSAL);
    refusals_init();
    config.flags = CPOOL_WAITABLE;
    pool = support_create(&config);
    REQUIRE_EQUAL(cpool_set_ready(pool, count_ring, &rings), CPOOL_OK);
    arm(1, true);
    for (int i = 0; i < 3; i++) {
        REQUIRE(cpool_alloc_or_notify(pool) == NULL);
        REQUIRE(cpool_alloc(pool) == NULL);
        REQUIRE(cpool_alloc_wait(pool, &(struct timespec){0, 1000}) == NULL);
    }
    disarm();
    REQUIRE_EQUAL(rings, 0);
    slot = cpool_alloc(pool);
    REQUIRE(slot != NULL);
    cpool_free(pool, slot);
    REQUIRE(rings > 0);
    support_destroy_empty(pool);
}
END_TEST

START_TEST(wait_without_memory_tries_again_by_itself)
{
    struct worker *worker = worker_start();
    cpool_config_t config = support_config((size_t)1 << 20, 8);
    cpool_t *pool;

    SKIP_IF(!CAN_REFUSE, NO_REFUSAL);
    refusals_init();
    config.flags = CPOOL_WAITABLE;
    config.max_capacity = _i == 0 ? 0 : 16;
    pool = support_create(&config);
    arm(1, true);
    worker_begin(worker, wait_for_memory, pool);
    inside_await_hunger(pool);
    disarm();
    worker_await(worker);
    worker_stop(worker);
    support_destroy_empty(pool);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(refusal_of_any_one_call_leaves_pool_whole, 2 * GROWTH_KINDS),
        TIMES(refusal_of_all_calls_from_any_one_on_leaves_pool_whole, 2 * GROWTH_KINDS),
        ONCE(refusal_to_unmap_on_destroy_is_endured),
        TIMES(refusal_of_a_table_is_remembered_for_a_while, 2),
        ONCE(reserve_by_a_thread_without_a_table_finds_fresh_slots),
        TIMES(huge_pool_without_address_space_goes_on, GROWTH_KINDS),
        TIMES(huge_pool_without_memory_is_dry_until_there_is_some, GROWTH_KINDS),
        ONCE(wait_without_memory_ends_when_there_is_some),
        ONCE(bell_does_not_ring_for_want_of_memory),
        TIMES(wait_without_memory_tries_again_by_itself, 2),
    };

    return SUPPORT_RUN("faults", tests);
}

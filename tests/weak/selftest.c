/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * selftest.c - does the explorer allow what C11 allows, and find what is wrong?
 *
 * Litmus tests: a few operations of each thread, and an outcome that the model of
 * memory allows or forbids.  A test states the set of its outcomes.  seen must be
 * exactly these, so that an explorer that is too strong fails as well as one that is
 * too weak.  Those that are wrong on purpose state the failure instead.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "genmc.h"
#include "weak.h"

#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define SEQ_CST memory_order_seq_cst

#define STORE(object, value, order) atomic_store_explicit(&(object), (value), (order))
#define LOAD(object, order) atomic_load_explicit(&(object), (order))
#define ADD(object, value, order) atomic_fetch_add_explicit(&(object), (value), (order))
#define FENCE(order) atomic_thread_fence(order)

static _Atomic int x, y;
static int data;
static int a, b, c, d; /* the values that the loads have read */

/* A thread, and a test of up to four of them, with a number as its outcome. */
#define THREAD(name, ...)                \
    static void *name(void *unused)      \
    {                                    \
        (void)unused;                    \
        __VA_ARGS__                      \
        return NULL;                     \
    }

typedef void *body(void *);

static int run(unsigned outcome(void), body *const bodies[], int n)
{
    pthread_t thread[4];

    for (int i = 0; i < n; i++)
        pthread_create(&thread[i], NULL, bodies[i], NULL);
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    weak_outcome(outcome());
    return 0;
}

#define TEST(name, result, ...)                                      \
    static unsigned name##_outcome(void)                             \
    {                                                                \
        return (unsigned)(result);                                   \
    }                                                                \
    static int name(void)                                            \
    {                                                                \
        static body *const bodies[] = {__VA_ARGS__};                 \
        return run(name##_outcome, bodies, sizeof bodies / sizeof bodies[0]); \
    }

/* Message passing: 1 flag and data, 2 flag without the data, 0 no flag. */
#define PASS(name, writer_order, reader_order)                              \
    THREAD(name##_writer, STORE(x, 1, RELAXED); STORE(y, 1, writer_order);) \
    THREAD(name##_reader, a = LOAD(y, reader_order); b = LOAD(x, RELAXED);) \
    TEST(name, a == 0 ? 0 : b == 1 ? 1 : 2, name##_writer, name##_reader)
PASS(pass_relaxed, RELAXED, RELAXED)
PASS(pass_release, RELEASE, ACQUIRE)
PASS(pass_half, RELEASE, RELAXED)
PASS(pass_other_half, RELAXED, ACQUIRE)

THREAD(fence_writer, STORE(x, 1, RELAXED); FENCE(RELEASE); STORE(y, 1, RELAXED);)
THREAD(fence_reader, a = LOAD(y, RELAXED); FENCE(ACQUIRE); b = LOAD(x, RELAXED);)
THREAD(no_fence_reader, a = LOAD(y, RELAXED); b = LOAD(x, RELAXED);)
TEST(pass_fences, a == 0 ? 0 : b == 1 ? 1 : 2, fence_writer, fence_reader)
TEST(pass_one_fence, a == 0 ? 0 : b == 1 ? 1 : 2, fence_writer, no_fence_reader)

/* Store buffering: a and b as two bits. */
#define BUFFER(name, store_order, between, load_order)                             \
    THREAD(name##_1, STORE(x, 1, store_order); between; a = LOAD(y, load_order);)  \
    THREAD(name##_2, STORE(y, 1, store_order); between; b = LOAD(x, load_order);)  \
    TEST(name, a + 2 * b, name##_1, name##_2)
BUFFER(buffer_relaxed, RELAXED, (void)0, RELAXED)
BUFFER(buffer_release, RELEASE, (void)0, ACQUIRE)
BUFFER(buffer_seq_cst, SEQ_CST, (void)0, SEQ_CST)
BUFFER(buffer_half, SEQ_CST, (void)0, RELAXED)
BUFFER(buffer_fences, RELAXED, FENCE(SEQ_CST), RELAXED)
static int swapped(_Atomic int *object)
{
    int expected = 0;

    return atomic_compare_exchange_strong_explicit(object, &expected, 2, SEQ_CST, RELAXED);
}
THREAD(swap_after_1, STORE(x, 1, SEQ_CST); a = !swapped(&y);)
THREAD(swap_after_2, STORE(y, 1, SEQ_CST); b = !swapped(&x);)
TEST(buffer_swap, a + 2 * b, swap_after_1, swap_after_2)
THREAD(barrier_fast, STORE(x, 1, RELAXED); atomic_signal_fence(SEQ_CST); a = LOAD(y, RELAXED);)
THREAD(barrier_slow, STORE(y, 1, RELAXED); weak_barrier_all(); b = LOAD(x, RELAXED);)
TEST(buffer_barrier, a + 2 * b, barrier_fast, barrier_slow)

/* Independent reads of independent writes: 1 if the readers see two orders. */
#define IRIW(name, store_order, load_order)                                          \
    THREAD(name##_1, STORE(x, 1, store_order);)                                      \
    THREAD(name##_2, STORE(y, 1, store_order);)                                      \
    THREAD(name##_3, a = LOAD(x, load_order); b = LOAD(y, load_order);)              \
    THREAD(name##_4, c = LOAD(y, load_order); d = LOAD(x, load_order);)              \
    TEST(name, a == 1 && b == 0 && c == 1 && d == 0, name##_1, name##_2, name##_3, name##_4)
IRIW(iriw_acquire, RELEASE, ACQUIRE)
IRIW(iriw_seq_cst, SEQ_CST, SEQ_CST)

/* Coherence: one location's values are met in one order. */
THREAD(count_to_2, STORE(x, 1, RELAXED); STORE(x, 2, RELAXED);)
THREAD(read_twice, a = LOAD(x, RELAXED); b = LOAD(x, RELAXED);)
THREAD(read_twice_too, c = LOAD(x, RELAXED); d = LOAD(x, RELAXED);)
TEST(coherence_rr, a > b ? 3 : b - a, count_to_2, read_twice)
THREAD(write_1, STORE(x, 1, RELAXED);)
THREAD(write_2, STORE(x, 2, RELAXED);)
TEST(coherence_two, (a == 1 && b == 2 && c == 2 && d == 1) ||
     (a == 2 && b == 1 && c == 1 && d == 2), write_1, write_2, read_twice, read_twice_too)
THREAD(write_and_read, STORE(x, 1, RELAXED); a = LOAD(x, RELAXED);)
TEST(coherence_wr, a, write_and_read, write_2)
THREAD(read_and_write, a = LOAD(x, RELAXED); STORE(x, 1, RELAXED);)
TEST(coherence_rw, 3 * a + x, read_and_write, write_2)

/* Two writes each, in opposite orders: 1 if both first ones are the last. */
#define WRITES(name, order)                                          \
    THREAD(name##_1, STORE(x, 1, order); STORE(y, 2, order);)        \
    THREAD(name##_2, STORE(y, 1, order); STORE(x, 2, order);)        \
    TEST(name, x == 1 && y == 1, name##_1, name##_2)
WRITES(writes_relaxed, RELAXED)
WRITES(writes_seq_cst, SEQ_CST)

/* Load buffering: not explored, for no load reads from a later store. */
THREAD(load_1, a = LOAD(x, RELAXED); STORE(y, 1, RELAXED);)
THREAD(load_2, b = LOAD(y, RELAXED); STORE(x, 1, RELAXED);)
TEST(load_buffering, a + 2 * b, load_1, load_2)

/* Release sequences go through read-modify-writes, not through stores. */
THREAD(publish, data = 1; STORE(x, 1, RELEASE);)
THREAD(pass_on, ADD(x, 1, RELAXED);)
THREAD(overwrite, if (LOAD(x, RELAXED) == 1) STORE(x, 2, RELAXED);)
THREAD(take_2, if (LOAD(x, ACQUIRE) == 2) a = data + 1;)
TEST(sequence_update, a, publish, pass_on, take_2)
TEST(sequence_store, a, publish, overwrite, take_2)

/* Read-modify-writes. */
THREAD(add_1, ADD(x, 1, RELAXED);)
TEST(update_atomic, x, add_1, add_1, add_1)
static int compared(int weak, memory_order failure)
{
    int expected = 0;

    return weak ? atomic_compare_exchange_weak_explicit(&x, &expected, 1, RELAXED, failure)
                : atomic_compare_exchange_strong_explicit(&x, &expected, 1, RELAXED, failure);
}
THREAD(swap_weak, a = compared(1, RELAXED);)
THREAD(swap_strong, a = compared(0, RELAXED);)
THREAD(swap_strong_too, b = compared(0, RELAXED);)
TEST(compare_weak, a, swap_weak)
TEST(compare_strong, a, swap_strong)
TEST(compare_two, a + 2 * b, swap_strong, swap_strong_too)
THREAD(take_if_refused, if (!compared(0, ACQUIRE)) a = data;)
THREAD(look_if_refused, if (!compared(0, RELAXED)) a = data;)
TEST(failure_acquire, a, publish, take_if_refused)
TEST(failure_relaxed, a, publish, look_if_refused)

/* Plain accesses. */
static pthread_mutex_t first, second;
THREAD(count, data++;)
THREAD(count_locked, pthread_mutex_lock(&first); data++; pthread_mutex_unlock(&first);)
THREAD(write_plainly, *(int *)&x = 1;)
TEST(race_plain, data, count, count)
TEST(race_locked, data, count_locked, count_locked)
TEST(race_mixed, x, write_plainly, add_1)
THREAD(write_later, if (LOAD(x, RELAXED) == 1) *(int *)&x = 2;)
TEST(race_after_atomic, x, write_1, write_later)

/* The planted mistakes. */
THREAD(lock_both, pthread_mutex_lock(&first); pthread_mutex_lock(&second);
       pthread_mutex_unlock(&second); pthread_mutex_unlock(&first);)
THREAD(lock_backwards, pthread_mutex_lock(&second); pthread_mutex_lock(&first);
       pthread_mutex_unlock(&first); pthread_mutex_unlock(&second);)
TEST(planted_deadlock, 0, lock_both, lock_backwards)
THREAD(crash, if (LOAD(x, RELAXED) == 1) *(volatile int *)(intptr_t)(x - 1) = 1;)
TEST(planted_crash, 0, add_1, crash)
THREAD(turn, while (LOAD(x, RELAXED) != 3) ;)
TEST(planted_loop, 0, turn)

/* A stack of three nodes: while one thread pops, another pops two and pushes the first
 * of them back.  With a tag above the node's number each has nodes of its own.  Without
 * one the first thread takes a node that the second has kept. */
static _Atomic int below[4] = {0, 2, 3, 0};
static _Atomic int top = 1;
static int taken[4], put[4];
static int pop(int tag)
{
    int old = LOAD(top, ACQUIRE);

    while (!atomic_compare_exchange_weak_explicit(
        &top, &old, ((old & ~3) + tag) | LOAD(below[old & 3], RELAXED), ACQUIRE, ACQUIRE))
        ;
    taken[old & 3]++;
    return old & 3;
}
static void recycle(int tag)
{
    int node = pop(tag), old;

    pop(tag);
    put[node]++;
    old = LOAD(top, RELAXED);
    do
        STORE(below[node], old & 3, RELAXED);
    while (!atomic_compare_exchange_weak_explicit(&top, &old, (old & ~3) | node, RELEASE,
                                                  RELAXED));
}
static int taken_twice(void)
{
    return taken[1] > 1 + put[1] || taken[2] > 1 + put[2] || taken[3] > 1 + put[3];
}
THREAD(pop_two, pop(0); pop(0);)
THREAD(recycle_one, recycle(0);)
TEST(planted_aba, taken_twice(), pop_two, recycle_one)
THREAD(pop_two_tagged, pop(4); pop(4);)
THREAD(recycle_one_tagged, recycle(4);)
TEST(tagged_aba, taken_twice(), pop_two_tagged, recycle_one_tagged)

#define ONLY(outcome) (1u << (outcome))

struct test {
    const char *name;
    int (*model)(void);
    unsigned outcomes;
    const char *failure;
};

#define SEES(name, outcomes) {#name, name, (outcomes), NULL}
#define FAILS(name, why) {#name, name, 0, (why)}

static const struct test tests[] = {
    SEES(pass_relaxed, ONLY(0) | ONLY(1) | ONLY(2)),
    SEES(pass_release, ONLY(0) | ONLY(1)),
    SEES(pass_half, ONLY(0) | ONLY(1) | ONLY(2)),
    SEES(pass_other_half, ONLY(0) | ONLY(1) | ONLY(2)),
    SEES(pass_fences, ONLY(0) | ONLY(1)),
    SEES(pass_one_fence, ONLY(0) | ONLY(1) | ONLY(2)),
    SEES(buffer_relaxed, ONLY(0) | ONLY(1) | ONLY(2) | ONLY(3)),
    SEES(buffer_release, ONLY(0) | ONLY(1) | ONLY(2) | ONLY(3)),
    SEES(buffer_seq_cst, ONLY(1) | ONLY(2) | ONLY(3)),
    SEES(buffer_half, ONLY(0) | ONLY(1) | ONLY(2) | ONLY(3)),
    SEES(buffer_fences, ONLY(1) | ONLY(2) | ONLY(3)),
    SEES(buffer_swap, ONLY(1) | ONLY(2) | ONLY(3)),
    SEES(buffer_barrier, ONLY(1) | ONLY(2) | ONLY(3)),
    SEES(iriw_acquire, ONLY(0) | ONLY(1)),
    SEES(iriw_seq_cst, ONLY(0)),
    SEES(coherence_rr, ONLY(0) | ONLY(1) | ONLY(2)),
    SEES(coherence_two, ONLY(0)),
    SEES(coherence_wr, ONLY(1) | ONLY(2)),
    SEES(coherence_rw, ONLY(1) | ONLY(2) | ONLY(7)),
    SEES(writes_relaxed, ONLY(0) | ONLY(1)),
    SEES(writes_seq_cst, ONLY(0)),
    SEES(load_buffering, ONLY(0) | ONLY(1) | ONLY(2)),
    SEES(sequence_update, ONLY(0) | ONLY(2)),
    FAILS(sequence_store, "data race"),
    SEES(update_atomic, ONLY(3)),
#ifdef __clang__ /* calls the same for a weak one as for a strong one */
    SEES(compare_weak, ONLY(1)),
#else
    SEES(compare_weak, ONLY(0) | ONLY(1)),
#endif
    SEES(compare_strong, ONLY(1)),
    SEES(compare_two, ONLY(1) | ONLY(2)),
    SEES(failure_acquire, ONLY(0) | ONLY(1)),
    FAILS(failure_relaxed, "data race"),
    FAILS(race_plain, "data race"),
    SEES(race_locked, ONLY(2)),
    FAILS(race_mixed, "data race"),
    FAILS(race_after_atomic, "data race"),
    FAILS(planted_deadlock, "deadlock"),
    FAILS(planted_crash, "signal"),
    SEES(planted_loop, 0),
    SEES(planted_aba, ONLY(0) | ONLY(1)),
    SEES(tagged_aba, ONLY(0)),
};

static unsigned seen(const struct weak_result *result)
{
    unsigned i, outcomes = 0;

    for (i = 0; i < WEAK_OUTCOMES; i++)
        if (result->outcomes[i] != 0)
            outcomes |= ONLY(i);
    return outcomes;
}

/* The execution that failed fails again, alone, and for the same reason. */
static int repeats(const struct test *test, const struct weak_result *result)
{
    const struct weak_options again = {.only = result->seed, .replay = true};
    struct weak_result repeated;

    weak_explore(test->model, &again, &repeated);
    return repeated.failed && strcmp(repeated.why, result->why) == 0;
}

static int passes(const struct test *test, const struct weak_result *result)
{
    if (test->failure != NULL)
        return result->failed && strstr(result->why, test->failure) != NULL &&
               repeats(test, result);
    return !result->failed && seen(result) == test->outcomes;
}

int main(void)
{
    static const struct weak_options options = {.seed = 1, .executions = 4000};
    struct weak_result result;
    int failed = 0;

    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        weak_explore(tests[i].model, &options, &result);
        if (passes(&tests[i], &result))
            continue;
        failed++;
        printf("%s: outcomes %#x instead of %#x, %s instead of %s\n", tests[i].name,
               seen(&result), tests[i].outcomes, result.failed ? result.why : "no failure",
               tests[i].failure != NULL ? tests[i].failure : "none");
    }
    printf("%zu litmus tests, %d failed\n", sizeof tests / sizeof tests[0], failed);
    return failed != 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak.h - an explorer of C11's weak memory: the parts that its files share.
 *
 * A model is compiled with -fsanitize=thread, which turns each atomic operation
 * and each plain access into a call, and is linked with this run-time instead of
 * ThreadSanitizer's.  The run-time executes the model many times, each time with
 * other choices drawn from a seed: which thread is next, which store a load
 * reads, where a store goes in modification order, whether a weak
 * compare-and-swap fails for no reason.
 *
 *   weak_main.c     options, reports                    weak_tsan.c   the calls
 *   weak_explore.c  one execution after another         weak_race.c   data races
 *   weak_threads.c  threads as coroutines               weak_memory.c atomics
 *
 * The idea is that of C11Tester (W.  Luo, B.  Demsky, "C11Tester: a race detector for
 * C/C++ atomics", ASPLOS 2021).  The memory is that of the view machines of J.  Kang et
 * al., "A promising semantics for relaxed-memory concurrency", POPL 2017, without
 * promises: RC11, in which a load reads from a store that has been executed.
 *
 *   location   newest last, in modification order
 *     |
 *     +--> store 0 --> store 7 --> store 9 --> store 8
 *                        ^                       ^
 *                        view of thread 1        view of thread 2
 *
 * A view says how far a thread has come in each location's modification order:
 * it may read the store there or any later one, and nothing older (coherence).
 * A release store carries its thread's view, an acquire load that reads it takes
 * it over.  The clocks in a view say the same of plain accesses.
 *
 * All that the run-time knows of an execution lies in one weak_world, outside of
 * the program's data, which is put back before each execution.
 */
#ifndef WEAK_H
#define WEAK_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* The whole library takes more of everything than a model of a part, which is faster with less. */
#ifndef WEAK_SCALE
#define WEAK_SCALE 1
#endif

enum {
    WEAK_THREADS = 8,                    /* the main thread is 0 */
    WEAK_LOCATIONS = 256 * WEAK_SCALE,   /* atomic words */
    WEAK_STORES = 16384 * WEAK_SCALE,    /* of one execution, where 0 is none */
    WEAK_VIEWS = 4096 * WEAK_SCALE,      /* that stores carry */
    WEAK_CELLS = 8192 * WEAK_SCALE,      /* of eight bytes each, a power of two */
    WEAK_PLACES = 1024 * WEAK_SCALE,     /* of the table that finds locations, a power of two */
    WEAK_LOCKS = 16,                     /* mutexes */
    WEAK_OUTCOMES = 16,
    WEAK_STACK = 256 * 1024,
    WEAK_TLS = 4096 /* thread-local bytes of a model */
};

struct weak_view {
    uint16_t clock[WEAK_THREADS];
    uint16_t seen[WEAK_LOCATIONS]; /* a store each, or 0: from the first on */
};

struct weak_store {
    uint64_t value;
    const struct weak_view *view; /* the view that an acquire takes over, or NULL */
    uint32_t rank;                /* place in modification order, from 1 */
    uint16_t next;                /* the newer neighbour, or 0 for the newest */
    bool taken;                   /* read by the read-modify-write that is `next` */
};

struct weak_location {
    uintptr_t address;
    uint16_t first;
    uint16_t last;
    uint8_t size;
};

enum weak_state { WEAK_UNUSED, WEAK_READY, WEAK_BLOCKED, WEAK_ENDED };

struct weak_thread {
    struct weak_view now;      /* its view */
    struct weak_view acquired; /* and will have after an acquire fence */
    struct weak_view released; /* its view at its last release fence */
    bool has_released;
    enum weak_state state;
    const void *waits_for; /* a thread, or a mutex, if blocked */
    unsigned priority;
    void *(*body)(void *);
    void *argument;
    void *result;
    bool started;
    jmp_buf place; /* where it goes on */
    char tls[WEAK_TLS];
    char *stack;
};

/* Plain and atomic accesses to one byte: the clock of each thread's last. */
struct weak_byte {
    uint16_t read[WEAK_THREADS];
    uint16_t write[WEAK_THREADS];
    uint16_t atomic_read[WEAK_THREADS];
    uint16_t atomic_write[WEAK_THREADS];
};

struct weak_cell {
    uintptr_t number; /* address / 8 */
    uint32_t execution;
    struct weak_byte bytes[8];
};

struct weak_lock {
    const void *mutex;
    bool held;
    struct weak_view view;
};

/* How an execution draws its choices: one in so many. */
struct weak_style {
    unsigned switches;
    unsigned stale;
    unsigned lag;  /* if not 0: one in so many locations is always stale, */
    unsigned salt; /* which of them */
    unsigned inserts;
    unsigned spurious;
    bool priorities; /* the ready thread with the highest runs, until it loses it */
};

enum weak_end { WEAK_COMPLETE = 1, WEAK_DROPPED, WEAK_FAILED };

struct weak_options {
    uint64_t seed;
    uint64_t executions;
    uint64_t only; /* the seed of the one execution, if it is replayed */
    bool replay;
    bool trace; /* each step is printed */
};

struct weak_result {
    uint64_t complete;
    uint64_t dropped;
    bool failed;
    uint64_t seed; /* of the execution that failed */
    char why[256];
    uint64_t outcomes[WEAK_OUTCOMES]; /* of complete executions */
};

struct weak_world {
    struct weak_options options;
    struct weak_result result;
    struct weak_style style;
    uint64_t random;
    uint32_t execution;
    unsigned steps;
    unsigned outcome;
    const void *where; /* the call that is served */
    bool running;
    int threads;
    int current;
    int locations;
    int stores;
    int views;
    int locks;
    jmp_buf home;
    ucontext_t context;
    int (*model)(void);
    char *tls; /* the thread-local block that coroutines share */
    size_t tls_size;
    char tls_image[WEAK_TLS];
    struct weak_view sequential; /* the view that the next sequentially consistent one must
                                    have */
    struct weak_thread thread[WEAK_THREADS];
    struct weak_location location[WEAK_LOCATIONS];
    uint16_t place[WEAK_PLACES]; /* location + 1, or 0 */
    struct weak_store store[WEAK_STORES];
    struct weak_view view[WEAK_VIEWS];
    struct weak_lock lock[WEAK_LOCKS];
    struct weak_cell cell[WEAK_CELLS];
};

extern struct weak_world *weak_world;

/* The thread that runs. */
static inline struct weak_thread *weak_self(void)
{
    return &weak_world->thread[weak_world->current];
}

/* weak_explore.c: makes the world, once, before the first call of any other. */
void weak_init(void);

/* Runs the model as often as the options say, until it fails. */
void weak_explore(int (*model)(void), const struct weak_options *options,
                  struct weak_result *result);

/* A number below n, and true once in n times. */
unsigned weak_random(unsigned n);
bool weak_chance(unsigned n);

/* Ends the execution. */
_Noreturn void weak_end(enum weak_end end);
_Noreturn void weak_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
void weak_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* weak_threads.c: a thread that makes a step may have to let others go first. */
void weak_step(void);

/* Finds the thread-local block.  Returns false if it is too large to be shared. */
bool weak_threads_init(void);

/* Begins an execution with its main thread. */
_Noreturn void weak_threads_start(void);

/* weak_memory.c: atomic operations.  The orders are those of __ATOMIC_*. */
typedef uint64_t weak_operation(uint64_t old, uint64_t operand);

uint64_t weak_load(uintptr_t address, unsigned size, int order);
void weak_store(uintptr_t address, unsigned size, uint64_t value, int order);
uint64_t weak_update(uintptr_t address, unsigned size, weak_operation *operation,
                     uint64_t operand, int order);
bool weak_compare_swap(uintptr_t address, unsigned size, uint64_t *expected, uint64_t desired,
                       bool weak, int success, int failure);
void weak_fence(int order);
void weak_barrier(void);
void weak_join(struct weak_view *into, const struct weak_view *from);

/* weak_race.c: notes an access of the running thread and fails if it races. */
enum weak_access { WEAK_READ, WEAK_WRITE, WEAK_ATOMIC_READ, WEAK_ATOMIC_WRITE };

void weak_access(uintptr_t address, size_t size, enum weak_access access);

#endif /* WEAK_H */

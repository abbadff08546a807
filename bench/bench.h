/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench.h - what rivals, workloads and the measuring engine share.
 *
 * Includes nothing of the library or of this folder.  Valid C11 and C++11, because some rivals are
 * C++ templates.
 *
 *   main.c        arguments, the order of things, progress
 *     arguments.c the command line
 *     contestants.c  who takes part
 *     plan.c      the matrix: which workloads, with how many threads
 *     cell.c      one process per measurement: starts it, reads its answer
 *     report*.c   table, CSV, JSON, histograms
 *   measure.c     inside that process: threads, barrier, clock
 *     rival_*.c   one file per rival, which includes ...
 *     workload_*.h   ... every workload, so that both are compiled together
 *
 * A cell is one rival under one workload with one number of threads.  It runs in its own process,
 * so that a rival that replaces malloc (LD_PRELOAD) differs from the others in nothing else, and no
 * rival inherits the heap of the previous one.
 *
 * Each workload is compiled once per rival, in the rival's own file, so that a rival is called as
 * its users call it: cpool inline, malloc directly, and with the pool in a global variable, as in a
 * program.  Every operation loads that variable again, because the code between two operations may
 * change it.  A rival that is called with something else (malloc with a size, or an explicit cache)
 * defines RIVAL_HAS_HANDLES and keeps it in a local variable.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../tests/harness/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Padding that keeps data of two threads out of each other's cache lines. */
#define BENCH_LINE 128

/* Bytes before the head that some rivals need in a node (workload_retire.h). */
#define RETIRE_HEAD 16

/* Operations in a chunk, between two readings of the clock: enough to hide their cost. */
#define BENCH_CHUNK 4096u

/* The order in which a burst's slots are freed. */
enum bench_order { BENCH_LIFO, BENCH_FIFO, BENCH_RANDOM };

/* What one process measures.  Constant meanwhile. */
struct bench_cell {
    size_t parameter;       /* for the workload: burst length, working set, ... */
    enum bench_order order; /* of the frees in bursts */
    size_t slot_size;       /* bytes, 8 or more */
    const char *config;     /* of libcpool's pools, KEY=VALUE,... or "" */
    uint64_t seed;          /* of all pseudo-random numbers */
    unsigned threads;
    unsigned milliseconds; /* to measure for; 0: one chunk, no warm-up */
    size_t capacity;       /* slots a pool of fixed size must hold; derived */
};

struct bench_shared;
struct bench_rival;

/* One thread of a workload.  Written by that thread alone. */
struct bench_worker {
    void *handle;                  /* the handle that the rival gave this thread */
    void *state;                   /* the workload's */
    const struct bench_cell *cell; /* constant */
    struct bench_shared *shared;   /* see below */
    uint64_t random;               /* a generator */
    uint64_t stamp;                /* next word to write into a slot */
    uint64_t sum;                  /* of all words read back */
    uint64_t timed;                /* nanoseconds that count: BENCH_SELF_TIMED */
    unsigned index;                /* 0 to threads - 1 */
    char padding[BENCH_LINE];
};

/* Data that the threads of a cell share. */
struct bench_shared {
    const struct bench_cell *cell;   /* constant while threads run */
    const struct bench_rival *rival; /* constant */
    void *state;                     /* the workload's, made by its prepare */
    char padding0[BENCH_LINE];
    unsigned arrived;    /* atomic: threads waiting at the barrier */
    unsigned generation; /* atomic: barriers passed */
    char padding1[BENCH_LINE];
    bool stop;   /* atomic: a thread has passed its deadline */
    bool agreed; /* written by thread 0 between two barriers */
};

/* Traits of a workload. */
#define BENCH_LOCKSTEP 0x1u /* chunks contain barriers, so all threads do the same number */
#define BENCH_ONCE 0x2u     /* one chunk is the whole run, on fresh memory */
#define BENCH_PAIRED 0x4u   /* two threads do one operation together */
#define BENCH_CREATES 0x8u  /* measures creating pools; rivals without pools are left out */
#define BENCH_ZEROES 0x10u  /* needs an alloc that clears */
#define BENCH_SELF_TIMED 0x20u /* sets `timed` to how long it did what it measures */
#define BENCH_TWO 0x40u /* exactly two threads, with different roles */

struct bench_workload {
    const char *name;
    const char *summary; /* one line: the work of a thread */
    const char *unit;    /* what is counted */
    unsigned traits;
    unsigned minimum_threads;
    size_t (*live)(const struct bench_cell *cell); /* the most slots live at a time */
    uint64_t (*chunk)(struct bench_worker *self);  /* returns operations done */
    /* The others may be NULL, and are called in this order. */
    void (*prepare)(struct bench_shared *shared);   /* once, before the threads */
    void (*setup)(struct bench_worker *self);       /* in each thread */
    void (*begin)(struct bench_worker *self);       /* in each thread, after warm-up */
    void (*teardown)(struct bench_worker *self);    /* in each: free what is live */
    void (*report)(const struct bench_worker *all); /* once: further metrics */
};

/*
 * The instrumentation of this build, if any.  Allocators cannot be replaced under a sanitizer, and
 * some rivals do things that it (rightly) complains about.
 */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BENCH_SANITIZER "AddressSanitizer"
#elif __has_feature(thread_sanitizer)
#define BENCH_SANITIZER "ThreadSanitizer"
#elif __has_feature(memory_sanitizer)
#define BENCH_SANITIZER "MemorySanitizer"
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define BENCH_SANITIZER "AddressSanitizer"
#elif defined(__SANITIZE_THREAD__)
#define BENCH_SANITIZER "ThreadSanitizer"
#endif

/* Traits of a rival. */
#define BENCH_OURS 0x1u   /* libcpool itself: ratios are of the others to it */
#define BENCH_LIMIT 0x2u  /* not a rival, but the limit of the machine */
#define BENCH_SINGLE 0x4u /* one thread only */
#define BENCH_POOL 0x8u   /* has pools of fixed capacity that can be created */
#define BENCH_EAGER 0x10u /* creating a pool writes to every slot */
#define BENCH_STRANDS 0x20u /* slots in one thread's cache are out of reach for all others */
#define BENCH_MODE 0x40u  /* a mode of libcpool, shown only in the lines of the modes */

/* Figures of a pool of libcpool since its creation. */
struct bench_exchanges {
    double exchanges; /* magazines that caches exchanged with the depot */
};

struct bench_rival {
    const char *name;
    const char *summary;
    unsigned traits;
    size_t smallest, largest;                       /* slot sizes it can do, bytes */
    const char *(*absent)(void);                    /* why it cannot run, or NULL */
    const char *(*version)(void);                   /* the version that really runs, or
                                                       NULL */
    void *(*create)(const struct bench_cell *cell); /* NULL: no memory */
    void (*destroy)(void *pool);
    void *(*enter)(void *pool);                     /* in each thread: its handle, or
                                                       NULL when the handle is the
                                                       pool */
    void (*leave)(void *handle);                    /* or NULL */
    const struct bench_workload *const *workloads;  /* all, ended by NULL */
    void (*exchanges)(void *pool, struct bench_exchanges *so_far); /* or NULL */
};

/* A rival that was left out of the build, which is named nevertheless. */
#define BENCH_ABSENT(id, name, summary, reason)                                       \
    static const char *id##_absent(void)                                              \
    {                                                                                 \
        return reason;                                                                \
    }                                                                                 \
    const struct bench_rival bench_rival_##id = { name, summary, 0, 8, SIZE_MAX,      \
        id##_absent, NULL, NULL, NULL, NULL, NULL, NULL, NULL };

/* ---- What rivals may use ----------------------------------------------------- */

/* The address of a function in a library that need not be present when this is built, or NULL.  A
 * call through it costs as much as a call into any shared library: one indirect jump. */
typedef void (*bench_function)(void);
bench_function bench_symbol(const char *library, const char *name);

/* ---- What measure.c offers -------------------------------------------------- */

/* Measures one cell in this process, and prints the answer for cell.c. */
void bench_measure(const struct bench_rival *rival, const struct bench_workload *workload,
                   struct bench_cell *cell);

/* Ends this process with a reason for the report. */
#if defined(__GNUC__)
__attribute__((__noreturn__, __cold__, __format__(__printf__, 1, 2)))
#endif
void bench_fail(const char *format, ...);

/* Ends this process because the cell makes no sense for this rival. */
#if defined(__GNUC__)
__attribute__((__noreturn__, __cold__))
#endif
void bench_leave_out(const char *reason);

/* Answers the parent: one named number, or `count` values in a histogram's bucket. */
void bench_metric(const char *name, double value);
void bench_bucket(const char *what, size_t index, uint64_t count);

/* Memory that is cleared, touched and aligned to BENCH_LINE, or bench_fail. */
void *bench_memory(size_t count, size_t size);

/* Waits for all threads of the cell. */
void bench_barrier(struct bench_shared *shared);

/* Shuffles n numbers. */
void bench_shuffle(uint32_t *numbers, size_t n, uint64_t *random);

/* Bytes of this process that are resident now. */
size_t bench_resident(void);

/* Nanoseconds of a monotonic clock. */
uint64_t bench_now(void);

/* Nanoseconds of processor time that the calling thread and the process have used so far. */
uint64_t bench_thread_time(void);
uint64_t bench_process_time(void);

/* ---- Inline helpers of the workloads ---------------------------------------- */

#define BENCH_UNLIKELY(x) __builtin_expect(!!(x), 0)

/*
 * Tells the compiler that `p` may be anything and that any memory may have been written.  It stands
 * for the code that a real program has between allocating a slot and freeing it.  Without it the
 * compiler could remove a pair, or keep words in registers that every operation must load
 * (thread-local words, counts).
 */
#define BENCH_HIDE(p) __asm__ __volatile__("" : "+r"(p) : : "memory")

/* Uses a new slot as a program would: tests it and writes to it. */
static inline void *bench_take(void *slot, uint64_t stamp)
{
    if (BENCH_UNLIKELY(slot == NULL))
        bench_fail("the pool ran dry");
    BENCH_HIDE(slot);
    *(volatile uint64_t *)slot = stamp;
    return slot;
}

/*
 * Reads back what bench_take wrote.  The sums of all words written and read are compared at the
 * end, so a slot handed out twice is noticed.
 */
static inline uint64_t bench_read(void *slot)
{
    uint64_t word = *(volatile uint64_t *)slot;

    BENCH_HIDE(slot);
    return word;
}

/* Clears a slot, for rivals that have no call for that. */
static inline void *bench_clear(void *slot, size_t size)
{
    return slot == NULL ? NULL : memset(slot, 0, size);
}

/*
 * The pool that the threads of the cell share.  Hidden, so that it is loaded by one instruction,
 * like a program's own variable.  Constant while threads run.
 */
#if defined(__GNUC__)
__attribute__((__visibility__("hidden")))
#endif
extern void *bench_pool;

/* The argument of a rival's calls.  It is evaluated for every operation (see above). */
#ifdef RIVAL_HAS_HANDLES
#define BENCH_HANDLE(handle) (handle)
#else
#define BENCH_HANDLE(handle) ((void)(handle), bench_pool)
#endif

/* Creates and ends the calling thread's handle of the pool. */
static inline void *bench_enter(const struct bench_shared *shared)
{
    return shared->rival->enter == NULL ? bench_pool : shared->rival->enter(bench_pool);
}

static inline void bench_leave(const struct bench_shared *shared, void *handle)
{
    if (shared->rival->leave != NULL)
        shared->rival->leave(handle);
}

/* Relaxed: the flag only ends loops. */
static inline bool bench_stopped(const struct bench_shared *shared)
{
    return __atomic_load_n(&shared->stop, __ATOMIC_RELAXED);
}

/* Waits a moment; `spins` counts how often in a row.  Yields after a while, so that more threads
 * than processors still make progress.  A pause can take as long as ten allocations. */
void bench_yield(void);

static inline void bench_pause(unsigned *spins)
{
    if (++*spins > 8u) {
        *spins = 0;
        bench_yield();
        return;
    }
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

#ifdef __cplusplus
}
#endif

#endif /* BENCH_H */

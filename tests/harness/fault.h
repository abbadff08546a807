/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fault.h - tables of what a public function returns when the system refuses one of its
 * calls.
 *
 * A case is one public function in one setting.  Its rows are the calls of the system that
 * the function makes where nothing is refused, in that order.  Each row says the result when
 * this call alone is refused, and when all that follow are, too.
 *
 * Each public function has a case but those that read, count or compare words alone, or set
 * one: figures, names and codes, indices and handles, cpool_of, active objects, and layers.  The
 * halves out of line of inline functions are reached by those.  The two functions that unload
 * typed pools are for destructors, and close.
 */
#ifndef CPOOL_TESTS_FAULT_H
#define CPOOL_TESTS_FAULT_H

#include "support.h"

#include "refuse.h"

/* Results of functions that return a pointer. */
enum { NONE = 0, SOME = 1 };

struct fault_row {
    enum refuse_call call;
    unsigned first; /* of this kind of call, from 1 */
    unsigned last;  /* of those that come one after the other and have the same results */
    int once;
    int lasting;
};

/* The things that a case's functions share.  Zero at first. */
struct fault_scene {
    unsigned flags; /* the case's */
    cpool_t *pool;
    void *object;
    void *memory;
    void *slot;
    size_t count;
    void *slots[256];
};

struct fault_case {
    const char *name; /* begins with the function's */
    unsigned flags;
    void (*before)(struct fault_scene *scene); /* or NULL */
    int (*call)(struct fault_scene *scene);    /* calls the function, and returns its result */
    void (*after)(struct fault_scene *scene);  /* verifies all that there is, and ends it */
    int result;                                /* where nothing is refused */
    const struct fault_row *rows;
    size_t row_count;
};

/* The function of a case that is one call. */
#define FAULT_CALL(name, call)                                                               \
    static int name(struct fault_scene *scene)                                               \
    {                                                                                        \
        (void)scene;                                                                         \
        return call;                                                                         \
    }

/* The rows of a case in a table at file scope. */
#define ROWS(...)                                                                            \
    (const struct fault_row[]){__VA_ARGS__},                                                 \
        sizeof((const struct fault_row[]){__VA_ARGS__}) / sizeof(struct fault_row)
#define NO_ROWS NULL, 0

/* Rows of a thread that takes a cache and memory at its first use: its table, its end, and so many
 * steps of memory. */
#define FIRST_USE(steps, once, lasting)                                                      \
    { MMAP, 1, 1, once, lasting }, { SETSPECIFIC, 1, 1, once, lasting },                     \
        { MPROTECT, 1, (steps) - 1, once, lasting }

/* Those of a process that makes its first pool.  Without the barrier there are pools. */
#define FIRST_POOL(refused, once, lasting)                                                   \
    { ATEXIT, 1, 1, refused, refused }, { KEY_CREATE, 1, 1, refused, refused },              \
        { MEMBARRIER, 1, 2, once, lasting }

/*
 * Requires that the function makes the calls of the rows and no others, and that each
 * refusal has the result of its row.  A call that failed must succeed when it is repeated with
 * nothing refused, but for one that has lost the barrier, which nobody asks for any more.  No
 * more must be left at the end than where nothing was refused.  Each run is one in a child.
 *
 * Calls that not every system makes may be missing: MADVISE, MEMBARRIER, OPEN, READ
 * and MUNMAP, which trims a range that did not happen to be aligned.
 */
void fault_run(const struct fault_case *tried);

/* A test that runs each case of a table. */
#define TEST_FAULTS(name, cases)                                                             \
    TEST_TIMES(name, sizeof(cases) / sizeof((cases)[0]))                                     \
    {                                                                                        \
        fault_run(&(cases)[_i]);                                                             \
    }

#endif /* CPOOL_TESTS_FAULT_H */

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel.h - one kernel: how it begins, and how its result is verified.
 *
 * Jobs of all kernels share one kind of node.  A job counts in `sum`, and when it is done
 * its continuation adds that to its parent's.
 *
 * Includes scheduler.h.
 */
#ifndef JOBS_KERNEL_H
#define JOBS_KERNEL_H

#include "scheduler.h"

struct kernel_job {
    struct job head; /* first */
    _Atomic uint64_t sum;
    uint32_t a, b, c, d; /* arguments, as the kernel takes them */
    int *from;
};

struct kernel {
    const char *name;
    const char *what; /* one line for the table */
    bool (*setup)(void);                       /* or NULL; false: out of memory */
    void (*start)(struct worker *, void *);    /* the first job; the result goes to *context */
    bool (*is_right)(uint64_t result);
    void (*clean)(void);                       /* or NULL */
};

/* The job with this head. */
static inline struct kernel_job *kernel_job_of(struct job *job)
{
    return (struct kernel_job *)(void *)job;
}

/* The continuation of most jobs. */
void kernel_add_up(struct worker *worker, struct job *job);

/* A job below `parent`, for which the caller has room: see job_prepare. */
struct kernel_job *kernel_prepare(struct worker *worker, struct job *parent,
                                  struct kernel_job *room, job_function *body,
                                  job_function *continuation);

/* The first job, which leaves its sum in *result. */
void kernel_begin(struct worker *worker, uint64_t *result, job_function *body, uint32_t a,
                  int *from);

extern const struct kernel kernel_fib;
extern const struct kernel kernel_nqueens;
extern const struct kernel kernel_quicksort;
extern const struct kernel kernel_cholesky;
extern const struct kernel kernel_message_ring;

#endif /* JOBS_KERNEL_H */

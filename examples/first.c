/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * first.c - a typed pool, a slot, and back: word for word the example of README.md,
 * to which check-examples.sh holds it.
 *
 *     cc first.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool.h>

struct job { int number; };

CPOOL_DECLARE(jobs, struct job);                    /* in a header */
CPOOL_DEFINE(jobs, struct job, .capacity = 100000); /* in one source file */

int main(void)
{
    struct job *job = jobs_alloc(); /* any thread; NULL when all are out */
    if (job != NULL)
        job->number = 1;
    jobs_free(job);                 /* any thread */
    return jobs_close() == 0 ? 0 : 1; /* 0: no slot is still live */
}

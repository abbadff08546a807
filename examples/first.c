/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * first.c - a pool, a slot, and back: word for word the example of README.md,
 * to which check-examples.sh holds it.
 *
 *     cc first.c $(pkg-config --cflags --libs cpool)
 */
#include <stdio.h>
#include <cpool.h>

struct job { int number; };

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *jobs;
    config.slot_size = sizeof(struct job);
    config.capacity = 100000;
    if (cpool_create(&jobs, &config) != 0)
        return 1;
    struct job *job = cpool_alloc(jobs); /* any thread; NULL when all are out */
    if (job != NULL)
        job->number = 1;
    cpool_print(jobs, stdout);
    cpool_free(jobs, job);      /* any thread */
    return cpool_destroy(jobs) == 0 ? 0 : 1; /* 0: no slot is still live */
}

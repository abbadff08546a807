/* SPDX-License-Identifier: BSD-2-Clause */
/* job.c - a program of a user of the library, valid C and C++: jobs that make jobs. */
#include <stdio.h>
#include <cpool.h>

struct job {
    struct job *next;
    unsigned depth;
};

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *jobs;
    struct job *todo = NULL;
    unsigned done = 0;

    config.slot_size = sizeof(struct job);
    config.capacity = 1000;
    if (cpool_create(&jobs, &config) != 0 || (todo = (struct job *)cpool_calloc(jobs)) == NULL)
        return 1;
    for (struct job *job; (job = todo) != NULL; done++) {
        todo = job->next;
        for (int child = 0; child < 2 && job->depth < 9; child++) {
            struct job *made = (struct job *)cpool_alloc(jobs);
            if (made == NULL)
                return 1;
            made->depth = job->depth + 1;
            made->next = todo;
            todo = made;
        }
        cpool_free(jobs, job);
    }
    printf("%u jobs done\n", done);
    return done == 1023 && cpool_destroy(jobs) == 0 ? 0 : 1;
}

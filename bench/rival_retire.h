/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_retire.h - what rivals share that have the workload retire alone.
 *
 * Included by rival_ck_epoch.c, rival_ck_hp.c, rival_no_grace.c and rival_urcu.h, behind what
 * workload_retire.h asks for.  The end of their domain does nothing, unless they define
 * RIVAL_HAS_END and do it themselves.  They are left out under sanitizers, each for the reason
 * that its head gives.
 */
#ifndef BENCH_RIVAL_RETIRE_H
#define BENCH_RIVAL_RETIRE_H

static const char *rival_absent(void)
{
#ifdef BENCH_SANITIZER
    return "left out under " BENCH_SANITIZER;
#else
    return NULL;
#endif
}

#ifndef RIVAL_HAS_END
static void rival_domain_destroy(void *domain)
{
    (void)domain;
}
#endif

#include "workload_retire.h"

static const struct bench_workload *const rival_workloads[] = { &retire_workload, NULL };

/* The rival, with these traits of bench.h. */
#define RIVAL_RETIRE(id, name, summary, traits)                                            \
    const struct bench_rival id = {                                                        \
        name, summary, traits, sizeof(struct retire_node), SIZE_MAX, rival_absent, NULL,   \
        rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL                     \
    }

#endif /* BENCH_RIVAL_RETIRE_H */

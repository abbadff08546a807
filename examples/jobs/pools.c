/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pools.c - see pools.h.
 *
 * The command line limits the number of nodes, so the pools are opened with a
 * configuration instead of being created on first use.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "pools.h"

#include "tally.h"
#include "tree_job.h"

CPOOL_DECLARE(job_nodes, struct tree_job);
CPOOL_DEFINE(job_nodes, struct tree_job, .name = "jobs", .capacity = 1);

CPOOL_DECLARE(result_nodes, union tally_node);
CPOOL_DEFINE(result_nodes, union tally_node, .name = "results", .capacity = 1);

static void *take_job(struct allocator *allocator)
{
    (void)allocator;
    return job_nodes_alloc();
}

static void give_job(struct allocator *allocator, void *node)
{
    (void)allocator;
    job_nodes_free(node);
}

static void *take_result(struct allocator *allocator)
{
    (void)allocator;
    return result_nodes_alloc();
}

static void give_result(struct allocator *allocator, void *node)
{
    (void)allocator;
    result_nodes_free(node);
}

int pools_open_jobs(struct allocator *allocator, size_t capacity)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int error;

    config.name = "jobs";
    config.capacity = capacity;
    error = job_nodes_open(&config);
    if (error == 0)
        allocator_init_typed(allocator, sizeof(struct tree_job), job_nodes_pool(), take_job,
                             give_job);
    return error;
}

int pools_open_results(struct allocator *allocator, size_t capacity)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int error;

    config.name = "results";
    config.capacity = capacity;
    error = result_nodes_open(&config);
    if (error == 0)
        allocator_init_typed(allocator, sizeof(union tally_node), result_nodes_pool(),
                             take_result, give_result);
    return error;
}

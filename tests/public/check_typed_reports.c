/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_typed_reports.c - typed pools report mistakes as their handles do, and name the
 * function of the type.
 *
 * Includes the public API only.
 */
#include "support.h"

#include <string.h>

enum { CAPACITY = 1000 };

struct job {
    long number;
    char text[56];
};

CPOOL_DECLARE(jobs, struct job);
CPOOL_DEFINE(jobs, struct job, .capacity = CAPACITY);

static cpool_config_t job_config(unsigned flags)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.capacity = CAPACITY;
    config.flags = flags;
    return config;
}

static void close_empty(void)
{
    support_require_live(jobs_pool(), 0);
    REQUIRE_EQUAL(jobs_close(), CPOOL_OK);
}

/* Requires one report since the last call, on behalf of this function. */
static void require_named(int code, const char *function)
{
    REQUIRE(strcmp(REQUIRE_REPORT(code).function, function) == 0);
}

/* Of plain, tracked and checked pools, where operations take different ways. */
static const unsigned ways[] = {0, CPOOL_TRACKED, CPOOL_CHECKED};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Without the inline path a function of the type calls that of the pool. */
#if defined(CPOOL_NO_INLINE)
#define FREE_OF_JOBS "cpool_free"
#else
#define FREE_OF_JOBS "jobs_free"
#endif

TEST_TIMES(reports_name_the_functions_of_the_type, WAYS)
{
    cpool_config_t config = job_config(ways[_i]);
    struct job *job;

    REQUIRE_EQUAL(jobs_open(&config), CPOOL_OK);
    support_capture_reports();
    job = jobs_alloc();
    jobs_free((struct job *)(void *)((char *)job + 1));
    require_named(CPOOL_EMISALIGNED, FREE_OF_JOBS);
    cpool_free(jobs_pool(), (char *)job + 1);
    require_named(CPOOL_EMISALIGNED, "cpool_free");
    jobs_free(job);
    jobs_alloc_bulk(&job, 1);
    jobs_free(job);
    cpool_flush(jobs_pool());
    REQUIRE_NO_REPORT();
    support_release_reports();
    close_empty();
}

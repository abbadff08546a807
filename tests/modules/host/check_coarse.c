/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_coarse.c - the tables of ended threads where pages are of 64 KiB, as on some 64-bit ARM.
 *
 * The program says so itself in place of the C library.
 */
#include "support.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/thread.h"

/* Where nobody else has put functions in place of these two, and there are addresses. */
#if SUPPORT_SANITIZED || defined(CPOOL_PLAIN_POSIX) || UINTPTR_MAX <= UINT32_MAX
#define FAKES 0
#else
#define FAKES 1
#endif

#if FAKES
enum { PAGE = 64 * 1024, POOLS = 2000 };

static unsigned purges;
static uintptr_t purged; /* where the last one begins */

long sysconf(int name)
{
    return name == _SC_PAGESIZE ? PAGE : 1;
}

int madvise(void *address, size_t size, int advice)
{
    if (advice == MADV_DONTNEED) {
        purges++;
        purged = (uintptr_t)address;
    }
    return (int)syscall(SYS_madvise, address, size, advice);
}

static cpool_t *pools[POOLS];

static void *use_last_pool(void *table)
{
    cpool_free(pools[POOLS - 1], cpool_alloc(pools[POOLS - 1]));
    *(struct cpi_thread **)table = cpi_thread_self();
    return NULL;
}

#endif

TEST(table_of_ended_thread_is_purged_by_whole_pages)
{
#if !FAKES
    support_skip("the page size cannot be another one here");
#else
    cpool_config_t config = support_config(64, 10);
    struct cpi_thread *table = NULL;
    pthread_t thread;

    for (int i = 0; i < POOLS; i++)
        pools[i] = support_create(&config);
    purges = 0;
    REQUIRE_EQUAL(pthread_create(&thread, NULL, use_last_pool, &table), 0);
    REQUIRE_EQUAL(pthread_join(thread, NULL), 0);
    REQUIRE_EQUAL(purges, 1);
    REQUIRE_EQUAL((purged - (uintptr_t)table) % PAGE, 0);
    for (int i = 0; i < POOLS; i++)
        support_destroy_empty(pools[i]);
#endif
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_calls.c - the system calls that a pool counts are those that were made: a tracer
 * counts them as well.
 */
#include "growth.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__linux__) && defined(PTRACE_GET_SYSCALL_INFO) && !SUPPORT_SANITIZED

enum { SLOT_SIZE = 4096, CAPACITY = 3000, MARK = 0x7ead };

/* As the kernel fills it in when a call begins.  The C libraries differ in its name. */
enum { CALL_BEGINS = 1 };

struct call {
    uint8_t what;
    uint8_t padding[3];
    uint32_t processor;
    uint64_t instruction;
    uint64_t stack;
    uint64_t number;
    uint64_t arguments[6];
    uint64_t more[2];
};

/* The child's actions between two readings. */
struct job {
    cpool_config_t config;
    cpool_t *pool;
    void *slots[2 * CAPACITY];
    size_t count;
};

struct step {
    const char *name;
    void (*run)(struct job *job);
};

static void take_all(struct job *job)
{
    job->count = cpool_alloc_bulk(job->pool, job->slots, 2 * CAPACITY, 0);
    REQUIRE(cpool_alloc(job->pool) == NULL);
    REQUIRE(cpool_alloc_uncached(job->pool) == NULL);
}

static void wait_in_vain(struct job *job)
{
    const struct timespec time = { 0, 3000000 };

    REQUIRE(cpool_alloc_wait(job->pool, &time) == NULL);
}

static void free_all(struct job *job)
{
    cpool_free_bulk(job->pool, job->slots, job->count);
    job->count = 0;
    cpool_flush(job->pool);
}

static void grow(struct job *job)
{
    REQUIRE_EQUAL(cpool_grow(job->pool, CAPACITY / 4), CAPACITY / 4);
}

static void touch(struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        memset(job->slots[i], 1, SLOT_SIZE);
}

static void trim(struct job *job)
{
    (void)cpool_trim(job->pool);
}

static void shrink(struct job *job)
{
    REQUIRE(cpool_shrink(job->pool, CAPACITY / 3) > 0);
}

static void reserve(struct job *job)
{
    REQUIRE_EQUAL(cpool_reserve(job->pool, CAPACITY / 4), 0);
}

static void use_cache(struct job *job)
{
    cpool_cache_t *cache = NULL;

    REQUIRE_EQUAL(cpool_cache_create(&cache, job->pool), 0);
    cpool_cache_free(cache, cpool_cache_alloc(cache));
    cpool_cache_destroy(cache);
}

static const struct step steps[] = {
    { "grow", grow },
    { "reserve", reserve },
    { "take all", take_all },
    { "wait", wait_in_vain },
    { "touch", touch },
    { "free all", free_all },
    { "trim", trim },
    { "shrink", shrink },
    { "take all again", take_all },
    { "free all again", free_all },
    { "cache", use_cache },
};

/* The child's count, and the tracer's. */
struct counts {
    uint64_t pool[SUPPORT_LENGTH(steps)];
    uint64_t made[SUPPORT_LENGTH(steps)];
};

static void work(unsigned flags, struct counts *counts)
{
    static struct job job;

    job.config = support_config(SLOT_SIZE, CAPACITY);
    support_set_flags(&job.config, flags);
    job.config.max_capacity = 2 * CAPACITY;
    /* The thread has its own tables from here on. */
    job.pool = support_create_plain(8, 8);
    cpool_free(job.pool, cpool_alloc(job.pool));
    support_destroy_empty(job.pool);
    job.pool = support_create(&job.config);
    for (size_t i = 0; i < SUPPORT_LENGTH(steps); i++) {
        uint64_t before = support_stats(job.pool).system_calls;

        syscall(SYS_getpgid, MARK);
        steps[i].run(&job);
        syscall(SYS_getpgid, MARK);
        counts->pool[i] = support_stats(job.pool).system_calls - before;
    }
    support_destroy_empty(job.pool);
}

/* Goes on until the child's next system call begins, or ends.  Returns false at
 * the child's own end. */
static bool go_on(pid_t child, int *status)
{
    REQUIRE_EQUAL(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
    REQUIRE_EQUAL(waitpid(child, status, 0), child);
    return WIFSTOPPED(*status);
}

/* For memory, and barriers. */
static bool is_counted(uint64_t number)
{
#ifdef SYS_mmap2 /* on 32-bit machines */
    if (number == SYS_mmap2)
        return true;
#endif
    return number == SYS_mmap || number == SYS_munmap || number == SYS_mprotect ||
           number == SYS_madvise || number == SYS_membarrier;
}

static void trace(pid_t child, struct counts *counts, int *status)
{
    struct call call;
    size_t marks = 0;

    while (go_on(child, status)) {
        long size = ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof(call), &call);

        REQUIRE(size > 0);
        if (call.what != CALL_BEGINS)
            continue;
        if (call.number == SYS_getpgid && call.arguments[0] == MARK)
            marks++;
        else if (marks % 2 == 1 && is_counted(call.number))
            counts->made[marks / 2]++;
    }
    REQUIRE(WIFSIGNALED(*status) || marks == 2 * SUPPORT_LENGTH(steps));
}

static pid_t start_child(unsigned flags, struct counts *counts)
{
    pid_t child = fork();

    REQUIRE(child >= 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        raise(SIGSTOP);
        work(flags, counts);
        _exit(EXIT_SUCCESS);
    }
    return child;
}

/* False if nobody may trace here. */
static bool count_in_child(unsigned flags, struct counts *counts)
{
    pid_t child = start_child(flags, counts);
    struct call call;
    int status;

    REQUIRE_EQUAL(waitpid(child, &status, 0), child);
    if (WIFEXITED(status))
        return false;
    REQUIRE(WIFSTOPPED(status));
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof(call), &call) <= 0) {
        REQUIRE_EQUAL(ptrace(PTRACE_KILL, child, NULL, NULL), 0);
        REQUIRE_EQUAL(waitpid(child, &status, 0), child);
        return false;
    }
    REQUIRE_EQUAL(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD), 0);
    trace(child, counts, &status);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    return true;
}

static const unsigned kinds[] = { 0, CPOOL_CHECKED, CPOOL_HUGE_PAGES };

static struct counts *map_counts(void)
{
    struct counts *counts = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    REQUIRE(counts != MAP_FAILED);
    return counts;
}

TEST_TIMES(pool_counts_the_system_calls_that_are_made, SUPPORT_LENGTH(kinds))
{
    struct counts *counts = map_counts();
    uint64_t all = 0;

    REQUIRE(count_in_child(kinds[_i], counts));
    for (size_t i = 0; i < SUPPORT_LENGTH(steps); i++) {
        char what[128];

        if (counts->pool[i] == counts->made[i])
            continue;
        snprintf(what, sizeof(what), "%s: the pool counted %llu system calls, the tracer %llu",
                 steps[i].name, (unsigned long long)counts->pool[i],
                 (unsigned long long)counts->made[i]);
        support_fail(__FILE__, __LINE__, what);
    }
    for (size_t i = 0; i < SUPPORT_LENGTH(steps); i++)
        all += counts->made[i];
    REQUIRE(all > 10);
    REQUIRE_EQUAL(munmap(counts, sizeof(*counts)), 0);
}

int main(void)
{
    struct counts *counts = map_counts();

    if (!count_in_child(0, counts))
        return support_skip_all("calls",
                                "this system lets nobody count a child's system calls");
    return support_run_all("calls");
}

#else

int main(void)
{
    return support_skip_all("calls", "system calls cannot be counted here");
}

#endif

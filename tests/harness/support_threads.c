/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * support_threads.c - the parts of support.h that need C and threads alone, for every system.
 *
 * Calls nothing of libcpool.
 */
#include "support.h"

#include <sched.h>

void support_require_equal(long long a, long long b, const char *file, int line,
                           const char *what)
{
    char text[256];

    if (a == b)
        return;
    snprintf(text, sizeof(text), "%s: %lld, %lld", what, a, b);
    support_fail(file, line, text);
}

void *support_calloc(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    REQUIRE(memory != NULL);
    return memory;
}

void *support_page_of(const void *address)
{
    return (void *)((uintptr_t)address & ~(uintptr_t)(support_page_size() - 1));
}

/* --- Suites --- */

static struct support_test known[100];
static int lines[sizeof(known) / sizeof(known[0])];
static size_t known_count;

void support_add_test(const TTest *test, size_t times, int line)
{
    size_t place = known_count++;

    if (place >= sizeof(known) / sizeof(known[0]))
        abort();
    for (; place > 0 && lines[place - 1] > line; place--) {
        known[place] = known[place - 1];
        lines[place] = lines[place - 1];
    }
    known[place] = (struct support_test){ test, times };
    lines[place] = line;
}

int support_run_all(const char *suite)
{
    return support_run(suite, known, known_count);
}

/* --- Threads --- */

pthread_t support_start(support_thread_t *body, void *argument)
{
    pthread_t thread;

    REQUIRE_EQUAL(pthread_create(&thread, NULL, body, argument), 0);
    return thread;
}

void support_join(pthread_t thread)
{
    REQUIRE_EQUAL(pthread_join(thread, NULL), 0);
}

bool support_set_priority(int priority)
{
    struct sched_param how = { .sched_priority = priority };
    int policy = priority > 0 ? SCHED_FIFO : SCHED_OTHER;

    return pthread_setschedparam(pthread_self(), policy, &how) == 0;
}

bool support_has_priorities(void)
{
#if defined(__linux__)
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    return support_set_priority(1) && support_set_priority(0) &&
           sched_setaffinity(0, sizeof one, &one) == 0;
#else
    return false;
#endif
}

void support_in_thread(support_thread_t *body, void *argument)
{
    support_join(support_start(body, argument));
}

void support_door_init(struct support_door *door)
{
    REQUIRE_EQUAL(pthread_mutex_init(&door->mutex, NULL), 0);
    REQUIRE_EQUAL(pthread_cond_init(&door->changed, NULL), 0);
    door->waiting = 0;
    door->open = false;
}

void support_door_wait(struct support_door *door)
{
    pthread_mutex_lock(&door->mutex);
    door->waiting++;
    pthread_cond_broadcast(&door->changed);
    while (!door->open)
        pthread_cond_wait(&door->changed, &door->mutex);
    pthread_mutex_unlock(&door->mutex);
}

void support_door_await(struct support_door *door, size_t waiting)
{
    pthread_mutex_lock(&door->mutex);
    while (door->waiting < waiting)
        pthread_cond_wait(&door->changed, &door->mutex);
    pthread_mutex_unlock(&door->mutex);
}

void support_door_open(struct support_door *door)
{
    pthread_mutex_lock(&door->mutex);
    door->open = true;
    pthread_cond_broadcast(&door->changed);
    pthread_mutex_unlock(&door->mutex);
}

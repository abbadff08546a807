/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak_explore.c - one execution after another, each from a seed of its own.
 *
 * The program's data are as they were at first in each of them: the linker puts all
 * written data between __data_start and _end, and that range is kept and put back.  A
 * model that crashes, or does not end, has failed as well.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "../harness/random.h"
#include "weak.h"

enum {
    /* No execution takes so long: seconds of the processor. */
    SECONDS_MAX = 20
};

extern char __data_start[], _end[];

struct weak_world *weak_world;

unsigned weak_random(unsigned n)
{
    return (unsigned)random_below(&weak_world->random, n);
}

bool weak_chance(unsigned n)
{
    return weak_random(n) == 0;
}

static void begin_style(uint64_t seed)
{
    static const unsigned switches[] = {1, 2, 4, 12};
    static const unsigned stale[] = {2, 3, 6, 24};
    static const unsigned lag[] = {0, 0, 4, 16};
    static const unsigned inserts[] = {8, 128};
    static const unsigned spurious[] = {4, 16};
    struct weak_style *style = &weak_world->style;

    weak_world->random = random_mix(seed);
    style->switches = switches[weak_random(4)];
    style->stale = stale[weak_random(4)];
    style->lag = lag[weak_random(4)];
    style->salt = weak_random(UINT32_MAX);
    style->inserts = inserts[weak_random(2)];
    style->spurious = spurious[weak_random(2)];
    style->priorities = weak_chance(4);
    if (style->priorities)
        style->switches = 16;
}

static void note_failure(const char *format, va_list arguments)
{
    struct weak_result *result = &weak_world->result;

    if (result->failed)
        return;
    result->failed = true;
    vsnprintf(result->why, sizeof result->why, format, arguments);
}

void weak_end(enum weak_end end)
{
    weak_world->running = false;
    _longjmp(weak_world->home, (int)end);
}

void weak_fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    note_failure(format, arguments);
    va_end(arguments);
    weak_end(WEAK_FAILED);
}

void weak_trace(const char *format, ...)
{
    va_list arguments;

    if (!weak_world->options.trace)
        return;
    fprintf(stderr, "%5u  thread %d at %p: ", weak_world->steps, weak_world->current,
            weak_world->where);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

/* Of <assert.h>. */
_Noreturn void __assert_fail(const char *expression, const char *file, unsigned line,
                             const char *function)
{
    const char *name = strrchr(file, '/');

    weak_fail("an assertion fails: %s, %s:%u, in %s", expression, name ? name + 1 : file, line,
              function);
}

static void crashed(int number)
{
    if (!weak_world->running) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    if (number == SIGVTALRM)
        weak_fail("it does not come to an end");
    weak_fail("signal %d", number);
}

static void catch_crashes(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};
    const struct sigaction action = {.sa_handler = crashed, .sa_flags = SA_ONSTACK | SA_NODEFER};
    const stack_t stack = {.ss_size = WEAK_STACK, .ss_sp = malloc(WEAK_STACK)};

    if (stack.ss_sp == NULL || sigaltstack(&stack, NULL) != 0)
        abort();
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

static void *pages(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED) {
        fprintf(stderr, "no memory for the explorer\n");
        exit(99);
    }
    return memory;
}

/* With an inaccessible page below each stack. */
void weak_init(void)
{
    if (weak_world != NULL)
        return;
    weak_world = pages(sizeof *weak_world);
    for (int i = 0; i < WEAK_THREADS; i++) {
        char *stack = pages(WEAK_STACK + 65536);

        mprotect(stack, 65536, PROT_NONE);
        weak_world->thread[i].stack = stack + 65536;
    }
    if (!weak_threads_init()) {
        fprintf(stderr, "the model has too much thread-local data\n");
        exit(99);
    }
    catch_crashes();
}

static void begin_execution(const char *data)
{
    memcpy(__data_start, data, (size_t)(_end - __data_start));
    if (weak_world->tls_size != 0)
        memcpy(weak_world->tls, weak_world->tls_image, weak_world->tls_size);
    weak_world->execution++;
    weak_world->steps = 0;
    weak_world->outcome = 0;
    weak_world->threads = 0;
    weak_world->current = 0;
    weak_world->locations = 0;
    weak_world->stores = 1;
    weak_world->views = 0;
    weak_world->locks = 0;
    memset(weak_world->place, 0, sizeof weak_world->place);
    memset(&weak_world->sequential, 0, sizeof weak_world->sequential);
}

static enum weak_end execute(const char *data, uint64_t seed)
{
    enum weak_end end;

    begin_execution(data);
    begin_style(seed);
    end = (enum weak_end)_setjmp(weak_world->home);
    if (end == 0) {
        weak_world->running = true;
        weak_threads_start();
    }
    return end;
}

static void explore(const char *data)
{
    const struct weak_options *options = &weak_world->options;
    struct weak_result *result = &weak_world->result;
    static const struct itimerval limit = {{0, 0}, {SECONDS_MAX, 0}};

    for (uint64_t i = 0; i < (options->replay ? 1 : options->executions) && !result->failed; i++) {
        result->seed = options->replay ? options->only : random_derive(options->seed, i);
        if (i % 1024 == 0)
            setitimer(ITIMER_VIRTUAL, &limit, NULL);
        switch (execute(data, result->seed)) {
        case WEAK_COMPLETE:
            result->complete++;
            result->outcomes[weak_world->outcome]++;
            break;
        case WEAK_DROPPED: result->dropped++; break;
        default: break;
        }
    }
}

void weak_explore(int (*model)(void), const struct weak_options *options,
                  struct weak_result *result)
{
    size_t size = (size_t)(_end - __data_start);
    char *data;

    weak_init();
    weak_world->options = *options;
    weak_world->model = model;
    memset(&weak_world->result, 0, sizeof weak_world->result);
    data = pages(size);
    memcpy(data, __data_start, size);
    explore(data);
    memcpy(__data_start, data, size);
    munmap(data, size);
    *result = weak_world->result;
}

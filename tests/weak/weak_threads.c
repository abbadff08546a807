/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak_threads.c - a model's threads, as coroutines of one thread of the system.
 *
 * Threads change at steps only: before an atomic operation, and where one begins, ends,
 * or waits.  Between them nothing can be seen, unless there is a data race, which is
 * found by clocks.  All coroutines have the program's one thread-local block.  Its
 * content is changed with them.
 *
 * Defines the functions of pthread.h that models use, and those of genmc.h.
 */
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "genmc.h"
#include "weak.h"

enum {
    /* An execution that takes more does not come to an end. */
    STEPS_MAX = 6000 * WEAK_SCALE
};

static int find_tls(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_TLS)
            continue;
        weak_world->tls = info->dlpi_tls_data;
        weak_world->tls_size = info->dlpi_phdr[i].p_memsz;
    }
    return 1; /* the program itself comes first */
}

bool weak_threads_init(void)
{
    dl_iterate_phdr(find_tls, NULL);
    if (weak_world->tls_size > WEAK_TLS)
        return false;
    if (weak_world->tls_size != 0)
        memcpy(weak_world->tls_image, weak_world->tls, weak_world->tls_size);
    return true;
}

/* Where a coroutine begins. */
static void run_thread(void)
{
    struct weak_thread *self = weak_self();

    self->result = self->body(self->argument);
    weak_step();
    self->state = WEAK_ENDED;
    for (int i = 0; i < weak_world->threads; i++)
        if (weak_world->thread[i].waits_for == self)
            weak_world->thread[i].state = WEAK_READY;
    weak_step();
}

static void jump_to(int next)
{
    struct weak_thread *thread = &weak_world->thread[next];

    weak_world->current = next;
    if (weak_world->tls_size != 0)
        memcpy(weak_world->tls, thread->tls, weak_world->tls_size);
    if (thread->started)
        _longjmp(thread->place, 1);
    thread->started = true;
    getcontext(&weak_world->context);
    weak_world->context.uc_stack.ss_sp = thread->stack;
    weak_world->context.uc_stack.ss_size = WEAK_STACK;
    weak_world->context.uc_link = NULL;
    makecontext(&weak_world->context, run_thread, 0);
    setcontext(&weak_world->context);
}

static void change_to(int next)
{
    struct weak_thread *self = weak_self();

    if (next == weak_world->current)
        return;
    if (weak_world->tls_size != 0)
        memcpy(self->tls, weak_world->tls, weak_world->tls_size);
    if (_setjmp(self->place) == 0)
        jump_to(next);
}

/* A ready thread: any of them, or the one of the highest priority. */
static int choose_thread(void)
{
    const struct weak_thread *thread = weak_world->thread;
    unsigned ready = 0;
    int first = -1;

    for (int i = 0; i < weak_world->threads; i++) {
        if (thread[i].state != WEAK_READY)
            continue;
        ready++;
        if (first < 0 || thread[i].priority > thread[first].priority)
            first = i;
    }
    if (first < 0)
        weak_fail("deadlock: all threads wait");
    if (weak_world->style.priorities)
        return first;
    ready = weak_random(ready);
    for (int i = 0;; i++)
        if (thread[i].state == WEAK_READY && ready-- == 0)
            return i;
}

void weak_step(void)
{
    struct weak_thread *self = weak_self();

    if (++weak_world->steps > STEPS_MAX)
        weak_end(WEAK_DROPPED);
    if (weak_chance(weak_world->style.switches))
        self->priority = weak_random(1u << 16);
    else if (!weak_world->style.priorities && self->state == WEAK_READY)
        return;
    change_to(choose_thread());
}

/* Until somebody makes it ready. */
static void wait_for(const void *what)
{
    struct weak_thread *self = weak_self();

    self->state = WEAK_BLOCKED;
    self->waits_for = what;
    change_to(choose_thread());
    self->waits_for = NULL;
}

static struct weak_thread *new_thread(void *(*body)(void *), void *argument)
{
    struct weak_thread *thread = &weak_world->thread[weak_world->threads];
    char *stack = thread->stack;

    if (weak_world->threads == WEAK_THREADS)
        weak_fail("more than %d threads", WEAK_THREADS);
    *thread = (struct weak_thread){.body = body, .argument = argument, .state = WEAK_READY};
    thread->stack = stack;
    thread->priority = weak_random(1u << 16);
    memcpy(thread->tls, weak_world->tls_image, weak_world->tls_size);
    if (weak_world->threads > 0)
        thread->now = weak_self()->now;
    thread->now.clock[weak_world->threads++] = 1;
    return thread;
}

static void *run_model(void *unused)
{
    int status = weak_world->model();

    (void)unused;
    if (status != 0)
        weak_fail("main returns %d", status);
    weak_end(WEAK_COMPLETE);
}

void weak_threads_start(void)
{
    new_thread(run_model, NULL);
    jump_to(0);
    weak_end(WEAK_DROPPED);
}

int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*body)(void *),
                   void *argument)
{
    (void)attributes;
    weak_step();
    *id = (pthread_t)(uintptr_t)weak_world->threads;
    new_thread(body, argument);
    weak_self()->now.clock[weak_world->current]++;
    weak_trace("begins thread %d", weak_world->threads - 1);
    return 0;
}

int pthread_join(pthread_t id, void **result)
{
    struct weak_thread *other = &weak_world->thread[(uintptr_t)id];

    weak_step();
    while (other->state != WEAK_ENDED)
        wait_for(other);
    weak_join(&weak_self()->now, &other->now);
    weak_trace("has joined thread %d", (int)(uintptr_t)id);
    if (result != NULL)
        *result = other->result;
    return 0;
}

static struct weak_lock *lock_of(const void *mutex)
{
    int i;

    for (i = 0; i < weak_world->locks; i++)
        if (weak_world->lock[i].mutex == mutex)
            return &weak_world->lock[i];
    if (weak_world->locks == WEAK_LOCKS)
        weak_fail("more than %d mutexes", WEAK_LOCKS);
    weak_world->locks++;
    weak_world->lock[i] = (struct weak_lock){.mutex = mutex};
    return &weak_world->lock[i];
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    struct weak_lock *lock = lock_of(mutex);

    weak_step();
    while (lock->held)
        wait_for(mutex);
    lock->held = true;
    weak_join(&weak_self()->now, &lock->view);
    weak_trace("locks %p", (void *)mutex);
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    struct weak_lock *lock = lock_of(mutex);

    weak_step();
    if (!lock->held)
        weak_fail("a mutex is unlocked that is not locked");
    lock->held = false;
    lock->view = weak_self()->now;
    weak_self()->now.clock[weak_world->current]++;
    for (int i = 0; i < weak_world->threads; i++)
        if (weak_world->thread[i].waits_for == mutex)
            weak_world->thread[i].state = WEAK_READY;
    weak_trace("unlocks %p", (void *)mutex);
    return 0;
}

/* A signal that comes after the mutex is left, and before the thread waits, is not lost. */
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    struct weak_thread *self = weak_self();

    self->waits_for = condition;
    pthread_mutex_unlock(mutex);
    if (self->waits_for == condition)
        wait_for(condition);
    return pthread_mutex_lock(mutex);
}

int pthread_cond_signal(pthread_cond_t *condition)
{
    weak_step();
    for (int i = 0; i < weak_world->threads; i++)
        if (weak_world->thread[i].waits_for == condition) {
            weak_world->thread[i].waits_for = NULL;
            weak_world->thread[i].state = WEAK_READY;
            break;
        }
    return 0;
}

void __VERIFIER_assume(int condition)
{
    if (!condition)
        weak_end(WEAK_DROPPED);
}

int __VERIFIER_nondet_int(void)
{
    return (int)weak_random(1u << 30);
}

void weak_barrier_all(void)
{
    weak_barrier();
}

void weak_outcome(unsigned outcome)
{
    weak_world->outcome = outcome % WEAK_OUTCOMES;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * explorer.c - the baton, and the threads.
 *
 * Everything here is guarded by the baton.  The thread that has it reads and
 * writes it, and handing it over by a semaphore orders that.
 */
#include "explorer.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "decide.h"
#include "points.h"

/* A run that takes more steps does not come to its end. */
#define EXPLORER_STEPS_MAX 100000

/* Steps of one thread in a row after which the others get a turn: it may be
 * waiting for them. */
#define EXPLORER_TURN 500

/* A deadline that is further away than this, in nanoseconds, is none. */
#define EXPLORER_FAR UINT64_C(100000000000)
#define NEVER UINT64_MAX

/* Waiting is for a mutex, awaiting for a condition. */
enum state { WAITING, AWAITING, ASLEEP, READY, ENDED };

static struct {
    pthread_t handle;
    sem_t baton;
    enum state state;
    const pthread_cond_t *sleeps_at; /* while it is asleep */
    uint64_t deadline;               /* likewise; NEVER: none */
    bool (*condition)(void);         /* while it awaits it */
    bool aside;                      /* it has given way, and not run since */
} thread[EXPLORER_THREADS_MAX];

static unsigned threads;
static unsigned current;
static unsigned steps, turn;
static uint64_t now; /* nanoseconds; goes on only when a deadline is reached */
static void (*run_body)(unsigned);
static sem_t all_ended;
static pthread_key_t ending;

static bool tracing;
static unsigned backoff; /* a random switch happens once in so many points */

static _Thread_local bool inside;

/* --- The baton --- */

static void wait_for_baton(unsigned self)
{
    while (sem_wait(&thread[self].baton) != 0)
        ;
}

/* A thread that is asleep gets the baton when its deadline has come. */
static void hand_over(unsigned to, const char *function)
{
    if (thread[to].state == ASLEEP) {
        thread[to].state = READY;
        now = now > thread[to].deadline ? now : thread[to].deadline;
    }
    if (tracing)
        printf("%5u: thread %u before %s\n", steps, to, function);
    current = to;
    turn = 0;
    thread[to].aside = false;
    if (thread[to].state == AWAITING)
        thread[to].state = READY;
    sem_post(&thread[to].baton);
}

/* Which threads can run: those that have not stepped aside, those that are ready, or those
 * as well that sleep up to a deadline. */
enum choice { EAGER, ABLE, LATE };

static bool can_run(unsigned t, enum choice choice)
{
    if (t == current)
        return false;
    if (thread[t].state == AWAITING)
        return thread[t].condition();
    if (thread[t].state == ASLEEP)
        return choice == LATE && thread[t].deadline != NEVER;
    return thread[t].state == READY && (choice != EAGER || !thread[t].aside);
}

/* The i-th thread, beginning after the current one, that can run. */
static unsigned candidate(unsigned i, enum choice choice)
{
    unsigned t = current;

    do {
        do {
            t = (t + 1) % threads;
        } while (!can_run(t, choice));
    } while (i-- > 0);
    return t;
}

static unsigned candidates(enum choice choice)
{
    unsigned t, n = 0;

    for (t = 0; t < threads; t++)
        n += can_run(t, choice);
    return n;
}

/* The sleeping thread with the next deadline, perhaps the current one. */
static unsigned next_to_wake(void)
{
    unsigned next = 0;

    for (unsigned t = 1; t < threads; t++)
        if (thread[next].state != ASLEEP ||
            (thread[t].state == ASLEEP && thread[t].deadline < thread[next].deadline))
            next = t;
    if (thread[next].state != ASLEEP || thread[next].deadline == NEVER)
        explorer_fail("all threads wait for each other");
    return next;
}

/* The current thread cannot go on, or has had its turn. */
static void yield(const char *function)
{
    unsigned self = current;
    enum choice choice = candidates(EAGER) > 0 ? EAGER : ABLE;
    unsigned others = candidates(choice);
    enum state state = thread[self].state;

    if (others == 0 && state == READY)
        return;
    if (others == 0)
        hand_over(next_to_wake(), function);
    else
        hand_over(candidate(others == 1 ? 0 : decide(others, false, 1), choice), function);
    if (state != ENDED)
        wait_for_baton(self);
}

static void reach(const char *function)
{
    unsigned self, others, choice;

    if (!inside)
        return;
    self = current;
    if (++steps > EXPLORER_STEPS_MAX)
        explorer_fail("a run does not come to its end");
    others = candidates(LATE);
    if (others == 0)
        return;
    if (++turn > EXPLORER_TURN) {
        yield(function);
        return;
    }
    choice = decide(others + 1, true, backoff);
    if (choice == 0)
        return;
    hand_over(candidate(choice - 1, LATE), function);
    wait_for_baton(self);
}

static bool fails(void)
{
    return inside && decide(2, true, 16 * backoff) != 0;
}

/* --- Mutexes: called by the library in place of pthread's --- */

static int mutex_lock(pthread_mutex_t *mutex)
{
    reach(__func__);
    while (pthread_mutex_trylock(mutex) != 0) {
        if (!inside)
            explorer_fail("a mutex is held outside of a run");
        thread[current].state = WAITING;
        yield(__func__);
    }
    return 0;
}

static int mutex_trylock(pthread_mutex_t *mutex)
{
    reach(__func__);
    return pthread_mutex_trylock(mutex);
}

static int mutex_unlock(pthread_mutex_t *mutex)
{
    int result = pthread_mutex_unlock(mutex);

    for (unsigned t = 0; t < threads; t++)
        if (thread[t].state == WAITING)
            thread[t].state = READY;
    return result;
}

void explorer_await(bool (*condition)(void))
{
    if (condition())
        return;
    thread[current].condition = condition;
    thread[current].state = AWAITING;
    yield(__func__);
}

bool explorer_choose(void)
{
    return decide(2, false, 1) != 0;
}

/* --- Sleep, and the clock --- */

static uint64_t clock_now(void)
{
    return now;
}

static unsigned long sleeps_begun;

static int sleep_until(const pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline)
{
    unsigned self = current;

    if (!inside)
        explorer_fail("a thread sleeps outside of a run");
    sleeps_begun++;
    thread[self].sleeps_at = cond;
    thread[self].deadline = deadline > now && deadline - now > EXPLORER_FAR ? NEVER : deadline;
    thread[self].state = ASLEEP;
    mutex_unlock(mutex);
    yield(__func__);
    mutex_lock(mutex);
    return thread[self].sleeps_at == NULL ? 0 : ETIMEDOUT;
}

static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    return sleep_until(cond, mutex, NEVER);
}

static int cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                          const struct timespec *until)
{
    return sleep_until(cond, mutex,
                       (uint64_t)until->tv_sec * 1000000000u + (uint64_t)until->tv_nsec);
}

/* One thread sleeps at each condition variable of the library. */
static int cond_signal(pthread_cond_t *cond)
{
    for (unsigned t = 0; t < threads; t++)
        if (thread[t].state == ASLEEP && thread[t].sleeps_at == cond) {
            thread[t].sleeps_at = NULL;
            thread[t].state = READY;
        }
    return 0;
}

bool explorer_is_asleep(unsigned number)
{
    return thread[number].state == ASLEEP;
}

unsigned long explorer_sleeps(void)
{
    return sleeps_begun;
}

/* --- Stepping aside --- */

static void back_off(unsigned times)
{
    (void)times;
    reach(__func__);
    if (!inside)
        return;
    thread[current].aside = true;
    yield(__func__);
}

/* --- Threads --- */

static bool has_all_ended(void)
{
    for (unsigned t = 0; t < threads; t++)
        if (thread[t].state != ENDED)
            return false;
    return true;
}

/* The last thing a thread does.  The key was made before the library's.  Its
 * destructor asks for another round of destructors, so that it gives the baton
 * up after the library's has run. */
static void ending_destructor(void *rounds)
{
    if (rounds == (void *)&ending) {
        pthread_setspecific(ending, &threads);
        return;
    }
    thread[current].state = ENDED;
    inside = false;
    if (has_all_ended())
        sem_post(&all_ended);
    else
        yield(__func__);
}

static void *thread_main(void *number)
{
    unsigned self = (unsigned)(uintptr_t)number;

    wait_for_baton(self);
    inside = true;
    pthread_setspecific(ending, &ending);
    run_body(self);
    return NULL;
}

/* One thread runs at a time, so that one processor serves the threads of a run best: to hand
 * the baton over to another one takes several times as long. */
static void create_threads(unsigned n)
{
#ifdef CPU_SET
    cpu_set_t allowed, here;
    bool confined = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    int cpu = sched_getcpu();

    CPU_ZERO(&here);
    confined = confined && cpu >= 0 && cpu < CPU_SETSIZE;
    if (confined) {
        CPU_SET(cpu, &here);
        confined = sched_setaffinity(0, sizeof here, &here) == 0;
    }
#endif
    for (unsigned t = 0; t < n; t++) {
        thread[t].state = READY;
        if (pthread_create(&thread[t].handle, NULL, thread_main, (void *)(uintptr_t)t) != 0)
            explorer_fail("no more threads");
    }
#ifdef CPU_SET
    if (confined)
        sched_setaffinity(0, sizeof allowed, &allowed);
#endif
}

void explorer_run(unsigned n, void (*body)(unsigned))
{
    threads = n;
    run_body = body;
    steps = 0;
    now = 0;
    decide_begin();
    backoff = 2u << explorer_draw(5);
    create_threads(n);
    hand_over(n == 1 ? 0 : decide(n, false, 1), "start");
    while (sem_wait(&all_ended) != 0)
        ;
    for (unsigned t = 0; t < n; t++)
        pthread_join(thread[t].handle, NULL);
    threads = 0;
}

void explorer_trace(void)
{
    tracing = true;
}

/* --- Forks --- */

static void (*fork_hook)(void);
static bool fork_is_handled;

static void before_fork(void)
{
    if (fork_hook != NULL)
        fork_hook();
}

/* A child of fork has one thread, which schedules no more. */
static void forked(void)
{
    inside = false;
}

/* Before the library's handlers are registered, which its constructor does: so that in
 * the parent ours runs last, when the library's have let other threads run, and in the
 * child first. */
static void handle_forks(void)
{
    fork_is_handled = pthread_atfork(before_fork, NULL, forked) == 0;
}

__attribute__((__section__(".preinit_array"), __used__)) static void (*const first)(void) =
    handle_forks;

void explorer_before_fork(void (*hook)(void))
{
    fork_hook = hook;
}

static void crashed(int signal)
{
    explorer_fail(signal == SIGABRT ? "the library aborted" : "the library crashed");
}

static const struct points of_explorer = {
    .reach = reach,
    .fails = fails,
    .mutex_lock = mutex_lock,
    .mutex_trylock = mutex_trylock,
    .mutex_unlock = mutex_unlock,
    .cond_wait = cond_wait,
    .cond_timedwait = cond_timedwait,
    .cond_signal = cond_signal,
    .back_off = back_off,
    .now = clock_now,
};

void explorer_startup(const char *program)
{
    bool good = sem_init(&all_ended, 0, 0) == 0 &&
                pthread_key_create(&ending, ending_destructor) == 0 && fork_is_handled;

    points_use(&of_explorer);
    decide_startup(program);
    signal(SIGSEGV, crashed);
    signal(SIGBUS, crashed);
    signal(SIGABRT, crashed);
    for (unsigned t = 0; good && t < EXPLORER_THREADS_MAX; t++)
        good = sem_init(&thread[t].baton, 0, 0) == 0;
    if (!good) {
        perror(program);
        exit(2);
    }
}

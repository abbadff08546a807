/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_object_lease.c - what the end of a lease of objects costs, and a fork while a thread
 * stands still at any step of a get under such a lease, or of its end.
 *
 * Includes steps.h.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include <cpool/object_lease.h>

#include <stdlib.h>

enum { FRAME = 40, CAPACITY = 80, MANY = 10000, SIZE = 64 };

static int activate(void *object, void *arg)
{
    (void)object;
    (void)arg;
    return 0;
}

static void hook(void *object, void *arg)
{
    (void)object;
    (void)arg;
}

/* Without hooks and with one that leases are indifferent to, and with one for the end. */
enum { PLAIN, ACTIVATED, LISTED, COUNTED, KINDS };

struct frame {
    cpool_objects_t *pool;
    cpool_object_lease_t *lease;
    size_t wanted;
    size_t got;
};

static struct frame make(int kind, size_t capacity)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    struct frame frame = {NULL, NULL, 0, 0};

    type.object_size = SIZE;
    type.reset = hook;
    if (kind == ACTIVATED)
        type.activate = activate;
    if (kind == LISTED)
        type.deactivate = hook;
    config.type = &type;
    config.capacity = capacity;
    config.flags = kind == COUNTED ? CPOOL_OBJECT_COUNTED : 0;
    REQUIRE_EQUAL(cpool_objects_create(&frame.pool, &config), 0);
    return frame;
}

static void get(void *argument)
{
    struct frame *frame = argument;
    size_t i;

    for (i = 0; i < frame->wanted; i++)
        frame->got += cpool_object_lease_get(frame->lease) != NULL;
}

static void begin_and_get(struct frame *frame, size_t n)
{
    frame->lease = cpool_object_lease_begin(frame->pool);
    REQUIRE(frame->lease != NULL);
    frame->got = 0;
    frame->wanted = n;
    get(frame);
    REQUIRE_EQUAL(frame->got, n);
}

static void end(void *argument)
{
    struct frame *frame = argument;

    frame->got = cpool_object_lease_end(frame->lease);
}

/* --- The cost --- */

static size_t steps_of_end(struct frame *frame, size_t n)
{
    size_t before;

    begin_and_get(frame, n);
    before = steps_made();
    end(frame);
    REQUIRE_EQUAL(frame->got, n);
    return steps_made() - before;
}

/* Objects that have been there before come in whole magazines, and the end gives these. */
START_TEST(end_without_hooks_costs_the_same_for_any_number)
{
    struct frame frame = make(_i, MANY);
    size_t few, many;

    (void)steps_of_end(&frame, MANY);
    few = steps_of_end(&frame, MANY / 100);
    many = steps_of_end(&frame, MANY);
    if (_i == LISTED)
        REQUIRE(many > MANY);
    else
        REQUIRE(many < few + 50);
    REQUIRE_EQUAL(cpool_objects_destroy(frame.pool), 0);
}
END_TEST

/* --- Forks --- */

/* A thread that vanished may have had three magazines in its hands. */
static size_t left_behind(const struct frame *frame)
{
    cpool_stats_t stats = support_stats(cpool_objects_pool(frame->pool));

    return 3 * stats.magazine_rounds;
}

/* Takes all objects, each once. */
static size_t take_rest(const struct frame *frame)
{
    const cpool_t *slots = cpool_objects_pool(frame->pool);
    bool taken[2 * CAPACITY] = {false};
    size_t count = 0;
    void *object;

    for (; (object = cpool_object_get(frame->pool)) != NULL; count++) {
        size_t index = cpool_index(slots, object);

        REQUIRE(index < 2 * CAPACITY && !taken[index]);
        taken[index] = true;
    }
    return count;
}

static void end_in_child(void *argument)
{
    struct frame *frame = argument;
    size_t ended, count;
    int code;

    steps_allow(0);
    support_capture_reports();
    ended = cpool_object_lease_end(frame->lease);
    REQUIRE(ended <= FRAME + 1);
    count = take_rest(frame);
    REQUIRE(count <= CAPACITY && count + left_behind(frame) >= CAPACITY);
    count = cpool_objects_put_all(frame->pool) - count;
    REQUIRE(count <= 1); /* the thread that vanished may have had an active one */
    code = cpool_objects_destroy(frame->pool);
    REQUIRE(code == 0 || code == CPOOL_ELIVE);
    support_release_reports();
}

static bool fork_beside(int kind, struct worker *worker, void (*body)(void *argument), size_t nth)
{
    struct frame frame = make(kind, CAPACITY);
    struct steps_stop stop;
    bool stopped;

    begin_and_get(&frame, CAPACITY);
    end(&frame);
    begin_and_get(&frame, FRAME);
    frame.wanted = 1;
    stopped = steps_run(&stop, worker, NULL, nth, body, &frame);
    support_in_child(end_in_child, &frame);
    steps_go_on(&stop);
    if (body == get) {
        REQUIRE_EQUAL(frame.got, FRAME + 1);
        end(&frame);
        REQUIRE_EQUAL(frame.got, FRAME + 1);
    }
    REQUIRE_EQUAL(take_rest(&frame), CAPACITY);
    REQUIRE_EQUAL(cpool_objects_put_all(frame.pool), CAPACITY);
    REQUIRE_EQUAL(cpool_objects_destroy(frame.pool), 0);
    return stopped;
}

START_TEST(fork_beside_a_get_leaves_no_object_to_two)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (fork_beside(_i, worker, get, nth))
        nth++;
    REQUIRE(nth > 5);
    worker_stop(worker);
}
END_TEST

START_TEST(fork_beside_an_end_leaves_no_object_to_two)
{
    struct worker *worker = worker_start();
    size_t nth = 1;

    while (fork_beside(_i, worker, end, nth))
        nth++;
    REQUIRE(nth > 5);
    worker_stop(worker);
}
END_TEST

/* The handle of a lease that has ended may be the next one's, of another pool. */
static void lease_another_in_child(void *argument)
{
    struct frame *frame = argument;
    struct frame other = make(PLAIN, CAPACITY);
    int code;

    steps_allow(0);
    begin_and_get(&other, FRAME);
    code = cpool_objects_destroy(frame->pool);
    REQUIRE(code == 0 || code == CPOOL_ELIVE);
    REQUIRE_EQUAL(cpool_object_lease_end(other.lease), FRAME);
    REQUIRE_EQUAL(cpool_objects_destroy(other.pool), 0);
}

START_TEST(fork_beside_an_end_leaves_other_leases_alone)
{
    struct worker *worker = worker_start();
    size_t nth = 1;
    bool stopped;

    do {
        struct frame frame = make(PLAIN, CAPACITY);
        struct steps_stop stop;

        begin_and_get(&frame, FRAME);
        stopped = steps_run(&stop, worker, NULL, nth++, end, &frame);
        support_in_child(lease_another_in_child, &frame);
        steps_go_on(&stop);
        REQUIRE_EQUAL(cpool_objects_destroy(frame.pool), 0);
    } while (stopped);
    worker_stop(worker);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(end_without_hooks_costs_the_same_for_any_number, LISTED + 1),
        TIMES(fork_beside_a_get_leaves_no_object_to_two, KINDS),
        TIMES(fork_beside_an_end_leaves_no_object_to_two, KINDS),
        ONCE(fork_beside_an_end_leaves_other_leases_alone),
    };

    return SUPPORT_RUN("steps_object_lease", tests);
}

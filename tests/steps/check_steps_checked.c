/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_steps_checked.c - a thread stops at every step of a note in the log, and another one
 * forks, or notes or reads an event in the same entry.
 *
 * Includes steps.h, and pool_impl.h to see the log.
 */
#include "steps.h" /* first: it says which system interfaces are wanted */

#include "check/checks.h"
#include "inside.h"

enum { CAPACITY = 4, EVENTS = 4 };

static cpool_t *make_pool(void)
{
    cpool_config_t config = support_config(16, CAPACITY);
    cpool_debug_t debug = CPOOL_DEBUG_INIT;

    debug.log = EVENTS;
    config.debug = &debug;
    config.stall_limit = 1;
    return support_create(&config);
}

/* --- The log --- */

/* All members of an event tell its writer. */
struct writer {
    struct cpi_log *log;
    uintptr_t name;
};

static void note(void *argument)
{
    struct writer *writer = argument;
    struct cpi_log_event event = {.when = writer->name, .thread = writer->name,
                                  .index = writer->name, .site = writer->name};

    cpi_log_note(writer->log, &event);
}

/* Returns how many events can be read. */
static size_t require_unmixed(const struct cpi_log *log)
{
    struct cpi_log_event event;
    uint64_t number;
    size_t count = 0;

    for (number = 1; number <= cpi_load(&log->next, relaxed); number++) {
        if (!cpi_log_read(log, number, &event))
            continue;
        REQUIRE(event.thread == event.when && event.index == event.when &&
                event.site == event.when);
        count++;
    }
    return count;
}

/* The log comes round while the first writer stands still, and the second one stops in the
 * same entry. */
static bool note_in_one_entry(struct worker *workers[2], size_t first, size_t second)
{
    cpool_t *pool = make_pool();
    struct cpi_log *log = &cpi_checks_of(inside(pool))->log;
    struct writer writers[3] = {{log, 1}, {log, 2}, {log, 3}};
    struct steps_stop stops[2];
    bool stopped;

    stopped = steps_run(&stops[0], workers[0], "cpi_log_note", first, note, &writers[0]);
    for (size_t i = 1; i < EVENTS; i++)
        note(&writers[2]);
    stopped = steps_run(&stops[1], workers[1], "cpi_log_note", second, note, &writers[1]) &&
              stopped;
    steps_go_on(&stops[0]);
    require_unmixed(log);
    steps_go_on(&stops[1]);
    REQUIRE(require_unmixed(log) >= EVENTS - 1);
    support_destroy_empty(pool);
    return stopped;
}

START_TEST(two_events_in_one_entry_do_not_mix)
{
    struct worker *workers[2] = {worker_start(), worker_start()};
    size_t first, second;

    for (first = 1; note_in_one_entry(workers, first, 1); first++)
        for (second = 2; note_in_one_entry(workers, first, second); second++)
            ;
    REQUIRE(first > 5);
    worker_stop(workers[0]);
    worker_stop(workers[1]);
}
END_TEST

struct reader {
    const struct cpi_log *log;
    struct cpi_log_event event;
    bool found;
};

static void read_first(void *argument)
{
    struct reader *reader = argument;

    reader->found = cpi_log_read(reader->log, 1, &reader->event);
}

static void require_written_by(const struct cpi_log_event *event, uintptr_t name)
{
    REQUIRE(event->when == name && event->thread == name && event->index == name &&
            event->site == name);
}

/* A reader stands still in the first event's entry while a writer overwrites it, and reads on
 * when the writer has come to a step.  Until the writer is done, neither event can be read. */
static bool read_beside_note(struct worker *workers[2], size_t first, size_t second)
{
    cpool_t *pool = make_pool();
    struct cpi_log *log = &cpi_checks_of(inside(pool))->log;
    struct writer writers[2] = {{log, 1}, {log, 2}};
    struct reader reader = {.log = log};
    struct cpi_log_event event;
    struct steps_stop stops[2];
    bool reads;
    bool writes;

    for (size_t i = 0; i < EVENTS; i++)
        note(&writers[0]);
    reads = steps_run(&stops[0], workers[0], "cpi_log_read", first, read_first, &reader);
    writes = steps_run(&stops[1], workers[1], "cpi_log_note", second, note, &writers[1]);
    REQUIRE(!writes || !cpi_log_read(log, EVENTS + 1, &event));
    steps_go_on(&stops[0]);
    if (reader.found)
        require_written_by(&reader.event, 1);
    REQUIRE(reader.found == (!reads || second == 1));
    steps_go_on(&stops[1]);
    REQUIRE(cpi_log_read(log, EVENTS + 1, &event));
    require_written_by(&event, 2);
    support_destroy_empty(pool);
    return first == 1 ? writes : reads;
}

START_TEST(entry_read_while_it_is_written_is_left_out)
{
    struct worker *workers[2] = {worker_start(), worker_start()};
    size_t steps = 1;
    size_t first = 1;

    while (read_beside_note(workers, 1, steps))
        steps++;
    REQUIRE(steps > 5);
    while (read_beside_note(workers, ++first, 1))
        for (size_t second = 2; second <= steps; second++)
            read_beside_note(workers, first, second);
    REQUIRE(first > 5);
    worker_stop(workers[0]);
    worker_stop(workers[1]);
}
END_TEST

/* The entry of a writer that has vanished can be used again. */
static void note_in_child(void *log)
{
    struct writer writer = {log, 4};

    for (size_t i = 0; i < 2 * EVENTS; i++)
        note(&writer);
    REQUIRE_EQUAL(require_unmixed(log), EVENTS);
}

START_TEST(child_of_a_fork_uses_all_entries)
{
    struct worker *worker = worker_start();
    bool stopped = true;

    for (size_t nth = 1; stopped; nth++) {
        cpool_t *pool = make_pool();
        struct writer writer = {&cpi_checks_of(inside(pool))->log, 1};
        struct steps_stop stop;

        stopped = steps_run(&stop, worker, "cpi_log_note", nth, note, &writer);
        support_in_child(note_in_child, writer.log);
        steps_go_on(&stop);
        support_destroy_empty(pool);
    }
    worker_stop(worker);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        ONCE(two_events_in_one_entry_do_not_mix),
        ONCE(entry_read_while_it_is_written_is_left_out),
        ONCE(child_of_a_fork_uses_all_entries),
    };

    return SUPPORT_RUN("steps_checked", tests);
}

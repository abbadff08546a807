/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.c - pools under test and their audit (arena.h).
 *
 * Includes arena.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "arena.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The owner number under which audits stamp.  Workers have lower ones. */
#define ARENA_AUDITOR STAMP_OWNERS

/* The most magazines that one user can hold: loaded, spare, and those that the depot merges, with
 * and without its cache. */
#define ARENA_USER_MAGAZINES 6

/* Slots that move in one bulk call of an audit. */
#define ARENA_BULK 97

/* ---- Making and destroying --------------------------------------------------- */

static size_t arena_draw_slot_size(uint64_t *random)
{
    switch (random_below(random, 8)) {
    case 0:
    case 1:
        return random_between(random, 1, 8);
    case 2:
        return random_between(random, 65, 300);
    case 3:
        return random_between(random, 1, 8) * 8;
    default:
        return random_between(random, 9, 64);
    }
}

static size_t arena_draw_rounds(uint64_t *random)
{
    switch (random_below(random, 6)) {
    case 0:
        return 1;
    case 1:
        return random_between(random, 2, 4);
    case 2:
        return random_between(random, 5, 32);
    case 3:
        return random_between(random, 33, 256);
    default:
        return 0;
    }
}

/* Caches a pool has room for, unless few: enough for every thread of an episode. */
#define ARENA_CACHES 256

static void arena_make_busy(cpool_config_t *config, uint64_t *random)
{
    config->slot_size = random_between(random, 8, 16);
    config->slot_offset = 0;
    config->capacity = random_between(random, 64, 192);
    config->magazine_rounds = random_between(random, 1, 2);
    config->thread_caches = ARENA_CACHES;
    config->flags = 0;
}

enum arena_room arena_draw_room(uint64_t *random)
{
    static const enum arena_room rooms[] = {ARENA_BUSY, ARENA_BUSY, ARENA_BUSY,
                                            ARENA_BUSY, ARENA_TIGHT, ARENA_ROOMY};

    return rooms[random_below(random, sizeof rooms / sizeof rooms[0])];
}

cpool_config_t arena_draw(uint64_t *random, enum arena_room room)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;

    config.name = "stress";
    config.slot_size = arena_draw_slot_size(random);
    if (random_once_in(random, 3))
        config.slot_align = (size_t)1 << random_below(random, 9);
    if (config.slot_align != 0 && random_once_in(random, 2))
        config.slot_offset = random_between(random, 0, config.slot_size);
    config.capacity = room == ARENA_TIGHT ? random_between(random, 1, 200)
                                          : random_between(random, 200, 20000);
    config.magazine_rounds = arena_draw_rounds(random);
    config.thread_caches = random_once_in(random, 6) ? random_between(random, 1, 6)
                                                     : ARENA_CACHES;
    if (room == ARENA_BUSY)
        arena_make_busy(&config, random);
    return config;
}

/* Exactly as much memory as the library asks for, so that AddressSanitizer catches an access beyond
 * it.  Zeroed, because never used slots are expected to be zero. */
static void arena_provide_memory(struct arena *arena, cpool_config_t *config)
{
    config->memory_size = cpool_memory_required(config);
    if (config->memory_size == 0)
        return; /* the configuration is wrong, as cpool_create says */
    if (posix_memalign(&arena->memory, CPOOL_MEMORY_ALIGN, config->memory_size) != 0)
        stress_fail("no memory for a pool of %zu bytes", config->memory_size);
    memset(arena->memory, 0, config->memory_size);
    config->memory = arena->memory;
}

void arena_create(struct arena *arena, const cpool_config_t *wanted, size_t users,
                  uint64_t *random)
{
    cpool_config_t config = *wanted;
    int code;

    memset(arena, 0, sizeof *arena);
    if (random != NULL && random_once_in(random, 5))
        arena_provide_memory(arena, &config);
    code = cpool_create(&arena->pool, &config);
    if (code == CPOOL_EROUNDS) {
        free(arena->memory);
        config = *wanted;
        config.magazine_rounds = 0;
        arena_create(arena, &config, users, random);
        return;
    }
    if (code != 0)
        stress_fail("cpool_create: %s (slot_size %zu, slot_align %zu, slot_offset %zu, capacity "
                    "%zu, magazine_rounds %zu, flags %u, thread_caches %zu, memory_size %zu)",
                    cpool_strerror(code), config.slot_size, config.slot_align, config.slot_offset,
                    config.capacity, config.magazine_rounds, config.flags, config.thread_caches,
                    config.memory_size);
    arena_watch(arena, &config, users);
}

void arena_watch(struct arena *arena, const cpool_config_t *config, size_t users)
{
    arena->capacity = config->capacity;
    arena->indices = cpool_index_limit(arena->pool);
    stamp_book_init(&arena->book, arena->pool, arena->indices, config->slot_size);
    arena->users = users + 1;
    arena->slot_size = config->slot_size;
    arena->checked = (config->flags & CPOOL_CHECKED) != 0;
    arena->rounds = arena_stats(arena).magazine_rounds;
}

/* Frees what others left live. */
static void arena_free_live(struct arena *arena)
{
    struct stamp_owner owner = {.number = ARENA_AUDITOR};

    for (size_t i = 0; i < arena->indices; i++) {
        void *slot = cpool_at(arena->pool, i);

        if (stamp_is_live(&arena->book, i)) {
            stamp_adopt(&arena->book, &owner, slot);
            stamp_give(&arena->book, &owner, slot);
            cpool_free(arena->pool, slot);
        }
    }
}

/* A thread that is done with the pool may still be ending and hold a magazine.  cpool_destroy waits
 * for it, but the figures do not. */
static size_t arena_counted(const struct arena *arena, size_t live)
{
    const struct timespec nap = {0, 1000000};
    size_t counted = arena_stats(arena).live;

    for (int naps = 0; naps < 1000 && counted != live; naps++) {
        nanosleep(&nap, NULL);
        counted = arena_stats(arena).live;
    }
    return counted;
}

void arena_destroy(struct arena *arena)
{
    size_t live;
    size_t counted;
    int code;

    if (arena->checked)
        arena_free_live(arena);
    live = stamp_count_live(&arena->book);
    counted = arena_counted(arena, live);
    code = cpool_destroy(arena->pool);

    if (counted != live || code != (live > 0 ? CPOOL_ELIVE : 0))
        stress_fail("%zu slots are live; the pool counted %zu, cpool_destroy returned %d", live,
                    counted, code);
    stamp_book_fini(&arena->book);
    free(arena->memory);
}

/*
 * All magazines but one are full or empty.  Users that need more spares share up to half of the
 * magazines that the pool's slots fill.
 */
static void arena_check_magazines(const struct arena *arena, const struct figures *stats)
{
    size_t full = stats->max_capacity / stats->magazine_rounds;
    size_t most = full + full / 2 + 1 + ARENA_USER_MAGAZINES * arena->users;

    if (stats->magazines > most)
        stress_fail("%zu magazines were made; %zu would do for %zu slots and %zu users at once",
                    stats->magazines, most, arena->capacity, arena->users);
}

struct figures arena_stats(const struct arena *arena)
{
    struct figures stats;

    STRESS_REQUIRE(figures_read(arena->pool, &stats));
    arena_check_magazines(arena, &stats);
    return stats;
}

/* ---- The audit ---------------------------------------------------------------- */

struct audit {
    struct arena *arena;
    uint64_t *random;
    struct stamp_owner owner;
    void **slots; /* all that could be had */
    size_t count;
    bool *seen; /* by index: it came, or is live and cannot come */
};

/* The figures of a pool at rest must be exact. */
static void audit_figures(const struct audit *audit, size_t live, const char *moment)
{
    struct figures stats = arena_stats(audit->arena);

    if (stats.live != live || (!audit->arena->moving && stats.capacity != audit->arena->capacity) ||
        stats.live + stats.in_depot + stats.in_caches + stats.fresh != stats.capacity)
        stress_fail("%s: %zu live expected, but the statistics say live %zu + in depot %zu + in "
                    "caches %zu + fresh %zu = capacity %zu",
                    moment, live, stats.live, stats.in_depot, stats.in_caches, stats.fresh,
                    stats.capacity);
    if (stats.circulating + stats.fresh != stats.capacity)
        stress_fail("%s: circulating %zu, but %zu of %zu slots are fresh", moment,
                    stats.circulating, stats.fresh, stats.capacity);
}

static void audit_begin(struct audit *audit)
{
    audit->count = 0;
    for (size_t i = 0; i < audit->arena->indices; i++)
        audit->seen[i] = stamp_is_live(&audit->arena->book, i);
}

static void audit_receive(struct audit *audit, void *slot)
{
    size_t index = cpool_index(audit->arena->pool, slot);

    stamp_take(&audit->arena->book, &audit->owner, slot);
    if (audit->seen[index])
        stress_fail("audit: slot %zu came twice", index);
    audit->seen[index] = true;
    audit->slots[audit->count++] = slot;
}

/* One attempt to get more slots in one of the possible ways.  Returns false when the pool is
 * dry. */
static bool audit_draw(struct audit *audit, unsigned int way)
{
    cpool_t *pool = audit->arena->pool;
    void *slots[ARENA_BULK];
    size_t n = 0;

    if (way == 0)
        n = cpool_alloc_bulk(pool, slots, ARENA_BULK, 0);
    else if (way == 1 && (slots[0] = cpool_alloc_uncached(pool)) != NULL)
        n = 1;
    if (n == 0 && (slots[0] = cpool_alloc(pool)) != NULL)
        n = 1;
    for (size_t i = 0; i < n; i++)
        audit_receive(audit, slots[i]);
    return n > 0;
}

static void audit_drain(struct audit *audit, size_t expected)
{
    unsigned int way = (unsigned int)random_below(audit->random, 3);

    audit_begin(audit);
    while (audit_draw(audit, way))
        ;
    if (audit->count != expected) {
        size_t index = 0;

        while (index < audit->arena->indices && audit->seen[index])
            index++;
        stress_fail("audit: %zu of %zu slots can be had, but %zu are not live; the first that did "
                    "not come is %zu, last used by owner %u",
                    audit->count, audit->arena->capacity, expected, index,
                    stamp_last_owner(&audit->arena->book, index));
    }
    if (cpool_alloc(audit->arena->pool) != NULL || cpool_alloc_uncached(audit->arena->pool) != NULL)
        stress_fail("audit: a slot beyond the capacity of %zu", audit->arena->capacity);
}

static void audit_give_back(struct audit *audit)
{
    cpool_t *pool = audit->arena->pool;

    for (size_t i = 0; i < audit->count; i++)
        stamp_give(&audit->arena->book, &audit->owner, audit->slots[i]);
    switch (random_below(audit->random, 3)) {
    case 0:
        cpool_free_bulk(pool, audit->slots, audit->count);
        break;
    case 1:
        for (size_t i = 0; i < audit->count; i++)
            cpool_free_uncached(pool, audit->slots[i]);
        break;
    default:
        for (size_t i = 0; i < audit->count; i++)
            cpool_free(pool, audit->slots[i]);
    }
}

/* A reset pool has its whole capacity again, lowest address first. */
static void audit_reset(struct audit *audit)
{
    struct arena *arena = audit->arena;
    size_t live = stamp_count_live(&arena->book);
    size_t released = cpool_reset(arena->pool);

    if (released != live)
        stress_fail("cpool_reset released %zu slots where %zu were live", released, live);
    stamp_reset(&arena->book);
    audit_figures(audit, 0, "after a reset");
    audit_begin(audit);
    for (size_t i = 0; i < arena_stats(arena).capacity; i++) {
        void *slot = cpool_alloc(arena->pool);

        if (slot == NULL || slot != cpool_at(arena->pool, i))
            stress_fail("alloc number %zu after a reset gave %p, not %p", i, slot,
                        cpool_at(arena->pool, i));
        audit_receive(audit, slot);
    }
    audit_give_back(audit);
}

/* How many slots can be live once all other threads have ended. */
static size_t arena_obtainable(const struct arena *arena, const struct figures *stats)
{
    return arena->moving ? stats->max_capacity : arena->capacity;
}

void arena_audit(struct arena *arena, uint64_t *random, struct tally *tally)
{
    struct audit audit = {.arena = arena, .random = random};
    size_t live = stamp_count_live(&arena->book);
    struct figures stats = arena_stats(arena);
    size_t all = arena_obtainable(arena, &stats);

    tally->exchanges += stats.exchanges;
    audit.owner.number = ARENA_AUDITOR;
    audit.slots = calloc(arena->indices, sizeof *audit.slots);
    audit.seen = calloc(arena->indices, sizeof *audit.seen);
    if (audit.slots == NULL || audit.seen == NULL)
        stress_fail("no memory for an audit");
    cpool_flush(arena->pool);
    audit_figures(&audit, live, "before the audit");
    audit_drain(&audit, all - live);
    audit_figures(&audit, all, "with all slots taken");
    audit_give_back(&audit);
    audit_figures(&audit, live, "after giving all back");
    if (random_once_in(random, 3))
        audit_reset(&audit);
    tally->operations += 2 * audit.count;
    free(audit.slots);
    free(audit.seen);
}

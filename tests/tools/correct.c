/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * correct.c - a program without mistakes, which calls every function that hands slots
 * out, takes them back, or moves their memory, in pools of every kind.  No tool is to say
 * anything about it.
 *
 * Compiled by check-tools.sh as a user would, for a sanitizer or for none.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpool.h>
#include <cpool/frame.h>
#include <cpool/lanes.h>
#include <cpool/pools.h>
#include <cpool/sized.h>
#include <cpool/print.h>

enum { SIZE = 45, CAPACITY = 300, MOST = 40, TURNS = 3 };

struct item {
    char bytes[SIZE];
    void *owned;
};

CPOOL_DECLARE(items, struct item);
CPOOL_DEFINE(items, struct item, .capacity = CAPACITY);

static _Alignas(CPOOL_MEMORY_ALIGN) unsigned char memory[1 << 17];
static unsigned sum;

static void fail(const char *what)
{
    printf("failed: %s\n", what);
    exit(1);
}

/* Decides by each byte. */
static void expect(const char *slot, char value)
{
    for (int i = 0; i < SIZE; i++)
        if (slot[i] != value)
            fail("a slot's bytes");
}

static void use(void *slot)
{
    if (slot == NULL)
        fail("no slot");
    memset(slot, 1, SIZE);
    expect(slot, 1);
}

static void single_slots(cpool_t *pool)
{
    cpool_cache_t *cache;
    char *slot = cpool_alloc(pool);

    use(slot);
    cpool_free(pool, slot);
    slot = cpool_calloc(pool);
    expect(slot, 0);
    use(slot);
    cpool_free(pool, slot);
    slot = cpool_alloc_uncached(pool);
    use(slot);
    cpool_free_uncached(pool, slot);
    if (cpool_cache_create(&cache, pool) != CPOOL_OK)
        fail("no cache");
    slot = cpool_cache_alloc(cache);
    use(slot);
    cpool_cache_free(cache, slot);
    cpool_cache_destroy(cache);
}

static void many_slots(cpool_t *pool)
{
    void *slots[MOST];
    size_t count = cpool_alloc_bulk(pool, slots, MOST, 0);

    for (size_t i = 0; i < count; i++)
        use(slots[i]);
    cpool_free_bulk(pool, slots, count);
}

static void waiting(cpool_t *pool)
{
    const struct timespec moment = { 0, 100000 };
    void *slot = cpool_alloc_wait(pool, &moment);

    use(slot);
    cpool_free(pool, slot);
}

static void frames(cpool_t *pool)
{
    cpool_frame_t *frame;
    void *slot = cpool_alloc(pool);

    use(slot);
    if (cpool_frame_begin(&frame, pool) != CPOOL_OK || cpool_frame_adopt(frame, slot) != CPOOL_OK)
        fail("a frame");
    use(cpool_frame_alloc(frame));
    cpool_frame_reset(frame);
    use(cpool_frame_alloc(frame));
    cpool_frame_end(frame);
}

/* All slots, so that the pool grows, finds itself dry, and has memory to give back. */
static void memory_of_slots(cpool_t *pool)
{
    size_t most = cpool_index_limit(pool);
    void **slots = calloc(most, sizeof *slots);
    size_t count = 0;

    if (slots == NULL)
        fail("no memory");
    while (count < most && (slots[count] = cpool_alloc(pool)) != NULL)
        use(slots[count++]);
    for (size_t i = 0; i < count; i++)
        cpool_free(pool, slots[i]);
    free(slots);
    cpool_flush(pool);
    (void)cpool_trim(pool);
    (void)cpool_reserve(pool, CAPACITY / 2);
    single_slots(pool);
    (void)cpool_shrink(pool, CAPACITY / 4);
    (void)cpool_grow(pool, CAPACITY / 4);
    single_slots(pool);
}

static void figures(cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;
    FILE *nowhere = fopen("/dev/null", "w");
    void *slot, *found;

    if (nowhere == NULL || cpool_read_stats(pool, &stats) != CPOOL_OK || stats.live != 0)
        fail("figures");
    cpool_print(pool, CPOOL_DUMP_TEXT, nowhere);
    cpool_print(pool, CPOOL_DUMP_JSON, nowhere);
    fclose(nowhere);
    slot = cpool_alloc(pool);
    if (cpool_of(slot, &found) == NULL || found != slot)
        fail("the pool of a slot");
    cpool_free(pool, slot);
}

/* The report to the error handler may be looked at. */
static void note_report(const cpool_error_t *error, void *context)
{
    if (error->code == CPOOL_EFOREIGN && strstr(error->text, "outside") != NULL &&
        error->size == sizeof *error && error->address != NULL)
        ++*(unsigned *)context;
}

static void refused(cpool_t *pool)
{
    unsigned reports = 0;
    int elsewhere = 0;

    cpool_set_error_handler((cpool_error_handler_t){ note_report, &reports });
    cpool_free(pool, &elsewhere);
    cpool_set_error_handler((cpool_error_handler_t){ NULL, NULL });
    if (reports != 1)
        fail("report");
}

/* Slots that are live at a reset are anybody's after it, and no leaks. */
static void reset(cpool_t *pool)
{
    use(cpool_alloc(pool));
    use(cpool_alloc(pool));
    if (cpool_reset(pool) != 2)
        fail("reset");
    single_slots(pool);
}

static void *in_a_thread(void *arg)
{
    cpool_t *pool = arg;
    cpool_cache_t *cache;
    void *slot;

    single_slots(pool);
    many_slots(pool);
    frames(pool);
    if (cpool_cache_create(&cache, pool) != CPOOL_OK)
        fail("cache");
    slot = cpool_cache_alloc(cache);
    use(slot);
    cpool_cache_free(cache, slot);
    cpool_cache_destroy(cache);
    return NULL;
}

static void everything(cpool_t *pool)
{
    pthread_t thread;

    for (int turn = 0; turn < TURNS; turn++) {
        single_slots(pool);
        many_slots(pool);
        waiting(pool);
    }
    memory_of_slots(pool);
    if (pthread_create(&thread, NULL, in_a_thread, pool) != 0 || pthread_join(thread, NULL) != 0)
        fail("thread");
    figures(pool);
    refused(pool);
    reset(pool);
    if (cpool_destroy(pool) != CPOOL_OK)
        fail("destroy");
}

static void run(unsigned flags, size_t max_capacity, bool in_place)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    config.name = "correct";
    config.slot_size = SIZE;
    config.capacity = CAPACITY;
    config.max_capacity = max_capacity;
    config.flags = flags;
    if (in_place) {
        config.thread_caches = 4;
        config.memory = memory;
        config.memory_size = sizeof memory;
    }
    if (cpool_create(&pool, &config) != CPOOL_OK)
        fail("create");
    everything(pool);
}

static void typed(void)
{
    struct item *some[MOST];
    struct item *item = items_alloc();
    size_t count;

    use(item);
    items_free(item);
    item = items_calloc();
    expect(item->bytes, 0);
    items_free(item);
    count = items_alloc_bulk(some, MOST, 0);
    for (size_t i = 0; i < count; i++)
        use(some[i]);
    items_free_bulk(some, count);
    everything(items_pool());
}

/* Slots stay constructed, and free ones are looked at. */
static void constructed(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;
    char *slot;

    config.slot_size = SIZE;
    config.capacity = 1;
    config.flags = CPOOL_NO_POISON;
    if (cpool_create(&pool, &config) != CPOOL_OK)
        fail("create");
    slot = cpool_alloc(pool);
    use(slot);
    cpool_free(pool, slot);
    expect(slot, 1);
    slot = cpool_alloc(pool);
    expect(slot, 1);
    cpool_free(pool, slot);
    if (cpool_destroy(pool) != CPOOL_OK)
        fail("destroy");
}

/* To the end of the process: a block that a live slot points to is no leak of malloc's. */
static void kept(void)
{
    static struct item *volatile item;

    item = items_alloc();
    use(item);
    item->owned = malloc(100);
}

/* Likewise, a block with a pool, of which the program has the handle alone.  The pool is not the
 * latest one, to which the library has a pointer. */
static void kept_pool(void)
{
    static cpool_t *volatile pool;
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *made = NULL;

    config.slot_size = SIZE;
    config.capacity = CAPACITY;
    config.memory_size = cpool_memory_required(&config);
    config.memory_size += -config.memory_size % CPOOL_MEMORY_ALIGN;
    config.memory = aligned_alloc(CPOOL_MEMORY_ALIGN, config.memory_size);
    if (config.memory == NULL || cpool_create(&made, &config) != CPOOL_OK)
        fail("create");
    pool = made;
    (void)pool;
}

/* Likewise, blocks that are too large for a class, and lie inside those of malloc. */
static void kept_large(void)
{
    static cpool_sized_t *volatile blocks;
    static char *volatile kept;
    cpool_sized_config_t config = CPOOL_SIZED_CONFIG_INIT;
    cpool_sized_t *made;
    char *block;
    char *other;

    if (cpool_sized_create(&made, &config) != CPOOL_OK)
        fail("sized");
    blocks = made;
    block = cpool_sized_alloc(blocks, 100000);
    other = cpool_sized_alloc_aligned(blocks, 70000, 4096);
    use(block);
    use(other);
    block = cpool_sized_realloc(blocks, block, 200000);
    if (block == NULL)
        fail("no block");
    expect(block, 1);
    cpool_sized_free(blocks, other);
    kept = block;
    (void)kept;
}

/* What the library keeps of them is no leak.  The first one lies in mapped memory. */
static void ended(void)
{
    cpool_sized_config_t sized = CPOOL_SIZED_CONFIG_INIT;
    cpool_lanes_config_t shared = CPOOL_LANES_CONFIG_INIT;
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_sized_t *blocks;
    cpool_lanes_t *lanes = NULL;

    config.slot_size = SIZE;
    config.capacity = CAPACITY;
    shared.slots = &config;
    shared.lanes = 1;
    if (cpool_sized_create(&blocks, &sized) != CPOOL_OK ||
        cpool_lanes_create(&lanes, &shared) != CPOOL_OK)
        fail("structures");
    cpool_sized_destroy(blocks);
    cpool_lanes_destroy(lanes);
}

/* Memory of a pool is ordinary memory after its end. */
static void afterwards(void)
{
    for (size_t i = 0; i < sizeof memory; i++)
        sum += memory[i];
    memset(memory, 0, sizeof memory);
}

int main(void)
{
    static const unsigned kinds[] = { 0, CPOOL_TRACKED, CPOOL_CHECKED, CPOOL_COLOUR,
                                      CPOOL_NO_POISON };

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        run(kinds[i], 0, false);
        run(kinds[i], 2 * CAPACITY, false);
        run(kinds[i], 0, true);
        afterwards();
    }
    kept_pool();
    kept_large();
    typed();
    constructed();
    ended();
    kept();
    puts("done");
    return sum == 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanes.c - pools that hand out the same slots in every run.
 *
 * Uses the pool by pool/layer.h and the public headers.
 *
 *   lane 0   head -> 3 -> 0 -> 1      words   | 2 + 1 | end | live | 2 + 0 | ...
 *
 * The lanes have all slots of the pool.  A free slot's word leads to the next one in its lane,
 * and that of any other slot says that it is live.
 *
 * ORDERING TABLE
 *   word   | word load, store, CAS | relaxed | - | -
 *   failed | CAS failure           | relaxed | - | -
 *
 * The program hands slots from thread to thread, and orders their words by that.  The
 * compare-and-swap is there for two lanes that free the same slot.
 */
#include "lanes/lanes_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/error.h"
#include "host/os.h"
#include "base/structs.h"
#include "base/text.h"

/* Slots that are taken from the pool, or given back, at once. */
#define CPI_LANE_CHUNK 256u

/* --- Creation --- */

static int check(const cpool_config_t *config, size_t n)
{
    const unsigned refused = CPOOL_TRACKED | CPOOL_CHECKED | CPOOL_FILL | CPOOL_WAITABLE;

    if ((config->flags & refused) != 0)
        return CPOOL_EFLAGS;
    if (config->max_capacity != 0 && config->max_capacity != config->capacity)
        return CPOOL_EMAXCAPACITY;
    return n == 0 || n > config->capacity || config->capacity > CPI_LANE_SLOTS_MAX
               ? CPOOL_ECAPACITY
               : 0;
}

static void free_tables(cpool_lanes_t *lanes)
{
    free(lanes->words);
    free(lanes->reached);
    free(lanes->states);
}

static void release(cpool_lanes_t *lanes)
{
    free_tables(lanes);
    cpi_os_free_block(lanes);
}

static cpool_lanes_t *allocate(size_t capacity, size_t n)
{
    size_t size;
    cpool_lanes_t *lanes;

    if (!cpi_multiply(n, sizeof lanes->lanes[0], &size) || !cpi_add(size, sizeof *lanes, &size))
        return NULL;
    lanes = cpi_os_block(CPI_LINE, size);
    if (lanes == NULL)
        return NULL;
    memset(lanes, 0, size);
    lanes->words = calloc(capacity, sizeof *lanes->words);
    lanes->reached = calloc(cpi_lanes_bits(capacity), sizeof *lanes->reached);
    lanes->states = calloc(1, sizeof *lanes->states);
    lanes->capacity = capacity;
    lanes->n = n;
    if (lanes->words != NULL && lanes->reached != NULL && lanes->states != NULL)
        return lanes;
    release(lanes);
    return NULL;
}

static size_t chunk_at(const cpool_lanes_t *lanes, size_t done)
{
    size_t left = lanes->capacity - done;

    return left < CPI_LANE_CHUNK ? left : CPI_LANE_CHUNK;
}

/* The pool is new and exact, so it has these slots and no others. */
static int take_all(const cpool_lanes_t *lanes)
{
    void *slots[CPI_LANE_CHUNK];
    size_t done;

    for (done = 0; done < lanes->capacity; done += chunk_at(lanes, done))
        if (cpool_alloc_bulk(lanes->pool, slots, chunk_at(lanes, done)) < chunk_at(lanes, done))
            return CPOOL_ENOMEM;
    return 0;
}

static void give_all(const cpool_lanes_t *lanes)
{
    void *slots[CPI_LANE_CHUNK];
    size_t done, i;

    for (done = 0; done < lanes->capacity; done += i) {
        for (i = 0; i < chunk_at(lanes, done); i++)
            slots[i] = cpool_at(lanes->pool, done + i);
        cpool_free_bulk(lanes->pool, slots, i);
    }
}

/* --- Dealing --- */

static void push(cpool_lane_t *lane, size_t index)
{
    cpi_store(&lane->lanes->words[index], lane->head, relaxed); /* [word] */
    lane->head = CPI_LANE_SLOT + (uint32_t)index;
    lane->count++;
}

/* From the top down, so that the lowest index of each lane comes to lie in front. */
static void deal(cpool_lanes_t *lanes, size_t total)
{
    size_t index = lanes->capacity;
    size_t i;

    for (i = lanes->n; i-- > 0;) {
        cpool_lane_t *lane = &lanes->lanes[i];
        size_t share = total / lanes->n + (i < total % lanes->n);

        lane->head = CPI_LANE_END;
        lane->count = 0;
        while (lane->count < share) {
            index--;
            if (!cpi_lanes_is_live(lanes, index))
                push(lane, index);
        }
    }
}

size_t cpool_lanes_balance(cpool_lanes_t *lanes)
{
    size_t total = 0;
    size_t i;

    if (CPI_HAS_ENDED(lanes))
        return 0;
    /* Not the lanes' counts: in the child of a fork a thread may have vanished between a
     * slot's word and the count. */
    for (i = 0; i < lanes->capacity; i++)
        total += !cpi_lanes_is_live(lanes, i);
    deal(lanes, total);
    return total;
}

int cpool_lanes_create(cpool_lanes_t **result, const cpool_config_t *given, size_t n)
{
    cpool_config_t config;
    cpool_lanes_t *lanes;
    size_t i;
    int code;

    if (result == NULL)
        return CPOOL_ENULL;
    *result = NULL;
    code = given != NULL ? cpi_struct_read(&config, sizeof config, given) : CPOOL_ENULL;
    if (code == 0)
        code = check(&config, n);
    if (code != 0)
        return code;
    lanes = allocate(config.capacity, n);
    if (lanes == NULL)
        return CPOOL_ENOMEM;
    config.flags |= CPOOL_EXACT;
    config.memory_flags |= CPOOL_MEMORY_KEEP_PAGES; /* each lane's slots are kept */
    code = cpi_layer_create(&lanes->pool, &config, CPOOL_VIEW_LANES);
    if (code == 0) {
        code = take_all(lanes);
        if (code != 0)
            (void)cpool_reset(lanes->pool); /* of what was taken */
    }
    if (code != 0) {
        cpool_destroy(lanes->pool);
        release(lanes);
        return code;
    }
    lanes->slot_size = config.slot_size;
    for (i = 0; i < n; i++)
        lanes->lanes[i].lanes = lanes;
    deal(lanes, lanes->capacity);
    cpi_text_copy(lanes->name, sizeof lanes->name, config.name);
    cpi_layer_own(lanes->pool, lanes);
    lanes->shown.kind = CPOOL_VIEW_LANES;
    lanes->shown.owner = lanes;
    lanes->shown.name = lanes->name;
    lanes->shown.pool = lanes->pool;
    cpi_layer_show(&lanes->shown);
    *result = lanes;
    return 0;
}

int cpool_lanes_destroy(cpool_lanes_t *lanes)
{
    size_t free_slots;
    size_t capacity;
    size_t i;
    int code;

    if (lanes == NULL)
        return 0;
    if (CPI_HAS_ENDED(lanes))
        return CPOOL_EPOOL;
    capacity = lanes->capacity;
    cpi_layer_hide(&lanes->shown);
    free_slots = cpool_lanes_balance(lanes);
    give_all(lanes);
    code = cpool_destroy(lanes->pool);
    for (i = 0; i < lanes->n; i++)
        lanes->lanes[i].head = CPI_LANE_END;
    free_tables(lanes);
    cpi_ending_keep(&lanes->ending, lanes, sizeof *lanes + lanes->n * sizeof lanes->lanes[0],
                    false);
    return free_slots < capacity ? CPOOL_ELIVE : code;
}

/* --- Lanes --- */

cpool_lane_t *cpool_lane(cpool_lanes_t *lanes, size_t number)
{
    return !CPI_HAS_ENDED(lanes) && number < lanes->n ? &lanes->lanes[number] : NULL;
}

size_t cpool_lane_count(const cpool_lane_t *lane)
{
    return CPI_HAS_ENDED(lane->lanes) ? 0 : lane->count;
}

cpool_t *cpool_lanes_pool(const cpool_lanes_t *lanes)
{
    return CPI_HAS_ENDED(lanes) ? NULL : cpi_layer_face(lanes->pool);
}

void *cpool_lane_alloc(cpool_lane_t *lane)
{
    cpool_lanes_t *lanes = lane->lanes;
    uint32_t index = lane->head - CPI_LANE_SLOT;

    if (lane->head < CPI_LANE_SLOT) {
        (void)CPI_HAS_ENDED(lanes);
        return NULL;
    }
    lane->head = cpi_load(&lanes->words[index], relaxed);      /* [word] */
    cpi_store(&lanes->words[index], CPI_LANE_LIVE, relaxed); /* [word] */
    lane->count--;
    return cpool_at(lanes->pool, index);
}

CPI_COLD static int refuse(const cpool_lanes_t *lanes, const void *slot, int code)
{
    size_t index = cpool_index(lanes->pool, slot);
    cpool_error_t error = {.code = code, .function = "cpool_lane_free", .name = lanes->name,
                           .pool = cpool_lanes_pool(lanes), .address = slot};

    if (index != SIZE_MAX) {
        error.slot = slot;
        error.index = index;
    }
    cpi_report(&error, "cpool_lane_free: %s (address %p)", cpool_strerror(code), slot);
    return code;
}

static int mistake_of(const cpool_lanes_t *lanes, const void *slot)
{
    uintptr_t first = (uintptr_t)cpool_at(lanes->pool, 0);
    uintptr_t end = (uintptr_t)cpool_at(lanes->pool, lanes->capacity - 1) + lanes->slot_size;

    return (uintptr_t)slot > first && (uintptr_t)slot < end ? CPOOL_EMISALIGNED : CPOOL_EFOREIGN;
}

int cpool_lane_free(cpool_lane_t *lane, void *slot)
{
    cpool_lanes_t *lanes = lane->lanes;
    uint32_t live = CPI_LANE_LIVE;
    size_t index;

    if (slot == NULL)
        return 0;
    if (CPI_HAS_ENDED(lanes))
        return CPOOL_EPOOL;
    index = cpool_index(lanes->pool, slot);
    if (index >= lanes->capacity)
        return refuse(lanes, slot, mistake_of(lanes, slot));
    if (!cpi_cas_strong(&lanes->words[index], &live, lane->head, /* [word] [failed] */
                        relaxed, relaxed))
        return refuse(lanes, slot, CPOOL_EDOUBLEFREE);
    lane->head = CPI_LANE_SLOT + (uint32_t)index;
    lane->count++;
    return 0;
}

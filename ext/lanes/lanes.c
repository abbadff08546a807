/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanes.c - pools that hand out the same slots in every run, and their state as bytes.
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
#include <cpool/lanes.h>

#include "common.h"

/* What a slot's word says: it is the last one of its lane, it is live, or which one is the next.
 * A lane's head is such a word, too, and never live. */
#define CPI_LANE_END 0u
#define CPI_LANE_LIVE 1u
#define CPI_LANE_SLOT 2u /* and the index */

#define CPI_LANE_SLOTS_MAX ((size_t)INT32_MAX - CPI_LANE_SLOT)

struct cpi_lane {
    _Alignas(CPI_LINE) uint32_t head; /* its user's */
    uint32_t count;                   /* its user's */
};

/* All constant, but for the words, the bits, `client` and the lanes. */
struct cpool_lanes {
    cpool_t *face;          /* what cpool_lanes_pool returns: first */
    uintptr_t ended;        /* atomic */
    uint32_t *words;        /* atomic, one for each slot */
    unsigned char *reached; /* bits of slots, while a state is looked through */
    size_t capacity;
    size_t n;                     /* lanes.  0 after the end */
    size_t bits, tables, bytes; /* bytes of `reached`, of this with the words, of the lanes */
    cpool_client_t client;
    char name[32];
    struct cpi_lane lanes[];
};

/* --- Creation --- */

static cpool_lanes_t *allocate_lanes(size_t capacity, size_t n)
{
    size_t bits = (capacity + 7) / 8;
    size_t tables = capacity * sizeof(uint32_t) + bits;
    size_t bytes = sizeof(cpool_lanes_t) + n * sizeof(struct cpi_lane);
    cpool_lanes_t *lanes = NULL;

    if (capacity <= SIZE_MAX / 2 / sizeof(struct cpi_lane))
        lanes = cpool_client_memory(bytes, 0);
    if (lanes == NULL)
        return NULL;
    lanes->words = cpool_client_memory(tables, 0);
    if (lanes->words == NULL) {
        cpool_client_release(lanes, bytes, 0, NULL);
        return NULL;
    }
    lanes->reached = (unsigned char *)(lanes->words + capacity);
    lanes->bits = bits;
    lanes->tables = tables;
    lanes->bytes = bytes;
    lanes->capacity = capacity;
    lanes->n = n;
    return lanes;
}

/* The pool is new, so it has these slots and no others. */
static int take_all(cpool_t *pool, size_t capacity)
{
    size_t n;

    for (size_t taken = 0; taken < capacity; taken += n) {
        n = capacity - taken;
        if (cpool_client_take(pool, CPOOL_CLIENT_FRESH, &n) == NULL)
            return CPOOL_ENOMEM;
    }
    return 0;
}

/* Gives the pool's slots back, and all memory. */
static int end_lanes(cpool_lanes_t *lanes, uintptr_t *ended)
{
    cpool_t *pool = lanes->client.pool;
    int code;

    if (pool != NULL)
        (void)cpool_reset(pool);
    code = cpool_destroy(pool);
    lanes->n = 0;
    cpool_client_release(lanes->words, lanes->tables, 0, NULL);
    cpool_client_release(lanes, lanes->bytes, 0, ended);
    return code;
}

/* --- Dealing --- */

static bool is_live_at(const cpool_lanes_t *lanes, size_t index)
{
    return cpi_word_load(&lanes->words[index], relaxed) == CPI_LANE_LIVE; /* [word] */
}

/* From the top down, so that the lowest index of each lane comes to lie in front. */
static void deal_slots(cpool_lanes_t *lanes, size_t total)
{
    size_t index = lanes->capacity;

    for (size_t i = lanes->n; i-- > 0;) {
        struct cpi_lane *lane = &lanes->lanes[i];
        size_t share = total / lanes->n + (i < total % lanes->n);

        lane->head = CPI_LANE_END;
        for (lane->count = 0; lane->count < share;) {
            index--;
            if (is_live_at(lanes, index))
                continue;
            cpi_word_store(&lanes->words[index], lane->head, relaxed); /* [word] */
            lane->head = CPI_LANE_SLOT + (uint32_t)index;
            lane->count++;
        }
    }
}

size_t cpool_lanes_balance(cpool_lanes_t *lanes)
{
    size_t total = 0;

    if (CPI_ENDED(lanes))
        return 0;
    /* Not the lanes' counts: in the child of a fork a thread may have vanished between a
     * slot's word and the count. */
    for (size_t i = 0; i < lanes->capacity; i++)
        total += !is_live_at(lanes, i);
    deal_slots(lanes, total);
    return total;
}

static int read_lanes_config(const cpool_lanes_config_t *given, cpool_config_t *slots, size_t *n)
{
    cpool_lanes_config_t config;
    int code = cpi_given_read(&config, sizeof config, given);

    if (code == 0)
        code = cpi_given_read(slots, sizeof *slots, config.slots);
    if (code != 0)
        return code;
    *n = config.lanes;
    if ((slots->flags & (CPOOL_TRACKED | CPOOL_CHECKED)) != 0)
        return CPOOL_EFLAGS;
    if (slots->max_capacity != 0 && slots->max_capacity != slots->capacity)
        return CPOOL_ECAPACITY;
    return *n == 0 || *n > slots->capacity || slots->capacity > CPI_LANE_SLOTS_MAX ? CPOOL_ECAPACITY
                                                                                    : 0;
}

int cpool_lanes_create(cpool_lanes_t **result, const cpool_lanes_config_t *given)
{
    cpool_config_t slots;
    cpool_lanes_t *lanes;
    size_t n;
    int code;

    if (result == NULL)
        return CPOOL_ENULL;
    *result = NULL;
    code = read_lanes_config(given, &slots, &n);
    if (code != 0)
        return code;
    lanes = allocate_lanes(slots.capacity, n);
    if (lanes == NULL)
        return CPOOL_ENOMEM;
    cpi_name_copy(lanes->name, sizeof lanes->name, slots.name);
    lanes->client = (cpool_client_t){.size = sizeof lanes->client, .kind = CPOOL_VIEW_LANES,
                                     .owner = lanes, .name = lanes->name};
    slots.flags |= CPOOL_KEEP_PAGES; /* each lane's slots are kept */
    code = cpool_client_create(&lanes->client, &slots);
    if (code == 0)
        code = take_all(lanes->client.pool, lanes->capacity);
    if (code != 0) {
        (void)end_lanes(lanes, NULL);
        return code;
    }
    lanes->face = lanes->client.face;
    deal_slots(lanes, lanes->capacity);
    cpool_client_show(&lanes->client, true);
    *result = lanes;
    return 0;
}

int cpool_lanes_destroy(cpool_lanes_t *lanes)
{
    size_t live;
    int code;

    if (lanes == NULL)
        return 0;
    if (CPI_ENDED(lanes))
        return CPOOL_EPOOL;
    cpool_client_show(&lanes->client, false);
    live = lanes->capacity - cpool_lanes_balance(lanes);
    lanes->face = NULL;
    code = end_lanes(lanes, &lanes->ended);
    return live > 0 ? CPOOL_ELIVE : code;
}

/* --- Lanes --- */

void *cpool_lane_alloc(cpool_lanes_t *lanes, size_t number)
{
    struct cpi_lane *lane = &lanes->lanes[number];
    uint32_t index;

    if (number >= lanes->n || lane->head < CPI_LANE_SLOT) {
        (void)CPI_ENDED(lanes);
        return NULL;
    }
    index = lane->head - CPI_LANE_SLOT;
    lane->head = cpi_word_load(&lanes->words[index], relaxed);      /* [word] */
    cpi_word_store(&lanes->words[index], CPI_LANE_LIVE, relaxed); /* [word] */
    lane->count--;
    return cpool_at(lanes->client.face, index);
}

CPI_COLD static void refuse_slot(const cpool_lanes_t *lanes, const void *slot, int code)
{
    cpool_error_t error = {.code = code, .function = "cpool_lane_free", .name = lanes->name,
                           .pool = lanes->client.face, .address = slot};
    void *around;

    if (code == CPOOL_EFOREIGN && cpool_of(slot, &around) == lanes->client.face)
        error.code = CPOOL_EMISALIGNED;
    if (code == CPOOL_EDOUBLEFREE) {
        error.slot = slot;
        error.index = cpool_index(lanes->client.face, slot);
    }
    cpool_client_report(&error, "cpool_lane_free: %s (address %p)", cpool_strerror(error.code),
                        slot);
}

void cpool_lane_free(cpool_lanes_t *lanes, size_t number, void *slot)
{
    struct cpi_lane *lane = &lanes->lanes[number];
    uint32_t live = CPI_LANE_LIVE;
    size_t index;

    if (slot == NULL || CPI_ENDED(lanes))
        return;
    index = cpool_index(lanes->client.face, slot);
    if (number >= lanes->n) {
        refuse_slot(lanes, slot, CPOOL_ECAPACITY);
    } else if (index >= lanes->capacity) {
        refuse_slot(lanes, slot, CPOOL_EFOREIGN);
    } else if (!cpi_word_cas(&lanes->words[index], &live, lane->head, /* [word] */
                             relaxed, relaxed)) {                     /* [failed] */
        refuse_slot(lanes, slot, CPOOL_EDOUBLEFREE);
    } else {
        lane->head = CPI_LANE_SLOT + (uint32_t)index;
        lane->count++;
    }
}

/* --- The state as bytes, for rollback, late joiners and saved games ---
 *
 *   | magic | version | capacity | lanes | head, count of each lane | word of each slot | sum |
 *
 * All are numbers of 32 bits, the lowest byte first on every machine, and `sum` has two.  No
 * address is in it, so the bytes mean the same in another process. */

#define CPI_STATE_MAGIC 0x4c505063u /* "cPPL" */
#define CPI_STATE_VERSION 2u

/* Numbers before those of the lanes.  Those of the sum are two. */
enum { CPI_STATE_HEAD = 4 };

#define CPI_LOWEST_FIRST (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static void put_number(unsigned char *state, size_t at, uint32_t number)
{
    if (!CPI_LOWEST_FIRST)
        number = __builtin_bswap32(number);
    memcpy(state + at * sizeof number, &number, sizeof number);
}

static uint32_t get_number(const unsigned char *state, size_t at)
{
    uint32_t number;

    memcpy(&number, state + at * sizeof number, sizeof number);
    return CPI_LOWEST_FIRST ? number : __builtin_bswap32(number);
}

/* Copies words from a state or to one. */
static void copy_words(void *to, const void *from, size_t n)
{
    memcpy(to, from, n * sizeof(uint32_t));
    for (size_t i = 0; i < n && !CPI_LOWEST_FIRST; i++) /* each the other way round */
        put_number(to, i, __builtin_bswap32(get_number(to, i)));
}

static size_t at_lane(size_t lane)
{
    return CPI_STATE_HEAD + 2 * lane;
}

static size_t at_slot(const cpool_lanes_t *lanes, size_t index)
{
    return at_lane(lanes->n) + index;
}

/* Of all numbers before it: their sum, and the sum of all its values on the way, which tells their
 * order (J. Fletcher, 1982). */
static uint64_t sum_of(const cpool_lanes_t *lanes, const unsigned char *state)
{
    size_t end = at_slot(lanes, lanes->capacity);
    uint32_t sum = 1, way = 0;

    for (size_t at = 0; at < end; at++) {
        sum += get_number(state, at);
        way += sum;
    }
    return (uint64_t)way << 32 | sum;
}

int cpool_lanes_save(const cpool_lanes_t *lanes, void *state, size_t size)
{
    const uint32_t head[CPI_STATE_HEAD] = {CPI_STATE_MAGIC, CPI_STATE_VERSION,
                                           (uint32_t)lanes->capacity, (uint32_t)lanes->n};
    unsigned char *to = state;
    uint64_t sum;

    if (CPI_ENDED(lanes))
        return CPOOL_EPOOL;
    if (state == NULL)
        return CPOOL_ENULL;
    if (size < CPOOL_LANES_STATE_SIZE(lanes->capacity, lanes->n))
        return CPOOL_ESTRUCT;
    for (size_t i = 0; i < CPI_STATE_HEAD; i++)
        put_number(to, i, head[i]);
    for (size_t i = 0; i < lanes->n; i++) {
        put_number(to, at_lane(i), lanes->lanes[i].head);
        put_number(to, at_lane(i) + 1, lanes->lanes[i].count);
    }
    copy_words(to + at_slot(lanes, 0) * sizeof(uint32_t), lanes->words, lanes->capacity);
    sum = sum_of(lanes, to);
    put_number(to, at_slot(lanes, lanes->capacity), (uint32_t)sum);
    put_number(to, at_slot(lanes, lanes->capacity) + 1, (uint32_t)(sum >> 32));
    return 0;
}

static bool was_reached(const cpool_lanes_t *lanes, size_t index)
{
    return ((unsigned)lanes->reached[index / 8] >> index % 8 & 1u) != 0;
}

/* Whether the lane has as many slots as it says, and no other lane has one of them. */
static bool is_lane_right(const cpool_lanes_t *lanes, const unsigned char *state, size_t lane)
{
    uint32_t word = get_number(state, at_lane(lane));
    uint32_t left = get_number(state, at_lane(lane) + 1);

    for (; left > 0 && word >= CPI_LANE_SLOT && word - CPI_LANE_SLOT < lanes->capacity; left--) {
        size_t index = word - CPI_LANE_SLOT;

        if (was_reached(lanes, index))
            return false;
        lanes->reached[index / 8] |= (unsigned char)(1u << index % 8);
        word = get_number(state, at_slot(lanes, index));
    }
    return left == 0 && word == CPI_LANE_END;
}

/* Each slot that is in no lane is live, and no other one is. */
static bool are_lanes_right(const cpool_lanes_t *lanes, const unsigned char *state)
{
    memset(lanes->reached, 0, lanes->bits);
    for (size_t i = 0; i < lanes->n; i++)
        if (!is_lane_right(lanes, state, i))
            return false;
    for (size_t i = 0; i < lanes->capacity; i++)
        if (was_reached(lanes, i) == (get_number(state, at_slot(lanes, i)) == CPI_LANE_LIVE))
            return false;
    return true;
}

/* Whether it has not been damaged, and is one of these lanes. */
static bool is_state_right(const cpool_lanes_t *lanes, const unsigned char *state)
{
    size_t end = at_slot(lanes, lanes->capacity);
    uint64_t sum = sum_of(lanes, state);

    if (get_number(state, 0) != CPI_STATE_MAGIC || get_number(state, 1) != CPI_STATE_VERSION ||
        get_number(state, 2) != lanes->capacity || get_number(state, 3) != lanes->n ||
        get_number(state, end) != (uint32_t)sum ||
        get_number(state, end + 1) != (uint32_t)(sum >> 32))
        return false;
    return are_lanes_right(lanes, state);
}

int cpool_lanes_load(cpool_lanes_t *lanes, const void *state, size_t size)
{
    const unsigned char *from = state;

    if (CPI_ENDED(lanes))
        return CPOOL_EPOOL;
    if (state == NULL)
        return CPOOL_ENULL;
    if (size != CPOOL_LANES_STATE_SIZE(lanes->capacity, lanes->n) || !is_state_right(lanes, from))
        return CPOOL_ESTRUCT;
    for (size_t i = 0; i < lanes->n; i++) {
        lanes->lanes[i].head = get_number(from, at_lane(i));
        lanes->lanes[i].count = get_number(from, at_lane(i) + 1);
    }
    copy_words(lanes->words, from + at_slot(lanes, 0) * sizeof(uint32_t), lanes->capacity);
    return 0;
}

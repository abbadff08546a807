/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lanes.c - pools that hand out the same slots in every run, and their state as bytes.
 *
 * Uses the pool by cpool/client.h and the public headers.
 *
 *   lane 0   head -> 3 -> 0 -> 1      words   | 2 + 1 | end | live | 2 + 0 | ...
 *
 * The lanes have all slots of the pool.  A free slot's word leads to the next one in its lane,
 * and that of any other slot says that it is live.
 *
 * ORDERING TABLE
 *   word   | word load, store, CAS | relaxed | - | -
 *   failed | CAS failure           | relaxed | - | -
 *   note   | count, sum load and store | relaxed | - | -
 *
 * The program hands slots from thread to thread, and orders their words by that.  The
 * compare-and-swap is there for two lanes that free the same slot.
 */
#include <cpool/lanes.h>

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/structs.h"
#include "process/descriptor.h"
#include "host/os.h"
#include <cpool/client.h>

/* Slots that are taken from the pool, or given back, at once. */
#define CPI_LANE_CHUNK 256u

/* What a slot's word says: it is the last one of its lane, it is live, or which one is the next.
 * A lane's head is such a word, too, and never live. */
#define CPI_LANE_END 0u
#define CPI_LANE_LIVE 1u
#define CPI_LANE_SLOT 2u /* and the index */

/* The words have no top bit, so that a load can look at several at once. */
#define CPI_LANE_SLOTS_MAX ((size_t)INT32_MAX - CPI_LANE_SLOT)

/* States that were saved here, by their sums.  A load need not follow the links of these. */
#define CPI_LANE_STATES 64u
struct cpi_lane_states {
    _Atomic unsigned count;
    _Atomic uint64_t sums[CPI_LANE_STATES];
};

struct cpool_lane_t {
    _Alignas(CPI_LINE) uint32_t head; /* its user's */
    uint32_t count;                   /* likewise */
    cpool_lanes_t *lanes;             /* constant */
};

/* All constant, but for the words, the bits, `client` and what is led to. */
struct cpool_lanes {
    cpool_t *pool;
    _Atomic uint32_t *words;
    uint64_t *reached; /* bits of slots, while a state is looked through */
    struct cpi_lane_states *states;
    size_t capacity;
    size_t slot_size; /* bytes */
    size_t n;
    cpool_client_t client;
    struct cpi_ending ending;
    char name[32];
    cpool_lane_t lanes[];
};

static bool is_live_at(const cpool_lanes_t *lanes, size_t index)
{
    return cpi_load(&lanes->words[index], relaxed) == CPI_LANE_LIVE; /* [word] */
}

/* Words of a bitmap of so many slots. */
static size_t words_of_bits(size_t capacity)
{
    return (capacity + CPI_WORD_BITS - 1) / CPI_WORD_BITS;
}

/* --- Creation --- */

static int check(const cpool_config_t *config, size_t n)
{
    const unsigned refused = CPOOL_TRACKED | CPOOL_CHECKED | CPOOL_FILL;

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
    lanes->reached = calloc(words_of_bits(capacity), sizeof *lanes->reached);
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

/* The pool is new, so it has these slots and no others. */
static int take_all(const cpool_lanes_t *lanes)
{
    void *slots[CPI_LANE_CHUNK];

    for (size_t done = 0; done < lanes->capacity; done += chunk_at(lanes, done))
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

    for (size_t i = lanes->n; i-- > 0;) {
        cpool_lane_t *lane = &lanes->lanes[i];
        size_t share = total / lanes->n + (i < total % lanes->n);

        lane->head = CPI_LANE_END;
        lane->count = 0;
        while (lane->count < share) {
            index--;
            if (!is_live_at(lanes, index))
                push(lane, index);
        }
    }
}

size_t cpool_lanes_balance(cpool_lanes_t *lanes)
{
    size_t total = 0;

    if (CPI_HAS_ENDED(lanes))
        return 0;
    /* Not the lanes' counts: in the child of a fork a thread may have vanished between a
     * slot's word and the count. */
    for (size_t i = 0; i < lanes->capacity; i++)
        total += !is_live_at(lanes, i);
    deal(lanes, total);
    return total;
}

int cpool_lanes_create(cpool_lanes_t **result, const cpool_config_t *given, size_t n)
{
    cpool_config_t config;
    cpool_lanes_t *lanes;
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
    config.memory_flags |= CPOOL_MEMORY_KEEP_PAGES; /* each lane's slots are kept */
    cpi_text_copy(lanes->name, sizeof lanes->name, config.name);
    lanes->client = (cpool_client_t){.size = sizeof lanes->client, .kind = CPOOL_VIEW_LANES,
                                     .owner = lanes, .name = lanes->name};
    code = cpool_client_create(&lanes->client, &config);
    lanes->pool = lanes->client.pool;
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
    for (size_t i = 0; i < n; i++)
        lanes->lanes[i].lanes = lanes;
    deal(lanes, lanes->capacity);
    cpool_client_show(&lanes->client, true);
    *result = lanes;
    return 0;
}

int cpool_lanes_destroy(cpool_lanes_t *lanes)
{
    size_t free_slots;
    size_t capacity;
    int code;

    if (lanes == NULL)
        return 0;
    if (CPI_HAS_ENDED(lanes))
        return CPOOL_EPOOL;
    capacity = lanes->capacity;
    cpool_client_show(&lanes->client, false);
    free_slots = cpool_lanes_balance(lanes);
    give_all(lanes);
    code = cpool_destroy(lanes->pool);
    for (size_t i = 0; i < lanes->n; i++)
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
    return CPI_HAS_ENDED(lanes) ? NULL : lanes->client.face;
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

static size_t size_of_state(const cpool_lanes_t *lanes)
{
    return CPOOL_LANES_STATE_SIZE(lanes->capacity, lanes->n);
}

#define CPI_LOWEST_FIRST (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

static void put(unsigned char *state, size_t at, uint32_t number)
{
    if (!CPI_LOWEST_FIRST)
        number = __builtin_bswap32(number);
    memcpy(state + at * sizeof number, &number, sizeof number);
}

static uint32_t get(const unsigned char *state, size_t at)
{
    uint32_t number;

    memcpy(&number, state + at * sizeof number, sizeof number);
    return CPI_LOWEST_FIRST ? number : __builtin_bswap32(number);
}

/* Four of them, of which each element has two, the first one in its lower half.  No function
 * returns them: how depends on the processor's extensions. */
typedef uint64_t cpi_four __attribute__((__vector_size__(16)));

static void get_four(const unsigned char *state, size_t at, cpi_four *numbers)
{
    memcpy(numbers, state + at * sizeof(uint32_t), sizeof *numbers);
    if (!CPI_LOWEST_FIRST)
        *numbers = (cpi_four){__builtin_bswap64((*numbers)[0]), __builtin_bswap64((*numbers)[1])};
}

static size_t at_lane(size_t lane)
{
    return CPI_STATE_HEAD + 2 * lane;
}

static size_t at_slot(const cpool_lanes_t *lanes, size_t index)
{
    return at_lane(lanes->n) + index;
}

static uint64_t mix_sum(uint64_t sum, uint64_t number)
{
    sum = (sum ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return sum << 29 | sum >> 35;
}

/* Of all numbers before it: in each of four columns of two numbers their sum, and that of all its
 * values on the way, which tells their order (J. Fletcher, 1982).  The last numbers, which are
 * fewer than eight, belong to the first column one by one. */
static uint64_t sum_of(const cpool_lanes_t *lanes, const unsigned char *state)
{
    size_t end = at_slot(lanes, lanes->capacity);
    cpi_four left = {1, 2}, right = {3, 4}, left_sums = {0, 0}, right_sums = {0, 0}, four;
    uint64_t sum = 0;
    size_t at, i;

    for (at = 0; at + 8 <= end; at += 8) {
        get_four(state, at, &four);
        left += four;
        left_sums += left;
        get_four(state, at + 4, &four);
        right += four;
        right_sums += right;
    }
    for (; at < end; at++) {
        left[0] += get(state, at);
        left_sums[0] += left[0];
    }
    for (i = 0; i < 2; i++)
        sum = mix_sum(mix_sum(mix_sum(mix_sum(sum, left[i]), left_sums[i]), right[i]),
                      right_sums[i]);
    return sum;
}

/* The slots' words are the bytes of a state where the lowest byte comes first. */
static void copy_out(const cpool_lanes_t *lanes, unsigned char *state)
{
    if (CPI_LOWEST_FIRST)
        memcpy(state + at_slot(lanes, 0) * sizeof(uint32_t), (const void *)lanes->words,
               lanes->capacity * sizeof(uint32_t));
    for (size_t i = 0; i < lanes->capacity && !CPI_LOWEST_FIRST; i++)
        put(state, at_slot(lanes, i), cpi_load(&lanes->words[i], relaxed)); /* [word] */
}

static void copy_in(cpool_lanes_t *lanes, const unsigned char *state)
{
    if (CPI_LOWEST_FIRST)
        memcpy((void *)lanes->words, state + at_slot(lanes, 0) * sizeof(uint32_t),
               lanes->capacity * sizeof(uint32_t));
    for (size_t i = 0; i < lanes->capacity && !CPI_LOWEST_FIRST; i++)
        cpi_store(&lanes->words[i], get(state, at_slot(lanes, i)), relaxed); /* [word] */
}

static void note_sum(const cpool_lanes_t *lanes, uint64_t sum)
{
    unsigned number = cpi_fetch_add(&lanes->states->count, 1u, relaxed); /* [note] */

    cpi_store(&lanes->states->sums[number % CPI_LANE_STATES], sum, relaxed); /* [note] */
}

int cpool_lanes_save(const cpool_lanes_t *lanes, void *state, size_t size)
{
    const uint32_t head[CPI_STATE_HEAD] = {CPI_STATE_MAGIC, CPI_STATE_VERSION,
                                           (uint32_t)lanes->capacity, (uint32_t)lanes->n};
    unsigned char *to = state;
    uint64_t sum;

    if (CPI_HAS_ENDED(lanes))
        return CPOOL_EPOOL;
    if (state == NULL)
        return CPOOL_ENULL;
    if (size < size_of_state(lanes))
        return CPOOL_ESTATE;
    for (size_t i = 0; i < CPI_STATE_HEAD; i++)
        put(to, i, head[i]);
    for (size_t i = 0; i < lanes->n; i++) {
        put(to, at_lane(i), lanes->lanes[i].head);
        put(to, at_lane(i) + 1, lanes->lanes[i].count);
    }
    copy_out(lanes, to);
    sum = sum_of(lanes, to);
    note_sum(lanes, sum);
    put(to, at_slot(lanes, lanes->capacity), (uint32_t)sum);
    put(to, at_slot(lanes, lanes->capacity) + 1, (uint32_t)(sum >> 32));
    return 0;
}

static bool is_known(const cpool_lanes_t *lanes, uint64_t sum)
{
    for (size_t i = 0; i < CPI_LANE_STATES; i++)
        if (cpi_load(&lanes->states->sums[i], relaxed) == sum) /* [note] */
            return true;
    return false;
}

/* Whether no word leads to a slot that there is not.  The top bit of a half tells of one that
 * does.  Two states have the same sum once in 2^64 times, or on purpose. */
static bool are_words_near(const cpool_lanes_t *lanes, const unsigned char *state)
{
    const uint32_t rest = (uint32_t)(CPI_LANE_SLOTS_MAX - lanes->capacity) + 1;
    const uint64_t two = (uint64_t)1 << 32 | 1;
    const cpi_four rests = {two * rest, two * rest};
    size_t at = at_slot(lanes, 0), end = at + lanes->capacity, i;
    cpi_four found = {0, 0}, left, right;

    for (; at + 8 <= end; at += 8) {
        get_four(state, at, &left);
        get_four(state, at + 4, &right);
        found |= left | (left + rests) | right | (right + rests);
    }
    for (; at < end; at++)
        found[0] |= get(state, at) | (get(state, at) + (uint64_t)rest);
    for (i = 0; i < lanes->n; i++)
        found[0] |= get(state, at_lane(i)) | (get(state, at_lane(i)) + (uint64_t)rest);
    return ((found[0] | found[1]) & two << 31) == 0;
}

/* Whether the lane has as many slots as it says, and no other lane has one of them. */
static bool is_lane_right(const cpool_lanes_t *lanes, const unsigned char *state, size_t lane)
{
    uint32_t word = get(state, at_lane(lane));
    uint32_t left = get(state, at_lane(lane) + 1);

    for (; left > 0 && word >= CPI_LANE_SLOT && word - CPI_LANE_SLOT < lanes->capacity; left--) {
        size_t index = word - CPI_LANE_SLOT;

        if (cpi_bitmap_is_set(lanes->reached, index))
            return false;
        cpi_bitmap_set(lanes->reached, index);
        word = get(state, at_slot(lanes, index));
    }
    return left == 0 && word == CPI_LANE_END;
}

/* Each slot that is in no lane is live, and no other one is. */
static bool are_lanes_right(const cpool_lanes_t *lanes, const unsigned char *state)
{
    memset(lanes->reached, 0, words_of_bits(lanes->capacity) * sizeof *lanes->reached);
    for (size_t i = 0; i < lanes->n; i++)
        if (!is_lane_right(lanes, state, i))
            return false;
    for (size_t i = 0; i < lanes->capacity; i++)
        if (cpi_bitmap_is_set(lanes->reached, i) ==
            (get(state, at_slot(lanes, i)) == CPI_LANE_LIVE))
            return false;
    return true;
}

/* Whether it has not been damaged, and is one of these lanes. */
static bool is_right(const cpool_lanes_t *lanes, const unsigned char *state)
{
    size_t end = at_slot(lanes, lanes->capacity);
    uint64_t sum = sum_of(lanes, state);

    if (get(state, 0) != CPI_STATE_MAGIC || get(state, 1) != CPI_STATE_VERSION ||
        get(state, 2) != lanes->capacity || get(state, 3) != lanes->n ||
        get(state, end) != (uint32_t)sum ||
        get(state, end + 1) != (uint32_t)(sum >> 32))
        return false;
    return is_known(lanes, sum) ? are_words_near(lanes, state) : are_lanes_right(lanes, state);
}

int cpool_lanes_load(cpool_lanes_t *lanes, const void *state, size_t size)
{
    const unsigned char *from = state;

    if (CPI_HAS_ENDED(lanes))
        return CPOOL_EPOOL;
    if (state == NULL)
        return CPOOL_ENULL;
    if (size != size_of_state(lanes) || !is_right(lanes, from))
        return CPOOL_ESTATE;
    for (size_t i = 0; i < lanes->n; i++) {
        lanes->lanes[i].head = get(from, at_lane(i));
        lanes->lanes[i].count = get(from, at_lane(i) + 1);
    }
    copy_in(lanes, from);
    return 0;
}

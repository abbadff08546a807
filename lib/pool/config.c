/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * config.c - computes a pool's layout from its configuration.
 *
 * cpi_layout_compute depends only on its arguments and on the tools that are present.
 */
#include "pool/config.h"
#include "pool/slots.h"

#include "base/bits.h"
#include "base/error.h"
#include "host/options.h"
#include "base/structs.h"
#include "base/tools.h"

/* doc/DESIGN.md, "Costs", has the numbers that follow from these macros.  The number of caches of a
 * pool, unless configured: in our own memory they cost only address space.  A cache with a share of
 * less than sixteen slots is useless. */
#define CPI_CACHES_OWN ((sizeof(void *) >= 8) ? (size_t)4096 : (size_t)64)
#define CPI_CACHES_OWN_SMALL ((sizeof(void *) >= 8) ? (size_t)256 : (size_t)64)
#define CPI_CACHES_SHARE ((size_t)16)
#define CPI_CACHES_CALLER ((size_t)16)

/* Pools with fewer slots are small: they have magazines for fewer operations without a cache. */
#define CPI_SMALL ((size_t)4096)

/*
 * The rounds of a magazine, unless configured. 63 rounds and a header fill eight cache lines.  In a
 * small pool the loaded and spare magazines of one thread hold at most an eighth of its slots.
 *
 * With larger magazines exchanges are rarer, and a thread takes fresh memory in longer stretches
 * (doc/performance/trials.md).  The number is somewhat more than a power of two, because bursts are
 * often as long as one, and then never cross the end of a magazine.
 */
#define CPI_ROUNDS_DEFAULT ((size_t)63)
#define CPI_ROUNDS_SHARE ((size_t)16)
#define CPI_ROUNDS_BYTES ((size_t)1024 * 1024)
#define CPI_ROUNDS_LARGE ((size_t)271)
#define CPI_ROUNDS_LARGE_SHARE ((size_t)64)
#define CPI_ROUNDS_LARGE_BYTES ((size_t)256 * 1024)

/* The spares of a cache, unless configured.  By default it may hold bursts of 4096 slots.  In our
 * own memory, CPI_WHOLE_QUOTAS caches may always have their whole quota. */
#define CPI_WHOLE_QUOTAS ((size_t)64)
#define CPI_QUOTA_MAX ((size_t)72)
#define CPI_QUOTA_ROUNDS ((size_t)4608)
#define CPI_QUOTA_PART ((size_t)16)
#define CPI_QUOTA_BYTES ((size_t)16 * 1024 * 1024)
#define CPI_QUOTA_CONFIGURED_MAX ((size_t)1024)

/* Programs have CPOOL_MEMORY_BYTES compiled in. */
_Static_assert(sizeof(struct cpi_pool) <= CPOOL_POOL_BYTES_ / 6 * 5 &&
                   offsetof(struct cpi_cache, spare) <= CPOOL_CACHE_BYTES_ / 6 * 5,
               "CPOOL_MEMORY_BYTES keeps a fifth for structures to grow");

#define CPI_POOL_FLAGS                                                                 \
    (CPOOL_TRACKED | CPOOL_CHECKED | CPOOL_HUGE_PAGES | CPOOL_COLOUR | CPOOL_KEEP_PAGES |   \
     CPOOL_NO_POISON | CPOOL_RESIDENT | CPOOL_CLIENT_RESERVED)

CPI_COLD static int check_scalars(const cpool_config_t *config)
{
    if (config->slot_size == 0)
        return CPOOL_ESLOTSIZE;
    if ((config->slot_align & (config->slot_align - 1)) != 0 || /* no power of two */
        config->slot_align > CPOOL_ALIGN_MAX || config->slot_offset > config->slot_size)
        return CPOOL_EALIGN;
    if (config->capacity == 0 || config->capacity > CPOOL_CAPACITY_MAX ||
        config->max_capacity > CPOOL_CAPACITY_MAX ||
        (config->max_capacity != 0 && config->max_capacity < config->capacity))
        return CPOOL_ECAPACITY;
    if (config->magazine_rounds > CPOOL_ROUNDS_MAX ||
        config->magazine_rounds > config->capacity)
        return CPOOL_EROUNDS;
    if ((config->flags & ~CPI_POOL_FLAGS) != 0 ||
        ((config->flags & CPOOL_HUGE_PAGES) != 0 && !CPI_OS_TAKES_HUGE_PAGES))
        return CPOOL_EFLAGS;
    return config->thread_caches > CPOOL_THREAD_CACHES_MAX ? CPOOL_ECACHES : 0;
}

static size_t slot_align(const cpool_config_t *config)
{
    size_t power = cpi_lowest_bit(config->slot_size);

    if (config->slot_align != 0)
        return config->slot_align;
    return power < _Alignof(max_align_t) ? power : _Alignof(max_align_t);
}

/* The number of magazines that a pool could have.  Cannot overflow, because all factors are below
 * 2^32. */
static uint64_t all_magazines(const struct cpi_layout *layout)
{
    return (uint64_t)cpi_depot_magazines(layout->slots, layout->rounds, layout->uncached) +
           (uint64_t)cpi_registry_magazines(layout->caches, layout->spares);
}

/* Colouring: with an odd number of lines from slot to slot, the slots use all sets of a cache in
 * turn.  (The idea is from slab colouring, Bonwick 1994, and the padding of DPDK's rte_mempool.) */
static bool compute_stride(struct cpi_layout *layout, bool colour)
{
    if (!cpi_add(layout->config->slot_size, layout->gap, &layout->stride) ||
        !cpi_align_up_checked(layout->stride, layout->align, &layout->stride))
        return false;
    if (!colour || layout->align > CPI_LINE || layout->stride % ((size_t)2 * CPI_LINE) != 0)
        return true;
    return cpi_add(layout->stride, CPI_LINE, &layout->stride);
}

/* The number of spares that, with the loaded magazine, hold the configured number of slots. */
static size_t configured_quota(const struct cpi_layout *layout)
{
    size_t quota = layout->config->cache_slots / layout->rounds;

    quota = cpi_within(quota, 1, CPI_QUOTA_CONFIGURED_MAX + 1) - 1;
    return cpi_lower(quota, layout->slots / layout->rounds);
}

static size_t default_quota(const struct cpi_layout *layout)
{
    size_t most = cpi_lower(CPI_QUOTA_ROUNDS, CPI_QUOTA_BYTES / layout->stride);

    most = cpi_lower(most, layout->slots / CPI_QUOTA_PART);
    return cpi_lower(most / layout->rounds, CPI_QUOTA_MAX);
}

static void choose_quota(struct cpi_layout *layout, bool rounds_chosen)
{
    size_t quota = layout->config->cache_slots != 0 ? configured_quota(layout) : CPI_QUOTA_MIN;
    size_t more;

    if (layout->config->cache_slots == 0 && rounds_chosen)
        quota = default_quota(layout);
    layout->quota = quota > CPI_QUOTA_MIN ? quota : CPI_QUOTA_MIN;
    more = layout->quota - CPI_QUOTA_MIN;
    layout->spares = cpi_within(layout->slots / layout->rounds / 2,
                                layout->callers ? 0 : CPI_WHOLE_QUOTAS * more,
                                layout->caches * more);
}

static size_t default_caches(const struct cpi_layout *layout)
{
    size_t caches = layout->slots / CPI_CACHES_SHARE;

    if (layout->callers)
        return CPI_CACHES_CALLER;
    return cpi_within(caches, CPI_CACHES_OWN_SMALL, CPI_CACHES_OWN);
}

static size_t default_uncached(const struct cpi_layout *layout, size_t caches)
{
    if (!layout->callers)
        return layout->slots < CPI_SMALL ? CPI_UNCACHED_SMALL : CPI_UNCACHED_OWN;
    return cpi_within(caches != 0 ? caches : SIZE_MAX, CPI_UNCACHED_MIN, CPI_UNCACHED_CALLER);
}

static size_t default_rounds(const struct cpi_layout *layout)
{
    size_t capacity = layout->config->capacity;
    size_t rounds = cpi_lower(capacity / CPI_ROUNDS_SHARE, CPI_ROUNDS_BYTES / layout->stride);
    size_t large = cpi_lower(capacity / CPI_ROUNDS_LARGE_SHARE,
                             CPI_ROUNDS_LARGE_BYTES / layout->stride);

    rounds = cpi_lower(rounds, CPI_ROUNDS_DEFAULT);
    if (!layout->callers)
        rounds = cpi_within(large, rounds, CPI_ROUNDS_LARGE);
    /* The caller's memory is scarce, so a magazine fills its last cache line. */
    if (layout->callers && rounds >= CPI_LINE / sizeof(void *))
        rounds -= (offsetof(struct cpi_magazine, rounds) + rounds * sizeof(void *)) % CPI_LINE /
                  sizeof(void *);
    return rounds > 0 ? rounds : 1;
}

static int choose_magazines(struct cpi_layout *layout, size_t rounds, size_t caches)
{
    /* The first extent is padded to whole units by magazines, which are whole lines. */
    uint64_t most = CPI_INDEX_MAX - layout->unit / CPI_LINE;

    layout->rounds = rounds != 0 ? rounds : default_rounds(layout);
    layout->caches = caches != 0 ? caches : default_caches(layout);
    choose_quota(layout, rounds == 0);
    while (all_magazines(layout) > most) {
        if (rounds != 0)
            return CPOOL_EROUNDS;
        layout->rounds = layout->rounds * 2 + 1;
        choose_quota(layout, true);
    }
    return 0;
}

/* The maximum distance from a multiple of `unit` to slot 0, which needs `gap` bytes before it, and
 * slot + offset aligned. */
static size_t longest_lead(const struct cpi_layout *layout)
{
    size_t step = layout->unit < layout->align ? layout->unit : layout->align;
    size_t longest = layout->gap + layout->align - 1;

    return longest - (longest + layout->config->slot_offset) % step;
}

/* Appends a part of `bytes` bytes that starts at a multiple of `unit`. */
static bool append_part(struct cpi_layout *layout, size_t *at, size_t bytes)
{
    return cpi_align_up_checked(layout->total, layout->unit, at) &&
           cpi_add(*at, bytes, &layout->total);
}

static bool append_magazines(struct cpi_layout *layout)
{
    size_t stride = cpi_depot_stride(layout->rounds);
    size_t divisor = cpi_lowest_bit(stride);
    size_t magazines = cpi_depot_magazines(layout->slots, layout->rounds, layout->uncached);
    size_t bytes;

    if (divisor < layout->unit) /* they fill whole units */
        magazines = cpi_align_up(magazines, layout->unit / divisor);
    if (!cpi_multiply(magazines, stride, &bytes) ||
        !append_part(layout, &layout->for_slots_at, bytes) ||
        !cpi_multiply(cpi_registry_magazines(layout->caches, layout->spares), stride, &bytes))
        return false;
    return append_part(layout, &layout->for_caches_at, bytes);
}

/* Appends addresses that are never committed, in our own memory: a write that runs off the first or
 * the last slot traps there. */
static bool append_trap(struct cpi_layout *layout)
{
    size_t at;

    return layout->callers || append_part(layout, &at, layout->unit);
}

static bool append_slots(struct cpi_layout *layout)
{
    size_t bytes;

    for (unsigned i = 0; i < CPI_SIDES; i++)
        if (!cpi_multiply(layout->slots, layout->sides[i], &bytes) ||
            !append_part(layout, &layout->sides_at[i], bytes))
            return false;
    if (!append_trap(layout))
        return false;
    return cpi_multiply(layout->slots, layout->stride, &bytes) &&
           cpi_add(bytes, longest_lead(layout), &layout->slab_size) &&
           append_part(layout, &layout->lead_at, layout->slab_size) && append_trap(layout);
}

/* Decides which side memory the slots have, and the gaps between them. */
static void plan_sides(struct cpi_layout *layout, const cpool_config_t *config)
{
    bool checked = (config->flags & CPOOL_CHECKED) != 0;
    bool guarded = checked || (!layout->callers && cpi_announce_wanted(config));

    if (guarded)
        layout->gap = CPI_GUARD_GAP;
    if (guarded || (config->flags & CPOOL_TRACKED) != 0)
        layout->sides[CPI_SIDE_WORDS] = CPI_SLOTMAP_SIZE;
    if (checked)
        layout->sides[CPI_SIDE_RECORDS] = sizeof(struct cpi_record);
}

CPI_COLD int cpi_layout_compute(struct cpi_layout *layout, const cpool_config_t *config,
                                size_t page)
{
    int code = check_scalars(config);

    if (code != 0)
        return code;
    *layout = (struct cpi_layout){.config = config, .callers = page == 0};
    layout->unit = page != 0 ? page : CPOOL_MEMORY_ALIGN;
    layout->align = slot_align(config);
    layout->slots = config->max_capacity != 0 ? config->max_capacity : config->capacity;
    plan_sides(layout, config);
    layout->uncached = default_uncached(layout, config->thread_caches);
    if (!compute_stride(layout, (config->flags & CPOOL_COLOUR) != 0))
        return CPOOL_ECAPACITY;
    code = choose_magazines(layout, config->magazine_rounds, config->thread_caches);
    if (code != 0)
        return code;
    if (!cpi_add(sizeof(struct cpi_pool), cpi_registry_bytes(layout->caches, layout->quota),
                 &layout->total) ||
        !append_magazines(layout) || !append_slots(layout) ||
        !cpi_align_up_checked(layout->total, layout->unit, &layout->total))
        return CPOOL_ECAPACITY;
    return 0;
}

size_t cpi_layout_page(const cpool_config_t *config)
{
    return (config->flags & CPOOL_HUGE_PAGES) != 0 ? cpi_os_huge_page_size() : cpi_os_page_size();
}

int cpi_pool_read_config(cpool_config_t *config, const cpool_config_t *given, unsigned allowed)
{
    int code = cpi_struct_read(config, sizeof *config, given);

    if (code == 0 && (config->flags & CPOOL_CLIENT_RESERVED & ~allowed) != 0)
        return CPOOL_EFLAGS;
    if (code == 0 && (config->flags & CPOOL_RESIDENT) != 0)
        config->flags |= CPOOL_KEEP_PAGES;
    return code;
}

/* Holds a number within what the program allows.  `pool` is its name for a message, or NULL. */
CPI_COLD static void bound_number(size_t *number, size_t least, size_t most, const char *what,
                                  const char *pool)
{
    size_t bound = *number < least ? least : most;

    if (*number >= least && *number <= most)
        return;
    if (pool != NULL)
        cpi_tell("CPOOL_OPTIONS: %s=%zu is out of bounds in pool '%s': %zu is used", what,
                 *number, pool, bound);
    *number = bound;
}

/* A program may have tables of cpool_index_limit entries, and a client takes all slots. */
CPI_COLD static void bound_numbers(cpool_config_t *config, const cpool_config_t *given,
                                   bool is_clients, const char *pool)
{
    size_t limit = given->max_capacity != 0 ? given->max_capacity : given->capacity;

    if (is_clients)
        config->max_capacity = given->max_capacity;
    bound_number(&config->max_capacity, 0, limit, "max_capacity", pool);
    limit = config->max_capacity != 0 ? config->max_capacity : limit;
    bound_number(&config->capacity, is_clients ? given->capacity : 1,
                 is_clients ? given->capacity : limit, "capacity", pool);
    limit = config->capacity < CPOOL_ROUNDS_MAX ? config->capacity : CPOOL_ROUNDS_MAX;
    bound_number(&config->magazine_rounds, 0, limit, "magazine_rounds", pool);
    bound_number(&config->thread_caches, 0, CPOOL_THREAD_CACHES_MAX, "thread_caches", pool);
}

CPI_COLD bool cpi_pool_add_options(cpool_config_t *config, bool is_clients, bool tells)
{
    const struct cpi_options *options = cpi_options();
    struct cpi_options ignored = {.pools = 0};
    const cpool_config_t given = *config;
    char pool[CPI_NAME_SIZE];

    if (CPI_LIKELY(options->pools == 0) || check_scalars(config) != 0)
        return false;
    cpi_text_copy(pool, sizeof pool, config->name);
    if (cpi_options_read(options->text, &ignored, pool, config, NULL) == 0)
        return false;
    /* The client has aligned its range of addresses as its own flags say. */
    if ((given.flags & CPOOL_CLIENT_RESERVED) != 0)
        config->flags &= ~CPOOL_HUGE_PAGES | given.flags;
    bound_numbers(config, &given, is_clients, tells ? pool : NULL);
    return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * build.c - lays a pool out in memory, releases that, and gives the pool its handle.
 *
 * ORDERING TABLE
 *   shown | committed load | relaxed | - | -
 *   zone  | handle store of the zone | release | descriptor.c's read | the zone
 *   owner | face's client store | release | the load in <cpool/client.h> | the client
 */
#include "pool/config.h"
#include "pool/report.h"
#include "pool/slots.h"

#include <string.h>

#include "base/atomic.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/list.h"
#include "base/tools.h"

/* The number of caches of a pool that cannot get addresses for more, unless configured. */
#define CPI_CACHES_FEW ((size_t)16)

/* How long an alloc waits for a thread that was preempted while it held slots, unless configured,
 * milliseconds. */
#define CPI_STALL_MS 1000u

/* The caller's memory is usable already; ours only as far as it is committed. */
static void lay_out_extent(struct cpi_extent *extent, char *base, const struct cpi_layout *layout,
                           size_t size)
{
    if (!layout->callers)
        size = cpi_align_up(size, layout->unit);
    cpi_extent_init(extent, base, size, layout->unit, layout->callers ? size : 0);
}

static void lay_out_slots(struct cpi_slab *slab, const struct cpi_layout *layout, char *region)
{
    uintptr_t start = (uintptr_t)region + layout->lead_at;
    size_t offset = layout->config->slot_offset;

    for (unsigned i = 0; i < CPI_SIDES; i++) {
        struct cpi_side *side = &slab->sides[i];

        side->size = layout->sides[i];
        lay_out_extent(&side->extent, region + layout->sides_at[i], layout,
                       layout->slots * side->size);
        if (layout->callers)
            memset(side->extent.base, 0, side->extent.size);
    }
    slab->slot_size = layout->config->slot_size;
    slab->stride = layout->stride;
    slab->slots = layout->slots;
    slab->grows = layout->slots > layout->config->capacity;
    slab->lead = cpi_align_up(start + layout->gap + offset, layout->align) - offset - start;
    lay_out_extent(&slab->extent, region + layout->lead_at, layout, layout->slab_size);
    cpi_slab_init(slab, layout->config->capacity);
}

static void lay_out_depot(struct cpi_depot *depot, const struct cpi_layout *layout, char *region)
{
    lay_out_extent(&depot->for_slots, region + layout->for_slots_at, layout,
                   layout->for_caches_at - layout->for_slots_at);
    lay_out_extent(&depot->for_caches, region + layout->for_caches_at, layout,
                   layout->sides_at[0] - layout->for_caches_at);
    cpi_depot_init(depot, (uint32_t)layout->rounds, (uint32_t)layout->uncached);
}

/* --- A pool is announced to sanitizers and Valgrind, which are shown its memory --- */

/* Bytes of slots that are committed and hidden at creation.  Hiding them later would race with a
 * thread that has got a slot there. */
#define CPI_HIDDEN_AHEAD ((size_t)64 * 1024 * 1024)

/* AddressSanitizer tracks memory in units of eight bytes. */
#define CPI_GRANULE ((uintptr_t)8)

static bool share_granules(const struct cpi_slab *slab)
{
    return slab->stride - slab->slot_size < CPI_GRANULE &&
           (slab->base % CPI_GRANULE != 0 || slab->stride % CPI_GRANULE != 0);
}

CPI_COLD bool cpi_announce_wanted(const cpool_config_t *config)
{
    return config->memory == NULL &&
           (config->flags & (CPOOL_CLIENT_RESERVED | CPOOL_NO_POISON)) == 0 &&
           (cpi_tools_found() & CPI_TOOLS_BYTES) != 0;
}

/* A tool has locks of its own.  Forks wait for the library's lock, which is held here, so in no
 * child is a lock of the tool held by a thread that was opening or closing a pool. */
CPI_COLD void cpi_announce(const struct cpi_pool *pool, bool opens)
{
    const struct cpi_slab *slab = &pool->slab;
    const struct cpi_extent *extent = &slab->extent;
    size_t usable = cpi_load(&extent->committed, relaxed); /* [shown] with the lead */

    CPI_ASSERT(cpi_lock_is_held());
    if (opens)
        cpi_tools_open(pool->tools, pool, extent->base, extent->size, usable,
                       slab->stride - slab->slot_size);
    else
        cpi_tools_close(pool->tools, pool, extent->base, extent->size, usable);
}

CPI_COLD static void choose_tools(struct cpi_pool *pool)
{
    struct cpi_slab *slab = &pool->slab;
    uintptr_t ahead = CPI_HIDDEN_AHEAD / slab->stride;

    pool->tools = cpi_tools_found();
    if ((pool->flags & CPOOL_NO_POISON) != 0)
        pool->tools &= ~CPI_TOOLS_BYTES;
    if (share_granules(slab))
        pool->tools &= ~CPI_TOOL_ASAN;
    /* If the system refuses, less is hidden. */
    if ((pool->tools & CPI_TOOLS_BYTES) != 0)
        (void)cpi_slab_provide(slab, ahead < slab->slots ? ahead : slab->slots);
}

/* --- Building --- */

/* Decides what is done to slots on their way to users and back. */
static void set_ways(struct cpi_pool *pool)
{
    struct cpi_registry *registry = &pool->registry;
    bool has_words = pool->slab.sides[CPI_SIDE_WORDS].size != 0;

    choose_tools(pool);
    if (has_words)
        cpi_slotmap_init(&pool->map, &pool->slab);
    pool->checked = (pool->flags & CPOOL_CHECKED) != 0;
    if (pool->checked)
        pool->slab.bumped = cpi_guard_bumped;
    registry->checked = pool->checked;
    registry->tracked = has_words && !pool->checked && pool->tools == 0;
    registry->inline_path = !has_words && pool->tools == 0;
    if (pool->samples == NULL)
        return;
    /* A magazine of rounds is counted at once, so below that each alloc must be a call. */
    registry->sample = pool->samples->every;
    if (registry->sample <= pool->depot.limit)
        registry->tracked = registry->inline_path = false;
}

/* Builds the pool in a region whose first fixed_bytes are usable. */
CPI_COLD static struct cpi_pool *build_pool(char *region, const struct cpi_layout *layout,
                                            const cpool_config_t *config, size_t fixed_bytes)
{
    struct cpi_pool *pool = (struct cpi_pool *)(void *)region;
    struct cpi_registry *registry = &pool->registry;

    memset(pool, 0, sizeof *pool);
    cpi_text_copy(pool->name, sizeof pool->name, config->name);
    pool->flags = config->flags;
    pool->stall_limit_ns = config->stall_limit_ms != 0 ? config->stall_limit_ms : CPI_STALL_MS;
    pool->stall_limit_ns *= 1000000u;
    pool->region_size = layout->total;
    pool->region_owned = !layout->callers;
    lay_out_slots(&pool->slab, layout, region);
    lay_out_depot(&pool->depot, layout, region);
    cpi_extent_init(&registry->caches, region + sizeof *pool,
                    layout->for_slots_at - sizeof *pool, layout->unit,
                    fixed_bytes - sizeof *pool); /* the rest of a page, or all */
    cpi_registry_init(registry, pool, &pool->slab, &pool->depot, layout->quota);
    registry->max = layout->caches;
    registry->spares = (uint32_t)layout->spares;
    if (config->sample != 0)
        pool->samples = cpi_pool_begin_samples(&pool->slab, config, layout->align);
    set_ways(pool);
    cpi_waiters_init(&pool->waiters, registry);
    return pool;
}

/* The pages of [from, to).  False if the system has no memory. */
static bool make_resident(struct cpi_pool *pool, uintptr_t from, uintptr_t to)
{
    size_t page = cpi_os_page_size();

    from = cpi_align_down(from, page);
    cpi_pool_note_calls(pool, CPI_OS_POPULATES);
    return cpi_os_populate((void *)from, cpi_align_up(to, page) - from);
}

bool cpi_pool_provide(struct cpi_pool *pool, uintptr_t run, uintptr_t end)
{
    uintptr_t start = pool->slab.base;
    bool provided = cpi_depot_provide(&pool->depot, run) && cpi_slab_provide(&pool->slab, run) &&
                    make_resident(pool, start, start + end * pool->slab.stride);

    for (unsigned i = 0; provided && i < CPI_SIDES; i++) {
        const struct cpi_side *side = &pool->slab.sides[i];

        start = (uintptr_t)side->extent.base;
        provided = side->size == 0 || make_resident(pool, start, start + end * side->size);
    }
    return provided;
}

/* Reserves addresses, or checks those of the caller. */
static int provide_region(char **region, struct cpi_layout *layout, const cpool_config_t *config)
{
    bool callers = config->memory != NULL && (config->flags & CPOOL_CLIENT_RESERVED) == 0;
    int code = cpi_layout_compute(layout, config, callers ? 0 : cpi_layout_page(config));

    *region = config->memory;
    if (code != 0)
        return code;
    if (*region == NULL) {
        *region = cpi_os_reserve(layout->total, layout->unit);
        return *region != NULL ? 0 : CPOOL_ENOMEM;
    }
    if ((uintptr_t)*region % layout->unit != 0)
        return CPOOL_EMEMORY;
    return config->memory_size < layout->total ? CPOOL_EMEMSIZE : 0;
}

CPI_COLD static int build_as_asked(struct cpi_pool **pool, const cpool_config_t *config)
{
    cpool_config_t few;
    struct cpi_layout layout;
    size_t fixed;
    char *region;
    int code;

    if (config->memory == NULL &&
        (config->memory_size != 0 || (config->flags & CPOOL_CLIENT_RESERVED) != 0))
        return CPOOL_EMEMORY;
    code = provide_region(&region, &layout, config);
    /* Most addresses of a small pool are for its caches.  The system may limit addresses, and they
     * count as memory in a program that locks all its memory. */
    if (code == CPOOL_ENOMEM && config->thread_caches == 0) {
        few = *config;
        few.thread_caches = CPI_CACHES_FEW;
        code = provide_region(&region, &layout, &few);
    }
    if (code != 0)
        return code;
    fixed = layout.callers ? layout.for_slots_at
                           : cpi_align_up(sizeof(struct cpi_pool), cpi_os_page_size());
    if (!layout.callers && !cpi_os_commit(region, fixed)) {
        if (region != config->memory)
            cpi_os_release(region, layout.total);
        return CPOOL_ENOMEM;
    }
    if (!layout.callers && (config->flags & CPOOL_HUGE_PAGES) != 0)
        cpi_os_want_huge_pages(region + layout.lead_at, layout.total - layout.lead_at);
    *pool = build_pool(region, &layout, config, fixed);
    if ((config->flags & CPOOL_RESIDENT) == 0 ||
        cpi_pool_provide(*pool, (*pool)->slab.slots, (*pool)->slab.slots))
        return 0;
    cpi_pool_release(*pool);
    return CPOOL_ENOMEM;
}

CPI_COLD static int build_with_options(struct cpi_pool **pool, const cpool_config_t *config,
                                       bool is_clients)
{
    cpool_config_t with_options = *config;
    int wanted;
    int code;

    if (CPI_UNLIKELY(!cpi_thread_word_is_own())) {
        /* The only message: this may not be the program's fault. */
        cpi_tell("no pool is made, because %s", cpool_strerror(CPOOL_ECOPIES));
        return CPOOL_ECOPIES;
    }
    if (CPI_LIKELY(!cpi_pool_add_options(&with_options, is_clients, true)))
        return build_as_asked(pool, config);
    wanted = build_as_asked(pool, &with_options);
    if (wanted == 0)
        return 0;
    code = build_as_asked(pool, config);
    if (code == 0)
        cpi_tell("CPOOL_OPTIONS: pool '%s' stays as its program made it, because with them %s",
                 (*pool)->name, cpool_strerror(wanted));
    return code;
}

CPI_COLD void cpi_pool_release(struct cpi_pool *pool)
{
    cpi_mutex_destroy(&pool->waiters.lock);
    if (pool->end_frames != NULL)
        pool->end_frames(pool);
    if (pool->samples != NULL)
        cpi_samples_end(pool->samples);
    if (pool->region_owned && (pool->flags & CPOOL_CLIENT_RESERVED) == 0)
        cpi_os_release(pool, pool->region_size);
}

/* --- The descriptors of a pool: its own, and the face of one that belongs to a client (client.c).
 * With the lock held --- */

uint64_t cpi_pools_created;

void cpi_client_set_owner(const struct cpi_pool *pool, const cpool_client_t *client)
{
    cpi_word_store(&pool->face->client, (uintptr_t)client, release); /* [owner] */
}

static int take_handles(struct cpi_pool *pool)
{
    int code = cpi_handle_take(&pool->handle);

    pool->face = pool->handle;
    if (code != 0 || pool->client == NULL)
        return code;
    code = cpi_handle_take(&pool->face);
    if (code != 0)
        cpi_handle_give(pool->handle);
    return code;
}

static void open_handles(struct cpi_pool *pool)
{
    cpool_t shape = {.base = pool->slab.base, .inverse = pool->slab.inverse,
                     .shift = pool->slab.shift, .state = pool, .slots = pool->slab.slots,
                     .stride = pool->slab.stride,
                     .client = 2 * pool->slab.slot_size + 1,
                     .direct = pool->samples == NULL ? pool->slab.slots : 0};

    if (pool->face == pool->handle) {
        cpi_handle_open(pool->handle, &shape);
        return;
    }
    shape.slots = 0;
    cpi_handle_open(pool->handle, &shape);
    shape.slots = pool->slab.slots;
    shape.client = 0;
    shape.state = NULL;
    cpi_handle_set_behind(pool->face, (uintptr_t)pool);
    cpi_handle_open(pool->face, &shape);
    if (pool->client->shown)
        cpi_client_set_owner(pool, pool->client);
}

static int publish_pool(struct cpi_pool *pool)
{
    int code = take_handles(pool);

    if (code != 0)
        return code;
    cpi_announce(pool, true);
    open_handles(pool);
    if (pool->samples != NULL)
        cpi_word_store(&pool->samples->listed->handle, (uintptr_t)pool->handle, /* [zone] */
                       release);                                                /* [zone] */
    pool->number = cpi_pools_created++;
    cpi_registry_add(&pool->registry, pool->handle);
    return 0;
}

CPI_COLD int cpi_pool_build(struct cpi_pool **pool, const cpool_config_t *config,
                            const cpool_client_t *client)
{
    int code = build_with_options(pool, config, client != NULL);
    bool locked;

    if (code != 0)
        return code;
    (*pool)->client = client;
    locked = cpi_lock_unless_held();
    code = publish_pool(*pool);
    cpi_unlock_if(locked);
    if (code != 0)
        cpi_pool_release(*pool);
    return code;
}

void cpi_pool_withdraw(struct cpi_pool *pool)
{
    CPI_LIST_REMOVE(&pool->registry);
    cpi_announce(pool, false);
    if (pool->samples != NULL)
        cpi_word_store(&pool->samples->listed->handle, 0, release); /* [zone] */
    cpi_handle_close(pool->handle);
    if (pool->face != pool->handle) {
        cpi_handle_close(pool->face);
        cpi_client_set_owner(pool, NULL);
        cpi_handle_give(pool->face);
    }
    cpi_handle_give(pool->handle);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain.c - domains, their readers, and their part in the end of a thread, in a fork, and in the
 * life of pools.
 *
 * The list of domains is guarded by the lock.  A thread that works at a domain, which nobody may
 * destroy meanwhile, counts as a visit, so that it need not hold the lock.
 *
 * ORDERING TABLE
 *   first | state, claimed, inside load | relaxed | - | -
 *   claim | state CAS         | acquire | leave | the bags
 *   leave | inside, state store | release | claim, gone, look.c's look | the bags
 *   meet  | epoch exchange    | acq_rel | look.c's meet | the sections that have ended
 *   turn  | turn load, store  | relaxed | - | -
 *   alone | inside load       | relaxed | - | -
 *   bits  | pools load, CAS   | relaxed | - | -
 *   noted | noted store, CAS  | relaxed | - | -
 *   found | visits store      | release | retire_feature.c's any | the table
 *   begun | from load         | acquire | bags.c's begin, move | the count
 *   count | pools of a bag, count load | relaxed | - | -
 */
#include "retire/retire_impl.h"

#include "base/bits.h"
#include "base/list.h"
#include "cache/registry.h"
#include "host/os.h"
#include "pool/feature.h"
#include "pool/slots.h"
#include "pool/report.h"

static struct cpool_domain *domains; /* guarded by the lock */

/* --- Visits, with the lock held --- */

static void begin_visit(struct cpool_domain *domain)
{
    if (domain->forks != cpi_thread_forks()) /* those of threads that have vanished */
        domain->visits = 0;
    domain->forks = cpi_thread_forks();
    domain->visits++;
}

static void end_visit(struct cpool_domain *domain)
{
    if (domain->forks == cpi_thread_forks() && domain->visits > 0)
        domain->visits--;
}

static void await_visits(struct cpool_domain *domain)
{
    unsigned times = 0;

    while (domain->visits > 0 && domain->forks == cpi_thread_forks()) {
        cpi_unlock();
        cpi_os_back_off(times++);
        cpi_lock();
    }
}

/* --- Readers --- */

/* The thread that owns a reader finds it in its table.  With the lock held. */
static void own(struct cpi_reader *reader, struct cpi_thread *thread)
{
    cpi_thread_entry_of(thread, reader->domain->handle)->home = reader;
    cpi_thread_own(thread, &reader->owned);
}

static void disown(struct cpi_reader *reader)
{
    if (reader->owned.thread == NULL)
        return;
    cpi_thread_entry_of(reader->owned.thread, reader->domain->handle)->home = NULL;
    cpi_thread_disown(&reader->owned);
}

/* Its section, if any, is over. */
static void end_section(struct cpi_reader *reader)
{
    uintptr_t word = cpi_word_load(&reader->face.inside, relaxed); /* [alone] */

    reader->face.nested = 0;
    cpi_word_store(&reader->face.inside, word + word % 2, release); /* [leave] */
}

/* Its next beginning, if any, meets the looks.  So it is in nobody's way, with the kernel's
 * barrier and without. */
static void park(struct cpi_reader *reader)
{
    (void)cpi_word_exchange(&reader->face.epoch, CPI_PARKED, acq_rel); /* [meet] */
}

/* A thread that has vanished may have left the bags as they were for a moment. */
static void give_up(struct cpi_reader *reader, bool vanished)
{
    bool empty = !vanished && cpi_reader_rests(reader);

    cpi_store(&reader->noted, CPI_NOTED_NONE, relaxed); /* [noted] */
    park(reader);
    cpi_store(&reader->state, empty ? CPI_READER_FREE : CPI_READER_LEFT, release); /* [leave] */
}

/* With the lock held.  While the slots go back it is free. */
static void thread_ended(struct cpi_owned *owned, bool vanished)
{
    struct cpi_reader *reader =
        (struct cpi_reader *)(void *)((char *)owned - offsetof(struct cpi_reader, owned));
    struct cpool_domain *domain = reader->domain;

    disown(reader);
    end_section(reader);
    if (!vanished) {
        begin_visit(domain);
        cpi_unlock();
        (void)cpi_retire_pass(domain, reader, false, NULL, NULL);
        cpi_lock();
        end_visit(domain);
    }
    give_up(reader, vanished);
}

static struct cpi_reader *take_free(struct cpool_domain *domain)
{
    size_t turn = cpi_load(&domain->turn, relaxed); /* [turn] */

    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[(turn + i) % domain->readers];
        unsigned state = CPI_READER_FREE;

        if (cpi_load(&reader->state, relaxed) != CPI_READER_FREE || /* [first] */
            !cpi_cas_strong(&reader->state, &state, CPI_READER_USED, /* [claim] */
                            acquire, relaxed))                       /* [first] */
            continue;
        cpi_store(&domain->turn, turn + i + 1, relaxed); /* [turn] */
        return reader;
    }
    return NULL;
}

/* For a thread, or for none.  With a thread, a fork comes before or after all of it. */
static struct cpi_reader *take_for(struct cpi_thread *thread, struct cpool_domain *domain)
{
    struct cpi_reader *reader;

    if (thread == NULL)
        return take_free(domain);
    cpi_lock();
    reader = take_free(domain);
    if (reader != NULL)
        own(reader, thread);
    cpi_unlock();
    return reader;
}

static cpool_reader_t *make_reader(struct cpool_domain *domain, struct cpi_thread *thread)
{
    struct cpi_reader *reader = take_for(thread, domain);

    if (reader == NULL) {
        (void)cpi_retire_pass(domain, NULL, false, NULL, NULL);
        reader = take_for(thread, domain);
    }
    return reader != NULL ? &reader->face : NULL;
}

cpool_reader_t *cpool_reader_create(cpool_domain_t *domain)
{
    return CPI_HAS_ENDED(domain) ? NULL : make_reader(domain, NULL);
}

CPI_COLD static cpool_reader_t *make_own(struct cpool_domain *domain)
{
    struct cpi_thread *thread = cpi_thread_self();

    if (cpi_ending_check(&domain->ending, domain, "cpool_domain_reader") || thread == NULL)
        return NULL;
    return make_reader(domain, thread);
}

cpool_reader_t *cpool_domain_reader(cpool_domain_t *domain)
{
    struct cpi_reader *reader = cpi_thread_entry(domain->handle)->home;

    return CPI_LIKELY(reader != NULL) ? &reader->face : make_own(domain);
}

int cpool_reader_destroy(cpool_reader_t *face)
{
    struct cpi_reader *reader = cpi_reader_of(face);

    if (face == NULL)
        return 0;
    if (cpi_reader_has_ended(reader, "cpool_reader_destroy"))
        return CPOOL_EPOOL;
    if (face->nested != 0)
        return cpi_reader_report(CPOOL_EREADER, "cpool_reader_destroy", face);
    cpi_lock();
    disown(reader);
    cpi_unlock();
    end_section(reader);
    (void)cpi_retire_pass(reader->domain, reader, false, NULL, NULL);
    give_up(reader, false);
    return 0;
}

/* --- In the life of a pool --- */

static bool concerns(const struct cpool_domain *domain, const struct cpi_pool *pool)
{
    return (cpi_load(&domain->pools, relaxed) & cpi_retire_bit(pool->handle)) != 0; /* [bits] */
}

/* Another pool may get the handle, with a gate. */
static void forget_note(struct cpool_domain *domain, const cpool_t *pool)
{
    for (size_t i = 0; i < domain->readers; i++) {
        const cpool_t *seen = pool;

        (void)cpi_cas_strong(&domain->reader[i].noted, &seen, CPI_NOTED_NONE, /* [noted] */
                             relaxed, relaxed);                               /* [noted] */
    }
}

static bool rests(const struct cpool_domain *domain)
{
    for (size_t i = 0; i < domain->readers; i++)
        if (!cpi_reader_rests(&domain->reader[i]))
            return false;
    return true;
}

/* Gives back what no section sees.  `forgets`: and takes the others out of the bags, also where
 * they look empty because their only slot is moved. */
static size_t visit(struct cpool_domain *domain, struct cpi_pool *pool, bool forgets)
{
    size_t given = 0;
    bool full = !rests(domain);

    if (forgets)
        forget_note(domain, pool->handle);
    if (!full && !forgets)
        return 0;
    begin_visit(domain);
    cpi_unlock();
    if (full)
        given = cpi_retire_pass(domain, NULL, true, pool->handle, NULL);
    if (forgets)
        cpi_retire_forget(domain, pool->handle);
    cpi_lock();
    end_visit(domain);
    return given;
}

CPI_COLD static size_t give_back(struct cpi_pool *pool, bool forgets)
{
    size_t given = 0;

    cpi_lock();
    for (struct cpool_domain *domain = domains; domain != NULL; domain = domain->next)
        if (concerns(domain, pool))
            given += visit(domain, pool, forgets);
    cpi_unlock();
    return given;
}

static size_t count_of(const struct cpool_domain *domain, const cpool_t *pool)
{
    size_t found = 0;

    for (size_t i = 0; i < domain->readers; i++)
        for (unsigned k = 0; k < CPI_BAGS; k++) {
            const struct cpi_bag *bag = &domain->reader[i].bags[k];
            size_t at = cpi_load(&bag->from, acquire);     /* [begun] */
            size_t count = cpi_load(&bag->count, relaxed); /* [count] */

            for (; at < count; at++)
                found += cpi_load(&bag->pools[at], relaxed) == pool; /* [count] */
        }
    return found;
}

static void figures(const struct cpi_pool *pool, cpool_stats_t *stats)
{
    for (const struct cpool_domain *domain = domains; domain != NULL; domain = domain->next)
        if (concerns(domain, pool))
            stats->retired += count_of(domain, pool->handle);
}

static const struct cpi_retire_visits to_domains = {give_back, figures};

/* --- What pools know of their retired slots --- */

/* A dry pool asks the domains that have its bit.  If it does not find it, it comes before the
 * retire. */
static void set_bit(struct cpool_domain *domain, uint64_t bit)
{
    uint64_t seen = cpi_load(&domain->pools, relaxed); /* [bits] */

    while ((seen & bit) == 0 &&
           !cpi_cas_weak(&domain->pools, &seen, seen | bit, relaxed, relaxed)) /* [bits] */
        ;
}

int cpi_retire_note(struct cpi_reader *reader, const cpool_t *handle, bool *gated)
{
    struct cpi_pool *pool = cpi_pool_of(handle, "cpool_retire");

    if (pool == NULL)
        return CPOOL_EPOOL;
    set_bit(reader->domain, cpi_retire_bit(handle));
    cpi_wait_delayed(pool);
    *gated = pool->map.words != NULL;
    cpi_store(&reader->noted, *gated ? CPI_NOTED_NONE : handle, relaxed); /* [noted] */
    return 0;
}

/* Addresses that are no slots are judged when they go back. */
int cpi_retire_step(const cpool_t *handle, void *slot, enum cpi_retiring step)
{
    struct cpi_pool *pool = handle->state;
    uintptr_t index;

    if (cpi_slab_place(&pool->slab, slot, &index) != CPI_PLACE_SLOT)
        return 0;
    return cpi_pool_retired(pool, index, step);
}

void cpi_retire_refuse(int code, const cpool_t *handle, const void *slot)
{
    const struct cpi_pool *pool = handle->state;

    cpi_pool_report_slot(code, "cpool_retire", pool, cpi_slab_index(&pool->slab, slot));
}

void cpi_retire_back(const cpool_t *handle, void *const *slots, size_t n)
{
    struct cpi_pool *pool = cpi_handle_is_alive(handle) ? handle->state : NULL;

    if (pool == NULL || CPI_LIKELY(pool->map.words == NULL))
        return;
    for (size_t i = 0; i < n; i++)
        (void)cpi_retire_step(handle, slots[i], CPI_RETIRING_BACK);
}

/* --- Domains --- */

/* The first epochs come before a wrap, so that every test goes through one. */
#define CPI_EARLY 7u

static void lay_out(struct cpool_domain *domain)
{
    char *at = domain->arrays;

    for (size_t i = 0; i < domain->readers; i++) {
        struct cpi_reader *reader = &domain->reader[i];

        reader->domain = domain;
        reader->face.inside = domain->epoch + 1;
        reader->face.epoch = CPI_PARKED;
        atomic_init(&reader->noted, CPI_NOTED_NONE);
        reader->owned.ended = thread_ended;
        for (unsigned k = 0; k < CPI_BAGS; k++) {
            reader->bags[k].slots = (void **)(void *)at;
            at += domain->bag_size * sizeof(void *);
            reader->bags[k].pools = (cpool_t *_Atomic *)(void *)at;
            at += domain->bag_size * sizeof(cpool_t *);
        }
    }
}

/* The readers outlive the arrays, so each have memory of their own. */
static struct cpool_domain *allocate(size_t readers, size_t bag_size)
{
    size_t page = cpi_os_page_size();
    size_t size = cpi_align_up(
        sizeof(struct cpool_domain) + readers * sizeof(struct cpi_reader), page);
    struct cpool_domain *domain = NULL;
    size_t arrays_size;

    if (cpi_multiply(readers, bag_size * CPI_BAGS * 2 * sizeof(void *), &arrays_size) &&
        cpi_align_up_checked(arrays_size, page, &arrays_size))
        domain = cpi_os_map(size);
    if (domain == NULL)
        return NULL;
    domain->size = size;
    domain->arrays_size = arrays_size;
    domain->arrays = cpi_os_map(arrays_size);
    if (domain->arrays != NULL)
        return domain;
    cpi_os_release(domain, size);
    return NULL;
}

/* With the lock held.  The domain holds the descriptors while it has one. */
static int show(struct cpool_domain *domain)
{
    if (cpi_thread_tables_gone() || !cpi_handle_hold())
        return CPOOL_ENOMEM;
    domain->handle = cpi_handle_take();
    if (domain->handle == NULL) {
        cpi_handle_drop();
        return CPOOL_EPOOLS;
    }
    CPI_LIST_ADD(&domains, domain);
    cpi_store(&cpi_retire_visits, &to_domains, release); /* [found] */
    return 0;
}

static int build(cpool_domain_t **result, size_t readers, size_t bag_size, uint64_t stall_limit)
{
    struct cpool_domain *domain = allocate(readers, bag_size);
    int code;

    if (domain == NULL)
        return CPOOL_ENOMEM;
    domain->epoch = (uintptr_t)0 - CPI_EARLY;
    domain->readers = readers;
    domain->bag_size = bag_size;
    domain->stall_limit = stall_limit;
    lay_out(domain);
    cpi_lock();
    code = show(domain);
    cpi_unlock();
    if (code == 0) {
        *result = domain;
    } else {
        cpi_os_release(domain->arrays, domain->arrays_size);
        cpi_os_release(domain, domain->size);
    }
    return code;
}

int cpool_domain_create(cpool_domain_t **result, size_t readers, size_t held, uint64_t stall_limit)
{
    if (result == NULL)
        return CPOOL_ENULL;
    *result = NULL;
    if (readers == 0 || readers > CPOOL_READERS_MAX || held < CPI_BAGS || held > CPOOL_HELD_MAX)
        return CPOOL_ECAPACITY;
    if (!cpi_thread_startup())
        return CPOOL_ESYSTEM;
    return build(result, readers, held / CPI_BAGS + (held % CPI_BAGS != 0), stall_limit);
}

/* While there are no sections.  The domain is in the list, because a pool that ends or is reset
 * meanwhile has to find the slots that have not gone back yet. */
static void empty_bags(struct cpool_domain *domain)
{
    for (unsigned times = 0; !rests(domain); times++) {
        if (times > 0)
            cpi_os_back_off(times);
        (void)cpi_retire_pass(domain, NULL, true, NULL, NULL);
    }
}

int cpool_domain_destroy(cpool_domain_t *domain)
{
    if (domain == NULL)
        return 0;
    if (CPI_HAS_ENDED(domain))
        return CPOOL_EPOOL;
    for (size_t i = 0; i < domain->readers; i++)
        if (domain->reader[i].face.nested != 0) /* in the child of a fork, too */
            return cpi_reader_report(CPOOL_EREADER, "cpool_domain_destroy",
                                     &domain->reader[i].face);
    cpi_lock();
    for (size_t i = 0; i < domain->readers; i++) {
        disown(&domain->reader[i]);
        end_section(&domain->reader[i]);
        park(&domain->reader[i]);
    }
    cpi_unlock();
    empty_bags(domain);
    cpi_lock();
    await_visits(domain);
    CPI_LIST_REMOVE(domain);
    cpi_handle_give(domain->handle);
    cpi_handle_drop();
    cpi_unlock();
    cpi_os_release(domain->arrays, domain->arrays_size);
    domain->handle = CPI_HANDLE_NONE;
    for (size_t i = 0; i < domain->readers; i++)
        give_up(&domain->reader[i], false);
    cpi_ending_keep(&domain->ending, domain, domain->size, true);
    return 0;
}

size_t cpool_domain_held(const cpool_domain_t *domain)
{
    size_t held = 0;

    if (CPI_HAS_ENDED(domain))
        return 0;
    for (size_t i = 0; i < domain->readers; i++)
        held += cpi_reader_held(&domain->reader[i]);
    return held;
}

const cpool_reader_t *cpool_domain_oldest(const cpool_domain_t *domain)
{
    const cpool_reader_t *oldest = NULL;
    uintptr_t since = 0;

    if (CPI_HAS_ENDED(domain))
        return NULL;
    for (size_t i = 0; i < domain->readers; i++) {
        const cpool_reader_t *face = &domain->reader[i].face;
        uintptr_t inside = cpi_word_load(&face->inside, relaxed); /* [alone] */

        if (cpi_is_inside(inside) && (oldest == NULL || cpi_epoch_is_before(inside, since))) {
            oldest = face;
            since = inside;
        }
    }
    return oldest;
}

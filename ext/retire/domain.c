/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * domain.c - domains, their readers, and their part in the end of a thread, in a fork, and in the
 * life of pools.
 *
 * The list of domains is guarded by the library's lock.  A thread that works at a domain, which
 * nobody may destroy meanwhile, counts as a visit, so that it need not hold the lock.
 *
 * ORDERING TABLE
 *   hint  | state, inside load | relaxed | - | -
 *   claim | state CAS         | acquire | leave, retire.c's leave | the bags
 *   leave | inside, state store | release | claim, retire.c's gone, epoch.c's scan | the bags
 *   meet  | epoch exchange    | acq_rel | epoch.c's meet | the sections that have ended
 *   next  | next_reader load, store | relaxed | - | -
 *   plain | plain store       | relaxed | - | -
 */
#include "retire/domain.h"

static struct cpool_domain *domains; /* guarded by the lock */

/* --- Visits, with the lock held, which is not held in between --- */

static void begin_visit(struct cpool_domain *domain)
{
    if (domain->forks != cpi_domain_forks(domain)) /* those of threads that have vanished */
        domain->visits = 0;
    domain->forks = cpi_domain_forks(domain);
    domain->visits++;
    cpool_client_unlock();
}

static void end_visit(struct cpool_domain *domain)
{
    (void)cpool_client_lock();
    if (domain->forks == cpi_domain_forks(domain) && domain->visits > 0)
        domain->visits--;
}

static void await_visits(struct cpool_domain *domain)
{
    for (unsigned times = 0; domain->visits > 0 && domain->forks == cpi_domain_forks(domain);) {
        cpool_client_unlock();
        domain->client.system->back_off(times++);
        (void)cpool_client_lock();
    }
}

/* --- The end of a reader --- */

/* Its next section, if any, meets the scans.  So it is in nobody's way, with the kernel's barrier
 * and without. */
static void go_offline(struct cpi_reader *reader)
{
    (void)cpi_word_exchange(&reader->section.epoch, CPI_OFFLINE, acq_rel); /* [meet] */
}

/* And takes the reader from its thread.  With the lock held. */
static void end_section(struct cpi_reader *reader)
{
    uintptr_t word;

    (void)cpool_client_own(NULL, &reader->owned);
    word = cpi_word_load(&reader->section.inside, relaxed); /* [hint] */
    reader->section.nested = 0;
    cpi_word_store(&reader->section.inside, word + word % 2, release); /* [leave] */
}

/* A thread that has vanished may have left the bags as they were for a moment. */
static void release_reader(struct cpi_reader *reader, bool vanished)
{
    bool empty = !vanished && cpi_reader_is_empty(reader);

    cpi_store(&reader->plain, CPI_POOL_NONE, relaxed); /* [plain] */
    go_offline(reader);
    cpi_store(&reader->state, empty ? CPI_READER_FREE : CPI_READER_ORPHAN, release); /* [leave] */
}

/* With the lock held, but not while slots go back. */
static void end_reader(struct cpi_reader *reader, bool vanished)
{
    end_section(reader);
    if (!vanished) {
        begin_visit(reader->domain);
        (void)cpi_retire_reclaim(reader->domain, reader, false, NULL);
        end_visit(reader->domain);
    }
    release_reader(reader, vanished);
}

static struct cpi_reader *reader_of_owned(cpool_client_owned_t *owned)
{
    return (struct cpi_reader *)(void *)((char *)owned - offsetof(struct cpi_reader, owned));
}

static void owner_ended(cpool_client_owned_t *owned, bool vanished)
{
    end_reader(reader_of_owned(owned), vanished);
}

void cpool_reader_destroy(cpool_reader_t *section)
{
    if (section == NULL || cpi_reader_has_ended(cpi_reader_of(section), "cpool_reader_destroy"))
        return;
    if (section->nested != 0) {
        (void)cpi_report_address(CPOOL_EREADER, "cpool_reader_destroy", section);
        return;
    }
    (void)cpool_client_lock();
    end_reader(cpi_reader_of(section), false);
    cpool_client_unlock();
}

/* --- Obtaining a reader --- */

/* For the calling thread with the lock, so that a fork comes before or after all of it. */
static struct cpi_reader *take_reader(struct cpool_domain *domain, bool own)
{
    size_t at = cpi_load(&domain->next_reader, relaxed); /* [next] */
    bool locked = own && cpool_client_lock();
    struct cpi_reader *taken = NULL;

    for (size_t i = 0; i < domain->readers && taken == NULL; i++) {
        struct cpi_reader *reader = &domain->reader[(at + i) % domain->readers];
        unsigned state = cpi_load(&reader->state, relaxed); /* [hint] */

        if (state == CPI_READER_FREE &&
            cpi_cas_strong(&reader->state, &state, CPI_READER_USED, acquire, /* [claim] */
                           relaxed)) {                                       /* [hint] */
            cpi_store(&domain->next_reader, at + i + 1, relaxed); /* [next] */
            taken = reader;
        }
    }
    if (taken != NULL && own)
        (void)cpool_client_own(domain->client.pool, &taken->owned);
    if (locked)
        cpool_client_unlock();
    return taken;
}

CPI_COLD static int obtain_reader(struct cpool_domain *domain, bool own, cpool_reader_t **result)
{
    cpool_client_owned_t *owned;
    struct cpi_reader *reader;

    if (cpi_ended_check(&domain->ended, domain, "cpool_reader_create"))
        return CPOOL_EPOOL;
    if (own && cpool_client_own(domain->client.pool, NULL) != 0)
        return CPOOL_ENOMEM;
    if ((reader = take_reader(domain, own)) == NULL) {
        (void)cpi_retire_reclaim(domain, NULL, false, NULL);
        owned = own ? cpool_client_find(domain->key) : NULL; /* taken by a notice of slots */
        reader = owned != NULL ? reader_of_owned(owned) : take_reader(domain, own);
    }
    *result = reader != NULL ? &reader->section : NULL;
    return reader != NULL ? 0 : CPOOL_ELIMIT;
}

int cpool_reader_create(cpool_reader_t **result, cpool_domain_t *domain, unsigned flags)
{
    cpool_client_owned_t *owned;

    if (result != NULL)
        *result = NULL;
    if (result == NULL || domain == NULL)
        return CPOOL_ENULL;
    if ((flags & ~CPOOL_READER_UNOWNED) != 0)
        return CPOOL_EFLAGS;
    owned = flags == 0 ? cpool_client_find(domain->key) : NULL;
    if (owned != NULL)
        *result = &reader_of_owned(owned)->section;
    return owned != NULL ? 0 : obtain_reader(domain, flags == 0, result);
}

/* --- In the life of a pool --- */

static bool is_drained(const struct cpool_domain *domain)
{
    for (size_t i = 0; i < domain->readers; i++)
        if (!cpi_reader_is_empty(&domain->reader[i]))
            return false;
    return true;
}

/* Gives back what no section sees.  `ends`: and takes the others out of the bags, also where they
 * look empty because their only slot is moved.  Another pool may get the descriptor then, and keep
 * states. */
static size_t visit_domain(struct cpool_domain *domain, const cpool_t *pool, bool ends)
{
    size_t given = 0;

    if (!ends && is_drained(domain))
        return 0;
    for (size_t i = 0; ends && i < domain->readers; i++)
        cpi_store(&domain->reader[i].plain, CPI_POOL_NONE, relaxed); /* [plain] */
    begin_visit(domain);
    if (ends)
        cpi_retire_forget(domain, pool);
    else
        given = cpi_retire_reclaim(domain, NULL, true, pool);
    end_visit(domain);
    return given;
}

static size_t give_back_retired(cpool_t *pool, bool ends)
{
    size_t given = 0;

    if (!cpool_client_lock()) /* in a handler of a fork, which has it until the fork is over */
        return 0;
    for (struct cpool_domain *domain = domains; domain != NULL; domain = domain->next)
        given += visit_domain(domain, pool, ends);
    cpool_client_unlock();
    return given;
}

static void count_retired(const cpool_t *pool, cpool_stats_t *stats)
{
    for (const struct cpool_domain *domain = domains; domain != NULL; domain = domain->next)
        for (size_t i = 0; i < domain->readers; i++)
            stats->retired += cpi_reader_held(&domain->reader[i], pool);
}

static const cpool_client_hooks_t retire_hooks = {give_back_retired, count_retired,
                                                  owner_ended};

/* --- Domains --- */

/* The first epochs come before a wrap, so that every test goes through one. */
#define CPI_FIRST_EPOCH ((uintptr_t)0 - 7u)

static void init_reader(struct cpool_domain *domain, struct cpi_reader *reader)
{
    void **array =
        domain->arrays + (size_t)(reader - domain->reader) * CPI_BAGS * 2 * domain->bag_size;

    reader->domain = domain;
    reader->section.inside = domain->epoch + 1;
    reader->section.epoch = CPI_OFFLINE;
    atomic_init(&reader->plain, CPI_POOL_NONE);
    reader->owned.hooks = &retire_hooks;
    for (size_t k = 0; k < CPI_BAGS; k++, array += 2 * domain->bag_size) {
        reader->bags[k].slots = array;
        reader->bags[k].pools = (cpool_t *_Atomic *)(void *)(array + domain->bag_size);
    }
}

static struct cpool_domain *make_domain(const cpool_domain_config_t *config)
{
    size_t bag_size = (config->max_held + CPI_BAGS - 1) / CPI_BAGS;
    size_t each = bag_size * CPI_BAGS * 2 * sizeof(void *);
    size_t size = sizeof(struct cpool_domain) + config->readers * sizeof(struct cpi_reader);
    struct cpool_domain *domain = cpool_client_memory(size, 0);

    if (domain == NULL)
        return NULL;
    domain->arrays_size = each * config->readers;
    if (each <= SIZE_MAX / 2 / config->readers)
        domain->arrays = cpool_client_memory(domain->arrays_size, 0);
    if (domain->arrays == NULL) {
        cpool_client_release(domain, size, 0, NULL);
        return NULL;
    }
    domain->client.size = sizeof domain->client;
    domain->client.hooks = &retire_hooks;
    domain->size = size;
    domain->epoch = CPI_FIRST_EPOCH;
    domain->readers = config->readers;
    domain->bag_size = bag_size;
    domain->stall_limit_ns = (uint64_t)config->stall_limit_ms * 1000000;
    for (size_t i = 0; i < domain->readers; i++)
        init_reader(domain, &domain->reader[i]);
    return domain;
}

int cpool_domain_create(cpool_domain_t **result, const cpool_domain_config_t *config)
{
    cpool_domain_config_t known;
    struct cpool_domain *domain;
    int code;

    if (result == NULL)
        return CPOOL_ENULL;
    *result = NULL;
    code = cpi_given_read(&known, sizeof known, config);
    if (code != 0)
        return code;
    if (known.readers == 0 || known.readers > CPOOL_READERS_MAX || known.max_held < CPI_BAGS ||
        known.max_held > CPOOL_HELD_MAX)
        return CPOOL_ECAPACITY;
    domain = make_domain(&known);
    if (domain == NULL)
        return CPOOL_ENOMEM;
    code = cpool_client_create(&domain->client, NULL); /* without a pool, a key for threads */
    if (code != 0) {
        cpool_client_release(domain->arrays, domain->arrays_size, 0, NULL);
        cpool_client_release(domain, domain->size, 0, NULL);
        return code;
    }
    (void)cpool_client_lock();
    domain->key = domain->client.pool;
    cpool_client_show(&domain->client, true);
    domain->next = domains;
    domains = domain;
    cpool_client_unlock();
    *result = domain;
    return 0;
}

/* While there are no sections, with the lock held, but not while slots go back.  A pool that ends
 * finds them by the list.  A notice in a visit may retire to a bag that was just looked at. */
static void drain_domain(struct cpool_domain *domain)
{
    do {
        cpool_client_unlock();
        for (unsigned times = 0; !is_drained(domain); domain->client.system->back_off(times++))
            (void)cpi_retire_reclaim(domain, NULL, true, NULL);
        (void)cpool_client_lock();
        await_visits(domain);
    } while (!is_drained(domain));
}

/* With the lock held. */
static void unlist_domain(struct cpool_domain *domain)
{
    struct cpool_domain **link = &domains;

    while (*link != domain)
        link = &(*link)->next;
    *link = domain->next;
    cpool_client_show(&domain->client, false);
    domain->key = domain->client.none;
}

int cpool_domain_destroy(cpool_domain_t *domain)
{
    if (domain == NULL)
        return 0;
    if (CPI_ENDED(domain))
        return CPOOL_EPOOL;
    for (size_t i = 0; i < domain->readers; i++)
        if (domain->reader[i].section.nested != 0) /* in the child of a fork, too */
            return cpi_report_address(CPOOL_EREADER, "cpool_domain_destroy",
                                     &domain->reader[i].section);
    (void)cpool_client_lock();
    for (size_t i = 0; i < domain->readers; i++) {
        end_section(&domain->reader[i]);
        go_offline(&domain->reader[i]);
    }
    drain_domain(domain);
    for (size_t i = 0; i < domain->readers; i++) {
        end_section(&domain->reader[i]); /* of one that a notice of slots has obtained since */
        release_reader(&domain->reader[i], false);
    }
    unlist_domain(domain);
    cpool_client_unlock();
    cpool_client_release(domain->arrays, domain->arrays_size, 0, NULL);
    cpool_client_release(domain, domain->size, 0, &domain->ended);
    return 0;
}

int cpool_domain_read_stats(const cpool_domain_t *domain, cpool_domain_stats_t *stats)
{
    cpool_domain_stats_t known = CPOOL_DOMAIN_STATS_INIT;
    uintptr_t since = 0;

    if (CPI_ENDED(domain))
        return CPOOL_EPOOL;
    for (size_t i = 0; i < domain->readers; i++) {
        const struct cpi_reader *reader = &domain->reader[i];
        uintptr_t inside = cpi_word_load(&reader->section.inside, relaxed); /* [hint] */

        known.held += cpi_reader_held(reader, NULL);
        if (cpi_is_inside(inside) &&
            (known.oldest == NULL || cpi_epoch_is_before(inside, since))) {
            known.oldest = &reader->section;
            since = inside;
        }
    }
    return cpi_given_write(stats, &known, sizeof known);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_ranks.c - priority pools, with a model of which object is the least important one.
 */
#include "fuzz.h"

#include <string.h>

#include <cpool/priority.h>

enum { MOST = 40, CREATE_FAILED = 77 };

struct body {
    uint64_t magic; /* its address, while it is constructed */
    uint32_t active;
};

struct use {
    struct body *body;
    cpool_claim_t claim;
    int64_t number;
    uint64_t turn;
};

static struct {
    cpool_objects_t *pool; /* NULL: none */
    cpool_objects_config_t config;
    cpool_object_type_t type;
    bool keeps;
    bool fake;
    bool fails; /* the next create */
    uint64_t turn;
    cpool_claim_t ended; /* a claim of a use that has ended, or 0 */
    size_t created;
    size_t destroyed;
    size_t n_held;
    struct use held[MOST];
} ranks;

/*
 * ---- Hooks -------------------------------------------------------------------
 */

static int create(void *object, void *arg)
{
    struct body *body = object;

    FUZZ_REQUIRE(arg == &ranks);
    if (ranks.fails) {
        ranks.fails = false;
        return CREATE_FAILED;
    }
    body->magic = (uintptr_t)body;
    body->active = 0;
    ranks.created++;
    return 0;
}

static int activate(void *object, void *arg)
{
    struct body *body = object;

    FUZZ_REQUIRE(arg == &ranks && body->magic == (uintptr_t)body);
    FUZZ_EQUAL(body->active++, 0);
    return 0;
}

/* Its use ends, by whichever function. */
static void deactivate(void *object, void *arg)
{
    struct body *body = object;
    size_t i = 0;

    FUZZ_REQUIRE(arg == &ranks && body->magic == (uintptr_t)body);
    FUZZ_EQUAL(body->active--, 1);
    while (i < ranks.n_held && ranks.held[i].body != body)
        i++;
    FUZZ_REQUIRE(i < ranks.n_held);
    ranks.ended = ranks.held[i].claim;
    ranks.held[i] = ranks.held[--ranks.n_held];
}

static void destroy(void *object, void *arg)
{
    struct body *body = object;

    FUZZ_REQUIRE(arg == &ranks && body->magic == (uintptr_t)body && body->active == 0);
    body->magic = 0;
    ranks.destroyed++;
}

/*
 * ---- The model ---------------------------------------------------------------
 */

/* Of two uses, the one that is less important. */
static bool is_before(const struct use *a, const struct use *b)
{
    return a->number != b->number ? a->number < b->number : a->turn < b->turn;
}

/* The use that a get or a release would end, or NULL. */
static struct use *least(void)
{
    struct use *found = NULL;

    for (size_t i = 0; i < ranks.n_held; i++)
        if (ranks.held[i].number != CPOOL_PRIORITY_KEPT &&
            (found == NULL || is_before(&ranks.held[i], found)))
            found = &ranks.held[i];
    return found;
}

static cpool_objects_stats_t verify(void)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;

    FUZZ_EQUAL(cpool_objects_read_stats(ranks.pool, &stats), 0);
    FUZZ_EQUAL(stats.active, ranks.n_held);
    FUZZ_EQUAL(stats.objects, ranks.created - ranks.destroyed);
    for (size_t i = 0; i < ranks.n_held; i++)
        FUZZ_EQUAL(ranks.held[i].body->active, 1);
    REPORTS_EQUAL(0, 0);
    return stats;
}

static bool is_full(void)
{
    cpool_objects_stats_t stats = verify();

    return ranks.n_held >= (ranks.config.growth != 0 ? stats.max_capacity : stats.capacity);
}

static void hold(void *object, cpool_claim_t claim, int64_t number)
{
    struct use *use = &ranks.held[ranks.n_held++];

    FUZZ_REQUIRE(ranks.n_held <= MOST && claim != 0 && claim != ranks.ended);
    *use = (struct use){object, claim, number, ++ranks.turn};
}

/*
 * ---- Calls -------------------------------------------------------------------
 */

static void get(void)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    void *object;
    int64_t number = (int64_t)input_below(9) - 4;
    bool fails = ranks.fails;
    bool full = is_full();
    const struct use *victim = full ? least() : NULL;
    struct body *taken = NULL;
    cpool_claim_t ended = 0;
    int code;

    if (victim != NULL && !(ranks.keeps && victim->number > number)) {
        taken = victim->body;
        ended = victim->claim;
    }
    grant.priority = number;
    code = cpool_object_get_with(ranks.pool, &object, &grant);
    fuzz_trace("obtain, code", (size_t)-code);
    FUZZ_EQUAL(object != NULL, code == 0);
    if (code == CREATE_FAILED) {
        FUZZ_REQUIRE(fails && !ranks.fails);
        return;
    }
    FUZZ_EQUAL(code, full && taken == NULL ? CPOOL_EDRY : 0);
    if (code != 0)
        return;
    FUZZ_REQUIRE(taken == NULL || ranks.fake || object == taken);
    FUZZ_REQUIRE(grant.ended == ended);
    hold(object, grant.claim, number);
}

static void put(void)
{
    struct use use;

    if (ranks.n_held == 0)
        return;
    use = ranks.held[input_below(ranks.n_held)];
    if (input_below(2) == 0)
        FUZZ_EQUAL(cpool_priority_put(ranks.pool, use.claim), 0);
    else
        cpool_object_put(ranks.pool, use.body);
    FUZZ_EQUAL(ranks.ended, use.claim);
}

/* Every function refuses the claim of a use that has ended. */
static void use_ended(void)
{
    FUZZ_EQUAL(cpool_priority_put(ranks.pool, ranks.ended), CPOOL_EINACTIVE);
    FUZZ_EQUAL(cpool_priority_set(ranks.pool, ranks.ended, 5), CPOOL_EINACTIVE);
}

static void change(void)
{
    bool keeps = input_below(3) == 0;
    int64_t number = keeps ? CPOOL_PRIORITY_KEPT : (int64_t)input_below(9) - 4;
    struct use *use;

    if (ranks.n_held == 0)
        return;
    use = &ranks.held[input_below(ranks.n_held)];
    FUZZ_EQUAL(cpool_priority_set(ranks.pool, use->claim, number), 0);
    use->number = number;
}

/* The n least important ones, one after the other. */
static void let_go(void)
{
    size_t n = input_below(8);

    for (; n > 0; n--) {
        const struct use *victim = least();
        cpool_claim_t claim = victim != NULL ? victim->claim : 0;

        FUZZ_EQUAL(cpool_objects_reset(ranks.pool, 1), claim != 0);
        FUZZ_REQUIRE(claim == 0 || ranks.ended == claim);
    }
    for (size_t i = 0; i < ranks.n_held; i++)
        n += ranks.held[i].number != CPOOL_PRIORITY_KEPT;
    if (input_below(4) == 0)
        FUZZ_EQUAL(cpool_objects_reset(ranks.pool, SIZE_MAX - 1), n);
}

static void resize(void)
{
    cpool_objects_stats_t stats = verify();
    size_t n = input_below(12);
    size_t room = stats.max_capacity - stats.capacity;
    size_t idle = stats.capacity - stats.active;

    if (input_below(2) == 0)
        FUZZ_EQUAL(cpool_objects_resize(ranks.pool, (ptrdiff_t)n, 0), n < room ? n : room);
    else
        FUZZ_EQUAL(cpool_objects_resize(ranks.pool, -(ptrdiff_t)n, 0), n < idle ? n : idle);
}

static void put_all(void)
{
    size_t active = ranks.n_held;

    FUZZ_EQUAL(cpool_objects_reset(ranks.pool, SIZE_MAX), active);
    FUZZ_EQUAL(ranks.n_held, 0);
}

/*
 * ---- The pool ------------------------------------------------------------------
 */

static void make(void)
{
    static const cpool_object_type_t type = {sizeof type, sizeof(struct body), 0,    create,
                                             activate,    deactivate,          NULL, destroy,
                                             &ranks};
    static const unsigned kinds[8] = {CPOOL_OBJECT_FAKE, CPOOL_OBJECT_EAGER | CPOOL_OBJECT_COUNTED};
    cpool_objects_config_t *config = &ranks.config;
    unsigned keeps = (unsigned)input_below(2) * CPOOL_OBJECT_KEEP_LARGER;

    memset(&ranks, 0, sizeof ranks);
    ranks.type = type;
    *config = (cpool_objects_config_t)CPOOL_OBJECTS_CONFIG_INIT;
    config->type = &ranks.type;
    config->capacity = input_below(16);
    config->max_capacity = config->capacity + 1 + input_below(20);
    config->growth = input_below(2) * input_below(6);
    config->max_inactive = input_below(4) == 0 ? 1 + input_below(6) : 0;
    config->flags = kinds[input_below(8)];
    ranks.fake = config->flags == CPOOL_OBJECT_FAKE;
    ranks.keeps = keeps != 0;
    config->flags |= CPOOL_OBJECT_PRIORITY | keeps;
    FUZZ_EQUAL(cpool_objects_create(&ranks.pool, config), 0);
    fuzz_trace("priority pool, flags", config->flags);
}

void ranks_end(void)
{
    size_t active = ranks.n_held;

    if (ranks.pool == NULL)
        return;
    FUZZ_EQUAL(cpool_objects_destroy(ranks.pool), active == 0 ? 0 : CPOOL_ELIVE);
    FUZZ_EQUAL(ranks.created, ranks.destroyed);
    REPORTS_EQUAL(0, 0);
    ranks.pool = NULL;
}

void ranks_any(void)
{
    size_t steps = 1 + input_below(24);

    if (ranks.pool == NULL) {
        make();
        return;
    }
    for (; steps > 0 && input_left(); steps--) {
        size_t what = input_below(24);

        fuzz_trace("ranks", what);
        switch (what) {
        case 0: resize(); break;
        case 1: put_all(); break;
        case 2: let_go(); break;
        case 3: use_ended(); break;
        case 4: ranks.fails = true; break;
        case 5: cpool_objects_resize(ranks.pool, 0, 0); break;
        case 6:
        case 7:
        case 8:
        case 9: put(); break;
        case 10:
        case 11:
        case 12:
        case 13:
        case 14: change(); break;
        default: get(); break;
        }
        verify();
    }
    if (input_below(12) == 0)
        ranks_end();
}

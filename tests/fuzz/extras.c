/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * extras.c - tickets, explicit caches and leases.
 */
#include "fuzz.h"

/*
 * ---- Tickets -----------------------------------------------------------------
 */

static void return_ticket(struct model *model)
{
    size_t left = model->ticket.left;
    size_t returned = 0;

    for (size_t i = 0; i < model->limit; i++)
        if (model->slots[i].state == IN_TICKET) {
            model_give(model, i);
            returned++;
        }
    FUZZ_EQUAL(returned, left);
    FUZZ_EQUAL(cpool_ticket_return(&model->ticket), left);
    FUZZ_REQUIRE(cpool_ticket_alloc(&model->ticket) == NULL);
}

static void draw_ticket(struct model *model)
{
    size_t obtainable = model_obtainable(model);
    size_t n = input_below(ROOM);
    int code = cpool_ticket_draw(&model->ticket, model->pool, model->room, n);

    fuzz_trace("draw", n);
    FUZZ_REQUIRE(code == 0 || (code == CPOOL_EDRY && n > obtainable));
    FUZZ_EQUAL(model->ticket.left, code == 0 ? n : 0);
    for (size_t i = 0; code == 0 && i < n; i++)
        model_take(model, model->room[i], IN_TICKET);
}

static void use_ticket(struct model *model)
{
    void *slot;

    if (model->ticket.left == 0) {
        draw_ticket(model);
        return;
    }
    if (input_below(4) == 0) {
        return_ticket(model);
        return;
    }
    slot = cpool_ticket_alloc(&model->ticket);
    FUZZ_REQUIRE(slot != NULL);
    FUZZ_EQUAL(model->slots[cpool_index(model->pool, slot)].state, IN_TICKET);
    model_move(model, cpool_index(model->pool, slot), HELD);
}

/*
 * ---- Caches --------------------------------------------------------------------
 */

static void use_cache(struct model *model)
{
    cpool_cache_t **cache = &model->caches[input_below(CACHES)];
    int code;

    if (*cache == NULL) {
        code = cpool_cache_create(cache, model->pool);
        FUZZ_REQUIRE(code == 0 || code == CPOOL_ENOMEM);
        FUZZ_EQUAL(*cache != NULL, code == 0);
        FUZZ_REQUIRE(code == 0 || model->config.thread_caches != 0 ||
                     model->config.memory != NULL);
    } else {
        cpool_cache_destroy(*cache);
        *cache = NULL;
    }
    cpool_cache_destroy(NULL);
}

/*
 * ---- Leases --------------------------------------------------------------------
 */

/* The lease's place `which` in the input, from some slot on, or `limit` for none. */
static size_t some_of_lease(const struct model *model, size_t which)
{
    size_t first = input_number(model->limit);

    for (size_t i = 0; i < model->limit; i++) {
        size_t index = (first + i) % model->limit;

        if (model->slots[index].state == IN_LEASE && model->slots[index].lease == which)
            return index;
    }
    return model->limit;
}

static void visit(void *slot, void *arg)
{
    FUZZ_REQUIRE(slot != NULL);
    ++*(size_t *)arg;
}

static void end_lease(struct model *model, size_t which)
{
    struct lease *lease = &model->leases[which];
    size_t visited = 0;
    size_t returned;
    size_t visits = cpool_lease_each(lease->handle, visit, &visited);

    FUZZ_EQUAL(visits, visited);
    FUZZ_REQUIRE(visits >= lease->count && visits <= lease->count + lease->promoted);
    for (size_t i = 0; i < model->limit; i++)
        if (model->slots[i].state == IN_LEASE && model->slots[i].lease == which)
            model_give(model, i);
    returned = cpool_lease_end(lease->handle);
    FUZZ_REQUIRE(returned >= lease->count && returned <= lease->count + lease->promoted);
    model->hidden -= lease->promoted;
    for (size_t i = 0; i < model->limit && model->hidden == 0; i++)
        if (model->slots[i].state == FREE)
            model_is_free(model, i);
    REPORTS_EQUAL(0, 0);
    FUZZ_EQUAL(cpool_lease_end(lease->handle), 0);
    REPORTS_EQUAL(1, CPOOL_ELEASE);
    *lease = (struct lease){ NULL, 0, 0 };
}

static void lease_slot(struct model *model, size_t which)
{
    size_t obtainable = model_obtainable(model);
    void *slot = cpool_lease_alloc(model->leases[which].handle);

    FUZZ_REQUIRE(slot != NULL || obtainable == 0);
    if (slot == NULL)
        return;
    model_take(model, slot, IN_LEASE);
    model->slots[cpool_index(model->pool, slot)].lease = (uint8_t)which;
    model->leases[which].count++;
}

static void adopt(struct model *model, size_t which)
{
    size_t index;

    if (model->n_held == 0)
        return;
    index = model_some(model);
    FUZZ_EQUAL(cpool_lease_adopt(model->leases[which].handle, cpool_at(model->pool, index)), 0);
    model_move(model, index, IN_LEASE);
    model->slots[index].lease = (uint8_t)which;
    model->leases[which].count++;
}

static void promote(struct model *model, size_t which)
{
    size_t obtainable = model_obtainable(model);
    size_t index = some_of_lease(model, which);
    int code;

    if (index == model->limit)
        return;
    code = cpool_lease_promote(model->leases[which].handle, cpool_at(model->pool, index));
    fuzz_trace("promote", index);
    FUZZ_REQUIRE(code == 0 || (code == CPOOL_EDRY && obtainable == 0));
    if (code != 0)
        return;
    model_move(model, index, HELD);
    model->leases[which].count--;
    model->leases[which].promoted++;
    model->hidden++;
}

static void use_lease(struct model *model)
{
    size_t which = input_below(LEASES);
    struct lease *lease = &model->leases[which];

    if (lease->handle == NULL) {
        lease->handle = cpool_lease_begin(model->pool);
        FUZZ_REQUIRE(lease->handle != NULL || model->config.thread_caches != 0 ||
                     model->config.memory != NULL);
        return;
    }
    switch (input_below(16)) {
    case 0: end_lease(model, which); break;
    case 1:
    case 2: adopt(model, which); break;
    case 3:
    case 4: promote(model, which); break;
    default:
        for (size_t n = input_below(80); n > 0; n--)
            lease_slot(model, which);
        break;
    }
}

void extra_any(struct model *model)
{
    size_t what = input_below(8);

    fuzz_trace("extra", what);
    switch (what) {
    case 0:
    case 1: use_ticket(model); break;
    case 2: use_cache(model); break;
    default: use_lease(model); break;
    }
    REPORTS_EQUAL(0, 0);
}

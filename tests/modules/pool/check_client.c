/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_client.c - what a library over pools asks of them: fresh slots one by one, pages of live
 * slots, its own structure by the face, and things that threads own.
 */
#include "support.h"

#include <cpool/client.h>

enum { CAPACITY = 4, MOST = 7 };

static const unsigned modes[] = { 0, CPOOL_CHECKED };

#define MODES (sizeof(modes) / sizeof(modes[0]))

static cpool_t *make_pool(unsigned flags)
{
    static cpool_client_t client;
    cpool_config_t config = support_config(32, CAPACITY);

    client = (cpool_client_t){ .size = sizeof client, .kind = CPOOL_VIEW_OBJECTS };
    config.flags = flags;
    config.max_capacity = MOST;
    REQUIRE_EQUAL(cpool_client_create(&client, &config), 0);
    REQUIRE_EQUAL(client.direct, flags == 0);
    return client.pool;
}

static void *fresh(cpool_t *pool)
{
    return cpool_client_take(pool, CPOOL_CLIENT_FRESH, NULL);
}

/* Within the capacity it stays, and beyond it rises by one with each slot. */
TEST_TIMES(fresh_slots_come_in_order_and_raise_the_capacity, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    void *slots[MOST];

    for (size_t i = 0; i < MOST; i++) {
        slots[i] = fresh(pool);
        REQUIRE(slots[i] != NULL);
        REQUIRE_EQUAL(cpool_index(pool, slots[i]), i);
        REQUIRE_EQUAL(support_stats(pool).capacity, i < CAPACITY ? CAPACITY : i + 1);
        support_require_live(pool, i + 1);
    }
    REQUIRE(fresh(pool) == NULL);
    cpool_free(pool, slots[0]);
    REQUIRE(fresh(pool) == NULL); /* that one was handed out before */
    REQUIRE(cpool_alloc(pool) == slots[0]);
    for (size_t i = 0; i < MOST; i++)
        cpool_free(pool, slots[i]);
    support_require_live(pool, 0);
    support_destroy_empty(pool);
}

/* Several at once, but for pools that look at each slot. */
TEST_TIMES(fresh_slots_come_in_runs, MODES)
{
    cpool_t *pool = make_pool(modes[_i]);
    bool one = (modes[_i] & CPOOL_CHECKED) != 0;
    size_t n = MOST - 1;
    size_t taken;

    REQUIRE(cpool_client_take(pool, CPOOL_CLIENT_FRESH, &n) == cpool_at(pool, 0));
    REQUIRE_EQUAL(n, one ? 1 : MOST - 1);
    taken = n;
    n = MOST;
    REQUIRE(cpool_client_take(pool, CPOOL_CLIENT_FRESH, &n) == cpool_at(pool, taken));
    REQUIRE_EQUAL(n, 1);
    taken += n;
    REQUIRE_EQUAL(support_stats(pool).circulating, taken);
    support_require_live(pool, taken);
    while (taken > 0)
        cpool_free(pool, cpool_at(pool, --taken));
    support_destroy_empty(pool);
}

/* Each has room in a magazine when it comes back. */
TEST(fresh_slots_in_a_long_run_can_all_go_back)
{
    enum { MANY = 1 << 16 };
    cpool_t *pool = SUPPORT_CREATE(16, MANY, .magazine_rounds = 1);
    size_t n = MANY;

    REQUIRE(cpool_client_take(pool, CPOOL_CLIENT_FRESH, &n) == cpool_at(pool, 0));
    for (size_t i = 0; i < n; i++)
        cpool_free_uncached(pool, cpool_at(pool, i));
    support_destroy_empty(pool);
}

TEST_IN_CHILD(run_of_fresh_slots_is_shorter_where_memory_is_short)
{
    cpool_t *pool = support_create_plain(4096, 4096);
    size_t n = 2048;

    SKIP_IF(SUPPORT_SANITIZED, "sanitizers need memory of their own");
    support_limit_writable((size_t)4 << 20);
    REQUIRE(cpool_client_take(pool, CPOOL_CLIENT_FRESH, &n) == cpool_at(pool, 0));
    REQUIRE(n > 1 && n < 2048);
}

TEST(owner_is_found_by_the_face_and_the_kind)
{
    cpool_config_t config = support_config(32, CAPACITY);
    cpool_client_t client = { .size = sizeof client, .kind = CPOOL_VIEW_LANES, .name = "data" };
    cpool_t *plain = support_create_plain(32, CAPACITY);
    cpool_t *face;
    int data = 0;

    client.owner = &data;
    REQUIRE_EQUAL(cpool_client_create(&client, &config), 0);
    face = client.face;
    REQUIRE(face != client.pool && cpool_of(cpool_at(face, 0), NULL) == face);
    REQUIRE(cpool_client_owner(face, CPOOL_VIEW_LANES) == NULL);
    REQUIRE(support_find(CPOOL_VIEW_LANES, client.name) == NULL);
    cpool_client_show(&client, true);
    REQUIRE(cpool_client_owner(face, CPOOL_VIEW_LANES) == &data);
    REQUIRE(cpool_client_owner(face, CPOOL_VIEW_SIZED) == NULL);
    REQUIRE(cpool_client_owner(plain, CPOOL_VIEW_LANES) == NULL);
    REQUIRE(support_find(CPOOL_VIEW_LANES, client.name) == &data);
    REQUIRE(support_find(CPOOL_VIEW_SIZED, client.name) == NULL);
    cpool_client_show(&client, false);
    REQUIRE(cpool_client_owner(face, CPOOL_VIEW_LANES) == NULL);
    REQUIRE(support_find(CPOOL_VIEW_LANES, client.name) == NULL);
    support_destroy_empty(client.pool);
    REQUIRE(cpool_client_owner(face, CPOOL_VIEW_LANES) == NULL);
    support_destroy_empty(plain);
}

TEST(client_show_twice_keeps_those_behind)
{
    cpool_config_t config = support_config(32, CAPACITY);
    cpool_client_t clients[2];

    for (size_t i = 0; i < 2; i++) {
        clients[i] = (cpool_client_t){ .size = sizeof clients[i], .kind = CPOOL_VIEW_LANES,
                                       .owner = &clients[i], .name = i == 0 ? "a" : "b" };
        REQUIRE_EQUAL(cpool_client_create(&clients[i], &config), 0);
        cpool_client_show(&clients[i], true);
    }
    cpool_client_show(&clients[0], true);
    for (size_t i = 0; i < 2; i++)
        REQUIRE(support_find(CPOOL_VIEW_LANES, clients[i].name) == &clients[i]);
    for (size_t i = 0; i < 2; i++) {
        cpool_client_show(&clients[i], false);
        support_destroy_empty(clients[i].pool);
    }
}

TEST(discarded_slots_are_zero_and_their_neighbours_are_not)
{
    enum { MANY = 64, SIZE = 1024, FROM = 16, N = 32 };
    cpool_t *pool = support_create_kind(SIZE, MANY, CPOOL_NO_POISON);
    char *slots[MANY];
    size_t zero = 0;

    for (size_t i = 0; i < MANY; i++) {
        slots[i] = fresh(pool);
        REQUIRE(slots[i] != NULL);
        memset(slots[i], 7, SIZE);
    }
    REQUIRE(cpool_client_discard(pool, slots[FROM], N) <= (size_t)N * SIZE);
    for (size_t i = 0; i < MANY; i++) {
        bool inside = i >= FROM && i < FROM + N;

        REQUIRE(slots[i][0] == 7 || (inside && slots[i][0] == 0));
        REQUIRE(slots[i][SIZE - 1] == 7 || (inside && slots[i][SIZE - 1] == 0));
        zero += slots[i][0] == 0;
    }
    REQUIRE(zero > 0);
    support_require_live(pool, MANY);
    for (size_t i = 0; i < MANY; i++)
        cpool_free(pool, slots[i]);
    support_destroy_empty(pool);
}

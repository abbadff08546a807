/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_object_listed.c - leases with lists in a pool for more objects than a list can name.
 *
 * Such a pool takes 80 GiB of addresses, so the number is written into a small one.
 */
#include "support.h"

#include <cpool/object_lease.h>

#include "object/object.h"

static void deactivate(void *object, void *arg)
{
    (void)object;
    (void)arg;
}

static cpool_objects_t *make(bool listed)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;

    type.object_size = 64;
    type.deactivate = listed ? deactivate : NULL;
    config.type = &type;
    config.capacity = 10;
    REQUIRE_EQUAL(cpool_objects_create(&pool, &config), 0);
    return pool;
}

/* Whether a lease begins in a pool with so many objects.  The table is there already. */
static bool begins(cpool_objects_t *pool, size_t max)
{
    size_t real = pool->max;
    cpool_object_lease_t *lease;

    pool->max = max;
    lease = cpool_object_lease_begin(pool);
    pool->max = real;
    if (lease != NULL)
        REQUIRE_EQUAL(cpool_object_lease_end(lease), 0);
    return lease != NULL;
}

START_TEST(lease_of_more_objects_than_a_list_names_refused)
{
    cpool_objects_t *pool = make(_i > 0);

    REQUIRE(begins(pool, pool->max));
    REQUIRE(begins(pool, CPOOL_CAPACITY_MAX - 1));
    REQUIRE_EQUAL(begins(pool, CPOOL_CAPACITY_MAX), _i == 0);
    REQUIRE(begins(pool, pool->max));
    REQUIRE_EQUAL(cpool_objects_destroy(pool), 0);
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(lease_of_more_objects_than_a_list_names_refused, 2),
    };

    return SUPPORT_RUN("object_listed", tests);
}

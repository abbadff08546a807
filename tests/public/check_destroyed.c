/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_destroyed.c - handles that lead to no pool: every public function refuses and
 * reports them, and does nothing else.
 */
#include "support.h"

#include <cpool/lanes.h>
#include <cpool/priority.h>
#include <cpool/sized.h>

#include "../../ext/retire/tests/domains.h"
#include "misuse.h"

enum { SLOT_SIZE = 48, CAPACITY = 200 };

static const unsigned kinds[] = { 0, CPOOL_CHECKED };

static void require_none_wrong(const char *wrong)
{
    if (wrong != NULL)
        support_fail(__FILE__, __LINE__, wrong);
}

static void require_all_refused(struct misuse *misuse)
{
    require_none_wrong(misuse_out_of_line(misuse));
    require_none_wrong(misuse_inline(misuse));
}

static void *refused_elsewhere(void *misuse)
{
    require_all_refused(misuse);
    return NULL;
}

static struct misuse use_and_destroy(unsigned flags)
{
    struct misuse misuse;

    misuse.pool = support_create_kind(SLOT_SIZE, CAPACITY, flags);
    misuse.cache = NULL;
    misuse.slot = cpool_alloc(misuse.pool);
    cpool_free(misuse.pool, misuse.slot);
    support_destroy_empty(misuse.pool);
    return misuse;
}

/* By the thread that used it and had a cache of it, and by one that never did. */
TEST_TIMES(destroyed_pool_refused_by_every_function, SUPPORT_LENGTH(kinds))
{
    struct misuse misuse = use_and_destroy(kinds[_i]);
    cpool_t *next;

    require_all_refused(&misuse);
    support_in_thread(refused_elsewhere, &misuse);
    next = support_create_plain(SLOT_SIZE, CAPACITY);
    require_all_refused(&misuse);
    support_destroy_whole(next);
}

/* A handle is not soon that of another pool. */
TEST(destroyed_pool_refused_for_long)
{
    enum { POOLS = 250 };
    struct misuse misuse = use_and_destroy(0);
    cpool_t *last = NULL;

    for (int i = 0; i < POOLS; i++) {
        cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

        REQUIRE(pool != misuse.pool && pool != last);
        cpool_free(pool, cpool_alloc(pool));
        support_destroy_empty(pool);
        last = pool;
    }
    require_all_refused(&misuse);
}

static struct support_report report_of(const cpool_t *pool)
{
    support_capture_reports();
    REQUIRE_EQUAL(cpool_index_limit(pool), 0);
    return REQUIRE_REPORT(CPOOL_EPOOL);
}

TEST(report_says_what_is_wrong_with_the_handle)
{
    struct misuse misuse = use_and_destroy(0);
    struct support_report report;

    REQUIRE(strstr(report_of(NULL).text, "is NULL") != NULL);
    REQUIRE(strstr(report_of(NULL).text, "destroyed") == NULL);
    report = report_of(misuse.pool);
    REQUIRE(report.name[0] == '\0' && strstr(report.text, "destroyed (0") != NULL);
    support_release_reports();
}

TEST(pointer_that_is_no_handle_refused_by_every_function)
{
    static cpool_t own;
    struct misuse misuse = use_and_destroy(0);
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);
    void *slot = cpool_alloc(pool);
    cpool_t *const wrong[] = {
        &own,
        slot,
        (cpool_t *)64,
        (cpool_t *)UINTPTR_MAX,
        (cpool_t *)((uintptr_t)pool + 1),
        (cpool_t *)((uintptr_t)pool + sizeof(cpool_t) / 2),
        pool + 1,       /* of no pool yet */
        pool + 1000000, /* beyond them all */
        pool - 1000000,
    };

    own = *pool;
    misuse.slot = slot;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        misuse.pool = wrong[i];
        require_none_wrong(misuse_out_of_line(&misuse));
    }
    cpool_free(pool, slot);
    support_destroy_whole(pool);
}

/* One of each, and whether its functions refuse it. */
static struct {
    cpool_objects_t *objects;
    cpool_sized_t *blocks;
    cpool_lanes_t *lanes;
    cpool_domain_t *domain;
    cpool_reader_t *reader;
    void *slot;
} ended;

static size_t refusals;

static void count_refusal(const cpool_error_t *error, void *context)
{
    (void)context;
    refusals += error->code == CPOOL_EPOOL;
}

/* One report, and this result. */
#define REFUSED(call, result)                                                   \
    do {                                                                        \
        size_t before_ = refusals;                                              \
                                                                                \
        REQUIRE((call) == (result));                                            \
        REQUIRE_EQUAL(refusals, before_ + 1);                                   \
    } while (0)

static void make_structures(unsigned flags)
{
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_config_t objects = CPOOL_OBJECTS_CONFIG_INIT;
    cpool_sized_config_t blocks = CPOOL_SIZED_CONFIG_INIT;
    cpool_config_t slots = support_config(SLOT_SIZE, CAPACITY);
    cpool_lanes_config_t lanes = CPOOL_LANES_CONFIG_INIT;

    type.object_size = SLOT_SIZE;
    objects.type = &type;
    objects.capacity = CAPACITY;
    objects.flags = flags;
    blocks.class_bytes = 65536;
    REQUIRE_EQUAL(cpool_objects_create(&ended.objects, &objects), 0);
    REQUIRE_EQUAL(cpool_sized_create(&ended.blocks, &blocks), 0);
    lanes.slots = &slots;
    lanes.lanes = 2;
    REQUIRE_EQUAL(cpool_lanes_create(&ended.lanes, &lanes), 0);
    REQUIRE_EQUAL(domain_create(&ended.domain, 4, 8, 0), 0);
}

static void end_structures(void)
{
    REQUIRE_EQUAL(cpool_objects_destroy(ended.objects), 0);
    REQUIRE_EQUAL(cpool_sized_destroy(ended.blocks), 0);
    REQUIRE_EQUAL(cpool_lanes_destroy(ended.lanes), 0);
    REQUIRE_EQUAL(cpool_domain_destroy(ended.domain), 0);
}

/* Each is used before its end. */
static void use_and_end_structures(unsigned flags)
{
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

    make_structures(flags);
    ended.slot = cpool_object_get(ended.objects);
    cpool_object_put(ended.objects, ended.slot);
    cpool_sized_free(ended.blocks, cpool_sized_alloc(ended.blocks, 100));
    ended.slot = cpool_lane_alloc(ended.lanes, 1);
    cpool_lane_free(ended.lanes, 1, ended.slot);
    ended.reader = reader_in(ended.domain, 0);
    cpool_read_begin(ended.reader);
    REQUIRE_EQUAL(cpool_retire(ended.reader, pool, cpool_alloc(pool)), 0);
    cpool_read_end(ended.reader);
    end_structures();
    support_destroy_empty(pool);
}

static void require_objects_refused(void)
{
    cpool_objects_stats_t stats = CPOOL_OBJECTS_STATS_INIT;
    cpool_object_info_t info = CPOOL_OBJECT_INFO_INIT;
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    cpool_objects_t *pool = ended.objects;
    void *object = ended.slot;

    REFUSED(cpool_object_get(pool), NULL);
    REFUSED(cpool_object_get_with(pool, &object, NULL), CPOOL_EPOOL);
    REFUSED((cpool_object_put(pool, ended.slot), 0), 0);
    REFUSED(cpool_objects_resize(pool, 1, 0), 0);
    REFUSED(cpool_objects_resize(pool, -1, CPOOL_OBJECT_ACTIVE_TOO), 0);
    REFUSED(cpool_objects_populate(pool, 1, NULL), 0);
    REFUSED(cpool_objects_read_stats(pool, &stats), CPOOL_EPOOL);
    REFUSED(cpool_objects_next(pool, &info), NULL);
    REFUSED(cpool_objects_reset(pool, SIZE_MAX), 0);
    REQUIRE(cpool_objects_pool(pool) == NULL);
    REFUSED(cpool_objects_destroy(pool), CPOOL_EPOOL);
    grant.claim = (cpool_claim_t)1 << 32 | 1;
    REFUSED(cpool_object_get_with(pool, &object, &grant), CPOOL_EPOOL);
    REQUIRE_EQUAL(grant.claim, 0);
    REFUSED(cpool_priority_put(pool, (cpool_claim_t)1 << 32 | 1), CPOOL_EPOOL);
    REFUSED(cpool_priority_set(pool, (cpool_claim_t)1 << 32 | 1, 0), CPOOL_EPOOL);
}

static void require_blocks_refused(void)
{
    cpool_sized_class_t class = CPOOL_SIZED_CLASS_INIT;
    cpool_sized_stats_t stats = CPOOL_SIZED_STATS_INIT;
    cpool_sized_t *blocks = ended.blocks;

    REFUSED(cpool_sized_alloc(blocks, 0), NULL);
    REFUSED(cpool_sized_alloc(blocks, 100), NULL);
    REFUSED(cpool_sized_alloc_aligned(blocks, 0, 16), NULL);
    REFUSED(cpool_sized_calloc(blocks, 3, 100), NULL);
    REFUSED(cpool_sized_realloc(blocks, NULL, 100), NULL);
    REFUSED(cpool_sized_realloc(blocks, ended.slot, 100), NULL);
    REFUSED((cpool_sized_free(blocks, ended.slot), 0), 0);
    REFUSED(cpool_sized_usable_size(blocks, ended.slot), 0);
    REFUSED(cpool_sized_class_of(blocks, 0, &class), CPOOL_EPOOL);
    REFUSED(cpool_sized_read_stats(blocks, &stats), CPOOL_EPOOL);
    REFUSED(cpool_sized_trim(blocks), 0);
    REFUSED(cpool_sized_destroy(blocks), CPOOL_EPOOL);
}

static void require_lanes_refused(void)
{
    char state[16];

    REFUSED(cpool_lane_alloc(ended.lanes, 1), NULL);
    REFUSED((cpool_lane_free(ended.lanes, 1, ended.slot), 0), 0);
    REFUSED(cpool_lanes_balance(ended.lanes), 0);
    REFUSED(cpool_lanes_save(ended.lanes, state, sizeof state), CPOOL_EPOOL);
    REFUSED(cpool_lanes_load(ended.lanes, state, sizeof state), CPOOL_EPOOL);
    REQUIRE(cpool_lanes_pool(ended.lanes) == NULL);
    REFUSED(cpool_lanes_destroy(ended.lanes), CPOOL_EPOOL);
}

static void require_reader_refused(cpool_t *pool)
{
    cpool_reader_t *reader = ended.reader;
    void *slot = cpool_alloc(pool);

    for (int i = 0; i < 2; i++) {
        REFUSED((cpool_read_begin(reader), 0), 0);
        cpool_read_end(reader);
    }
    REFUSED(cpool_retire(reader, pool, slot), CPOOL_EPOOL);
    REFUSED(cpool_retire_flush(reader, 0), 0);
    REFUSED(cpool_retire_flush(reader, CPOOL_FLUSH_WAIT), 0);
    REFUSED((cpool_reader_destroy(reader), 0), 0);
    cpool_free(pool, slot);
}

static void require_domain_refused(void)
{
    cpool_domain_stats_t stats = CPOOL_DOMAIN_STATS_INIT;
    cpool_reader_t *reader;

    REFUSED(cpool_domain_read_stats(ended.domain, &stats), CPOOL_EPOOL);
    REFUSED(cpool_reader_create(&reader, ended.domain, 0), CPOOL_EPOOL);
    REFUSED(cpool_reader_create(&reader, ended.domain, CPOOL_READER_UNOWNED), CPOOL_EPOOL);
    REQUIRE(reader == NULL);
    REFUSED(cpool_domain_destroy(ended.domain), CPOOL_EPOOL);
}

static void *refuse_all_structures(void *pool)
{
    require_objects_refused();
    require_blocks_refused();
    require_lanes_refused();
    require_reader_refused(pool);
    require_domain_refused();
    return NULL;
}

/* By the thread that had used it, and by one that never did, and not as one that came later. */
TEST_TIMES(structure_refused_after_its_end_by_every_function, 4)
{
    enum { LATER = 40 };
    static const unsigned flags[] = {0, CPOOL_OBJECT_PRIORITY, CPOOL_OBJECT_FAKE,
                                     CPOOL_OBJECT_WAITABLE};
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);

    use_and_end_structures(flags[_i] | (_i == 3 ? CPOOL_CHECKED : 0));
    cpool_set_error_handler((cpool_error_handler_t){ count_refusal, NULL });
    refuse_all_structures(pool);
    support_in_thread(refuse_all_structures, pool);
    for (int i = 0; i < LATER; i++) {
        cpool_reader_t *reader = ended.reader;
        cpool_objects_t *objects = ended.objects;
        cpool_sized_t *blocks = ended.blocks;
        cpool_lanes_t *lanes = ended.lanes;
        cpool_domain_t *domain = ended.domain;

        use_and_end_structures(flags[_i]);
        REQUIRE(objects != ended.objects && blocks != ended.blocks && lanes != ended.lanes &&
                domain != ended.domain);
        ended.objects = objects;
        ended.blocks = blocks;
        ended.lanes = lanes;
        ended.domain = domain;
        ended.reader = reader;
    }
    refuse_all_structures(pool);
    support_destroy_empty(pool);
}

/* The domain lives.  While other readers are free, none is served by the stale handle. */
TEST(reader_refused_after_its_end)
{
    cpool_t *pool = support_create_plain(SLOT_SIZE, CAPACITY);
    cpool_reader_t *others[3];

    REQUIRE_EQUAL(domain_create(&ended.domain, 4, 8, 0), 0);
    ended.reader = reader_in(ended.domain, CPOOL_READER_UNOWNED);
    cpool_read_begin(ended.reader);
    cpool_read_end(ended.reader);
    REQUIRE_EQUAL(cpool_retire(ended.reader, pool, cpool_alloc(pool)), 0);
    REQUIRE_EQUAL(cpool_retire_flush(ended.reader, CPOOL_FLUSH_WAIT), 0);
    cpool_reader_destroy(ended.reader);
    cpool_set_error_handler((cpool_error_handler_t){ count_refusal, NULL });
    require_reader_refused(pool);
    for (int i = 0; i < 3; i++) {
        others[i] = reader_in(ended.domain, CPOOL_READER_UNOWNED);
        REQUIRE(others[i] != NULL && others[i] != ended.reader);
        cpool_read_begin(others[i]);
    }
    require_reader_refused(pool);
    for (int i = 0; i < 3; i++)
        cpool_read_end(others[i]);
    REQUIRE_EQUAL(cpool_domain_destroy(ended.domain), 0);
    support_destroy_empty(pool);
}

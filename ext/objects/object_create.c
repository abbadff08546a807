/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * object_create.c - making and destroying object pools, those that are created on first use, and
 * objects that find their pool.
 *
 * ORDERING TABLE
 *   alone | records, room, offered, while no other thread uses it | relaxed | - | -
 *   publish | typed pool's CAS, from none | release | find    | the pool
 *   find    | typed pool's load, CAS failure | acquire | publish | the pool
 *   close   | typed pool's CAS, to none   | acquire | publish | the pool
 *   told    | told exchange, store, ends load | relaxed | - | -
 */
#include "objects/object.h"

#include <stdlib.h>

#define CPI_OBJECT_FLAGS \
    (CPOOL_OBJECT_EAGER | CPOOL_OBJECT_COUNTED | CPOOL_OBJECT_TRACED | CPOOL_OBJECT_FAKE | \
     CPOOL_OBJECT_NO_DEACTIVATE | CPOOL_OBJECT_WAITABLE | CPOOL_OBJECT_PRIORITY | \
     CPOOL_OBJECT_KEEP_LARGER)

/* The most objects of a pool that grows by itself without a limit, and bytes of them. */
#define CPI_OBJECTS_MOST ((size_t)1 << (sizeof(size_t) > 4 ? 24 : 18))
#define CPI_OBJECTS_BYTES ((size_t)1 << (sizeof(size_t) > 4 ? 36 : 28))

/* --- From a configuration --- */

static int read_config(cpool_objects_config_t *config, cpool_object_type_t *type,
                       const cpool_objects_config_t *given)
{
    unsigned refused;
    int code;

    if (given == NULL)
        return CPOOL_ENULL;
    code = cpi_given_read(config, sizeof *config, given);
    if (code != 0)
        return code;
    if (config->type == NULL)
        return CPOOL_ENULL;
    code = cpi_given_read(type, sizeof *type, config->type);
    if (code != 0)
        return code;
    if (type->object_size == 0)
        return CPOOL_ESLOTSIZE;
    if (type->object_align != 0 && ((type->object_align & (type->object_align - 1)) != 0 ||
                                    type->object_align > CPOOL_ALIGN_MAX))
        return CPOOL_EALIGN; /* a fake pool makes no pool of slots that would look at it */
    /* Nobody waits in a pool that takes objects back. */
    refused = CPOOL_CLIENT_RESERVED | ((config->flags & CPOOL_OBJECT_PRIORITY) != 0
                                           ? CPOOL_OBJECT_WAITABLE
                                           : CPOOL_OBJECT_KEEP_LARGER);
    if ((config->flags & refused) != 0)
        return CPOOL_EFLAGS;
    return 0;
}

/* Where the user sets no limit. */
static size_t default_max(const cpool_objects_config_t *config, size_t object_size)
{
    size_t max = CPI_OBJECTS_MOST;

    if (config->growth == 0)
        return config->capacity;
    if (max > CPI_OBJECTS_BYTES / object_size)
        max = CPI_OBJECTS_BYTES / object_size;
    if (max < config->capacity)
        max = config->capacity;
    return max > 0 ? max : 1;
}

/* With the objects that it is to be populated with. */
static int check_numbers(cpool_objects_config_t *config)
{
    if (config->capacity > CPOOL_CAPACITY_MAX || config->max_capacity > CPOOL_CAPACITY_MAX ||
        (config->max_capacity != 0 && config->max_capacity < config->capacity) ||
        (config->capacity == 0 && config->max_capacity == 0 && config->growth == 0))
        return CPOOL_ECAPACITY;
    if (config->populate > config->capacity)
        config->populate = config->capacity;
    return config->max_inactive != 0 && config->populate > config->max_inactive ? CPOOL_ECAPACITY
                                                                                : 0;
}

static void copy_settings(cpool_objects_t *pool, const cpool_objects_config_t *config,
                          const cpool_object_type_t *type)
{
    pool->type = *type;
    pool->reset = config->reset;
    pool->reset_arg = config->reset_arg;
    pool->growth = config->growth;
    pool->max_inactive = config->max_inactive;
    pool->flags = config->flags;
    if ((config->flags & CPOOL_OBJECT_PRIORITY) != 0)
        pool->flags |= CPOOL_OBJECT_COUNTED;
    if (type->reset != NULL || config->reset != NULL)
        pool->resets = (config->flags & CPOOL_OBJECT_EAGER) != 0 ? CPI_RESET_ON_PUT
                                                                 : CPI_RESET_ON_GET;
    pool->align = type->object_align != 0 ? type->object_align : _Alignof(max_align_t);
    if (pool->align < sizeof(void *))
        pool->align = sizeof(void *);
    pool->client = (cpool_client_t){.size = sizeof pool->client, .kind = CPOOL_VIEW_OBJECTS,
                                    .owner = pool, .name = pool->name};
    cpi_name_copy(pool->name, sizeof pool->name, config->name);
    cpi_store(&pool->room, CPI_ROOM(config->capacity, 0), relaxed); /* [alone] */
}

/* Once the pool of slots is known, which may be checked by CPOOL_OPTIONS. */
static void choose_ways(cpool_objects_t *pool)
{
    pool->forks = cpi_objects_forks(pool);
    pool->face = cpi_object_is_fake(pool) ? NULL : pool->client.face;
    pool->flags = (pool->flags & ~CPOOL_CHECKED) | (pool->client.flags & CPOOL_CHECKED);
    pool->short_get = pool->client.none;
    pool->slots = cpi_object_is_fake(pool) ? pool->client.none : pool->pool;
    if (cpi_object_is_fake(pool) || (pool->flags & CPOOL_OBJECT_COUNTED) != 0 ||
        pool->max_inactive != 0 || !pool->client.direct)
        return;
    pool->short_put = pool->max;
    if (pool->traces == NULL)
        pool->short_get = pool->pool;
    if (pool->resets != CPI_RESET_ON_GET && pool->type.activate == NULL)
        pool->brief_get = CPI_OBJECT_INACTIVE;
    if (pool->resets != CPI_RESET_ON_PUT && pool->type.deactivate == NULL)
        pool->brief_put = pool->max;
}

/* --- Memory --- */

static void free_tables(cpool_objects_t *pool)
{
    free(pool->blocks);
    free(pool->traces);
    free(pool->vacancy);
    free(pool->records_block);
    cpi_priority_close(pool);
}

static int make_tables(cpool_objects_t *pool, bool traced)
{
    pool->records_block = calloc(pool->max + CPI_STRETCH, sizeof *pool->records);
    pool->records = (void *)(((uintptr_t)pool->records_block / CPI_LINE + 1) * CPI_LINE);
    pool->vacancy = calloc(pool->max / 64 + 1, sizeof *pool->vacancy);
    if (traced)
        pool->traces = calloc(pool->max, sizeof *pool->traces);
    if (cpi_object_is_fake(pool))
        pool->blocks = calloc(pool->max, sizeof *pool->blocks);
    if (pool->records_block != NULL && pool->vacancy != NULL &&
        (!traced || pool->traces != NULL) && (!cpi_object_is_fake(pool) || pool->blocks != NULL))
        return 0;
    return CPOOL_ENOMEM;
}

/* A fake pool has a key alone, but refuses the settings that a pool of slots would. */
static int make_no_slots(cpool_client_t *client, cpool_config_t *slots)
{
    cpool_t *none;

    slots->slot_size = slots->slot_align = slots->capacity = 1;
    if (cpool_memory_required(slots) == 0)
        return cpool_create(&none, slots);
    return cpool_client_create(client, NULL);
}

/*
 * The pool of slots.  It is laid out for all objects that there may ever be, and its capacity is
 * lowered before the first alloc, so that it has only slots that the object pool has claimed.
 */
static int make_slots(cpool_objects_t *pool, const cpool_objects_config_t *config)
{
    cpool_config_t slots = CPOOL_CONFIG_INIT;
    int code;

    slots.name = config->name;
    slots.slot_size = pool->type.object_size;
    slots.slot_align = pool->type.object_align;
    slots.capacity = pool->max;
    slots.thread_caches = config->thread_caches;
    slots.flags = (config->flags & ~CPI_OBJECT_FLAGS) | CPOOL_NO_POISON;
    if (cpi_object_is_fake(pool))
        return make_no_slots(&pool->client, &slots);
    code = cpool_client_create(&pool->client, &slots);
    pool->pool = pool->client.pool;
    if (code != 0)
        return code;
    cpool_shrink(pool->pool, pool->max - 1);
    return cpi_object_claim(pool) ? 0 : CPOOL_ENOMEM; /* with the one that it has at first */
}

static int make_for(cpool_objects_t *pool, const cpool_objects_config_t *config, size_t max)
{
    int code;

    pool->max = max;
    code = make_tables(pool, (config->flags & CPOOL_OBJECT_TRACED) != 0);
    if (code == 0 && (config->flags & CPOOL_OBJECT_PRIORITY) != 0)
        code = cpi_priority_open(pool);
    if (code == 0)
        code = make_slots(pool, config);
    if (code == 0)
        return 0;
    cpool_destroy(pool->pool);
    pool->pool = NULL;
    free_tables(pool);
    return code;
}

/* Where the user sets no limit there are as many as the system has room for. */
static int make_memory(cpool_objects_t *pool, const cpool_objects_config_t *config)
{
    size_t max = config->max_capacity;
    int code;

    if (max != 0)
        return make_for(pool, config, max);
    max = default_max(config, pool->type.object_size);
    do {
        code = make_for(pool, config, max);
        max /= 2;
    } while ((code == CPOOL_ENOMEM || code == CPOOL_ECAPACITY) && max > config->capacity);
    return code;
}

/* A fake pool has figures of its own. */
static void show(cpool_objects_t *pool)
{
    pool->client.figures = cpi_object_correct_figures;
    if (cpi_object_is_fake(pool)) {
        pool->client.figures = cpi_object_fake_figures;
        pool->client.sums = true;
        cpi_object_fake_count(1);
    }
    cpool_client_show(&pool->client, true);
}

/* A pool without objects, and how many it is to be populated with. */
static int make_empty(cpool_objects_t **result, const cpool_objects_config_t *given,
                      size_t *populate)
{
    cpool_objects_config_t config;
    cpool_object_type_t type;
    cpool_objects_t *pool;
    int code = read_config(&config, &type, given);

    if (code == 0)
        code = check_numbers(&config);
    if (code != 0)
        return code;
    pool = cpool_client_memory(sizeof *pool, 0);
    if (pool == NULL)
        return CPOOL_ENOMEM;
    copy_settings(pool, &config, &type);
    code = make_memory(pool, &config);
    if (code != 0) {
        cpool_client_release(pool, sizeof *pool, 0, NULL);
        return code;
    }
    choose_ways(pool);
    show(pool);
    *populate = config.populate;
    *result = pool;
    return 0;
}

int cpool_objects_create(cpool_objects_t **pool, const cpool_objects_config_t *config)
{
    size_t populate;
    int code;

    if (pool == NULL)
        return CPOOL_ENULL;
    *pool = NULL;
    code = make_empty(pool, config, &populate);
    if (code != 0)
        return code;
    cpool_objects_populate(*pool, populate, &code);
    if (code == 0)
        return 0;
    cpool_objects_destroy(*pool);
    *pool = NULL;
    return code;
}

/* The objects that an end finds out of their places. */
struct remains {
    size_t active;
    size_t busy; /* in the hands of a thread that has left a hook, or vanished in a fork */
};

/* In the child of a fork: of so many inactive objects, those that are not in the pool of slots.
 * A thread vanished between the record of its put and the slot's way back. */
static size_t count_lost(const cpool_objects_t *pool, size_t inactive)
{
    size_t offered = (size_t)cpi_load(&pool->offered, relaxed); /* [alone] */
    size_t found = pool->forks != cpi_objects_forks(pool) ? cpi_object_in_pool(pool) : SIZE_MAX;

    return inactive + offered > found ? inactive + offered - found : 0;
}

/* Destroys what there is. */
static struct remains end_objects(cpool_objects_t *pool)
{
    uintptr_t reached = cpi_object_reached(pool);
    struct remains remains = {cpi_object_frames_end(pool), 0};
    size_t inactive = 0;

    for (uintptr_t index = 0; index < reached; index++) {
        uint32_t state = cpi_load(&pool->records[index], relaxed) & CPI_OBJECT_STATES; /* [alone] */

        if (state == CPI_OBJECT_ACTIVE && cpi_object_seize(pool, index)) {
            remains.active++;
            cpi_object_end(pool, index);
        } else if (state == CPI_OBJECT_BUSY) {
            remains.busy++;
        } else if (state != CPI_OBJECT_VACANT) {
            cpi_object_unmake(pool, index);
            inactive++;
        }
        if (cpi_object_is_fake(pool) && state != CPI_OBJECT_VACANT)
            cpi_object_fake_close(pool, index);
    }
    if (!cpi_object_is_fake(pool))
        remains.active += count_lost(pool, inactive);
    return remains;
}

int cpool_objects_destroy(cpool_objects_t *pool)
{
    struct remains remains;
    bool hook_left;
    int code = 0;

    if (pool == NULL)
        return 0;
    if (CPI_ENDED(pool))
        return CPOOL_EPOOL;
    remains = end_objects(pool);
    /* In the child of a fork, busy objects may be those of threads that vanished. */
    hook_left = remains.busy > 0 && pool->forks == cpi_objects_forks(pool);
    if (hook_left)
        cpi_object_report(CPOOL_EHOOK, "cpool_objects_destroy", pool, NULL);
    cpool_client_show(&pool->client, false);
    if (cpi_object_is_fake(pool)) {
        cpi_object_fake_count(SIZE_MAX);
    } else { /* the slots that the object pool has in hand go back first: they are no leaks */
        cpool_reset(pool->pool);
        code = cpool_destroy(pool->pool);
    }
    free_tables(pool);
    /* The inline parts of a later get or put find no slot and no object, and go on at length. */
    pool->face = NULL;
    pool->slots = pool->client.none;
    pool->short_get = pool->client.none;
    pool->brief_get = 0;
    pool->short_put = pool->brief_put = 0;
    cpool_client_release(pool, sizeof *pool, 0, &pool->ended);
    if (hook_left)
        return CPOOL_EHOOK;
    return remains.active + remains.busy > 0 ? CPOOL_ELIVE : code;
}

/* --- Typed pools.  Several threads may create one at once.  The pools of all but one are
 * destroyed, and as none of them has objects yet, no hook runs for them. --- */

/* The settings given or of the definition, with its type and name where they have none. */
static int settle(const struct cpool_objects_typed *typed, const cpool_objects_config_t *given,
                  cpool_objects_config_t *config)
{
    int code = cpi_given_read(config, sizeof *config, given != NULL ? given : typed->settings);

    if (code != 0)
        return code;
    if (config->name == NULL)
        config->name = typed->name;
    if (config->type == NULL)
        config->type = typed->type;
    else if (config->type->object_size != typed->type->object_size)
        return CPOOL_ESLOTSIZE;
    return 0;
}

static int open_typed(struct cpool_objects_typed *typed, const cpool_objects_config_t *given)
{
    cpool_objects_t *pool, *none = NULL;
    cpool_objects_config_t config;
    size_t populate;
    int code;

    if (cpi_word_load(&typed->pool, acquire) != NULL) /* [find] */
        return given != NULL ? CPOOL_EOPEN : 0;
    code = settle(typed, given, &config);
    if (code != 0)
        return code;
    code = make_empty(&pool, &config, &populate);
    if (code != 0)
        return code;
    if (!cpi_word_cas(&typed->pool, &none, pool, release, acquire)) { /* [publish] [find] */
        cpool_objects_destroy(pool);
        return given != NULL ? CPOOL_EOPEN : 0;
    }
    cpi_word_store(&typed->told, 0, relaxed); /* [told] */
    cpool_objects_populate(pool, populate, NULL);
    return 0;
}

CPI_COLD static void report_unmade(const char *name, int code)
{
    char function[64] = "";
    cpool_error_t error = {.code = code, .function = function, .name = name};

    if (code == CPOOL_ECOPIES)
        return; /* the program could not help it, and cpool_create has told */
    strncat(strncat(function, name, sizeof function - 6), "_open", 6);
    cpool_client_report(
        &error, "%s: on its first use the typed pool '%s' cannot be made, so it gives NULL: %s",
        function, name, cpool_strerror(code));
}

cpool_objects_t *cpool_typed_objects_open_abi1(struct cpool_objects_typed *typed,
                                               const cpool_objects_config_t *given, int *told)
{
    int code = open_typed(typed, given);

    if (told != NULL)
        *told = code;
    else if (code != 0 && cpi_word_exchange(&typed->told, 1, relaxed) == 0) /* [told] */
        report_unmade(typed->name, code);
    return code == 0 ? cpi_word_load(&typed->pool, acquire) : NULL; /* [find] */
}

int cpool_typed_objects_close_abi1(struct cpool_objects_typed *typed, bool unloading)
{
    cpool_objects_t *pool = cpi_word_load(&typed->pool, acquire); /* [find] */

    if (unloading && pool != NULL &&
        cpi_word_load(pool->client.system->ends, relaxed) != 0) /* [told] */
        return 0;
    while (pool != NULL &&
           !cpi_word_cas(&typed->pool, &pool, NULL, acquire, acquire)); /* [close] [find] */
    return cpool_objects_destroy(pool);
}

/* --- Objects that find their pool --- */

void cpool_object_release(void *object)
{
    void *slot = NULL;
    cpool_t *slots = cpool_of(object, &slot);
    cpool_objects_t *pool = slots != NULL ? cpool_client_owner(slots, CPOOL_VIEW_OBJECTS) : NULL;

    if (pool == NULL && slot != object)
        pool = cpi_object_fake_pool(object);
    if (pool != NULL)
        cpool_object_put(pool, object);
    else if (object != NULL)
        cpi_object_report(CPOOL_EFOREIGN, "cpool_object_release", NULL, object);
}

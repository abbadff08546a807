/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_fault_create.c - what the functions that make and end pools return when the system
 * refuses one of their calls.
 */
#include "fault_pool.h"

#include <sys/mman.h>

#include <cpool/client.h>

/* --- cpool_create --- */

static int create_as(struct fault_scene *scene, const cpool_config_t *config)
{
    int code = cpool_create(&scene->pool, config);

    REQUIRE((code == 0) == (scene->pool != NULL));
    return code;
}

static int create(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    return create_as(scene, &config);
}

static int create_growable(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    config.max_capacity = FAULT_MOST;
    return create_as(scene, &config);
}

static void have_memory(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    scene->count = cpool_memory_required(&config);
    scene->memory = mmap(NULL, scene->count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                         -1, 0);
    REQUIRE(scene->memory != MAP_FAILED);
}

static void have_addresses(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    config.flags |= CPOOL_CLIENT_RESERVED;
    scene->count = cpool_memory_required(&config);
    scene->memory = mmap(NULL, scene->count, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(scene->memory != MAP_FAILED);
}

static int create_in_addresses(struct fault_scene *scene)
{
    static cpool_client_t client;
    cpool_config_t config = fault_config(scene);
    int code;

    config.memory = scene->memory;
    config.memory_size = scene->count;
    config.flags |= CPOOL_CLIENT_RESERVED;
    client = (cpool_client_t){ .size = sizeof client };
    code = cpool_client_create(&client, &config);
    scene->pool = client.pool;
    REQUIRE((code == 0) == (scene->pool != NULL));
    return code;
}

static int create_there(struct fault_scene *scene)
{
    cpool_config_t config = fault_config(scene);

    config.memory = scene->memory;
    config.memory_size = scene->count;
    return create_as(scene, &config);
}

static void end_there(struct fault_scene *scene)
{
    size_t size = scene->count;

    scene->count = 0;
    fault_end(scene);
    munmap(scene->memory, size);
}

static const struct fault_case creations[] = {
    { "cpool_create, first", 0, NULL, create, fault_end, 0,
      ROWS(FIRST_POOL(CPOOL_ENOMEM, 0, CPOOL_ENOMEM),
           { MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 3, 3, 0, 0 },
           { MUNMAP, 1, 1, 0, 0 }) },
    { "cpool_create, later", 0, fault_start, create, fault_end, 0,
      ROWS({ MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_create, growable", 0, fault_start, create_growable, fault_end, 0,
      ROWS({ MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_create, tracked", CPOOL_TRACKED, fault_start, create, fault_end, 0,
      ROWS({ MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_create, checked", CPOOL_CHECKED, fault_start, create, fault_end, 0,
      ROWS({ MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_create, resident", CPOOL_RESIDENT, fault_start, create, fault_end, 0,
      ROWS({ MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MPROTECT, 2, 3, 0, CPOOL_ENOMEM },
           { MADVISE, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_create, coloured", CPOOL_COLOUR, fault_start, create, fault_end, 0,
      ROWS({ MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM }) },
    { "cpool_create, huge pages", CPOOL_HUGE_PAGES, fault_start, create, fault_end, 0,
      ROWS({ OPEN, 1, 1, 0, CPOOL_ENOMEM },
           { READ, 1, 2, 0, CPOOL_ENOMEM },
           { MMAP, 1, 1, 0, CPOOL_ENOMEM },
           { MUNMAP, 1, 2, 0, CPOOL_ENOMEM },
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MADVISE, 1, 1, 0, 0 }) },
    { "cpool_create, in memory", 0, have_memory, create_there, end_there, 0,
      ROWS(FIRST_POOL(CPOOL_ENOMEM, 0, CPOOL_ENOMEM),
           { MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, 0, 0 },
           { MUNMAP, 1, 1, 0, 0 }) },
    { "cpool_client_create, reserved", 0, have_addresses, create_in_addresses, end_there, 0,
      ROWS(FIRST_POOL(CPOOL_ENOMEM, 0, CPOOL_ENOMEM),
           { MPROTECT, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 1, 1, CPOOL_ENOMEM, CPOOL_ENOMEM },
           { MMAP, 2, 2, 0, 0 },
           { MUNMAP, 1, 1, 0, 0 }) },
};

TEST_FAULTS(refused_creation_has_its_code, creations)

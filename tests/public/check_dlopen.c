/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_dlopen.c - plug-ins that use the library: loaded, unloaded while threads
 * that used them live on, and loaded again.
 *
 * Calls nothing of the library itself, so that it goes with the plug-in.
 * MODULE_SHARED and MODULE_STATIC are the plug-ins' paths, LIBRARY that of the
 * shared library.
 */
#include "support.h"

#include <dlfcn.h>
#include <sched.h>
#include <unistd.h>

#include "module.h"

enum { THREADS = 4 };

static const char *const paths[] = { MODULE_SHARED, MODULE_STATIC };

/* A plug-in while it is loaded. */
struct module {
    void *handle;
    int (*open)(void);
    size_t (*work)(size_t count);
    size_t (*typed)(size_t count);
    size_t (*cached)(void);
    int (*close)(void);
};

/* A function's address, as ISO C knows no conversion from an object's. */
static void find(void *handle, const char *name, void *function)
{
    void *address = dlsym(handle, name);

    REQUIRE(address != NULL);
    memcpy(function, &address, sizeof(address));
}

static struct module load(const char *path)
{
    struct module module;

    module.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module.handle == NULL)
        support_fail(__FILE__, __LINE__, dlerror());
    find(module.handle, "module_open", &module.open);
    find(module.handle, "module_work", &module.work);
    find(module.handle, "module_typed", &module.typed);
    find(module.handle, "module_cached", &module.cached);
    find(module.handle, "module_close", &module.close);
    return module;
}

static void unload(struct module *module)
{
    REQUIRE_EQUAL(dlclose(module->handle), 0);
}

static void *work_and_end(void *module)
{
    REQUIRE_EQUAL(((struct module *)module)->work(200), 200);
    return NULL;
}

TEST_TIMES(unload_after_use_and_load_again_works, 2)
{
    size_t space = 0;
    const bool had_options = getenv("CPOOL_OPTIONS") != NULL;

    REQUIRE_EQUAL(setenv("CPOOL_OPTIONS", "keep_pages", 0), 0); /* its text goes, too */
    for (size_t round = 0; round < SUPPORT_COUNT(50, 20); round++) {
        struct module module = load(paths[_i]);

        REQUIRE_EQUAL(module.open(), 0);
        (void)work_and_end(&module);
        support_in_thread(work_and_end, &module);
        REQUIRE_EQUAL(module.close(), 0);
        unload(&module);
        if (round == 10)
            space = support_address_space();
    }
    REQUIRE(SUPPORT_SANITIZED || support_address_space() == space);
    if (!had_options)
        REQUIRE_EQUAL(unsetenv("CPOOL_OPTIONS"), 0);
}

/* Threads with a cache, waiting, while the plug-in goes. */
struct crew {
    struct module module;
    struct support_door loaded;   /* they have used it */
    struct support_door unloaded; /* it is gone, and perhaps here again */
    bool again;                   /* they use it once more */
};

static void *outlive(void *argument)
{
    struct crew *crew = argument;

    REQUIRE(crew->module.work(100) == 100);
    support_door_wait(&crew->loaded);
    support_door_wait(&crew->unloaded);
    if (crew->again)
        REQUIRE(crew->module.work(100) == 100);
    return NULL;
}

/* The actions on the plug-in while the threads wait. */
typedef void change_t(struct crew *crew, const char *path);

static void unload_closed(struct crew *crew, const char *path)
{
    (void)path;
    REQUIRE_EQUAL(crew->module.close(), 0);
    unload(&crew->module);
}

static void reload(struct crew *crew, const char *path)
{
    unload_closed(crew, path);
    crew->module = load(path);
    REQUIRE_EQUAL(crew->module.open(), 0);
    crew->again = true;
}

static void require_outlived(const char *path, change_t *change)
{
    struct crew crew;
    pthread_t threads[THREADS];

    crew.module = load(path);
    crew.again = false;
    support_door_init(&crew.loaded);
    support_door_init(&crew.unloaded);
    REQUIRE_EQUAL(crew.module.open(), 0);
    for (int i = 0; i < THREADS; i++)
        threads[i] = support_start(outlive, &crew);
    support_door_await(&crew.loaded, THREADS);
    support_door_open(&crew.loaded);
    support_door_await(&crew.unloaded, THREADS);
    change(&crew, path);
    support_door_open(&crew.unloaded);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    if (crew.again) {
        REQUIRE_EQUAL(crew.module.cached(), 0);
        REQUIRE_EQUAL(crew.module.close(), 0);
        unload(&crew.module);
    }
}

TEST_TIMES(end_thread_after_unload_does_no_harm, 2)
{
    for (int round = 0; round < 10; round++)
        require_outlived(paths[_i], unload_closed);
}

struct visitors {
    struct module module;
    pthread_barrier_t turn;
    size_t rounds;
};

static void *visit(void *argument)
{
    struct visitors *visitors = argument;

    for (size_t round = 0; round < visitors->rounds; round++) {
        pthread_barrier_wait(&visitors->turn); /* it is loaded */
        REQUIRE_EQUAL(visitors->module.work(100), 100);
        pthread_barrier_wait(&visitors->turn);
    }
    pthread_barrier_wait(&visitors->turn); /* it is unloaded for the last time */
    return NULL;
}

/* Of each load nothing stays with threads that have used it and live on.  None of them ends
 * while the module is being unloaded: its end could be running the module's code. */
TEST_TIMES(unload_beside_living_threads_leaves_nothing_of_theirs, 2)
{
    struct visitors visitors = { .rounds = SUPPORT_COUNT(60, 30) };
    pthread_t threads[THREADS];
    size_t resident = 0;
    size_t space = 0;

    REQUIRE_EQUAL(pthread_barrier_init(&visitors.turn, NULL, THREADS + 1), 0);
    for (int i = 0; i < THREADS; i++)
        threads[i] = support_start(visit, &visitors);
    for (size_t round = 0; round < visitors.rounds; round++) {
        visitors.module = load(paths[_i]);
        REQUIRE_EQUAL(visitors.module.open(), 0);
        pthread_barrier_wait(&visitors.turn);
        pthread_barrier_wait(&visitors.turn);
        REQUIRE_EQUAL(visitors.module.close(), 0);
        unload(&visitors.module);
        if (round == visitors.rounds / 2) {
            space = support_address_space();
            resident = support_resident();
        }
    }
    REQUIRE(SUPPORT_SANITIZED || support_address_space() == space);
    REQUIRE(SUPPORT_SANITIZED || support_resident() < resident + visitors.rounds * 4096);
    pthread_barrier_wait(&visitors.turn);
    for (int i = 0; i < THREADS; i++)
        support_join(threads[i]);
    pthread_barrier_destroy(&visitors.turn);
}

TEST_TIMES(use_by_old_thread_after_load_again_works, 2)
{
    for (int round = 0; round < 10; round++)
        require_outlived(paths[_i], reload);
}

static void *outlive_typed(void *argument)
{
    struct crew *crew = argument;

    REQUIRE_EQUAL(crew->module.typed(100), 100);
    support_door_wait(&crew->loaded);
    support_door_wait(&crew->unloaded);
    REQUIRE_EQUAL(crew->module.typed(100), 100);
    return NULL;
}

/* Unloading closes the typed pool, while threads with caches of it wait, one of which
 * uses the plug-in when it is here again.  Their ends look at nothing that is gone. */
TEST_TIMES(unload_closes_typed_pool_of_living_threads, 2)
{
    for (int round = 0; round < 10; round++) {
        struct crew crew = { .module = load(paths[_i]) };
        pthread_t threads[THREADS];

        support_door_init(&crew.loaded);
        support_door_init(&crew.unloaded);
        for (int i = 0; i < THREADS; i++)
            threads[i] = support_start(outlive_typed, &crew);
        support_door_await(&crew.loaded, THREADS);
        support_door_open(&crew.loaded);
        support_door_await(&crew.unloaded, THREADS);
        REQUIRE_EQUAL(crew.module.typed(1000), 1000);
        unload(&crew.module);
        crew.module = load(paths[_i]);
        support_door_open(&crew.unloaded);
        for (int i = 0; i < THREADS; i++)
            support_join(threads[i]);
        REQUIRE_EQUAL(crew.module.typed(1000), 1000);
        unload(&crew.module);
    }
}

/* Its addresses are what is there to see: nobody else closes the pool. */
TEST_TIMES(unload_leaves_nothing_of_a_typed_pool, 2)
{
    size_t space = 0;

    for (size_t round = 0; round < SUPPORT_COUNT(30, 15); round++) {
        struct module module = load(paths[_i]);

        REQUIRE_EQUAL(module.typed(1000), 1000);
        unload(&module);
        if (round == 10)
            space = support_address_space();
    }
    REQUIRE(SUPPORT_SANITIZED || support_address_space() == space);
}

/* Two plug-ins with a pool of the same name have two pools. */
TEST(typed_pools_of_one_name_are_two)
{
    struct module one = load(paths[0]);
    struct module two = load(paths[1]);

    for (int round = 0; round < 10; round++) {
        REQUIRE_EQUAL(one.typed(1000), 1000);
        REQUIRE_EQUAL(two.typed(1000), 1000);
    }
    unload(&one);
    REQUIRE_EQUAL(two.typed(1000), 1000);
    unload(&two);
}

static void do_nothing(void *unused)
{
    (void)unused;
}

static void load_in_child(void *path)
{
    struct module module = load(path);

    REQUIRE_EQUAL(module.open(), 0);
    REQUIRE_EQUAL(module.work(1000), 1000);
    REQUIRE_EQUAL(module.close(), 0);
    unload(&module);
}

/* No fork handler of what was unloaded is left. */
TEST_TIMES(fork_after_unload_does_no_harm, 2)
{
    for (int round = 0; round < 5; round++) {
        load_in_child((void *)(uintptr_t)paths[_i]);
        support_in_child(do_nothing, NULL);
        support_in_child(load_in_child, (void *)(uintptr_t)paths[_i]);
    }
}

static void work_in_child(void *argument)
{
    struct module *module = argument;

    REQUIRE_EQUAL(module->work(1000), 1000);
    REQUIRE_EQUAL(module->close(), 0);
    unload(module);
}

TEST_TIMES(fork_while_loaded_child_works_and_unloads, 2)
{
    struct module module = load(paths[_i]);

    REQUIRE_EQUAL(module.open(), 0);
    (void)work_and_end(&module);
    support_in_child(work_in_child, &module);
    (void)work_and_end(&module);
    REQUIRE_EQUAL(module.close(), 0);
    unload(&module);
}

/* A host that uses a plug-in's typed pool by its handle, and the library by name. */
struct host {
    struct module module;
    cpool_t *turns;
    pthread_t sleeper;
    bool sleeps; /* a thread waits for the slot when the plug-in goes */
    void *slot;
    void *(*alloc)(cpool_t *);
    void *(*alloc_wait)(cpool_t *, const struct timespec *);
    void *(*alloc_or_notify)(cpool_t *);
    void (*give)(cpool_t *, void *);
    int (*stats)(cpool_t *, cpool_stats_t *);
    int (*destroy)(cpool_t *);
};

static struct host host;

static uint64_t waits(void)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    REQUIRE_EQUAL(host.stats(host.turns, &stats), 0);
    return stats.waits;
}

static void *sleep_once(void *unused)
{
    void *slot = host.alloc_wait(host.turns, NULL);

    (void)unused;
    REQUIRE(slot != NULL);
    host.give(host.turns, slot);
    return NULL;
}

static void unload_and_wait(void)
{
    unload(&host.module);
    REQUIRE(dlopen(MODULE_SHARED, RTLD_NOW | RTLD_NOLOAD) == NULL);
    if (!host.sleeps)
        REQUIRE(host.alloc_or_notify(host.turns) == NULL);
    host.give(host.turns, host.slot);
    if (host.sleeps)
        support_join(host.sleeper);
    host.slot = host.alloc(host.turns);
    REQUIRE(host.slot != NULL);
    host.give(host.turns, host.slot);
    REQUIRE_EQUAL(host.destroy(host.turns), 0);
}

static void exit_with_typed_pool(void *sleeps)
{
    void *(*turns)(void);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

    REQUIRE_EQUAL(atexit(unload_and_wait), 0);
    REQUIRE(library != NULL);
    find(library, "cpool_alloc", &host.alloc);
    find(library, "cpool_alloc_wait", &host.alloc_wait);
    find(library, "cpool_alloc_or_notify", &host.alloc_or_notify);
    find(library, "cpool_free", &host.give);
    find(library, "cpool_read_stats", &host.stats);
    find(library, "cpool_destroy", &host.destroy);
    host.module = load(MODULE_SHARED);
    find(host.module.handle, "module_turns", &turns);
    host.turns = turns();
    host.slot = host.alloc(host.turns);
    host.sleeps = sleeps != NULL;
    REQUIRE(host.slot != NULL);
    if (host.sleeps) {
        host.sleeper = support_start(sleep_once, NULL);
        while (waits() == 0)
            sched_yield();
    }
    exit(EXIT_SUCCESS);
}

/* Before the library's own handler, whose turn it is first, the pool would be closed.  Later it
 * stays, for threads may use it until the process ends.  The plug-in's memory does not. */
TEST_TIMES(unload_by_a_late_exit_handler_leaves_the_typed_pool_usable, 2)
{
    support_in_child(exit_with_typed_pool, _i == 0 ? NULL : &host);
}

/* As a program in another language finds it: by name, the inline functions
 * too. */
TEST(dlsym_finds_functions_to_call)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    int (*create)(cpool_t **, const cpool_config_t *);
    int (*destroy)(cpool_t *);
    void *(*alloc)(cpool_t *);
    void (*give)(cpool_t *, void *);
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *pool;

    REQUIRE(library != NULL);
    find(library, "cpool_create", &create);
    find(library, "cpool_destroy", &destroy);
    find(library, "cpool_alloc", &alloc);
    find(library, "cpool_free", &give);
    config.slot_size = 10;
    config.capacity = 300;
    REQUIRE_EQUAL(create(&pool, &config), 0);
    for (int i = 0; i < 300; i++)
        REQUIRE(alloc(pool) != NULL);
    REQUIRE(alloc(pool) == NULL);
    give(pool, NULL);
    REQUIRE_EQUAL(destroy(pool), CPOOL_ELIVE);
    REQUIRE_EQUAL(dlclose(library), 0);
}

int main(void)
{
    if (access(MODULE_SHARED, R_OK) != 0 || access(LIBRARY, R_OK) != 0)
        return support_skip_all("dlopen", "without shared libraries there are no plug-ins");
    return support_run_all("dlopen");
}

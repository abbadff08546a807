/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_copies.c - two copies of the library in one process: a pool of the one
 * that is passed to the other is refused by every function, and unharmed.
 *
 * A copy makes no pools if its thread's word is another one's.
 *
 * Calls nothing of the library itself.  MODULE_SHARED, MODULE_STATIC and MODULE_MIXED are
 * the plug-ins' paths, and LIBRARY is the shared library's.
 */
#include "support.h"

#include <dlfcn.h>
#include <unistd.h>

#include "module.h"

struct copy {
    void *handle;
    int (*open)(unsigned flags, bool own);
    size_t (*work)(size_t count);
    void *(*pool)(void);
    void *(*slot)(void);
    void *(*cache)(void);
    void (*end)(void *slot, void *cache);
    const char *(*misuse)(void *pool, void *slot, void *cache);
    size_t (*typed)(size_t count);
    int (*close)(void);
};

static void find(const struct copy *copy, const char *name, void *function)
{
    void *address = dlsym(copy->handle, name);

    REQUIRE(address != NULL);
    memcpy(function, &address, sizeof(address));
}

static struct copy load(const char *path)
{
    struct copy copy;

    copy.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (copy.handle == NULL)
        support_fail(__FILE__, __LINE__, dlerror());
    find(&copy, "module_open_kind", &copy.open);
    find(&copy, "module_work", &copy.work);
    find(&copy, "module_pool", &copy.pool);
    find(&copy, "module_slot", &copy.slot);
    find(&copy, "module_cache", &copy.cache);
    find(&copy, "module_end", &copy.end);
    find(&copy, "module_misuse", &copy.misuse);
    find(&copy, "module_typed", &copy.typed);
    find(&copy, "module_close", &copy.close);
    return copy;
}

static void require_refused(const struct copy *one, const struct copy *other)
{
    void *slot = other->slot();
    void *cache = other->cache();
    const char *wrong;

    REQUIRE(slot != NULL && cache != NULL);
    wrong = one->misuse(other->pool(), slot, cache);
    if (wrong != NULL)
        support_fail(__FILE__, __LINE__, wrong);
    REQUIRE(other->work(999) == 999);
    other->end(slot, cache);
    REQUIRE(other->work(1000) == 1000);
}

static const unsigned kinds[] = { 0, CPOOL_CHECKED };

/* In turn each copy's pools lie in the plug-in's own memory. */
static void use_each_others(const char *path, const char *other_path, unsigned flags, bool own)
{
    struct copy one = load(path);
    struct copy other = load(other_path);

    REQUIRE_EQUAL(one.open(flags, own), 0);
    REQUIRE_EQUAL(other.open(flags, !own), 0);
    /* First with the thread's cache of an own pool, and then without. */
    REQUIRE(one.work(100) == 100);
    require_refused(&one, &other);
    require_refused(&other, &one);
    REQUIRE_EQUAL(one.close(), 0);
    REQUIRE_EQUAL(other.close(), 0);
    REQUIRE_EQUAL(dlclose(one.handle), 0);
    REQUIRE_EQUAL(dlclose(other.handle), 0);
}

TEST_TIMES(pool_of_another_copy_refused, 2 * SUPPORT_LENGTH(kinds))
{
    bool own = _i / SUPPORT_LENGTH(kinds) != 0;

    use_each_others(MODULE_SHARED, MODULE_STATIC, kinds[_i % SUPPORT_LENGTH(kinds)], own);
}

/* The plug-in has a copy of its own, with the first copy's word: -Bsymbolic-functions. */
static void use_mixed(void *unused)
{
    void *first = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    struct copy mixed;

    (void)unused;
    REQUIRE(first != NULL);
    mixed = load(MODULE_MIXED);
    REQUIRE_EQUAL(mixed.open(0, false), CPOOL_ECOPIES);
    REQUIRE(mixed.pool() == NULL);
    REQUIRE_EQUAL(mixed.typed(10), 0);
    REQUIRE_EQUAL(dlclose(mixed.handle), 0);
    REQUIRE_EQUAL(dlclose(first), 0);
}

TEST(copy_with_the_word_of_another_makes_no_pool)
{
    struct support_outcome outcome;

    support_fork(use_mixed, NULL, &outcome);
    REQUIRE_EQUAL(outcome.status, 0);
    REQUIRE(strstr(outcome.text, "cpool: no pool is made, because another copy") != NULL);
}

TEST(copy_with_its_own_word_makes_pools)
{
    struct copy mixed = load(MODULE_MIXED);

    REQUIRE_EQUAL(mixed.open(0, false), 0);
    REQUIRE(mixed.work(100) == 100);
    REQUIRE(mixed.typed(10) == 10);
    REQUIRE_EQUAL(mixed.close(), 0);
    REQUIRE_EQUAL(dlclose(mixed.handle), 0);
}

int main(void)
{
    if (access(MODULE_SHARED, R_OK) != 0)
        return support_skip_all("copies", "without shared libraries there are no plug-ins");
    return support_run_all("copies");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_copies.c - two copies of the library in one process: a pool of the one
 * that is passed to the other is refused by every function, and unharmed.
 *
 * Calls nothing of the library itself.  MODULE_SHARED and MODULE_STATIC are the
 * plug-ins' paths.
 */
#include "support.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "module.h"

enum { COPIES = 5 };

struct copy {
    void *handle;
    int (*open)(unsigned flags, bool own);
    size_t (*work)(size_t count);
    void *(*pool)(void);
    void *(*slot)(void);
    void *(*cache)(void);
    void (*end)(void *slot, void *cache);
    const char *(*misuse)(void *pool, void *slot, void *cache);
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

static const unsigned kinds[] = { 0, CPOOL_CHECKED, CPOOL_EXACT, CPOOL_WAITABLE };

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

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

START_TEST(pool_of_another_copy_refused)
{
    bool own = _i / KINDS != 0;

    use_each_others(MODULE_SHARED, MODULE_STATIC, kinds[_i % KINDS], own);
}
END_TEST

/* A copy of the file is a library of its own to the dynamic linker. */
static struct copy load_duplicate(const char *path)
{
    char duplicate[] = "./check_copies.XXXXXX";
    int to = mkstemp(duplicate);
    int from = open(path, O_RDONLY);
    char bytes[65536];
    struct copy copy;
    ssize_t length;

    REQUIRE(to >= 0 && from >= 0);
    while ((length = read(from, bytes, sizeof(bytes))) > 0)
        REQUIRE_EQUAL(write(to, bytes, (size_t)length), length);
    REQUIRE_EQUAL(length, 0);
    REQUIRE_EQUAL(close(from) + close(to), 0);
    copy = load(duplicate);
    REQUIRE_EQUAL(unlink(duplicate), 0);
    return copy;
}

static size_t offset_of(const struct copy *copy)
{
    return ((const struct cpool_prefix *)copy->pool())->table_offset;
}

/* Where a copy starts is a matter of chance, so of many copies not all start at
 * the same place. */
START_TEST(copies_start_at_different_entries)
{
    struct copy copies[COPIES];
    size_t differ = 0;

    for (int i = 0; i < COPIES; i++) {
        copies[i] = load_duplicate(MODULE_STATIC);
        REQUIRE_EQUAL(copies[i].open(0, false), 0);
        differ += offset_of(&copies[i]) != offset_of(&copies[0]);
    }
    REQUIRE(differ > 0);
    for (int i = 0; i < COPIES; i++)
        for (int j = 0; j < COPIES; j++)
            if (i != j)
                require_refused(&copies[i], &copies[j]);
    for (int i = 0; i < COPIES; i++) {
        REQUIRE_EQUAL(copies[i].close(), 0);
        REQUIRE_EQUAL(dlclose(copies[i].handle), 0);
    }
}
END_TEST

int main(void)
{
    const struct support_test tests[] = {
        TIMES(pool_of_another_copy_refused, 2 * KINDS),
        ONCE(copies_start_at_different_entries),
    };

    if (access(MODULE_SHARED, R_OK) != 0)
        return support_skip_all("copies", "without shared libraries there are no plug-ins");
    return SUPPORT_RUN("copies", tests);
}

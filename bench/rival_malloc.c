/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rival_malloc.c - malloc and free: those of the C library, or of whatever
 * library stands before it.
 *
 * cell.c runs this rival under other names with LD_PRELOAD set.  The version is
 * the file that malloc really comes from, so a library that did not load cannot
 * pass for one that did.  Compiled with -fno-builtin-malloc and -fno-builtin-free:
 * a compiler may otherwise remove a pair that it knows to be useless.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RIVAL_HAS_HANDLES
#include "bench.h"

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#include <malloc.h>
#endif

/* The handle is the size itself, a constant in a program. */
static void *rival_create(const struct bench_cell *cell)
{
    return (void *)(uintptr_t)cell->slot_size;
}

static void rival_destroy(void *pool)
{
    (void)pool;
}

static inline void *rival_alloc(void *handle)
{
    return malloc((size_t)(uintptr_t)handle);
}

static inline void *rival_calloc(void *handle, size_t size)
{
    (void)handle;
    return calloc(1, size);
}

static inline void rival_free(void *handle, void *slot)
{
    (void)handle;
    free(slot);
}

/* The file that malloc comes from, links followed: its name tells the version. */
static const char *rival_version(void)
{
    static char text[512];
    void *(*function)(size_t) = malloc;
    const char *name;
    void *address;
    Dl_info info;
    char *path;

    memcpy(&address, &function, sizeof address);
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL)
        return "unknown";
    path = realpath(info.dli_fname, NULL);
    name = strrchr(path != NULL ? path : info.dli_fname, '/');
    snprintf(text, sizeof text, "%s", name != NULL ? name + 1 : info.dli_fname);
#if defined(__GLIBC__)
    if (strncmp(text, "libc.", 5) == 0)
        snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
#endif
    free(path);
    return text;
}

/* The C library's own: allocators that stand before it have nothing of the kind. */
#define RIVAL_TRIMS

static size_t rival_trim(void *pool)
{
    (void)pool;
#if defined(__GLIBC__)
    if (strncmp(rival_version(), "glibc", 5) == 0) {
        malloc_trim(0);
        return 0; /* it does not say how much */
    }
#endif
    bench_leave_out("cannot be told to give memory back");
}

#include "workloads.h"

const struct bench_rival bench_rival_malloc = {
    "malloc", "malloc and free of the C library",
    0, 8, SIZE_MAX,
    NULL, rival_version, rival_create, rival_destroy, NULL, NULL, rival_workloads, NULL
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * figures.c - reads a pool's figures from its JSON.
 */
#include "figures.h"

#include <stdlib.h>
#include <string.h>

struct text {
    size_t length;
    char bytes[4096];
};

static void append(const char *part, size_t length, void *arg)
{
    struct text *text = arg;

    if (length >= sizeof text->bytes - text->length)
        abort();
    memcpy(text->bytes + text->length, part, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

/* `name` with its quotes and colon. */
static bool find(const struct text *text, const char *name, uint64_t *number)
{
    const char *at = strstr(text->bytes, name);

    if (at == NULL)
        return false;
    *number = strtoull(at + strlen(name), NULL, 10);
    return true;
}

bool figures_read(const cpool_t *pool, struct figures *figures)
{
    struct text text = { 0, "" };
    uint64_t number;

    if (cpool_dump(pool, CPOOL_DUMP_JSON, append, &text) != 1)
        return false;
#define FIGURES_READ_SIZE(name)                                                        \
    if (!find(&text, "\"" #name "\":", &number))                                       \
        return false;                                                                  \
    figures->name = (size_t)number;
#define FIGURES_READ_COUNT(name)                                                       \
    if (!find(&text, "\"" #name "\":", &figures->name))                                \
        return false;
    FIGURES(FIGURES_READ_SIZE, FIGURES_READ_COUNT)
    return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * skipped.c - see skipped.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "skipped.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* In the order of enum skip_kind. */
static const char *const kind_text[SKIP_KINDS] = {
    "symbolic links, not followed",
    "symbolic links that form a loop",
    "devices, pipes and sockets",
    "files that cannot be read",
    "directories that cannot be read",
};

void skipped_init(struct skipped *skipped)
{
    memset(skipped, 0, sizeof *skipped);
    pthread_mutex_init(&skipped->mutex, NULL);
}

void skipped_fini(struct skipped *skipped)
{
    pthread_mutex_destroy(&skipped->mutex);
}

void skipped_add(struct skipped *skipped, enum skip_kind kind)
{
    pthread_mutex_lock(&skipped->mutex);
    skipped->count[kind]++;
    pthread_mutex_unlock(&skipped->mutex);
}

/* File names may hold any bytes, and a terminal should not get them. */
static void replace_controls(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

void skipped_add_named(struct skipped *skipped, enum skip_kind kind, const char *path, int error)
{
    pthread_mutex_lock(&skipped->mutex);
    skipped->count[kind]++;
    if (skipped->names < SKIPPED_NAMES) {
        char *name = skipped->name[skipped->names++];

        snprintf(name, SKIPPED_TEXT, "%s: %s", path, strerror(error));
        replace_controls(name);
    }
    pthread_mutex_unlock(&skipped->mutex);
}

uint64_t skipped_unreadable(const struct skipped *skipped)
{
    return skipped->count[SKIP_FILE] + skipped->count[SKIP_DIRECTORY];
}

void skipped_print(const struct skipped *skipped, FILE *out)
{
    uint64_t named = skipped->count[SKIP_LOOP] + skipped_unreadable(skipped);

    for (int kind = 0; kind < SKIP_KINDS; kind++)
        if (skipped->count[kind] > 0)
            fprintf(out, "  left out %8" PRIu64 " %s\n", skipped->count[kind], kind_text[kind]);
    for (unsigned i = 0; i < skipped->names; i++)
        fprintf(out, "    %s\n", skipped->name[i]);
    if (named > skipped->names)
        fprintf(out, "    and %" PRIu64 " more\n", named - skipped->names);
}

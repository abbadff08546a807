/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * contestants.c - the parties of a run: the compiled-in rivals, those with a
 * program or a preloaded library of their own, libcpool's modes, and variants of it that
 * are made up on the command line.
 *
 * Includes cell.h and rivals.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rivals.h"

/* Most variants that a command line can make up. */
#define VARIANTS_MAX 8

static const struct bench_rival *const rivals[] = {
#define CELL_RIVAL(name) &bench_rival_##name,
    BENCH_RIVALS(CELL_RIVAL)
#undef CELL_RIVAL
};

#define RIVALS (sizeof rivals / sizeof rivals[0])

/* Ended by NULL. */
static const struct bench_rival *const stand_ins[] = {
#define CELL_RIVAL(name) &bench_rival_##name,
    BENCH_STAND_INS(CELL_RIVAL)
#undef CELL_RIVAL
    NULL
};

/* Modes of libcpool. */
static const struct contestant modes[] = {
#define CELL_MODE(name, summary, rival, config) \
    { name,   summary,                 rival, NULL, NULL,  NULL, \
      config, BENCH_OURS | BENCH_MODE, "",    "",   false, false, NULL },
    BENCH_MODES(CELL_MODE)
#undef CELL_MODE
};

/* Allocators that stand before malloc. */
static const struct contestant preloads[] = {
#define CELL_PRELOAD(name, summary, preload, expect) \
    { name, summary, "malloc", NULL, preload, expect, "", 0, "", "", false, false, NULL },
    BENCH_PRELOADS(CELL_PRELOAD)
#undef CELL_PRELOAD
};

/* Rivals with a program of their own. */
static const struct contestant programs[] = {
#define CELL_PROGRAM(name, summary, program, absent) \
    { name, summary, name, program, NULL, NULL, "", 0, "", absent, false, false, NULL },
    BENCH_PROGRAMS(CELL_PROGRAM)
#undef CELL_PROGRAM
};

static struct contestant variants[VARIANTS_MAX];
static size_t variant_count;
static const char *our_config = "";

const struct bench_rival *cell_rival(const char *name)
{
    size_t i;

    for (i = 0; i < RIVALS; i++)
        if (strcmp(rivals[i]->name, name) == 0)
            return rivals[i];
    return NULL;
}

const struct bench_rival *cell_rival_for(const char *name, size_t slot_size)
{
    const struct bench_rival *const *rival;

    for (rival = stand_ins; *rival != NULL; rival++)
        if (strcmp((*rival)->name, name) == 0 && (*rival)->smallest <= slot_size &&
            slot_size <= (*rival)->largest)
            return *rival;
    return cell_rival(name);
}

/* The first rival has all workloads.  Others leave some out. */
const struct bench_workload *const *cell_workloads(void)
{
    return rivals[0]->workloads;
}

const struct bench_workload *cell_workload(const char *name)
{
    const struct bench_workload *const *workload = cell_workloads();

    while (*workload != NULL && strcmp((*workload)->name, name) != 0)
        workload++;
    return *workload;
}

/* ---- Variants of libcpool ------------------------------------------------------- */

void cell_configure(const char *config)
{
    our_config = config;
}

/* A copy of the first `length` bytes of a text, to be kept for good. */
static char *keep(const char *text, size_t length)
{
    char *copy = bench_memory(length + 1, 1);

    memcpy(copy, text, length);
    return copy;
}

/* Takes KEY=VALUE for itself when the parent needs it.  Returns false when the cell
 * does. */
static bool take_setting(struct contestant *variant, const char *setting, size_t length)
{
    static const char *const keys[] = { "rival=", "program=", "preload=", "options=" };
    const char **places[] = { &variant->rival, &variant->program, &variant->preload,
                              &variant->options };
    size_t i;

    for (i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t key = strlen(keys[i]);

        if (length > key && strncmp(setting, keys[i], key) == 0) {
            *places[i] = keep(setting + key, length - key);
            return true;
        }
    }
    return false;
}

bool cell_add_variant(const char *text)
{
    size_t name = strcspn(text, ":"), used = 0, length;
    struct contestant *variant = &variants[variant_count];
    char *config;

    if (name == 0 || variant_count == VARIANTS_MAX)
        return false;
    variant->name = keep(text, name);
    variant->rival = "cpool";
    variant->variant = true;
    text += name + (text[name] == ':' ? 1 : 0);
    variant->summary = text;
    config = bench_memory(strlen(text) + 1, 1);
    for (; *text != '\0'; text += length + (text[length] == ',' ? 1 : 0)) {
        length = strcspn(text, ",");
        if (take_setting(variant, text, length))
            continue;
        used += (size_t)sprintf(config + used, "%s%.*s", used == 0 ? "" : ",", (int)length, text);
    }
    variant->config = config;
    variant->traits = BENCH_OURS;
    variant_count++;
    return cell_rival(variant->rival) != NULL;
}

/* ---- All of them ------------------------------------------------------------------ */

/* The settings of all of libcpool's pools, and those of a mode. */
static const char *join(const char *all, const char *own)
{
    size_t size = strlen(all) + strlen(own) + 2;
    char *joined = bench_memory(size, 1);

    snprintf(joined, size, "%s%s%s", all, all[0] == '\0' ? "" : ",", own);
    return joined;
}

static size_t append_modes(struct contestant *to)
{
    size_t count = sizeof modes / sizeof modes[0], i;

    memcpy(to, modes, sizeof modes);
    for (i = 0; i < count; i++)
        to[i].config = join(our_config, to[i].config);
    return count;
}

static size_t append(struct contestant *to, const struct contestant *from, size_t count)
{
    memcpy(to, from, count * sizeof *to);
    return count;
}

struct contestant *cell_contestants(size_t *count)
{
    size_t programs_count = sizeof programs / sizeof programs[0];
    size_t preloads_count = sizeof preloads / sizeof preloads[0];
    struct contestant *all =
        bench_memory(RIVALS + preloads_count + programs_count + VARIANTS_MAX +
                         sizeof modes / sizeof modes[0],
                     sizeof *all);
    bool ours = true;
    size_t n = 0, i;

    for (i = 0; i < RIVALS; i++) {
        if (ours && (rivals[i]->traits & BENCH_OURS) == 0) { /* libcpool's own come first */
            ours = false;
            n += append_modes(all + n);
            n += append(all + n, variants, variant_count);
        }
        all[n].name = all[n].rival = rivals[i]->name;
        all[n].summary = rivals[i]->summary;
        all[n].config = ours ? our_config : "";
        all[n++].traits = rivals[i]->traits;
        if (strcmp(rivals[i]->name, "malloc") == 0)
            n += append(all + n, preloads, preloads_count);
    }
    n += append(all + n, programs, programs_count);
    *count = n;
    return all;
}

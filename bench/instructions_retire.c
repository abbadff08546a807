/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * instructions_retire.c - read sections and retired slots, without closing a bag.
 *
 * Once a program has a domain, pools that are dry or destroyed search for retired slots.  So these
 * parts run after all others, and what they do outside the counted functions is the warm-up.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "instructions.h"

#include <stdio.h>
#include <stdlib.h>

/* Slots in a bag: more than any part retires. */
#define BAG 128u

/* ---- What is counted ------------------------------------------------------------ */

COUNTED void section_measured(cpool_reader_t *reader)
{
    cpool_read_begin(reader);
    INSTRUCTIONS_HIDE(reader);
    cpool_read_end(reader);
}

COUNTED int retire_measured(cpool_reader_t *reader, cpool_t *pool, void *slot)
{
    return cpool_retire(reader, pool, slot);
}

/* ---- The parts ------------------------------------------------------------------ */

static void require(int code)
{
    if (code == CPOOL_OK)
        return;
    fprintf(stderr, "instructions: %s\n", cpool_strerror(code));
    exit(EXIT_FAILURE);
}

static cpool_reader_t *begin_domain(cpool_domain_t **domain)
{
    cpool_domain_config_t config = CPOOL_DOMAIN_CONFIG_INIT;
    cpool_reader_t *reader;

    config.readers = 1;
    config.max_held = (size_t)4 * BAG;
    require(cpool_domain_create(domain, &config));
    require(cpool_reader_create(&reader, *domain, 0));
    return reader;
}

static void section_pair(size_t n)
{
    cpool_domain_t *domain;
    cpool_reader_t *reader = begin_domain(&domain);

    while (n-- > 0)
        section_measured(reader);
    require(cpool_domain_destroy(domain));
}

/* The first retire registers the pool with the domain. */
static void retire_free(size_t n)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_domain_t *domain;
    cpool_reader_t *reader = begin_domain(&domain);
    cpool_t *pool;

    config.slot_size = 64;
    config.capacity = BAG;
    require(cpool_create(&pool, &config));
    require(cpool_retire(reader, pool, cpool_alloc(pool)));
    while (n-- > 0)
        require(retire_measured(reader, pool, cpool_alloc(pool)));
    require(cpool_domain_destroy(domain));
    require(cpool_destroy(pool));
}

const struct instructions_mode instructions_retire[] = {
    { "section-pair", section_pair },
    { "retire-free", retire_free },
    { NULL, NULL },
};

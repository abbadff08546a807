/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tally.c - see tally.h, which also has the ordering table.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "tally.h"

#include <string.h>

struct tally *tally_create(struct allocator *results)
{
    struct tally *tally = results->alloc(results);

    if (tally != NULL) {
        memset(tally, 0, sizeof *tally);
        frequency_init(&tally->identifiers);
    }
    return tally;
}

void tally_destroy(struct tally *tally, struct allocator *results)
{
    if (tally == NULL)
        return;
    frequency_clear(&tally->identifiers, results);
    results->free(results, tally);
}

bool tally_count(struct tally *tally, struct allocator *results, struct text_piece *piece)
{
    const unsigned char *identifier;
    size_t length;
    bool complete = true;

    text_count(&tally->counts, piece->text, piece->length);
    while (complete && (length = text_next_identifier(piece, &identifier)) != 0)
        complete = frequency_count(&tally->identifiers, results, identifier, length);
    return complete;
}

/* Adds all but the counts of text, and gives the emptied tally back. */
static void absorb(struct tally *sum, struct tally *part, struct allocator *results)
{
    sum->files += part->files;
    sum->directories += part->directories;
    frequency_merge(&sum->identifiers, results, &part->identifiers);
    results->free(results, part);
}

struct tally *tally_join(struct tally *left, struct tally *right, struct allocator *results)
{
    if (left == NULL || right == NULL)
        return left != NULL ? left : right;
    text_join(&left->counts, &right->counts);
    absorb(left, right, results);
    return left;
}

void tally_deposit(tally_place *place, struct tally *tally, struct allocator *results)
{
    while (tally != NULL) {
        struct tally *parked = NULL;

        if (atomic_compare_exchange_strong_explicit(place, &parked, tally,
                                                    memory_order_release,  /* [park] */
                                                    memory_order_relaxed)) /* [taken] */
            return;
        parked = tally_collect(place); /* NULL if somebody else was faster */
        if (parked != NULL) {
            text_add(&tally->counts, &parked->counts);
            absorb(tally, parked, results);
        }
    }
}

struct tally *tally_collect(tally_place *place)
{
    return atomic_exchange_explicit(place, NULL, memory_order_acquire); /* [collect] */
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * summary.c - see summary.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "summary.h"

#include <string.h>

void summary_init(struct summary *summary, unsigned wanted)
{
    memset(summary, 0, sizeof *summary);
    summary->wanted = wanted;
}

/* Returns true if an identifier is to come before an entry. */
static bool precedes(const char *text, size_t length, uint64_t count,
                     const struct summary_entry *entry)
{
    size_t common = length < entry->length ? length : entry->length;
    int order = memcmp(text, entry->text, common);

    if (count != entry->count)
        return count > entry->count;
    return order != 0 ? order < 0 : length < entry->length;
}

void summary_offer(struct summary *summary, const char *text, size_t length, uint64_t count)
{
    unsigned place = summary->filled;

    summary->different++;
    summary->occurrences += count;
    while (place > 0 && precedes(text, length, count, &summary->top[place - 1]))
        place--;
    if (place == summary->wanted)
        return;
    if (summary->filled < summary->wanted)
        summary->filled++;
    memmove(&summary->top[place + 1], &summary->top[place],
            (summary->filled - place - 1) * sizeof summary->top[0]);
    summary->top[place].count = count;
    summary->top[place].length = length;
    memcpy(summary->top[place].text, text, length);
}

static void offer_node(const struct frequency_node *node, void *context)
{
    summary_offer(context, node->text, node->length, node->count);
}

void summary_of_tally(struct summary *summary, unsigned wanted, const struct tally *tally)
{
    summary_init(summary, wanted);
    if (tally == NULL)
        return;
    summary->files = tally->files;
    summary->directories = tally->directories;
    summary->lines = tally->counts.lines;
    summary->bytes = tally->counts.bytes;
    memcpy(summary->words, tally->counts.words, sizeof summary->words);
    frequency_visit(&tally->identifiers, offer_node, summary);
}

static bool entry_equal(const struct summary_entry *a, const struct summary_entry *b)
{
    return a->count == b->count && a->length == b->length &&
           memcmp(a->text, b->text, a->length) == 0;
}

bool summary_equal(const struct summary *a, const struct summary *b)
{
    if (a->files != b->files || a->directories != b->directories || a->lines != b->lines ||
        a->bytes != b->bytes || memcmp(a->words, b->words, sizeof a->words) != 0 ||
        a->occurrences != b->occurrences || a->different != b->different ||
        a->filled != b->filled)
        return false;
    for (unsigned i = 0; i < a->filled; i++)
        if (!entry_equal(&a->top[i], &b->top[i]))
            return false;
    return true;
}

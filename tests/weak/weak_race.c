/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weak_race.c - data races: two accesses to a byte, one of them plain and one of
 * them a write, neither of which happens before the other.
 *
 * For each byte that was touched, and each thread, the clock of its last access
 * of each kind is kept.  A thread's view says up to which clock of the others
 * everything happens before what it does now.
 */
#include <string.h>

#include "weak.h"

static struct weak_cell *cell_of(uintptr_t number)
{
    size_t i = (size_t)(number * 0x9e3779b97f4a7c15u >> 40);

    for (size_t tries = 0; tries < WEAK_CELLS; tries++, i++) {
        struct weak_cell *cell = &weak_world->cell[i % WEAK_CELLS];

        if (cell->execution != weak_world->execution) {
            memset(cell, 0, sizeof *cell);
            cell->execution = weak_world->execution;
            cell->number = number;
            return cell;
        }
        if (cell->number == number)
            return cell;
    }
    weak_fail("more than %d words are used", WEAK_CELLS);
}

/* Some access among these does not happen before the present. */
static int unordered(const uint16_t last[WEAK_THREADS], const uint16_t now[WEAK_THREADS])
{
    for (int i = 0; i < weak_world->threads; i++)
        if (last[i] > now[i])
            return i;
    return -1;
}

/* The thread with which this access races, or -1. */
static int rival(const struct weak_byte *byte, enum weak_access access)
{
    const uint16_t *now = weak_self()->now.clock;
    int i = unordered(byte->write, now);

    if (i < 0 && access != WEAK_ATOMIC_READ && access != WEAK_READ)
        i = unordered(byte->read, now);
    if (i < 0 && (access == WEAK_READ || access == WEAK_WRITE))
        i = unordered(byte->atomic_write, now);
    if (i < 0 && access == WEAK_WRITE)
        i = unordered(byte->atomic_read, now);
    return i;
}

static void note(struct weak_byte *byte, enum weak_access access)
{
    int self = weak_world->current;
    uint16_t clock = weak_self()->now.clock[self];

    switch (access) {
    case WEAK_READ: byte->read[self] = clock; break;
    case WEAK_WRITE: byte->write[self] = clock; break;
    case WEAK_ATOMIC_READ: byte->atomic_read[self] = clock; break;
    default: byte->atomic_write[self] = clock; break;
    }
}

void weak_access(uintptr_t address, size_t size, enum weak_access access)
{
    static const char *const words[] = {"read", "write", "atomic read", "atomic write"};
    struct weak_cell *cell = NULL;
    uintptr_t at;

    if (!weak_world->running || address - (uintptr_t)weak_world->tls < weak_world->tls_size)
        return;
    for (at = address; at < address + size; at++) {
        struct weak_byte *byte;
        int other;

        if (cell == NULL || cell->number != at / 8)
            cell = cell_of(at / 8);
        byte = &cell->bytes[at % 8];
        other = rival(byte, access);
        if (other >= 0)
            weak_fail("data race: %s of %zu bytes by thread %d at %p, with thread %d",
                      words[access], size, weak_world->current, weak_world->where, other);
        note(byte, access);
    }
}

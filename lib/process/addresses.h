/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * addresses.h - finds the pool whose slots lie at an address.
 *
 *   address  | 0 | 12 bits | 6 bits | 6 bits | 6 bits | 6 bits | 6 bits | 6 bits |
 *                     |        |        |        |        |        |
 *                   root --> node --> node --> node --> node --> node
 *                     :
 *                     +--> handle of a pool that covers the whole entry
 *
 * A radix tree, like page tables.  An entry is 0, the handle of a pool, or the address of a node on
 * the next level.  A large pool covers whole entries of the upper nodes, except at its two ends,
 * which take at most 63 entries on each level.  The root's entries cover 64 GiB each (16 MiB on
 * 32-bit systems).  A lookup takes one load per level: five for a pool that shares its pages with
 * no other.
 *
 * The root is in the library's bss, so that threads can read it while the process ends.
 *
 * Addresses above 48 bits, which Linux gives only to programs that ask for them, are not in the
 * tree.  For these, all descriptors are searched.
 *
 * Invariants
 * An entry names the pool with slots there.  A pool inside a slot of another pool has no entries.
 *
 * No node is unmapped while threads can read it.  A node whose entries have all become 0 is removed
 * from the tree and reused.  A thread that is still reading it finds nothing, or the handle of some
 * other pool, and its caller compares the address with that pool's slots (cpi_handle_slot).  A
 * thread that looks up a slot of a live pool reads only nodes with entries of that pool, and these
 * stay.
 */
#ifndef CPI_ADDRESSES_H
#define CPI_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/descriptor.h"

/* Ranges begin and end at multiples of this many bytes. */
#define CPI_RANGES_UNIT 64u

/*
 * Assigns [from, to) to the handle.  Either all of it was free, or it lies in one slot of another
 * pool, and then it remains that pool's.  Returns false if the operating system refuses memory:
 * nothing has changed then.  With the lock held.
 */
bool cpi_ranges_add(cpool_t *handle, uintptr_t from, uintptr_t to);

/* Frees the range, after the handle's pool has ended.  With the lock held. */
void cpi_ranges_remove(cpool_t *handle, uintptr_t from, uintptr_t to);

/* The handle at this address, or NULL.  Its pool may have been destroyed in the meantime.  Any
 * thread, wait-free, async-signal-safe. */
cpool_t *cpi_ranges_find(uintptr_t address);

/* The number of nodes in use, for tests.  With the lock held. */
size_t cpi_ranges_nodes(void);

/* Releases all memory.  No range may be left, and no thread may be reading.  With the lock held. */
void cpi_ranges_release(void);

#endif /* CPI_ADDRESSES_H */

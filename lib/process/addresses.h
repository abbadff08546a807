/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * addresses.h - which pool's slots lie at an address.
 *
 *   address  | 0 | 12 bits | 6 bits | 6 bits | 6 bits | 6 bits | 6 bits | 6 bits |
 *                     |        |        |        |        |        |
 *                   root --> node --> node --> node --> node --> node
 *                     :
 *                     +--> handle, of a pool that covers all of the entry
 *
 * A radix tree, as page tables are.  An entry of any node is 0, a handle, or leads to the node
 * below.  A large pool covers whole entries of the upper nodes but for its two ends, where there
 * are not more than 63 on each level.  The root's entries cover 64 GiB each (16 MiB on 32-bit
 * systems).  A look-up takes one load on each level: five where a pool has its pages to itself.
 *
 * The root is in the program's bss, where threads may look while the process ends.
 *
 * Addresses beyond 48 bits, which Linux gives to programs that ask for them only, are in
 * no tree.  All descriptors are looked through for these.
 *
 * Invariants
 *   An entry names the pool with slots there.  A pool in a slot of another one has no entries.
 *
 *   A node is never unmapped while a thread can look.  A node that becomes all 0 is taken
 *   out and used again.  A thread that stands on it then finds nothing, or some other
 *   pool's handle, and the caller compares the address with that pool's slots
 *   (cpi_handle_slot).  A thread that looks for a slot of a living pool stands on nodes
 *   with entries of that pool alone, which stay.
 */
#ifndef CPI_ADDRESSES_H
#define CPI_ADDRESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process/descriptor.h"

/* Ranges begin and end at multiples of it, bytes. */
#define CPI_RANGES_UNIT 64u

/*
 * From now on, [from, to) is the handle's.  All of it was nobody's, or it lies in one slot of
 * another pool, and then it stays that pool's.  Returns false if the operating system refuses
 * memory.  Nothing has changed then.  With the lock held.
 */
bool cpi_ranges_add(cpool_t *handle, uintptr_t from, uintptr_t to);

/* The range becomes nobody's, after the handle has become no pool's.  With the lock held. */
void cpi_ranges_remove(cpool_t *handle, uintptr_t from, uintptr_t to);

/* The handle at this address, or NULL.  It may be that of a pool that has been destroyed
 * meanwhile.  Any thread, wait-free, async-signal-safe. */
cpool_t *cpi_ranges_find(uintptr_t address);

/* Nodes in use, for tests.  With the lock held. */
size_t cpi_ranges_nodes(void);

/* Gives all memory back.  No range is left, and no thread looks.  With the lock held. */
void cpi_ranges_release(void);

#endif /* CPI_ADDRESSES_H */

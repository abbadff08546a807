/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - lists through a member `next` of their elements.  The caller keeps other threads away.
 *
 * An element that leaves its list without a walk also has `link`, the address of the pointer to
 * it.
 */
#ifndef CPI_LIST_H
#define CPI_LIST_H

#include <stddef.h>

#include "base/compiler.h"

/* Puts an element first in a list of elements with a link.  first: the address of its head. */
#define CPI_LIST_ADD(first, element)                                                   \
    do {                                                                               \
        (element)->next = *(first);                                                    \
        if ((element)->next != NULL)                                                   \
            (element)->next->link = &(element)->next;                                  \
        (element)->link = (first);                                                     \
        *(first) = (element);                                                          \
    } while (0)

#define CPI_LIST_REMOVE(element)                                                       \
    do {                                                                               \
        CPI_ASSERT(*(element)->link == (element));                                     \
        *(element)->link = (element)->next;                                            \
        if ((element)->next != NULL)                                                   \
            (element)->next->link = (element)->link;                                   \
    } while (0)

/* Takes an element out of a list of elements without a link, which has it. */
#define CPI_LIST_WALK_AND_REMOVE(first, element)                                       \
    do {                                                                               \
        __typeof__(first) cpi_link_ = (first);                                         \
        while (*cpi_link_ != (element))                                                \
            cpi_link_ = &(*cpi_link_)->next;                                           \
        *cpi_link_ = (element)->next;                                                  \
    } while (0)

#endif /* CPI_LIST_H */

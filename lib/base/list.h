/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - lists through a member `next` of their elements.  Only one thread at a time may use a
 * list.
 *
 * Elements that are removed without a walk also have `link`, the address of the pointer to them.
 */
#ifndef CPI_LIST_H
#define CPI_LIST_H

#include <stddef.h>

#include "base/compiler.h"

/* Puts an element at the head of a list whose elements have a `link`. first: the address of the
 * head. */
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

/* Removes an element from a list whose elements have no `link`.  The element must be in it. */
#define CPI_LIST_WALK_AND_REMOVE(first, element)                                       \
    do {                                                                               \
        __typeof__(first) cpi_link_ = (first);                                         \
        while (*cpi_link_ != (element))                                                \
            cpi_link_ = &(*cpi_link_)->next;                                           \
        *cpi_link_ = (element)->next;                                                  \
    } while (0)

#endif /* CPI_LIST_H */

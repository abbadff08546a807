/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * list.h - lists through members `next` and `link` of their elements; `link` is the address of the
 * pointer to the element.  Only one thread at a time may use a list.
 */
#ifndef CPI_LIST_H
#define CPI_LIST_H

#include <stddef.h>

#include "base/compiler.h"

/* Puts an element at the head of a list. first: the address of the head. */
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

#endif /* CPI_LIST_H */

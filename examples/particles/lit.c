/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * lit.c - sizes of PNG files, and how many of their pixels are not black.
 *
 * usage: lit FILE...
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include <inttypes.h>
#include <stdio.h>

#include "picture.h"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        uint32_t width, height;
        size_t lit;

        if (!picture_count(argv[i], &width, &height, &lit))
            return 1;
        printf("%" PRIu32 " x %" PRIu32 ", %zu lit\n", width, height, lit);
    }
    return 0;
}

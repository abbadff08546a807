/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * family.h - the family of this processor, by which figures are kept.
 *
 * Includes nothing of this folder.
 */
#ifndef BENCH_FAMILY_H
#define BENCH_FAMILY_H

#include <stddef.h>

/* A processor's description of itself. */
struct family_numbers {
    const char *vendor; /* "GenuineIntel", "AuthenticAMD", or ARM's implementer, "0x41" */
    long family;        /* of x86; ARM's has none: -1 */
    long model;         /* of x86; ARM's part number */
    const char *flags;  /* names between spaces */
};

/*
 * A name that can be part of a file name, such as intel-sapphire-rapids or amd-zen3.  An unknown
 * model is named by its numbers.
 */
void family_name(const struct family_numbers *numbers, char *name, size_t size);

/* The name for this machine, or "unknown". */
void family_here(char *name, size_t size);

#endif /* BENCH_FAMILY_H */

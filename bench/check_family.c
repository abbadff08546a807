/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_family.c - families of processors by their numbers.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "family.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(const char *vendor, long family, long model, const char *flags,
                   const char *expected)
{
    struct family_numbers numbers = { vendor, family, model, flags };
    char name[64];

    family_name(&numbers, name, sizeof name);
    if (strcmp(name, expected) == 0)
        return;
    printf("FAILED: %s %ld %ld is %s, not %s\n", vendor, family, model, name, expected);
    failures++;
}

int main(void)
{
    char name[64];
    size_t i;

    expect("AuthenticAMD", 25, 1, "fpu", "amd-zen3");
    expect("AuthenticAMD", 25, 17, "fpu", "amd-zen4");
    expect("AuthenticAMD", 26, 2, "", "amd-zen5");
    expect("GenuineIntel", 6, 143, "amx_tile amx_bf16", "intel-sapphire-rapids");
    expect("GenuineIntel", 6, 207, "fpu amx_tile", "intel-emerald-rapids");
    /* A hypervisor's model number against what the processor can do. */
    expect("GenuineIntel", 6, 167, "fpu amx_bf16 amx_tile", "intel-sapphire-rapids");
    expect("GenuineIntel", 6, 167, "amx_fp16 amx_tile", "intel-granite-rapids");
    expect("GenuineIntel", 6, 167, "fpu amx_tilex", "intel-rocket-lake");
    /* Unknown ones go by their numbers, and make a file's name. */
    expect("GenuineIntel", 6, 255, "fpu", "genuineintel-6-255");
    expect("Some Vendor/..", 7, 1, "", "somevendor-7-1");
    expect("0x41", -1, 0xd0c, "", "arm-neoverse-n1");
    expect("0x61", -1, 0x22, "", "arm-0x61-22");
    expect("", 0, 0, "", "unknown");

    family_here(name, sizeof name);
    for (i = 0; name[i] != '\0'; i++)
        if (strchr("abcdefghijklmnopqrstuvwxyz0123456789-", name[i]) == NULL)
            failures++;
    if (i == 0)
        failures++;
    printf("this machine: %s\n", name);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * family.c - names of processor families, from vendor, family and model.
 *
 * Includes family.h only.  The numbers are those of Linux's kernel
 * (arch/x86/include/asm/intel-family.h, arch/x86/kernel/cpu/amd.c,
 * arch/arm64/include/asm/cputype.h).
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "family.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct known {
    const char *vendor;
    long family, first, last; /* models */
    const char *name;
} known[] = {
    { "AuthenticAMD", 0x17, 0x00, 0x2f, "amd-zen" },
    { "AuthenticAMD", 0x17, 0x30, 0x4f, "amd-zen2" },
    { "AuthenticAMD", 0x17, 0x50, 0x5f, "amd-zen" },
    { "AuthenticAMD", 0x17, 0x60, 0xaf, "amd-zen2" },
    { "AuthenticAMD", 0x19, 0x00, 0x0f, "amd-zen3" },
    { "AuthenticAMD", 0x19, 0x10, 0x1f, "amd-zen4" },
    { "AuthenticAMD", 0x19, 0x20, 0x5f, "amd-zen3" },
    { "AuthenticAMD", 0x19, 0x60, 0xaf, "amd-zen4" },
    { "AuthenticAMD", 0x1a, 0x00, 0x4f, "amd-zen5" },
    { "AuthenticAMD", 0x1a, 0x60, 0x7f, "amd-zen5" },
    { "GenuineIntel", 6, 0x2a, 0x2a, "intel-sandy-bridge" },
    { "GenuineIntel", 6, 0x2d, 0x2d, "intel-sandy-bridge" },
    { "GenuineIntel", 6, 0x3a, 0x3a, "intel-ivy-bridge" },
    { "GenuineIntel", 6, 0x3e, 0x3e, "intel-ivy-bridge" },
    { "GenuineIntel", 6, 0x3c, 0x3c, "intel-haswell" },
    { "GenuineIntel", 6, 0x3f, 0x3f, "intel-haswell" },
    { "GenuineIntel", 6, 0x45, 0x46, "intel-haswell" },
    { "GenuineIntel", 6, 0x3d, 0x3d, "intel-broadwell" },
    { "GenuineIntel", 6, 0x47, 0x47, "intel-broadwell" },
    { "GenuineIntel", 6, 0x4f, 0x4f, "intel-broadwell" },
    { "GenuineIntel", 6, 0x56, 0x56, "intel-broadwell" },
    { "GenuineIntel", 6, 0x4e, 0x4e, "intel-skylake" },
    { "GenuineIntel", 6, 0x5e, 0x5e, "intel-skylake" },
    { "GenuineIntel", 6, 0x55, 0x55, "intel-skylake-server" },
    { "GenuineIntel", 6, 0x8e, 0x8e, "intel-kaby-lake" },
    { "GenuineIntel", 6, 0x9e, 0x9e, "intel-kaby-lake" },
    { "GenuineIntel", 6, 0xa5, 0xa6, "intel-comet-lake" },
    { "GenuineIntel", 6, 0x6a, 0x6a, "intel-ice-lake-server" },
    { "GenuineIntel", 6, 0x6c, 0x6c, "intel-ice-lake-server" },
    { "GenuineIntel", 6, 0x7d, 0x7e, "intel-ice-lake" },
    { "GenuineIntel", 6, 0x8c, 0x8d, "intel-tiger-lake" },
    { "GenuineIntel", 6, 0xa7, 0xa7, "intel-rocket-lake" },
    { "GenuineIntel", 6, 0x97, 0x97, "intel-alder-lake" },
    { "GenuineIntel", 6, 0x9a, 0x9a, "intel-alder-lake" },
    { "GenuineIntel", 6, 0xb7, 0xb7, "intel-raptor-lake" },
    { "GenuineIntel", 6, 0xba, 0xba, "intel-raptor-lake" },
    { "GenuineIntel", 6, 0xbf, 0xbf, "intel-raptor-lake" },
    { "GenuineIntel", 6, 0x8f, 0x8f, "intel-sapphire-rapids" },
    { "GenuineIntel", 6, 0xcf, 0xcf, "intel-emerald-rapids" },
    { "GenuineIntel", 6, 0xad, 0xae, "intel-granite-rapids" },
    { "GenuineIntel", 6, 0xaf, 0xaf, "intel-sierra-forest" },
    { "GenuineIntel", 6, 0xaa, 0xaa, "intel-meteor-lake" },
    { "GenuineIntel", 6, 0xac, 0xac, "intel-meteor-lake" },
    { "GenuineIntel", 6, 0xbd, 0xbd, "intel-lunar-lake" },
    { "GenuineIntel", 6, 0xc5, 0xc6, "intel-arrow-lake" },
    { "0x41", -1, 0xd03, 0xd03, "arm-cortex-a53" },
    { "0x41", -1, 0xd08, 0xd08, "arm-cortex-a72" },
    { "0x41", -1, 0xd0b, 0xd0b, "arm-cortex-a76" },
    { "0x41", -1, 0xd0c, 0xd0c, "arm-neoverse-n1" },
    { "0x41", -1, 0xd40, 0xd40, "arm-neoverse-v1" },
    { "0x41", -1, 0xd49, 0xd49, "arm-neoverse-n2" },
    { "0x41", -1, 0xd4f, 0xd4f, "arm-neoverse-v2" },
};

/*
 * Hypervisors may report other models than the processor's.  Matrix instructions tell: these
 * families have them, and no older one does.
 */
static const struct {
    const char *flag, *name;
} telling[] = {
    { "amx_fp16", "intel-granite-rapids" },
    { "amx_tile", "intel-sapphire-rapids" },
};

static bool has_flag(const char *flags, const char *flag)
{
    size_t length = strlen(flag);

    for (; (flags = strstr(flags, flag)) != NULL; flags += length)
        if (flags[length] == ' ' || flags[length] == '\0')
            return true;
    return false;
}

static const char *look_up(const struct family_numbers *numbers)
{
    const struct known *entry;

    for (entry = known; entry < known + sizeof known / sizeof known[0]; entry++)
        if (strcmp(entry->vendor, numbers->vendor) == 0 && entry->family == numbers->family &&
            entry->first <= numbers->model && numbers->model <= entry->last)
            return entry->name;
    return NULL;
}

/* Whether a family has matrix instructions: Intel's servers since Sapphire Rapids. */
static bool is_matrix_family(const char *name)
{
    return name != NULL && strstr(name, "-rapids") != NULL;
}

/* The letters and digits of a vendor's name, in lower case. */
static void simplify(const char *vendor, char *name, size_t size)
{
    size_t used = 0;

    for (; *vendor != '\0' && used + 1 < size; vendor++) {
        if ((*vendor >= 'a' && *vendor <= 'z') || (*vendor >= '0' && *vendor <= '9'))
            name[used++] = *vendor;
        else if (*vendor >= 'A' && *vendor <= 'Z')
            name[used++] = (char)(*vendor - 'A' + 'a');
    }
    name[used] = '\0';
}

void family_name(const struct family_numbers *numbers, char *name, size_t size)
{
    const char *found = look_up(numbers);
    char vendor[32];
    size_t i;

    for (i = 0; i < sizeof telling / sizeof telling[0] && !is_matrix_family(found); i++)
        if (has_flag(numbers->flags, telling[i].flag))
            found = telling[i].name;
    if (found != NULL) {
        snprintf(name, size, "%s", found);
        return;
    }
    simplify(numbers->vendor, vendor, sizeof vendor);
    if (vendor[0] == '\0')
        snprintf(name, size, "unknown");
    else if (numbers->family < 0)
        snprintf(name, size, "arm-%s-%lx", vendor, (unsigned long)numbers->model);
    else
        snprintf(name, size, "%s-%ld-%ld", vendor, numbers->family, numbers->model);
}

/* Keeps the value of "key : value" if the line has that key and none was kept. */
static void keep(const char *line, const char *key, char *kept, size_t size)
{
    size_t length = strlen(key);
    const char *value = line + length + strspn(line + length, " \t");

    if (kept[0] == '\0' && strncmp(line, key, length) == 0 && *value == ':') {
        value += 1 + strspn(value + 1, " \t");
        snprintf(kept, size, "%.*s", (int)strcspn(value, "\n"), value);
    }
}

void family_here(char *name, size_t size)
{
    static char flags[8192], line[8192];
    char vendor[32] = "", family[16] = "", model[16] = "", part[16] = "";
    struct family_numbers numbers;
    FILE *file = fopen("/proc/cpuinfo", "r");

    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        keep(line, "vendor_id", vendor, sizeof vendor);
        keep(line, "CPU implementer", vendor, sizeof vendor);
        keep(line, "cpu family", family, sizeof family);
        keep(line, "model", model, sizeof model);
        keep(line, "CPU part", part, sizeof part);
        keep(line, "flags", flags, sizeof flags);
    }
    if (file != NULL)
        fclose(file);
    numbers.vendor = vendor;
    numbers.family = part[0] != '\0' ? -1 : strtol(family, NULL, 10);
    numbers.model = part[0] != '\0' ? strtol(part, NULL, 16) : strtol(model, NULL, 10);
    numbers.flags = flags;
    family_name(&numbers, name, size);
}

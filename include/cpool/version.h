/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cpool/version.h - the version that this header belongs to.
 *
 * A release states its version only in these three numbers: configure, CMake and Meson read them
 * here.
 */
#ifndef CPOOL_VERSION_H
#define CPOOL_VERSION_H

#define CPOOL_VERSION_MAJOR 0
#define CPOOL_VERSION_MINOR 1
#define CPOOL_VERSION_PATCH 0

/* Names that end in an underscore are only for this file. */
#define CPOOL_VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
#define CPOOL_VERSION_OF_(major, minor, patch) CPOOL_VERSION_TEXT_(major, minor, patch)

/* The version as text, such as "1.2.3". */
#define CPOOL_VERSION \
    CPOOL_VERSION_OF_(CPOOL_VERSION_MAJOR, CPOOL_VERSION_MINOR, CPOOL_VERSION_PATCH)

/* Grows from version to version: 1002003 is 1.2.3. */
#define CPOOL_VERSION_NUMBER \
    (CPOOL_VERSION_MAJOR * 1000000u + CPOOL_VERSION_MINOR * 1000u + CPOOL_VERSION_PATCH * 1u)

#endif /* CPOOL_VERSION_H */

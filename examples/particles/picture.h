/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * picture.h - a black picture, dots of light on it, and a PNG file of it.
 *
 * Includes <stdint.h> and the like only.
 */
#ifndef PARTICLES_PICTURE_H
#define PARTICLES_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PICTURE_WIDTH 640
#define PICTURE_HEIGHT 360

/* Rows from the top, pixels from the left, red, green and blue of each. */
struct picture {
    uint8_t pixels[PICTURE_HEIGHT][PICTURE_WIDTH][3];
};

void picture_clear(struct picture *picture);

/* Adds light to a pixel, up to white.  Nothing for a pixel outside. */
void picture_light(struct picture *picture, int x, int y, const uint8_t colour[3]);

/* Pixels that are not black. */
size_t picture_lit(const struct picture *picture);

/* Returns true if this program was built with libpng. */
bool picture_has_files(void);

/* Writes a PNG file.  Returns true, or false after a complaint on standard error. */
bool picture_write(const struct picture *picture, const char *path);

/* Reads such a file of any size, and counts its pixels that are not black.  Returns false
 * after a complaint on standard error. */
bool picture_count(const char *path, uint32_t *width, uint32_t *height, size_t *lit);

#endif /* PARTICLES_PICTURE_H */

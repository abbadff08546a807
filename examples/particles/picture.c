/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * picture.c - see picture.h.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_PNG
#include <png.h>
#endif

void picture_clear(struct picture *picture)
{
    memset(picture, 0, sizeof *picture);
}

void picture_light(struct picture *picture, int x, int y, const uint8_t colour[3])
{
    if (x < 0 || x >= PICTURE_WIDTH || y < 0 || y >= PICTURE_HEIGHT)
        return;
    for (int i = 0; i < 3; i++) {
        unsigned sum = (unsigned)picture->pixels[y][x][i] + colour[i];

        picture->pixels[y][x][i] = sum < 255 ? (uint8_t)sum : 255;
    }
}

static size_t count_lit(const uint8_t *pixels, size_t count)
{
    size_t lit = 0;

    for (size_t i = 0; i < count; i++)
        lit += (pixels[3 * i] | pixels[3 * i + 1] | pixels[3 * i + 2]) != 0;
    return lit;
}

size_t picture_lit(const struct picture *picture)
{
    return count_lit(picture->pixels[0][0], (size_t)PICTURE_WIDTH * PICTURE_HEIGHT);
}

#ifdef HAVE_PNG

bool picture_has_files(void)
{
    return true;
}

bool picture_write(const struct picture *picture, const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = PICTURE_WIDTH,
                       .height = PICTURE_HEIGHT,
                       .format = PNG_FORMAT_RGB};

    if (png_image_write_to_file(&image, path, 0, picture->pixels, 0, NULL) != 0)
        return true;
    fprintf(stderr, "%s: %s\n", path, image.message);
    return false;
}

bool picture_count(const char *path, uint32_t *width, uint32_t *height, size_t *lit)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    uint8_t *pixels = NULL;
    bool read = png_image_begin_read_from_file(&image, path) != 0;

    if (read) {
        image.format = PNG_FORMAT_RGB;
        pixels = malloc(PNG_IMAGE_SIZE(image));
        read = pixels != NULL && png_image_finish_read(&image, NULL, pixels, 0, NULL) != 0;
    }
    if (read) {
        *width = image.width;
        *height = image.height;
        *lit = count_lit(pixels, (size_t)image.width * image.height);
    } else {
        fprintf(stderr, "%s: %s\n", path, image.message);
        png_image_free(&image);
    }
    free(pixels);
    return read;
}

#else

bool picture_has_files(void)
{
    return false;
}

bool picture_write(const struct picture *picture, const char *path)
{
    (void)picture;
    fprintf(stderr, "%s: built without libpng\n", path);
    return false;
}

bool picture_count(const char *path, uint32_t *width, uint32_t *height, size_t *lit)
{
    *width = *height = 0;
    *lit = 0;
    fprintf(stderr, "%s: built without libpng\n", path);
    return false;
}

#endif

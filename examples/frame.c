/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.c - objects that live for one frame, and one call to end them all.
 *
 * A game allocates what it needs while it computes a frame, and frees nothing: at the end
 * cpool_frame_reset gives every slot of the frame back at once, and the next frame begins with the
 * same slots, still warm in the processor's cache.  Slots that outlive their frame come from
 * cpool_alloc, and another frame adopts them when their end is known.  Other threads may use the
 * pool meanwhile, each with its own frames.
 *
 *     cc frame.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/frame.h>
#include <stdio.h>

#define FRAMES 3

struct contact {
    int body[2];
    float depth;
};

/* Finds the contacts of one frame and returns their number. */
static int find_contacts(cpool_frame_t *frame, int bodies)
{
    int found;

    for (found = 0; found < bodies; found++) {
        struct contact *contact = cpool_frame_alloc(frame);

        if (contact == NULL)
            break; /* more contacts than there are slots: ignore the rest */
        contact->body[0] = found;
        contact->body[1] = found + 1;
        contact->depth = 0.5f;
    }
    return found;
}

static size_t count_live(const cpool_t *pool)
{
    cpool_stats_t stats = CPOOL_STATS_INIT;

    return cpool_read_stats(pool, &stats) == 0 ? stats.live : 0;
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    struct contact *resting;
    cpool_frame_t *frame;
    cpool_t *contacts;
    int error;

    config.name = "contacts";
    config.slot_size = sizeof(struct contact);
    config.capacity = 250;
    error = cpool_create(&contacts, &config);
    if (error == 0)
        error = cpool_frame_begin(&frame, contacts);
    if (error != 0) {
        fprintf(stderr, "no frame: %s\n", cpool_strerror(error));
        return 1;
    }
    resting = cpool_alloc(contacts); /* for more than one frame */
    for (int n = 1; n <= FRAMES; n++) {
        int found = find_contacts(frame, 100 * n);
        size_t live = count_live(contacts);

        if (n == FRAMES && cpool_frame_adopt(frame, resting) != 0)
            return 1;
        cpool_frame_reset(frame);
        printf("frame %d: %d contacts, %zu live, %zu after its end\n", n, found, live,
               count_live(contacts));
    }
    cpool_frame_end(frame);
    return cpool_destroy(contacts) == 0 ? 0 : 1;
}

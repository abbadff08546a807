/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.c - objects that live for one frame, and one call to end them all.
 *
 * A game takes what it needs while it computes a frame and frees nothing: at
 * the end of the frame cpool_reset takes every slot back at once.  Its cost
 * does not depend on how many there were, and the next frame begins with the
 * same slots in the same order, still warm in the processor's cache.
 *
 * No thread may use the pool during cpool_reset, nor an old slot after it.
 *
 *     cc frame.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool.h>
#include <stdio.h>

#define FRAMES 3

struct contact {
    int body[2];
    float depth;
};

/* Finds the contacts of one frame and returns their number. */
static int find_contacts(cpool_t *contacts, int frame, struct contact **first)
{
    int found = 0;

    *first = NULL;
    for (int body = 0; body < 100 * frame; body++) {
        struct contact *contact = cpool_alloc(contacts);

        if (contact == NULL)
            break; /* more contacts than there are slots: ignore the rest */
        contact->body[0] = body;
        contact->body[1] = body + 1;
        contact->depth = 0.5f;
        if (found++ == 0)
            *first = contact;
    }
    return found;
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    cpool_t *contacts;
    int error;

    config.name = "contacts";
    config.slot_size = sizeof(struct contact);
    config.capacity = 250;
    error = cpool_create(&contacts, &config);
    if (error != 0) {
        fprintf(stderr, "no pool: %s\n", cpool_strerror(error));
        return 1;
    }
    for (int frame = 1; frame <= FRAMES; frame++) {
        struct contact *first;
        int found = find_contacts(contacts, frame, &first);
        size_t index = cpool_index(contacts, first);
        size_t released = cpool_reset(contacts);

        printf("frame %d: %d contacts, the first in slot %zu, %zu released\n", frame, found, index,
               released);
    }
    return cpool_destroy(contacts) == 0 ? 0 : 1;
}

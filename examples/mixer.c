/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mixer.c - few voices for many sounds: the loudest are heard.
 *
 * For sound, and for whatever else has less room than demand, so that the least important has to
 * go.  A sound that finds all voices taken gets that of the quietest one, but not of a louder one
 * than itself.  A sound has a claim to its voice, which ends when another sound gets it.  So the
 * end of a sound stops it without harm, whoever has the voice by then.  What is being said is kept.
 * The pool is a typed one, made when the first sound is played.
 *
 *     cc -std=c11 mixer.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/priority.h>

#include <stdio.h>

#define VOICES 3

struct voice {
    const char *sound;
};

struct sound {
    const char *name;
    cpool_claim_t claim; /* 0: not to be heard */
};

/* Of the sound's end, or because a louder one needs the voice. */
static void fall_silent(void *object, void *arg)
{
    struct voice *voice = object;

    (void)arg;
    voice->sound = NULL;
}

CPOOL_OBJECTS_DECLARE(voices, struct voice);
CPOOL_OBJECTS_DEFINE(voices, struct voice, CPOOL_OBJECT_HOOKS(.deactivate = fall_silent),
                     .capacity = VOICES,
                     .flags = CPOOL_OBJECT_PRIORITY | CPOOL_OBJECT_KEEP_LARGER);

static void play(struct sound *sound, int64_t loudness)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    struct voice *voice;
    int code;

    grant.priority = loudness;
    code = voices_get_with(&voice, &grant);
    sound->claim = grant.claim;
    if (code != 0) {
        printf("%s: not to be heard\n", sound->name);
        return;
    }
    voice->sound = sound->name;
    printf("%s: %s\n", sound->name, grant.ended != 0 ? "in place of a quieter one" : "to be heard");
}

/* It comes nearer, or goes away. */
static void set_loudness(const struct sound *sound, int64_t loudness)
{
    if (cpool_priority_set(voices_objects(), sound->claim, loudness) == CPOOL_EINACTIVE)
        printf("%s: was not to be heard any more\n", sound->name);
}

static void stop(const struct sound *sound)
{
    bool had_voice = cpool_priority_put(voices_objects(), sound->claim) == 0;

    printf("%s: ends, %s\n", sound->name, had_voice ? "and leaves its voice" : "unheard");
}

int main(void)
{
    struct sound wind = { "wind", 0 }, music = { "music", 0 }, speech = { "speech", 0 };
    struct sound truck = { "truck", 0 }, bird = { "bird", 0 }, horn = { "horn", 0 };

    play(&speech, CPOOL_PRIORITY_KEPT);
    play(&music, 50);
    play(&wind, 20);
    play(&bird, 10);
    play(&truck, 30);
    set_loudness(&wind, 25); /* the truck has its voice */
    set_loudness(&truck, 70);
    play(&horn, 60);
    stop(&wind);
    stop(&music);
    stop(&truck);
    stop(&horn);
    stop(&speech);
    return voices_close() == 0 ? 0 : 1;
}

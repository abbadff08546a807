/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mixer.c - few voices for many sounds: the loudest are heard.
 *
 * For sound, and for whatever else has less room than demand, so that the least important has to
 * go.  A sound that finds all voices taken gets that of the quietest one, but not of a louder one
 * than itself.  A sound has a claim to its voice, which ends when another sound gets it.  So the
 * end of a sound stops it without harm, whoever has the voice by then.  What is being said is kept.
 *
 *     cc -std=c11 mixer.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/priority.h>

#include <stdio.h>
#include <stdlib.h>

#define VOICES 3

struct voice {
    const char *sound;
};

struct sound {
    const char *name;
    cpool_claim_t claim; /* 0: not to be heard */
};

static cpool_objects_t *voices;

/* Of the sound's end, or because a louder one needs the voice. */
static void fall_silent(void *object, void *arg)
{
    struct voice *voice = object;

    (void)arg;
    voice->sound = NULL;
}

static void play(struct sound *sound, int64_t loudness)
{
    cpool_grant_t grant = CPOOL_GRANT_INIT;
    struct voice *voice;
    void *object;
    int code;

    grant.priority = loudness;
    code = cpool_object_get_with(voices, &object, &grant);
    sound->claim = grant.claim;
    if (code != 0) {
        printf("%s: not to be heard\n", sound->name);
        return;
    }
    voice = object;
    voice->sound = sound->name;
    printf("%s: %s\n", sound->name, grant.ended != 0 ? "in place of a quieter one" : "to be heard");
}

/* It comes nearer, or goes away. */
static void set_loudness(const struct sound *sound, int64_t loudness)
{
    if (cpool_priority_set(voices, sound->claim, loudness) == CPOOL_EINACTIVE)
        printf("%s: was not to be heard any more\n", sound->name);
}

static void stop(const struct sound *sound)
{
    bool had_voice = cpool_priority_put(voices, sound->claim) == 0;

    printf("%s: ends, %s\n", sound->name, had_voice ? "and leaves its voice" : "unheard");
}

static cpool_objects_t *make_voices(void)
{
    cpool_object_config_t config = CPOOL_OBJECT_CONFIG_INIT;
    cpool_object_type_t type = CPOOL_OBJECT_TYPE_INIT;
    cpool_objects_t *pool;
    int code;

    type.object_size = sizeof(struct voice);
    type.deactivate = fall_silent;
    config.name = "voices";
    config.type = &type;
    config.capacity = VOICES;
    config.flags = CPOOL_OBJECT_PRIORITY | CPOOL_OBJECT_KEEP_LARGER;
    code = cpool_objects_create(&pool, &config);
    if (code != 0) {
        fprintf(stderr, "mixer: %s\n", cpool_strerror(code));
        exit(1);
    }
    return pool;
}

int main(void)
{
    struct sound wind = { "wind", 0 }, music = { "music", 0 }, speech = { "speech", 0 };
    struct sound truck = { "truck", 0 }, bird = { "bird", 0 }, horn = { "horn", 0 };

    voices = make_voices();
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
    return cpool_objects_destroy(voices) == 0 ? 0 : 1;
}

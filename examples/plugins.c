/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * plugins.c - a program finds out which of its plugins damages or keeps what it was lent.
 *
 * For programs that run code of others, and for those that are looking for a mistake of their own.
 * Plugins get notes from a checked pool.  The program's error handler writes down each mistake and
 * whose it is, and the program goes on without that plugin.  Mistakes with other pools go to the
 * handler that was set before.  What a plugin still has at its end is a leak: the log has the
 * places that took it.
 *
 *     plugins [log]
 *
 *     cc -std=c11 plugins.c $(pkg-config --cflags --libs cpool)
 */
#include <cpool/debug.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct note {
    char text[40];
};

static cpool_t *notes;
static FILE *report; /* the log, or NULL */

/*
 * ---- The plugins ------------------------------------------------------------
 */

/* In a real program these are loaded by dlopen. */
struct plugin {
    const char *name;
    void (*run)(const struct plugin *self);
    int mistakes;
};

static struct note *write_note(const char *text, size_t length)
{
    struct note *note = cpool_alloc(notes);

    if (note != NULL)
        memcpy(note, text, length);
    return note;
}

static void run_careful(const struct plugin *self)
{
    cpool_free(notes, write_note(self->name, strlen(self->name) + 1));
}

/* "No name is that long." */
static void run_sloppy(const struct plugin *self)
{
    char line[64];

    memset(line, '-', sizeof line);
    memcpy(line, self->name, strlen(self->name));
    cpool_free(notes, write_note(line, sizeof line - strlen(self->name)));
}

/* Frees its note, and once more at the end. */
static void run_busy(const struct plugin *self)
{
    struct note *note = write_note(self->name, strlen(self->name) + 1);

    cpool_free(notes, note);
    cpool_free(notes, note);
}

static void run_forgetful(const struct plugin *self)
{
    for (int i = 0; i < 3; i++)
        (void)write_note(self->name, strlen(self->name) + 1);
}

static struct plugin plugins[] = {
    { "careful", run_careful, 0 },
    { "sloppy", run_sloppy, 0 },
    { "busy", run_busy, 0 },
    { "forgetful", run_forgetful, 0 },
};

/*
 * ---- What the program does about their mistakes -------------------------------
 */

static struct plugin *running;
static cpool_error_handler_t handler_before;

static void note_mistake(const cpool_error_t *error, void *arg)
{
    (void)arg;
    if (error->pool != notes && handler_before.report != NULL) {
        handler_before.report(error, handler_before.arg);
        return;
    }
    if (running == NULL)
        abort(); /* a mistake of the program's own */
    running->mistakes++;
    printf("%s: %s\n", running->name, cpool_strerror(error->code));
    if (report != NULL)
        fprintf(report, "%s: %s\n%s", running->name, error->text, error->details);
}

static void write_report(const char *text, size_t length, void *arg)
{
    if (arg != NULL)
        fwrite(text, 1, length, arg);
}

/* Takes back what the plugin has not freed: no later one is to blame for it. */
static void finish(struct plugin *plugin)
{
    size_t leaks;

    (void)cpool_verify(notes, NULL); /* damage that no free has found */
    running = NULL;
    leaks = cpool_dump(notes, CPOOL_DUMP_LIVE, write_report, report);
    if (leaks > 0)
        printf("%s: notes not freed: %zu\n", plugin->name, leaks);
    if (plugin->mistakes == 0 && leaks == 0)
        printf("%s: no mistake\n", plugin->name);
    (void)cpool_reset(notes);
}

int main(int argc, char **argv)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    int error;

    if (argc > 1 && (report = fopen(argv[1], "w")) == NULL) {
        perror(argv[1]);
        return 1;
    }
    config.name = "notes";
    config.slot_size = sizeof(struct note);
    config.capacity = 100;
    config.flags = CPOOL_CHECKED | CPOOL_NO_POISON; /* the program looks for damage itself */
    error = cpool_create(&notes, &config);
    if (error != 0) {
        fprintf(stderr, "plugins: %s\n", cpool_strerror(error));
        return 1;
    }
    handler_before = cpool_set_error_handler((cpool_error_handler_t){ note_mistake, NULL });
    for (size_t i = 0; i < sizeof plugins / sizeof plugins[0]; i++) {
        running = &plugins[i];
        running->run(running);
        finish(&plugins[i]);
    }
    cpool_set_error_handler(handler_before);
    if (report != NULL)
        fclose(report);
    return cpool_destroy(notes) == 0 ? 0 : 1;
}

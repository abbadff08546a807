/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole.c - a program with parts that have libcpool inside.
 *
 *   whole [PLUGIN...]     Each is loaded, used by two threads and closed, twice.  The other thread
 *                         ends afterwards.
 *
 * PART_OF_ITS_OWN: the program has a part, too (part.c), own_work and own_close.  PART_LINKED: and
 * one that it is linked with, sdk_work and sdk_close.  Plug-ins have plug_work and plug_close.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 8 };

struct part {
    unsigned (*work)(void);
    int (*close)(void);
    void *plugin;
};

unsigned own_work(void);
unsigned sdk_work(void);
int own_close(void);
int sdk_close(void);

static struct part parts[MOST];
static unsigned count;
static unsigned failures;
static pthread_barrier_t barrier;

static void fails(const char *what)
{
    printf("%s\n", what);
    failures++;
}

static void use_all(void)
{
    for (unsigned i = 0; i < count; i++)
        if (parts[i].work() != 200)
            fails("a part does not work");
}

static void *thread(void *nothing)
{
    use_all();
    pthread_barrier_wait(&barrier); /* used */
    pthread_barrier_wait(&barrier); /* closed */
    return nothing;
}

static void find(void *plugin, const char *name, void *function)
{
    void *address = dlsym(plugin, name);

    memcpy(function, &address, sizeof address);
}

static int load(const char *path)
{
    struct part *part = &parts[count];

    part->plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (part->plugin == NULL) {
        fails(dlerror());
        return -1;
    }
    find(part->plugin, "plug_work", &part->work);
    find(part->plugin, "plug_close", &part->close);
    count++;
    return 0;
}

static void use_and_close(unsigned own)
{
    pthread_t other;

    pthread_create(&other, NULL, thread, NULL);
    pthread_barrier_wait(&barrier);
    use_all();
    for (; count > own; count--) {
        if (parts[count - 1].close() != 0)
            fails("slots are still live");
        dlclose(parts[count - 1].plugin);
    }
    pthread_barrier_wait(&barrier);
    pthread_join(other, NULL);
    use_all();
}

int main(int argc, char **argv)
{
    unsigned own;

#if defined(PART_OF_ITS_OWN)
    parts[count++] = (struct part){ own_work, own_close, NULL };
#endif
#if defined(PART_LINKED)
    parts[count++] = (struct part){ sdk_work, sdk_close, NULL };
#endif
    own = count;
    pthread_barrier_init(&barrier, NULL, 2);
    for (int round = 0; round < 2; round++) {
        for (int i = 1; i < argc && count < MOST; i++)
            if (load(argv[i]) != 0)
                return 1;
        use_and_close(own);
    }
    while (count-- > 0)
        if (parts[count].close() != 0)
            fails("slots are still live");
    if (failures == 0)
        printf("1023 jobs done\n"); /* the line that all doors print */
    return failures != 0;
}

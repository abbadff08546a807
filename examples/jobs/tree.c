/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tree.c - the walk: jobs for directories, and the run as a whole (tree.h).
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "tree_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Files that may be open.  A tree of this depth, with all its jobs run in
 * place, still fits onto a worker's stack (WORKER_STACK in scheduler.c). */
#define DESCRIPTORS ((rlim_t)4096)

/* Bytes of a path that messages show.  Of longer ones they show the end. */
#define PATH_ROOM 480

size_t tree_job_size(void)
{
    return sizeof(struct tree_job);
}

/* ---- What is left out ----------------------------------------------------------- */

/* Puts text before what is in a buffer from `start` on, up to its room. */
static char *prepend(char *buffer, char *start, const char *text)
{
    size_t length = strlen(text);
    size_t room = (size_t)(start - buffer);

    if (length > room) {
        text += length - room;
        length = room;
    }
    return memcpy(start - length, text, length);
}

static bool ends_in_slash(const char *path)
{
    size_t length = strlen(path);

    return length > 0 && path[length - 1] == '/';
}

/* The path of `name` in a directory.  buffer has PATH_ROOM bytes. */
static const char *path_of(struct tree_job *directory, const char *name, char *buffer)
{
    char *start = buffer + PATH_ROOM - 1;

    *start = '\0';
    start = prepend(buffer, start, name);
    for (; directory->job.parent != NULL; directory = tree_job_of(directory->job.parent)) {
        start = prepend(buffer, start, "/");
        start = prepend(buffer, start, directory->name);
    }
    if (!ends_in_slash(directory->tree->plan->path))
        start = prepend(buffer, start, "/");
    return prepend(buffer, start, directory->tree->plan->path);
}

static void skip_entry(struct tree_job *directory, const char *name, enum skip_kind kind,
                       int error)
{
    char buffer[PATH_ROOM];

    skipped_add_named(directory->tree->skipped, kind, path_of(directory, name, buffer), error);
}

void tree_skip(struct tree_job *job, enum skip_kind kind, int error)
{
    if (job->job.parent != NULL)
        skip_entry(tree_job_of(job->job.parent), job->name, kind, error);
    else
        skipped_add_named(job->tree->skipped, kind, job->tree->plan->path, error);
}

/* ---- Running out of result nodes -------------------------------------------------- */

bool tree_is_dry(struct tree *tree)
{
    return atomic_load_explicit(&tree->dry, memory_order_relaxed); /* [notice] */
}

void tree_set_dry(struct tree *tree)
{
    atomic_store_explicit(&tree->dry, true, memory_order_relaxed); /* [notice] */
}

struct tally *tree_new_tally(struct tree *tree)
{
    struct tally *tally = tally_create(tree->plan->results);

    if (tally == NULL)
        tree_set_dry(tree);
    return tally;
}

/* ---- Directories ------------------------------------------------------------------------ */

/* Opens a directory and sets all of its job.  The stream is NULL when it cannot. */
static void directory_open(struct tree_job *self)
{
    struct directory_job *directory = &self->directory;
    int flags = O_RDONLY | O_CLOEXEC | O_DIRECTORY;
    int descriptor = self->job.parent == NULL
                         ? open(self->tree->plan->path, flags)
                         : openat(tree_job_of(self->job.parent)->directory.descriptor,
                                  self->name, flags | O_NOFOLLOW);
    struct stat status;

    directory->stream = NULL;
    directory->descriptor = descriptor;
    atomic_init(&directory->sum, NULL);
    if (descriptor >= 0 && fstat(descriptor, &status) == 0)
        directory->stream = fdopendir(descriptor);
    if (directory->stream == NULL) {
        tree_skip(self, SKIP_DIRECTORY, errno);
        if (descriptor >= 0)
            close(descriptor);
        return;
    }
    directory->device = status.st_dev;
    directory->inode = status.st_ino;
}

/* A symbolic link: only counted, but a loop is worth a name. */
static void skip_link(struct tree_job *directory, const char *name)
{
    struct tree_job *above = directory;
    struct stat target;

    if (fstatat(directory->directory.descriptor, name, &target, 0) != 0) {
        if (errno == ELOOP)
            skip_entry(directory, name, SKIP_LOOP, ELOOP);
        else
            skipped_add(directory->tree->skipped, SKIP_LINK);
        return;
    }
    while (above != NULL && (above->directory.device != target.st_dev ||
                             above->directory.inode != target.st_ino))
        above = above->job.parent != NULL ? tree_job_of(above->job.parent) : NULL;
    if (above != NULL)
        skip_entry(directory, name, SKIP_LOOP, ELOOP);
    else
        skipped_add(directory->tree->skipped, SKIP_LINK);
}

/* The type bits of an entry's mode.  Returns 0 with errno if that fails. */
static mode_t entry_type(struct tree_job *directory, const struct dirent *entry)
{
    struct stat status;

#ifdef DT_UNKNOWN /* where readdir tells, which is not everywhere */
    switch (entry->d_type) {
    case DT_REG:
        return S_IFREG;
    case DT_DIR:
        return S_IFDIR;
    case DT_LNK:
        return S_IFLNK;
    default:
        break;
    }
#endif
    if (fstatat(directory->directory.descriptor, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    return status.st_mode & S_IFMT;
}

static void directory_submit(struct worker *worker, struct tree *tree, struct tree_job *parent,
                             const char *name);

static void directory_entry(struct worker *worker, struct tree_job *self,
                            const struct dirent *entry)
{
    const char *name = entry->d_name;
    mode_t type = entry_type(self, entry);

    if (type == 0)
        skip_entry(self, name, SKIP_FILE, errno);
    else if (S_ISLNK(type))
        skip_link(self, name);
    else if (!S_ISREG(type) && !S_ISDIR(type))
        skipped_add(self->tree->skipped, SKIP_SPECIAL);
    else if (strlen(name) >= NAME_ROOM)
        skip_entry(self, name, S_ISDIR(type) ? SKIP_DIRECTORY : SKIP_FILE, ENAMETOOLONG);
    else if (S_ISDIR(type))
        directory_submit(worker, self->tree, self, name);
    else
        file_submit(worker, self, name);
}

/* The next entry but . and .., or NULL at the end or, with errno, on failure. */
static const struct dirent *next_entry(DIR *stream)
{
    const struct dirent *entry;

    do {
        errno = 0;
        entry = readdir(stream);
    } while (entry != NULL &&
             (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry;
}

static void directory_body(struct worker *worker, struct job *job)
{
    struct tree_job *self = tree_job_of(job);
    const struct dirent *entry;
    struct tally *own;

    directory_open(self);
    if (self->directory.stream == NULL)
        return;
    own = tree_new_tally(self->tree);
    if (own != NULL)
        own->directories = 1;
    tally_deposit(&self->directory.sum, own, self->tree->plan->results);
    while (!tree_is_dry(self->tree) && (entry = next_entry(self->directory.stream)) != NULL)
        directory_entry(worker, self, entry);
    if (!tree_is_dry(self->tree) && errno != 0)
        tree_skip(self, SKIP_DIRECTORY, errno);
}

static void directory_continuation(struct worker *worker, struct job *job)
{
    struct tree_job *self = tree_job_of(job);
    tally_place *place = job->parent != NULL ? &tree_job_of(job->parent)->directory.sum
                                             : &self->tree->total;

    (void)worker;
    if (self->directory.stream != NULL)
        closedir(self->directory.stream);
    tally_deposit(place, tally_collect(&self->directory.sum), self->tree->plan->results);
}

/* Makes a job of a directory.  name is shorter than NAME_ROOM. */
static void directory_submit(struct worker *worker, struct tree *tree, struct tree_job *parent,
                             const char *name)
{
    struct tree_job spare;
    struct tree_job *self =
        tree_job_of(job_prepare(worker, parent != NULL ? &parent->job : NULL, &spare.job,
                                directory_body, directory_continuation));

    self->tree = tree;
    memcpy(self->name, name, strlen(name) + 1);
    job_submit(worker, &self->job);
}

/* ---- The run ------------------------------------------------------------------------------ */

static void start(struct worker *worker, void *context)
{
    directory_submit(worker, context, NULL, "");
}

static void watch(const struct scheduler_figures *figures, void *context)
{
    struct tree *tree = context;
    uint64_t bytes = atomic_load_explicit(&tree->bytes, memory_order_relaxed); /* [notice] */

    if (tree->plan->watch != NULL)
        tree->plan->watch(figures, bytes, tree->plan->context);
}

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int tree_count(const struct tree_plan *plan, struct tree_outcome *outcome)
{
    struct tree tree = {.plan = plan, .skipped = &outcome->skipped};
    struct scheduler_plan work = {.threads = plan->threads,
                                  .jobs = plan->jobs,
                                  .scratch_size = SCRATCH_SIZE,
                                  .start = start,
                                  .watch = watch,
                                  .context = &tree};
    double begin = seconds_now();
    int error;

    memset(outcome, 0, sizeof *outcome);
    skipped_init(&outcome->skipped);
    error = scheduler_run(&work, &outcome->figures);
    outcome->seconds = seconds_now() - begin;
    outcome->total = tally_collect(&tree.total);
    outcome->dry = tree_is_dry(&tree);
    outcome->result_nodes =
        atomic_load_explicit(&tree.result_nodes, memory_order_relaxed); /* [notice] */
    return error;
}

void tree_outcome_fini(struct tree_outcome *outcome, struct allocator *results)
{
    tally_destroy(outcome->total, results);
    outcome->total = NULL;
    skipped_fini(&outcome->skipped);
}

void tree_set_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max < DESCRIPTORS ? limit.rlim_max : DESCRIPTORS;
        setrlimit(RLIMIT_NOFILE, &limit); /* if refused, the present limit must do */
    }
}

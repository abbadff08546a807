/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * file.c - jobs for files, and for the pieces of large ones.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "tree_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Pieces of files ----------------------------------------------------------------- */

/* Reads up to `size` bytes, fewer only at the end of the file.  Returns the
 * number, or -1 with errno. */
static ssize_t read_at(int descriptor, unsigned char *buffer, size_t size, off_t offset)
{
    size_t done = 0;

    while (done < size) {
        ssize_t n = pread(descriptor, buffer + done, size - done, offset + (off_t)done);

        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0)
            done += (size_t)n;
    }
    return (ssize_t)done;
}

/* Counts the bytes from begin to end, at most TREE_CHUNK.  NULL when there is
 * no node, or the file cannot be read. */
static struct tally *count_piece(struct worker *worker, struct tree_job *file, off_t begin,
                                 off_t end)
{
    struct tree *tree = file->tree;
    unsigned char *buffer = worker_scratch(worker);
    size_t before = begin > 0 ? 1 : 0;
    size_t length = (size_t)(end - begin);
    ssize_t got = read_at(file->file.descriptor, buffer, before + length + IDENTIFIER_LENGTH,
                          begin - (off_t)before);
    size_t available = got > (ssize_t)before ? (size_t)got - before : 0;
    struct text_piece piece;
    struct tally *tally;

    if (got < 0) {
        atomic_store_explicit(&file->file.error, errno, memory_order_relaxed); /* [notice] */
        return NULL;
    }
    tally = tree_new_tally(tree);
    if (tally == NULL)
        return NULL;
    text_piece_init(&piece, buffer + before, length < available ? length : available, available,
                    before == 1 && got > 0 && text_is_name(buffer[0]));
    if (!tally_count(tally, tree->plan->results, &piece))
        tree_set_dry(tree);
    atomic_fetch_add_explicit(&tree->bytes, piece.length, memory_order_relaxed); /* [notice] */
    atomic_fetch_add_explicit(&tree->result_nodes, tally->identifiers.nodes + 1,
                              memory_order_relaxed); /* [notice] */
    return tally;
}

static void submit_range(struct worker *worker, struct tree_job *parent, struct tree_job *file,
                         off_t begin, off_t end, struct tally **whole);

/* Halves a range until it is one piece.  Pieces start at multiples of TREE_CHUNK. */
static void range_body(struct worker *worker, struct job *job)
{
    struct tree_job *self = tree_job_of(job);
    struct range_job *range = &self->range;
    off_t chunk = (off_t)TREE_CHUNK;
    off_t chunks = (range->end - range->begin + chunk - 1) / chunk;
    off_t middle = range->begin + (chunks + 1) / 2 * chunk;

    if (tree_is_dry(self->tree))
        return;
    if (chunks <= 1) {
        range->half[0] = count_piece(worker, range->file, range->begin, range->end);
    } else {
        submit_range(worker, self, range->file, range->begin, middle, &range->half[0]);
        submit_range(worker, self, range->file, middle, range->end, &range->half[1]);
    }
}

static void range_continuation(struct worker *worker, struct job *job)
{
    struct tree_job *self = tree_job_of(job);
    struct range_job *range = &self->range;

    (void)worker;
    *range->whole = tally_join(range->half[0], range->half[1], self->tree->plan->results);
}

static void submit_range(struct worker *worker, struct tree_job *parent, struct tree_job *file,
                         off_t begin, off_t end, struct tally **whole)
{
    struct tree_job spare;
    struct tree_job *self = tree_job_of(
        job_prepare(worker, &parent->job, &spare.job, range_body, range_continuation));

    self->tree = parent->tree;
    self->range.file = file;
    self->range.begin = begin;
    self->range.end = end;
    self->range.half[0] = NULL;
    self->range.half[1] = NULL;
    self->range.whole = whole;
    job_submit(worker, &self->job);
}

/* ---- Files ----------------------------------------------------------------------------- */

static void file_body(struct worker *worker, struct job *job)
{
    struct tree_job *self = tree_job_of(job);
    struct file_job *file = &self->file;
    struct stat status;

    file->descriptor = -1;
    file->sum = NULL;
    atomic_init(&file->error, 0);
    if (tree_is_dry(self->tree))
        return;
    /* It may have become something else since the directory was read: neither
     * follow a link nor wait for somebody at the other end of a pipe. */
    file->descriptor = openat(tree_job_of(job->parent)->directory.descriptor, self->name,
                              O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    if (file->descriptor < 0 || fstat(file->descriptor, &status) != 0)
        atomic_store_explicit(&file->error, errno, memory_order_relaxed); /* [notice] */
    else if (!S_ISREG(status.st_mode))
        skipped_add(self->tree->skipped, SKIP_SPECIAL);
    else if (status.st_size <= (off_t)TREE_CHUNK)
        file->sum = count_piece(worker, self, 0, status.st_size);
    else
        submit_range(worker, self, self, 0, status.st_size, &file->sum);
}

static void file_continuation(struct worker *worker, struct job *job)
{
    struct tree_job *self = tree_job_of(job);
    struct allocator *results = self->tree->plan->results;
    int error = atomic_load_explicit(&self->file.error, memory_order_relaxed); /* [notice] */

    (void)worker;
    if (self->file.descriptor >= 0)
        close(self->file.descriptor);
    if (error != 0) { /* not even what could be read of it */
        tree_skip(self, SKIP_FILE, error);
        tally_destroy(self->file.sum, results);
    } else if (self->file.sum != NULL) {
        self->file.sum->files = 1;
        tally_deposit(&tree_job_of(job->parent)->directory.sum, self->file.sum, results);
    }
}

void file_submit(struct worker *worker, struct tree_job *directory, const char *name)
{
    struct tree_job spare;
    struct tree_job *self = tree_job_of(
        job_prepare(worker, &directory->job, &spare.job, file_body, file_continuation));

    self->tree = directory->tree;
    memcpy(self->name, name, strlen(name) + 1);
    job_submit(worker, &self->job);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fixed_buffers.c - the kernel reads a file into slots of a pool that it has been told once.
 *
 * For devices and for io_uring on Linux.  A read into a fixed buffer spares the kernel to look up
 * and to pin its pages each time.  It needs memory that is there and stays, as CPOOL_RESIDENT has
 * it.  All slots are one buffer to the kernel, and each read has a slot of it.
 *
 * A kernel that has no io_uring, or refuses it, as many containers do, or has too small a limit for
 * locked memory, is no mistake: then this says so, and exits with 77.
 *
 *     cc -std=c11 fixed_buffers.c $(pkg-config --cflags --libs cpool liburing)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* what <liburing.h> needs, where -std=c11 hides it */
#endif

#include <cpool.h>
#include <liburing.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#define BLOCK 4096
#define BLOCKS 100 /* of the file */
#define BUFFERS 8  /* reads in flight */
#define REFUSED 77 /* the exit status of a test that is skipped */

static struct io_uring ring;
static cpool_t *buffers;
static FILE *file;
static size_t block_in[BUFFERS]; /* by the index of a buffer: what is read into it */

static void require(bool holds, const char *what)
{
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* Ends the program if the result of liburing is a refusal. */
static void obtain(int result, const char *what)
{
    if (result >= 0)
        return;
    printf("%s: refused by the kernel: %s\n", what, strerror(-result));
    exit(result == -ENOSYS || result == -EPERM || result == -EACCES || result == -ENOMEM ? REFUSED
                                                                                        : 1);
}

static unsigned char byte_of(size_t block)
{
    return (unsigned char)(block * 7 + 1);
}

static void write_file(void)
{
    static unsigned char block[BLOCK];

    file = tmpfile();
    require(file != NULL, "no file");
    for (size_t i = 0; i < BLOCKS; i++) {
        memset(block, byte_of(i), sizeof block);
        require(fwrite(block, sizeof block, 1, file) == 1, "write");
    }
    require(fflush(file) == 0, "write");
}

/* One buffer for all slots. */
static void register_pool(void)
{
    struct iovec all;

    all.iov_len = cpool_span(buffers, &all.iov_base);
    obtain(io_uring_queue_init(BUFFERS, &ring, 0), "io_uring");
    obtain(io_uring_register_buffers(&ring, &all, 1), "fixed buffers");
}

/* Returns false if no buffer is free. */
static bool begin_read(size_t block)
{
    struct io_uring_sqe *sqe;
    void *slot = cpool_alloc(buffers);

    if (slot == NULL)
        return false;
    sqe = io_uring_get_sqe(&ring); /* there is one for each buffer */
    require(sqe != NULL, "no entry");
    block_in[cpool_index(buffers, slot)] = block;
    io_uring_prep_read_fixed(sqe, fileno(file), slot, BLOCK, block * BLOCK, 0);
    io_uring_sqe_set_data(sqe, slot);
    return true;
}

static bool is_block(const unsigned char *bytes, size_t block)
{
    return bytes[0] == byte_of(block) && memcmp(bytes, bytes + 1, BLOCK - 1) == 0;
}

/* Waits for a read, and gives its buffer back.  Returns whether it brought the right block. */
static bool end_read(void)
{
    struct io_uring_cqe *cqe;
    unsigned char *slot;
    bool right;

    obtain(io_uring_wait_cqe(&ring, &cqe), "wait");
    obtain(cqe->res, "read");
    slot = io_uring_cqe_get_data(cqe);
    right = cqe->res == BLOCK && is_block(slot, block_in[cpool_index(buffers, slot)]);
    io_uring_cqe_seen(&ring, cqe);
    cpool_free(buffers, slot);
    return right;
}

int main(void)
{
    cpool_config_t config = CPOOL_CONFIG_INIT;
    size_t begun = 0, right = 0;

    config.name = "buffers";
    config.slot_size = BLOCK;
    config.slot_align = BLOCK; /* for files that are opened with O_DIRECT */
    config.capacity = BUFFERS;
    config.flags = CPOOL_RESIDENT;
    require(cpool_create(&buffers, &config) == 0, "no pool");
    write_file();
    register_pool();
    for (size_t ended = 0; ended < BLOCKS; ended++) {
        while (begun < BLOCKS && begin_read(begun))
            begun++;
        obtain(io_uring_submit(&ring), "submit");
        right += end_read();
    }
    printf("%zu of %d blocks read into %d fixed buffers as they were written\n", right, BLOCKS,
           BUFFERS);
    io_uring_queue_exit(&ring);
    fclose(file);
    return cpool_destroy(buffers) == 0 && right == BLOCKS ? 0 : 1;
}

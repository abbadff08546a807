/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * structs.h - public structures of programs built against another header.
 *
 * Such a program passes fewer bytes than the library knows, or more (HACKING.md, "The interface").
 */
#ifndef CPI_STRUCTS_H
#define CPI_STRUCTS_H

#include <cpool.h>

/* The largest size that is plausible, bytes.  A structure that was not initialised begins with a
 * random number. */
#define CPI_STRUCT_MAX ((size_t)4096)

/* Copies the program's structure at `given` to `known`, a structure of `size` bytes.  Members that
 * the program's header lacks become zero.  Returns 0, or CPOOL_ESTRUCT if the given size is
 * implausible, or a byte beyond the library's structure is not zero.  Wait-free. */
int cpi_struct_read(void *known, size_t size, const void *given);

/* Returns 0 if the size at `given` is plausible, else CPOOL_ESTRUCT. */
int cpi_struct_check(const void *given);

/* Copies the library's structure at `known`, of `size` bytes, to the program's structure at
 * `given`, which has passed cpi_struct_check.  The program's size member is kept and limits what is
 * written.  Bytes that the library does not know become zero.  Wait-free. */
void cpi_struct_write(void *given, const void *known, size_t size);

#endif /* CPI_STRUCTS_H */

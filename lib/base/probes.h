/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * probes.h - static probes, for tracers that look into running programs.
 *
 * Includes <sys/sdt.h>, where configure --enable-probes asks for it.
 *
 * A probe is an instruction without effect at its place, and a note in the library that
 * names the place and tells where the arguments are.  <cpool/pools.h> lists them all.  They
 * stand on slow paths alone.
 */
#ifndef CPI_PROBES_H
#define CPI_PROBES_H

#ifdef CPI_PROBES
#include <sys/sdt.h>
#ifdef __clang__ /* of the macros of that header */
#pragma clang diagnostic ignored "-Wgnu-zero-variadic-macro-arguments"
#endif
#define CPI_PROBE2(name, a, b) DTRACE_PROBE2(libcpool, name, a, b)
#else
#define CPI_PROBE2(name, a, b) ((void)0)
#endif

#endif /* CPI_PROBES_H */

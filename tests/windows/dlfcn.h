/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dlfcn.h - plug-ins by the names of POSIX, for Windows.
 */
#ifndef CPOOL_TESTS_WINDOWS_DLFCN_H
#define CPOOL_TESTS_WINDOWS_DLFCN_H

#define RTLD_NOW 0
#define RTLD_LOCAL 0
#define RTLD_NOLOAD 1

void *dlopen(const char *path, int flags);
void *dlsym(void *handle, const char *name);
int dlclose(void *handle);
char *dlerror(void);

#endif /* CPOOL_TESTS_WINDOWS_DLFCN_H */

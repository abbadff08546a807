/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limit.c - runs a program, and ends it when it takes too long.
 *
 *   limit [-a SECONDS] PROGRAM [ARGUMENT...]
 *
 * The program may take CPOOL_TEST_LIMIT seconds (600; 0: for ever), and SECONDS more.
 * After that the stacks of all threads of the program and of all processes that it has
 * started are written to standard output, by gdb where there is one that may look, and
 * from the kernel's files.  All of them are killed, and the exit status is 124.
 * Otherwise it is the program's own, and 128 and the signal's number when a signal
 * ended the program.
 *
 * Processes that the program has left running at its end are killed too.  On a system
 * without Linux' /proc only the program itself is known.
 *
 * Includes POSIX, and calls nothing of libcpool.
 */
#if defined(HAVE_CONFIG_H)
#include <config.h>
#endif

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

enum { EXPIRED = 124, FAILED = 125, DEFAULT_LIMIT = 600, GDB_LIMIT = 60 };

/* --- The processes that the program has started --- */

struct process {
    pid_t pid;
    pid_t parent;
    bool dead;
    bool ours;
};

static sigset_t signals_before; /* for every program that is started here */

enum { PROCESSES_MAX = 1 << 15 };
static struct process processes[PROCESSES_MAX];
static size_t process_count;

/* The start of a file, as text.  Returns false if it cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (file < 0)
        return false;
    length = read(file, text, size - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool read_process(const char *pid, struct process *process)
{
    char path[300];
    char text[512];
    char state;
    int parent;
    const char *rest;

    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    if (!read_text(path, text, sizeof(text)))
        return false;
    rest = strrchr(text, ')'); /* the program's name may hold anything */
    if (rest == NULL || sscanf(rest + 1, " %c %d", &state, &parent) != 2)
        return false;
    process->pid = (pid_t)atol(pid);
    process->parent = (pid_t)parent;
    process->dead = state == 'Z' || state == 'X';
    process->ours = process->parent == getpid();
    return true;
}

static bool is_ours(pid_t pid)
{
    for (size_t i = 0; i < process_count; i++) {
        if (processes[i].pid == pid)
            return processes[i].ours;
    }
    return false;
}

/* Marks the children of those that are marked, until there is none. */
static void mark_descendants(void)
{
    bool marked = true;

    while (marked) {
        marked = false;
        for (size_t i = 0; i < process_count; i++) {
            if (!processes[i].ours && is_ours(processes[i].parent))
                processes[i].ours = marked = true;
        }
    }
}

static void list_processes(pid_t program)
{
    DIR *directory = opendir("/proc");
    const struct dirent *entry;

    process_count = 0;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]) && process_count < PROCESSES_MAX &&
            read_process(entry->d_name, &processes[process_count]))
            process_count++;
    }
    if (directory != NULL)
        closedir(directory);
    if (process_count == 0 && program > 0)
        processes[process_count++] = (struct process){ program, getpid(), false, true };
    mark_descendants();
}

/* --- Their stacks --- */

/* Each line of a file of the thread's, behind the file's name. */
static void print_file(const char *thread, const char *name)
{
    char path[400];
    char text[4096];
    char *rest = text;
    const char *line;

    snprintf(path, sizeof(path), "%s/%s", thread, name);
    if (!read_text(path, text, sizeof(text)))
        return;
    while ((line = strtok_r(rest, "\n", &rest)) != NULL)
        dprintf(STDOUT_FILENO, "    %s: %s\n", name, line);
}

/* The line of /proc/PID/task/TID/status that tells the state. */
static void print_state(const char *thread)
{
    char path[400];
    char text[1024];
    const char *state;

    snprintf(path, sizeof(path), "%s/status", thread);
    if (!read_text(path, text, sizeof(text)) || (state = strstr(text, "\nState:")) == NULL)
        return;
    dprintf(STDOUT_FILENO, "    %.*s\n", (int)strcspn(state + 1, "\n"), state + 1);
}

static void print_threads(pid_t pid)
{
    char tasks[64];
    DIR *directory;
    const struct dirent *entry;

    snprintf(tasks, sizeof(tasks), "/proc/%ld/task", (long)pid);
    directory = opendir(tasks);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char thread[350];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(thread, sizeof(thread), "%s/%s", tasks, entry->d_name);
        dprintf(STDOUT_FILENO, "  thread %s\n", entry->d_name);
        print_state(thread);
        print_file(thread, "wchan");
        print_file(thread, "syscall");
        print_file(thread, "stack");
    }
    if (directory != NULL)
        closedir(directory);
}

/* Says nothing where there is no gdb. */
static void run_gdb(pid_t pid)
{
    char number[24];
    pid_t gdb;

    snprintf(number, sizeof(number), "%ld", (long)pid);
    gdb = fork();
    if (gdb == 0) {
        int none = open("/dev/null", O_RDONLY);

        sigprocmask(SIG_SETMASK, &signals_before, NULL);
        (void)dup2(none, STDIN_FILENO);
        (void)dup2(STDOUT_FILENO, STDERR_FILENO);
        (void)unsetenv("DEBUGINFOD_URLS");
        alarm(GDB_LIMIT);
        execlp("gdb", "gdb", "-nx", "-batch", "-p", number, "-ex", "thread apply all backtrace",
               (char *)NULL);
        _exit(FAILED);
    }
    while (gdb > 0 && waitpid(gdb, NULL, 0) < 0 && errno == EINTR)
        continue;
}

static void print_stacks(pid_t program)
{
    list_processes(program);
    for (size_t i = 0; i < process_count; i++) {
        char path[64];
        char command[512];

        if (!processes[i].ours || processes[i].dead)
            continue;
        snprintf(path, sizeof(path), "/proc/%ld/comm", (long)processes[i].pid);
        if (!read_text(path, command, sizeof(command)))
            command[0] = '\0';
        command[strcspn(command, "\n")] = '\0';
        dprintf(STDOUT_FILENO, "limit: process %ld %s\n", (long)processes[i].pid, command);
        print_threads(processes[i].pid);
        run_gdb(processes[i].pid);
    }
}

/* --- Their end --- */

/* Kills all that are left, until none is there to start others. */
static void kill_all(pid_t program)
{
    const struct timespec pause = { 0, 10000000 };
    bool found = true;

    for (int round = 0; found && round < 1000; round++) {
        found = false;
        list_processes(program);
        for (size_t i = 0; i < process_count; i++) {
            if (!processes[i].ours || processes[i].dead)
                continue;
            found = true;
            kill(processes[i].pid, SIGKILL);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
            continue;
        if (found)
            nanosleep(&pause, NULL);
    }
}

/* Takes note of all processes that have ended.  Returns true if the program is among
 * them. */
static bool has_ended(pid_t program, int *status)
{
    bool ended = false;
    int other;
    pid_t pid;

    while ((pid = waitpid(-1, &other, WNOHANG)) > 0) {
        if (pid == program) {
            *status = other;
            ended = true;
        }
    }
    return ended;
}

/* --- The program --- */

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The next signal that comes before the time, or 0 if none does. */
static int await_signal(const sigset_t *signals, bool endless, double until)
{
    double left = until - now();
    struct timespec time = { (time_t)left, (long)((left - (double)(time_t)left) * 1e9) };
    int signal;

    if (endless)
        time = (struct timespec){ 3600, 0 };
    else if (left <= 0)
        time = (struct timespec){ 0, 0 };
    signal = sigtimedwait(signals, NULL, &time);
    return signal > 0 ? signal : 0;
}

static int exit_status(const char *name, int status)
{
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    dprintf(STDOUT_FILENO, "limit: signal %d (%s) ended %s\n", WTERMSIG(status),
            strsignal(WTERMSIG(status)), name);
    return 128 + WTERMSIG(status);
}

/* As if this program had not been there to receive it. */
static int end_by(int signal)
{
    sigset_t one;

    sigemptyset(&one);
    sigaddset(&one, signal);
    raise(signal);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return 128 + signal;
}

static int watch(pid_t program, const char *name, double seconds, const sigset_t *signals)
{
    double until = now() + seconds;
    int status = 0;

    for (;;) {
        int signal;

        if (has_ended(program, &status)) {
            kill_all(0);
            return exit_status(name, status);
        }
        signal = await_signal(signals, seconds <= 0, until);
        if (signal != 0 && signal != SIGCHLD) {
            kill_all(program);
            return end_by(signal);
        }
        if (signal == 0 && seconds > 0 && now() >= until) {
            dprintf(STDOUT_FILENO, "limit: %s has not ended within %g seconds\n", name, seconds);
            print_stacks(program);
            kill_all(program);
            return EXPIRED;
        }
    }
}

static double limit_from(const char *more)
{
    const char *setting = getenv("CPOOL_TEST_LIMIT");
    double seconds = DEFAULT_LIMIT;

    if (setting != NULL && *setting != '\0')
        seconds = strtod(setting, NULL);
    return seconds > 0 ? seconds + (more != NULL ? strtod(more, NULL) : 0) : 0;
}

int main(int argc, char **argv)
{
    bool has_more = argc > 2 && strcmp(argv[1], "-a") == 0;
    char **program = argv + (has_more ? 3 : 1);
    double seconds = limit_from(has_more ? argv[2] : NULL);
    sigset_t signals;
    pid_t pid;

    if (*program == NULL) {
        fprintf(stderr, "usage: limit [-a SECONDS] PROGRAM [ARGUMENT...]\n");
        return FAILED;
    }
#if defined(__linux__) && defined(PR_SET_CHILD_SUBREAPER)
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
#endif
    sigemptyset(&signals);
    sigaddset(&signals, SIGCHLD);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, &signals_before);
    pid = fork();
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &signals_before, NULL);
        execvp(program[0], program);
        fprintf(stderr, "limit: %s: %s\n", program[0], strerror(errno));
        _exit(FAILED);
    }
    if (pid < 0) {
        perror("limit: fork");
        return FAILED;
    }
    return watch(pid, program[0], seconds, &signals);
}

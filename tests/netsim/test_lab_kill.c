/* The process that owns a lab is killed at random times of opening, using and closing it: nothing
 * of the lab remains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "netsim/lab/lab.h"
#include "netsim/launch/program.h"

enum { KILLS = 20, HOSTS = 11, NAMESPACES = 120 };

/* Set in the environment of the owner, so that its descendants can be found. */
static char mark[64];
static char self[4096];

/* Sends datagrams without end. */
_Noreturn static void flood(const char *address)
{
    static const char bytes[1400];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    inet_pton(AF_INET, address, &to.sin_addr);
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (;;)
        if (sendto(s, bytes, sizeof bytes, 0, (struct sockaddr *)&to, sizeof to) == -1)
            usleep(1000);
}

/* The owner: opens a lab, sends traffic in it, and closes it, again and again. Prints a line for
 * each lab that is open, and the message on stderr if one cannot be opened. */
static int run_owner(void)
{
    for (;;) {
        struct cc_lab *lab;
        struct cc_error e = {""};
        struct cc_program child[2];
        struct cc_lab_config config = {.hosts = HOSTS, .bw_bps = 10e6};
        if (cc_lab_open(&config, &lab, &e) != CC_OK)
            return fprintf(stderr, "%s\n", e.text), 1;
        puts("open");
        (void)fflush(stdout);
        for (int i = 0; i < 2; i++) {
            char *argv[] = {(char *)(uintptr_t)CC_LAB_AGENT,
                            i == 0 ? "h1" : "h2",
                            self,
                            "flood",
                            "10.77.0.1",
                            NULL};
            if (cc_program_start(&(struct cc_program_way){.lab = lab}, argv, "", 0, &child[i],
                                 &e) != CC_OK)
                return fprintf(stderr, "%s\n", e.text), 1;
        }
        for (int i = 0; i < 10; i++) {
            uint64_t bytes;
            if (cc_lab_traffic(lab, &bytes, &e) != CC_OK)
                return fprintf(stderr, "%s\n", e.text), 1;
            usleep(10000);
        }
        for (int i = 0; i < 2; i++) {
            if (cc_program_stop(&child[i], 5, &e) != CC_OK)
                return fprintf(stderr, "%s\n", e.text), 1;
            cc_program_close(&child[i]);
        }
        cc_lab_close(lab);
    }
}

/* The number of processes with the mark. */
static int count_marked(void)
{
    static char text[1 << 16];
    int count = 0;
    DIR *d = opendir("/proc");
    assert_non_null(d);
    const struct dirent *entry;
    while ((entry = readdir(d)) != NULL) {
        char path[300];
        (void)snprintf(path, sizeof path, "/proc/%s/environ", entry->d_name);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd == -1)
            continue;
        ssize_t n = read(fd, text, sizeof text);
        close(fd);
        count += n > 0 && memmem(text, (size_t)n, mark, strlen(mark)) != NULL;
    }
    (void)closedir(d);
    return count;
}

/* A hash of everything that a lab could leave behind: names in /run, mounts, interfaces. */
static uint64_t fingerprint(void)
{
    uint64_t hash = 0;
    static const char *const folders[] = {"/run", "/run/netns"};
    for (size_t i = 0; i < 2; i++) {
        DIR *d = opendir(folders[i]);
        const struct dirent *entry;
        while (d != NULL && (entry = readdir(d)) != NULL) {
            uint64_t h = 5381;
            for (const char *p = entry->d_name; *p != '\0'; p++)
                h = h * 33 + (unsigned char)*p;
            hash += h;
        }
        if (d != NULL)
            (void)closedir(d);
    }
    FILE *f = fopen("/proc/self/mountinfo", "re");
    assert_non_null(f);
    for (int c; (c = fgetc(f)) != EOF;)
        hash = hash * 33 + (uint64_t)c;
    (void)fclose(f);
    f = fopen("/proc/self/net/dev", "re");
    assert_non_null(f);
    char name[64], rest[512];
    while (fscanf(f, " %63[^: \n]%511[^\n]", name, rest) == 2)
        for (const char *p = name; *p != '\0'; p++)
            hash = hash * 33 + (unsigned char)*p;
    (void)fclose(f);
    return hash;
}

static pid_t start_owner(int *out)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], 1);
        putenv(mark);
        execl(self, self, "owner", (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    *out = ends[0];
    return pid;
}

/* Kills the owner and waits until its descendants are gone. */
static void kill_owner(pid_t pid, int out)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(out);
    double until = cc_now() + 20;
    while (count_marked() > 0)
        if (cc_now() > until)
            fail_msg("%d processes are left", count_marked());
}

/* Waits until a lab can be opened, which fails while too many namespaces of earlier ones exist.
 * Returns the seconds that opening it and starting its programs took. */
static double await_lab(void)
{
    for (double until = cc_now() + 20;;) {
        int out;
        char byte;
        double begin = cc_now();
        pid_t pid = start_owner(&out);
        bool opened = read(out, &byte, 1) == 1;
        /* four processes: the owner, init and two senders */
        while (opened && count_marked() < 4 && cc_now() < begin + 20)
            continue;
        double seconds = cc_now() - begin;
        kill_owner(pid, out);
        if (opened)
            return seconds;
        if (cc_now() > until)
            fail_msg("no lab can be opened any more");
    }
}

static void test_kill(void **state)
{
    (void)state;
    unsigned seed = (unsigned)getpid();
    printf("seed %u\n", seed);
    uint64_t before = fingerprint();
    double seconds = await_lab();
    assert_true(seconds < 20);
    for (int i = 0; i < KILLS; i++) {
        int out;
        pid_t pid = start_owner(&out);
        usleep((unsigned)(2 * seconds * 1e6 * rand_r(&seed) / RAND_MAX));
        kill_owner(pid, out);
    }
    await_lab();
    assert_true(fingerprint() == before);
}

/* Moves this process to a user namespace with room for only a few labs, so that no further lab can
 * be opened if earlier ones leave namespaces behind. Stays outside where that is not allowed. */
static void confine(void)
{
    char user[64], group[64], limit[16];
    (void)snprintf(user, sizeof user, "0 %u 1", (unsigned)geteuid());
    (void)snprintf(group, sizeof group, "0 %u 1", (unsigned)getegid());
    (void)snprintf(limit, sizeof limit, "%d", NAMESPACES);
    if (unshare(CLONE_NEWUSER) != 0)
        return;
    const char *const files[][2] = {{"/proc/self/setgroups", "deny"},
                                    {"/proc/self/uid_map", user},
                                    {"/proc/self/gid_map", group},
                                    {"/proc/sys/user/max_net_namespaces", limit}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        int fd = open(files[i][0], O_WRONLY | O_CLOEXEC);
        if (write(fd, files[i][1], strlen(files[i][1])) <= 0)
            printf("skipped: counting the namespaces: %s\n", files[i][0]);
        close(fd);
    }
}

int main(int argc, char **argv)
{
    struct cc_error e = {""};
    if (readlink("/proc/self/exe", self, sizeof self - 1) == -1)
        return 1;
    if (argc > 3 && strcmp(argv[1], "lab-enter") == 0) {
        (void)cc_lab_enter(argv[2], argv + 3, &e);
        return 1;
    }
    if (argc == 2 && strcmp(argv[1], "owner") == 0)
        return run_owner();
    if (argc == 3 && strcmp(argv[1], "flood") == 0)
        flood(argv[2]);
    struct cc_lab *lab = NULL;
    if (cc_lab_open(&(struct cc_lab_config){.hosts = 1, .bw_bps = 1e9}, &lab, &e) != CC_OK) {
        printf("skipped: %s\n", e.text);
        return 0;
    }
    cc_lab_close(lab);
    (void)snprintf(mark, sizeof mark, "COMMCOMP_TEST_MARK=%d-%ld", (int)getpid(),
                   (long)(cc_now() * 1e6));
    confine();
    static const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "tests/lib/lab_program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"

bool labs_work(void)
{
    struct cc_lab *lab = NULL;
    struct cc_error e = {""};
    if (cc_lab_open(&(struct cc_lab_config){.hosts = 1, .bw_bps = 1e9}, &lab, &e) != CC_OK &&
        (strstr(e.text, "only root") != NULL || strstr(e.text, "iproute2") != NULL ||
         strstr(e.text, "container") != NULL || strstr(e.text, "this kernel") != NULL)) {
        printf("skipped: %s\n", e.text);
        return false;
    }
    cc_lab_close(lab);
    return true;
}

/* Reads both streams to their ends. Fails when nothing arrives for 20 s. */
static void read_output(const struct cc_program *child, struct output *o)
{
    struct pollfd p[2] = {{.fd = child->out, .events = POLLIN}, {child->err, POLLIN, 0}};
    char *text[2] = {o->out, o->err};
    size_t room[2] = {sizeof o->out, sizeof o->err}, used[2] = {0, 0};
    while (p[0].fd != -1 || p[1].fd != -1) {
        assert_true(poll(p, 2, 20000) > 0);
        for (int i = 0; i < 2; i++) {
            if (p[i].fd == -1 || p[i].revents == 0)
                continue;
            ssize_t n = read(p[i].fd, text[i] + used[i], room[i] - 1 - used[i]);
            assert_true(n >= 0);
            used[i] += (size_t)n;
            text[i][used[i]] = '\0';
            if (n == 0)
                p[i].fd = -1;
        }
    }
}

void lab_finish(struct cc_program *child, struct output *o)
{
    struct cc_error e = {""};
    *o = (struct output){.status = -1};
    read_output(child, o);
    for (double until = cc_now() + 5; !child->ended && cc_now() < until; usleep(1000))
        assert_int_equal(cc_program_poll(child, &e), CC_OK);
    assert_true(child->ended);
    o->status = child->status;
    cc_program_close(child);
}

struct cc_program lab_start(struct cc_lab *lab, const char *const *argv)
{
    struct cc_error e = {""};
    struct cc_program child;
    if (cc_program_start(&(struct cc_program_way){.lab = lab}, (char *const *)argv, "", 0, &child,
                         &e) != CC_OK)
        fail_msg("%s", e.text);
    return child;
}

const struct output *lab_run(struct cc_lab *lab, const char *const *argv)
{
    static struct output o;
    struct cc_program child = lab_start(lab, argv);
    lab_finish(&child, &o);
    return &o;
}

struct cc_lab *lab_open(struct cc_lab_config config)
{
    struct cc_error e = {""};
    struct cc_lab *lab = NULL;
    if (cc_lab_open(&config, &lab, &e) != CC_OK)
        fail_msg("%s", e.text);
    return lab;
}

/* Room for ranks: lists of hosts, hostfiles and Slurm's variables against what they stand for,
 * written by hand; and the command lines that are made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "netsim/launch/argv.h"
#include "netsim/launch/launch.h"

/* "a:8 b:?" */
static void assert_slots(const struct cc_slot_list *list, const char *expected)
{
    char text[1000] = "", one[100];
    for (size_t i = 0; i < list->count; i++) {
        if (list->host[i].count > 0)
            (void)snprintf(one, sizeof one, "%s%s:%d", i > 0 ? " " : "", list->host[i].name,
                           list->host[i].count);
        else
            (void)snprintf(one, sizeof one, "%s%s:?", i > 0 ? " " : "", list->host[i].name);
        (void)strncat(text, one, sizeof text - strlen(text) - 1);
    }
    assert_string_equal(text, expected);
}

struct vector {
    const char *from, *tasks, *slots; /* slots: or a part of the message */
};

static void lists(void **state)
{
    (void)state;
    static const struct vector list[] = {
        {"a", NULL, "a:1"},
        {"a:8,b:8", NULL, "a:8 b:8"},
        {"a,b:2,a", NULL, "a:2 b:2"},
        {"a:*,b:auto,c:3", NULL, "a:? b:? c:3"},
        {"a:2,a:*", NULL, "a:?"},
        {"user@a.example:4", NULL, "user@a.example:4"},
        {"[fe80::1]:4,[fe80::2]", NULL, "[fe80::1]:4 [fe80::2]:1"},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct cc_slot_list got = {.host = NULL};
        struct cc_error e = {""};
        if (cc_slots_of_list(list[i].from, &got, &e) != CC_OK)
            fail_msg("%s: %s", list[i].from, e.text);
        assert_slots(&got, list[i].slots);
        cc_slots_free(&got);
    }
    struct cc_slot_list got = {.host = NULL};
    struct cc_error e = {""};
    assert_int_equal(cc_slots_of_list("a:65537", &got, &e), CC_FAIL);
    assert_non_null(strstr(e.text, "more than 65536 slots"));
    assert_int_equal(cc_slots_of_list("a:65536,a:2", &got, &e), CC_FAIL);
    static const char *const refused[] = {"a:x", "a:2x", "a:0", "a:", "a:-1"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cc_slots_free(&got);
        assert_int_equal(cc_slots_of_list(refused[i], &got, &e), CC_FAIL);
        assert_non_null(strstr(e.text, "a number of workers, from 1, follows the colon"));
    }
    cc_slots_free(&got);
}

static void hostfiles(void **state)
{
    (void)state;
    static const struct vector list[] = {
        {"a slots=8\nb slots=4\n", NULL, "a:8 b:4"},
        {"# hosts\n\n  a   slots=2 # two\nb\n", NULL, "a:2 b:?"},
        {"a slots=2\na slots=3", NULL, "a:5"},
        /* mpirun alone reads these */
        {"a slots=2\nb user=x\n", NULL, ""},
        {"^a\nb\n", NULL, ""},
        {"a slots=2 max_slots=4\n", NULL, ""},
        {"a slots=\n", NULL, ""},
        {"x@a slots=2\n", NULL, ""},
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct cc_slot_list got = {.host = NULL};
        struct cc_error e = {""};
        if (cc_slots_of_hostfile(list[i].from, strlen(list[i].from), &got, &e) != CC_OK)
            fail_msg("%s: %s", list[i].from, e.text);
        assert_slots(&got, list[i].slots);
        cc_slots_free(&got);
    }
}

/* As `scontrol show hostnames` expands them. */
static void slurm(void **state)
{
    (void)state;
    static const struct vector list[] =
        {
            {"n1", "4", "n1:4"},
            {"n[01-03,7]", "4(x2),3,1", "n01:4 n02:4 n03:3 n7:1"},
            {"n[1-2],login,gpu-[009-011]", "2(x6)",
             "n1:2 n2:2 login:2 gpu-009:2 gpu-010:2 gpu-011:2"},
            {"rack[1-2]n[1-2]x", "1,2,3,4", "rack1n1x:1 rack1n2x:2 rack2n1x:3 rack2n2x:4"},
            {"n[98-101]", NULL, "n98:? n99:? n100:? n101:?"},
            {"n[8-10]", "8(x3)", "n8:8 n9:8 n10:8"},
        },
                               wrong[] = {
                                   {"n[1-2]", "4", "is of 1 hosts, and the list of nodes has 2"},
                                   {"n[1-2]", "4(x3)", "is of more than 2 hosts"},
                                   {"n[1-2]", "4(x2", "is not a list of numbers as 4(x2),3"},
                                   {"n[1-2]", "4(x0),4", "is not a list of numbers"},
                                   {"n[1-2]", "0(x2)", "is not a list of numbers"},
                                   {"n[1-2]", "", "is not a list of numbers"},
                                   {"n[1-2]", "4(x2),", "is not a list of numbers"},
                                   {"n[2-1]", "1", "is not a list of numbers as 01-03,7"},
                                   {"n[]", "1", "is not a list of numbers as 01-03,7"},
                                   {"n[1", "1", "'[' without ']'"},
                                   {"n[1[2]]", "1", "'[' without ']'"},
                                   {"n[1-70000]", "1", "more than 65536 hosts"},
                                   {"n[1-60000],m[1-60000]", "1", "more than 65536 hosts"},
                                   {"-oProxyCommand=x", "1", "is not the name of a host"},
                                   {"", "1", "is not the name of a host"},
                                   {"a,", "1", "is not the name of a host"},
                               };
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct cc_slot_list got = {.host = NULL};
        struct cc_error e = {""};
        if (cc_slots_of_slurm(list[i].from, list[i].tasks, &got, &e) != CC_OK)
            fail_msg("%s, %s: %s", list[i].from, list[i].tasks, e.text);
        assert_slots(&got, list[i].slots);
        cc_slots_free(&got);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct cc_slot_list got = {.host = NULL};
        struct cc_error e = {""};
        if (cc_slots_of_slurm(wrong[i].from, wrong[i].tasks, &got, &e) == CC_OK ||
            strstr(e.text, wrong[i].slots) == NULL)
            fail_msg("%s, %s: %s", wrong[i].from, wrong[i].tasks, e.text);
        cc_slots_free(&got);
    }
}

static void allocation(void **state)
{
    (void)state;
    struct cc_slot_list got = {.host = NULL};
    struct cc_error e = {""};
    (void)unsetenv("SLURM_JOB_NODELIST");
    assert_int_equal(cc_slots_of_allocation(&got, &e), CC_OK);
    assert_int_equal(got.count, 0);
    (void)setenv("SLURM_JOB_NODELIST", "n[1-2]", 1);
    (void)setenv("SLURM_TASKS_PER_NODE", "8(x2)", 1);
    assert_int_equal(cc_slots_of_allocation(&got, &e), CC_OK);
    assert_slots(&got, "n1:8 n2:8");
    (void)setenv("SLURM_TASKS_PER_NODE", "8", 1);
    assert_int_equal(cc_slots_of_allocation(&got, &e), CC_FAIL);
    assert_non_null(strstr(e.text, "SLURM_TASKS_PER_NODE"));
    (void)unsetenv("SLURM_JOB_NODELIST");
    cc_slots_free(&got);
}

/* --- command lines --- */

/* The command line of a job on these hosts, its words with blanks between them; or the message. */
static void line(const char *hosts, enum cc_starter starter, const struct cc_job *job, char *out,
                 size_t size)
{
    char *const own[] = {"--mpi=pmi2", NULL};
    struct cc_launch_cluster c = {.hosts = hosts, .starter = starter, .mpirun_args = own};
    struct cc_error e = {""};
    const struct cc_launch_hosts where = {.cluster = &c};
    char **argv;
    assert_int_equal(cc_slots_of_list(hosts, &c.slots, &e), CC_OK);
    out[0] = '\0';
    if (cc_mpirun_argv(&where, "/bin/rank", job, &argv, &e) != CC_OK) {
        (void)snprintf(out, size, "%s", e.text);
    } else {
        for (size_t i = 0; argv[i] != NULL; i++)
            (void)snprintf(out + strlen(out), size - strlen(out), "%s%s", i > 0 ? " " : "",
                           argv[i]);
        cc_argv_free(argv);
    }
    cc_slots_free(&c.slots);
}

static void command_lines(void **state)
{
    (void)state;
    char text[1000];
    struct cc_job job = {.workers = 8, .per_host = 4};
    /* Hosts have as many ranks as the job says, whatever they have room for. */
    line("a:8,b:2,c:4,d", CC_BY_MPIRUN, &job, text, sizeof text);
    assert_non_null(strstr(text, "mpirun -np 8 --host a:4,c:4 --map-by slot "));
    line("a:8,b:2", CC_BY_MPIRUN, &job, text, sizeof text);
    assert_string_equal(text, "2 hosts with 4 workers each are needed, and b has room for 2");
    line("a:8", CC_BY_MPIRUN, &job, text, sizeof text);
    assert_string_equal(text, "2 hosts are needed, and there are 1");
    job.servers = 1;
    line("a:8,b:8,c", CC_BY_MPIRUN, &job, text, sizeof text);
    assert_non_null(strstr(text, "mpirun -np 9 --host a:4,b:4,c:1 --map-by slot "));
    line("a:8,b:8,c", CC_BY_SRUN, &job, text, sizeof text);
    assert_non_null(strstr(text, "--launcher mpirun"));
    job.servers = 0;
    line("a:8,b:8", CC_BY_SRUN, &job, text, sizeof text);
    assert_string_equal(text, "srun --ntasks 8 --nodes 2 --ntasks-per-node 4 --distribution block "
                              "--nodelist a,b --input 0 --kill-on-bad-exit=1 --cpu-bind=none "
                              "--mpi=pmi2 /bin/rank -");
    /* One worker a host: in turn, as far as there are hosts. */
    job = (struct cc_job){.workers = 3, .servers = 1};
    line("a:2,b:2", CC_BY_MPIRUN, &job, text, sizeof text);
    assert_non_null(strstr(text, "mpirun -np 4 --host a:2,b:2 --map-by node "));
    job.device = "eth0";
    line("a:2,b:2", CC_BY_SRUN, &job, text, sizeof text);
    assert_non_null(
        strstr(text, "srun --ntasks 4 --nodes 2 --distribution cyclic --nodelist a,b "));
    assert_non_null(strstr(text, " env OMPI_MCA_pml=ob1 OMPI_MCA_btl=tcp,self "));
    assert_non_null(strstr(text, " OMPI_MCA_btl_tcp_if_include=eth0 /bin/rank -"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists),      cmocka_unit_test(hostfiles),     cmocka_unit_test(slurm),
        cmocka_unit_test(allocation), cmocka_unit_test(command_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

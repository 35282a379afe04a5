#include "netsim/launch/smpirun_argv.h"

#include <string.h>

#include "netsim/launch/argv.h"

struct setting {
    const char *name, *value;
};

/* Every setting of SimGrid that is not its default, or smpirun's, and why. */
static const struct setting always[] = {
    /* Time passes where the ranks say so, and nowhere else: the simulator's own speed must not
     * show. These calls would cost a little each. */
    {"smpi/simulate-computation", "no"},
    {"smpi/test", "0"},
    {"smpi/iprobe", "0"},
    {"smpi/wtime", "0"},
    {"smpi/init", "0"},
    /* That of a platform's hosts (speed), so that a second here is a second there. */
    {"smpi/host-speed", "1Gf"},
    /* Payloads that nobody looks at are one piece of memory for all ranks. The default, global,
     * needs a file and a map for each piece, of which the system has only so many. */
    {"smpi/shared-malloc", "local"},
    /* Where the MPI library is to choose (allreduce, allgather), it does so as Open MPI. */
    {"smpi/coll-selector", "ompi"},
    /* But for the job and the results: what it chooses there has everyone tell everyone its host,
     * or cuts the list into many pieces, which with thousands of ranks takes longer than all else
     * together. */
    {"smpi/bcast", "binomial_tree"},
    {"smpi/reduce", "binomial"},
    /* In KiB, for each rank; the default, eight times as much, is only address space, but some
     * systems count that. All that ranks do, with every scheme, fits into 64; below each stack is a
     * page that nobody may touch. */
    {"contexts/stack-size", "1024"},
};

/* That too, where ways differ in latency. SimGrid's own solver gives a flow whose way is twice as
 * long half the bandwidth of another one on the same link, as TCP would. It is the faster of the
 * two where many flows of many sizes share few links. */
static const struct setting evenly[] = {
    {"network/solver", "fairbottleneck"},
};

/* alpha-beta on such ways, for a ring: its messages leave whether or not a receive is posted, as
 * they do from a machine. Otherwise each hop over a long way would take all of its latency: a rank
 * expects a message once the last has come. Where latencies are short it makes no difference but
 * that messages of different sizes, one behind the other, then share a link as if they were side
 * by side (int8 over 128 workers took 15% longer). No more than sockets can buffer. */
static const struct setting ahead[] = {
    {"smpi/send-is-detached-thresh", "1048576"},
    {"smpi/async-small-thresh", "1048576"},
};

/* alpha-beta and tc: latency, bytes / bandwidth, and flows that share a link equally. */
static const struct setting plain[] = {
    {"network/model", "CM02"},
    /* No acknowledgements that share the link of the other direction. */
    {"network/crosstraffic", "0"},
    /* No window that keeps a flow on a long fast path below the bandwidth. */
    {"network/TCP-gamma", "1e30"},
};

/* alpha-beta otherwise: a send is over when its message is there, also that of a small one, as the
 * formulas have it. Those that are over before stay in SimGrid's lists, and each makes the next
 * take longer: 1,024 workers with small pushes to 16 servers took minutes in the place of 10 s. */
static const struct setting whole[] = {
    {"smpi/send-is-detached-thresh", "0"},
};

/* tcp: SMPI's corrections, which smpirun's defaults are.
 *
 * Not set, but for the ring above, is smpi/async-small-thresh, below which messages leave whether
 * or not a receive is posted, as Open MPI's blocks do. There is no bound on them: all blocks of a
 * transfer leave at once, and those of ranks that are ahead slow down what others wait for, as no
 * socket's buffer would let them. Rabenseifner over 8 ranks took 23% longer than in a lab. */
static const struct setting tcp[] = {
    {"network/model", "SMPI"},
    {"network/crosstraffic", "1"},
};

/* The trace in Paje's format. */
static const struct setting paje[] = {
    /* Computing is sleeping: shown as a state, it is told from waiting. */
    {"tracing/smpi/sleeping", "yes"},
    {"tracing/smpi/display-sizes", "yes"},
    /* Nanoseconds; by default, microseconds, in which short transfers are lost. */
    {"tracing/precision", "9"},
};

static void add_settings(struct cc_argv *a, const struct setting *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cc_argv_add(a, "--cfg=%s:%s", s[i].name, s[i].value);
}

#define ADD(a, settings) add_settings(a, settings, sizeof(settings) / sizeof(settings)[0])

static void add_sends(struct cc_argv *a, bool leave_ahead)
{
    if (leave_ahead)
        ADD(a, ahead);
    else
        ADD(a, whole);
}

static void add_network(struct cc_argv *a, const struct cc_smpirun_config *config,
                        const struct cc_job *job)
{
    if (config->fidelity == CC_FIDELITY_TCP) {
        ADD(a, tcp);
    } else {
        ADD(a, plain);
        if (config->platform->uneven)
            ADD(a, evenly);
        if (config->fidelity == CC_FIDELITY_ALPHA_BETA)
            add_sends(a, config->platform->uneven && strcmp(job->exchange, "ring") == 0);
        /* Of a link's bandwidth, what is left for payload. */
        cc_argv_add(a, "--cfg=network/bandwidth-factor:%.17g", 1 / (1 + config->overhead));
    }
}

int cc_smpirun_argv(const struct cc_smpirun_config *config, const struct cc_job *job,
                    const struct cc_smpirun_files *files, char ***out, struct cc_error *e)
{
    struct cc_argv a = {.e = e};
    cc_argv_add(&a, "%s", config->smpirun != NULL ? config->smpirun : "smpirun");
    /* All ranks share the variables of one process: there are none that differ between ranks. */
    cc_argv_add(&a, "-no-privatize");
    cc_argv_add(&a, "-np");
    cc_argv_add(&a, "%d", job->workers + job->servers);
    cc_argv_add(&a, "-platform");
    cc_argv_add(&a, "%s", files->platform);
    cc_argv_add(&a, "-hostfile");
    cc_argv_add(&a, "%s", files->hosts);
    add_network(&a, config, job);
    ADD(&a, always);
    if (files->paje[0] != '\0') {
        cc_argv_add(&a, "-trace");
        cc_argv_add(&a, "-trace-file");
        cc_argv_add(&a, "%s", files->paje);
        ADD(&a, paje);
    }
    /* Silence, but for what is wrong and for who still waits in a deadlock. */
    cc_argv_add(&a, "--log=root.thresh:warning");
    cc_argv_add(&a, "--log=ker_engine.thresh:info");
    cc_argv_add(&a, "%s", config->rank_program);
    cc_argv_add(&a, "-"); /* the job comes on stdin */
    *out = cc_argv_take(&a);
    return a.status;
}

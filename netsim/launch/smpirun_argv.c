/* The settings of each fidelity as tables, an option of SimGrid with the reason a row, and the
 * command line made of them. */
#include "netsim/launch/argv.h"
#include "netsim/launch/smpirun.h"

const char *const cc_fidelity_names[] = {"alpha-beta", "tc", "tcp", NULL};

struct setting {
    const char *name, *value;
};

/* These lists hold every setting of SimGrid that differs from its default, or smpirun's, and why.
 */
static const struct setting always[] = {
    /* Simulated time passes only where the ranks ask for it: the simulator's own speed must not
     * show. By default each of these calls would take a little. */
    {"smpi/simulate-computation", "no"},
    {"smpi/test", "0"},
    {"smpi/iprobe", "0"},
    {"smpi/wtime", "0"},
    {"smpi/init", "0"},
    /* The speed of a platform's hosts, so that a second of computing takes a second. */
    {"smpi/host-speed", "1Gf"},
    /* Without data, payloads of all ranks share one piece of memory. The default, global, uses a
     * file and a mapping for each allocation, and the system's number of mappings is limited. */
    {"smpi/shared-malloc", "local"},
    /* Where the MPI library chooses an algorithm (allreduce, allgather), choose as Open MPI does.
     */
    {"smpi/coll-selector", "ompi"},
    /* Except for distributing the job and collecting results: Open MPI's choice there has all ranks
     * exchange their hosts' names, or cuts the data into many segments. With thousands of ranks
     * that takes longer than the rest of the simulation. */
    {"smpi/bcast", "binomial_tree"},
    {"smpi/reduce", "binomial"},
    /* KiB for each rank. The default, eight times as much, is only address space, but some systems
     * limit that. With every scheme a rank needs less than 64 KiB, and there is a guard page below
     * each stack. */
    {"contexts/stack-size", "1024"},
};

/* alpha-beta and tc, where routes differ in latency. SimGrid's default solver gives a flow on a
 * route twice as long half the bandwidth of another one on the same link, as TCP would; flows are
 * to share links equally here. It is also the faster solver where many flows of many sizes share
 * few links. */
static const struct setting equal_shares[] = {
    {"network/solver", "fairbottleneck"},
};

/* alpha-beta on such routes, for a ring: its messages leave whether or not a receive is posted, as
 * they do from a real machine. Otherwise each hop over a long route would take its full latency,
 * since a rank posts a receive only when the last message has come. Not used where latencies are
 * equal: it would only make messages of different sizes that follow one another share a link as if
 * they were sent together (int8 over 128 workers took 15% longer). A send of any size ends at once,
 * as a machine's ends when its last bytes are in the socket's buffer, before they arrive: if large
 * ones ended on arrival, each round would take the long route's latency in addition. */
static const struct setting eager_sends[] = {
    {"smpi/send-is-detached-thresh", "1073741824"},
    {"smpi/async-small-thresh", "1073741824"},
    {"maxmin/concurrency-limit", "1"},
};

/* alpha-beta on such routes, for sharded states whose collectives go round rings or by levels: one
 * message at a time has a link. A rank may have sent the next chunk before the last one has
 * arrived; sharing the link with it, that would arrive late, and delay all hops behind (ZeRO++
 * took 6% longer). Not used where a collective goes all to all over all hosts, whose messages do
 * share the ports (ZeRO-1 with int8 took 4% less). */
static const struct setting turns[] = {
    {"maxmin/concurrency-limit", "1"},
};

/* alpha-beta otherwise, and servers: a send ends when its message has arrived, also that of a small
 * one, as the formulas assume. Sends that end before stay in SimGrid's lists and slow down each
 * later one: 1,024 workers with small pushes to 16 servers took minutes instead of 10 s. With
 * servers, the next messages to the same rank leave when it ends (ps_lanes.h). */
static const struct setting complete_sends[] = {
    {"smpi/send-is-detached-thresh", "0"},
};

/* alpha-beta and tc: latency, bytes / bandwidth, and flows that share a link equally. */
static const struct setting ideal_links[] = {
    {"network/model", "CM02"},
    /* No acknowledgements that take bandwidth of the other direction. */
    {"network/crosstraffic", "0"},
    /* No window that keeps a flow on a long fast path below the bandwidth. */
    {"network/TCP-gamma", "1e30"},
};

/* tcp: SMPI's corrections, which are smpirun's defaults.
 *
 * smpi/async-small-thresh, below which messages leave whether or not a receive is posted, is left
 * at its default except for the ring above, although Open MPI sends its blocks so. SimGrid does not
 * bound them as a socket's buffer does: all blocks of a transfer leave at once, and those of ranks
 * that are ahead delay the ones that others wait for. Rabenseifner over 8 ranks took 23% longer
 * than in a lab. */
static const struct setting smpi_links[] = {
    {"network/model", "SMPI"},
    {"network/crosstraffic", "1"},
};

/* SimGrid's trace, in Paje's format. */
static const struct setting paje_trace[] = {
    /* Computing is simulated by sleeping: as a state of its own it differs from waiting. */
    {"tracing/smpi/sleeping", "yes"},
    {"tracing/smpi/display-sizes", "yes"},
    /* Nanoseconds; the default of microseconds loses short transfers. */
    {"tracing/precision", "9"},
};

static void add_settings(struct cc_argv *a, const struct setting *s, size_t count)
{
    for (size_t i = 0; i < count; i++)
        cc_argv_add(a, "--cfg=%s:%s", s[i].name, s[i].value);
}

#define ADD(a, settings) add_settings(a, settings, sizeof(settings) / sizeof(settings)[0])

/* Whether a collective of sharded states has messages from each worker to all others of its group,
 * in some row. */
static bool goes_all_to_all(const struct cc_job *job)
{
    const struct cc_collectives list = cc_job_collectives(job);
    const bool several = cc_job_per_host(job) > 1;
    bool found = false;
    for (size_t i = 0; i < job->rows; i++)
        for (int k = 0; k < list.count; k++) {
            const struct cc_collective *c = &list.item[k];
            const bool coded = c->role == CC_ROLE_GRADIENT && !cc_job_row_plain(job, &job->row[i]);
            found |= c->among == CC_AMONG_ALL &&
                     cc_collective_exchange(c, job->exchange, several, coded) == CC_TWOSHOT;
        }
    return found;
}

static void add_network(struct cc_argv *a, const struct cc_smpirun_config *c,
                        const struct cc_job *job)
{
    const bool servers = cc_exchange_has(job->exchange, CC_X_SERVERS);
    /* Collectives of sharded states go by two-shot and among groups, too. */
    const bool ring =
        cc_exchange_has(job->exchange, CC_X_NEIGHBOUR) && job->sharded.collectives == 0;
    if (servers)
        ADD(a, complete_sends);
    if (c->fidelity == CC_FIDELITY_TCP) {
        ADD(a, smpi_links);
        return;
    }
    ADD(a, ideal_links);
    if (c->platform->uneven_routes && !ring)
        ADD(a, equal_shares);
    if (c->fidelity == CC_FIDELITY_ALPHA_BETA) {
        if (c->platform->uneven_routes && ring)
            ADD(a, eager_sends);
        else if (!servers)
            ADD(a, complete_sends);
        if (c->platform->uneven_routes && job->sharded.collectives > 0 && !goes_all_to_all(job))
            ADD(a, turns);
    }
    /* The share of a link's bandwidth that is left for payload. */
    cc_argv_add(a, "--cfg=network/bandwidth-factor:%.17g", 1 / (1 + c->overhead));
}

int cc_smpirun_argv(const struct cc_smpirun_config *c, const struct cc_smpirun_paths *paths,
                    const struct cc_job *job, char ***out, struct cc_error *e)
{
    struct cc_argv a = {.e = e};
    /* The ranks share the global variables of their process: none of them differs between ranks. */
    cc_argv_words(&a, c->smpirun != NULL ? c->smpirun : "smpirun", "-no-privatize", "-np", NULL);
    cc_argv_add(&a, "%d", job->workers + job->servers);
    cc_argv_words(&a, "-platform", paths->platform, "-hostfile", paths->hosts, NULL);
    add_network(&a, c, job);
    /* The time that a sender needs for each message, whatever its size. */
    if (c->message_s > 0)
        cc_argv_add(&a, "--cfg=smpi/ois:0:%.17g:0", c->message_s);
    ADD(&a, always);
    if (paths->paje[0] != '\0') {
        cc_argv_words(&a, "-trace", "-trace-file", paths->paje, NULL);
        ADD(&a, paje_trace);
    }
    /* Print only warnings, and which ranks wait in a deadlock. */
    cc_argv_words(&a, "--log=root.thresh:warning", "--log=ker_engine.thresh:info", NULL);
    cc_argv_words(&a, c->rank_program, "-", NULL); /* which reads the job from stdin */
    *out = cc_argv_take(&a);
    return a.status;
}

/* The tables of the job's fields: what job_file.c parses and writes jobs by, and what docs/job.md
 * documents; and what their conditions and checks read. */
#ifndef CC_NETSIM_JOB_JOB_TABLE_H
#define CC_NETSIM_JOB_JOB_TABLE_H

#include "netsim/job/fields.h"
#include "netsim/job/job.h"

/* Limits that nobody needs to exceed and that keep sums and products of fields within 64 bits. */
#define CC_JOB_MOST_WORKERS 65536
#define CC_JOB_MOST_SERVERS 4096
#define CC_JOB_MOST_TENSORS (1 << 20)
#define CC_JOB_MOST_STEPS   1e9
#define CC_JOB_MOST_SAMPLES (1 << 24)
#define CC_JOB_MOST_SECONDS 1e6
#define CC_JOB_MOST_BPS     1e15
#define CC_JOB_MOST_QUEUE   0x1p31 /* tc reads 32 bits */
#define CC_JOB_MOST_COUNT   (0x1p53 - 1)

extern const struct cc_table cc_job_table;             /* struct cc_job */
extern const struct cc_table cc_row_table;             /* struct cc_job_row */
extern const struct cc_table cc_sizes_table;           /* struct cc_job_sizes */
extern const struct cc_table cc_job_training_table;    /* struct cc_job_training */
extern const struct cc_table cc_job_consistency_table; /* struct cc_job_consistency */
extern const struct cc_table cc_job_sharded_table;     /* struct cc_job_sharded */

/* How the consistency fits the fields of the job before it. */
int cc_job_check_consistency(const struct cc_scope *s, struct cc_error *e);
/* How sharded states fit the fields of the job before them. */
int cc_job_check_sharded(const struct cc_scope *s, struct cc_error *e);
/* Whether the local steps of a training fit the job's mode and a row's messages. */
int cc_job_check_divided(const struct cc_job *job, struct cc_error *e);
int cc_job_check_local(const struct cc_job *job, size_t messages, struct cc_error *e);

/* A word of a list: a member of a struct. */
#define CC_JOB_WORD(of, member) #member, CC_FIELD_WORD, offsetof(of, member)

/* The job that an object is, or is a part of. */
static inline struct cc_job *cc_job_of(const struct cc_scope *s)
{
    while (s->outer != NULL)
        s = s->outer;
    return s->self;
}

/* Defines a field's condition, which holds where this is true of `job`. */
#define CC_JOB_CONDITION(name, holds)                                                              \
    static bool name(const struct cc_scope *s)                                                     \
    {                                                                                              \
        const struct cc_job *job = cc_job_of(s);                                                   \
        return holds;                                                                              \
    }

/* Defines a field's check, which fails with a message where this is not true of `job`. */
#define CC_JOB_CHECK(name, holds, ...)                                                             \
    static int name(const struct cc_scope *s, struct cc_error *e)                                  \
    {                                                                                              \
        const struct cc_job *job = cc_job_of(s);                                                   \
        return (holds) ? CC_OK : cc_fail(e, __VA_ARGS__);                                          \
    }

#endif

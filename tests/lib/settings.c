/* The list of settings, and the parameters of a parsed one, found by their names in the scheme's
 * table. */
#include "tests/lib/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const settings[] = {
    "fp32",
    "fp16",
    "bf16",
    "trunc16",
    "int8",
    "int8:ef=1",
    "ternary",
    "ternary:ef=1",
    "ternary:zre=1",
    "ternary:clip=2.5",
    "ternary:ef=1,clip=1,zre=1",
    "ternary:block=128",
    "ternary:block=37,ef=1,zre=1",
    "mqe1bit",
    "mqe1bit:ef=0",
    "mqe1bit:block=64",
    "mqe1bit:block=5",
    "mqe1bit:block=5000",
    "sparse",
    "sparse:density=0.3,ef=0",
    "sparse:select=exact",
    "sparse:density=0.01,select=exact,index=u32",
    "sparse:density=0.001,index=u32",
    "sparse:density=1,select=exact,ef=0",
    "sparse:density=0.9,select=sampled",
    "topk",
    "topk:k=1,bucket=3",
    "topk:k=5,bucket=64,ef=0",
    "topk:k=64,bucket=64",
    "topk:k=7,bucket=1000",
    "topk:k=100,bucket=65536",
    "randk",
    "randk:density=0.1,ef=0",
    "randk:density=1",
    "randk:density=0.5",
    "threshold",
    "threshold:tau=0.5",
    "threshold:tau=0.3,ef=0",
    "dgc",
    "dgc:density=0.05,momentum=0.5",
    "dgc:density=0.01,momentum=0,warmup=4",
    "pairs",
    "natural",
    "signsgd",
    "efsign",
    "3lc",
    "3lc:s=1.75",
    "3lc:s=1.9,ef=0",
    "3lc:zre=0",
    "3lc:s=1.5,zre=0,ef=0",
    "3lc:s=1.75,block=128",
    "3lc:zre=0,ef=bf16,block=100",
    "qsgd",
    "qsgd:bits=2",
    "qsgd:bits=8,bucket=64",
    "qsgd:levels=1,bucket=5",
    "qsgd:levels=4,bucket=0,norm=l2",
    "qsgd:levels=100,norm=l2",
    "qsgd:code=elias",
    "qsgd:levels=1,bucket=0,norm=l2,code=elias",
    "qsgd:levels=300,bucket=1000,code=elias",
    "qsgd:bits=3,bucket=7,norm=l2,code=elias",
    "powersgd",
    "powersgd:rank=1",
    "powersgd:rank=2,ef=0",
    "local",
    "local:every=1",
    "local:every=3,inner=3lc",
    "local:every=2,inner=(sparse:density=0.1)",
    "local:every=2,inner=(local:every=3,inner=(ternary:zre=1))",
    "local:every=2,inner=(powersgd:rank=2)",
    "zstd",
    "zstd:level=1",
    "lz4",
    "lz4:level=9",
    "zfp",
    "zfp:tolerance=0.2",
    "mqe1bit:block=70000",
    "fp8",
    "fp8:format=e5m2,rounding=random",
    "fp8:block=128,ef=1",
    "fp8:format=e5m2,block=16",
    "fp8:block=64,rounding=random",
    "mxfp4",
    "mxfp4:rounding=nearest",
    "mxfp4:ef=1",
    "int4",
    "int4:rounding=nearest,ef=1",
    "int8:ef=bf16",
    "3lc:s=1.75,ef=bf16",
    "topk:k=3,bucket=64,ef=bf16",
    "sparse:ef=bf16",
    "randk:density=0.1,ef=bf16",
    "mxfp4:ef=bf16",
    "local:every=2,inner=(topk:k=5,bucket=64,ef=bf16)",
    "exponent",
    "exponent:coder=window",
    "exponent:type=bf16",
    "exponent:type=fp32",
    "exponent:coder=window,type=fp16",
    "bf16:rounding=random",
    "int8:block=512,hadamard=32,ef=1",
    "int8:hadamard=16",
    "int8:block=64,hadamard=64,flip=7,ef=1",
    "int4:hadamard=32,flip=1",
    "fp8:hadamard=512,flip=2147483647",
    "int8:block=16",
    "int4:block=2048,rounding=nearest",
    "int4:block=128,hadamard=32",
    "int4:block=4096,hadamard=512,ef=1",
    "fp8:block=32,hadamard=128",
    "fp8:format=e5m2,hadamard=32,ef=bf16",
    "mxfp4:hadamard=64,rounding=nearest,ef=1",
    "int4:block=128,hadamard=32,ef=loco",
    "topk:k=3,bucket=64,ef=loco",
    "int8:ef=loco",
    "randk:density=0.1,ef=0,draw=strata",
    "randk:density=0.3,draw=strata",
    "signsgd:block=128",
    "efsign:block=37",
    "efsign:block=5000",
    "fp4",
    "fp4:format=e3m0",
    "fp4:format=e3m0,rounding=nearest,ef=1,block=128",
    "fp4:format=e3m0,block=16,hadamard=32",
    "chunktopk",
    "chunktopk:k=300,index=rice,decay=0.75",
    "chunktopk:k=4096,index=rice,ef=0",
    "chunktopk:k=1,index=rice,ef=bf16",
    "demo",
    "demo:side=9,k=5,signs=1,index=rice",
    "demo:k=500,decay=0.5,index=rice",
    NULL,
};

struct cc_spec *setting_open(const char *text)
{
    char id[64];
    (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(text, ":"), text);
    if (cc_scheme_find(id) == NULL)
        return NULL;
    for (const char *p = text; (p = strstr(p, "inner=")) != NULL;) {
        p += strlen("inner=");
        p += *p == '(';
        (void)snprintf(id, sizeof id, "%.*s", (int)strcspn(p, ":,)"), p);
        if (cc_scheme_find(id) == NULL)
            return NULL;
    }
    struct cc_spec *s = NULL;
    struct cc_error e = {""};
    if (cc_spec_parse(text, &s, &e) != CC_OK) {
        fprintf(stderr, "%s: %s\n", text, e.text);
        exit(1);
    }
    return s;
}

bool setting_covers(const char *id)
{
    const size_t length = strlen(id);
    for (size_t i = 0; settings[i] != NULL; i++)
        if (strcspn(settings[i], ":") == length && memcmp(settings[i], id, length) == 0)
            return true;
    return false;
}

/* The row of a parameter. The last rows are kept, as references ask for each value. */
static const struct cc_param *row(const struct cc_spec *s, const char *name)
{
    enum { KEPT = 64 };
    static _Thread_local struct kept {
        const struct cc_param *table, *row;
    } kept[KEPT];
    struct kept *k = &kept[(uintptr_t)name / 8 % KEPT];
    if (k->table == s->scheme->params && strcmp(k->row->name, name) == 0)
        return k->row;
    const struct cc_param *p = cc_param_find(s->scheme->params, name);
    if (p == NULL) {
        fprintf(stderr, "scheme %s has no parameter %s\n", s->scheme->id, name);
        exit(1);
    }
    *k = (struct kept){s->scheme->params, p};
    return p;
}

static const void *field(const struct cc_spec *s, const char *name)
{
    return (const char *)s->params + row(s, name)->offset;
}

double setting_real(const struct cc_spec *s, const char *name)
{
    double v;
    memcpy(&v, field(s, name), sizeof v);
    return v;
}

int64_t setting_int(const struct cc_spec *s, const char *name)
{
    int64_t v;
    memcpy(&v, field(s, name), sizeof v);
    return v;
}

bool setting_is(const struct cc_spec *s, const char *name, const char *choice)
{
    return strcmp(row(s, name)->choices[setting_int(s, name)], choice) == 0;
}

const struct cc_spec *setting_nested(const struct cc_spec *s, const char *name)
{
    const struct cc_spec *inner;
    memcpy(&inner, field(s, name), sizeof inner);
    return inner;
}

bool setting_has(const struct cc_spec *s, const char *name)
{
    return cc_param_find(s->scheme->params, name) != NULL;
}

/* Accelerators: how fast they train nets according to published measurements, which are presets of
 * the compute time (docs/traces.md lists them with their sources), and how long codecs take on them
 * (docs/model.md, Codecs on an accelerator). */
#ifndef CC_MODELS_DEVICE_H
#define CC_MODELS_DEVICE_H

#include <stddef.h>

#include "core/error.h"

#define CC_DEVICE_SCHEMA "commcomp-device/1"

/* A published throughput of one accelerator: `per_s` units a second, in steps of `batch`. */
struct cc_throughput {
    const char *net;              /* as --net takes it */
    const char *unit, *precision; /* "images", "mixed fp16" */
    const char *source;           /* where it was published */
    double batch, per_s;          /* above 0 */
};

struct cc_device {
    void *json;              /* owns all texts */
    const char *name, *text; /* "a100", "NVIDIA A100 (80 GB, SXM4)" */
    double memory_gb;        /* of memory, as it is sold; 10^9 bytes */
    double memory_gb_per_s,
        pcie_gb_per_s;         /* of its memory, and each way to the host's; 10^9 bytes */
    const char *memory_source; /* of all three */
    struct cc_throughput *throughput;
    size_t count; /* may be 0 */
};

/* Codecs on an accelerator: assumptions, the same for all. A launch of a kernel takes 5 to 10 us,
 * and a pass over memory reaches 0.6 to 0.8 of its bandwidth. */
#define CC_DEVICE_LAUNCH_S     7.5e-6
#define CC_DEVICE_MEMORY_SHARE 0.7

/* Seconds of `launches` kernels that read and write so many bytes of the device's memory in all. */
double cc_device_call_s(const struct cc_device *d, double launches, double bytes);

/* Opens a built-in device by its name; an unknown name is CC_USAGE. Free with cc_device_free. */
int cc_device_open(const char *name, struct cc_device **out, struct cc_error *e);
/* Parses a device's JSON, strictly. Any bytes either parse or give an error. */
int cc_device_parse(const char *text, size_t length, struct cc_device **out, struct cc_error *e);
void cc_device_free(struct cc_device *d);

/* The throughput of a net. CC_USAGE, naming the nets that there are, if none was published. */
int cc_device_throughput(const struct cc_device *d, const char *net,
                         const struct cc_throughput **out, struct cc_error *e);

/* The built-in devices' names, ending with NULL. */
extern const char *const cc_device_names[];

#endif

/* A language model as a net of tensors: the one that `train` trains. */
#include "cmd/input/source.h"
#include "train/model.h"

int cc_input_language(const char *name, struct cc_net **out, struct cc_error *e)
{
    struct cc_model *m;
    size_t context;
    CC_TRY(cc_model_open_language(name, &m, &context, e));
    const struct cc_model_layout *layout = cc_model_layout(m);
    const int status = cc_net_of(name, layout->tensors, layout->count, out, e);
    cc_model_close(m);
    return status;
}

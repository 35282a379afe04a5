/* The catalogue of schemes and their parameters, in the public interface. */
#include "binding/commcomp.h"
#include "core/version.h"
#include "schemes/scheme.h"

_Static_assert((int)COMMCOMP_LOSSY == (int)CC_LOSSY &&
                   (int)COMMCOMP_STOCHASTIC == (int)CC_STOCHASTIC &&
                   (int)COMMCOMP_FEEDBACK == (int)CC_FEEDBACK &&
                   (int)COMMCOMP_UNBIASED == (int)CC_UNBIASED &&
                   (int)COMMCOMP_SPARSE == (int)CC_SPARSE &&
                   (int)COMMCOMP_VERBATIM == (int)CC_VERBATIM,
               "the same flags");
_Static_assert((int)COMMCOMP_OPAQUE == (int)CC_OPAQUE && (int)COMMCOMP_SUM_F32 == (int)CC_SUM_F32 &&
                   (int)COMMCOMP_PAIRS == (int)CC_PAIRS,
               "the same kinds");

const char *commcomp_version(void)
{
    return cc_version();
}

size_t commcomp_schemes(void)
{
    size_t count = 0;
    while (cc_schemes[count] != NULL)
        count++;
    return count;
}

const char *commcomp_scheme_id(size_t scheme)
{
    return cc_schemes[scheme]->id;
}

const char *commcomp_scheme_title(size_t scheme)
{
    return cc_schemes[scheme]->title;
}

const char *commcomp_scheme_reference(size_t scheme)
{
    return cc_schemes[scheme]->reference;
}

unsigned commcomp_scheme_flags(size_t scheme)
{
    return cc_schemes[scheme]->flags;
}

int commcomp_scheme_kind(size_t scheme)
{
    return (int)cc_schemes[scheme]->kind;
}

size_t commcomp_parameters(size_t scheme)
{
    size_t count = 0;
    while (cc_schemes[scheme]->params[count].name != NULL)
        count++;
    return count;
}

const char *commcomp_parameter_name(size_t scheme, size_t parameter)
{
    return cc_schemes[scheme]->params[parameter].name;
}

const char *commcomp_parameter_help(size_t scheme, size_t parameter)
{
    return cc_schemes[scheme]->params[parameter].help;
}

void commcomp_parameter_range(size_t scheme, size_t parameter, char *out, size_t bytes)
{
    cc_param_print_range(&cc_schemes[scheme]->params[parameter], out, bytes);
}

void commcomp_parameter_default(size_t scheme, size_t parameter, char *out, size_t bytes)
{
    cc_param_print_default(&cc_schemes[scheme]->params[parameter], out, bytes);
}

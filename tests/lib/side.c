#include "tests/lib/side.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/isa.h"
#include "core/memory.h"

void side_open(struct side *s, const char *scheme, struct cc_shape shape, size_t shift)
{
    *s = (struct side){.ctx = {.name = "w"}};
    assert_int_equal(cc_spec_parse(scheme, &s->spec, &s->e), CC_OK);
    assert_int_equal(cc_codec_set_single(&s->set, s->spec, &shape, &cc_memory_in_turn, &s->e),
                     CC_OK);
    s->codec = s->set.item->codec;
    s->payload = s->set.item->payload;
    s->room = cc_alloc((shape.n + shift) * sizeof(float), NULL);
    s->y = s->room + shift;
    s->sum = cc_alloc0(shape.n * sizeof(float), NULL);
    assert_non_null(s->room);
    assert_non_null(s->sum);
}

void side_close(struct side *s)
{
    cc_codec_set_free(&s->set);
    free(s->room);
    free(s->sum);
    cc_spec_free(s->spec);
}

void side_expect_same(const struct side *a, const struct side *b, const char *data)
{
    size_t bytes = a->codec.shape.n * sizeof(float);
    const char *differs = NULL;
    if (a->len != b->len || memcmp(a->payload, b->payload, a->len) != 0)
        differs = "the payload";
    else if (memcmp(a->y, b->y, bytes) != 0)
        differs = "what is decoded";
    else if (memcmp(a->sum, b->sum, bytes) != 0)
        differs = "what is added";
    else if (a->codec.state != NULL &&
             memcmp(a->codec.state, b->codec.state, cc_state_bytes(&a->codec)) != 0)
        differs = "the state";
    if (differs != NULL)
        fail_msg("%s, %s, n %zu, %s, %d threads: %s differs", a->spec->name, data, a->codec.shape.n,
                 cc_isa_name(cc_isa()), b->codec.threads, differs);
}

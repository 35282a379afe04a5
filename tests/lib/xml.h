/* A small parser of XML without text, for platform files. */
#ifndef CC_TESTS_LIB_XML_H
#define CC_TESTS_LIB_XML_H

#include <stdbool.h>

struct xml_tag {
    char name[32];
    char text[400]; /* all between < and > */
    bool end;       /* </name> */
    bool empty;     /* <name/> */
};

/* Reads the next tag from *at and moves *at behind it. False if there is none. */
bool xml_next(const char **at, struct xml_tag *t);

/* The value of key="...", in one of a few static buffers; "" if there is none. */
const char *xml_value(const struct xml_tag *t, const char *key);

/* The first element of this name whose attribute `key` has the value `is`. Fails the test if there
 * is none. */
struct xml_tag xml_find(const char *xml, const char *name, const char *key, const char *is);

/* The number of elements of this name. */
int xml_count(const char *xml, const char *name);

/* Fails the test unless elements are properly nested and closed. */
void xml_assert_nested(const char *xml);

#endif

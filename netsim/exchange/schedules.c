/* Exchanges whose schedules models follow, too (core/schedule.h). */
#include "netsim/exchange/exchange_code.h"

const struct cc_exchange_code cc_exchange_code_ring = {.schedule = cc_schedule_ring};
const struct cc_exchange_code cc_exchange_code_tree = {.schedule = cc_schedule_tree};
const struct cc_exchange_code cc_exchange_code_hierarchical = {.schedule =
                                                                   cc_schedule_hierarchical};
const struct cc_exchange_code cc_exchange_code_twoshot = {.schedule = cc_schedule_split};
const struct cc_exchange_code cc_exchange_code_ssar_split = {.schedule = cc_schedule_split};
const struct cc_exchange_code cc_exchange_code_dsar_split = {.schedule = cc_schedule_split};

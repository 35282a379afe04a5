/* The published tables: PAPER(symbol, name), each with its file models/papers/NAME.json, which is
 * embedded in the program. No include guard: a list that is included with several definitions of
 * PAPER. */
PAPER(threelc_table1, "3lc-table1")
PAPER(threelc_table2, "3lc-table2")
PAPER(sparcml_table2, "sparcml-table2")
PAPER(sparcml_table3, "sparcml-table3")
PAPER(sparcml_figure4, "sparcml-figure4")
PAPER(pipe_sgd, "pipe-sgd")
PAPER(qsgd_table1, "qsgd-table1")
PAPER(qsgd_section5, "qsgd-section5")
PAPER(utility, "utility")
PAPER(thesis_table1_1, "thesis-table1.1")
PAPER(thesis_placement, "thesis-placement")
PAPER(thesis_combined, "thesis-combined")

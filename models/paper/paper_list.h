/* The published tables: X(symbol, name), each with its file models/papers/NAME.json, which is
 * embedded in the program. */
#ifndef CC_MODELS_PAPER_PAPER_LIST_H
#define CC_MODELS_PAPER_PAPER_LIST_H

#define CC_PAPERS(X)                                                                               \
    X(threelc_table1, "3lc-table1")                                                                \
    X(threelc_table2, "3lc-table2")                                                                \
    X(sparcml_table2, "sparcml-table2")                                                            \
    X(sparcml_table3, "sparcml-table3")                                                            \
    X(sparcml_figure4, "sparcml-figure4")                                                          \
    X(sparcml_spark, "sparcml-spark")                                                              \
    X(pipe_sgd, "pipe-sgd")                                                                        \
    X(qsgd_table1, "qsgd-table1")                                                                  \
    X(qsgd_section5, "qsgd-section5")                                                              \
    X(utility, "utility")                                                                          \
    X(thesis_table1_1, "thesis-table1.1")                                                          \
    X(thesis_placement, "thesis-placement")                                                        \
    X(thesis_combined, "thesis-combined")                                                          \
    X(sdp4bit_table4, "sdp4bit-table4")                                                            \
    X(diloco_table4, "diloco-table4")                                                              \
    X(diloco_table6, "diloco-table6")                                                              \
    X(quickreduce, "quickreduce")                                                                  \
    X(dlperf_resnet50, "dlperf-resnet50")                                                          \
    X(dlperf_bert, "dlperf-bert")                                                                  \
    X(dlperf_bert_fp16, "dlperf-bert-fp16")                                                        \
    X(horovod_512, "horovod-512")                                                                  \
    X(tensorflow_ec2, "tensorflow-ec2")                                                            \
    X(tensorflow_dgx1, "tensorflow-dgx1")                                                          \
    X(nvidia_bert_fp16, "nvidia-bert-fp16")                                                        \
    X(nvidia_bert_fp32, "nvidia-bert-fp32")                                                        \
    X(dell_c4140, "dell-c4140")

#endif

/* The built-in nets: X(symbol, name), each with its file models/nets/NAME.json, which is embedded
 * in the program. */
#ifndef CC_MODELS_NET_LIST_H
#define CC_MODELS_NET_LIST_H

#define CC_NETS(X)                                                                                 \
    X(resnet20, "resnet20")                                                                        \
    X(resnet56, "resnet56")                                                                        \
    X(resnet110, "resnet110")                                                                      \
    X(resnet18, "resnet18")                                                                        \
    X(resnet50, "resnet50")                                                                        \
    X(resnet101, "resnet101")                                                                      \
    X(resnet152, "resnet152")                                                                      \
    X(alexnet, "alexnet")                                                                          \
    X(vgg16, "vgg16")                                                                              \
    X(vgg19, "vgg19")                                                                              \
    X(googlenet, "googlenet")                                                                      \
    X(bn_inception, "bn-inception")                                                                \
    X(inception_v4, "inception-v4")                                                                \
    X(densenet40, "densenet40")                                                                    \
    X(an4_lstm, "an4-lstm")                                                                        \
    X(mnist_mlp_500, "mnist-mlp-500")                                                              \
    X(mnist_mlp_4096, "mnist-mlp-4096")                                                            \
    X(bert_base, "bert-base")                                                                      \
    X(gpt2, "gpt2")                                                                                \
    X(gpt2_xl, "gpt2-xl")                                                                          \
    X(gpt_1_3b, "gpt-1.3b")                                                                        \
    X(llama2_7b, "llama2-7b")                                                                      \
    X(llama3_8b, "llama3-8b")                                                                      \
    X(llama3_70b, "llama3-70b")                                                                    \
    X(mixtral_8x7b_dense, "mixtral-8x7b-dense")

#endif

#!/bin/sh
# `commcomp check`: rows that people published of their own clusters, in issues of nccl-tests, NCCL and others,
# whose numbers are named above each; and input that is not what nccl-tests prints.
. "$(dirname "$0")/lib.sh"

# NVIDIA/nccl-tests issue 150: two hosts with an A100 each, HDR InfiniBand (200 Gbit/s).
cat >a100.txt <<'P'
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    19.90    0.00    0.00      0    18.96    0.00    0.00      0
          16             4     float     sum      -1    20.67    0.00    0.00      0    19.10    0.00    0.00      0
          32             8     float     sum      -1    19.16    0.00    0.00      0    18.98    0.00    0.00      0
          64            16     float     sum      -1    19.36    0.00    0.00      0    19.07    0.00    0.00      0
P
# NVIDIA/nccl-tests issue 232: two hosts with an H100 each and four interfaces, of which one is used.
cat >h100.txt <<'P'
     2097152        524288     float     sum      -1    113.2   18.53   18.53      0    93.35   22.46   22.46      0
     4194304       1048576     float     sum      -1    154.4   27.16   27.16      0    153.3   27.37   27.37      0
     8388608       2097152     float     sum      -1    231.4   36.24   36.24      0    227.8   36.83   36.83      0
    16777216       4194304     float     sum      -1    420.5   39.90   39.90      0    419.9   39.95   39.95      0
    33554432       8388608     float     sum      -1    812.3   41.31   41.31      0    808.2   41.52   41.52      0
P
# NVIDIA/nccl issue 1453, "Poor NCCL allreduce performance", 24 ranks, with the marks of the launcher.
cat >poor.txt <<'P'
[0]      1048576        262144     float     sum      -1[0]    1626.5    0.64    1.24      0[0]    2302.3    0.46    0.87      0
[0]      2097152        524288     float     sum      -1[0]    2325.3    0.90    1.73      0[0]     416.7    5.03    9.65      0
[0]      4194304       1048576     float     sum      -1[0]     622.6    6.74   12.91      0[0]     625.8    6.70   12.85      0
[0]      8388608       2097152     float     sum      -1[0]     992.6    8.45   16.20      0[0]     986.0    8.51   16.31      0
[0]     16777216       4194304     float     sum      -1[0]    1334.9   12.57   24.09      0[0]    1336.5   12.55   24.06      0
[0]     33554432       8388608     float     sum      -1[0]    2180.1   15.39   29.50      0[0]    2285.2   14.68   28.14      0
[0]     67108864      16777216     float     sum      -1[0]     24410    2.75    5.27      0[0]     24425    2.75    5.27      0
[0]    134217728      33554432     float     sum      -1[0]     49264    2.72    5.22      0[0]     48558    2.76    5.30      0
[0]    268435456      67108864     float     sum      -1[0]    125807    2.13    4.09      0[0]    121575    2.21    4.23      0
[0]    536870912     134217728     float     sum      -1[0]    193909    2.77    5.31      0[0]    192903    2.78    5.33      0
P
# NVIDIA/dgx-spark-playbooks pull request 103: two hosts, 200 Gbit/s.
cat >spark.txt <<'P'
# nccl-tests version 2.20.0 (b4d5bee) nccl-headers=23102 nccl-library=23102
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8192 maxBytes 8589934592 step: 2(factor) warmup iters: 10 iters: 100 agg iters: 1 validation: 1 graph: 0 unalign: 0
#  Rank  0 Group  0 Pid 1666603 on spark-d708 device  0 [000f:01:00] NVIDIA GB10
#  Rank  1 Group  0 Pid 1669515 on spark-dbf4 device  0 [000f:01:00] NVIDIA GB10
        8192          2048     float     sum      -1    35.15    0.23    0.23       0    30.33    0.27    0.27       0
       16384          4096     float     sum      -1    31.67    0.52    0.52       0    30.75    0.53    0.53       0
       32768          8192     float     sum      -1    39.56    0.83    0.83       0    37.44    0.88    0.88       0
       65536         16384     float     sum      -1    67.93    0.96    0.96       0    64.71    1.01    1.01       0
P
# NVIDIA/nccl issue 1435: all_gather_perf on two accelerators of a host.
cat >gather.txt <<'P'
    16777216       4194304  bfloat16    none      -1    108.8  154.20   77.10      0    98.19  170.86   85.43      0
    33554432       8388608  bfloat16    none      -1    183.0  183.33   91.66      0    156.1  214.95  107.48      0
    50331648      12582912  bfloat16    none      -1    237.9  211.57  105.78      0    200.0  251.62  125.81      0
    67108864      16777216  bfloat16    none      -1    292.3  229.59  114.79      0    256.5  261.63  130.82      0
    83886080      20971520  bfloat16    none      -1    354.2  236.81  118.41      0    307.0  273.22  136.61      0
P
# deepseek-ai/DeepEP issue 303: eight H20 of a host.
cat >h20.txt <<'P'
           4             1     float     sum      -1    12.49    0.00    0.00      0    12.61    0.00    0.00      0
           8             2     float     sum      -1    12.49    0.00    0.00      0    12.50    0.00    0.00      0
          16             4     float     sum      -1    12.52    0.00    0.00      0    12.51    0.00    0.00      0
          32             8     float     sum      -1    24.63    0.00    0.00      0    13.10    0.00    0.00      0
          64            16     float     sum      -1    14.50    0.00    0.01      0    14.39    0.00    0.01      0
         128            32     float     sum      -1    15.50    0.01    0.01      0    15.31    0.01    0.01      0
        1024           256     float     sum      -1    16.38    0.06    0.11      0    15.71    0.07    0.11      0
        2048           512     float     sum      -1    16.49    0.12    0.22      0    15.84    0.13    0.23      0
P
# NVIDIA/nccl-tests issue 194: two H100 PCIe, joined by NVLink bridges of 300 GB/s each way.
cat >bridge.txt <<'P'
  1073741824     268435456     float     sum      -1   9306.7  115.37  115.37      0   9291.5  115.56  115.56      0
  2147483648     536870912     float     sum      -1    18535  115.86  115.86      0    18524  115.93  115.93      0
P
# NVIDIA/nccl issue 1244: two hosts with eight H20 and eight interfaces of 400 Gbit/s; an older version.
cat >old.txt <<'P'
           4             1     float     sum    47.54    0.00    0.00  0e+00    49.35    0.00    0.00  4e-07
           8             2     float     sum    47.60    0.00    0.00  2e-07    47.54    0.00    0.00  2e-07
          16             4     float     sum    46.25    0.00    0.00  1e-07    46.27    0.00    0.00  1e-07
         256            64     float     sum    46.65    0.01    0.01  1e-07    46.73    0.01    0.01  6e-08
         512           128     float     sum    46.58    0.01    0.02  6e-08    46.42    0.01    0.02  6e-08
P
q 0 check a100.txt --workers 2 --per-host 1 --bw 200gbps
expected a100
q 0 check h100.txt --per-host 1 --workers 2 --bw 200gbps --nics 8 --device h100
expected h100
q 0 check poor.txt --per-host 8 --bw 800gbps --device a100
expected poor
q 0 check spark.txt --bw 200gbps
expected spark
q 0 check gather.txt
expected gather
q 0 check h20.txt --workers 8 --device h100
expected h20
q 0 check bridge.txt --workers 2 --intra-bw 300GB/s --device h100
expected bridge
q 0 check old.txt --workers 16 --per-host 8 --bw 3200gbps --device h100
expected old

# By hand: 24 ranks follow from busbw / algbw = 2 x 23 / 24; busbw from the printed time.
q 0 check poor.txt --per-host 8 --bw 800gbps --format json
json 'len(d["rows"]) == 10 and all(r["workers"] == 24 and r["hosts"] == 3 for r in d["rows"])'
json 'abs(d["rows"][5]["busbw_gb_per_s"] - 33554432 / 2180.1e-6 * 46 / 24 / 1e9) < 1e-9'
json 'all(abs(r["busbw_share"] - r["call_expected_s"] / r["call_measured_s"]) < 1e-9 for r in d["rows"])'
json '[bool(r["suspicious"]) for r in d["rows"]] == [True] * 2 + [False] * 4 + [True] * 4'

# Hosts are those of different names, in whatever order their ranks are printed.
ranks() { # ranks HOST ...: a log with a rank on each
    n=0
    for host; do
        echo "#  Rank  $n Group  0 Pid  $((300 + n)) on $host device  $((n / 2)) [0x0$n] NVIDIA A100-SXM4-40GB"
        n=$((n + 1))
    done
    echo '  8388608 2097152 float sum -1 500.0 16.78 25.17 0 500.0 16.78 25.17 0'
}
ranks a b a b >turns.txt
ranks a a b b >blocks.txt
for log in turns blocks; do
    q 0 check $log.txt --bw 200gbps --format json
    json '(d["rows"][0]["workers"], d["rows"][0]["hosts"]) == (4, 2) and not any("WARNING" in n for n in d["notes"])'
    cp out $log.json
done
[ "$(grep call_expected_s turns.json)" = "$(grep call_expected_s blocks.json)" ] || bad "the order of ranks matters"
ranks a b a a >uneven.txt
q 0 check uneven.txt --bw 200gbps
out "WARNING: the log's hosts have 1 to 3 devices each, and what is expected is of 2 on each"
# Suspicious rows: one row of each kind, of 8 ranks on a host with NVLink of an A100.
cat >odd.txt <<'P'
1024 256 float sum -1 200.0 0.01 0.01 0 200.0 0.01 0.01 0
2097152 524288 float sum -1 50.00 41.94 73.40 0 50.00 41.94 73.40 0
4194304 1048576 float sum -1 65.00 64.53 112.9 0 65.00 64.53 112.9 0
268435456 67108864 float sum -1 1000 268.4 469.8 0 1000 268.4 469.8 0
536870912 134217728 float sum -1 4300 124.9 124.9 0 4300 124.9 218.5 0
1073741824 268435456 float sum -1 21000 51.13 89.48 0 21000 51.13 89.48 0
2147483648 536870912 float sum -1 16000 134.2 234.9 0 16000 134.2 234.9 0
P
q 0 check odd.txt --workers 8 --format json
for words in 'latency 13 times' 'above the link' 'busbw is 1 algbw, not 1.75' 'below the others' 'slower than at 256 MiB' \
    'longer than 2147483648 bytes'; do
    json "any('$words' in (r['suspicious'] or '') for r in d['rows'])"
done
json 'd["rows"][1]["suspicious"] is None and d["rows"][2]["suspicious"] is None'

# JSON, with devices; wrong values fail the check.
cat >log.json <<'P'
{"version": 3, "config": {"devices": [{"hostname": "a", "device_info": "NVIDIA A100-SXM4-80GB"},
 {"hostname": "a", "device_info": "NVIDIA A100-SXM4-80GB"}]}, "results": [{"size": 67108864, "count": 16777216,
 "type": "float", "redop": "sum", "root": "    -1", "out_of_place": {"time": 300.5, "alg_bw": 223.3, "bus_bw": 223.3,
 "nwrong": 0}, "in_place": null, "experiment_name": "all_reduce_perf"}]}
P
q 0 check log.json
expected json
for size in '"size": 1e300' '"size": null'; do
    sed "s/\"size\": 67108864/$size/" log.json >huge.json
    t 1 check huge.json
    err 'huge.json: result 1: "size" and "count" must be there, and below 1e+15'
done
sed 's/"nwrong": 0/"nwrong": 3/' log.json >wrong.json
t 1 check wrong.json
err 'wrong.json: 3 wrong values'

# Bad input: the file and the place.
t 2 check a100.txt
err 'a100.txt: neither devices nor bandwidths tell the number of ranks: give --workers'
t 2 check spark.txt
err 'spark.txt: 2 hosts: give --bw'
t 2 check poor.txt --per-host 7 --bw 1gbps
err '--per-host 7 does not divide the 24 ranks'
t 2 check poor.txt --op broadcast
err 'broadcast'
bad_rows() { printf '%b' "$1" >bad.txt; }
bad_rows '# nccl-tests\n1024 256 float sum -1 12 x 1 0 12 1 1 0\n'
t 1 check bad.txt
err "bad.txt: line 2: 'x' is not a number"
bad_rows '\n\n1024 256 float sum -1 12 1 0\n'
t 1 check bad.txt
err 'bad.txt: line 3: a row of 8 words'
bad_rows '1024 256 float sum -1 -12 1 1 0 12 1 1 0\n'
t 1 check bad.txt
err "bad.txt: line 1: '-12' is not a number"
bad_rows 'nothing of it\n'
t 1 check bad.txt
err 'bad.txt: no rows: give the output of nccl-tests'
bad_rows '1024 256 float none 2 12 1 1 0 12 1 1 0\n'
t 1 check bad.txt
err 'bad.txt: an operation with a root'
bad_rows '# Collective test starting: alltoall_perf\n1024 256 float none -1 12 1 1 0 12 1 1 N/A\n'
t 1 check bad.txt
err 'bad.txt: alltoall_perf: the formulas are those of'
bad_rows '{"results": [{"size": 8}]}'
t 1 check bad.txt
err 'bad.txt: result 1: "size" and "count" must be there'
bad_rows '{"results": [{"size": 8, "count": 2, "out_of_place": {"time": "x"}}]}'
t 1 check bad.txt
err '"time" must be a number'
bad_rows '{"results"'
t 1 check bad.txt
err 'bad.txt: byte'
t 1 check missing.txt
err 'missing.txt'

finish

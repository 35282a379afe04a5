#!/bin/sh
# Plugins that break what they promise: each is the example of docs/plugins.md with one fault, compiled
# here. The command ends with exit code 1 and names the plugin; no figures are printed. CC is the compiler.
. "$(dirname "$0")/lib.sh"
root=$(dirname "$tests")
export XDG_CACHE_HOME="$dir/cache"
sed -n '/^```c$/,/^```$/{/^```/!p}' "$root/docs/plugins.md" >cyclic.c

# build NAME SED: a plugin with the script's changes. The first line has what they may need.
build() {
    sed "1i#include <errno.h>\n#include <pthread.h>\n#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>
$2" cyclic.c >"$1.c"
    case="$1" good=1
    : >out
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Werror -Wno-unused -O2 -shared -fPIC -pthread -I"$root" "$1.c" -o "$1.so" 2>err ||
        bad "$1 does not compile"
}
# within ENCODE|DECODE CODE: the script that puts C code at the beginning of a function. `large` tells the
# tensors of the cases from those of the self-test.
large='const int large = c->shape.n > 1000;'
within() {
    case $1 in
        encode) echo "/const size_t n = .*k_of(c->params);\$/s/\$/ $large $2/" ;;
        decode) echo "/first = ctx->step % k;\$/s/\$/ $large $2/" ;;
    esac
}
bench='bench --values 2000 --scheme cyclic --passes 1 --samples 2 --format csv'

# faulty NAME SED MESSAGE: is refused when it is loaded.
faulty() {
    build "$1" "$2"
    t 1 schemes --plugin "$1.so"
    err "$1.so: cyclic fails its self-test: .*$3"
}
# fails NAME SED MESSAGE: passes its self-test, and fails in the bench.
fails() {
    build "$1" "$2"
    q 0 schemes --plugin "$1.so" cyclic
    t 1 $bench --plugin "$1.so"
    err "$1.so.*$3"
    [ ! -s out ] || bad 'it prints figures'
}

# --- the self-test ---

case='an honest one'
build honest ''
q 0 $bench --plugin honest.so
out '^cyclic,'
# Defaults that its own check refuses are not tested: other parameters may do.
build choosy 's/^static const struct cc_scheme/static int check(const void *p, struct cc_error *e) { return k_of(p) == 8 ? cc_usage(e, "k=8 is taken") : CC_OK; }\n&/
s/\.bound = bound/.check = check, &/'
q 0 bench --values 2000 --scheme cyclic:k=4 --passes 1 --samples 2 --format csv --plugin choosy.so
out '^cyclic:k=4,'
t 2 bench --values 2000 --scheme cyclic --plugin choosy.so
err 'k=8 is taken'

zero='s/^static const struct cc_scheme/static size_t period(const void *p) { return k_of(p) - 8; }\n&/
s/\.bound = bound/.period = period, &/'
faulty period "$zero" 'its period is 0'
faulty state 's/return (void)p, 4 \* s->n/return (void)p, 4 * s->n + 3/' 'its state of 7 bytes is not a multiple of 4'
faulty sums 's/CC_OPAQUE/CC_SUM_F32/' 'a payload of 0 bytes: one that can be summed (CC_SUM_F32) has 4'
faulty longer "$(within encode '*len = 0;'); s/return (void)cap, CC_OK/return *len += n == 5 ? 40 : 0, CC_OK/" \
    'a payload of 44 bytes, of which 4 are the most'
faulty beyond "$(within encode 'out[cap + 3] = 1;')" 'it writes beyond the 4 bytes of its payload'
faulty drawn "$(within encode 'static int calls; calls++;'); s/memcpy(out + \*len, &residual\[i\], 4);/& out[*len] = (uint8_t)calls;/" \
    'the same input and state give another payload'
faulty adds 's/cc_add_scaled(\*to, \*scale, v)/*to + v/' 'decode with a scale of 0.5 adds'
faulty unset 's/memset(y, 0, 4 \* n)/memset(y, 0, n > 5 ? 4 * n : 4)/' 'the same payload gives other values, or not all are set'
faulty exact 's/CC_LOSSY | CC_FEEDBACK/0/' 'the scheme is not CC_LOSSY'
faulty nan "$(within decode 'if (n == 5 \&\& scale == NULL) { y[3] = NAN; return CC_OK; }')" \
    "its decode breaks a promise: tensor 'self-test', step 0: a NaN at index 3"
faulty wide 's/return 4 \* (s->n/return ((size_t)1 << 40) * (s->n/' 'it needs a bound of'
# Parameters other than the defaults are looked at where they are used.
build some "$(printf '%s' "$zero" | sed 's/k_of(p) - 8/k_of(p) != 9/')"
q 0 schemes --plugin some.so cyclic
t 1 bench --values 2000 --scheme cyclic:k=9 --plugin some.so
err 'scheme cyclic: with these parameters its period is 0'

# --- while it is used ---

fails length "$(within encode '*len = 0;'); s/return (void)cap, CC_OK/return *len += large ? cap : 0, CC_OK/" \
    "its encode breaks a promise: tensor 'values', step 0: a payload of [0-9]* bytes, of which [0-9]* are the most"
fails later "$(within decode 'if (large) { for (size_t i = 0; i < n; i++) y[i] = 0; y[n - 1] = -INFINITY; return CC_OK; }')" \
    "its decode breaks a promise: tensor 'values', step 0: an infinity at index 1999"
t 1 train --plugin later.so --net mlp:32 --scheme cyclic --steps 2 --workers 2
err "later.so: its decode breaks a promise: tensor '[^']*', step 0: an infinity"

# --- exit() ---

fails exits "$(within encode 'if (large) exit(0);')" 'its encode called exit()'
fails thread "s/^static int encode/static void *leave(void *arg) { exit((arg != NULL)); }\n&/; $(within encode 'if (large) { pthread_t t; pthread_create(\&t, NULL, leave, NULL); pthread_join(t, NULL); }')" \
    'its encode called exit()'
build constructor 's/^static int encode/__attribute__((constructor)) static void begin(void) { exit(0); }\n&/'
t 1 schemes --plugin constructor.so
err 'constructor.so: its code that is run when it is loaded called exit()'
fails bounds 's/return 4 \* (s->n/if (s->n > 1000) exit(0); &/' 'its bound called exit()'
build checks 's/^static const struct cc_scheme/static int check(const void *p, struct cc_error *e) { if (k_of(p) == 9) exit(0); return CC_OK; }\n&/
s/\.bound = bound/.check = check, &/'
t 1 bench --values 2000 --scheme cyclic:k=9 --plugin checks.so
err 'checks.so: its check called exit()'
# A process of its own may exit.
build forks "$(within encode 'if (large) { const pid_t child = fork(); if (child == 0) exit(0); waitpid(child, NULL, 0); }')"
q 0 $bench --plugin forks.so
out '^cyclic,'

# --- calls that do not return ---

build hangs "$(within encode 'if (large) fclose(fopen("hanging", "w")); while (large) pause();')"
build hangs_at_once "$(within encode 'for (;;) pause();')"
case='a self-test that hangs' good=1
began=$(date +%s)
t 1 schemes --plugin hangs_at_once.so
err 'hangs_at_once.so: its encode has not returned for [5-9]'
[ $(($(date +%s) - began)) -le 30 ] || bad "after $(($(date +%s) - began)) s"
for signal in TERM INT; do
    end_case
    case="a call that hangs, SIG$signal" good=1
    # Background jobs of a shell ignore SIGINT, which commands keep.
    rm -f hanging
    python3 - "$program" $signal $bench --plugin hangs.so >out 2>err <<'P' || bad 'see stdout'
import os, signal, subprocess, sys, time
program, name, words = sys.argv[1], 'SIG' + sys.argv[2], sys.argv[3:]
signal.signal(signal.SIGINT, signal.default_int_handler)
p = subprocess.Popen([program] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while p.poll() is None and not os.path.exists('hanging'):
    time.sleep(0.05)
began = time.monotonic()
p.send_signal(getattr(signal, name))
try:
    out, err = p.communicate(timeout=30)
except subprocess.TimeoutExpired:
    p.kill()
    sys.exit('it is there 30 s after the signal')
sys.stderr.write(err)
print(f'exit {p.returncode} after {time.monotonic() - began:.2f} s')
sys.exit(p.returncode != 1 or bool(out))
P
    err 'hangs.so: its encode does not return, though the program is to end'
done

# --- ranks ---

why=$(why_no_lab)
if [ -z "$why" ] && ! sanitized; then
    build ranks "$(within encode 'if (strstr(program_invocation_short_name, "rank") != NULL) exit(0);')"
    t 1 run --plugin ranks.so --workers 2 --bw 100mbps --values 2000 --scheme cyclic --steps 2
    err 'ranks.so: its encode called exit()'
    build rank_nan "$(within decode 'if (large) { for (size_t i = 0; i < n; i++) y[i] = strstr(program_invocation_short_name, "rank") != NULL ? NAN : 0; return CC_OK; }')"
    t 1 run --plugin rank_nan.so --workers 2 --bw 100mbps --values 2000 --scheme cyclic --steps 2
    err 'rank_nan.so: its decode breaks a promise'
else
    echo "plugin_faults: ranks: skipped: ${why:-sanitized}"
fi

finish

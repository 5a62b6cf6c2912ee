#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# The same script by each shell: functions, jobs, traps, here-documents, globs, arithmetic.
cat > common.sh <<'END'
square() { echo $(($1 * $1)); }
for n in 1 2 3; do square $n; done
case "word" in w*) echo matches ;; esac
mkdir -p d && touch d/a d/b d/c && echo d/* && rm -r d
(cd / && pwd) && [ "$(cd / && pwd)" = / ]
x=outer; (x=inner; echo $x); echo $x
trap 'echo leaves' EXIT
trap 'echo signalled' USR1; kill -USR1 $$; sleep 0
{ echo to stderr >&2; } 2>&1 | sed 's/^/piped: /'
while read -r a b; do echo "$b-$a"; done <<IN
one two
three four
IN
sh -c 'exit 7' || echo "status $?"
i=0; while [ $i -lt 200 ]; do i=$((i + 1)); done; echo $i
(sleep 0.02; exit 3) & wait $!; echo "job $?"
set -- a "b c" d; echo $# "$2"; shift; echo "$@"
printf '%s|%5d|%x\n' text 42 255
ulimit -n 64; ulimit -n
umask 027; : > masked; ls -l masked | cut -c1-10; rm masked
eval 'echo evaluated'; unset x; echo ${x:-default}
IFS=:; set -- $(echo a:b:c); echo $3
exit 5
END
for shell in "bash" "dash" "busybox sh" "bash --posix"; do
    $shell common.sh; echo "$shell: $?"
done
# What only bash has.
declare -A table=([one]=1 [two]=2); for key in one two; do echo "$key=${table[$key]}"; done
mapfile -t lines < <(seq 5); echo "${#lines[@]} ${lines[*]:1:3}"
[[ "version 12.5" =~ ([0-9]+)\.([0-9]+) ]] && echo "${BASH_REMATCH[1]} and ${BASH_REMATCH[2]}"
set -o pipefail; false | true; echo "pipe ${PIPESTATUS[*]} $?"
for i in {1..20}; do (exit $((i % 3))) & done; wait; echo all jobs
shopt -s extglob nullglob
touch x1.c x2.c y.h; echo !(*.h|*.sh); rm x1.c x2.c y.h
echo {a,b}{1..3} $((2#1010)) ${BASH_VERSINFO[0]}
trap 'echo child ended' CHLD; /bin/true; trap - CHLD
bash -c 'kill -SEGV $$'; echo "segv $?"
timeout -s KILL 0.2 bash -c 'while :; do :; done'; echo "endless $?"
bash -c 'ulimit -t 1; ulimit -t; while :; do :; done'; echo "time $?"
bash -c 'ulimit -St 1; trap "echo used up; exit 3" XCPU; while :; do :; done'; echo "time $?"
(ulimit -d 20000; ulimit -d; x=$(head -c 30000000 /dev/zero | tr '\0' a); echo ${#x}); echo "data $?"

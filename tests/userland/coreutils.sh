#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Each program of coreutils, with results that are the same on every run.
set -u
umask 022
seq 1 20 > n; printf 'b\na\nc\na\n' > l; printf 'k1 x\nk2 y\n' > j1; printf 'k1 p\nk2 q\n' > j2
say() { echo "== $*"; }
say text; cat n | tac | head -3 | tail -1; nl l; sort l | uniq -c; comm <(sort l) <(printf 'a\nc\n'); join j1 j2
cut -d' ' -f2 j1; paste -d, j1 j2; tr a-z A-Z < l; rev l; expand <<< $'a\tb'; unexpand -a <<< 'a       b'
fold -w 3 <<< abcdefgh; fmt -w 10 <<< 'a few words in a row'; pr -t -l 5 l; split -l 7 n part-; wc part-*; csplit -s n 5 10; ls xx*
shuf -i 1-50 --random-source=/bin/true | sort -n | md5sum; tsort <<< 'a b b c'; ptx <<< 'a b' | wc -l; numfmt --to=iec 1048576
say sums; md5sum n; sha1sum n; sha224sum n; sha256sum n; sha384sum n; sha512sum n; b2sum n; cksum n; sum n; base64 n | head -1; base32 n | head -1; basenc --base16 n | head -1; od -c l | head -2
say files; cp -a n n2; cmp n n2 && echo same; mv n2 n3; ln -s n3 s; readlink s; realpath s | xargs basename; ln n3 h; stat -c '%h %s %a %F' n3 s; rm h s
install -m 750 n3 i; stat -c %a i; mkdir -p a/b/c; rmdir a/b/c; touch -d '2001-02-03 04:05:06 UTC' a/t; stat -c %Y a/t; chmod u+x,o-r a/t; ls -l a | awk '{print $1, $NF}'
truncate -s 5000 t; stat -c %s t; dd if=n of=d bs=7 count=3 skip=1 2>/dev/null; od -An -c d; du -b n; ls -1R a; dir -1 a; vdir a | wc -l; mktemp -u x.XXXX | wc -c
f=$(mktemp -d)/f; mkfifo $f; cat $f > from-f & echo through > $f; wait; cat from-f; rm -r ${f%/f}; shred -u t; test -e t || echo shredded; link n n4; unlink n4; sync n; pathchk n && echo fine
say system; uname -s; arch; nproc > /dev/null && echo cpus; id -u; whoami; groups | wc -w; logname > /dev/null 2>&1; date -u -d @86400 +%F; tty; hostid > /dev/null; env -i A=b env; A=c printenv A; cd ..; pwd > /dev/null && cd - > /dev/null
say numbers; expr 6 \* 7; factor 9999991 1234567890; seq -s, 5; seq -f %03g 3; test 1 -lt 2 && echo less; [ a = b ] || echo differ; echo -e 'a\tb'; printf '%b %q\n' 'x\ty' 'a b'
say processes; nohup echo immune 2>/dev/null; timeout 0.05 sleep 3; echo $?; sleep 0.01; kill -l 9; true; echo $?; false; echo $?; yes | head -1; stdbuf -oL echo buffered; chroot / echo inside 2>&1; tee copy < l | wc -l; pinky > /dev/null 2>&1; users > /dev/null; who > /dev/null; echo done
xx=$(ls / | sort | head -3 | tr '\n' ' '); echo "$xx"; df . > /dev/null && echo df; basename /a/b.c .c; dirname /a/b; dircolors -b | head -c 10; echo; stty -a < /dev/null 2>&1 | head -1

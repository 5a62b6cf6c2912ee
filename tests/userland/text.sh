#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# find, xargs, grep, sed and three kinds of awk.
mkdir -p t/{a,b}/{x,y}; for f in t/{a,b}/{x,y}/{1,2}.{txt,c}; do echo "$f has a line" > $f; done; touch -d 2001-01-01 t/a/x/1.c
find t -type f | sort; find t -name '*.c' -newer t/a/x/1.c | sort | wc -l; find t -type d -empty; find t -size -2c -o -name '2.*' -print | sort | head -3
find t -name '*.txt' -print0 | sort -z | xargs -0 -n 3 -P 4 sh -c 'echo $#' | sort | uniq -c
find t -name '*.c' -exec sh -c 'for f; do basename $f; done' sh {} + | sort; find t -name 1.txt -delete; find t -type f | wc -l; find t -printf '%y %P\n' | sort | head -5
seq 1000 | xargs -n 1 -P 8 echo | sort -n | md5sum; echo a b c | xargs -I{} echo '<{}>'; seq 3 | xargs -t -n1 false; echo "xargs $?"
grep -rc line t | sort; grep -rlE '(a|b)/x' t | sort; grep -c . <(seq 100); grep -v 1 <(seq 20) | tr '\n' ' '; echo | grep -q x; echo "grep $?"; grep -Po '(?<=/)y' t/a/y/2.c; grep -n -A1 -B1 5 <(seq 9)
sed -n '2,4p;$=' <(seq 9); sed -e 's/\(.\)1/<\1>/g' -e '/5/d' <(seq 9 15); sed -i 's/line/row/' t/a/y/2.c; cat t/a/y/2.c; sed ':a;N;$!ba;s/\n/,/g' <(seq 5)
for awk in mawk "busybox awk"; do
    $awk 'BEGIN { for (i = 0; i < 5; i++) x[i] = i * i; for (i = 0; i < 5; i++) printf "%d ", x[i]; print "" }'
    seq 100 | $awk '{ s += $1; n[$1 % 7]++ } END { print s, n[3]; print length("text"), toupper("up"), substr("abcdef", 2, 3) }'
    $awk -F: '$3 == 0 { print $1 }' /etc/passwd; $awk 'BEGIN { while (("echo a; echo b" | getline l) > 0) print "got " l; print "sorted" | "sort"; close("sort"); exit 4 }'; echo "$awk $?"
done
diff -u <(seq 5) <(seq 2 6) | tail -n +3; diff -r t/a t/b | wc -l; seq 5 > p1; seq 2 6 > p2; diff p1 p2 > p; patch -s p1 p; cmp p1 p2 && echo patched

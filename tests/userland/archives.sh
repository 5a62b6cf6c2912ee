#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# tar with each compressor, cpio; and broken archives.
mkdir -p t/deep/er; seq 20000 > t/numbers; head -c 300000 /dev/zero > t/zeros; ln -s numbers t/link; ln t/numbers t/hard; cp /bin/true t/deep/er/true; chmod 640 t/zeros; touch -d @1000000 t/numbers t/zeros
for z in none gzip bzip2 xz zstd; do
    [ $z = none ] && option= || option=--$z
    tar $option --sort=name --owner=0 --group=0 -cf $z.tar t; rm -rf out; mkdir out; tar -xf $z.tar -C out; diff -r --no-dereference t out/t && echo "$z same"; stat -c '%a %F %Y' out/t/zeros out/t/link | sed '2s/[0-9]*$//'; tar -tf $z.tar | wc -l
done
gzip -9 -c t/numbers > t/numbers.gz; gzip -t t/numbers.gz && gzip -l t/numbers.gz | awk 'END { print $2 }'; zcat t/numbers.gz | md5sum; xz -T2 -k -c t/numbers | xz -dc | cmp - t/numbers && echo xz; zstd -q -T2 -c t/numbers | zstd -dc | cmp - t/numbers && echo zstd; bzip2 -c t/numbers | bunzip2 | cmp - t/numbers && echo bzip2
head -c 500 gzip.tar > cut.tar; tar -xzf cut.tar -C out 2> /dev/null; echo "cut $?"; echo garbage | gunzip 2> /dev/null; echo "garbage $?"
(cd t; find . -type f | sort | cpio -o -H newc 2> /dev/null) | cpio -it 2> /dev/null | sort; tar -cf - t | (mkdir -p piped && tar -xf - -C piped) && diff -r t piped/t && echo piped; tar -C t -rf none.tar deep; tar -tf none.tar | tail -1; tar --delete -f none.tar t/zeros && tar -tf none.tar | grep -c zeros

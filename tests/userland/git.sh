#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# git from init to fsck.
export HOME=$PWD GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE='2001-02-03 04:05:06 +0000' GIT_COMMITTER_DATE='2001-02-03 04:05:06 +0000' LC_ALL=C
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b GIT_PAGER=cat
git init -q -b main r && cd r && git config gc.auto 0
for n in $(seq 20); do echo "line $n" >> file; mkdir -p d$((n % 3)); echo $n > d$((n % 3))/f$n; git add -A; git commit -q -m "commit $n"; done
git log --oneline | head -3; git rev-parse HEAD; git diff --stat HEAD~3; git blame -s file | tail -2; git status --short | wc -l
git checkout -q -b side HEAD~5; echo side > side; git add side; git commit -q -m side; git checkout -q main; git merge -q --no-edit side; git log --graph --format=%s -4
echo conflict > file; git commit -qam one; git checkout -q -b other HEAD~1; echo other > file; git commit -qam two; git merge main > said 2>&1; echo "merge $?"; git diff --name-only --diff-filter=U; git checkout -q --ours file; git commit -qam merged; rm said
git rebase -q main 2>&1 | head -1; git rebase --abort 2> /dev/null; git checkout -q main; git stash list | wc -l; echo dirty >> file; git stash -q; git status --short; git stash pop -q; git diff --shortstat; git checkout -q file
git tag -a v1 -m tagged; git describe; git grep -c line; git cherry-pick other~1 > /dev/null 2>&1; git cherry-pick --abort 2> /dev/null; git bisect start HEAD HEAD~10 > /dev/null; git bisect run sh -c 'test ! -e d0/f18' 2>&1 | grep -c 'first bad'; git bisect reset > /dev/null 2>&1
git gc -q --prune=now; git count-objects -v | grep -E 'packs|garbage|^count'; git fsck --full 2>&1 | sort; cd ..; git clone -q r copy; git clone -q --bare r bare.git; (cd copy; git log --oneline | wc -l; echo new > new; git add new; git commit -qm new; git push -q ../bare.git main:topic); git -C bare.git branch; git -C r worktree add -q ../tree v1; ls tree; git -C r archive --format=tar HEAD | tar t | head -3; git -C r format-patch -q -1 --stdout | head -4 | tail -3

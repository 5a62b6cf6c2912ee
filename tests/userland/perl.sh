#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# perl with processes, pipes, sockets and signals.
cat > a.pl <<'END'
use strict; use warnings; use IO::Handle; use POSIX ":sys_wait_h"; use Socket; use Time::HiRes qw(sleep); use File::Temp; use List::Util qw(sum shuffle);
$| = 1;
my %h = map { $_ => $_ ** 2 } 1 .. 10; print join(",", map { "$_=$h{$_}" } sort { $a <=> $b } keys %h), "\n";
pipe(my $r, my $w); my $pid = fork();
if (!$pid) { close $r; print $w "from the child\n"; exit 3 } close $w; print <$r>; waitpid($pid, 0); print $? >> 8, "\n";
my @kids = map { my $n = $_; my $p = fork(); if (!$p) { sleep(0.001 * $n); exit $n } $p } 1 .. 20; my $sum = 0; for (@kids) { waitpid($_, 0); $sum += $? >> 8 } print "sum $sum\n";
socketpair(my $left, my $right, AF_UNIX, SOCK_STREAM, PF_UNSPEC); $_->autoflush(1) for $left, $right; if (!fork()) { print $left "hello\n"; exit } wait; print scalar <$right>;
local $SIG{ALRM} = sub { die "alarm\n" }; eval { POSIX::pause() if !defined(alarm 1) ; select(undef, undef, undef, 5) }; print "caught $@";
local $SIG{USR1} = sub { print "usr1\n" }; kill USR1 => $$; local $SIG{CHLD} = sub { 1 while waitpid(-1, WNOHANG) > 0 }; my $out = `echo backticks; exit 4`; print $out;
open(my $p, "-|", "seq 3") or die; print "piped $_" while <$p>; close $p; open(my $q, "|-", "tr a-z A-Z") or die; print $q "shout\n"; close $q;
my $tmp = File::Temp->new; print $tmp "x" x 100000; close $tmp; print -s "$tmp", "\n"; print sum(1 .. 1000), "\n"; my $t = "The cat sat"; (my $u = $t) =~ s/(\w+)/ucfirst reverse $1/ge; print "$u\n"; printf "%s\n", join ",", sort { $a <=> $b } shuffle 1 .. 10;
exec "sh", "-c", 'echo replaced; exit 9';
END
perl a.pl; echo "perl $?"; perl -e 'die "dies\n"'; echo "perl $?"; perl -ne 'print if /5/' <(seq 20); perl -MConfig -e 'print "perl runs\n"'; perl -e 'kill 9, $$'; echo "perl $?"

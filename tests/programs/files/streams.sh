# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs a program (streams.c), whose command line is in the arguments, with standard streams of every kind. What is in the
# files of the working directory afterwards is the result.
exec < /dev/null > /dev/null 2> /dev/null
{ "$@" kinds seek; echo "after"; } > one
{ echo first; "$@" cut kinds; "$@" both; echo third; } > two 2>&1
echo start > three; "$@" append kinds >> three; echo more >> three
printf 'line one\nline two\nline three\n' > four
{ "$@" input kinds; cat > rest; } < four
{ rm four; "$@" input; } < four
"$@" closed >&-
"$@" closed <&- >&- 2>&-
echo piped | "$@" kinds | cat
"$@" kinds 3<> five 0<&3 1>&3

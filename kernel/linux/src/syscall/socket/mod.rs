// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets. What they do is in [`crate::socket`]; here are arguments and errors.

mod address;
mod control;
mod message;
mod opening;
mod option;

calls! {
    41 socket;
    42 connect restart;
    43 accept restart;
    44 sendto restart;
    45 recvfrom restart;
    46 sendmsg restart;
    47 recvmsg restart;
    48 shutdown;
    49 bind;
    50 listen;
    51 getsockname;
    52 getpeername;
    53 socketpair;
    54 setsockopt;
    55 getsockopt;
    288 accept4 restart;
    299 recvmmsg restart;
    307 sendmmsg restart;
}

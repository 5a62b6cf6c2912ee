// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Message queues. What they do is in [`crate::mqueue`]; here are arguments and errors.

mod attributes;
mod deadline;

calls! {
    240 mq_open;
    241 mq_unlink;
    242 mq_timedsend restart;
    243 mq_timedreceive restart;
    244 mq_notify;
    245 mq_getsetattr;
}

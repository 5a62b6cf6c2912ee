// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages and frames through streams in pieces.

use super::*;
use proptest::prelude::*;

fn guest_messages() -> Vec<GuestMessage> {
    vec![
        GuestMessage::Hello { version: VERSION },
        GuestMessage::Output(OutputStream::Stdout, (0..=255).collect()),
        GuestMessage::Output(OutputStream::Stderr, Vec::new()),
        GuestMessage::StdinRequest { max_len: 4096 },
        GuestMessage::CommandRequest,
        GuestMessage::Output(OutputStream::Terminal, vec![7]),
        GuestMessage::TerminalRequest { max_len: 4095 },
        GuestMessage::TerminalChange(terminal::Change {
            settings: terminal::Settings { input: 1, output: 2, control: 3, local: 4, characters: [5; 19] },
            discards: true,
        }),
        GuestMessage::TerminalDiscard,
        GuestMessage::JobControl(true),
        GuestMessage::FileRequest(stream_file::Request {
            descriptor: 1,
            operation: stream_file::Operation::WriteAt { offset: 1 << 40, data: vec![0, 200, 7] },
        }),
        GuestMessage::Report("thread 1 waits in futex\n".into()),
        GuestMessage::Strace("write(1, \"ä\", 2) = 2\n".into()),
        GuestMessage::Stats(Stats {
            counters: vec![("system calls".into(), 7), ("ipis".into(), u64::MAX)],
            by_cpu: vec![("system calls".into(), vec![3, 4])],
        }),
        GuestMessage::CallCounts(vec![
            CallCount { number: Some(202), calls: 3, errors: 1, time_ns: 1 << 40 },
            CallCount::default(),
        ]),
        GuestMessage::ListPiece(Listing::Threads, "thread 1 waits\n".into()),
        GuestMessage::ListPiece(Listing::Processes, String::new()),
        GuestMessage::TraceStart(trace::Head {
            start: trace::Timestamp { tsc: 1, ns: 2 },
            idle_threads: vec![0, 300],
            vectors: vec![(0xf0, "timer".into())],
        }),
        GuestMessage::TraceRecords(vec![1; 64]),
        GuestMessage::TraceThreads(vec![trace::ThreadName {
            thread: 5,
            name: "heat".into(),
            of_program: true,
        }]),
        GuestMessage::ProfileHead(profile::Head {
            hz: 1000,
            cpus: vec![profile::CpuSamples { taken: 3, idle: 2, lost: 1 }],
        }),
        GuestMessage::ProfileMappings(vec![profile::Mapping {
            start: 1,
            end: 2,
            offset: 3,
            path: "/a".into(),
        }]),
        GuestMessage::ProfileSamples(vec![2; 16]),
        GuestMessage::Paths(paths::Paths {
            paths: vec![paths::Path {
                part: "timer".into(),
                choice: "TSC deadline".into(),
                trial: paths::Trial::Failed("it was early 3 times".into()),
            }],
            cpuid: vec![paths::CpuidLeaf { leaf: 7, subleaf: 1, registers: [1, 2, 3, u32::MAX] }],
        }),
        GuestMessage::Exit(ExitStatus::Exited(3)),
        GuestMessage::Exit(ExitStatus::Signaled { signal: 11 }),
        GuestMessage::Exit(ExitStatus::CannotStart("no".into())),
        GuestMessage::Exit(ExitStatus::KernelFailure("oops".into())),
    ]
}

fn decode_all<M: TryFrom<Frame, Error = ChannelError>>(
    stream: &[u8],
    piece_len: usize,
) -> Result<Vec<M>, ChannelError> {
    let mut decoder = Decoder::new();
    let mut messages = Vec::new();
    for piece in stream.chunks(piece_len) {
        decoder.push(piece);
        while let Some(frame) = decoder.pop()? {
            messages.push(M::try_from(frame)?);
        }
    }
    assert_eq!(decoder.pending_len(), 0);
    Ok(messages)
}

#[test]
fn guest_messages_survive_any_fragmentation() {
    let mut stream = Vec::new();
    for message in guest_messages() {
        message.encode_into(&mut stream).unwrap();
    }
    for piece_len in 1..64 {
        assert_eq!(decode_all::<GuestMessage>(&stream, piece_len).unwrap(), guest_messages());
    }
}

#[test]
fn host_messages_round_trip() {
    let messages = vec![
        HostMessage::Stdin(vec![0, 255]),
        HostMessage::Stdin(Vec::new()),
        HostMessage::TerminalInput(vec![4]),
        HostMessage::TerminalSize(terminal::Size { rows: 24, cols: 80 }),
        HostMessage::TerminalGone,
        HostMessage::Signal(2),
        HostMessage::ReportThreads,
        HostMessage::List(Listing::Threads),
        HostMessage::List(Listing::Processes),
        HostMessage::Clock { realtime_ns: -5 },
    ];
    let mut stream = Vec::new();
    for message in &messages {
        message.encode_into(&mut stream).unwrap();
    }
    assert_eq!(decode_all::<HostMessage>(&stream, 3).unwrap(), messages);
}

#[test]
fn header_and_payload_sent_apart_are_one_output_frame() {
    let mut stream = Header::output(OutputStream::Stdout, 2).unwrap().to_bytes().to_vec();
    stream.extend_from_slice(b"hi");
    let expected = GuestMessage::Output(OutputStream::Stdout, b"hi".to_vec());
    assert_eq!(decode_all::<GuestMessage>(&stream, 5).unwrap(), vec![expected]);
}

#[test]
fn oversized_and_misaligned_headers_are_final_errors() {
    assert_eq!(Header::output(OutputStream::Stdout, MAX_PAYLOAD_LEN + 1), None);
    let mut decoder = Decoder::new();
    let head = [2, 0, 0, 0, 1, 0, 16, 0];
    decoder.push(&head);
    assert_eq!(decoder.pop(), Err(ChannelError::Header(head)));
    decoder.push(&Header::output(OutputStream::Stdout, 0).unwrap().to_bytes());
    assert_eq!(decoder.pop(), Err(ChannelError::Header(head)));
}

#[test]
fn each_direction_refuses_the_kinds_of_the_other() {
    let mut stream = Vec::new();
    HostMessage::ReportThreads.encode_into(&mut stream).unwrap();
    assert_eq!(decode_all::<GuestMessage>(&stream, 8), Err(ChannelError::Kind(0x83)));
}

#[test]
fn wrong_payload_lengths_are_errors() {
    let mut stream = Vec::new();
    put(&mut stream, kind::HELLO, &[1, 2, 3]).unwrap();
    assert_eq!(decode_all::<GuestMessage>(&stream, 8), Err(ChannelError::Payload(kind::HELLO)));
}

#[test]
fn statuses_follow_the_shell_convention() {
    assert_eq!(ExitStatus::Exited(7).command_status(), 7);
    assert_eq!(ExitStatus::Signaled { signal: 11 }.command_status(), 139);
    assert_eq!(ExitStatus::KernelFailure(String::new()).command_status(), status::KERNEL_PANIC);
}

proptest! {
    #[test]
    fn any_stream_ends_in_frames_or_one_error(
        stream in proptest::collection::vec(any::<u8>(), 0..400),
        piece_len in 1usize..40,
    ) {
        let mut decoder = Decoder::new();
        'stream: for piece in stream.chunks(piece_len) {
            decoder.push(piece);
            loop {
                match decoder.pop() {
                    Ok(Some(frame)) => {
                        let _ = GuestMessage::try_from(frame.clone());
                        let _ = HostMessage::try_from(frame);
                    }
                    Ok(None) => break,
                    Err(error) => {
                        prop_assert_eq!(decoder.pop(), Err(error));
                        break 'stream;
                    }
                }
            }
        }
    }

    #[test]
    fn output_bytes_are_kept(
        chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..8),
        piece_len in 1usize..50,
    ) {
        let mut stream = Vec::new();
        for chunk in &chunks {
            GuestMessage::Output(OutputStream::Stdout, chunk.clone()).encode_into(&mut stream).unwrap();
        }
        let expected: Vec<_> =
            chunks.into_iter().map(|c| GuestMessage::Output(OutputStream::Stdout, c)).collect();
        prop_assert_eq!(decode_all::<GuestMessage>(&stream, piece_len).unwrap(), expected);
    }
}

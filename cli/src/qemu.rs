// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds the QEMU command line of a machine, for QEMU 7.2 and newer.
//!
//! The machine is a q35 without defaults: a serial port for the kernel's log, `isa-debug-exit`, one virtio console
//! port for the control channel, virtio random numbers, and one virtio 9P device per host directory. The kernel boots
//! by PVH (`-kernel`), with the run configuration as its module (`-initrd`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use hadal_abi::machine::{DEBUG_EXIT_PORT, DEBUG_EXIT_SIZE_BYTES};

use crate::view::HostMount;

/// How QEMU executes the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accel {
    /// Translation, one host thread per CPU.
    Tcg,
    /// Translation on one CPU whose clock counts instructions.
    TcgCounting,
    /// Hardware virtualisation.
    Kvm,
}

/// Size and shape of a machine.
#[derive(Clone, Debug)]
pub(crate) struct MachineSpec {
    pub(crate) qemu: PathBuf,
    pub(crate) accel: Accel,
    pub(crate) cpus: u32,
    pub(crate) memory_bytes: u64,
    pub(crate) numa_nodes: u32,
    pub(crate) numa_distance: u8,
    /// TCP port on which QEMU waits for a debugger before the first instruction.
    pub(crate) gdb_port: Option<u16>,
}

/// Where the machine finds its files and streams, each as QEMU is to name it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoints {
    /// The kernel's ELF file.
    pub(crate) kernel: OsString,
    /// The run configuration.
    pub(crate) config: OsString,
    /// The kernel's command line.
    pub(crate) command_line: OsString,
    /// Options of the socket of the control channel, such as `fd=5`. Without it the machine is one for people: the program
    /// has the serial line, and the machine turns itself off at the end.
    pub(crate) control: Option<OsString>,
    /// The character device of the serial line, without its id.
    pub(crate) serial: OsString,
}

/// Mount tag of the 9P device with this index.
pub(crate) fn mount_tag(index: usize) -> String {
    format!("hadal{index}")
}

/// The whole command line, the command's name first.
pub(crate) fn command_line(spec: &MachineSpec, ends: &Endpoints, mounts: &[HostMount]) -> Vec<OsString> {
    let mut line = Line(vec![spec.qemu.clone().into_os_string()]);
    line.add("-nodefaults", "").add("-no-user-config", "").add("-no-reboot", "");
    line.add("-display", "none").add("-vga", "none").add("-nic", "none");
    // Without disks there is nothing for these controllers to do but take time in the firmware.
    line.add("-M", "q35,sata=off,smbus=off,usb=off,vmport=off");
    if let Some(firmware) = small_firmware(&spec.qemu) {
        line.add("-bios", firmware);
    }
    processors(&mut line, spec);
    memory(&mut line, spec);
    line.add("-kernel", &ends.kernel).add("-initrd", &ends.config);
    if !ends.command_line.is_empty() {
        line.add("-append", &ends.command_line);
    }

    line.add("-chardev", &ends.serial).add("-serial", "chardev:serial");
    if let Some(control) = &ends.control {
        line.add(
            "-device",
            format!("isa-debug-exit,iobase={DEBUG_EXIT_PORT:#x},iosize={DEBUG_EXIT_SIZE_BYTES:#x}"),
        );
        line.add("-chardev", concat("socket,id=control,", control));
        // Port 0 would be a console, which drops bytes while the socket is full; port 1 holds the guest back instead.
        line.add("-device", "virtio-serial-pci,id=console,max_ports=2,disable-legacy=on");
        line.add("-device", "virtserialport,nr=1,chardev=control,bus=console.0");
    }
    if spec.accel != Accel::TcgCounting {
        line.add("-device", "virtio-rng-pci,disable-legacy=on");
    }
    for (index, mount) in mounts.iter().enumerate() {
        file_system(&mut line, index, mount);
    }
    if let Some(port) = spec.gdb_port {
        line.add("-gdb", format!("tcp:127.0.0.1:{port}")).add("-S", "");
    }
    line.0
}

/// QEMU's firmware for kernels, qboot, if this QEMU came with it. The default firmware takes as long to look for disks and to
/// start every CPU as the kernel takes to start a program. qboot gives devices no addresses; the kernel does.
fn small_firmware(qemu: &Path) -> Option<PathBuf> {
    let prefixes = [qemu.ancestors().nth(2), Some(Path::new("/usr"))].into_iter().flatten();
    prefixes.map(|prefix| prefix.join("share/qemu/qboot.rom")).find(|file| file.is_file())
}

struct Line(Vec<OsString>);

impl Line {
    /// Appends an option and, unless it is empty, its value.
    fn add(&mut self, option: &str, value: impl AsRef<OsStr>) -> &mut Self {
        self.0.push(option.into());
        if !value.as_ref().is_empty() {
            self.0.push(value.as_ref().to_owned());
        }
        self
    }
}

fn concat(prefix: &str, rest: &OsStr) -> OsString {
    let mut text = OsString::from(prefix);
    text.push(rest);
    text
}

/// A path inside a QEMU option list, where a comma is written twice.
pub(crate) fn escape_commas(path: &Path) -> OsString {
    let mut out = Vec::new();
    for byte in path.as_os_str().as_bytes() {
        out.push(*byte);
        if *byte == b',' {
            out.push(b',');
        }
    }
    OsString::from_vec(out)
}

fn processors(line: &mut Line, spec: &MachineSpec) {
    match spec.accel {
        // The translator takes each byte of `rep movsb` and `rep stosb` as an instruction, and counts it as one. Programs and
        // kernels use them for whole blocks where CPUID says that they are fast (ERMS, FSRM): `memset` took eight times as long.
        Accel::Tcg => line.add("-accel", "tcg,thread=multi").add("-cpu", "max,erms=off,fsrm=off"),
        // Random numbers of the processor would make runs differ, and so would devices that look at their queues in a thread of the
        // host's: they do when they are started, whether something was queued or not, and interrupt the processor then.
        Accel::TcgCounting => line
            .add("-accel", "tcg,thread=single")
            .add("-icount", "shift=0,sleep=off")
            .add("-global", "virtio-serial-pci.ioeventfd=off")
            .add("-global", "virtio-9p-pci.ioeventfd=off")
            .add("-cpu", "max,erms=off,fsrm=off,rdrand=off,rdseed=off"),
        // Without migration the TSC is known to be invariant, and its frequency can be told to the guest.
        Accel::Kvm => line.add("-accel", "kvm").add("-cpu", "max,migratable=off,vmware-cpuid-freq=on"),
    };
    let (cpus, nodes) = (spec.cpus, spec.numa_nodes);
    // One socket per node where that divides evenly, as on real machines.
    match nodes > 1 && cpus.is_multiple_of(nodes) {
        true => line.add("-smp", format!("{cpus},sockets={nodes},cores={},threads=1", cpus / nodes)),
        false => line.add("-smp", format!("{cpus},sockets=1,cores={cpus},threads=1")),
    };
}

fn memory(line: &mut Line, spec: &MachineSpec) {
    const MIB: u64 = 1 << 20;
    let total_mib = spec.memory_bytes / MIB;
    line.add("-m", format!("{total_mib}M"));
    let nodes = spec.numa_nodes;
    if nodes < 2 {
        return;
    }
    for node in 0..nodes {
        // The last node takes what does not divide evenly.
        let even_mib = total_mib / u64::from(nodes);
        let mib = if node + 1 == nodes { total_mib - even_mib * u64::from(nodes - 1) } else { even_mib };
        let (first, end) = (cpu_share(spec, node), cpu_share(spec, node + 1));
        line.add("-object", format!("memory-backend-ram,id=ram{node},size={mib}M"));
        line.add("-numa", format!("node,nodeid={node},memdev=ram{node},cpus={first}-{}", end - 1));
    }
    for from in 0..nodes {
        for to in from + 1..nodes {
            line.add("-numa", format!("dist,src={from},dst={to},val={}", spec.numa_distance));
        }
    }
}

/// First CPU of a node.
fn cpu_share(spec: &MachineSpec, node: u32) -> u32 {
    spec.cpus * node / spec.numa_nodes
}

fn file_system(line: &mut Line, index: usize, mount: &HostMount) {
    let mut fsdev = OsString::from(format!("local,id=fs{index},path="));
    fsdev.push(escape_commas(&mount.host));
    fsdev.push(",security_model=none,multidevs=remap");
    if !mount.writable {
        fsdev.push(",readonly=on");
    }
    line.add("-fsdev", fsdev);
    line.add(
        "-device",
        format!("virtio-9p-pci,fsdev=fs{index},mount_tag={},disable-legacy=on", mount_tag(index)),
    );
}

/// A command line as one line for a shell.
pub(crate) fn shell_line(line: &[OsString]) -> String {
    let quote = |word: &OsString| {
        let text = word.to_string_lossy().into_owned();
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_=.,:/+%@".contains(&b);
        match !text.is_empty() && text.bytes().all(plain) {
            true => text,
            false => format!("'{}'", text.replace('\'', r"'\''")),
        }
    };
    line.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(cpus: u32, nodes: u32) -> MachineSpec {
        MachineSpec {
            qemu: "qemu".into(),
            accel: Accel::Tcg,
            cpus,
            memory_bytes: 1 << 30,
            numa_nodes: nodes,
            numa_distance: 20,
            gdb_port: None,
        }
    }

    fn line(spec: &MachineSpec, mounts: &[HostMount]) -> String {
        let ends = Endpoints {
            kernel: "k".into(),
            config: "c".into(),
            command_line: OsString::new(),
            control: Some("fd=3".into()),
            serial: "socket,id=serial,fd=4".into(),
        };
        shell_line(&command_line(spec, &ends, mounts))
    }

    #[test]
    fn numa_nodes_share_cpus_and_memory_evenly() {
        let text = line(&spec(6, 4), &[]);
        for part in [
            "node,nodeid=0,memdev=ram0,cpus=0-0",
            "node,nodeid=1,memdev=ram1,cpus=1-2",
            "node,nodeid=2,memdev=ram2,cpus=3-3",
            "node,nodeid=3,memdev=ram3,cpus=4-5",
            "id=ram3,size=256M",
            "dist,src=2,dst=3,val=20",
            "-smp 6,sockets=1",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(line(&spec(8, 4), &[]).contains("-smp 8,sockets=4,cores=2"));
        assert!(!line(&spec(8, 1), &[]).contains("-numa"));
    }

    #[test]
    fn directories_keep_commas_and_are_read_only_unless_said() {
        let mount = |host: &str, writable| HostMount { host: host.into(), guest: "/x".into(), writable };
        let text = line(&spec(1, 1), &[mount("/", false), mount("/a,b", true)]);
        assert!(text.contains("id=fs0,path=/,security_model=none,multidevs=remap,readonly=on"), "{text}");
        assert!(text.contains("id=fs1,path=/a,,b,security_model=none,multidevs=remap "), "{text}");
    }

    #[test]
    fn firmware_is_what_came_with_qemu() {
        let prefix = tempfile::tempdir().unwrap();
        let share = prefix.path().join("share/qemu");
        std::fs::create_dir_all(&share).unwrap();
        let firmware = share.join("qboot.rom");
        std::fs::write(&firmware, "").unwrap();
        assert_eq!(small_firmware(&prefix.path().join("bin/qemu")), Some(firmware));
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        let words = ["a", "b c", "it's", ""].map(OsString::from);
        assert_eq!(shell_line(&words), r"a 'b c' 'it'\''s' ''");
    }
}

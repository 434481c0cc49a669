//! Level frames (docs/protocol.md): the kernel module's parser, the same source file, takes
//! whatever comes; the Wireshark dissector reads them as it does.
//!
//! Needs `cc` with its sanitizers; `tshark` and `text2pcap` for the dissector.

use std::fmt::Write as _;
use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A good frame, octet by octet, as docs/protocol.md says: levels 1 and 4 for 100 ms, instance
/// 0x01020304, sequence 0xFFFFFFFF; its sender obeys up to level 14, ignores requests now, and has
/// received sequence 7 of instance 0x0A0B0C0D; its headroom covers 64 frames in rings and 1000 µs.
const GOOD: &str = "fffe02544a010502006400120102030\
                    4ffffffff0f0100400a0b0c0d00000007000003e800000000000000000000";
/// What the parser says of it, after the version.
const GOOD_READ: &str = "18 100 16909060 4294967295 15 1 168496141 7 64 1000";
/// A frame of version 1, level 5: all levels below are meant.
const OLD: &str = "fffe02544a0105000064000001020304ffffffff\
                   0000000000000000000000000000000000000000000000000000";
const OLD_READ: &str = "1 31 100 16909060 4294967295 15 0 0 0 0 0";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the module's own code answers to each line; `None` without a compiler.
fn module(lines: &[String]) -> Option<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("level_frames");
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"]).arg(&program);
    cc.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    cc.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/level_frames.c"));
    match cc.output() {
        Err(why) => {
            println!("SKIP: no C compiler here: {why}");
            return None;
        }
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
    }
    let mut command = Command::new(program);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let lines = lines.join("\n") + "\n";
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "a sanitizer stopped it");
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

/// A sequence of numbers that is the same in every run (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn a_frame_is_as_documented_and_every_field_at_its_limits_survives() {
    let mut lines = vec![format!("p {GOOD}"), format!("b {GOOD_READ}"), format!("p {OLD}")];
    let mut frames = Vec::new();
    for (mask, lifetime_ms) in [(0, 0), (1, 1), (0x7fff, 1000), (0x4001, 256)] {
        for number in [0, 1, 0x8000_0000_u32, u32::MAX] {
            let (obeys, ignores) = (number & 15, number & 1);
            frames.push(format!(
                "{mask} {lifetime_ms} {number} {other} {obeys} {ignores} {other} {number} {ring} {other}",
                other = !number,
                ring = number & 0xffff
            ));
        }
    }
    lines.extend(frames.iter().map(|frame| format!("b {frame}")));
    let Some(answers) = module(&lines) else { return };
    assert_eq!(answers[..3], [&format!("2 {GOOD_READ}"), GOOD, OLD_READ]);
    let parse: Vec<_> = answers[3..].iter().map(|hex| format!("p {hex}")).collect();
    let read: Vec<_> = frames.iter().map(|frame| format!("2 {frame}")).collect();
    assert_eq!(module(&parse).unwrap(), read);
}

/// Frames that are not to be obeyed, and what they are.
fn bad() -> Vec<(String, &'static str)> {
    let with = |from: usize, octets: &str| {
        let mut hex = GOOD.to_owned();
        hex.replace_range(2 * from..2 * from + octets.len(), octets);
        hex
    };
    vec![
        (String::new(), "foreign"),
        ("fffe0254".into(), "foreign"),
        (with(0, "0001"), "foreign"),
        (with(2, "00005e"), "foreign"),
        ("fffe02544a".into(), "malformed"),
        (GOOD[..90].into(), "malformed"),
        (with(5, "00"), "malformed"),
        (with(5, "02"), "malformed"),
        (with(6, "10"), "malformed"),
        (with(6, "00"), "malformed"),
        (with(8, "0000"), "malformed"),
        (with(8, "03e9"), "malformed"),
        (with(10, "0022"), "malformed"),
        (with(10, "0000"), "malformed"),
        (with(10, "8012"), "malformed"),
    ]
}

#[test]
fn short_wrong_and_foreign_frames_are_distinguished() {
    let lines: Vec<_> = bad().iter().map(|(hex, _)| format!("p {hex}")).collect();
    let Some(answers) = module(&lines) else { return };
    let expected: Vec<_> = bad().iter().map(|(_, verdict)| *verdict).collect();
    assert_eq!(answers, expected);
    // What follows a frame, padding or more, changes nothing.
    let giant = format!("p {GOOD}{}", "ff".repeat(3000));
    assert_eq!(module(&[giant]).unwrap(), [format!("2 {GOOD_READ}")]);
}

#[test]
fn no_frame_that_chance_makes_harms_the_parser_or_gets_past_its_limits() {
    let mut numbers = Numbers(0x7465_696a_6921);
    let mut lines = Vec::new();
    for _ in 0..100_000 {
        let mut hex = GOOD.to_owned();
        for _ in 0..numbers.below(4) {
            let at = 2 * usize::try_from(numbers.below(46)).unwrap();
            hex.replace_range(at..at + 2, &format!("{:02x}", numbers.below(256)));
        }
        if numbers.below(4) == 0 {
            hex.truncate(2 * usize::try_from(numbers.below(47)).unwrap());
        }
        lines.push(format!("p {hex}"));
    }
    let Some(answers) = module(&lines) else { return };
    let mut good = 0;
    assert_eq!(answers.len(), 100_000);
    for answer in answers.iter().filter(|answer| answer.contains(' ')) {
        let fields: Vec<u32> = answer.split(' ').map(|field| field.parse().unwrap()).collect();
        assert!(fields[1] < 1 << 15 && fields[2] <= 1000, "{answer}");
        assert_eq!(fields[1] == 0, fields[2] == 0, "{answer}");
        good += 1;
    }
    assert!((10_000..90_000).contains(&good), "{good} of them were good");
}

/// A program that reads the files in `folder`, without root's rights: with them Debian 13's
/// tshark loads no scripts.
fn as_anybody(folder: &Path, program: &str) -> Command {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        return Command::new(program);
    }
    let files = fs::read_dir(folder).unwrap().map(|entry| (entry.unwrap().path(), 0o644));
    for (path, mode) in files.chain([(folder.to_owned(), 0o755)]) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", program]);
    command.env("HOME", folder);
    command
}

/// What tshark says of frames with these payloads, one line each.
fn dissect(payloads: &[String], ethertype: &str, fields: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for payload in payloads {
        let hex = format!("0180c2000001020000000001{ethertype}{payload}");
        text.push_str("0000");
        for at in (0..hex.len()).step_by(2) {
            write!(text, " {}", &hex[at..at + 2]).unwrap();
        }
        text.push('\n');
    }
    let (dump, capture) = (folder.path().join("dump"), folder.path().join("capture.pcap"));
    fs::write(&dump, text).unwrap();
    let made = Command::new("text2pcap").arg("-q").arg(&dump).arg(&capture).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let script = folder.path().join("prioflow.lua");
    fs::copy(repository().join("kernel/prioflow/wireshark/prioflow.lua"), &script).unwrap();
    let mut tshark = as_anybody(folder.path(), "tshark");
    tshark.arg("-X").arg(format!("lua_script:{}", script.display())).arg("-nr").arg(&capture);
    tshark.args(["-T", "fields"]).args(fields.iter().flat_map(|field| ["-e", field]));
    let output = tshark.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && !stderr.contains("Lua"), "{stderr}");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn wireshark_reads_a_frame_as_the_module_does() {
    for tool in ["text2pcap", "tshark"] {
        if Command::new(tool).arg("--version").output().is_err() {
            return println!("SKIP: {tool} is not installed (Debian package tshark)");
        }
    }
    let fields = [
        "prioflow.mask",
        "prioflow.lifetime_ms",
        "prioflow.instance",
        "prioflow.sequence",
        "_ws.col.Info",
    ];
    for ethertype in ["8808", "88b5"] {
        assert_eq!(
            dissect(&[GOOD.into()], ethertype, &fields),
            ["0x0012\t100\t0x01020304\t4294967295\tPause levels 1, 4 for 100 ms"]
        );
        assert_eq!(
            dissect(&[OLD.into()], ethertype, &["prioflow.level", "_ws.col.Info"]),
            ["5\tPause levels 0-4 for 100 ms"]
        );
    }
    let malformed: Vec<String> = bad()
        .into_iter()
        .filter(|(_, verdict)| *verdict == "malformed")
        .map(|(hex, _)| hex)
        .collect();
    for (payload, info) in malformed.iter().zip(dissect(&malformed, "8808", &["_ws.col.Info"])) {
        assert!(info.starts_with("Level frame, malformed: "), "{payload}: {info}");
    }
    // PAUSE stays Wireshark's own.
    let pause = format!("0001ffff{}", "00".repeat(42));
    assert_eq!(dissect(&[pause], "8808", &["macc.opcode", "prioflow.opcode"]), ["0x0001\t"]);
}

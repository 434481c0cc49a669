//! `teiji top` on this machine's loopback: samples, metrics over HTTP, the screen, what it refuses.
//! Qdiscs, flow control and reasons of drops are tested in a guest (`tests/kernel/vtsn/with-top.sh`).

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{output_of, root, signal, teiji};
use serde_json::Value;

const PERIOD: &str = "5ms";
const FRAMES: u64 = 300;

/// Frames on the loopback interface for 1.5 s, to nobody. When they leave does not matter here.
fn talk(port: &str, flow: &str) -> Child {
    let (to, frames) = (format!("127.0.0.1:{port}"), FRAMES.to_string());
    let fixed = ["talk", "lo", &to, "--flow", flow, "--frames", &frames, "--period", PERIOD];
    let mut command = common::command(&[&fixed[..], &["--tolerance", "10s"]].concat());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Packet sockets need rights.
fn may_watch() -> bool {
    if !root() {
        println!("SKIP: packet sockets need root");
    }
    root()
}

#[test]
fn every_frame_is_seen_on_its_way_out_and_in() {
    if !may_watch() {
        return;
    }
    let top = ["top", "lo", "--json", "--every", "200ms", "--count", "150"];
    let mut top = Running(common::command(&top).stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(top.0.stdout.take().unwrap()).lines();
    let mut next =
        || lines.next().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    // The first look: from now on it watches.
    let first = next().unwrap();
    let mut talker = talk("47811", "11");
    let of = |sample: &Value, outgoing: bool| {
        let flows = sample["interfaces"][0]["flows"].as_array().unwrap().clone();
        let ours = |flow: &Value| {
            let name = flow["name"].as_str().unwrap();
            name.starts_with("test flow 11, UDP 127.0.0.1:") && flow["outgoing"] == outgoing
        };
        flows.into_iter().find(ours)
    };
    // Until one interval after the talker's end.
    let mut rest = Vec::new();
    while let Some(sample) = next() {
        let ended = talker.try_wait().unwrap().is_some();
        let silent = |outgoing| of(&sample, outgoing).is_some_and(|flow| flow["frames"] == 0);
        let done = ended && silent(true) && silent(false);
        rest.push(sample);
        if done {
            break;
        }
    }
    assert!(talker.wait().unwrap().success());
    assert_eq!(of(&first, true), None);
    let last = rest.last().unwrap();
    for outgoing in [true, false] {
        let flow = of(last, outgoing).unwrap();
        let counts = ["frames_total", "lost_total", "frames"].map(|count| flow[count].as_u64());
        assert_eq!(counts, [Some(FRAMES), Some(0), Some(0)], "{flow}");
        let frames = rest.iter().filter_map(|sample| of(sample, outgoing)?["frames"].as_u64());
        assert_eq!(frames.sum::<u64>(), FRAMES, "each in one interval");
    }
    let busy =
        rest.iter().find_map(|sample| of(sample, true).filter(|f| f["frames"] != 0)).unwrap();
    let left = busy["left_ns"].as_array().unwrap();
    assert!(
        left[0].as_i64() <= left[1].as_i64() && left[1].as_i64() < Some(0),
        "sent when due: {busy}"
    );
    let arrived =
        rest.iter().find_map(|sample| of(sample, false).filter(|f| f["frames"] != 0)).unwrap();
    assert!(arrived["latency_ns"][0].as_i64() > Some(0), "{arrived}");
    let sent = |of: &Value| of["interfaces"][0]["traffic"]["sent"]["packets"].as_u64().unwrap();
    assert!(sent(last) - sent(&first) >= FRAMES);
}

/// A process that does not outlive a failed test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `teiji top --metrics`, and where it listens.
fn metrics() -> (Running, String) {
    let arguments = ["top", "lo", "--metrics", "127.0.0.1:0", "--every", "200ms"];
    let mut top = Running(common::command(&arguments).stderr(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(top.0.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split_once("http://").and_then(|(_, rest)| rest.split_once('/')).unwrap().0;
    (top, address.to_owned())
}

fn interrupt(mut top: Running) {
    signal("-INT", top.0.id());
    assert_eq!(top.0.wait().unwrap().code(), Some(130));
}

fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    body.to_owned()
}

#[test]
fn metrics_are_what_others_read() {
    if !may_watch() {
        return;
    }
    let (top, address) = metrics();
    let mut talker = talk("47812", "12");
    // The talker may start late on a busy machine. Only an interval with frames has a range.
    let has_flow = |text: &String| {
        let of_flow = |line: &&str| line.contains("flow=\"test flow 12, UDP ");
        let range = |line: &&str| line.starts_with("teiji_flow_interval_range_seconds");
        text.lines().filter(of_flow).filter(range).count() == 2
    };
    let text = (0..400).map(|_| {
        thread::sleep(Duration::from_millis(50));
        scrape(&address)
    });
    let text = text.into_iter().find(has_flow).expect("the flow within 20 s");
    assert!(text.ends_with("# EOF\n"), "{text}");
    for series in ["frames_total", "lost_total", "interval_range_seconds"] {
        for direction in ["sent", "received"] {
            let labels =
                format!("interface=\"lo\",direction=\"{direction}\",flow=\"test flow 12, UDP ");
            let beginning = format!("teiji_flow_{series}{{{labels}");
            assert!(text.contains(&beginning), "{beginning}: {text}");
        }
    }
    interrupt(top);
    assert!(talker.wait().unwrap().success());
    let python = std::env::var("TEIJI_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/top_metrics.py");
    let started = Command::new(&python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut reader = match started {
        Ok(reader) => reader,
        Err(error) => return println!("SKIP: cannot start {python}: {error}"),
    };
    // One that lacks its module has ended already.
    let _ = reader.stdin.take().unwrap().write_all(text.as_bytes());
    let read = output_of(&reader.wait_with_output().unwrap());
    if read.code == 77 {
        println!("SKIP: {python}: {}", read.out);
    } else {
        assert_eq!(read.code, 0, "{}{}", read.out, read.err);
        let read: Value = serde_json::from_str(&read.out).unwrap();
        assert_eq!(read["teiji_flow_frames"][0], "counter", "{read}");
        assert_eq!(read["teiji_flow_latency_max_seconds"][0], "gauge", "{read}");
        // Flows of other tests are on this interface, too.
        let series: u64 = read.as_object().unwrap().values().map(|m| m[1].as_u64().unwrap()).sum();
        assert!(series < 80, "tens of series, not hundreds: {read}");
    }
}

/// Debian's package prometheus scrapes them, and answers queries.
#[test]
fn prometheus_scrapes_them() {
    if !may_watch() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let (top, address) = metrics();
    let configuration = dir.path().join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 200ms, scrape_timeout: 200ms}}\n\
         scrape_configs: [{{job_name: teiji, static_configs: [{{targets: ['{address}']}}]}}]\n"
    );
    std::fs::write(&configuration, text).unwrap();
    // A port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let started = Command::new("prometheus")
        .arg(format!("--config.file={}", configuration.display()))
        .arg(format!("--storage.tsdb.path={}", dir.path().join("data").display()))
        .arg(format!("--web.listen-address={free}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(prometheus) = started else {
        println!("SKIP: no prometheus here, to scrape the metrics");
        return interrupt(top);
    };
    let prometheus = Running(prometheus);
    let query = || {
        let mut stream = TcpStream::connect(free).ok()?;
        let request = "GET /api/v1/query?query=teiji_interface_packets_total HTTP/1.0\r\n\r\n";
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()?;
        let found = body["data"]["result"].as_array()?.len();
        (found == 2).then_some(body)
    };
    let found = (0..300).find_map(|_| {
        let found = query();
        if found.is_none() {
            thread::sleep(Duration::from_millis(100));
        }
        found
    });
    drop(prometheus);
    interrupt(top);
    let found = found.expect("Prometheus has both directions of lo within 30 s");
    assert_eq!(found["data"]["result"][0]["metric"]["interface"], "lo", "{found}");
}

/// A terminal of util-linux's `script`.
#[test]
fn the_screen_ends_with_q_and_gives_the_terminal_back() {
    let line = format!("stty rows 30 cols 120; {} top lo --every 100ms", common::IN_SHELL);
    let started = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut terminal) = started else { return println!("SKIP: no `script` here") };
    let mut keys = terminal.stdin.take().unwrap();
    let mut output = terminal.stdout.take().unwrap();
    let mut seen = String::new();
    // A screen is shown before the next key is pressed, however slow the machine is.
    for (part, key) in [("interface", "p"), ("paused", "q"), ("\u{1b}[?1049l", "")] {
        let mut bytes = [0; 4096];
        while !seen.contains(part) {
            let length = output.read(&mut bytes).unwrap();
            assert!(length > 0, "it ended without {part:?}: {seen:?}");
            seen += &String::from_utf8_lossy(&bytes[..length]);
        }
        keys.write_all(key.as_bytes()).unwrap();
    }
    assert!(terminal.wait().unwrap().success(), "{seen:?}");
    assert!(seen.contains("\u{1b}[?1049h"), "{seen:?}");
}

#[test]
fn what_cannot_be_shown_is_refused_in_a_sentence() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (arguments, code, sentence) in [
        (&["top", "no-such-if0"][..], 2, "there is no interface `no-such-if0` here; there are "),
        (&["top", "lo", "--every", "0"], 2, "--every takes a time above zero"),
        (&["top", "lo", "--metrics", "9470"], 2, "invalid socket address"),
        (&["top", "lo", "--metrics", &taken], 1, "cannot serve metrics at 127.0.0.1:"),
        (&["top", "lo", "--metrics", "127.0.0.1:0", "--json"], 2, "cannot be used with"),
    ] {
        let result = teiji(arguments);
        assert_eq!(result.code, code, "{arguments:?}: {}", result.err);
        assert!(result.err.contains(sentence), "{arguments:?}: {}", result.err);
    }
}

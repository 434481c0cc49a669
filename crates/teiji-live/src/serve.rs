//! The newest metrics over HTTP: `GET /metrics`, one connection after the other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::openmetrics::CONTENT_TYPE;

/// A client that is slower keeps others waiting no longer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The head of a request.
const HEAD: usize = 8 * 1024;

/// Serves until the process ends.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    text: Arc<Mutex<String>>,
}

impl Server {
    /// Listens at `address`, with nothing to give yet.
    ///
    /// # Errors
    /// If the address is in use or not this machine's, or no thread can be started.
    pub fn start(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let text = Arc::new(Mutex::new(String::new()));
        let served = Arc::clone(&text);
        thread::Builder::new().name("metrics".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // The client has gone, or is too slow.
                    Ok(stream) => drop(answer(stream, &served)),
                    // No descriptor is free, perhaps.
                    Err(_) => thread::sleep(Duration::from_millis(100)),
                }
            }
        })?;
        Ok(Self { address, text })
    }

    /// Where it listens: with the port that the kernel chose, if it was 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves this from now on.
    pub fn set(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

fn answer(mut stream: TcpStream, text: &Mutex<String>) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() >= HEAD {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        let mut part = [0; 1024];
        match stream.read(&mut part)? {
            0 => return Ok(()),
            length => head.extend_from_slice(&part[..length]),
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split('?').next().unwrap_or_default();
    let (status, kind, body) = match (method, path) {
        ("GET" | "HEAD", "/metrics") => {
            let body = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
            ("200 OK", CONTENT_TYPE, body)
        }
        ("GET" | "HEAD", _) => {
            ("404 Not Found", "text/plain", "the metrics are at /metrics\n".to_owned())
        }
        _ => ("405 Method Not Allowed", "text/plain", "GET /metrics\n".to_owned()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    let body = if method == "HEAD" { String::new() } else { body };
    stream.write_all((head + &body).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_of(server: &Server, request: &str) -> String {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        // Reset, if the server has not read everything.
        let _ = stream.read_to_string(&mut answer);
        answer
    }

    #[test]
    fn the_newest_text_is_served_and_nothing_else() {
        let server = Server::start("127.0.0.1:0".parse().unwrap()).unwrap();
        server.set("first\n".to_owned());
        server.set("second\n".to_owned());
        let got = request_of(&server, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(got.starts_with("HTTP/1.1 200 OK\r\n"), "{got}");
        assert!(got.contains("\r\nContent-Length: 7\r\n") && got.contains(CONTENT_TYPE), "{got}");
        assert!(got.ends_with("\r\n\r\nsecond\n"), "{got}");
        assert!(request_of(&server, "HEAD /metrics HTTP/1.0\r\n\r\n").ends_with("close\r\n\r\n"));
        assert!(request_of(&server, "GET /metrics?x=1 HTTP/1.1\r\n\r\n").ends_with("second\n"));
        assert!(
            request_of(&server, "GET /../etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404")
        );
        assert!(request_of(&server, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        // No request, and one without end.
        drop(TcpStream::connect(server.address()).unwrap());
        assert_eq!(request_of(&server, &"x".repeat(2 * HEAD)), "");
    }

    #[test]
    fn an_address_in_use_is_an_error() {
        let server = Server::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let error = Server::start(server.address()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
    }
}

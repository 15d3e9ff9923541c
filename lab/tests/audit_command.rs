//! `rampmeter audit`, as the binary runs it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/audit")
}

fn audit(arguments: &[&str], input: &[u8]) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_rampmeter"))
        .arg("audit")
        .args(["--now", "1786000000", "--width", "110"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    process.stdin.take().expect("a pipe").write_all(input).expect("it reads its input");
    process.wait_with_output().expect("it ends")
}

#[test]
fn standard_input_is_judged_as_the_kept_page_says() {
    for (name, code) in [("whole", 0), ("bare", 1)] {
        let input = fs::read(cases().join(name).with_extension("http")).expect("a readable input");
        let output = audit(&[], &input);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        let page = fs::read_to_string(cases().join(name).with_extension("page")).expect("a readable page");
        assert_eq!(String::from_utf8_lossy(&output.stdout), page);
        assert_eq!(output.status.code(), Some(code));
    }
}

#[test]
fn what_holds_no_response_ends_with_status_2_on_standard_error() {
    let output = audit(&[], b"hello\n");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("rampmeter audit: "));
}

/// Answers `served` requests with 200, all after them with a bare 429; ends
/// after `most` and says how many there were.
fn server(served: usize, most: usize) -> (String, thread::JoinHandle<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("a listener");
    let url = format!("http://{}/v1/items?key=secret", listener.local_addr().expect("an address"));
    let count = move || {
        let mut requests = 0;
        // The command that asks ends before this one gives up.
        let mut idle = 0;
        while requests < most && idle < 300 {
            let Ok((mut stream, _)) = listener.accept() else {
                idle += 1;
                thread::sleep(std::time::Duration::from_millis(10));
                continue;
            };
            stream.set_nonblocking(false).expect("a stream");
            let mut asked = Vec::new();
            let mut buffer = [0; 1024];
            while !asked.ends_with(b"\r\n\r\n") {
                let read = stream.read(&mut buffer).expect("a request");
                asked.extend_from_slice(&buffer[..read]);
            }
            let status = if requests < served { "200 OK" } else { "429 Too Many Requests" };
            requests += 1;
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).expect("it reads the answer");
        }
        requests
    };
    (url, thread::spawn(count))
}

#[test]
fn a_url_is_asked_until_it_refuses() {
    let (url, server) = server(2, 3);
    let output = audit(&["--url", &url], b"");
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(page.starts_with("3 responses, 1 refusal: it does not say"), "{page}");
    assert!(page.contains("undecided") && !page.contains("secret"), "{page}");
    assert_eq!((output.status.code(), server.join().expect("it counts")), (Some(1), 3));
}

#[test]
fn a_url_that_does_not_refuse_is_asked_a_bounded_number_of_times() {
    let (url, server) = server(usize::MAX, 4);
    let output = audit(&["--url", &url, "--requests", "4"], b"");
    assert!(String::from_utf8_lossy(&output.stdout).contains("none of 4 requests was refused"));
    assert_eq!((output.status.code(), server.join().expect("it counts")), (Some(0), 4));
}

#[test]
fn source_is_looked_through() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/audit-source/shown");
    let output = audit(&["--source", folder.to_str().expect("a path in UTF-8")], b"");
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(page.starts_with("3 places send 429; 2 not shown to say"), "{page}");
    assert_eq!(output.status.code(), Some(1));
}

//! An HTTP server that computes with arrays: `GET /add?a=1,2,3&b=10;20` adds a matrix of rows to another one.
//!
//! Every request has a thread of its own, and its work stays on it (`with_num_threads`), so that requests do not wait
//! for each other. Errors of shapes and of numbers are responses with status 400.
//!
//! Without arguments the program sends requests to itself; with an address, such as `127.0.0.1:8080`, it serves.

use ndarray::Array2;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;
use unishape::{map, try_map, with_num_threads};

/// Bytes of a request that are read; the rest is not.
const MAX_REQUEST: u64 = 64 << 10;

/// A matrix such as `1,2;3,4`: rows are separated by `;`.
fn parse(name: &str, text: &str) -> Result<Array2<f64>, Box<dyn Error + Send + Sync>> {
    let rows: Vec<Vec<&str>> = text.split(';').map(|row| row.split(',').collect()).collect();
    let columns = rows[0].len();
    if let Some(row) = rows.iter().position(|row| row.len() != columns) {
        return Err(format!("{name}: row {row} has {} numbers, row 0 has {columns}", rows[row].len()).into());
    }
    let texts = Array2::from_shape_vec((rows.len(), columns), rows.concat())?;
    Ok(try_map((&texts, name), |text, name| {
        text.trim().parse::<f64>().map_err(|error| format!("{name}: {text:?}: {error}"))
    })?)
}

/// The answer to a request for a path and a query.
fn answer(target: &str) -> Result<String, Box<dyn Error + Send + Sync>> {
    let query = target.strip_prefix("/add?").ok_or("ask for /add?a=…&b=…")?;
    let value = |name: &str| {
        let values = query.split('&').filter_map(|pair| pair.split_once('='));
        values
            .into_iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
            .ok_or(format!("{name} is missing"))
    };
    let (a, b) = (parse("a", value("a")?)?, parse("b", value("b")?)?);
    let sum =
        with_num_threads(1, || map((&a, &b), |a, b| a + b)).map_err(|error| error.named(&["a", "b"]))?;
    let rows = sum.rows().into_iter().map(|row| row.iter().map(f64::to_string).collect::<Vec<_>>().join(","));
    Ok(rows.collect::<Vec<_>>().join(";"))
}

/// Reads one request and writes the response.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut reader = BufReader::new((&stream).take(MAX_REQUEST));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let (status, body) = match request.split(' ').collect::<Vec<_>>()[..] {
        ["GET", target, _] => match answer(target) {
            Ok(body) => ("200 OK", body),
            Err(error) => ("400 Bad Request", error.to_string()),
        },
        _ => ("405 Method Not Allowed", "only GET".to_string()),
    };
    let length = body.len();
    write!(&stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

/// Sends a request, and returns the response.
fn get(address: SocketAddr, target: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(address)?;
    write!(stream, "GET {target} HTTP/1.1\r\nHost: {address}\r\n\r\n")?;
    let mut response = String::new();
    stream.read_to_string(&mut response)?;
    Ok(response)
}

fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let listener = TcpListener::bind(address.as_deref().unwrap_or("127.0.0.1:0"))?;
    let own = listener.local_addr()?;
    let server = thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(|| stream.and_then(serve).unwrap_or_else(|error| eprintln!("{error}")));
        }
    });
    if address.is_some() {
        println!("listening on {own}");
        return server.join().map_err(|_| "the server panicked".into());
    }
    // Four clients at once, then some with errors.
    thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(|| get(own, "/add?a=1,2,3&b=10;20"))).collect();
        for client in clients {
            let response = client.join().expect("no panic").expect("a response");
            println!("{}", response.lines().last().unwrap_or_default());
        }
    });
    for target in ["/add?a=1,2,3&b=10,20", "/add?a=1,x&b=2", "/add?a=1,2;3&b=2", "/add?a=1", "/"] {
        let response = get(own, target)?;
        let (head, body) = response.split_once("\r\n\r\n").ok_or("no body")?;
        println!("{}: {}", head.lines().next().unwrap_or_default(), body.lines().next().unwrap_or_default());
    }
    Ok(())
}

//! The socket, and the server behind it until it is told to stop.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use futures::stream::unfold;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Sleep, timeout};
use tonic::transport::server::Connected;
use tonic::transport::{Server, ServerTlsConfig};

use crate::error::chain;
use crate::options::Options;
use crate::peer::Peer;
use crate::service::Service;
use crate::sessions::Sessions;
use crate::sizes::Sizes;

/// When a connection without traffic is asked whether its machine is still there, how often, and how many times in vain. By TCP: some clients
/// do not look at HTTP/2's pings while they have no call under way.
const KEEPALIVE: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_secs(10);
const RETRIES: u32 = 3;

/// Bytes of headers that a call may have.
const HEADERS: u32 = 64 << 10;

/// Calls at a time on a connection.
const CALLS: u32 = 100;

/// How long a connection may stay that nobody has logged in on. A login may have to wait, for others of a throttled address and for a slot.
const STRANGER: Duration = Duration::from_secs(180);

pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    pub async fn bind(address: SocketAddr) -> Result<Self, String> {
        let bound = async {
            let socket = TcpListener::bind(address).await?;
            let address = socket.local_addr()?;
            Ok::<_, io::Error>(Self { socket, address })
        };
        bound.await.map_err(|error| format!("{address}: {error}"))
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections as they come, and no more than so many at a time.
    fn connections(self, most: usize) -> impl Stream<Item = io::Result<Connection>> {
        let permits = Arc::new(Semaphore::new(most));
        unfold((self.socket, permits), |(socket, permits)| async move {
            let permit = permits.clone().acquire_owned().await.ok()?;
            loop {
                match socket.accept().await {
                    Ok((stream, address)) => {
                        let _ = stream.set_nodelay(true);
                        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(INTERVAL);
                        let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive.with_retries(RETRIES));
                        let connection = Connection {
                            stream,
                            peer: Peer::new(address.ip()),
                            stranger: Box::pin(tokio::time::sleep(STRANGER)),
                            _permit: permit,
                        };
                        return Some((Ok(connection), (socket, permits)));
                    }
                    Err(error) => {
                        // Most likely too many files are open, which passes.
                        tracing::warn!(%error, "could not accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                }
            }
        })
    }
}

/// Serves until a signal says to stop: then nobody gets in, what runs has its grace, and is cancelled.
pub async fn serve(
    listener: Listener,
    tls: Option<ServerTlsConfig>,
    service: Service,
    options: &Options,
    sessions: Arc<Sessions>,
) -> Result<(), String> {
    let mut server = Server::builder()
        .http2_max_header_list_size(HEADERS)
        .max_concurrent_streams(CALLS)
        // What a client may send before we have taken it is little at first, and grows as we do.
        .http2_adaptive_window(Some(true));
    if let Some(tls) = tls {
        server = server.tls_config(tls).map_err(|error| chain(&error))?;
    }
    let (stop, stopped) = oneshot::channel::<()>();
    let sizes = Sizes::new(service, options.message(), sessions.clone());
    let connections = listener.connections(options.max_connections);
    let serving = server.serve_with_incoming_shutdown(sizes, connections, async move {
        let _ = stopped.await;
    });
    tokio::pin!(serving);
    let mut signals = Signals::new().map_err(|error| error.to_string())?;
    tokio::select! {
        served = &mut serving => return served.map_err(|error| chain(&error)),
        () = signals.next() => {}
    }
    tracing::info!("stopping");
    let _ = stop.send(());
    tokio::select! {
        served = timeout(options.grace, &mut serving) => {
            if let Ok(served) = served {
                return served.map_err(|error| chain(&error));
            }
        }
        // A second signal is impatience.
        () = signals.next() => {}
    }
    sessions.end_all().await;
    let _ = timeout(options.grace, &mut serving).await;
    Ok(())
}

struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// A client's connection. Calls on it know whose it is, and what they began is told when it closes.
struct Connection {
    stream: TcpStream,
    peer: Arc<Peer>,
    /// Ends when it closes, if nobody has logged in on it.
    stranger: Pin<Box<Sleep>>,
    _permit: OwnedSemaphorePermit,
}

impl Connected for Connection {
    type ConnectInfo = Arc<Peer>;

    fn connect_info(&self) -> Arc<Peer> {
        self.peer.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if !self.peer.has_logged_in() && self.stranger.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

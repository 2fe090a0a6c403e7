//! What the command line and the environment say, and whether it is safe to start so.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tonic::transport::{Identity, ServerTlsConfig};
use tracing::level_filters::LevelFilter;

/// Arrow Flight SQL in front of PostgreSQL with amax: clients log in with the name and password of a PostgreSQL role, and
/// see and do what that role may.
#[derive(Parser, Debug)]
#[command(name = "amax-flight-sql", version, max_term_width = 100)]
pub struct Options {
    /// Where to listen. An address that is not loopback needs --tls-cert and --tls-key, or --insecure. With port 0, standard
    /// output has the port.
    #[arg(
        long,
        env = "AMAX_FLIGHT_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:31337"
    )]
    pub listen: SocketAddr,

    /// The database, as "host=/var/run/postgresql dbname=mydb" or as a postgresql:// URL, without user and password: those
    /// are each client's. One host. A host that is neither a socket nor loopback is spoken to by TLS, and its certificate verified.
    #[arg(long, env = "AMAX_FLIGHT_DATABASE", value_name = "CONNECTION")]
    pub database: String,

    /// The server's certificate and those it is signed by, PEM.
    #[arg(long, env = "AMAX_FLIGHT_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// The key of that certificate, PEM.
    #[arg(long, env = "AMAX_FLIGHT_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Listen without TLS on any address: passwords and rows can be read on the way.
    #[arg(long, env = "AMAX_FLIGHT_INSECURE")]
    pub insecure: bool,

    /// Certificates, one of which the database's must be signed by, PEM; the system's, if none are given.
    #[arg(long, env = "AMAX_FLIGHT_DATABASE_CA", value_name = "FILE")]
    pub database_ca: Option<PathBuf>,

    /// Speak to a remote database without TLS: passwords and rows can be read on the way.
    #[arg(long, env = "AMAX_FLIGHT_DATABASE_INSECURE", conflicts_with = "database_ca")]
    pub database_insecure: bool,

    /// Seconds after which a session that does nothing has to log in again, and a statement ends whose client neither takes nor sends anything.
    #[arg(long, env = "AMAX_FLIGHT_IDLE", value_name = "SECONDS", default_value = "3600", value_parser = seconds)]
    pub idle: Duration,

    /// Sessions at a time.
    #[arg(long, env = "AMAX_FLIGHT_MAX_SESSIONS", value_name = "N", default_value_t = 200)]
    pub max_sessions: usize,

    /// Connections to PostgreSQL that a session may have, and so statements that it may run at a time.
    #[arg(long, env = "AMAX_FLIGHT_SESSION_CONNECTIONS", value_name = "N", default_value_t = 8, value_parser = at_least_one)]
    pub session_connections: usize,

    /// Endpoints that the result of a query of a large table may have, for clients to read at a time. Each takes a connection of the session's until it
    /// has been read; all of them leave half of the connections to other statements. 1: results have one.
    #[arg(long, env = "AMAX_FLIGHT_ENDPOINTS", value_name = "N", default_value_t = 4, value_parser = at_least_one)]
    pub endpoints: usize,

    /// Logins that are looked at at a time.
    #[arg(long, env = "AMAX_FLIGHT_MAX_LOGINS", value_name = "N", default_value_t = 16, value_parser = at_least_one)]
    pub max_logins: usize,

    /// Connections of clients at a time; others wait.
    #[arg(long, env = "AMAX_FLIGHT_MAX_CONNECTIONS", value_name = "N", default_value_t = 1000, value_parser = at_least_one)]
    pub max_connections: usize,

    /// Seconds that a statement may take; 0 for what PostgreSQL's settings say.
    #[arg(long, env = "AMAX_FLIGHT_STATEMENT_TIMEOUT", value_name = "SECONDS", default_value = "0", value_parser = seconds)]
    pub statement_timeout: Duration,

    /// Megabytes that a message from a client may have, which is a batch of rows. Before login it is 64 kB.
    #[arg(long, env = "AMAX_FLIGHT_MAX_MESSAGE", value_name = "MB", default_value_t = 64, value_parser = at_least_one)]
    pub max_message: usize,

    /// Access method of tables that bulk ingestion creates.
    #[arg(
        long,
        env = "AMAX_FLIGHT_CREATE_USING",
        value_name = "METHOD",
        default_value = "amax"
    )]
    pub create_using: String,

    /// Seconds that statements have to end when the server is stopped; then they are cancelled.
    #[arg(long, env = "AMAX_FLIGHT_GRACE", value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub grace: Duration,

    /// What is logged, on standard error: off, error, warn, info, debug, trace.
    #[arg(long, env = "AMAX_FLIGHT_LOG", value_name = "LEVEL", default_value = "info")]
    pub log: LevelFilter,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: u32 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Ok(Duration::from_secs(seconds.into()))
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("not a number above zero".to_owned()),
        Ok(number) => Ok(number),
    }
}

/// Bytes of a message of somebody who has not logged in.
pub const STRANGERS_MESSAGE: usize = 64 << 10;

impl Options {
    /// Whether it may listen as it is told to; with what TLS, if any.
    pub fn check(&self) -> Result<Option<ServerTlsConfig>, String> {
        let tls = match (&self.tls_cert, &self.tls_key) {
            (Some(cert), Some(key)) => {
                let identity = Identity::from_pem(read(cert)?, read(key)?);
                Some(
                    ServerTlsConfig::new()
                        .identity(identity)
                        .timeout(Duration::from_secs(10)),
                )
            }
            _ => None,
        };
        if tls.is_none() && !self.insecure && !self.listen.ip().is_loopback() {
            return Err(format!(
                "{} is not loopback: passwords would cross the network in the clear. Give --tls-cert and --tls-key, or --insecure",
                self.listen
            ));
        }
        Ok(tls)
    }

    /// Bytes of a message of somebody who has logged in.
    pub fn message(&self) -> usize {
        self.max_message.saturating_mul(1 << 20)
    }

    /// The database's configuration, without a role; and whether TLS is spoken.
    pub fn database(&self) -> Result<(Config, bool), String> {
        let mut config: Config = self
            .database
            .parse()
            .map_err(|error: tokio_postgres::Error| format!("--database: {}", crate::error::chain(&error)))?;
        if config.get_user().is_some() || config.get_password().is_some() {
            return Err("--database has a user or a password: those are each client's own".into());
        }
        if config.get_dbname().is_none() {
            return Err("--database has no dbname".into());
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            config.host("/var/run/postgresql");
        }
        // An address says where a connection goes, whatever the host's name is.
        let remote = match (config.get_hosts(), config.get_hostaddrs()) {
            ([Host::Unix(_)], []) => None,
            ([Host::Tcp(name)], []) => Some(is_remote(name)),
            ([Host::Tcp(_)] | [], [address]) => Some(!address.is_loopback()),
            _ => return Err("--database has several hosts, or a hostaddr of a socket".into()),
        };
        let asked = self.database_ca.is_some() || config.get_ssl_mode() == SslMode::Require;
        if remote.is_none() && asked {
            return Err("--database has a socket, which has no TLS".into());
        }
        let tls = remote.is_some_and(|remote| remote || asked) && !self.database_insecure;
        if tls && config.get_hosts().is_empty() {
            return Err("--database has a hostaddr and no host, whose name a certificate could have".into());
        }
        config.ssl_mode(match tls {
            true => SslMode::Require,
            false => SslMode::Disable,
        });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(Duration::from_secs(10));
        }
        Ok((config, tls))
    }
}

fn is_remote(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => !address.is_loopback(),
        Err(_) => host != "localhost",
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(more: &[&str]) -> Options {
        let name = ["amax-flight-sql"];
        Options::parse_from(name.iter().chain(more))
    }

    #[test]
    fn listens_beyond_loopback_only_with_tls_or_when_told() {
        assert!(options(&["--database", "dbname=a"]).check().is_ok());
        assert!(
            options(&["--database", "dbname=a", "--listen", "[::1]:0"])
                .check()
                .is_ok()
        );
        assert!(
            options(&["--database", "dbname=a", "--listen", "0.0.0.0:0"])
                .check()
                .is_err()
        );
        assert!(
            options(&["--database", "dbname=a", "--listen", "0.0.0.0:0", "--insecure"])
                .check()
                .is_ok()
        );
    }

    #[test]
    fn remote_databases_are_spoken_to_by_tls() {
        let tls = |database: &str, more: &[&str]| {
            let mut all = vec!["--database", database];
            all.extend(more);
            options(&all).database().map(|(_, tls)| tls)
        };
        assert_eq!(tls("dbname=a", &[]), Ok(false));
        assert_eq!(tls("host=localhost dbname=a", &[]), Ok(false));
        assert_eq!(tls("host=127.0.0.1 dbname=a", &[]), Ok(false));
        assert_eq!(tls("host=db.example dbname=a", &[]), Ok(true));
        assert_eq!(tls("host=db.example dbname=a sslmode=disable", &[]), Ok(true));
        assert_eq!(tls("host=localhost hostaddr=10.0.0.1 dbname=a", &[]), Ok(true));
        assert_eq!(tls("host=db.example dbname=a", &["--database-insecure"]), Ok(false));
        assert!(tls("host=db.example,/tmp dbname=a", &[]).is_err());
        assert!(tls("host=a,b dbname=a", &[]).is_err());
        assert!(tls("host=/tmp hostaddr=10.0.0.1 dbname=a", &[]).is_err());
        assert!(tls("host=/tmp dbname=a sslmode=require", &[]).is_err());
        assert!(tls("host=/tmp dbname=a", &["--database-ca", "ca.crt"]).is_err());
        assert!(tls("hostaddr=10.0.0.1 dbname=a", &[]).is_err());
        assert_eq!(tls("hostaddr=127.0.0.1 dbname=a", &[]), Ok(false));
        assert!(tls("host=/tmp", &[]).is_err());
        assert!(tls("host=/tmp dbname=a user=postgres", &[]).is_err());
        assert!(tls("postgresql://a:b@/c", &[]).is_err());
    }
}

"""A throwaway server on a unix socket, which can also be killed."""

import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import time
import zlib

import psycopg

PG_BIN = pathlib.Path(os.environ.get("PG_BIN", "/usr/lib/postgresql/15/bin"))

# What the server's log must not say. "was terminated by signal 9" is left to those who send it.
TURNED_AWAY = re.compile("the database system is (in recovery mode|starting up|not yet accepting connections|shutting down)")
CRASH = re.compile(r"TRAP:|PANIC:|panicked at|was terminated by signal (?!9\b)")


def as_server_user(command):
    """The command as the user who may run a server: postgres when we are root."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else list(command)


class Server:
    """A cluster with data checksums in `directory`/NAME, run by the programs in `binaries`; its socket is in `directory`.

    It is made by `make(server)`, by initdb if that is not given.
    """

    def __init__(self, directory, name, settings=(), binaries=PG_BIN, make=None):
        self.directory = pathlib.Path(directory)
        self.binaries = pathlib.Path(binaries)
        self.data = self.directory / name
        self.log = self.directory / f"{name}.log"
        self.log_read = 0
        self.port = 10000 + zlib.crc32(name.encode()) % 40000  # only part of the socket's name
        (make or Server.initdb)(self)
        lines = [
            "listen_addresses = ''",
            f"unix_socket_directories = '{self.directory}'",
            f"port = {self.port}",
            "shared_buffers = '64MB'",
            "max_prepared_transactions = 10",
            "max_connections = 40",
            "deadlock_timeout = '200ms'",
            "log_line_prefix = '%m [%p] %d '",
            "log_statement = 'none'",
            *settings,
        ]
        with open(self.data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def initdb(self):
        self.run("initdb", "-D", self.data, "--username=postgres", "--auth=trust", "--encoding=UTF8",
                 "--locale=C.UTF-8", "--data-checksums", "--no-sync")

    def backup(self, name, settings=(), binaries=None):
        """A streaming standby made with pg_basebackup, not started yet."""
        def make(standby):
            self.run("pg_basebackup", "-D", standby.data, "-d", self.conninfo(), "--checkpoint=fast", "--wal-method=stream",
                     "--write-recovery-conf", "--no-sync")
        return Server(self.directory, name, settings, binaries or self.binaries, make)

    def conninfo(self, database="postgres"):
        return f"host={self.directory} port={self.port} user=postgres dbname={database}"

    def run(self, program, *arguments):
        """Runs one of PostgreSQL's programs as the server's user; returns what it printed, raises when it fails."""
        environment = {k: v for k, v in os.environ.items() if k != "RUST_BACKTRACE"}
        own = self.binaries / program
        done = subprocess.run(as_server_user([str(own) if own.exists() else program, *map(str, arguments)]), cwd=self.directory,
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stdout[-2000:]}\n{self.log_tail()}")
        return done.stdout

    def start(self, options=""):
        """Starts the server and waits until it takes connections (crash recovery included); nothing happens when it runs."""
        if (self.data / "postmaster.pid").exists():
            return
        # pg_ctl's child must not inherit the pipe, or reading it would wait for the server's end.
        environment = {k: v for k, v in os.environ.items() if k != "RUST_BACKTRACE"}
        status = subprocess.run(
            as_server_user([str(self.binaries / "pg_ctl"), "-D", str(self.data), "-l", str(self.log), "-o", options, "-w", "-t", "120", "start"]),
            cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, check=False).returncode
        if status != 0:
            raise RuntimeError(f"the server did not start\n{self.log_tail()}")

    def stop(self):
        """A clean shutdown; nothing happens when the server does not run."""
        if (self.data / "postmaster.pid").exists():
            self.run("pg_ctl", "-D", self.data, "-m", "fast", "-w", "stop")

    def kill(self):
        """kill -9 of every process of the server at once, as when the machine loses power (but for what the kernel holds)."""
        postmaster = int((self.data / "postmaster.pid").read_text().split()[0])
        # Stopped first, it forks no child that we do not know of: an autovacuum worker that goes on would write to the files while the next
        # server recovers them.
        os.kill(postmaster, signal.SIGSTOP)
        while _stat(postmaster)[0] not in "TZ":
            time.sleep(0.001)
        children = self._children(postmaster)
        os.kill(postmaster, signal.SIGKILL)
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + 30
        while any(_stat(pid)[0] != "Z" for pid in [postmaster, *children]):
            if time.monotonic() > deadline:
                raise RuntimeError("the server survived kill -9")
            time.sleep(0.01)
        # Nobody may have waited for the dead postmaster yet; a new one would take it for running.
        (self.data / "postmaster.pid").unlink()
        (self.directory / f".s.PGSQL.{self.port}.lock").unlink()

    @staticmethod
    def _children(parent):
        """Of a process that is stopped. (The kernel's own list, /proc/PID/task/PID/children, may miss some when one of them ends meanwhile.)"""
        pids = [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()]
        return [pid for pid in pids if _stat(pid)[1:2] == [str(parent)]]

    def connect(self, database="postgres", **arguments):
        return psycopg.connect(host=str(self.directory), port=self.port, user="postgres", dbname=database,
                               autocommit=True, **arguments)

    def checksums(self):
        """Runs pg_checksums --check on the stopped cluster; returns its output, raises when a block is bad."""
        return self.run("pg_checksums", "--check", "-D", self.data)

    def state(self):
        """What its processes are at, and the end of its log but for connections that were turned away."""
        told = ["no postmaster.pid"]
        if (self.data / "postmaster.pid").exists():
            postmaster = int((self.data / "postmaster.pid").read_text(encoding="ascii").split()[0])
            told = [_seen(pid) for pid in [postmaster, *self._children(postmaster)]]
        lines = [line for line in self.log_tail(1 << 20).splitlines() if not TURNED_AWAY.search(line)]
        return "\n".join(told + lines[-30:])

    def log_tail(self, size=3000):
        return self.log.read_text(errors="replace")[-size:] if self.log.exists() else "(no log)"

    def new_crashes(self):
        """Lines of the log, since the last call, that speak of a crash, each with what came before it."""
        if not self.log.exists():
            return []
        text = self.log.read_text(errors="replace")
        new, self.log_read = text[self.log_read:], len(text)
        lines = new.splitlines()
        return ["\n".join(lines[max(0, i - 2):i + 3]) for i, line in enumerate(lines) if CRASH.search(line)]

    def remove(self):
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)


def _stat(pid):
    """Its state and what follows in proc(5), as if dead when there is no such process."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["Z"]


def _seen(pid):
    """Its number, title, state and where in the kernel it waits."""
    read = lambda name: pathlib.Path(f"/proc/{pid}/{name}").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    try:
        return f"{pid} {read('cmdline')} {_stat(pid)[0]} {read('wchan')}"
    except OSError as error:
        return f"{pid} {error}"


def own(path):
    """Gives a directory to the user who runs servers."""
    if os.geteuid() == 0:
        entry = pwd.getpwnam("postgres")
        os.chown(path, entry.pw_uid, entry.pw_gid)

//! Tables that wait for a background worker, in memory that processes share. Each database has one worker at most.
//!
//! Whoever uses it places [`Requests`] where all processes see them, and holds a lock around each call.

/// Databases that may have a worker at a time.
const WORKERS: usize = if cfg!(test) { 2 } else { 64 };
/// Tables that may wait.
const WAITING: usize = if cfg!(test) { 4 } else { 1024 };
/// Microseconds after which a worker that was to start is taken not to have started, and one that has not come to a table is taken to be at
/// something longer.
const PATIENCE: u64 = 10_000_000;

/// All zeroes are none.
#[repr(C)]
pub struct Requests {
    workers: [Worker; WORKERS],
    waiting: [Waiting; WAITING],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Worker {
    /// 0: nobody's.
    database: u32,
    /// 0: it is about to start.
    process: i32,
    /// When it was told to. 0: one before it has failed.
    since: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Waiting {
    /// 0: none.
    database: u32,
    table: u32,
    since: u64,
}

/// What is to be done so that a request is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// This process is to be woken. If it is gone, [`Requests::gone`] is to know, and it is to be asked for again.
    Wake(i32),
    /// Nothing: a worker is about to start.
    Starting,
    /// A worker is to be started.
    Start,
    /// The worker will not see to it soon, or there is no room for it: it was not noted.
    No,
}

fn is_long(since: u64, now: u64) -> bool {
    now.saturating_sub(since) > PATIENCE
}

impl Requests {
    /// A table waits for its database's worker. `now` is in microseconds.
    pub fn ask(&mut self, database: u32, table: u32, now: u64) -> Asked {
        let own = self.of(database);
        if let Some(at) = own.filter(|&at| self.is_lost(at, now)) {
            // It cannot be started, it seems, or has failed, which the one that asks is to see for itself. Who asks next tries again.
            self.forget(at);
            return Asked::No;
        }
        let Some(at) = own.or_else(|| self.free_worker(now)) else {
            return Asked::No;
        };
        let is_it = |waiting: &&mut Waiting| (waiting.database, waiting.table) == (database, table);
        match self.waiting.iter_mut().find(is_it) {
            Some(waiting) if is_long(waiting.since, now) => return Asked::No,
            Some(_) => {}
            None => {
                let Some(free) = self.waiting.iter_mut().find(|waiting| waiting.database == 0) else {
                    return Asked::No;
                };
                *free = Waiting {
                    database,
                    table,
                    since: now,
                };
            }
        }
        let worker = &mut self.workers[at];
        match (own, worker.process) {
            (Some(_), 0) => Asked::Starting,
            (Some(_), process) => Asked::Wake(process),
            (None, _) => {
                *worker = Worker {
                    database,
                    process: 0,
                    since: now,
                };
                Asked::Start
            }
        }
    }

    /// Where a database's worker is.
    fn of(&self, database: u32) -> Option<usize> {
        self.workers.iter().position(|worker| worker.database == database)
    }

    /// The same if it is this process.
    fn of_process(&self, database: u32, process: i32) -> Option<usize> {
        self.of(database).filter(|&at| self.workers[at].process == process)
    }

    /// Whether a worker that was to start has not.
    fn is_lost(&self, at: usize, now: u64) -> bool {
        let worker = self.workers[at];
        worker.process == 0 && is_long(worker.since, now)
    }

    /// A place for another worker.
    fn free_worker(&mut self, now: u64) -> Option<usize> {
        let free = |&at: &usize| self.workers[at].database == 0 || self.is_lost(at, now);
        let at = (0..WORKERS).find(free)?;
        self.forget(at);
        Some(at)
    }

    /// A worker is no more; nor are its database's requests, which may be dropped by now.
    fn forget(&mut self, at: usize) {
        let Worker { database, .. } = std::mem::take(&mut self.workers[at]);
        let of_it = self.waiting.iter_mut().filter(|waiting| waiting.database == database);
        of_it.for_each(|waiting| *waiting = Waiting::default());
    }

    /// A worker has started; false if there is another.
    pub fn begin(&mut self, database: u32, process: i32, now: u64) -> bool {
        let own = self.of(database);
        let Some(at) = own.or_else(|| self.free_worker(now)) else {
            return false;
        };
        let is_first = self.workers[at].process == 0;
        if is_first {
            self.workers[at] = Worker {
                database,
                process,
                since: now,
            };
        }
        is_first
    }

    /// The next table of a database, which waits no more.
    pub fn take(&mut self, database: u32) -> Option<u32> {
        let waiting = self.waiting.iter_mut().find(|waiting| waiting.database == database)?;
        Some(std::mem::take(waiting).table)
    }

    /// A worker has nothing more to do; false if it has.
    pub fn end(&mut self, database: u32, process: i32) -> bool {
        let ends = !self.waiting.iter().any(|waiting| waiting.database == database);
        if ends {
            self.gone(database, process);
        }
        ends
    }

    /// A worker could not do what it was asked for. What is found to be due next is not left to another.
    pub fn failed(&mut self, database: u32, process: i32) {
        if let Some(at) = self.of_process(database, process) {
            self.forget(at);
            self.workers[at].database = database;
        }
    }

    /// A worker is no more. 0: one that could not be started.
    pub fn gone(&mut self, database: u32, process: i32) {
        if let Some(at) = self.of_process(database, process) {
            self.forget(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> Requests {
        Requests {
            workers: Default::default(),
            waiting: Default::default(),
        }
    }

    #[test]
    fn one_worker_comes_for_all_tables_of_a_database() {
        let mut requests = empty();
        assert_eq!(requests.ask(5, 100, 1), Asked::Start);
        assert_eq!(requests.ask(5, 101, 2), Asked::Starting);
        assert_eq!(requests.ask(5, 100, 2), Asked::Starting);
        assert!(requests.begin(5, 77, 3));
        assert!(!requests.begin(5, 78, 3));
        let taken = [(); 3].map(|()| requests.take(5));
        assert_eq!(taken, [Some(100), Some(101), None]);
        assert_eq!(requests.ask(5, 102, 4), Asked::Wake(77));
        assert!(!requests.end(5, 77));
        assert_eq!(requests.take(5), Some(102));
        assert!(requests.end(5, 77));
        assert_eq!(requests.ask(5, 103, 5), Asked::Start);
    }

    #[test]
    fn nobody_relies_on_one_that_does_not_come() {
        let mut requests = empty();
        assert_eq!(requests.ask(5, 100, 1), Asked::Start);
        assert_eq!(requests.ask(5, 100, 1 + PATIENCE), Asked::Starting);
        assert_eq!(requests.ask(5, 100, 2 + PATIENCE), Asked::No);
        assert_eq!(requests.ask(5, 100, 3 + PATIENCE), Asked::Start);
        assert!(requests.begin(5, 77, 4 + PATIENCE));
        // It is killed, and its requests with it.
        assert_eq!(requests.ask(5, 101, 5 + PATIENCE), Asked::Wake(77));
        requests.gone(5, 77);
        assert_eq!(requests.take(5), None);
        assert_eq!(requests.ask(5, 101, 6 + PATIENCE), Asked::Start);
        requests.gone(5, 0);
        assert_eq!(requests.take(5), None);
    }

    #[test]
    fn nor_on_one_that_is_at_something_longer() {
        let mut requests = empty();
        assert_eq!(requests.ask(5, 100, 1), Asked::Start);
        assert!(requests.begin(5, 77, 2));
        assert_eq!(requests.take(5), Some(100));
        assert_eq!(requests.ask(5, 101, 3), Asked::Wake(77));
        assert_eq!(requests.ask(5, 101, 3 + PATIENCE), Asked::Wake(77));
        assert_eq!(requests.ask(5, 101, 4 + PATIENCE), Asked::No);
        assert_eq!(requests.ask(5, 102, 4 + PATIENCE), Asked::Wake(77));
    }

    #[test]
    fn who_asks_after_a_failure_sees_for_himself() {
        let mut requests = empty();
        let now = 1 + PATIENCE;
        assert_eq!(requests.ask(5, 100, now), Asked::Start);
        assert!(requests.begin(5, 77, now));
        assert_eq!(requests.ask(5, 101, now), Asked::Wake(77));
        requests.failed(5, 77);
        // As its process ends.
        requests.gone(5, 77);
        assert_eq!(requests.take(5), None);
        assert_eq!(requests.ask(5, 101, now), Asked::No);
        assert_eq!(requests.ask(5, 101, now), Asked::Start);
        // Nor does it keep another database's from coming.
        assert!(requests.begin(5, 78, now));
        requests.failed(5, 78);
        assert_eq!(requests.ask(6, 100, now), Asked::Start);
        assert_eq!(requests.ask(7, 100, now), Asked::Start);
    }

    #[test]
    fn there_is_an_end_of_room() {
        let mut requests = empty();
        assert_eq!(requests.ask(1, 100, 1), Asked::Start);
        assert_eq!(requests.ask(2, 100, 1), Asked::Start);
        assert_eq!(requests.ask(3, 100, 1), Asked::No);
        assert_eq!(requests.ask(1, 101, 1), Asked::Starting);
        assert_eq!(requests.ask(1, 102, 1), Asked::Starting);
        assert_eq!(requests.ask(1, 103, 1), Asked::No);
        assert_eq!(requests.take(2), Some(100));
        assert!(requests.begin(2, 9, 1) && requests.end(2, 9));
        assert_eq!(requests.ask(3, 100, 1), Asked::Start);
        // One that was to start and did not makes room for another database's.
        assert!(requests.begin(3, 8, 1));
        assert_eq!(requests.ask(4, 100, 2 + PATIENCE), Asked::Start);
        assert_eq!(requests.take(1), None);
    }
}

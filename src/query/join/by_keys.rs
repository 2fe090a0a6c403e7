//! Sides that memory does not hold whole: the scan is read once more, before, for the keys that its rows look up, and of such a side only rows with
//! these keys are kept. Others are found by nobody.

use super::build::Wanted;
use super::node::Join;
use super::probe::Probe;
use super::spine::{Kind, Level};
use crate::pg::node::Node;
use crate::query::batch::Batch;
use crate::query::batch::joined::Side;
use crate::query::expr::quiet::is_quiet;
use crate::query::expr::raises::raises;
use amax_exec::{KeySet, Vector, VectorBuilder};

impl Join {
    /// Whether a side that has been found too large may be read by the scan's keys: nobody can tell that the scan is read before the rest of the side,
    /// and that it is read twice. `wanted`: what is read of its columns.
    pub(super) fn may_wait(&self, side: usize, wanted: &[bool]) -> bool {
        let (level, probe) = (&self.spine.levels[side], &self.probes[side]);
        // Of a semijoin or an antijoin heap looks at other conditions until a match holds, in the order of its hash table.
        let in_any_order =
            matches!(probe.kind, Kind::Inner | Kind::Left) || !level.residual.iter().any(|node| raises(node));
        probe.is_asked_by_scan(level)
            && in_any_order
            && probe.building.is_quiet(level, wanted)
            && !self.spine.scan.plan().parallel_aware()
            && is_quiet(self.spine.scan)
    }

    /// For each side that waits, the keys that rows of the scan have, of those that find something in sides that do not wait; None if they take
    /// more memory than a side may. Sides above one where an error may be raised leave out no row: heap meets it there before.
    pub(super) fn wanted_by_scan(&self, sides: &[Option<Side>], limit: usize) -> Option<Vec<Option<Wanted>>> {
        let levels = || self.probes.iter().zip(&self.spine.levels).zip(sides);
        let raises_nothing = |level: &&Level| {
            let conditions = level.residual.iter().chain(&level.filter);
            !conditions.chain(&level.outer_keys).any(|node| raises(node))
        };
        let levels_first = self.spine.levels.iter().take_while(raises_nothing).count() + 1;
        let filters: Vec<(&Probe, &Side)> = levels()
            .take(levels_first)
            .filter(|((probe, level), _)| {
                matches!(probe.kind, Kind::Inner | Kind::Semi) && probe.is_asked_by_scan(level)
            })
            .filter_map(|((probe, _), side)| Some((probe, side.as_ref()?)))
            .collect();
        let mut waiting: Vec<(&Probe, Option<Vec<VectorBuilder>>)> = levels()
            .map(|((probe, level), side)| {
                let builders = || level.types.iter().map(|&ty| VectorBuilder::new(ty)).collect();
                (probe, side.is_none().then(builders))
            })
            .collect();
        let mut scan = self.scan.borrow_mut();
        let asked = filters.iter().map(|(probe, _)| *probe);
        let asked = asked.chain(
            waiting
                .iter()
                .filter(|(_, keys)| keys.is_some())
                .map(|(probe, _)| *probe),
        );
        scan.read(
            asked
                .flat_map(|probe| probe.keys.iter().flat_map(|key| key.reads.iter().copied()))
                .collect(),
        );
        let mut fits = true;
        while fits && let Some(Batch { columns, mut rows }) = scan.next_batch() {
            crate::memory::check_for_interrupts();
            for (probe, side) in &filters {
                rows = probe.finding(side, scan.rows(), &columns, rows);
            }
            for (probe, keys) in &mut waiting {
                for (key, out) in probe.keys.iter().zip(keys.iter_mut().flatten()) {
                    out.push_all(&key.values(scan.rows(), &columns, &rows));
                }
            }
            let builders = waiting.iter().flat_map(|(_, keys)| keys).flatten();
            fits = builders.map(VectorBuilder::bytes_used).sum::<usize>() <= limit;
        }
        scan.rows().clear();
        scan.restart();
        let set = |keys: VectorBuilder| {
            let keys: Vector = keys.finish();
            KeySet::new(&keys).expect("they are integers or text")
        };
        let sets = |(_, keys): (&Probe, Option<Vec<VectorBuilder>>)| Some(keys?.into_iter().map(set).collect());
        fits.then(|| waiting.into_iter().map(sets).collect())
    }
}

impl Probe {
    /// Whether rows of the scan look its side up without an error, by nothing but their own columns.
    fn is_asked_by_scan(&self, level: &Level) -> bool {
        let quiet = |key: &&'static Node| !raises(key) && !key.is_volatile();
        !self.joined && level.outer_keys.iter().all(quiet)
    }
}

//! Checking everything a leaf holds, and reporting what is wrong instead of failing on it.

use crate::blob::Blob;
use crate::blob::unpack;
use crate::budget::Budget;
use crate::encode::values;
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::leaf::Leaf;
use crate::load::{Wanted, load};
use crate::path;
use crate::sink::JsonSink;
use crate::stored::Stored;
use crate::tree::Tree;
use crate::types::{ColumnType, ReadAt};
use crate::values::Values;
use crate::zone;

/// Problems reported at most; a leaf that has more is beyond reading.
const MAX_PROBLEMS: usize = 100;

impl<R: ReadAt> Leaf<R> {
    /// Every problem found: megapages and their checksums, levels against values, zones and encodings
    /// against the directory, and that each row of each column can be put together. Empty if the leaf is
    /// sound. (Page 0 was checked by [`Leaf::open`].)
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]: nothing is known then.
    pub fn verify(&self) -> Result<Vec<String>> {
        let mut problems = Problems::default();
        for (i, blob) in self.page0.shared.iter().enumerate() {
            let mut budget = Budget(self.options.memory_limit);
            if let Err(error) = self.check_blob(blob, &mut budget) {
                problems.error(format!("level stream {i}"), error);
            }
        }
        for col in 0..self.page0.columns.len() {
            self.verify_column(col, &mut problems);
        }
        match problems.out_of_memory {
            Some(error) => Err(error),
            None => Ok(problems.found),
        }
    }

    fn check_blob(&self, blob: &Blob, budget: &mut Budget) -> Result<()> {
        if blob.raw_len == 0 {
            return Ok(());
        }
        let stored = self.source.read_at(blob.offset, blob.stored_len as usize)?;
        unpack(stored.into(), blob, budget, !self.options.checksums).map(|_| ())
    }

    fn verify_column(&self, col: usize, problems: &mut Problems) {
        let (_, schema) = &self.page0.columns[col];
        let mut wanted = Vec::new();
        schema
            .roots
            .iter()
            .for_each(|node| path::everything(node, 0, &mut wanted));
        let before = problems.found.len();
        for w in &wanted {
            if let Err(error) = self.verify_leaf(w, problems, col) {
                problems.error(format!("column {col}, leaf column {}", w.column), error);
            }
        }
        if problems.found.len() > before || problems.out_of_memory.is_some() {
            return;
        }
        let tree = match self.tree(schema, &wanted, None) {
            Ok(tree) => tree,
            Err(error) => return problems.error(format!("column {col}"), error),
        };
        for row in 0..self.rows() as u32 {
            self.verify_row(&tree, row, col, problems);
            if problems.full() {
                return;
            }
        }
    }

    fn verify_leaf(&self, wanted: &Wanted, problems: &mut Problems, col: usize) -> Result<()> {
        let mut budget = Budget(self.options.memory_limit);
        let loaded = load(
            &self.source,
            &self.page0,
            &[*wanted],
            &mut budget,
            !self.options.checksums,
            None,
        )?;
        let entry = &self.page0.entries[wanted.column as usize];
        if values::describe(entry.encoding, wanted.kind) == "unknown" && entry.count > 0 {
            problems.add(format!(
                "column {col}, leaf column {}: unknown encoding in the directory",
                wanted.column
            ));
        }
        let Some(loaded) = loaded.get(&wanted.column) else {
            return Ok(());
        };
        let expected = match wanted.kind {
            Kind::Numeric | Kind::Raw | Kind::Rest => None,
            _ => match &*loaded.values {
                Values::Dictionary { entries, .. } => zone::of(&Values::Bytes(entries.clone())),
                values => zone::of(values),
            },
        };
        let expected = match self.page0.has_long_bounds {
            true => expected,
            false => expected.map(|bounds| Stored::of_words(bounds.min, bounds.max)),
        };
        if expected != entry.zone {
            problems.add(format!(
                "column {col}, leaf column {}: smallest and largest value differ",
                wanted.column
            ));
        }
        Ok(())
    }

    fn verify_row(&self, tree: &Tree, row: u32, col: usize, problems: &mut Problems) {
        let present = tree
            .roots
            .iter()
            .filter(|&&n| tree.nodes[n as usize].presence.get(row).is_some())
            .count();
        if present > 1 {
            problems.add(format!("column {col}, row {row}: values of several kinds"));
        }
        if present > 0 && self.is_antimatter(row as usize) {
            problems.add(format!("column {col}, row {row}: anti-matter with a value"));
        }
        let Some((node, instance)) = tree.alternative(&tree.roots, row) else {
            return;
        };
        let mut builder = amax_jsonb::Builder::new();
        let result = tree.emit(
            node,
            row,
            instance,
            &mut JsonSink {
                builder: &mut builder,
                left: tree.max_values,
            },
        );
        let is_json = self.page0.columns[col].0 == ColumnType::Json;
        let result = result.and_then(|()| {
            if is_json {
                Ok(builder.finish().map(|_| ())?)
            } else {
                Ok(())
            }
        });
        if let Err(error) = result {
            problems.error(format!("column {col}, row {row}"), error);
        }
    }
}

#[derive(Default)]
struct Problems {
    found: Vec<String>,
    /// Not a problem of the leaf.
    out_of_memory: Option<Error>,
}

impl Problems {
    fn full(&self) -> bool {
        self.found.len() >= MAX_PROBLEMS || self.out_of_memory.is_some()
    }

    fn add(&mut self, problem: String) {
        if !self.full() {
            self.found.push(problem);
        }
    }

    fn error(&mut self, place: String, error: Error) {
        match error {
            Error::OutOfMemory(_) => self.out_of_memory = Some(error),
            error => self.add(format!("{place}: {error}")),
        }
    }
}

//! Handing up rows one by one: the best, which are read again by their positions, or all.

use crate::query::batch::columns::BatchColumns;
use crate::query::batch::contract::Positions;
use crate::query::batch::{Batch, Batches};
use amax_format::RowNumbers;
use std::rc::Rc;

/// A row in so many of a leaf that are read decodes as much as reading the columns whole.
const FEW: usize = 64;

enum Source {
    Best(std::vec::IntoIter<Positions>),
    All,
}

/// Rows of a leaf.
struct Run {
    columns: Rc<BatchColumns>,
    rows: RowNumbers,
    /// The one that comes next.
    next: usize,
    /// Whether they are so few that each is read by itself.
    alone: bool,
}

pub struct Hand {
    source: Source,
    run: Option<Run>,
}

impl Hand {
    pub fn best(positions: Vec<Positions>) -> Hand {
        Hand {
            source: Source::Best(positions.into_iter()),
            run: None,
        }
    }

    pub fn all() -> Hand {
        Hand {
            source: Source::All,
            run: None,
        }
    }

    /// Has the input's rows be at the next one; false after the last.
    pub fn next(&mut self, input: &mut dyn Batches) -> bool {
        loop {
            if let Some(run) = &mut self.run
                && let Some(&row) = run.rows.get(run.next)
            {
                run.next += 1;
                match run.alone {
                    true => input.rows().set_alone(&run.columns, row),
                    false => input.rows().set_leaf(&run.columns, row),
                }
                return true;
            }
            self.run = None;
            let batch = match &mut self.source {
                Source::Best(positions) => positions.next().map(|positions| input.batch_at(&positions)),
                Source::All => input.next_batch(),
            };
            match batch {
                None => {
                    input.rows().clear();
                    return false;
                }
                Some(Batch { columns, rows }) => {
                    let best = matches!(self.source, Source::Best(_));
                    self.run = Some(Run {
                        alone: best && columns.is_leaf() && rows.len() * FEW < columns.len(),
                        rows,
                        next: 0,
                        columns,
                    });
                }
            }
        }
    }
}

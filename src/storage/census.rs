//! Which physical pages something refers to.

use super::{manifest, map, meta};
use crate::pg::Relation;
use amax_lsm::{Blob, Extent, Manifest, RetiredPages};

pub struct Census {
    /// Per page.
    known: Vec<bool>,
    /// Pages that two things refer to, which is damage.
    pub twice: Vec<u32>,
}

/// Takes the census of the first `pages` pages by this manifest. Right for as long as nobody can take free pages or
/// retire any.
pub fn take(rel: &Relation, manifest: &Manifest, pages: u32) -> Census {
    crate::memory::ask(pages as usize, "a census of pages");
    let mut census = Census {
        known: vec![false; pages as usize],
        twice: Vec::new(),
    };
    census.page(meta::BLOCK);
    census.blob(&manifest::stored(rel));
    let (links, row_pages) = map::walk(rel);
    links.iter().for_each(|link| census.page(link.page));
    row_pages.into_iter().for_each(|page| census.page(page));
    for component in &manifest.components {
        let directory = manifest::directory(rel, component);
        census.extents(&directory.pages(&component.directory));
    }
    for retired in &manifest.retired {
        match &retired.pages {
            RetiredPages::Columnar(extents) => census.extents(extents),
            // In the page maps, too, until they are reclaimed.
            RetiredPages::Rows(rows) => rows.iter().for_each(|r| census.expect(r.1)),
        }
    }
    for &(start, end) in manifest.free.ranges().ranges() {
        (start..end).for_each(|page| census.page(page));
    }
    census
}

impl Census {
    fn page(&mut self, page: u32) {
        if let Some(known) = self.known.get_mut(page as usize)
            && std::mem::replace(known, true)
        {
            self.twice.push(page);
        }
    }

    fn expect(&mut self, page: u32) {
        if let Some(known) = self.known.get_mut(page as usize) {
            *known = true;
        }
    }

    fn extents(&mut self, extents: &[Extent]) {
        for extent in extents {
            (extent.start..extent.start + extent.len).for_each(|page| self.page(page));
        }
    }

    fn blob(&mut self, blob: &Blob) {
        self.extents(&blob.extents);
    }

    /// Pages that nothing refers to.
    pub fn unknown(&self) -> impl Iterator<Item = u32> + '_ {
        let pages = self.known.iter().enumerate();
        pages.filter(|p| !p.1).map(|p| p.0 as u32)
    }
}

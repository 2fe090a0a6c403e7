//! Which places of a universe hold something, and as which instance: the column's answer to "is there a
//! value here, and which one".

/// An ascending set of `u32` places below a universe; a member's rank is its instance number.
#[derive(Clone, Debug)]
pub(crate) enum Presence {
    /// Every place of the universe.
    All(u32),
    /// A bitmap; `ranks[i]` counts the members before word `i`.
    Bits {
        words: Vec<u64>,
        ranks: Vec<u32>,
        count: u32,
    },
    /// The members.
    List(Vec<u32>),
}

/// A list is kept if the bitmap would take more than this many places per member.
const SPARSE: u64 = 20;

impl Presence {
    /// From ascending distinct places below `universe`.
    pub(crate) fn new(places: Vec<u32>, universe: u32) -> Self {
        if places.len() == universe as usize {
            return Self::All(universe);
        }
        if places.len() as u64 * SPARSE < u64::from(universe) {
            return Self::List(places);
        }
        let mut words = vec![0u64; (universe as usize).div_ceil(64)];
        for &place in &places {
            words[place as usize / 64] |= 1 << (place % 64);
        }
        Self::bits(words)
    }

    fn bits(words: Vec<u64>) -> Self {
        let mut count = 0;
        let ranks = words
            .iter()
            .map(|word| {
                let before = count;
                count += word.count_ones();
                before
            })
            .collect();
        Self::Bits { words, ranks, count }
    }

    /// Members.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::All(n) => *n,
            Self::Bits { count, .. } => *count,
            Self::List(places) => places.len() as u32,
        }
    }

    /// The rank of `place`, if it is a member.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<u32> {
        match self {
            Self::All(n) => (place < *n).then_some(place),
            Self::Bits { words, ranks, .. } => {
                let at = place as usize / 64;
                let word = *words.get(at)?;
                let bit = 1u64 << (place % 64);
                (word & bit != 0).then(|| ranks[at] + (word & (bit - 1)).count_ones())
            }
            Self::List(places) => places.binary_search(&place).ok().map(|i| i as u32),
        }
    }

    /// How many members are below `place`.
    pub(crate) fn rank(&self, place: u32) -> u32 {
        match self {
            Self::All(n) => place.min(*n),
            Self::Bits { words, ranks, count } => match words.get(place as usize / 64) {
                Some(word) => ranks[place as usize / 64] + (word & ((1 << (place % 64)) - 1)).count_ones(),
                None => *count,
            },
            Self::List(places) => places.partition_point(|&p| p < place) as u32,
        }
    }

    /// Visits the members in a range, in order.
    pub(crate) fn visit(&self, range: std::ops::Range<u32>, mut visit: impl FnMut(u32)) {
        match self {
            Self::All(n) => (range.start..range.end.min(*n)).for_each(visit),
            Self::Bits { words, .. } => {
                let end = range.end.min(words.len() as u32 * 64);
                let mut start = range.start;
                while start < end {
                    let base = start / 64 * 64;
                    let mut word = words[start as usize / 64] & (u64::MAX << (start % 64));
                    if end - base < 64 {
                        word &= (1 << (end - base)) - 1;
                    }
                    while word != 0 {
                        visit(base + word.trailing_zeros());
                        word &= word - 1;
                    }
                    start = base + 64;
                }
            }
            Self::List(places) => {
                let at = |place| places.partition_point(|&p| p < place);
                places[at(range.start)..at(range.end)].iter().copied().for_each(visit);
            }
        }
    }

    /// The members in order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = u32> + '_> {
        match self {
            Self::All(n) => Box::new(0..*n),
            Self::Bits { words, .. } => Box::new(words.iter().enumerate().flat_map(|(i, &word)| {
                let mut word = word;
                std::iter::from_fn(move || {
                    (word != 0).then(|| {
                        let bit = word.trailing_zeros();
                        word &= word - 1;
                        i as u32 * 64 + bit
                    })
                })
            })),
            Self::List(places) => Box::new(places.iter().copied()),
        }
    }

    /// The union of sets over the same universe.
    pub(crate) fn union<'a>(sets: impl Iterator<Item = &'a Presence> + Clone, universe: u32) -> Self {
        let mut total = 0u64;
        for set in sets.clone() {
            if set.len() == universe {
                return Self::All(universe);
            }
            total += u64::from(set.len());
        }
        if total * SPARSE < u64::from(universe) {
            let mut places: Vec<u32> = sets.flat_map(Presence::iter).collect();
            places.sort_unstable();
            places.dedup();
            return Self::new(places, universe);
        }
        let mut words = vec![0u64; (universe as usize).div_ceil(64)];
        for set in sets {
            match set {
                Self::Bits { words: other, .. } => {
                    words.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
                }
                _ => set
                    .iter()
                    .for_each(|place| words[place as usize / 64] |= 1 << (place % 64)),
            }
        }
        match Self::bits(words) {
            Self::Bits { count, .. } if count == universe => Self::All(universe),
            bits => bits,
        }
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::All(_) => 0,
            Self::Bits { words, ranks, .. } => words.len() * 8 + ranks.len() * 4,
            Self::List(places) => places.len() * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn agrees_with_a_set(
            sets in prop::collection::vec(prop::collection::btree_set(0u32..600, 0..500), 1..4),
            universe in 600u32..20_000,
        ) {
            let all: BTreeSet<u32> = sets.iter().flatten().copied().collect();
            let sets: Vec<Presence> =
                sets.into_iter().map(|set| Presence::new(set.into_iter().collect(), universe)).collect();
            let union = Presence::union(sets.iter(), universe);
            prop_assert_eq!(union.iter().collect::<Vec<_>>(), all.iter().copied().collect::<Vec<_>>());
            for place in 0..universe {
                let expected = all.contains(&place).then(|| all.range(..place).count() as u32);
                prop_assert_eq!(union.get(place), expected);
                prop_assert_eq!(union.rank(place) as usize, all.range(..place).count());
            }
            for start in 0..universe.min(150) {
                let range = start..start + start * 3 % 200;
                let mut visited = Vec::new();
                union.visit(range.clone(), |place| visited.push(place));
                prop_assert_eq!(visited, all.range(range).copied().collect::<Vec<_>>());
            }
        }
    }
}

//! Sets of relations, by their numbers in a query (bitmapset.c).

use pgrx::pg_sys;

/// A set that stays as it is; null is an empty one.
#[derive(Clone, Copy)]
pub struct Relids(*mut pg_sys::Bitmapset);

impl Relids {
    /// None.
    #[cfg(not(feature = "pg15"))]
    pub const NONE: Relids = Relids(std::ptr::null_mut());

    /// # Safety
    /// A set, or null, which stays as it is for as long as this is used.
    pub unsafe fn of(raw: *mut pg_sys::Bitmapset) -> Relids {
        Relids(raw)
    }

    pub fn raw(self) -> *mut pg_sys::Bitmapset {
        self.0
    }

    pub fn contains(self, relation: pg_sys::Index) -> bool {
        // SAFETY: a set.
        unsafe { pg_sys::bms_is_member(relation as i32, self.0) }
    }

    /// Whether all of them are in another set, too.
    pub fn are_in(self, other: Relids) -> bool {
        // SAFETY: two sets.
        unsafe { pg_sys::bms_is_subset(self.0, other.0) }
    }

    fn membership(self) -> pg_sys::BMS_Membership::Type {
        // SAFETY: a set.
        unsafe { pg_sys::bms_membership(self.0) }
    }

    pub fn is_empty(self) -> bool {
        self.membership() == pg_sys::BMS_Membership::BMS_EMPTY_SET
    }

    pub fn is_one(self) -> bool {
        self.membership() == pg_sys::BMS_Membership::BMS_SINGLETON
    }

    pub fn is_several(self) -> bool {
        self.membership() == pg_sys::BMS_Membership::BMS_MULTIPLE
    }

    /// Which of them a relation is, in the order of their numbers, from 0.
    pub fn place_of(self, relation: pg_sys::Index) -> i32 {
        // SAFETY: a set.
        unsafe { pg_sys::bms_member_index(self.0, relation as i32) }
    }

    /// The relation at a place.
    pub fn at(self, place: i32) -> pg_sys::Index {
        // SAFETY: a set.
        let next = |relation, _| unsafe { pg_sys::bms_next_member(self.0, relation) };
        (0..=place).fold(-1, next) as pg_sys::Index
    }
}

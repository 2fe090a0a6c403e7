//! What the catalogs say of functions, types and collations (lsyscache.c, typcache.c).

use pgrx::pg_sys;
use std::ffi::CStr;

pub fn function_is_strict(function: pg_sys::Oid) -> bool {
    // SAFETY: looks it up.
    unsafe { pg_sys::func_strict(function) }
}

pub fn function_is_immutable(function: pg_sys::Oid) -> bool {
    // SAFETY: as above.
    unsafe { pg_sys::func_volatile(function) as u8 == pg_sys::PROVOLATILE_IMMUTABLE }
}

pub fn function_is_leakproof(function: pg_sys::Oid) -> bool {
    // SAFETY: as above.
    unsafe { pg_sys::get_func_leakproof(function) }
}

/// A function of ours that the user may call, by its name in the extension's schema. Who may not use the schema may call it.
pub fn function_of_extension(name: &CStr, arguments: &[pg_sys::Oid]) -> Option<pg_sys::Oid> {
    use pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP;
    // SAFETY: looks it up by strings and types; in no schema there is none.
    let found = unsafe {
        let schema = pg_sys::get_namespace_oid(c"amax".as_ptr(), true);
        let types = pg_sys::buildoidvector(arguments.as_ptr(), arguments.len() as i32);
        let (name, types) = (pg_sys::Datum::from(name.as_ptr()), pg_sys::Datum::from(types));
        let (oid, none) = (pg_sys::Anum_pg_proc_oid as i16, pg_sys::Datum::null());
        pg_sys::GetSysCacheOid(PROCNAMEARGSNSP as i32, oid, name, types, schema.into(), none)
    };
    (found != pg_sys::InvalidOid && may_call(found)).then_some(found)
}

fn may_call(function: pg_sys::Oid) -> bool {
    let right = pg_sys::ACL_EXECUTE as pg_sys::AclMode;
    // SAFETY: a function that there is.
    let allowed = unsafe {
        #[cfg(feature = "pg15")]
        let allowed = pg_sys::pg_proc_aclcheck(function, pg_sys::GetUserId(), right);
        #[cfg(not(feature = "pg15"))]
        let allowed = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, pg_sys::GetUserId(), right);
        allowed
    };
    allowed == pg_sys::AclResult::ACLCHECK_OK
}

/// A schema's name.
pub fn schema_name(schema: pg_sys::Oid) -> String {
    // SAFETY: it is looked up; a string that ends with a zero, as the schema is there.
    let name = unsafe { CStr::from_ptr(pg_sys::get_namespace_name(schema)) };
    name.to_string_lossy().into_owned()
}

/// A type as SQL writes it, in the server's encoding.
pub fn type_name(ty: pg_sys::Oid) -> Vec<u8> {
    // SAFETY: as above; a string.
    owned(unsafe { CStr::from_ptr(pg_sys::format_type_be(ty)) })
}

/// A function with the types of its arguments, in the server's encoding.
pub fn function_name(function: pg_sys::Oid) -> Vec<u8> {
    // SAFETY: as above.
    owned(unsafe { CStr::from_ptr(pg_sys::format_procedure(function)) })
}

/// The same of an operator.
pub fn operator_name(operator: pg_sys::Oid) -> Vec<u8> {
    // SAFETY: as above.
    owned(unsafe { CStr::from_ptr(pg_sys::format_operator(operator)) })
}

fn owned(name: &CStr) -> Vec<u8> {
    name.to_bytes().to_vec()
}

/// Whether equal text in it has the same bytes.
pub fn is_deterministic(collation: pg_sys::Oid) -> bool {
    // SAFETY: as above.
    unsafe { pg_sys::get_collation_isdeterministic(collation) }
}

/// Whether a collation orders text by its bytes.
pub fn is_bytewise(collation: pg_sys::Oid) -> bool {
    // SAFETY: as above.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        return pg_sys::lc_collate_is_c(collation);
        #[cfg(feature = "pg18")]
        return (*pg_sys::pg_newlocale_from_collation(collation)).collate_is_c;
    }
}

/// Whether a collation orders text as its bytes are ordered, though PostgreSQL asks the C library for it: the default one of a
/// database where glibc has no rules to sort by, as in C.UTF-8 (strcoll() is strcmp() then).
pub fn has_no_rules(collation: pg_sys::Oid) -> bool {
    #[cfg(all(any(feature = "pg15", feature = "pg16"), target_env = "gnu"))]
    {
        unsafe extern "C" {
            fn nl_langinfo(item: std::ffi::c_int) -> *const std::ffi::c_char;
        }
        /// _NL_COLLATE_NRULES of langinfo.h: a word, not a string.
        const RULES: std::ffi::c_int = 3 << 16;
        // SAFETY: a collation of no locale of its own is the process's, as setlocale() has set it.
        collation == pg_sys::DEFAULT_COLLATION_OID
            && unsafe {
                pg_sys::pg_newlocale_from_collation(collation).is_null() && nl_langinfo(RULES).addr() as u32 == 0
            }
    }
    #[cfg(not(all(any(feature = "pg15", feature = "pg16"), target_env = "gnu")))]
    {
        let _ = collation;
        false
    }
}

/// The order of two texts as a collation has it.
pub fn compare_text(one: &[u8], other: &[u8], collation: pg_sys::Oid) -> std::cmp::Ordering {
    let (first, second) = (one.as_ptr().cast(), other.as_ptr().cast());
    // SAFETY: bytes of text in the database's encoding, with their lengths, which PostgreSQL bounds.
    unsafe { pg_sys::varstr_cmp(first, one.len() as i32, second, other.len() as i32, collation) }.cmp(&0)
}

/// Which time zone the session has, as a number. Each has one, which stays.
pub fn time_zone() -> usize {
    // SAFETY: reads the backend's variable.
    unsafe { pg_sys::session_timezone.addr() }
}

/// The type of an array's elements.
pub fn element_type(array: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: as above.
    unsafe { pg_sys::get_element_type(array) }
}

/// An operator's function.
pub fn operator_function(operator: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: as above.
    unsafe { pg_sys::get_opcode(operator) }
}

/// The functions that hash the two sides of an operator that joins can be hashed by.
pub fn hash_functions(operator: pg_sys::Oid) -> Option<(pg_sys::Oid, pg_sys::Oid)> {
    let (mut left, mut right) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
    // SAFETY: as above.
    let found = unsafe { pg_sys::get_op_hash_functions(operator, &mut left, &mut right) };
    found.then_some((left, right))
}

/// A function that hashes values.
pub struct Hash(Box<pg_sys::FmgrInfo>, pg_sys::Oid);

impl Hash {
    /// By a collation, in the current memory context.
    pub fn new(function: pg_sys::Oid, collation: pg_sys::Oid) -> Hash {
        let mut info = Box::<pg_sys::FmgrInfo>::default();
        // SAFETY: looks it up.
        unsafe { pg_sys::fmgr_info(function, &mut *info) };
        Hash(info, collation)
    }

    /// Of a value of its type that is not NULL.
    pub fn of(&mut self, value: pg_sys::Datum) -> u32 {
        // SAFETY: one of PostgreSQL's functions, and an argument of its type.
        unsafe { pg_sys::FunctionCall1Coll(&mut *self.0, self.1, value).value() as u32 }
    }
}

/// How values of a type are held.
#[derive(Clone, Copy)]
pub struct Held {
    pub len: i16,
    pub by_value: bool,
    pub align: std::ffi::c_char,
}

pub fn held(ty: pg_sys::Oid) -> Held {
    let mut held = Held {
        len: 0,
        by_value: false,
        align: 0,
    };
    // SAFETY: as above.
    unsafe { pg_sys::get_typlenbyvalalign(ty, &mut held.len, &mut held.by_value, &mut held.align) }
    held
}

/// The operators of a type's default order: less, equal, greater.
pub fn order(ty: pg_sys::Oid) -> [pg_sys::Oid; 3] {
    let wanted = pg_sys::TYPECACHE_LT_OPR | pg_sys::TYPECACHE_EQ_OPR | pg_sys::TYPECACHE_GT_OPR;
    // SAFETY: as above; the entry stays.
    unsafe {
        let found = &*pg_sys::lookup_type_cache(ty, wanted as i32);
        [found.lt_opr, found.eq_opr, found.gt_opr]
    }
}

/// Whether the user may read all columns of the table, those of the system included.
pub fn may_select(table: pg_sys::Oid) -> bool {
    // SAFETY: who it is.
    may_be_selected_by(table, unsafe { pg_sys::GetUserId() })
}

/// The same of any user.
pub fn may_be_selected_by(table: pg_sys::Oid, user: pg_sys::Oid) -> bool {
    let right = pg_sys::ACL_SELECT as pg_sys::AclMode;
    // SAFETY: rights are looked up.
    unsafe { pg_sys::pg_class_aclcheck(table, user, right) == pg_sys::AclResult::ACLCHECK_OK }
}

/// Whether the table has, or had, children.
pub fn has_children(table: pg_sys::Oid) -> bool {
    // SAFETY: as above.
    unsafe { pg_sys::has_subclass(table) }
}

//! Custom paths and plans (extensible.h): the tables that PostgreSQL knows them by, and making them.

use super::expr::TargetEntry;
use super::handle::handle;
use super::node::{Kind, Node, Nodes, duplicate, fields, make};
use super::plan::{CustomScan, Plan};
use super::planner::{ParamPathInfo, Path, PathTarget, PlannerInfo, RelOptInfo, paths};
use pgrx::pg_sys;
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
use std::ffi::CStr;
use std::ops::Deref;

/// What makes a plan of a path.
pub trait Planning {
    /// `targets` and `clauses` are what the plan is asked for, `plans` those of the paths below.
    fn plan<'a>(root: &'a PlannerInfo, rel: &'a RelOptInfo, path: &'a CustomPath, asked: Asked<'a>) -> NewPlan<'a>;
}

/// What a plan is asked for.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub targets: Nodes<'a>,
    /// Conditions, as RestrictInfos.
    pub clauses: Nodes<'a>,
    /// The plans of the paths below.
    pub plans: Nodes<'a>,
}

/// Of a path.
pub struct PathMethods(pg_sys::CustomPathMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for PathMethods {}

impl PathMethods {
    pub const fn of<T: Planning>(name: &'static CStr) -> PathMethods {
        PathMethods(pg_sys::CustomPathMethods {
            CustomName: name.as_ptr(),
            PlanCustomPath: Some(plan_path::<T>),
            ReparameterizeCustomPathByChild: None,
        })
    }
}

/// # Safety
/// As create_customscan_plan() calls it.
// It calls the guard itself: the attribute takes no type parameters.
unsafe extern "C-unwind" fn plan_path<T: Planning>(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    best: *mut pg_sys::CustomPath,
    targets: *mut pg_sys::List,
    clauses: *mut pg_sys::List,
    plans: *mut pg_sys::List,
) -> *mut pg_sys::Plan {
    // SAFETY: what the planner hands over is well-formed, and stays while it plans.
    unsafe {
        pgrx_extern_c_guard(|| {
            let path = CustomPath::of(best);
            let asked = Asked {
                targets: Nodes::of(targets),
                clauses: Nodes::of(clauses),
                plans: Nodes::of(plans),
            };
            let plan = T::plan(PlannerInfo::of(root), RelOptInfo::of(rel), path, asked);
            plan.make(path, asked).raw()
        })
    }
}

/// Of a plan.
pub struct ScanMethods(pg_sys::CustomScanMethods);
// SAFETY: a table of function pointers, never changed.
unsafe impl Sync for ScanMethods {}

/// Makes a plan's state.
pub type Create = unsafe extern "C-unwind" fn(*mut pg_sys::CustomScan) -> *mut pg_sys::Node;

impl ScanMethods {
    pub const fn new(name: &'static CStr, create: Create) -> ScanMethods {
        ScanMethods(pg_sys::CustomScanMethods {
            CustomName: name.as_ptr(),
            CreateCustomScanState: Some(create),
        })
    }

    /// Tells PostgreSQL of them, which may have to read such a plan.
    pub fn register(&'static self) {
        // SAFETY: they last as long as the process.
        unsafe { pg_sys::RegisterCustomScanMethods(&self.0) }
    }

    pub fn are_of(&self, plan: &CustomScan) -> bool {
        std::ptr::eq(plan.methods(), &self.0)
    }
}

handle! {
    CustomPath, pg_sys::CustomPath
}
fields!(CustomPath {
    custom_paths: list,
    custom_private: list
});

// SAFETY: tags are named as their structs.
unsafe impl Kind for CustomPath {
    const TAG: pg_sys::NodeTag = pg_sys::NodeTag::T_CustomPath;
    type Struct = pg_sys::CustomPath;
}

impl Deref for CustomPath {
    type Target = Path;

    fn deref(&self) -> &Path {
        // SAFETY: it begins with a path.
        unsafe { Path::of(self.raw().cast()) }
    }
}

impl CustomPath {
    pub fn has(&self, methods: &PathMethods) -> bool {
        // SAFETY: a field of the struct.
        std::ptr::eq(unsafe { (*self.raw()).methods }, &methods.0)
    }

    /// The paths below it.
    pub fn children(&self) -> Vec<&Path> {
        paths(self.custom_paths()).collect()
    }

    /// A copy that add_path() does not know of.
    pub fn copy<'a>(&self) -> &'a CustomPath {
        duplicate(self)
    }

    /// A copy that hands up fewer rows, at less cost.
    pub fn reduced<'a>(&self, rows: f64, total_cost: f64) -> &'a CustomPath {
        let copy = self.copy();
        // SAFETY: fields of the struct, which is ours.
        unsafe {
            let path = &mut (*copy.raw()).path;
            (path.rows, path.total_cost) = (rows, total_cost);
        }
        copy
    }
}

/// A path to be made. It projects.
pub struct NewPath<'a> {
    pub methods: &'static PathMethods,
    pub parent: &'a RelOptInfo,
    pub target: &'a PathTarget,
    pub parameters: Option<&'a ParamPathInfo>,
    pub children: Vec<&'a Path>,
    pub private: Nodes<'a>,
    pub backward: bool,
    pub parallel_aware: bool,
    pub parallel_safe: bool,
    pub parallel_workers: i32,
    pub rows: f64,
    pub startup_cost: f64,
    pub total_cost: f64,
    /// Instead of those of its children.
    pub disabled_nodes: Option<i32>,
    pub sorted: Nodes<'a>,
}

impl<'a> NewPath<'a> {
    /// Of a relation, with all of its rows; what it costs is still to be said.
    pub fn of(methods: &'static PathMethods, parent: &'a RelOptInfo, target: &'a PathTarget) -> NewPath<'a> {
        NewPath {
            methods,
            parent,
            target,
            parameters: None,
            children: Vec::new(),
            private: Nodes::NONE,
            backward: false,
            parallel_aware: false,
            parallel_safe: false,
            parallel_workers: 0,
            rows: parent.rows(),
            startup_cost: 0.0,
            total_cost: 0.0,
            disabled_nodes: None,
            sorted: Nodes::NONE,
        }
    }

    pub fn make(self) -> &'a CustomPath {
        let backward = if self.backward {
            pg_sys::CUSTOMPATH_SUPPORT_BACKWARD_SCAN
        } else {
            0
        };
        let children: Nodes = self.children.iter().map(|path| &***path).collect();
        // SAFETY: all fields that are not zero are set, by us alone.
        let (made, custom) = unsafe {
            let made = make::<CustomPath>();
            (made, &mut *made.raw())
        };
        custom.path.pathtype = pg_sys::NodeTag::T_CustomScan;
        custom.path.parent = self.parent.raw();
        custom.path.pathtarget = self.target.raw();
        custom.path.param_info = self.parameters.map_or(std::ptr::null_mut(), ParamPathInfo::raw);
        custom.path.parallel_aware = self.parallel_aware;
        custom.path.parallel_safe = self.parallel_safe;
        custom.path.parallel_workers = self.parallel_workers;
        custom.path.rows = self.rows;
        custom.path.startup_cost = self.startup_cost;
        custom.path.total_cost = self.total_cost;
        let of_children = || self.children.iter().map(|path| path.disabled_nodes()).sum();
        let disabled: i32 = self.disabled_nodes.unwrap_or_else(of_children);
        #[cfg(feature = "pg18")]
        {
            custom.path.disabled_nodes = disabled;
        }
        debug_assert!(cfg!(feature = "pg18") || disabled == 0);
        custom.path.pathkeys = self.sorted.raw();
        custom.flags = pg_sys::CUSTOMPATH_SUPPORT_PROJECTION | backward;
        custom.custom_paths = children.raw();
        custom.custom_private = self.private.raw();
        custom.methods = &self.methods.0;
        made
    }
}

/// A plan to be made of a path.
pub struct NewPlan<'a> {
    pub methods: &'static ScanMethods,
    /// The table it scans; 0 for none, or for a join.
    pub relation: pg_sys::Index,
    /// The plans below it.
    pub children: Nodes<'a>,
    /// What its rows consist of.
    pub entries: Vec<&'a Node>,
    /// Expressions that the planner has to know of.
    pub expressions: Vec<&'a Node>,
    pub private: Nodes<'a>,
    /// Whether it can go backward although its path did not say so.
    pub backward: bool,
}

impl<'a> NewPlan<'a> {
    fn make(self, path: &CustomPath, asked: Asked<'a>) -> &'a Plan {
        let entry = |(at, &entry): (usize, &&Node)| TargetEntry::make(entry, at as i16 + 1);
        let entries: Nodes = self.entries.iter().enumerate().map(entry).collect();
        let expressions: Nodes = self.expressions.into_iter().collect();
        let backward = if self.backward {
            pg_sys::CUSTOMPATH_SUPPORT_BACKWARD_SCAN
        } else {
            0
        };
        // SAFETY: all fields that are not zero are set, by us alone.
        let (made, custom) = unsafe {
            let made = make::<CustomScan>();
            (made, &mut *made.raw())
        };
        custom.scan.plan.targetlist = asked.targets.raw();
        custom.scan.scanrelid = self.relation;
        // SAFETY: a field of the struct.
        custom.flags = unsafe { (*path.raw()).flags } | backward;
        custom.custom_plans = self.children.raw();
        custom.custom_exprs = expressions.raw();
        custom.custom_private = self.private.raw();
        custom.custom_scan_tlist = entries.raw();
        custom.methods = &self.methods.0;
        made
    }
}

//! JSON paths in expressions: which are columns of their own.

use super::datum;
use super::tree::{is_a, nodes};
use amax_format::PathStep;
use pgrx::pg_sys;
use pgrx::pg_sys::NodeTag;

/// A value in a document of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonPath {
    pub attribute: i16,
    pub steps: Vec<PathStep>,
    /// By `->>` or `#>>`: as text.
    pub text: bool,
    /// 0: from the row. n: from an element of the n-th arrays that the scan unnests.
    pub level: usize,
}

/// The path that an expression over a jsonb attribute is, if it is one: chains of `->`, `->>`, `#>`, `#>>` and subscripts with
/// constant keys. Those with whole numbers are left to PostgreSQL: `->` takes them for an array's index even in a scalar, `#>` and
/// subscripts for an index or a key, whichever the value has.
pub unsafe fn path_of(
    node: *mut pg_sys::Node,
    is_base: &dyn Fn(&pg_sys::Var) -> bool,
) -> Option<JsonPath> {
    let mut path = JsonPath {
        attribute: 0,
        steps: Vec::new(),
        text: false,
        level: 0,
    };
    let base = follow(node, &mut path, true)?;
    let var = &*(base as *mut pg_sys::Var);
    (is_a(base, NodeTag::T_Var)
        && var.varattno > 0
        && var.varlevelsup == 0
        && !path.steps.is_empty()
        && is_base(var))
    .then(|| {
        path.attribute = var.varattno;
        path
    })
}

/// Appends the steps of `node`, first those below it; what they start from.
unsafe fn follow(
    node: *mut pg_sys::Node,
    path: &mut JsonPath,
    outermost: bool,
) -> Option<*mut pg_sys::Node> {
    if node.is_null() {
        return None;
    }
    let (function, args) = match (*node).type_ {
        NodeTag::T_OpExpr => {
            let op = &*(node as *mut pg_sys::OpExpr);
            (op.opfuncid.to_u32(), nodes(op.args))
        }
        NodeTag::T_FuncExpr => {
            let call = &*(node as *mut pg_sys::FuncExpr);
            (call.funcid.to_u32(), nodes(call.args))
        }
        NodeTag::T_SubscriptingRef => {
            let r = &*(node as *mut pg_sys::SubscriptingRef);
            if r.refcontainertype != pg_sys::JSONBOID
                || !r.refassgnexpr.is_null()
                || !r.reflowerindexpr.is_null()
            {
                return None;
            }
            let base = follow(r.refexpr as *mut pg_sys::Node, path, false)?;
            for subscript in nodes(r.refupperindexpr) {
                let key = text_constant(subscript)?;
                path.steps.push(key_of_path(key)?);
            }
            return Some(base);
        }
        _ => return (!outermost).then_some(node),
    };
    let &[from, key] = &args[..] else {
        return (!outermost).then_some(node);
    };
    let is_text = matches!(
        function,
        pg_sys::F_JSONB_OBJECT_FIELD_TEXT | pg_sys::F_JSONB_EXTRACT_PATH_TEXT
    );
    match function {
        pg_sys::F_JSONB_OBJECT_FIELD | pg_sys::F_JSONB_OBJECT_FIELD_TEXT
            if outermost || !is_text =>
        {
            let base = follow(from, path, false)?;
            path.steps.push(PathStep::Key(text_constant(key)?));
            path.text = is_text;
            Some(base)
        }
        pg_sys::F_JSONB_EXTRACT_PATH | pg_sys::F_JSONB_EXTRACT_PATH_TEXT
            if outermost || !is_text =>
        {
            let base = follow(from, path, false)?;
            for key in text_array_constant(key)? {
                path.steps.push(key_of_path(key)?);
            }
            path.text = is_text;
            Some(base)
        }
        _ => (!outermost).then_some(node),
    }
}

/// A key in `#>` and subscripts, which is an index as well if it looks like one.
fn key_of_path(key: Vec<u8>) -> Option<PathStep> {
    let digits = key
        .iter()
        .all(|b| b.is_ascii_digit() || b.is_ascii_whitespace() || matches!(b, b'-' | b'+'));
    (!digits).then_some(PathStep::Key(key))
}

unsafe fn constant(node: *mut pg_sys::Node, ty: pg_sys::Oid) -> Option<pg_sys::Datum> {
    let c = &*(node as *mut pg_sys::Const);
    (is_a(node, NodeTag::T_Const) && !c.constisnull && c.consttype == ty).then_some(c.constvalue)
}

unsafe fn text_constant(node: *mut pg_sys::Node) -> Option<Vec<u8>> {
    constant(node, pg_sys::TEXTOID).map(|datum| datum::varlena(datum).to_vec())
}

unsafe fn text_array_constant(node: *mut pg_sys::Node) -> Option<Vec<Vec<u8>>> {
    let array = constant(node, pg_sys::TEXTARRAYOID)?;
    let (mut elements, mut nulls, mut n) = (std::ptr::null_mut(), std::ptr::null_mut(), 0);
    pg_sys::deconstruct_array(
        pg_sys::pg_detoast_datum(array.cast_mut_ptr()) as *mut pg_sys::ArrayType,
        pg_sys::TEXTOID,
        -1,
        false,
        pg_sys::TYPALIGN_INT as std::ffi::c_char,
        &mut elements,
        &mut nulls,
        &mut n,
    );
    (0..n as usize)
        .map(|i| (!*nulls.add(i)).then(|| datum::varlena(*elements.add(i)).to_vec()))
        .collect()
}

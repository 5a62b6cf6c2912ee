// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Removes statements and results of conditionals that nobody reads.

use super::{Block, Cell, Instr, has_effect};
use std::collections::HashSet;

/// Removes dead code from a function body.
pub fn prune(block: &mut Block) {
    let mut live = HashSet::new();
    prune_block(block, &mut live);
}

/// Prunes a block; `live` holds the cells read after it and gains those that it reads.
fn prune_block(block: &mut Block, live: &mut HashSet<Cell>) {
    live.extend(block.outs.iter().copied());
    let mut kept = Vec::with_capacity(block.stmts.len());
    for mut stmt in std::mem::take(&mut block.stmts).into_iter().rev() {
        let used: Vec<bool> = stmt.results.iter().map(|cell| live.contains(cell)).collect();
        if let Instr::If(yes, no) = &mut stmt.instr {
            keep(&mut stmt.results, &used);
            keep(&mut yes.outs, &used);
            keep(&mut no.outs, &used);
            let after = live.clone();
            prune_block(yes, live);
            let mut other = after;
            prune_block(no, &mut other);
            live.extend(other);
            if stmt.results.is_empty() && yes.stmts.is_empty() && no.stmts.is_empty() {
                continue;
            }
        } else if !has_effect(&stmt.instr) && used.iter().all(|used| !used) {
            continue;
        }
        for cell in &stmt.results {
            live.remove(cell);
        }
        live.extend(stmt.args.iter().copied());
        kept.push(stmt);
    }
    kept.reverse();
    block.stmts = kept;
}

fn keep(cells: &mut Vec<Cell>, used: &[bool]) {
    let mut index = 0;
    cells.retain(|_| {
        index += 1;
        used[index - 1]
    });
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, builder::Builder};
    use super::*;

    #[test]
    fn unread_pure_statements_go_and_calls_stay() {
        let mut b = Builder::new();
        let x = b.fresh(Kind::Int);
        b.op("+", Some(Kind::Int), &[x, x]);
        b.push(Instr::Call("F".into()), &[x], &[Kind::Int]);
        let mut block = b.finish(vec![x]);
        prune(&mut block);
        assert_eq!(block.stmts.len(), 1);
        assert!(matches!(block.stmts[0].instr, Instr::Call(_)));
    }

    #[test]
    fn unread_results_of_a_conditional_go() {
        let mut b = Builder::new();
        let (c, x) = (b.fresh(Kind::Bool), b.fresh(Kind::Int));
        b.enter();
        let y = b.op("+", Some(Kind::Int), &[x, x]);
        let yes = b.leave(vec![y, x]);
        b.enter();
        let z = b.op("*", Some(Kind::Int), &[x, x]);
        let no = b.leave(vec![z, x]);
        let results = b.branch(c, yes, no);
        let mut block = b.finish(vec![results[1]]);
        prune(&mut block);
        let Instr::If(yes, no) = &block.stmts[0].instr else { panic!("the conditional is gone") };
        assert!(yes.stmts.is_empty() && no.stmts.is_empty());
        assert_eq!(block.stmts[0].results.len(), 1);
    }
}

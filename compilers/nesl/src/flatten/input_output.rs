// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Primitives that touch the world. They are for serial code; inside an apply-to-each, only writing to the console
//! is possible, which writes the texts of all instances in order.

use super::FAIL_FUNCTION;
use super::context::{Ctx, Flat, ROOT, Translation, Value};
use crate::core::{PlaceId, Prim};
use crate::vcode::{Cell, Constant, Instr, Kind};
use std::rc::Rc;

impl Translation<'_> {
    pub(super) fn effect(&mut self, prim: &Prim, values: &[Value], place: PlaceId, ctx: Ctx) -> Value {
        match prim {
            Prim::Fail => return self.fail(values, place, ctx),
            Prim::WriteConsole => {
                let at = self.context_of(&values[0]);
                let (_, text) = self.seq_at(&values[0], at);
                let Flat::Scalar(text) = text else { unreachable!("text is characters") };
                let out = self.b.push(Instr::Op("WRITE CHAR", None), &[text], &[Kind::Int, Kind::Bool]);
                return self.status(out[0], out[1]);
            }
            _ => {}
        }
        if ctx != ROOT {
            self.unsupported(
                "input, output, timing and seeds are for serial code, not for an apply-to-each; use {* ... } to go \
                 through the elements one after another",
                place,
            );
            return self.placeholder(prim, values);
        }
        let cells: Vec<Vec<Cell>> = values.iter().map(|value| self.cells_at(value, ROOT)).collect();
        match prim {
            Prim::Srand => {
                let out = self.b.op("SRAND", Some(Kind::Int), &[cells[0][0]]);
                self.leaf(ROOT, Flat::Scalar(out))
            }
            Prim::OpenFile => {
                let args = [cells[0][1], cells[1][0]];
                let out = self.b.push(Instr::Op("FOPEN", None), &args, &[Kind::Int, Kind::Int, Kind::Bool]);
                let file = self.leaf(ROOT, Flat::Scalar(out[0]));
                let status = self.status(out[1], out[2]);
                Value::pair(file, status)
            }
            Prim::CloseFile => {
                let out = self.b.push(Instr::Op("FCLOSE", None), &[cells[0][0]], &[Kind::Int, Kind::Bool]);
                self.status(out[0], out[1])
            }
            Prim::WriteText => {
                let args = [cells[0][1], cells[1][0]];
                let out = self.b.push(Instr::Op("FWRITE CHAR", None), &args, &[Kind::Int, Kind::Bool]);
                self.status(out[0], out[1])
            }
            Prim::WriteObject => {
                let out = self.write_cells(&cells[0], cells[1][0]);
                self.status(out[0], out[1])
            }
            Prim::ReadObject => {
                let model = values[0].clone();
                let out = self.read_cells(&cells[0], &cells[0], &[], cells[1][0]);
                let (status, value) = out.split_at(2);
                let value = self.rebuild(&model, &mut std::iter::repeat(ROOT), &mut value.iter().copied());
                let status = self.status(status[0], status[1]);
                Value::pair(value, status)
            }
            Prim::ReadVector => {
                let kind = self.b.kind(cells[0][1]);
                let name = read_name(kind);
                let out = self.b.push(Instr::Op(name, None), &[cells[1][0]], &[kind, Kind::Int, Kind::Bool]);
                let sequence = self.string(out[0]);
                let status = self.status(out[1], out[2]);
                Value::pair(sequence, status)
            }
            Prim::ReadText => {
                let args = [cells[0][1], cells[1][0], cells[2][0]];
                let kinds = [Kind::Int, Kind::Int, Kind::Int, Kind::Bool];
                let out = self.b.push(Instr::Op("FREAD_CHAR", None), &args, &kinds);
                let text = self.string(out[0]);
                let stop = self.leaf(ROOT, Flat::Scalar(out[1]));
                let status = self.status(out[2], out[3]);
                Value::pair(text, Value::pair(stop, status))
            }
            Prim::Spawn => {
                let args = [cells[0][1], cells[1][0], cells[2][0], cells[3][0]];
                let kinds = [Kind::Int, Kind::Int, Kind::Int, Kind::Int, Kind::Bool];
                let out = self.b.push(Instr::Op("SPAWN", None), &args, &kinds);
                let error = self.leaf(ROOT, Flat::Scalar(out[0]));
                let output = self.leaf(ROOT, Flat::Scalar(out[1]));
                let input = self.leaf(ROOT, Flat::Scalar(out[2]));
                let status = self.status(out[3], out[4]);
                Value::pair(input, Value::pair(output, Value::pair(error, status)))
            }
            Prim::StartTimer => {
                self.b.push(Instr::Op("START_TIMER", None), &[], &[]);
                self.constant(Constant::Bool(vec![true]))
            }
            _ => {
                let out = self.b.push(Instr::Op("STOP_TIMER", None), &[], &[Kind::Float]);
                self.leaf(ROOT, Flat::Scalar(out[0]))
            }
        }
    }

    /// Some value of a primitive's result, where an error keeps the program from being written.
    fn placeholder(&mut self, prim: &Prim, values: &[Value]) -> Value {
        let example = matches!(prim, Prim::ReadObject | Prim::ReadVector);
        let shape = if example { Prim::CloseFile.result(&[]) } else { prim.result(&[]) };
        let flat = self.fresh_flat(&shape, &mut Vec::new());
        let value = self.value(ROOT, &flat);
        if example { Value::pair(values[0].clone(), value) } else { value }
    }

    /// A sequence of these scalars.
    fn string(&mut self, data: Cell) -> Value {
        let d = self.b.count(data);
        self.leaf(ROOT, Flat::Seq(d, Rc::new(Flat::Scalar(data))))
    }

    /// `(ok, message)`
    fn status(&mut self, message: Cell, ok: Cell) -> Value {
        let ok = self.leaf(ROOT, Flat::Scalar(ok));
        let message = self.string(message);
        Value::pair(ok, message)
    }

    /// Writes cells one after another until one fails: message and flag.
    fn write_cells(&mut self, cells: &[Cell], file: Cell) -> Vec<Cell> {
        let Some((&first, rest)) = cells.split_first() else {
            let empty = self.empty_cell(Kind::Int);
            let good = self.b.constant(Constant::Bool(vec![true]));
            return vec![empty, good];
        };
        let name = match self.b.kind(first) {
            Kind::Int => "FWRITE INT",
            Kind::Bool => "FWRITE BOOL",
            Kind::Float => "FWRITE FLOAT",
            Kind::Segdes => "FWRITE SEGDES",
        };
        let out = self.b.push(Instr::Op(name, None), &[first, file], &[Kind::Int, Kind::Bool]);
        if rest.is_empty() {
            return out;
        }
        self.b.enter();
        let after = self.write_cells(rest, file);
        let yes = self.b.leave(after);
        self.b.enter();
        let no = self.b.leave(out.clone());
        self.b.branch(out[1], yes, no)
    }

    /// Reads cells like `model` one after another: message, flag, cells; the example's cells if one fails.
    fn read_cells(&mut self, model: &[Cell], example: &[Cell], read: &[Cell], file: Cell) -> Vec<Cell> {
        let Some((&first, rest)) = model.split_first() else {
            let empty = self.empty_cell(Kind::Int);
            let good = self.b.constant(Constant::Bool(vec![true]));
            return [vec![empty, good], read.to_vec()].concat();
        };
        let kind = self.b.kind(first);
        let name = read_name(kind);
        let out = self.b.push(Instr::Op(name, None), &[file], &[kind, Kind::Int, Kind::Bool]);
        self.b.enter();
        let mut so_far = read.to_vec();
        so_far.push(out[0]);
        let after = self.read_cells(rest, example, &so_far, file);
        let yes = self.b.leave(after);
        self.b.enter();
        let no = self.b.leave([vec![out[1], out[2]], example.to_vec()].concat());
        self.b.branch(out[2], yes, no)
    }

    /// `error(message)`
    fn fail(&mut self, values: &[Value], place: PlaceId, ctx: Ctx) -> Value {
        let at = self.context_of(&values[0]);
        let mut flag = self.scalar_at(&values[0], at);
        if at != ROOT || (ctx != ROOT && !self.contexts[ctx].nonempty) {
            flag = self.scalar_at(&values[0], ctx);
            let count = self.count(ctx);
            flag = self.b.op("OR_REDUCE", Some(Kind::Bool), &[flag, count]);
        }
        let text_ctx = self.context_of(&values[1]);
        let (_, text) = self.seq_at(&values[1], text_ctx);
        let Flat::Scalar(text) = text else { unreachable!("text is characters") };
        let tail = format!("\n{}", self.place_text(place));
        self.b.enter();
        let head = self.b.constant(Constant::Chars(b"\nRUNTIME ERROR: ".to_vec()));
        self.b.push(Instr::Op("WRITE CHAR", None), &[head], &[Kind::Int, Kind::Bool]);
        self.b.push(Instr::Op("WRITE CHAR", None), &[text], &[Kind::Int, Kind::Bool]);
        let tail = self.b.constant(Constant::Chars(tail.into_bytes()));
        self.b.push(Instr::Call(FAIL_FUNCTION.to_owned()), &[tail], &[]);
        let yes = self.b.leave(Vec::new());
        self.b.enter();
        let no = self.b.leave(Vec::new());
        self.b.branch(flag, yes, no);
        values[2].clone()
    }
}

fn read_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "FREAD INT",
        Kind::Bool => "FREAD BOOL",
        Kind::Float => "FREAD FLOAT",
        Kind::Segdes => "FREAD SEGDES",
    }
}

// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The functions that every NDPC program can use: those of the run-time by their types, others in the language.

/// The name shown for places in it.
pub(crate) const NAME: &str = "the NDPC library";

/// The library.
pub(crate) const TEXT: &str = r##"
primitive "+" : (a, a) -> a :: (a in number);
primitive "-" : (a, a) -> a :: (a in number);
primitive "*" : (a, a) -> a :: (a in number);
primitive "/" : (a, a) -> a :: (a in number);
primitive "^" : (a, int) -> a :: (a in number);
primitive "prefix -" : a -> a :: (a in number);
primitive "==" : (a, a) -> bool :: (a in ordinal);
primitive "/=" : (a, a) -> bool :: (a in ordinal);
primitive "<" : (a, a) -> bool :: (a in ordinal);
primitive ">" : (a, a) -> bool :: (a in ordinal);
primitive "<=" : (a, a) -> bool :: (a in ordinal);
primitive ">=" : (a, a) -> bool :: (a in ordinal);
primitive "and" : (a, a) -> a :: (a in logical);
primitive "or" : (a, a) -> a :: (a in logical);
primitive "xor" : (a, a) -> a :: (a in logical);
primitive "nand" : (a, a) -> a :: (a in logical);
primitive "nor" : (a, a) -> a :: (a in logical);
primitive not : a -> a :: (a in logical);
primitive "#" : [a] -> int :: (a in any);
primitive "[]" : ([a], int) -> a :: (a in any);
primitive "[:]" : (int, int, int) -> [int];
primitive "->" : ([a], [int]) -> [a] :: (a in any);
primitive "<-" : ([a], [(int, a)]) -> [a] :: (a in any);
primitive "++" : ([a], [a]) -> [a] :: (a in any);
primitive "@" : a -> [char] :: (a in any);
primitive "||" : ([char], int) -> [char];

primitive plusp : a -> bool :: (a in number);
primitive minusp : a -> bool :: (a in number);
primitive zerop : a -> bool :: (a in number);
primitive oddp : int -> bool;
primitive evenp : int -> bool;
primitive negate : a -> a :: (a in number);
primitive abs : a -> a :: (a in number);
primitive diff : (a, a) -> a :: (a in number);
primitive max : (a, a) -> a :: (a in ordinal);
primitive min : (a, a) -> a :: (a in ordinal);
primitive rem : (int, int) -> int;
primitive mod : (int, int) -> int;
primitive lshift : (int, int) -> int;
primitive rshift : (int, int) -> int;
primitive sqrt : float -> float;
primitive isqrt : int -> int;
primitive ln : float -> float;
primitive exp : float -> float;
primitive expt : (float, float) -> float;
primitive sin : float -> float;
primitive cos : float -> float;
primitive tan : float -> float;
primitive asin : float -> float;
primitive acos : float -> float;
primitive atan : float -> float;
primitive sinh : float -> float;
primitive cosh : float -> float;
primitive tanh : float -> float;
primitive btoi : bool -> int;
primitive code_char : int -> char;
primitive char_code : char -> int;
primitive float : int -> float;
primitive floor : float -> int;
primitive ceil : float -> int;
primitive trunc : float -> int;
primitive round : float -> int;
primitive pi : float;
primitive max_int : int;
primitive min_int : int;
primitive newline : char;
primitive space : char;
primitive tab : char;
primitive eql : (a, a) -> bool :: (a in any);

primitive dist : (a, int) -> [a] :: (a in any);
primitive index : int -> [int];
primitive rep : ([a], a, int) -> [a] :: (a in any);
primitive zip : ([a], [b]) -> [(a, b)] :: (a in any; b in any);
primitive plus_scan : [a] -> [a] :: (a in number);
primitive mult_scan : [a] -> [a] :: (a in number);
primitive max_scan : [a] -> [a] :: (a in number);
primitive min_scan : [a] -> [a] :: (a in number);
primitive or_scan : [a] -> [a] :: (a in logical);
primitive and_scan : [a] -> [a] :: (a in logical);
primitive xor_scan : [a] -> [a] :: (a in logical);
primitive sum : [a] -> a :: (a in number);
primitive product : [a] -> a :: (a in number);
primitive max_val : [a] -> a :: (a in number);
primitive min_val : [a] -> a :: (a in number);
primitive any : [a] -> a :: (a in logical);
primitive all : [a] -> a :: (a in logical);
primitive parity : [a] -> a :: (a in logical);
primitive count : [bool] -> int;
primitive reverse : [a] -> [a] :: (a in any);
primitive subseq : ([a], int, int) -> [a] :: (a in any);
primitive take : ([a], int) -> [a] :: (a in any);
primitive drop : ([a], int) -> [a] :: (a in any);
primitive partition : ([a], [int]) -> [[a]] :: (a in any);
primitive flatten : [[a]] -> [a] :: (a in any);

function gcd(a, b) = if b == 0 then abs(a) else gcd(b, rem(a, b));
function reciprocal(x) = 1.0 / x;
function log(v, base) = ln(v) / ln(base);
function select(c, a, b) = if c then a else b;
function iseq(s, d, e) = [s:e:d];
function elt(s, i) = s[i];
function unzip(s) = {a : (a, b) in s}, {b : (a, b) in s};
function pack(s) = {a : (a, keep) in s | keep};
function pack_index(flags) = {i : i in [0:#flags]; flag in flags | flag};
function enumerate(flags) = plus_scan({btoi(flag) : flag in flags});
function permute(s, is) = s <- zip(is, s);
function put(s, is, d) = d <- zip(is, s);
function rotate(s, k) =
  if #s == 0 then s
  else let n = mod(k, #s) in drop(s, #s - n) ++ take(s, #s - n);
function bottop(s) = let half = (#s + 1) / 2 in [take(s, half), drop(s, half)];
function even_elts(s) = s -> [0:#s:2];
function odd_elts(s) = s -> {2 * i + 1 : i in [0:#s / 2]};
function vpair(a, b) = [a, b];
function cons(a, s) = [a] ++ s;
function snoc(s, a) = s ++ [a];
function max_index(s) =
  let best = max_val(s) in min_val({select(x == best, i, #s) : x in s; i in [0:#s]});
function min_index(s) =
  let best = min_val(s) in min_val({select(x == best, i, #s) : x in s; i in [0:#s]});
"##;

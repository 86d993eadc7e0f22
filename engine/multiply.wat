;; C += A B for `many` matrices behind one another, four columns at a time: C is n
;; by m, m a multiple of 4, and k numbers of A and of B make one of it. A's number
;; (i, s) lies at i * up + s * along, so that A may be turned round. All in bytes.
(module
  (memory (export "memory") 1)
  (func (export "multiply")
    (param $many i32) (param $n i32) (param $k i32) (param $row i32)
    (param $a i32) (param $b i32) (param $c i32)
    (param $up i32) (param $along i32) (param $next_a i32) (param $next_b i32)
    (local $i i32) (local $s i32) (local $x i32) (local $y i32) (local $end i32)
    (local $sum v128)
    (loop $matrices
      (local.set $i (i32.const 0))
      (loop $rows
        (local.set $end (i32.add (local.get $b) (local.get $row)))
        (loop $columns
          (local.set $x (i32.add (local.get $a) (i32.mul (local.get $i) (local.get $up))))
          (local.set $y (local.get $b))
          (local.set $s (local.get $k))
          (local.set $sum (v128.const f32x4 0 0 0 0))
          (loop $terms
            (local.set $sum (f32x4.add (local.get $sum) (f32x4.mul
              (v128.load32_splat (local.get $x)) (v128.load (local.get $y)))))
            (local.set $x (i32.add (local.get $x) (local.get $along)))
            (local.set $y (i32.add (local.get $y) (local.get $row)))
            (br_if $terms (local.tee $s (i32.sub (local.get $s) (i32.const 1)))))
          (v128.store (local.get $c) (local.get $sum))
          (local.set $c (i32.add (local.get $c) (i32.const 16)))
          (local.set $b (i32.add (local.get $b) (i32.const 16)))
          (br_if $columns (i32.lt_u (local.get $b) (local.get $end))))
        (local.set $b (i32.sub (local.get $b) (local.get $row)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $rows (i32.lt_u (local.get $i) (local.get $n))))
      (local.set $a (i32.add (local.get $a) (local.get $next_a)))
      (local.set $b (i32.add (local.get $b) (local.get $next_b)))
      (br_if $matrices (local.tee $many (i32.sub (local.get $many) (i32.const 1)))))))

"""The 95 shapes that source 003 prints: codeblock, the source's label, shape.

It prints them after codeblocks 4, 5, 7, 9, 12, 15, 17, 19, 21, 23 and 26.
"""

import re

PRINTED = """
4: original 1 200
4: after embedding 1 200 512
5: original 1 200
5: after embedding 1 200 512
7: pos 200 1
7: denominator 256
7: even_pos_embed 200 256
7: odd_pos_embed 200 256
7: stacked 200 256 2
7: pos_embed 200 512
9: q 1 200 64
9: k 1 200 64
9: v 1 200 64
9: multiplied 1 200 200
9: scaled 1 200 200
9: mask 200 200
9: attn_output_weights 1 200 200
9: attn_output 1 200 64
12: original 1 200 512
12: after qkv_linear 1 200 1536
12: after reshape 1 200 8 192
12: after permute 1 8 200 192
12: q 1 8 200 64
12: k 1 8 200 64
12: v 1 8 200 64
12: attn_output 1 8 200 64
12: attn_output_weights 1 8 200 200
12: after permute 1 200 8 64
12: after reshape 1 200 512
12: after linear 1 200 512
15: x_enc original 1 200 512
15: x_dec original 1 200 512
15: after kv_linear 1 200 1024
15: after reshape 1 200 8 128
15: after permute 1 8 200 128
15: k 1 8 200 64
15: v 1 8 200 64
15: after q_linear 1 200 512
15: after reshape 1 200 8 64
15: after permute (q) 1 8 200 64
15: attn_output 1 8 200 64
15: attn_output_weights 1 8 200 200
15: after permute 1 200 8 64
15: after reshape 1 200 512
15: after linear 1 200 512
17: original 1 200 512
17: after linear_0 1 200 2048
17: after relu 1 200 2048
17: after dropout 1 200 2048
17: after linear_1 1 200 512
19: original 1 200 512
19: mean 1 200 1
19: var 1 200 1
19: stddev 1 200 1
19: normalized 1 200 512
19: after scaling and shifting 1 200 512
21: original & residual 1 200 512
21: after self attention 1 200 512
21: after dropout 1 200 512
21: after layer norm 1 200 512
21: x & residual 1 200 512
21: after feed forward 1 200 512
21: after dropout 1 200 512
21: after layer norm 1 200 512
23: x_dec & residual 1 200 512
23: after self attention 1 200 512
23: after dropout 1 200 512
23: after layer norm 1 200 512
23: x_dec & residual 1 200 512
23: after cross attention 1 200 512
23: after dropout 1 200 512
23: after layer norm 1 200 512
23: x_dec & residual 1 200 512
23: after feed forward 1 200 512
23: after dropout 1 200 512
23: after layer norm 1 200 512
26: x_enc_raw 1 200
26: x_dec_raw 1 200
26: after input embedding 1 200 512
26: after pos encoding 1 200 512
26: after encoder #0 1 200 512
26: after encoder #1 1 200 512
26: after encoder #2 1 200 512
26: after encoder #3 1 200 512
26: after encoder #4 1 200 512
26: after encoder #5 1 200 512
26: after output embedding 1 200 512
26: after pos encoding 1 200 512
26: after decoder #0 1 200 512
26: after decoder #1 1 200 512
26: after decoder #2 1 200 512
26: after decoder #3 1 200 512
26: after decoder #4 1 200 512
26: after decoder #5 1 200 512
26: after linear 1 200 120
"""
LINE = re.compile(r"(\d+): (.*?)((?: \d+)+)")
ROWS = [LINE.fullmatch(line).groups() for line in PRINTED.split("\n")[1:-1]]
TABLE = [(int(n), label, tuple(map(int, s.split()))) for n, label, s in ROWS]
BLOCKS = sorted({block for block, *_ in TABLE})

"""The types of weights that llama.cpp can make, by their names in lower case."""

LADDER = ("q8_0", "q6_k", "q5_k_m", "q4_k_m", "q3_k_m", "q2_k")
TYPES = (
    *("f32", "f16", "bf16", "q8_0", "q6_k", "q5_k_m", "q5_k_s", "q5_1", "q5_0", "q4_k_m", "q4_k_s"),
    *("q4_1", "q4_0", "iq4_nl", "iq4_xs", "q3_k_l", "q3_k_m", "q3_k_s", "iq3_m", "iq3_s", "q2_k"),
    *("tq2_0", "tq1_0"),
)
"""The types that llama.cpp can make without an importance matrix, from large to small."""
CALIBRATED = (*("iq3_xs", "iq3_xxs", "q2_k_s", "iq2_m", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_m", "iq1_s"),)
"""The types that llama.cpp makes only with an importance matrix."""
TENSOR_TYPES = (
    *("f32", "f16", "bf16", "q8_0", "q6_k", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "q4_0", "iq4_nl"),
    *("iq4_xs", "q3_k", "iq3_s", "iq3_xxs", "q2_k", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_m", "iq1_s"),
    *("tq2_0", "tq1_0"),
)
"""The types of a single tensor."""

"""The figures of AutoDE's paper (arXiv 2403.11128, tables 1 and 2), in percent and as they are printed."""

from typing import NamedTuple

METHODS = {"gpt35": "GPT 3.5", "llama7b": "Llama 2 7B Chat", "static": "static", "human": "human"}
"""The ways of evaluating, by what upstream's files call the user agent."""

ASSISTANTS = {
    "gpt35": "GPT 3.5",
    "claude_instant_1_2": "Claude",
    "codellama13b_oasst": "Code Llama",
    "llama70b": "Llama Chat",
    "zephyr_7b_alpha": "Zephyr",
}
"""The assistants, by what upstream's files call them."""


FILES = {
    ("gpt35", "gpt35"): "u_gpt35_a_gpt35_v2",
    ("gpt35", "llama7b"): "u_llama7b_a_gpt35_complementary",
    ("gpt35", "static"): "a_gpt35_static_v2",
    ("gpt35", "human"): "u_human_a_gpt35_complementary",
    ("claude_instant_1_2", "gpt35"): "u_gpt35_a_claude_instant_1_2",
    ("claude_instant_1_2", "llama7b"): "u_llama7b_a_claude_instant_1_2_complementary",
    ("claude_instant_1_2", "static"): "a_claude_instant_1_2_static",
    ("claude_instant_1_2", "human"): "a_claude_instant_1_2_human",
    ("codellama13b_oasst", "gpt35"): "u_gpt35_a_codellama13b_oasst_5rounds",
    ("codellama13b_oasst", "llama7b"): "u_llama7b_a_codellama13b_oasst_5rounds",
    ("codellama13b_oasst", "static"): "a_codellama13b_oasst_static_force_5rounds",
    ("codellama13b_oasst", "human"): "a_codellama13b_oasst_human_good_complementary",
    ("llama70b", "gpt35"): "u_gpt35_a_llama70b_5rounds",
    ("llama70b", "llama7b"): "u_llama7b_a_llama70b_5rounds",
    ("llama70b", "static"): "a_llama70b_static_force_5rounds",
    ("llama70b", "human"): "a_llama70b_human",
    ("zephyr_7b_alpha", "gpt35"): "u_gpt35_a_zephyr_7b_alpha_5rounds",
    ("zephyr_7b_alpha", "llama7b"): "u_llama7b_a_zephyr_7b_alpha_5rounds",
    ("zephyr_7b_alpha", "static"): "a_zephyr_7b_alpha_substitute_static_5rounds",
    ("zephyr_7b_alpha", "human"): "a_zephyr_7b_alpha_human_1round_complementary",
}
"""Which of upstream's files each cell of the paper was made of, by assistant and way of evaluating."""


class Scores(NamedTuple):
    """Precision, recall and F1 of a cell of table 1; `spread` stands behind the ±, if there is one."""

    precision: str
    recall: str
    f1: str
    spread: str = ""


TABLE_1 = {
    ("gpt35", "gpt35"): Scores("78.14", "73.84", "75.43", "0.56"),
    ("gpt35", "llama7b"): Scores("78.25", "73.91", "75.47", "0.46"),
    ("gpt35", "static"): Scores("94.05", "93.80", "93.86", "0.97"),
    ("gpt35", "human"): Scores("79.62", "75.07", "76.77"),
    ("claude_instant_1_2", "gpt35"): Scores("91.20", "88.49", "89.33", "1.72"),
    ("claude_instant_1_2", "llama7b"): Scores("86.32", "83.69", "84.38", "0.64"),
    ("claude_instant_1_2", "static"): Scores("93.28", "89.53", "90.78", "0.96"),
    ("claude_instant_1_2", "human"): Scores("92.60", "88.74", "90.05"),
    ("codellama13b_oasst", "gpt35"): Scores("64.00", "64.41", "63.21", "3.28"),
    ("codellama13b_oasst", "llama7b"): Scores("56.70", "59.30", "57.10", "2.25"),
    ("codellama13b_oasst", "static"): Scores("91.18", "89.74", "89.90", "0.55"),
    ("codellama13b_oasst", "human"): Scores("59.46", "59.99", "58.97"),
    ("llama70b", "gpt35"): Scores("10.61", "11.06", "10.71", "2.32"),
    ("llama70b", "llama7b"): Scores("11.48", "12.92", "11.86", "1.41"),
    ("llama70b", "static"): Scores("29.30", "29.78", "29.40", "1.61"),
    ("llama70b", "human"): Scores("18.80", "20.63", "19.40"),
    ("zephyr_7b_alpha", "gpt35"): Scores("48.08", "50.16", "48.69", "1.68"),
    ("zephyr_7b_alpha", "llama7b"): Scores("49.76", "51.21", "50.05", "2.39"),
    ("zephyr_7b_alpha", "static"): Scores("80.69", "79.77", "80.01", "1.92"),
    ("zephyr_7b_alpha", "human"): Scores("48.70", "50.26", "49.14"),
}
"""By assistant and way of evaluating."""

TABLE_2 = {"gpt35": ("0.9869", "0.9923"), "llama7b": ("0.9923", "0.9930"), "static": ("0.8813", "0.8813")}
"""ICC3 and R of each way of evaluating, against the human one, over all five assistants."""

CITED = (
    "Rows marked (paper) are cited from AutoDE's paper (arXiv 2403.11128); its table 2 is over five"
    " assistants. ± is the sample deviation of the trials' means. The intervals are a bootstrap's over"
    " dialogues, and say how far other dialogues of the kind would vary."
)

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


class Published(NamedTuple):
    """A cell of table 1: the file that it was made of, and its scores; `spread` stands behind the ±."""

    file: str
    precision: str
    recall: str
    f1: str
    spread: str = ""


_TABLE_1 = """
gpt35 gpt35 u_gpt35_a_gpt35_v2 78.14 73.84 75.43 0.56
gpt35 llama7b u_llama7b_a_gpt35_complementary 78.25 73.91 75.47 0.46
gpt35 static a_gpt35_static_v2 94.05 93.80 93.86 0.97
gpt35 human u_human_a_gpt35_complementary 79.62 75.07 76.77
claude_instant_1_2 gpt35 u_gpt35_a_claude_instant_1_2 91.20 88.49 89.33 1.72
claude_instant_1_2 llama7b u_llama7b_a_claude_instant_1_2_complementary 86.32 83.69 84.38 0.64
claude_instant_1_2 static a_claude_instant_1_2_static 93.28 89.53 90.78 0.96
claude_instant_1_2 human a_claude_instant_1_2_human 92.60 88.74 90.05
codellama13b_oasst gpt35 u_gpt35_a_codellama13b_oasst_5rounds 64.00 64.41 63.21 3.28
codellama13b_oasst llama7b u_llama7b_a_codellama13b_oasst_5rounds 56.70 59.30 57.10 2.25
codellama13b_oasst static a_codellama13b_oasst_static_force_5rounds 91.18 89.74 89.90 0.55
codellama13b_oasst human a_codellama13b_oasst_human_good_complementary 59.46 59.99 58.97
llama70b gpt35 u_gpt35_a_llama70b_5rounds 10.61 11.06 10.71 2.32
llama70b llama7b u_llama7b_a_llama70b_5rounds 11.48 12.92 11.86 1.41
llama70b static a_llama70b_static_force_5rounds 29.30 29.78 29.40 1.61
llama70b human a_llama70b_human 18.80 20.63 19.40
zephyr_7b_alpha gpt35 u_gpt35_a_zephyr_7b_alpha_5rounds 48.08 50.16 48.69 1.68
zephyr_7b_alpha llama7b u_llama7b_a_zephyr_7b_alpha_5rounds 49.76 51.21 50.05 2.39
zephyr_7b_alpha static a_zephyr_7b_alpha_substitute_static_5rounds 80.69 79.77 80.01 1.92
zephyr_7b_alpha human a_zephyr_7b_alpha_human_1round_complementary 48.70 50.26 49.14
"""

TABLE_1 = {
    (assistant, method): Published(*cell)
    for assistant, method, *cell in map(str.split, _TABLE_1.strip().splitlines())
}
"""By assistant and way of evaluating."""

TABLE_2 = {"gpt35": ("0.9869", "0.9923"), "llama7b": ("0.9923", "0.9930"), "static": ("0.8813", "0.8813")}
"""ICC3 and R of each way of evaluating, against the human one, over all five assistants."""

CITED = (
    "Rows marked (paper) are cited from AutoDE's paper (arXiv 2403.11128); its table 2 is over five"
    " assistants. ± is the sample deviation of the trials' means. The intervals are a bootstrap's over"
    " dialogues, and say how far other dialogues of the kind would vary."
)

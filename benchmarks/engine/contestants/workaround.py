"""What every contestant that runs llama-cpp-python's llama.cpp needs on some machines."""

import llama_cpp
import llama_cpp.llama_cpp as low_level


def leave_out_cpu_weight_layouts() -> bool:
    """Have `llama_cpp.Llama` leave special CPU weight layouts out where rig's engine does; whether it must.

    `LlamaModel` says why: with AMX, llama.cpp as GCC before 14 compiles it crashes otherwise. So that they
    compute with the same weights, every contestant is treated alike.
    """
    if b"AMX_INT8 = 1" not in llama_cpp.llama_print_system_info():
        return False
    original = low_level.llama_model_default_params

    def parameters() -> llama_cpp.llama_model_params:
        made = original()
        made.use_extra_bufts = False
        return made

    low_level.llama_model_default_params = parameters
    return True

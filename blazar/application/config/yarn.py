"""Keys of YaRN, which stretches a model's window beyond what it was trained for."""

from typing import Annotated, ClassVar

from pydantic import Field

from blazar.application.config.knob import Keys


class YarnKeys(Keys):
    """Factors of models that are scaled by YaRN; at their defaults the model file decides."""

    title: ClassVar[str] = "YaRN"
    group: ClassVar[str] = "yarn"

    # Times the largest ctx_extend it must stay a number of 32 bits.
    yarn_orig_ctx: Annotated[int, Field(ge=0, le=2**24)] = 0
    """The window before it is stretched."""
    yarn_ext_factor: Annotated[float, Field(ge=-1)] = -1.0
    """Mix of extrapolation and interpolation; 0: interpolation alone."""
    yarn_attn_factor: Annotated[float, Field(ge=0)] = 0.0
    """Scale of the attention."""
    yarn_beta_fast: Annotated[float, Field(ge=0)] = 0.0
    """Low correction dimension."""
    yarn_beta_slow: Annotated[float, Field(ge=0)] = 0.0
    """High correction dimension."""

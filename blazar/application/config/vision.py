"""Keys of pictures: the projector that reads them, their tokens, where they may be fetched from."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from blazar.application.config.knob import Keys, Knob, Whole, shaped


def policy_word(value: Any) -> Any:
    """ODD: true and false are words, the spelling of older files; what is neither stays as it is."""
    return {True: "attach", False: "skip"}[value] if isinstance(value, bool) else value


PolicyWord = Literal["lazy", "attach", "skip"]
Policy = Annotated[PolicyWord, BeforeValidator(policy_word, json_schema_input_type=PolicyWord | bool)]


class VisionKeys(Keys):
    """Models that see. 0 and "" leave a setting to the model or its engine."""

    title: ClassVar[str] = "Vision"
    group: ClassVar[str] = "vision"

    mmproj_policy: Policy | None = None
    """When a model gets its projector: lazy, with its first picture (so does unset); attach, always; skip, never."""
    mmproj_auto: bool = True
    """Look for the projector beside the model's file."""
    mmproj_offload: bool = True
    """Compute the projector on the GPU."""
    mmproj_device: Annotated[str, shaped(r"[^,\s]+", "device")] = ""
    """Device of the projector, by the name that the engine gives it."""
    image_max_tokens: Whole = 0
    """Most tokens that a picture may take, for models that let it vary."""
    image_min_tokens: Whole = 0
    """Fewest tokens that a picture takes, for models that let it vary."""
    image_fetch: Annotated[Literal["public", "off"], Knob(daemon=True)] = "public"
    """Whether pictures that a request names by their address are fetched (from public addresses, by the gateway) or refused."""
    mtmd_batch_max_tokens: Whole = 0
    """Most tokens of pictures that are encoded in one batch."""

"""What all wire models have in common."""

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """A JSON object. Fields we do not know survive: clients and engines are newer than we are."""

    model_config = ConfigDict(
        extra="allow",
        use_attribute_docstrings=True,
        populate_by_name=True,
        defer_build=True,  # most are read by nobody but OpenAPI: memory, and time before the first answer
    )

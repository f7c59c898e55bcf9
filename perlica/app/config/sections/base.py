"""What all sections of the configuration have in common."""

from pydantic import BaseModel, ConfigDict

MIB = 1024 * 1024


class Section(BaseModel):
    """Base of all sections: closed, immutable, and silent about values in its errors."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True
    )

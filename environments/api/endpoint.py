"""What all endpoints share: a query parameter that an endpoint does not know is refused, never passed over."""

from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request

from environments.api.filters import OneOfFilter
from environments.core.errors import FieldError, InvalidInputError


def invalid_parameter(name: str, code: str, detail: str) -> InvalidInputError:
    """The error for one query parameter; its pointer is the name behind a question mark."""
    return InvalidInputError(f"{name}: {detail}", fields=(FieldError(f"?{name}", code, detail),))


class Endpoint:
    """Mixin of every view: refuses query parameters that the action does not read.

    A mistyped filter that is silently passed over answers with every row, which a script takes for the answer.
    """

    # Without OPTIONS: the OpenAPI description says more, and other origins are not served.
    http_method_names: Sequence[str] = ["get", "head", "post", "put", "patch", "delete"]

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Checks the names once it is clear that the caller may ask at all."""
        super().initial(request, *args, **kwargs)  # type: ignore[misc]  # a mixin of APIView
        known = self._known_parameters()
        for name, values in request.query_params.lists():
            if len(values) > 1 and not known.get(name, True):
                raise invalid_parameter(name, "repeated", "Give it once.")
            if name not in known:
                words = f"Known parameters: {', '.join(sorted(known))}." if known else "There are none here."
                raise invalid_parameter(name, "unknown", f"This parameter is not known. {words}")
            if not all(value.strip() for value in values):  # forms would take blanks for no value at all
                raise invalid_parameter(name, "empty", "Give it a value, or leave it out.")

    def _known_parameters(self) -> dict[str, bool]:
        """The parameters of this action, and whether each may be repeated."""
        paginator = getattr(self, "paginator", None)
        if getattr(self, "action", None) != "list" or paginator is None:
            return {}
        filterset = getattr(self, "filterset_class", None)
        found = filterset.base_filters.items() if filterset else ()
        paging = {parameter["name"]: False for parameter in paginator.get_schema_operation_parameters(self)}
        return paging | {name: isinstance(each, OneOfFilter) for name, each in found}

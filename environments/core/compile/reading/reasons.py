"""Why an operation can't be read by itself: stable codes, one sentence each."""

from collections.abc import Mapping
from typing import Final

READING_REASONS: Final[Mapping[str, str]] = {
    "access_policy": "It reads or sets who may do what (IAM), which no row of the API holds.",
    "api_discovery": "It describes the API or its server, not a resource.",
    "api_operations_list": "It lists the operations that a provider offers, which is about the API itself.",
    "binary_or_text_body": "Its request carries a file or plain text instead of named values.",
    "bulk_operation": "Its name says that it works on many things at once.",
    "complex_path_segment": "A segment of its path holds more than one name or one parameter.",
    "deprecated": "Its document advises against it.",
    "duplicate_of_post_form": "It is the GET twin of an operation that is also there as POST.",
    "function_call": "Its path is a function with arguments.",
    "json_patch_body": "Its request is a list of patch steps, not values.",
    "method_unknown": "Its HTTP method is none of GET, POST, PUT, PATCH and DELETE.",
    "no_resource_in_path": "Its path names no resource.",
    "non_json_response": "It answers a file, a page or plain text.",
    "path_and_name_differ": "Its path and its name say different things about its resource.",
    "path_fragment": "Its path differs from another one only behind a #.",
    "path_parameter_missing": "Its path has a parameter that the document does not describe.",
    "relationship_object": "It reads or writes the links between resources as objects of their own.",
    "required_header_unknown": "It needs a header that is not about who calls and how.",
    "rpc_verb_unknown": "Its name begins with no verb that a rule knows.",
    "stream": "It answers an endless stream of events.",
    "sub_resource": "It reads or writes a part of a resource that has no row of its own.",
    "type_cast": "It lists those rows of another collection that are of one type.",
    "unstructured_body": "Its request is a bare value or a map, not named values.",
    "verb_in_path": "Its path holds a verb whose meaning no rule knows.",
}

"""Between sources, their documents and operations, and JSON; no logic."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from environments.api.filters import NOT_BLANK
from environments.api.registry_serializers import MAX_NOTE, REASONS, LicenceSerializer
from environments.api.serializers import InputSerializer, StringField
from environments.models import LeakHit, Operation, Source, SourceDocument
from environments.services import OBSTACLES, document_use
from environments.services.leak_guard import open_hits

MAX_ADDRESS: Final = 2_000
MAX_SERVER: Final = 100


class DocumentSummarySerializer(serializers.ModelSerializer[SourceDocument]):
    """A document in a list."""

    source = serializers.UUIDField(source="source.code", read_only=True)  # type: ignore[assignment]  # also an attribute of fields

    class Meta:
        model = SourceDocument
        fields = [
            "code", "source", "title", "version", "status", "terms", "dialect", "sha256", "num_bytes", "num_operations",
            "num_kept", "retrieved_at",
        ]  # fmt: skip
        read_only_fields = fields


class SourceSerializer(serializers.ModelSerializer[Source]):
    """An address or upload, with its newest document."""

    created_by = serializers.CharField(source="created_by.username", read_only=True, allow_null=True)
    latest_document = DocumentSummarySerializer(read_only=True, allow_null=True)

    class Meta:
        model = Source
        fields = ["code", "address", "kind", "collection", "provider", "latest_document", "created_by", "created_at"]
        read_only_fields = fields


class SourceWithDocumentsSerializer(SourceSerializer):
    """A source with its readings."""

    documents = DocumentSummarySerializer(
        source="newest_documents", many=True, read_only=True,
        help_text="The newest 20, newest first; the list of documents has all.",
    )  # fmt: skip

    class Meta(SourceSerializer.Meta):
        fields = [*SourceSerializer.Meta.fields, "documents"]
        read_only_fields = fields


class ProblemOfDocumentSerializer(serializers.Serializer[Any]):
    """Something that could not be read."""

    code = serializers.CharField()
    place = serializers.CharField(help_text="A JSON pointer or a line; empty for the whole document.")
    message = serializers.CharField()


class CoverageSerializer(serializers.Serializer[Any]):
    """How many of the kept operations say what goes in and what comes out."""

    total = serializers.IntegerField(min_value=0)
    inputs_before = serializers.IntegerField(min_value=0, help_text="In the source's words.")
    inputs_after = serializers.IntegerField(min_value=0, help_text="In the completed description.")
    outputs_before = serializers.IntegerField(min_value=0)
    outputs_after = serializers.IntegerField(min_value=0)


class FunnelSerializer(serializers.Serializer[Any]):
    """What came in and what was kept."""

    read = serializers.IntegerField(min_value=0)
    kept = serializers.IntegerField(min_value=0)
    reasons = serializers.DictField(
        child=serializers.IntegerField(min_value=1), help_text="How many each reason left out; some have several."
    )
    effects = serializers.DictField(child=serializers.IntegerField(min_value=1), help_text="Of those that were kept.")
    coverage = CoverageSerializer()


class LeakHitSerializer(serializers.ModelSerializer[LeakHit]):
    """A public benchmark that the document resembles."""

    evidence = serializers.JSONField(read_only=True, help_text="The pairs that count, and the embedder.")

    class Meta:
        model = LeakHit
        fields = ["code", "benchmark", "rule", "score", "threshold", "guard_version", "evidence", "created_at"]
        read_only_fields = fields


class DocumentSerializer(DocumentSummarySerializer):
    """A document: what it says of itself, what could not be read, what cleaning and the leak guard found."""

    address = serializers.CharField(read_only=True, help_text="Where it was read, after redirects.")
    licence = LicenceSerializer(read_only=True)
    problems = ProblemOfDocumentSerializer(many=True, read_only=True)
    funnel = serializers.SerializerMethodField()
    leak_hits = serializers.SerializerMethodField()
    obstacles = serializers.SerializerMethodField()
    may_build = serializers.SerializerMethodField()
    may_ship = serializers.SerializerMethodField()

    class Meta(DocumentSummarySerializer.Meta):
        fields = [
            *DocumentSummarySerializer.Meta.fields, "address", "media_type", "description", "licence", "problems",
            "reader_version", "cleaner_version", "guard_version", "funnel", "leak_hits", "obstacles", "may_build",
            "may_ship",
        ]  # fmt: skip
        read_only_fields = fields

    @extend_schema_field(FunnelSerializer(allow_null=True))
    def get_funnel(self, document: SourceDocument) -> dict[str, Any] | None:
        """The funnel; null for what was not read."""
        return document.funnel or None

    @extend_schema_field(LeakHitSerializer(many=True))
    def get_leak_hits(self, document: SourceDocument) -> Any:
        """Hits that nobody has overruled."""
        return LeakHitSerializer(open_hits(document), many=True).data

    @extend_schema_field(serializers.ListField(child=serializers.ChoiceField(choices=list(OBSTACLES))))
    def get_obstacles(self, document: SourceDocument) -> list[str]:
        """What stands against it."""
        return list(document_use(document).obstacles)

    @extend_schema_field(serializers.BooleanField(help_text="Whether environments may be made from it."))
    def get_may_build(self, document: SourceDocument) -> bool:
        """Whether environments may be made from it."""
        return document_use(document).may_build

    @extend_schema_field(serializers.BooleanField(help_text="Whether what is made from it may be exported."))
    def get_may_ship(self, document: SourceDocument) -> bool:
        """Whether what is made from it may be exported."""
        return document_use(document).may_ship


class OperationSummarySerializer(serializers.ModelSerializer[Operation]):
    """An operation in a list: without its schemas."""

    document = serializers.UUIDField(source="document.code", read_only=True)
    document_title = serializers.CharField(source="document.title", read_only=True)
    reasons = serializers.ListField(
        child=serializers.CharField(), read_only=True, help_text="Why it was left out; empty if it was kept."
    )
    duplicate_of = serializers.UUIDField(source="duplicate_of.code", read_only=True, allow_null=True)

    class Meta:
        model = Operation
        fields = [
            "code", "key", "name", "title", "method", "path", "effect", "effect_rule", "is_kept", "reasons",
            "duplicate_of", "document", "document_title",
        ]  # fmt: skip
        read_only_fields = fields


class OperationSerializer(OperationSummarySerializer):
    """An operation, whole."""

    content = serializers.JSONField(
        read_only=True, help_text="As it was read: parameters, body, responses; `$ref`s point into the document."
    )

    class Meta(OperationSummarySerializer.Meta):
        fields = [*OperationSummarySerializer.Meta.fields, "description", "completed_description", "content"]
        read_only_fields = fields


class NewSourceSerializer(InputSerializer):
    """What a caller sends to have a source read: an address, or a server's name."""

    address = StringField(max_length=MAX_ADDRESS, required=False, help_text="An http(s) address.")
    server = StringField(max_length=MAX_SERVER, required=False, help_text="A name of MCP_STDIO_SERVERS.")
    kind = serializers.ChoiceField(
        choices=Source.Kind.choices, required=False, help_text="Its form; by default that is recognised."
    )


@extend_schema_field({"type": "string", "maxLength": MAX_NOTE, "pattern": NOT_BLANK})
class NoteField(StringField):
    """A sentence, which the service refuses if it is blank."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_NOTE, **kwargs)


class AllowSerializer(InputSerializer):
    """Why a document is let through."""

    note = NoteField()


class RefuseSerializer(AllowSerializer):
    """Why a document is kept out."""

    reason_codes = serializers.ListField(
        child=serializers.ChoiceField(choices=REASONS), min_length=1, max_length=len(REASONS)
    )

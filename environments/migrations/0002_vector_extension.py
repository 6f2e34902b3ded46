"""pgvector, on which text embeddings and the self-check stand."""

from django.db import migrations
from pgvector.django import VectorExtension


class Migration(migrations.Migration):
    dependencies = [("environments", "0001_accounts_jobs_review")]

    operations = [VectorExtension()]

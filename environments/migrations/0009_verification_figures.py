import environments.models.fields
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("environments", "0008_text_embeddings")]
    run_before = [("environments", "0010_compilation")]

    operations = [
        migrations.AddField(
            model_name="verificationrun",
            name=name,
            field=environments.models.fields.ExactJSONField(default=kind),
        )
        for name, kind in (
            ("figures", dict), ("rates", dict), ("warnings", list), ("tool_tables", dict), ("dropped", list),
        )
    ]  # fmt: skip

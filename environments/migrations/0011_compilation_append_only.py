"""The ledger of compilations only grows: what was made of an operation is never rewritten."""

from django.db import migrations

APPEND_ONLY = ("compiledenvironment", "compiledoperation")


def trigger(name):
    table = f"environments_{name}"
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION environments_refuse_change()",
        f"DROP TRIGGER {table}_append_only ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [("environments", "0010_compilation")]

    operations = [trigger(name) for name in APPEND_ONLY]

"""Decisions, audit rows and job events can be added, never changed or removed."""

from django.db import migrations

TABLES = ("environments_decision", "environments_auditevent", "environments_jobevent")

FUNCTION = """
CREATE FUNCTION environments_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("environments", "0002_vector_extension")]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION environments_refuse_change()"),
        *(
            migrations.RunSQL(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION environments_refuse_change()",
                f"DROP TRIGGER {table}_append_only ON {table}",
            )
            for table in TABLES
        ),
    ]

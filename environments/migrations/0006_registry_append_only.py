"""What a version holds is written once; its history, its verification runs and its sessions' calls only grow."""

from django.db import migrations

APPEND_ONLY = ("table", "tool", "scenario", "case", "provenance", "verificationrun", "caseresult", "statuschange")

# Columns are compared as a row: a column added later is protected too.
FUNCTION = """
CREATE FUNCTION environments_keep_version_content() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        RAISE EXCEPTION 'a version is never deleted: discard or retire it'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    IF to_jsonb(NEW) - 'status' IS DISTINCT FROM to_jsonb(OLD) - 'status' THEN
        RAISE EXCEPTION 'the content of a version never changes: import the new content as a version of its own'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$
"""

CALL_FUNCTION = """
CREATE FUNCTION environments_keep_tool_call() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a recorded call never changes' USING ERRCODE = 'integrity_constraint_violation';
END $$
"""


def trigger(table, when, function):
    return migrations.RunSQL(
        f"CREATE TRIGGER {table}_append_only BEFORE {when} ON {table} FOR EACH ROW EXECUTE FUNCTION {function}()",
        f"DROP TRIGGER {table}_append_only ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [("environments", "0005_sessions")]

    operations = [
        *(trigger(f"environments_{name}", "UPDATE OR DELETE", "environments_refuse_change") for name in APPEND_ONLY),
        migrations.RunSQL(FUNCTION, "DROP FUNCTION environments_keep_version_content()"),
        trigger("environments_environmentversion", "UPDATE OR DELETE", "environments_keep_version_content"),
        migrations.RunSQL(CALL_FUNCTION, "DROP FUNCTION environments_keep_tool_call()"),
        trigger("environments_toolcall", "UPDATE", "environments_keep_tool_call"),
    ]

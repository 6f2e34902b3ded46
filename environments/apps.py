"""Registration of the environments app: its job kinds and readiness checks."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EnvironmentsConfig(AppConfig):
    """The environments app."""

    name = "environments"
    verbose_name = _("Environments")

    def ready(self) -> None:
        """Registers what other parts find by name."""
        from environments import services
        from environments.core.demo import DemoJob, register_demo_job
        from environments.core.jobs import register_job_kind
        from environments.services import (
            compilation_jobs,
            health,
            sandbox,
            seed_load,
            self_check,
            source_jobs,
            verification,
        )

        for kind in (
            self_check.SELF_CHECK, *self_check.QUEUE_PROBES, seed_load.SEED_LOAD, seed_load.SEED_ROW,
            verification.VERIFY_ENVIRONMENT, verification.INSTALL_PACKS, *source_jobs.KINDS,
            *compilation_jobs.KINDS,
        ):  # fmt: skip
            register_job_kind(kind)
        services.register_check("database", health.check_database)
        services.register_check("migrations", health.check_migrations)
        services.register_check("broker", health.check_broker)
        services.register_check("sandbox", sandbox.check_sandbox)
        register_demo_job(DemoJob(10, "self_check", {}))
        register_demo_job(DemoJob(20, "seed_load", {"mode": "jobs", "count": 100, "milliseconds": 10}))
        register_demo_job(DemoJob(25, "import_shipped_documents", {}))
        register_demo_job(DemoJob(30, "install_packs", {}))
        register_demo_job(DemoJob(35, "compile_environments", {"shipped": True}))
        _register_pages()


def _register_pages() -> None:
    from environments.core.access import Permission
    from environments.views import panels
    from environments.web import HomePanel, NavigationItem, register_home_panel, register_navigation

    register_navigation(NavigationItem(_("Home"), "house", "home", 0))
    register_navigation(NavigationItem(_("Sources"), "file-earmark-text", "source_list", 10))
    register_navigation(
        NavigationItem(_("Environments"), "box-seam", "environment_list", 20, also=("compilation_list",))
    )
    register_navigation(NavigationItem(_("Jobs"), "list-task", "job_list", 90))
    register_navigation(NavigationItem(_("Audit"), "shield-check", "audit", 110, Permission.ADMINISTER))
    register_navigation(NavigationItem(_("Settings"), "gear", "settings", 120))
    register_home_panel(HomePanel("environments/_panel_next.html", panels.next_steps, 10))
    register_home_panel(HomePanel("environments/_panel_jobs.html", panels.jobs, 20))
    register_home_panel(HomePanel("environments/_panel_environments.html", panels.environment_health, 25))
    register_home_panel(HomePanel("environments/_panel_sources.html", panels.source_figures, 27))
    register_home_panel(HomePanel("environments/_panel_services.html", panels.service_health, 30))

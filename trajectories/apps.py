"""Registration of the trajectories app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TrajectoriesConfig(AppConfig):
    """The trajectories app."""

    name = "trajectories"
    verbose_name = _("Tasks and conversations")

"""Registration of the graphs app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class GraphsConfig(AppConfig):
    """The graphs app."""

    name = "graphs"
    verbose_name = _("Tool graph")

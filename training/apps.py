"""Registration of the training app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class TrainingConfig(AppConfig):
    """The training app."""

    name = "training"
    verbose_name = _("Training")

"""The Celery application; its settings are Django's, with the prefix CELERY_."""

import os
import warnings

from celery import Celery
from celery.exceptions import SecurityWarning

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "envfactory_site.settings.local")

# Said to every worker that root starts, as in a container; what it warns of is unpickling, and only JSON is accepted.
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("envfactory")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

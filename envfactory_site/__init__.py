"""Wiring of the apps into one site: settings, addresses, API, Celery; no models."""

from envfactory_site.celery import app as celery_app

__version__ = "0.1.0"
__all__ = ["celery_app"]

"""The ASGI application, served by uvicorn."""

import os
import warnings

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "envfactory_site.settings.local")

# WhiteNoise sends files from a synchronous iterator, a thread hop for each; browsers keep them, so it is rarely asked.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")

application = get_asgi_application()

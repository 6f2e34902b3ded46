"""People, companies and places, drawn once for each process from one seed, and closed lists of technical values."""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from faker import Faker

NUM_PEOPLE: Final = 240
NUM_COMPANIES: Final = 80
_SEED: Final = 2026


@dataclass(frozen=True, slots=True)
class Person:
    """A human being; first and last names differ from all others' in the pool together."""

    first: str
    last: str

    @property
    def name(self) -> str:
        """First and last name."""
        return f"{self.first} {self.last}"

    @property
    def username(self) -> str:
        """`a.reid` for Anna Reid."""
        return f"{plain(self.first)[:1]}.{plain(self.last)}"

    @property
    def mailbox(self) -> str:
        """`anna.reid`: what stands before the @."""
        return f"{plain(self.first)}.{plain(self.last)}"


@dataclass(frozen=True, slots=True)
class Company:
    """A business and its domain."""

    name: str
    domain: str


@dataclass(frozen=True, slots=True)
class Place:
    """A town with everything that must agree in an address."""

    city: str
    region: str
    region_code: str
    country: str
    code: str
    code3: str
    postcode: str
    timezone: str
    currency: str
    language: str
    locale: str
    latitude: float
    longitude: float
    dial: str
    streets: tuple[str, ...]


@lru_cache(1024)
def plain(text: str) -> str:
    """Lower-case letters of ASCII and digits."""
    folded = unicodedata.normalize("NFKD", text).lower()
    return "".join(character for character in folded if character.isascii() and character.isalnum())


def _namer(locale: str) -> Faker:
    """A seeded generator of names of persons; without its other providers it is made ten times as fast."""
    maker = Faker(locale, providers=["faker.providers.person"])
    maker.seed_instance(_SEED)
    return maker


@lru_cache(1)
def people() -> tuple[Person, ...]:
    """People with names of several languages."""
    makers = [_namer(locale) for locale in ("en_GB", "en_US", "en_IE", "nl_NL", "it_IT")]
    found: dict[tuple[str, str], Person] = {}
    turn = 0
    while len(found) < NUM_PEOPLE:
        maker = makers[turn % len(makers)]
        turn += 1
        first, last = maker.first_name(), maker.last_name()
        if " " not in first and " " not in last and "'" not in last:
            found.setdefault((plain(first)[:1], plain(last)), Person(first, last))
    return tuple(found.values())


_FIRST_WORDS: Final = (
    "Harbour", "Northgate", "Bluebird", "Kestrel", "Tilbury", "Sunrise", "Oakline", "Verano", "Pinnacle",
    "Copper Kettle",
    "Atlas", "Riverside", "Juniper", "Maple Street", "Lakeview", "Castle Yard",
)  # fmt: skip
_TRADES: Final = (
    "Foods", "Logistics", "Consulting", "Labs", "Print", "Bakery", "Joinery", "Travel", "Roofing", "Design", "Freight",
    "Dental", "Floristry", "Energy", "Textiles", "Media",
)  # fmt: skip


@lru_cache(1)
def companies() -> tuple[Company, ...]:
    """Businesses named by people and by what they do."""
    maker = _namer("en_GB")
    names: dict[str, None] = {}
    turn = 0
    while len(names) < NUM_COMPANIES:
        step, rest = turn % 2, turn // 2
        trade = _TRADES[(rest * 5 + rest // 16) % 16]
        names[f"{_FIRST_WORDS[rest % 16]} {trade}" if step else f"{maker.last_name()} {trade}"] = None
        turn += 1
    return tuple(Company(name, f"{'-'.join(plain(word) for word in name.split())}.example") for name in names)


_PLACE_TEXTS: Final = (
    "city", "region", "region_code", "country", "code", "code3", "postcode", "timezone", "currency", "language",
    "locale",
)  # fmt: skip


def _place(line: str) -> Place:
    fields = [field.strip() for field in line.split("|")]
    texts = dict(zip(_PLACE_TEXTS, fields, strict=False))
    latitude, longitude, dial, streets = fields[len(_PLACE_TEXTS) :]
    return Place(
        **texts, latitude=float(latitude), longitude=float(longitude), dial=dial, streets=tuple(streets.split(";"))
    )


PLACES: Final = tuple(
    _place(line)
    for line in (
        "Lyon|Auvergne-Rhône-Alpes|ARA|France|FR|FRA|69002|Europe/Paris|EUR|fr|fr-FR|45.7578|4.832|+33|"
        "Rue Mercière;Quai Saint-Antoine;Rue de la République",
        "Leeds|England|ENG|United Kingdom|GB|GBR|LS1 4DY|Europe/London|GBP|en|en-GB|53.7997|-1.5492|+44|"
        "Park Row;Wellington Street;Briggate",
        "Bergen|Vestland|46|Norway|NO|NOR|5003|Europe/Oslo|NOK|nb|nb-NO|60.3913|5.3221|+47|"
        "Strandgaten;Nygårdsgaten;Øvregaten",
        "Porto|Porto|13|Portugal|PT|PRT|4000-322|Europe/Lisbon|EUR|pt|pt-PT|41.1496|-8.611|+351|"
        "Rua das Flores;Rua de Santa Catarina;Avenida dos Aliados",
        "Austin|Texas|TX|United States|US|USA|78701|America/Chicago|USD|en|en-US|30.2672|-97.7431|+1|"
        "Congress Avenue;Brazos Street;Guadalupe Street",
        "Ghent|East Flanders|VOV|Belgium|BE|BEL|9000|Europe/Brussels|EUR|nl|nl-BE|51.0543|3.7174|+32|"
        "Veldstraat;Korenmarkt;Kouter",
        "Turin|Piedmont|21|Italy|IT|ITA|10121|Europe/Rome|EUR|it|it-IT|45.0703|7.6869|+39|"
        "Via Roma;Via Garibaldi;Corso Francia",
        "Malmö|Skåne|M|Sweden|SE|SWE|211 22|Europe/Stockholm|SEK|sv|sv-SE|55.605|13.0038|+46|"
        "Södergatan;Stora Nygatan;Bergsgatan",
        "Graz|Styria|6|Austria|AT|AUT|8010|Europe/Vienna|EUR|de|de-AT|47.0707|15.4395|+43|"
        "Herrengasse;Sporgasse;Schmiedgasse",
        "Galway|Connacht|G|Ireland|IE|IRL|H91 E2K3|Europe/Dublin|EUR|en|en-IE|53.2707|-9.0568|+353|"
        "Shop Street;Quay Street;Eyre Square",
        "Dresden|Saxony|SN|Germany|DE|DEU|01067|Europe/Berlin|EUR|de|de-DE|51.0504|13.7373|+49|"
        "Wilsdruffer Straße;Prager Straße;Königstraße",
        "Bilbao|Basque Country|PV|Spain|ES|ESP|48005|Europe/Madrid|EUR|es|es-ES|43.263|-2.935|+34|"
        "Gran Vía;Calle Ledesma;Calle Correo",
        "Portland|Oregon|OR|United States|US|USA|97205|America/Los_Angeles|USD|en|en-US|45.5152|-122.6784|+1|"
        "Burnside Street;Alder Street;Morrison Street",
        "Halifax|Nova Scotia|NS|Canada|CA|CAN|B3J 1S9|America/Halifax|CAD|en|en-CA|44.6488|-63.5752|+1|"
        "Barrington Street;Hollis Street;Granville Street",
        "Utrecht|Utrecht|UT|Netherlands|NL|NLD|3511 AB|Europe/Amsterdam|EUR|nl|nl-NL|52.0907|5.1214|+31|"
        "Oudegracht;Twijnstraat;Voorstraat",
        "Basel|Basel-Stadt|BS|Switzerland|CH|CHE|4051|Europe/Zurich|CHF|de|de-CH|47.5596|7.5886|+41|"
        "Freie Strasse;Steinenberg;Spalenberg",
        "Kobe|Hyogo|28|Japan|JP|JPN|650-0001|Asia/Tokyo|JPY|ja|ja-JP|34.6901|135.1956|+81|"
        "Flower Road;Tor Road;Sannomiya-dori",
        "Boston|Massachusetts|MA|United States|US|USA|02108|America/New_York|USD|en|en-US|42.3601|-71.0589|+1|"
        "Beacon Street;Tremont Street;Washington Street",
        "Hobart|Tasmania|TAS|Australia|AU|AUS|7000|Australia/Hobart|AUD|en|en-AU|-42.8821|147.3272|+61|"
        "Elizabeth Street;Murray Street;Davey Street",
        "Aarhus|Central Denmark|82|Denmark|DK|DNK|8000|Europe/Copenhagen|DKK|da|da-DK|56.1629|10.2039|+45|"
        "Store Torv;Guldsmedgade;Mejlgade",
        "Tampere|Pirkanmaa|11|Finland|FI|FIN|33100|Europe/Helsinki|EUR|fi|fi-FI|61.4978|23.761|+358|"
        "Hämeenkatu;Satakunnankatu;Aleksis Kiven katu",
        "Cork|Munster|M|Ireland|IE|IRL|T12 W8KN|Europe/Dublin|EUR|en|en-IE|51.8985|-8.4756|+353|"
        "Patrick Street;Oliver Plunkett Street;South Mall",
    )
)

AZURE_REGIONS: Final = ("westeurope", "northeurope", "eastus", "eastus2", "uksouth", "francecentral")
AWS_REGIONS: Final = ("us-east-1", "eu-west-1", "eu-central-1", "us-west-2", "ap-southeast-2")
GOOGLE_REGIONS: Final = ("europe-west1", "us-central1", "europe-north1", "us-east4", "asia-northeast1")
OTHER_REGIONS: Final = ("eu-west", "us-east", "eu-north", "us-west", "ap-south")
AWS_ACCOUNTS: Final = ("123456789012", "210987654321", "345678901234")
GOOGLE_PROJECTS: Final = ("harbour-prod", "harbour-staging", "kestrel-data")
RESOURCE_GROUPS: Final = ("rg-orders-prod", "rg-orders-test", "rg-shared-services")

MIME_TYPES: Final = ("application/pdf", "image/png", "text/csv", "application/json", "image/jpeg", "text/plain")
EXTENSIONS: Final = ("pdf", "png", "csv", "json", "jpg", "txt")
COLOUR_NAMES: Final = ("blue", "green", "red", "orange", "purple", "teal", "grey", "yellow")
COLOURS: Final = ("#1f6feb", "#2da44e", "#cf222e", "#bf8700", "#8250df", "#0e8a16", "#6e7781", "#d93f0b")
CRONS: Final = ("0 6 * * *", "*/15 * * * *", "0 2 * * 0", "30 18 * * 1-5", "0 0 1 * *", "0 12 * * *")
TIMEZONES: Final = ("Europe/Paris", "Europe/London", "America/New_York", "Asia/Tokyo", "Europe/Oslo", "UTC")
USER_AGENTS: Final = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) Firefox/124.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_3) Safari/605.1.15",
    "Mozilla/5.0 (X11; Linux x86_64) Chrome/122.0.0.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_3 like Mac OS X) Mobile/15E148",
)
DURATIONS: Final = ("PT15M", "PT1H", "P1D", "P7D", "PT30M", "P1M")
CLOCK_TIMES: Final = ("08:00:00", "09:30:00", "12:00:00", "14:15:00", "17:45:00", "22:00:00")

"""Names of columns and what they mean: whole words, the last ones first."""

import pytest

from environments.core.compile.rows.senses import Sense, sense_of, tokens_of

TEXTS = {
    "first_name": Sense.FIRST_NAME, "firstName": Sense.FIRST_NAME, "givenname": Sense.FIRST_NAME,
    "last_name": Sense.LAST_NAME, "surname": Sense.LAST_NAME, "billing_last_name": Sense.LAST_NAME,
    "full_name": Sense.PERSON, "author": Sense.PERSON, "created_by": Sense.PERSON, "cardholder_name": Sense.PERSON,
    "customerName": Sense.PERSON, "assignee": Sense.PERSON, "username": Sense.USERNAME, "login": Sense.USERNAME,
    "email": Sense.EMAIL, "e_mail": Sense.EMAIL, "contactEmail": Sense.EMAIL, "emailAddress": Sense.EMAIL,
    "email_primary": Sense.EMAIL, "phone": Sense.PHONE, "phone_number": Sense.PHONE, "mobilePhone": Sense.PHONE,
    "fax": Sense.PHONE, "company": Sense.COMPANY, "organization_name": Sense.COMPANY, "vat_number": Sense.TAX_NUMBER,
    "street": Sense.STREET, "address1": Sense.STREET, "address_line_1": Sense.STREET, "addressLine2": Sense.UNIT_LINE,
    "address": Sense.ADDRESS, "shipping_address": Sense.ADDRESS, "city": Sense.CITY, "billing_city": Sense.CITY,
    "town": Sense.CITY, "province": Sense.STATE_NAME, "zip": Sense.POSTCODE, "postalCode": Sense.POSTCODE,
    "country": Sense.COUNTRY, "country_code": Sense.COUNTRY_CODE, "timezone": Sense.TIMEZONE,
    "time_zone": Sense.TIMEZONE,
    "locale": Sense.LOCALE, "language": Sense.LANGUAGE, "currency": Sense.CURRENCY, "currency_code": Sense.CURRENCY,
    "name": Sense.NAME, "displayName": Sense.NAME, "name_en": Sense.NAME, "product_name": Sense.NAME,
    "title": Sense.TITLE, "headline": Sense.TITLE, "subject": Sense.SUBJECT, "slug": Sense.SLUG,
    "description": Sense.DESCRIPTION, "short_description": Sense.DESCRIPTION, "bio": Sense.DESCRIPTION,
    "note": Sense.NOTE, "internal_notes": Sense.NOTE, "comment": Sense.NOTE, "message": Sense.MESSAGE,
    "body": Sense.MESSAGE, "cancellation_reason": Sense.REASON, "tag": Sense.TAG, "keywords": Sense.TAG,
    "url": Sense.URL, "callbackUrl": Sense.URL, "href": Sense.URL, "homepage": Sense.URL, "avatar_url": Sense.IMAGE_URL,
    "thumbnail": Sense.IMAGE_URL, "file_path": Sense.PATH, "hostname": Sense.HOST, "domain": Sense.HOST,
    "ip_address": Sense.IP, "ipAddress": Sense.IP, "cidr_block": Sense.CIDR, "mac_address": Sense.MAC,
    "version": Sense.VERSION, "engineVersion": Sense.VERSION, "color": Sense.COLOUR, "background_color": Sense.COLOUR,
    "mime_type": Sense.MIME, "contentType": Sense.MIME, "filename": Sense.FILE_NAME, "cron_expression": Sense.CRON,
    "sha256": Sense.HASH, "etag": Sense.HASH, "commit_sha": Sense.COMMIT, "api_key": Sense.TOKEN,
    "client_secret": Sense.TOKEN, "password": Sense.PASSWORD, "uuid": Sense.UUID, "external_id": Sense.ID,
    "project_id": Sense.ID, "roleArn": Sense.ARN, "region": Sense.REGION, "resource_group": Sense.RESOURCE_GROUP,
    "iban": Sense.IBAN, "last4": Sense.CARD_DIGITS, "sku": Sense.SKU, "serial_number": Sense.SKU, "isbn": Sense.ISBN,
    "license_plate": Sense.PLATE, "invoice_number": Sense.CODE, "user_agent": Sense.USER_AGENT,
    "price": Sense.MONEY, "quantity": Sense.QUANTITY, "port": Sense.PORT, "created_at": Sense.CREATED,
    "job_title": Sense.JOB_TITLE, "ipv6_address": Sense.IPV6,
}  # fmt: skip
NUMBERS = {
    "price": Sense.MONEY, "unitPrice": Sense.MONEY, "amount_due": Sense.MONEY, "price_usd": Sense.MONEY,
    "total": Sense.MONEY, "amount_in_default_currency": Sense.MONEY, "quantity": Sense.QUANTITY,
    "stock": Sense.QUANTITY,
    "num_items": Sense.COUNT, "number_of_seats": Sense.COUNT, "views": Sense.COUNT, "comment_count": Sense.COUNT,
    "discount_percent": Sense.PERCENT, "taxRate": Sense.PERCENT, "ratio": Sense.RATIO, "rating": Sense.RATING,
    "age": Sense.AGE, "year": Sense.YEAR, "exp_month": Sense.MONTH, "width": Sense.PIXELS, "weight": Sense.WEIGHT,
    "file_size": Sense.BYTES, "memory_gb": Sense.GIGABYTES, "vcpus": Sense.CORES, "position": Sense.ORDER,
    "limit": Sense.LIMIT, "max_users": Sense.LIMIT, "maxWidgets": Sense.LIMIT, "latitude": Sense.LATITUDE,
    "lng": Sense.LONGITUDE, "ttl": Sense.SECONDS, "duration_ms": Sense.MILLISECONDS, "retention_days": Sense.DAYS,
    "temperature": Sense.TEMPERATURE, "distance": Sense.DISTANCE, "zoom": Sense.LEVEL, "from_port": Sense.PORT,
}  # fmt: skip
TIMES = {
    "created_at": Sense.CREATED, "creationDate": Sense.CREATED, "updated": Sense.UPDATED,
    "last_modified": Sense.UPDATED,
    "start_date": Sense.START, "valid_from": Sense.START, "end_time": Sense.END, "completedAt": Sense.END,
    "expires_at": Sense.FUTURE, "due_date": Sense.FUTURE, "next_billing_date": Sense.FUTURE, "birthday": Sense.BIRTHDAY,
    "date_of_birth": Sense.BIRTHDAY, "cancelled_at": Sense.PAST, "authorized_date": Sense.PAST,
    "trial_ends_at": Sense.END,
}  # fmt: skip
SILENT = (
    "authorized", "authority", "notebook_tier", "denoted", "emailer_kind", "phonetic", "capacity_kind", "citywide",
    "nanoble", "hostility", "iphone_series", "protocol", "telepathy", "named", "titled", "urlencoded", "pricey",
    "wordage", "company_size_band", "zipped", "ipsum", "statement_kind",
)  # fmt: skip


@pytest.mark.parametrize(("name", "sense"), TEXTS.items())
def test_texts_mean_what_their_last_words_say(name, sense):
    match = sense_of(tokens_of(name), "text")
    assert match is not None
    assert match.sense is sense


@pytest.mark.parametrize(("name", "sense"), NUMBERS.items())
def test_numbers_mean_what_their_words_say(name, sense):
    match = sense_of(tokens_of(name), "number")
    assert match is not None
    assert match.sense is sense


@pytest.mark.parametrize(("name", "sense"), TIMES.items())
def test_times_mean_what_their_words_say(name, sense):
    match = sense_of(tokens_of(name), "time")
    assert match is not None
    assert match.sense is sense


@pytest.mark.parametrize("name", SILENT)
def test_parts_of_words_mean_nothing(name):
    assert sense_of(tokens_of(name), "text") is None


def test_words_before_the_sense_say_whose_it_is():
    match = sense_of(tokens_of("billing_contact_email"), "text")
    assert match is not None
    assert match.before == ("billing", "contact")
    assert match.word == ("email",)


def test_the_tables_own_noun_is_left_out():
    assert tokens_of("customer_name", "customer") == ("name",)
    assert tokens_of("customer", "customer") == ("customer",)
    assert tokens_of("customers_name", "customer") == ("customers", "name")

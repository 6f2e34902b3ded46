"""Meanings of values, and the words in which names say them: phrases of whole words, the longest wins."""

from enum import StrEnum
from typing import Final


class Sense(StrEnum):
    """What a value means, where the name says it."""

    # Persons
    FIRST_NAME = "first_name"
    LAST_NAME = "last_name"
    PERSON = "person"
    INITIALS = "initials"
    USERNAME = "username"
    EMAIL = "email"
    PHONE = "phone"
    JOB_TITLE = "job_title"
    BIRTHDAY = "birthday"
    # Companies
    COMPANY = "company"
    TAX_NUMBER = "tax_number"
    # Places
    STREET = "street"
    HOUSE_NUMBER = "house_number"
    ADDRESS = "address"
    UNIT_LINE = "unit_line"
    CITY = "city"
    STATE_NAME = "state_name"
    STATE_CODE = "state_code"
    POSTCODE = "postcode"
    COUNTRY = "country"
    COUNTRY_CODE = "country_code"
    LATITUDE = "latitude"
    LONGITUDE = "longitude"
    TIMEZONE = "timezone"
    LOCALE = "locale"
    LANGUAGE = "language"
    CURRENCY = "currency"
    # Own texts
    NAME = "name"
    SLUG = "slug"
    TITLE = "title"
    SUBJECT = "subject"
    DESCRIPTION = "description"
    NOTE = "note"
    MESSAGE = "message"
    REASON = "reason"
    TAG = "tag"
    # Technical
    URL = "url"
    IMAGE_URL = "image_url"
    PATH = "path"
    HOST = "host"
    IP = "ip"
    IPV6 = "ipv6"
    CIDR = "cidr"
    MAC = "mac"
    PORT = "port"
    HTTP_STATUS = "http_status"
    VERSION = "version"
    COLOUR = "colour"
    MIME = "mime"
    FILE_NAME = "file_name"
    CRON = "cron"
    HASH = "hash"
    COMMIT = "commit"
    TOKEN = "token"  # noqa: S105
    PASSWORD = "password"  # noqa: S105
    UUID = "uuid"
    ID = "id"
    CODE = "code"
    ARN = "arn"
    REGION = "region"
    ACCOUNT = "account"
    RESOURCE_GROUP = "resource_group"
    CLOUD_PROJECT = "cloud_project"
    RESOURCE_NAME = "resource_name"
    USER_AGENT = "user_agent"
    DURATION = "duration"
    CLOCK_TIME = "clock_time"
    BASE64 = "base64"
    HTML = "html"
    QUERY = "query"
    IBAN = "iban"
    CARD_DIGITS = "card_digits"
    BARCODE = "barcode"
    SKU = "sku"
    ISBN = "isbn"
    PLATE = "plate"
    # Numbers
    MONEY = "money"
    QUANTITY = "quantity"
    COUNT = "count"
    PERCENT = "percent"
    RATIO = "ratio"
    RATING = "rating"
    SCORE = "score"
    AGE = "age"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    MINUTE = "minute"
    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    DAYS = "days"
    PIXELS = "pixels"
    LENGTH = "length"
    WEIGHT = "weight"
    BYTES = "bytes"
    GIGABYTES = "gigabytes"
    CORES = "cores"
    ORDER = "order"
    LIMIT = "limit"
    TEMPERATURE = "temperature"
    DISTANCE = "distance"
    LEVEL = "level"
    # Times
    CREATED = "created"
    UPDATED = "updated"
    PAST = "past"
    START = "start"
    END = "end"
    FUTURE = "future"


TEXT_RULES: Final[dict[Sense, str]] = {
    Sense.FIRST_NAME: "first name|firstname|given name|givenname|forename|fname|name first|middle name|middlename|"
    "first names|given names",
    Sense.LAST_NAME: "last name|lastname|surname|family name|familyname|lname|name last|second name|maiden name",
    Sense.PERSON: "full name|fullname|person|person name|contact name|author|author name|owner name|assignee|"
    "customer name|cardholder|cardholder name|recipient|recipient name|contact|contact person|reporter|manager|"
    "manager name|attendee name|patient name|employee name|guest name|sender name|account holder|holder name|"
    "beneficiary name|signer name|driver name|teacher name|reviewer|approver|creator name|user full name|real name|"
    "realname|legal name person|passenger name|payee name|billing name|shipping name|spouse name|buyer name|"
    "seller name|requester|requested by|approved by|maintainer|organizer|instructor|doctor|artist|artist name|"
    "composer|director|speaker|from name|to name|reply to name|attention|submitter|submitter name|agent name|"
    "operator name|technician|technician name|student name|member name|staff name|performer|signatory|coach|"
    "host name person|created by|updated by|modified by|deleted by|assigned to|assigned by|uploaded by|added by|"
    "changed by|closed by|reviewed by|signed by|sent by|invited by|last modified by|created by name|"
    "updated by name|last updated by|owner|assignee name",
    Sense.INITIALS: "initials",
    Sense.USERNAME: "username|user name|login|login name|nickname|nick name|nick|handle|screen name|user login|"
    "twitter handle|account name user|twitter|skype|github username|user handle|principal name|"
    "user principal name|loginname|screenname|github",
    Sense.EMAIL: "email|e mail|mail|email address|mail address|emailaddress|e mail address|emails|reply to|"
    "from email|to email|mailbox|cc|bcc",
    Sense.PHONE: "phone|phone number|phonenumber|telephone|telephone number|tel|mobile|mobile number|mobile phone|"
    "cell|cell phone|cellphone|fax|fax number|contact number|phone e164|msisdn|caller id|whatsapp|mobilephone|"
    "homephone|workphone|landline|work phone|home phone|phones|sms number|dial number",
    Sense.JOB_TITLE: "job title|jobtitle|occupation title|position title|job|profession title|role title|title job",
    Sense.COMPANY: "company|company name|companyname|organization name|organisation name|business name|"
    "vendor name|supplier|supplier name|manufacturer name|legal name|employer|employer name|organization|"
    "organisation|org name|merchant name|merchant|brand name|publisher|publisher name|insurer|bank name|"
    "trading name|trade name|registered name|agency name|partner name|carrier name|record label|institution|"
    "institution name|client company|doing business as|dba|airline|legal entity name|lender|account company",
    Sense.TAX_NUMBER: "vat|vat number|vat id|tax id|tax number|ein|tin|company number|registration number|"
    "tax identifier|taxid|vatid|abn|siret|siren|npi|duns|duns number|fiscal code",
    Sense.STREET: "street|street name|address line 1|address line|address 1|line 1|street address|address1|addressline|"
    "street line|line|street 1|mailing street|address street|streetaddress|streetname|thoroughfare",
    Sense.HOUSE_NUMBER: "house number|street number|building number|housenumber|streetnumber",
    Sense.UNIT_LINE: "address line 2|address 2|line 2|street 2|apartment|suite|address line 3|line 3|"
    "unit number|floor number|apartment number|building name",
    Sense.ADDRESS: "address|full address|postal address|mailing address|formatted address|home address|"
    "shipping address|billing address|street addresses|venue address|pickup address|delivery address",
    Sense.CITY: "city|town|locality|city name|municipality|suburb|birthplace|place of birth|birth place",
    Sense.STATE_NAME: "province|county|state name|province name|region name address|administrative area|state province|"
    "state or province|address state|address region|billing state|shipping state|governorate",
    Sense.STATE_CODE: "state code|province code|region code|iso 3166 2|subdivision|subdivision code",
    Sense.POSTCODE: "zip|zip code|zipcode|postcode|postal code|postalcode|post code|postal",
    Sense.COUNTRY: "country|country name|countryname|nation|nationality|citizenship",
    Sense.COUNTRY_CODE: "country code|countrycode|iso country|country iso|country iso 2|iso 2|country id|"
    "country iso code|country alpha 2|nationality code|iso code country|country code 2",
    Sense.TIMEZONE: "timezone|time zone|tz|time zone id|timezone id|timezone name|tzid|time zone name|zoneinfo",
    Sense.LOCALE: "locale|culture|language tag|locale code|language locale|culture name|language and region",
    Sense.LANGUAGE: "language|lang|language code|languagecode|default language|preferred language|source language|"
    "target language|iso language|ui language",
    Sense.CURRENCY: "currency|currency code|currencycode|currency iso|ccy|base currency|settlement currency|"
    "iso currency code|currency id|presentment currency",
    Sense.NAME: "name|display name|displayname|friendly name|friendlyname|label|alias|caption|common name|"
    "short name|long name|nice name|object name|public name|internal name|item name|localized name",
    Sense.TITLE: "title|headline|heading|page title|seo title|meta title|document title|header",
    Sense.SUBJECT: "subject|subject line|subjectline|email subject|topic|agenda",
    Sense.SLUG: "slug|permalink|url key|url name|identifier name|handle slug|short code name|machine name|url slug|"
    "seo name",
    Sense.DESCRIPTION: "description|desc|descr|summary|details|detail|about|bio|biography|abstract|overview|"
    "synopsis|short description|long description|meta description|introduction|intro|purpose|background|"
    "description text|tagline|excerpt|explanation|information|info|seo description|descriptions|objective|"
    "scope description|alt text|alternate text|alt|documentation",
    Sense.NOTE: "note|notes|comment|comments|remark|remarks|memo|annotation|internal note|internal notes|"
    "observation|observations|instructions|special instructions|delivery instructions|feedback|guidance|"
    "additional info|additional information|hint|tips|help text|tooltip|caveat|disclaimer|customer note|admin note",
    Sense.MESSAGE: "message|body|text|content|body text|message body|message text|email body|plain text|reply|"
    "question|answer|review|review text|post|status message|error message|greeting|prompt|transcript|caption text|"
    "body plain|body preview|snippet|welcome message|response text|quote|statement|announcement|paragraph|preview text",
    Sense.REASON: "reason|cancellation reason|cancel reason|justification|rationale|rejection reason|close reason|"
    "failure reason|status reason|cause|refund reason|reason text|status detail|state reason|change reason",
    Sense.TAG: "tag|tags|keyword|keywords|label name|labels|hashtag|hashtags|topics|tag name",
    Sense.URL: "url|uri|href|link|website|web site|homepage|home page|web url|html url|callback url|redirect uri|"
    "redirect url|endpoint|webhook url|endpoint url|self|self link|permalink url|callback|permalink uri|web page|"
    "api url|site url|links|urls|location url|download url|deep link|share link|selflink|weblink|"
    "web link|blog|facebook|linkedin|instagram|service url|base url|uris|return url|success url|cancel url|origin url",
    Sense.IMAGE_URL: "avatar|avatar url|image|image url|photo|photo url|picture|picture url|logo|logo url|thumbnail|"
    "thumbnail url|icon|icon url|cover|cover image|banner|banner url|profile image|profile image url|image uri|"
    "images|photos|gravatar|cover url|image link|poster|favicon|background image|profile picture|screenshot",
    Sense.PATH: "path|file path|filepath|folder path|full path|pathname|directory|key path|object key|uri path|"
    "prefix|root path|mount path|source path|target path|mountpoint|mount point|working directory|folder",
    Sense.HOST: "host|hostname|host name|domain|domain name|fqdn|dns name|server name|server|subdomain|"
    "domains|primary domain|custom domain|site domain|dns|mail server|name server|nameserver|dns label|zone name",
    Sense.IP: "ip|ip address|ipaddress|ipv4|ip v4|ipv4 address|remote ip|client ip|source ip|private ip|public ip|"
    "private ip address|public ip address|source ip address|remote addr|gateway|ip addr|ips|ip addresses|last ip",
    Sense.IPV6: "ipv6|ip v6|ipv6 address",
    Sense.CIDR: "cidr|cidr block|subnet cidr|address prefix|ip range|network cidr|ip cidr|address space|"
    "subnet mask cidr",
    Sense.MAC: "mac|mac address|macaddress|hardware address|ethernet address",
    Sense.VERSION: "version|app version|api version|schema version|version number|semver|engine version|"
    "firmware version|firmware|os version|software version|release version|kubernetes version|version name|build|"
    "runtime version|current version|latest version|revision name|versions|version label",
    Sense.COLOUR: "color|colour|hex color|color code|background color|text color|foreground color|color hex|"
    "colour code|accent color|primary color|secondary color|border color|font color|brand color",
    Sense.MIME: "mime|mime type|mimetype|content type|contenttype|media type|file mime type",
    Sense.FILE_NAME: "file name|filename|file|attachment name|original filename|document name|original name|"
    "original file name|basename|attachment|file title|document",
    Sense.CRON: "cron|cron expression|schedule expression|cron schedule|cronspec|schedule cron",
    Sense.HASH: "hash|checksum|digest|md5|sha256|sha1|sha|etag|e tag|fingerprint|thumbprint|signature|content hash|"
    "file hash|md5 hash|sha 256|content md5|code sha256|md 5",
    Sense.COMMIT: "commit|commit sha|commit id|commit hash|head sha|git sha|git commit|revision sha|base sha|"
    "head commit|merge commit sha",
    Sense.TOKEN: "token|secret|api key|apikey|access token|client secret|auth token|refresh token|access key|"
    "secret key|private key|session token|credential|credentials|webhook secret|bearer token|public key|csrf token|"
    "security token|verification token|shared secret|key value|secret access key|continuation token|signing secret",
    Sense.PASSWORD: "password|passwd|passphrase|passcode|pin code|admin password|user password|pwd",
    Sense.UUID: "uuid|guid|global id|udid|device uuid|correlation id|trace id",
    Sense.ARN: "arn|amazon resource name",
    Sense.REGION: "region|aws region|location|region name|cloud region|data center|datacenter|geo|availability region|"
    "region id|primary region|source region|home region|location name|primary location|secondary location",
    Sense.ACCOUNT: "account number|account no|bank account|bank account number|account nr|aws account|aws account id",
    Sense.RESOURCE_GROUP: "resource group|resource group name|resourcegroup",
    Sense.USER_AGENT: "user agent|useragent|browser agent",
    Sense.DURATION: "duration iso|iso duration|time to live iso|lease duration iso",
    Sense.CLOCK_TIME: "time of day|opening time|closing time|start of day|start time of day|daily time|local time",
    Sense.BASE64: "base64|certificate content|csr content|file content|encoded content|certificate|csr|blob|"
    "payload base64|binary|bytes data|encoded data|zip file|certificate body",
    Sense.HTML: "html|body html|html body|html content|description html|markup|content html|message html",
    Sense.QUERY: "query|search query|sql|filter expression|query string|search term|expression|search text|jql",
    Sense.IBAN: "iban|bank iban",
    Sense.CARD_DIGITS: "last4|last 4|last four|card last 4|card last four|last digits|last four digits",
    Sense.BARCODE: "barcode|ean|upc|gtin|ean13|ean 13|upc code|gtin 13",
    Sense.SKU: "sku|product code|item code|part number|article number|item number|stock code|mpn|product number|"
    "sku code|partnumber|seller sku|model number|serial|serial number|serial no|asset tag|imei|vin",
    Sense.HTTP_STATUS: "http status|http status code|http code|response status code|http response code",
    Sense.ISBN: "isbn|isbn 13|isbn13",
    Sense.PLATE: "license plate|licence plate|plate|plate number|license plate number|registration plate",
    Sense.CODE: "code|short code|shortcode|reference|reference number|ref|external reference|invoice number|"
    "order number|number|tracking number|confirmation code|booking reference|promo code|coupon code|voucher code|"
    "activation code|invite code|gift code|receipt number|ticket number|case number|po number|purchase order|"
    "tracking code|customer number|order code|abbreviation|acronym|symbol|short id|iata|icao|policy number|"
    "contract number|document number|account code|payment reference|external code|discount code|referral code|"
    "membership number|referencenumber|statement descriptor|batch number|ref number|transaction number|claim number",
    Sense.ID: "id|ids|sid|gid|oid|uid|key|identifier|external id|reference id|entity id|pk|urn|ref id|keys|"
    "external identifier|instance id|object id|foreign id",
}
NUMBER_RULES: Final[dict[Sense, str]] = {
    Sense.MONEY: "price|amount|cost|total|subtotal|balance|fee|tax|revenue|salary|budget|wage|payment amount|"
    "discount amount|discount|sum|amount due|amount paid|amount remaining|grand total|unit price|price amount|fees|"
    "taxes|"
    "total price|total amount|total cost|list price|sale price|net|gross|net amount|gross amount|shipping cost|"
    "tax amount|costs|spend|income|debt|expense|charge|credit limit|payout|refund|refund amount|tip|deposit|"
    "monthly price|value amount|monetary value|turnover|prices|amounts|fare|rent|premium|commission|"
    "price excl tax|price incl tax|total incl tax|total excl tax|amount cents|price cents|total tax|total cents|"
    "total discount|hourly rate|day rate|unit amount|unit cost|bid|bid amount|daily budget|lifetime budget|"
    "compare at price|msrp|rrp|retail price|purchase price|minimum amount|maximum amount|min price|max price|profit|"
    "amount refunded|amount captured|amount received|amount off|money|worth|available balance|current balance",
    Sense.QUANTITY: "quantity|qty|units|pieces|stock|inventory|on hand|stock level|seats|copies|items|"
    "available quantity|in stock|ordered quantity|stock quantity|stock count|participants|guests|adults|children|"
    "nights|"
    "inventory quantity|num units|attendees|doses|servings|spots|slots|vacancies|tickets",
    Sense.COUNT: "count|counter|cnt|counts|views|likes|followers|hits|clicks|downloads|impressions|votes|shares|"
    "forks|stars|visits|opens|plays|attempts|retries|retry|num|replies|usage|usages|occurrences|members|users|files|"
    "comments number|watchers|subscribers|favorites|installs|upvotes|downvotes|goals|points|wins|losses|bounces|"
    "redemptions|sessions|calls|requests|messages|errors|warnings|failures|conversions|reach|pageviews|"
    "times redeemed|num orders|words|word count|line count|lines|rows|issues|commits|pages|contacts|karma|reactions",
    Sense.PERCENT: "percent|percentage|pct|percent off|discount percent|discount percentage|tax rate|vat rate|rate|"
    "humidity|battery|battery level|progress|percent complete|completion|share|utilization|utilisation|margin|"
    "interest rate|cpu usage|occupancy|commission rate|open rate|click rate|bounce rate|growth|rate percent|coverage|"
    "apr",
    Sense.RATIO: "ratio|probability|confidence|likelihood|fraction|factor|alpha|opacity|sample rate|sampling rate|"
    "similarity|relevance|coefficient|exchange rate|currency rate|fx rate|conversion rate|proportion|learning rate|"
    "volume ratio|scale|"
    "weighting|multiplier|accuracy|precision|recall",
    Sense.RATING: "rating|stars rating|average rating|avg rating|star rating|review rating|user rating",
    Sense.SCORE: "score|grade points|points score|quality score|credit score|lead score|health score|nps|risk score|"
    "popularity|marks|total score|mark|bmi",
    Sense.AGE: "age|minimum age|maximum age|min age|max age|age years",
    Sense.YEAR: "year|exp year|expiry year|expiration year|release year|birth year|model year|fiscal year|"
    "year of birth|tax year|graduation year|year built",
    Sense.MONTH: "month|exp month|expiry month|expiration month|birth month|month of year",
    Sense.DAY: "day|day of month|due day|billing day|day number|billing anchor day|payment day",
    Sense.HOUR: "hour|hour of day|start hour|end hour",
    Sense.MINUTE: "minute|start minute|end minute|minute of hour",
    Sense.SECONDS: "seconds|duration|ttl|timeout|duration seconds|ttl seconds|delay|expires in|interval|period|"
    "length seconds|timeout seconds|delay seconds|interval seconds|sec|secs|cooldown|lease duration|lifetime|"
    "grace period|"
    "timeout in seconds|playtime|expires in seconds|idle timeout|uptime|elapsed|elapsed time|runtime seconds|wait time",
    Sense.MILLISECONDS: "milliseconds|millis|ms|duration ms|latency|latency ms|response time|duration millis|"
    "timeout ms|progress ms|timeout millis|execution time|ping|duration milliseconds|tempo ms",
    Sense.DAYS: "days|retention|retention days|retention period|retention in days|trial days|trial period days|"
    "days until due|due days|lead time|lead time days|interval days|net days|validity days|notice days|weeks|months|"
    "years|hours|minutes|duration minutes|duration hours|duration days|hours worked|backup retention|interval count|"
    "experience|years of experience|billing interval count|estimated hours|spent hours|logged hours|term",
    Sense.PIXELS: "width|height|pixel width|pixel height|image width|image height|thumb width|thumb height|dpi",
    Sense.LENGTH: "length|depth|diameter|radius|thickness|perimeter|altitude|elevation|size cm|circumference",
    Sense.WEIGHT: "weight|mass|gross weight|net weight|weight kg|weight grams|total weight|body weight|shipping weight",
    Sense.BYTES: "bytes|file size|filesize|size|size bytes|content length|size in bytes|total size|byte size|"
    "used bytes|file length|disk usage|storage used|download size|length bytes|storage bytes|total bytes",
    Sense.GIGABYTES: "memory|ram|disk|disk size|storage|gb|size gb|disk size gb|memory gb|storage gb|volume size|"
    "allocated storage|size in gb|memory mb|memory size|disk space|bandwidth|size gib|storage size|quota gb",
    Sense.CORES: "cpu|cpus|cores|vcpu|vcpus|num cpus|cpu count|replicas|instances|nodes|node count|instance count|"
    "min capacity|max capacity|desired capacity|partitions|shards|threads|workers|min size|max size|desired size|"
    "concurrency|"
    "replica count|num nodes|shard count|partition count|min instances|max instances|num replicas|gpus|num workers",
    Sense.ORDER: "order|position|index|rank|sort|sort order|sequence|sequence number|display order|ordinal|priority|"
    "weight order|sortorder|ordering|row|column|line number|track number|episode number|season number|page number|"
    "chapter number|disc number|step number|place|seq|revision|revision number|iteration|generation|round|lap|week|"
    "version number|sorting|sort index|number|iid|displayorder|floor",
    Sense.LIMIT: "limit|quota|max|maximum|capacity|threshold|min|minimum|max items|burst|throughput|rate limit|"
    "max uses|usage limit|max redemptions|max attempts|max users|max participants|max retries|daily limit|min quantity|"
    "max quantity|minimum quantity|maximum quantity|iops|max connections|max size limit|seat limit|max members|"
    "max length|"
    "batch size|read capacity units|write capacity units|max file size|max guests|page size",
    Sense.TEMPERATURE: "temperature|temp|temperature c|temperature celsius|target temperature|setpoint|dew point|"
    "min temperature|max temperature",
    Sense.DISTANCE: "distance|mileage|odometer|km|kilometers|miles|distance km|distance meters|range|odometer reading|"
    "distance miles|radius km|radius miles",
    Sense.LEVEL: "level|tier number|zoom|zoom level|difficulty|stage number|severity|grade|log level|depth level|"
    "xp level|energy|priority level|loudness|volume",
    Sense.PORT: "port|port number|from port|to port|target port|source port|destination port|listen port|backend port|"
    "frontend port|container port|host port|http port|remote port|local port",
    Sense.LATITUDE: "lat|latitude|geo lat|center lat|start lat|end lat",
    Sense.LONGITUDE: "lng|lon|long|longitude|geo lng|geo lon|geo long|center lng|start lng|end lng",
    Sense.HOUSE_NUMBER: "house number|street number|building number",
    Sense.POSTCODE: "zip|zip code|zipcode|postcode|postal code",
    Sense.CODE: "code|error code|reference|reference number",
    Sense.HTTP_STATUS: "http status|status code|http status code|response code|http code|response status|"
    "response status code|http response code|expected status code",
    Sense.ID: "id|ids|uid|gid|oid|key|identifier|external id|pk|reference id",
    Sense.ACCOUNT: "account number",
    Sense.BARCODE: "barcode|ean|upc|gtin",
    Sense.PHONE: "phone number|mobile number",
}
TIME_RULES: Final[dict[Sense, str]] = {
    Sense.CREATED: "created|created at|created on|create time|creation date|creation time|date created|created date|"
    "createdat|creationdate|registered|registered at|registration date|joined|joined at|join date|added|added at|"
    "date added|inserted at|signup date|signed up at|created time|time created|createtime|created datetime|created utc|"
    "creation timestamp|created timestamp|create date|createdate|opened at|opened|first seen|first seen at|datecreated|"
    "submitted at|submitted|submission date|order date|ordered at|date|timestamp|time|issued at|issue date|"
    "invoice date|date opened|transaction date|member since|posted at|purchase date|booking date|entry date|"
    "insert date",
    Sense.UPDATED: "updated|updated at|updated on|update time|last updated|last updated at|modified|modified at|"
    "modified on|last modified|last modified at|last modified time|last modified date|date modified|date updated|"
    "updatedat|updatetime|last update|last update time|modification date|modified date|changed at|changed|last changed|"
    "modified time|updated time|last activity|last activity at|last seen|last seen at|last login|last login at|"
    "last used|last used at|last accessed|last accessed at|last changed at|last modified datetime|last updated time|"
    "update date|updated date|last modified on|last sync|last sync at|synced at|last run|last run at|pushed at|"
    "last active at|last active|lastmodified|lastupdated|last updated date|last modified timestamp|edited at|edited|"
    "last login date|last login time|last message at|last sync time|last edited time|last heartbeat|last refresh time",
    Sense.BIRTHDAY: "birthday|birth date|birthdate|date of birth|dob|born|born on|dateofbirth|birth day|patient dob",
    Sense.START: "start|start at|start date|start time|starts at|starts on|started|started at|from|begin|begins at|"
    "begin date|valid from|effective from|effective date|start datetime|date from|from date|period start|date start|"
    "starttime|startdate|since|check in|check in date|departure|departure time|departure date|pickup date|arrival date|"
    "available from|active from|trial start|current period start|begin time|start on|starting at|opens at|open date|"
    "time from|start timestamp|valid after|not before|range start|effective at|hire date|hired at|launch date|hired on|"
    "first day|opening date|start date time|actual start|scheduled start|planned start|period from|contract start",
    Sense.END: "end|end at|end date|end time|ends at|ends on|ended|ended at|to|until|finish|finished|finished at|"
    "valid until|valid to|effective to|end datetime|date to|to date|period end|date end|endtime|enddate|check out|"
    "check out date|arrival|arrival time|dropoff date|available until|active until|trial end|current period end|"
    "completed|completed at|completion date|completion time|end on|ending at|closes at|close date|time to|closed|"
    "closed at|end timestamp|not after|range end|stop|stop time|stopped at|date completed|resolved at|termination date|"
    "last day|closing date|date closed|end date time|actual end|scheduled end|planned end|period to|contract end|"
    "departed at|return date|delivered at|delivery date|finish date|finish time|thru|through",
    Sense.FUTURE: "expires|expires at|expires on|expiry|expiry date|expiration|expiration date|expiration time|"
    "expire at|expire time|due|due at|due date|due on|deadline|next run|next run at|next run time|renewal date|"
    "renews at|"
    "scheduled at|scheduled for|scheduled|scheduled date|scheduled time|expirydate|expirationdate|duedate|eta|"
    "estimated delivery|next billing date|next payment date|next due date|target date|send at|publish at|deliver by|"
    "follow up date|remind at|reminder date|reminder at|expired at|expiration timestamp|next attempt|next attempt at|"
    "next retry at|estimated arrival|planned date|appointment date|event date|next invoice date|maturity date|"
    "due by|best before|expected delivery date|expected date|ship by|expiration datetime|expires date|due date time|"
    "payment due date|next execution time|next billing at|snoozed until|event time|scheduled start time",
}

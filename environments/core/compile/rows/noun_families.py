"""Families of nouns and what things of each are called.

Titles are as people write them; things that machines name (`server`, `bucket`) are written as slugs.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Style(StrEnum):
    """How names of a family are written."""

    TITLE = "title"
    SLUG = "slug"
    PERSON = "person"
    COMPANY = "company"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class Family:
    """Nouns that are named alike.

    Attributes:
        nouns: Singular words.
        style: How its names are written.
        names: At least a dozen; empty for people and companies, which are drawn.
    """

    nouns: tuple[str, ...]
    style: Style
    names: tuple[str, ...]


def _family(nouns: str, names: str, style: Style = Style.TITLE) -> Family:
    return Family(tuple(nouns.split()), style, tuple(names.split("|")) if names else ())


_PEOPLE: Final = (
    "person user contact customer client employee member patient author driver learner student teacher participant "
    "attendee guest owner assignee creator lead recipient sender subscriber candidate applicant passenger tenant "
    "landlord player athlete coach artist musician speaker reviewer approver manager agent technician instructor "
    "doctor physician nurse practitioner cardholder payer payee signer operator worker contributor collaborator "
    "follower friend buyer seller host visitor volunteer donor beneficiary individual profile parent child spouse "
    "moderator editor reporter requester resident staff personnel actor principal traveler traveller cashier clerk "
    "salesperson rep representative admin administrator supervisor trainer trainee pupil caller"
)
_COMPANIES: Final = (
    "company organization organisation vendor supplier merchant business partner dealer agency manufacturer "
    "distributor carrier insurer lender employer publisher institution charity firm brand retailer wholesaler reseller "
    "enterprise contractor broker airline org customer_account issuer provider corporation studio label_company "
    "counterparty"
)

FAMILIES: Final = (
    _family(_PEOPLE, "", Style.PERSON),
    _family(_COMPANIES, "", Style.COMPANY),
    _family(
        "account ledger wallet fund portfolio",
        "Current account|Savings|Petty cash|Payroll|Travel budget|Reserve fund|Card settlements|Client money|VAT|"
        "Joint account|Holiday savings|Operating account|Rent deposits|Grant income|Pension fund|Equipment fund",
    ),
    _family(
        "album record release ep mixtape",
        "Paper Lanterns|Midnight in Lisbon|Salt and Cedar|The Long Way Home|Slow Rivers|Northern Lights|Kitchen Songs|"
        "Glass Houses|Blue Hour|A Season of Rain|Tin Roof Sessions|Half a Moon|Borrowed Light|"
        "Letters to Harbour Street|"
        "Wild Honey|Evening Trains",
    ),
    _family(
        "track song recording tune",
        "Harbour Lights|Slow Train Home|Lemon Tree Lane|Paper Boats|Second Summer|Carry Me North|Small Hours|"
        "Rooftop Waltz|The Ferry Song|Copper Sky|Wait for the Rain|Old Photographs|Dandelion Wine|Walking Backwards|"
        "Late September|Winter Coats",
    ),
    _family(
        "playlist mix station",
        "Morning Coffee|Sunday Cooking|Running at Dawn|Deep Focus|Rainy Afternoon|Road Trip South|Quiet Evenings|"
        "Songs for the Garden|Friday Warm-up|Acoustic Corner|Late Night Jazz|Summer on the Balcony|Throwback Thursday",
    ),
    _family(
        "movie film",
        "The Lighthouse Keeper|Two Days in Porto|A House by the Canal|The Last Ferry|Winter Orchard|Night Shift|"
        "The Beekeeper's Daughter|Low Tide|Eleven Letters|North of Here|The Glass Bridge|Sunday's Children",
    ),
    _family(
        "show series season programme program podcast",
        "Harbour Stories|The Night Desk|Behind the Counter|City Gardens|Small Talk|Field Notes|The Repair Shop Hour|"
        "Open Kitchen|Weekly Roundup|Lost and Found|Science at Breakfast|The Long Table",
    ),
    _family(
        "episode chapter lesson lecture session module unit",
        "Getting Started|The First Draft|A Closer Look|Questions and Answers|Under the Bonnet|Common Mistakes|"
        "A Walk through the Archive|Putting It Together|The Visitor|Practice Makes Perfect|What Comes Next|"
        "Working in Pairs|Review and Recap",
    ),
    _family(
        "video clip recording_video stream broadcast livestream reel",
        "How to Prune Roses|Studio Tour|Product Walkthrough|Sunrise over the Bay|Interview with the Founder|"
        "Opening Night|Unboxing the Starter Kit|Drone Flight Coastline|Quarterly Update|Behind the Scenes|"
        "Five Minute Stretch|Customer Story Bluebird",
    ),
    _family(
        "book title novel publication volume ebook audiobook",
        "The Salt Road|A History of Maps|The Quiet Engineer|Gardens of the North|Letters from Bergen|"
        "Bread and Patience|"
        "The Clockmaker's Apprentice|Field Guide to Lichens|Seven Harbours|The Night Library|Small Boats|"
        "Essays on Attention|An Island Kitchen",
    ),
    _family(
        "article post story blog news page entry wiki topic thread discussion document_page",
        "Five Ways to Save Water|What We Learned from the Pilot|Meet the New Team in Lyon|How We Cut Waiting Times|"
        "A Guide to Spring Planting|Opening Hours over Easter|Notes from the Design Review|Why We Moved Our Servers|"
        "Ten Questions about Refunds|Behind the New Logo|Winter Maintenance Plan|Frequently Asked Questions",
    ),
    _family(
        "photo image picture asset media artwork gallery thumbnail icon banner screenshot illustration",
        "Harbour at Dusk|Team Photo 2025|Front Entrance|Product Shot Walnut Lamp|Spring Banner|Office Kitchen|"
        "Workshop Bench|Market Square Panorama|Logo on White|Autumn Window|Rooftop Garden|Map of the Venue",
    ),
    _family(
        "task todo action item_task step activity assignment milestone",
        "Update the price list|Call back the landlord|Order new badges|Prepare the board slides|Renew the domain|"
        "Check the backup tapes|Translate the welcome mail|Chase the late payment|Clean up old invoices|"
        "Book the venue|Review the contract draft|Replace the hallway lights|Send the survey|Archive the old files|"
        "Collect feedback from the pilot",
    ),
    _family(
        "ticket issue bug incident case problem request defect inquiry enquiry alert complaint",
        "Login page shows an error|Printer on floor 2 is offline|Slow search results|Refund not received|"
        "Broken link in the footer|Password reset mail is missing|Wrong address on the label|"
        "Screen flickers after update|"
        "Invoice total is off by one cent|App closes when uploading|Heating fails in room 12|"
        "Duplicate order confirmation|"
        "Export ends at row 500|Badge does not open the gate",
    ),
    _family(
        "project initiative epic programme_project engagement matter",
        "Website refresh|Office move|Warehouse extension|Customer portal|Pilot Leeds|Annual audit|Kitchen refit|"
        "Mobile app launch|Data clean-up|Loyalty scheme|Supplier review|Rebranding|Solar roof|New payroll system|"
        "Accessibility review",
    ),
    _family(
        "campaign promotion adset ad advert creative newsletter mailing broadcast_mail audience_campaign sequence",
        "Spring Newsletter|Summer Clearance|Welcome Series|Black Friday Preview|Refer a Friend|Back to School|"
        "Holiday Gift Guide|Trade Fair Lyon|Win-back Autumn|New Arrivals March|Loyalty Bonus Week|Local Heroes|"
        "Product Launch Teaser|Free Shipping Weekend",
    ),
    _family(
        "coupon discount voucher offer deal promo giftcard rebate incentive",
        "Welcome 10|Spring Sale|Free Shipping|Student Discount|Two for One|Early Bird|Loyalty Reward|Birthday Gift|"
        "Summer Special|Refer a Friend|Clearance 30|Weekend Deal",
    ),
    _family(
        "product item sku article_product good merchandise listing material variant part component inventory_item "
        "stock",
        "Walnut desk lamp|Travel mug 350 ml|Canvas tote|Oak shelf|Ceramic planter|Wool throw|Steel bottle|"
        "Desk organiser|Gift box large|Rain cover|Bamboo board|Linen apron|Enamel kettle|Cork notebook|Beeswax candles|"
        "Felt slippers|Copper watering can",
    ),
    _family(
        "plan price tier rate tariff subscription package bundle membership licence license edition",
        "Starter|Team|Business|Professional|Family|Student|Premium support|Basic monthly|Basic yearly|Enterprise|"
        "Weekend pass|Unlimited|Small office|Non-profit",
    ),
    _family(
        "order purchase sale transaction payment charge invoice refund payout transfer bill receipt quote estimate "
        "settlement deposit withdrawal payment_intent expense remittance mandate statement credit debit checkout cart "
        "basket shipment parcel delivery fulfillment fulfilment return",
        "Office chairs March|Annual maintenance|Catering open evening|Website hosting|Spring stock|Travel Lyon|"
        "Printer paper and toner|Consulting February|Desk lamps for the studio|Courier services|Trade fair stand|"
        "Training day Leeds|Window cleaning|Uniforms summer",
    ),
    _family(
        "location site store warehouse venue office branch_office property depot outlet shop facility clinic hospital "
        "restaurant hotel studio_location center centre plant factory campus school building pickup_point dock",
        "Warehouse North|Harbour Street|Old Mill|Northgate|Station Road|The Annex|Riverside|Market Square|Hilltop|"
        "East Dock|Kingsway|Lakeview|Victoria House|Green Lane|Castle Yard|Southbank|Orchard Park",
        Style.PLACE,
    ),
    _family(
        "room floor space desk seat area suite apartment table_room hall bay aisle shelf bin",
        "Meeting room B|Conference hall|Ground floor|Reading room|Workshop|West wing|Quiet room|Training room 2|"
        "Kitchen|Studio 4|Roof terrace|Loading bay|Reception|Board room",
    ),
    _family(
        "city town municipality locality",
        "Lyon|Leeds|Bergen|Porto|Ghent|Turin|Malmö|Graz|Utrecht|Galway|Dresden|Bilbao",
    ),
    _family("country nation", "France|Norway|Portugal|Belgium|Italy|Sweden|Austria|Ireland|Germany|Spain|Japan|Canada"),
    _family(
        "zone region territory geofence district neighborhood neighbourhood market sector county province",
        "Northern district|Old town|City centre|Riverside|Airport area|West coast|Harbour quarter|University quarter|"
        "Southern suburbs|Industrial park|Lakeside|Eastern valley",
    ),
    _family(
        "device sensor camera printer phone scanner terminal reader tablet laptop gateway_device thermostat meter lock "
        "appliance equipment instrument machine_tool kiosk display screen beacon tracker controller",
        "Front desk tablet|Gate camera|Loading bay scanner|Reception phone|Meeting room B display|Rooftop sensor|"
        "Workshop printer|Cold room thermometer|Warehouse 2 reader|Lab bench meter|Lobby kiosk|Spare laptop|"
        "Kitchen sensor|Parking gate controller",
    ),
    _family(
        "vehicle car truck van bus fleet_vehicle trailer bike scooter drone vessel ship aircraft charger",
        "Van 7|Blue van|Forklift 3|Delivery bike 2|City car|Trailer North|Service truck|Courier scooter|Minibus|"
        "Long haul 12|Harbour tug|Pool car",
    ),
    _family(
        "server instance machine vm host node virtual_machine droplet computer appliance_server worker_node desktop "
        "workstation",
        "web-01|web-02|api-gateway|build-runner|mail-relay|db-primary|db-replica|cache-01|queue-worker|reporting|"
        "staging-web|bastion|search-node|file-share",
        Style.SLUG,
    ),
    _family(
        "cluster nodegroup pool fleet autoscaling_group group_cluster farm",
        "orders-prod|orders-staging|analytics|web-frontend|batch-jobs|search|media-transcoding|edge-eu|internal-tools|"
        "recommendations|payments-prod|data-science",
        Style.SLUG,
    ),
    _family(
        "database db schema_db warehouse_db keyspace table dataset datastore collection_db graph cache snapshot backup "
        "replica index",
        "orders|customers|inventory|billing|analytics-events|user-profiles|product-catalogue|session-store|audit-trail|"
        "shipping-rates|web-traffic|support-tickets",
        Style.SLUG,
    ),
    _family(
        "bucket container volume disk drive filesystem share repository_storage vault archive storage blob datalake",
        "invoice-archive|product-images|nightly-backups|web-assets|raw-events|customer-exports|media-uploads|"
        "audit-records|ml-features|shared-documents|log-storage|static-site",
        Style.SLUG,
    ),
    _family(
        "repository repo package_repo registry library_code codebase workspace_repo fork gist",
        "billing-service|web-frontend|mobile-app|design-system|infra-modules|docs-site|data-pipeline|auth-gateway|"
        "search-indexer|release-tools|image-resizer|customer-portal",
        Style.SLUG,
    ),
    _family(
        "branch ref",
        "main|develop|feature-checkout|fix-login-timeout|release-2-4|hotfix-rounding|docs-update|experiment-cache|"
        "upgrade-dependencies|refactor-mailer|staging|feature-dark-mode",
        Style.SLUG,
    ),
    _family(
        "network subnet vpc vnet gateway route firewall interface loadbalancer balancer nic peering vpn tunnel circuit "
        "switch router subnetwork connection endpoint listener proxy link acl",
        "core-network|dmz|office-lyon|frontend|backend|database-tier|shared-services|guest-wifi|partner-link|"
        "management|edge-north|hub-west",
        Style.SLUG,
    ),
    _family(
        "application app service function lambda api website webapp site_web microservice bot integration connector "
        "plugin extension addon client_application",
        "orders-api|customer-portal|invoice-mailer|image-resizer|booking-widget|support-bot|inventory-sync|"
        "payment-hooks|web-shop|report-builder|login-service|search-suggest",
        Style.SLUG,
    ),
    _family(
        "pipeline workflow job build deployment automation flow process schedule_job trigger execution run recipe "
        "state_machine orchestration batch crawler",
        "nightly-build|deploy-web|sync-inventory|import-orders|refresh-reports|rotate-backups|send-invoices|"
        "resize-images|weekly-digest|data-quality-check|release-candidate|reindex-search",
        Style.SLUG,
    ),
    _family(
        "environment stage space_dev namespace tenant_env slot sandbox",
        "production|staging|development|testing|demo|preview|integration|training|acceptance|performance|pilot|"
        "recovery",
        Style.SLUG,
    ),
    _family(
        "queue topic_queue stream_queue subscription_queue channel_queue bus_event eventhub exchange hub",
        "order-events|invoice-jobs|email-outbox|stock-updates|audit-events|payment-results|image-uploads|"
        "customer-changes|dead-letters|shipping-notices|web-clicks|sensor-readings",
        Style.SLUG,
    ),
    _family(
        "webhook hook callback subscription_hook notification_endpoint destination",
        "Order updates|Invoice paid|New customer|Stock alert|Build finished|Refund issued|Shipment tracking|"
        "Contact synced|Ticket escalated|Form submitted|Payment failed|Nightly export",
    ),
    _family(
        "key credential token secret certificate apikey access_key cert password keypair identity_key",
        "build-server|mobile-app|partner-portal|reporting|backup-agent|web-shop|monitoring|staging-deploy|"
        "mail-relay|data-export|kiosk-lobby|test-automation",
        Style.SLUG,
    ),
    _family(
        "policy rule guideline control compliance constraint filter restriction standard",
        "Remote access|Data retention 90 days|Weekend on-call|Travel expenses|Password rotation|Visitor access|"
        "Late payment reminder|Block unknown senders|Two approvals above 5000|Night-time quiet hours|Backup daily|"
        "Require strong encryption",
    ),
    _family(
        "role permission profile_role privilege grant scope entitlement",
        "Billing clerk|Store manager|Read-only auditor|Support agent|Content editor|Warehouse staff|Release manager|"
        "Guest reviewer|Site administrator|Data analyst|Field technician|Payroll officer",
    ),
    _family(
        "group team department squad crew committee unit_org division cohort class_group circle guild",
        "Night shift|Field crew|Finance|Kitchen team|Wholesale|New starters|Volunteers|Press office|Customer care|"
        "Drivers|Design guild|Board members|Logistics|Summer interns|Quality",
    ),
    _family(
        "tag label keyword_tag topic_tag hashtag flag badge marker",
        "urgent|seasonal|wholesale|follow-up|vip|returns|archived|new-arrival|fragile|internal|on-hold|press|gift|"
        "local",
        Style.SLUG,
    ),
    _family(
        "category type genre section taxonomy classification topic_category kind class subject department_store",
        "Kitchen and dining|Office furniture|Outdoor|Stationery|Lighting|Textiles|Gardening|Electronics|Children|"
        "Health and beauty|Gifts|Repairs|Local food|Books and maps",
    ),
    _family(
        "list collection folder directory board catalog catalogue set bundle_list bookmark shelf_list segment audience "
        "favorite wishlist queue_list bucket_list view smartlist album_list",
        "Trade show leads|Regular customers|To review|Spring collection|Supplier contacts|Reading list|"
        "Shared with Finance|"
        "Press contacts|Gift ideas|Project files|Holiday photos|Archive 2025|Follow up later|Lapsed donors",
    ),
    _family(
        "channel room_chat conversation chat inbox mailbox group_chat dm",
        "general|support-desk|announcements|design-review|weekend-shift|random|release-planning|sales-north|"
        "customer-questions|lunch|facilities|incident-room",
        Style.SLUG,
    ),
    _family(
        "message mail email sms notification reply comment note feedback announcement reminder letter "
        "broadcast_message",
        "Your order has shipped|Meeting moved to Thursday|Welcome aboard|Invoice attached|Reminder: feedback due|"
        "Change of address|Thank you for your visit|Schedule for next week|Question about delivery|"
        "Access request approved|Minutes from Tuesday|Please confirm your booking",
    ),
    _family(
        "event conference meetup webinar workshop gathering festival concert meeting appointment booking reservation "
        "visit "
        "interview call_meeting",
        "Open Evening|Spring Workshop|Quarterly Review|Partner Breakfast|Harvest Festival|Charity Run|Design Meetup|"
        "Team Offsite|Product Webinar|Autumn Recital|Board Meeting|First Aid Refresher|Garden Party",
    ),
    _family(
        "course training class_course curriculum programme_course workshop_course certification subject_course "
        "offering "
        "tutorial",
        "Intro to Pottery|Spanish for Beginners|Fire Safety Basics|Spreadsheet Skills|Writing Workshop|"
        "Manual Handling|First Aid|Watercolour Evenings|Public Speaking|Bookkeeping Basics|Photography Weekend|"
        "Project Planning",
    ),
    _family(
        "quiz exam test assessment survey questionnaire form poll evaluation checklist",
        "Customer satisfaction 2026|Final exam|Fire safety check|Onboarding checklist|Reading test level 2|"
        "Volunteer sign-up|Workshop feedback|Vehicle inspection|Listening practice|Staff survey|Site visit form|"
        "Allergy questionnaire",
    ),
    _family(
        "question prompt query",
        "How did you hear about us?|Which branch did you visit?|Would you recommend us?|What time suits you best?|"
        "Do you need parking?|How many guests will come?|Which size do you prefer?|Was the delivery on time?|"
        "What could we do better?|Do you have any allergies?|When did you last visit?|Who should we contact?",
    ),
    _family(
        "answer option choice response variant_answer",
        "Yes|No|Not sure|Very satisfied|Rather satisfied|In the morning|In the evening|By post|By email|Friends|"
        "Local newspaper|At the counter",
    ),
    _family(
        "file document attachment template report contract agreement sheet spreadsheet presentation form_document "
        "manual certificate_document export import artifact upload",
        "Supplier agreement|Staff handbook|Quarterly report|Price list spring|Floor plan|Meeting minutes|"
        "Welcome letter|Risk assessment|Travel policy|Invoice template|Inventory March|Brand guidelines|"
        "Safety data sheet",
    ),
    _family(
        "dashboard chart report_dashboard widget panel graph_chart visualization visual metric_chart scorecard",
        "Sales overview|Website traffic|Open tickets|Energy use|Stock levels|Delivery times|Monthly revenue|"
        "Customer growth|Server health|Support workload|Campaign results|Budget against actual",
    ),
    _family(
        "metric monitor check alarm probe indicator kpi threshold sla objective goal target uptime",
        "Response time|Disk usage|Error rate|Failed logins|Queue length|CPU load|Checkout latency|Memory use|"
        "Certificate expiry|Page load time|Orders per hour|Backup age",
    ),
    _family(
        "model experiment endpoint_model trial notebook classifier predictor algorithm training_job tuning_job "
        "recommender",
        "churn-forecast|image-tagger|price-elasticity|spam-filter|demand-forecast|product-ranking|sentiment-reviews|"
        "delivery-eta|fraud-score|speech-notes|document-reader|baseline",
        Style.SLUG,
    ),
    _family(
        "image_build ami blueprint_vm snapshot_image firmware os distribution layer stack template_stack blueprint",
        "web-base|ubuntu-hardened|build-agent|database-node|edge-router|windows-desktop|gpu-worker|minimal-linux|"
        "kiosk-display|monitoring-agent|bastion-host|mail-relay",
        Style.SLUG,
    ),
    _family(
        "domain hostname dns_zone host_zone subdomain record_dns",
        "kestrel-labs.example|bluebird-logistics.example|maple-dental.example|harbour-finch.example|oakline.example|"
        "sunrise-bakery.example|verano-travel.example|northgate-foods.example|tilbury-print.example|"
        "copper-kettle.example|atlas-freight.example|juniper-floristry.example",
    ),
    _family(
        "recipe dish menu meal food ingredient drink beverage cocktail",
        "Lentil soup|Roast pumpkin|Lemon tart|Mushroom risotto|Garden salad|Rye bread|Fish pie|Ginger lemonade|"
        "Tomato galette|Apple crumble|Chickpea stew|Oat pancakes|Beetroot hummus",
    ),
    _family(
        "animal pet dog cat horse livestock species breed",
        "Bramble|Luna|Otis|Pepper|Maple|Biscuit|Juno|Hazel|Rufus|Clover|Pickle|Wren|Mabel|Basil",
    ),
    _family(
        "game match tournament league season_sport fixture round contest competition race quest level",
        "Harbour Cup|Spring League|City Derby|Winter Open|Under-18 Final|Charity Match|Northern Relay|Sunday Round|"
        "Chess Evening|Island Race|Junior Trophy|Club Championship",
    ),
    _family(
        "club_team franchise club",
        "Harbour Rovers|Northgate United|Old Mill Athletic|Riverside Rowers|Hilltop Hawks|Castle Yard Cyclists|"
        "Lakeview Lions|Station Road Strikers|Orchard Park Runners|East Dock Divers|Market Square Chess|"
        "Southbank Swifts",
    ),
    _family(
        "trip journey tour itinerary route_trip flight ride excursion cruise leg stop",
        "Lyon to Turin|Coastal weekend|Harbour loop|Morning commute|Airport transfer|Vineyard tour|Night train north|"
        "Island ferry|Old town walk|School run|Lake circuit|Mountain pass",
    ),
    _family(
        "prescription medication drug treatment vaccine therapy procedure diagnosis condition allergy symptom "
        "encounter "
        "immunization",
        "Amoxicillin 500 mg|Annual check-up|Seasonal flu vaccine|Physiotherapy knee|Hay fever|Blood pressure control|"
        "Eye examination|Tetanus booster|Ibuprofen 400 mg|Dental cleaning|Migraine|Allergy test",
    ),
    _family(
        "skill competency qualification certificate_skill language_skill",
        "First aid|Forklift driving|Spanish|Bookkeeping|Food hygiene|Public speaking|Welding|Sign language|"
        "Spreadsheet modelling|Network cabling|Copy editing|Negotiation",
    ),
    _family(
        "position vacancy opening job_posting role_job occupation posting requisition",
        "Warehouse supervisor|Junior bookkeeper|Night nurse|Delivery driver|Front-end developer|Store assistant|"
        "Electrician|Data analyst|Pastry chef|Office manager|Service technician|Event coordinator",
    ),
    _family(
        "shift schedule calendar timesheet roster slot_time availability timetable timeslot holiday leave absence "
        "time_entry",
        "Early shift|Late shift|Night shift|Weekend cover|Public holidays|Delivery windows|School term|On-call rota|"
        "Summer hours|Stocktaking|Maintenance window|Opening hours",
    ),
    _family(
        "feature flag_feature toggle setting preference option_setting configuration config parameter property "
        "variable "
        "attribute field custom_field",
        "Dark mode|Express checkout|Delivery notes|Gift wrapping|Two-step login|Weekly summary|Order comments|"
        "Preferred language|Cost centre|Purchase order number|Newsletter opt-in|Dietary needs",
    ),
    _family(
        "tax fee surcharge levy duty",
        "Standard VAT|Reduced VAT|Sales tax|Delivery fee|Small order surcharge|Import duty|City tax|Service charge|"
        "Booking fee|Zero rated|Late fee|Packaging levy",
    ),
    _family(
        "currency",
        "Euro|US dollar|Pound sterling|Swiss franc|Japanese yen|Swedish krona|Norwegian krone|Canadian dollar|"
        "Danish krone|Polish zloty|Czech koruna|Australian dollar",
    ),
    _family(
        "language locale",
        "English|German|French|Spanish|Portuguese|Italian|Norwegian|Dutch|Japanese|Swedish|Danish|Finnish|Polish",
    ),
    _family(
        "version revision changeset tag_version patch draft milestone_version build_version",
        "1.0.0|1.1.0|1.2.3|2.0.0|2.1.4|2.2.0|2.3.1|3.0.0|3.0.2|3.1.0|3.2.5|4.0.0",
    ),
    _family(
        "theme skin style font color colour palette layout design",
        "Harbour blue|Paper|Midnight|Meadow|Terracotta|High contrast|Linen|Slate|Sunrise|Birch|Classic|Minimal",
    ),
    _family(
        "webpage landing_page form_page screen_page storefront blog_site homepage popup",
        "Spring landing page|About us|Contact|Pricing|Careers|Help centre|Book a visit|Our story|Store locator|"
        "Terms of service|Partner sign-up|Gift finder",
    ),
)
"""Families by the nouns that they name; a word belongs to the first family that lists it."""

"""Sentences that people leave in free text, about the row that they stand in."""

from typing import Final

DESCRIPTIONS: Final = (
    "{Name} is looked after by the team in {city}.",
    "{Name}, set up for {company} last year.",
    "Used by {company} in {city}. Reviewed every quarter.",
    "{Name} replaces the {noun} that was in use before.",
    "Main {noun} for {company}; ask {person} before changing it.",
    "{Name}: agreed with {person} in the spring planning round.",
    "A {noun} for the {city} office. Shared with {company}.",
    "{Name} covers the weekday traffic in {city}.",
    "Second {noun} of its kind, kept for the busy season.",
    "{Name} was moved here from the old system.",
    "Requested by {person} for the {city} branch.",
    "{Name} is checked once a month by {person}.",
    "Temporary {noun} while the one in {city} is being replaced.",
    "{Name}, maintained together with {company}.",
)
NOTES: Final = (
    "Waiting to hear back from {person}.",
    "Agreed on the phone with {person}.",
    "Call before 10 and ask for {person}.",
    "Leave it at the front desk in {city}.",
    "Only on weekdays, please.",
    "Second attempt; the first one bounced.",
    "Discussed with {company}, all fine.",
    "Needs a signature from {person}.",
    "Checked twice, nothing missing.",
    "Moved from the old system in January.",
    "Handle with care, this {noun} is needed for {city}.",
    "{company} asked for a later slot.",
    "Draft, not final yet.",
    "For the new starters in {city}.",
    "Keep until the {noun} has been reviewed.",
    "See the mail from {person} about {name}.",
)
MESSAGES: Final = (
    "Hello {first}, your question about {name} has been answered.",
    "Thank you for your patience. {Name} is ready.",
    "Could you have a look at {name} before Friday?",
    "The {noun} has been updated as discussed with {person}.",
    "We moved the visit in {city} to next week.",
    "Please confirm the details of {name}.",
    "{person} will take over from here.",
    "Good morning, is there any news about {name}?",
    "The delivery for {company} arrived in {city} this morning.",
    "I have attached what {company} sent us.",
    "All done on our side, thanks again.",
    "Sorry for the delay, {name} took longer than planned.",
)
REASONS: Final = (
    "Requested by {person}",
    "No longer needed in {city}",
    "Replaced by a newer {noun}",
    "Duplicate of an earlier {noun}",
    "Budget was not approved",
    "Customer changed the date",
    "Wrong address given",
    "Out of stock until April",
    "Agreed with {company}",
    "Routine maintenance",
    "Not reachable for two weeks",
    "Quality check failed",
)
SUBJECTS: Final = (
    "Question about {name}",
    "Your visit to {city}",
    "{Name}: next steps",
    "Change of delivery date",
    "Invoice for {company}",
    "Welcome to {company}",
    "Access for {person}",
    "Reminder: {name}",
    "Minutes of the meeting in {city}",
    "Update on {name}",
    "Feedback wanted on {name}",
    "Thank you, {first}",
)
UNICODE_TEXT: Final = "Ærø's café “Größe 5” – naïve résumé, 東京 50% _off_ \U0001f388"  # noqa: RUF001
"""Letters beyond ASCII, quotes of both kinds, wildcards of LIKE and a character outside the basic plane."""

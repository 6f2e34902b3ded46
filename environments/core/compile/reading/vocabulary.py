"""Word tables: what names of inputs and members say. Names are squashed: lower-case letters and digits only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of a table."""
    return frozenset(text.split())


# --- Inputs -----------------------------------------------------------------------------------------------------------

PAGE: Final = words(
    "page pagenumber pageno pageindex pagenum currentpage pagenr pageid pagenumberoffset p paginationpage pn"
)
SIZE: Final = words(
    "limit perpage pagesize maxresults maxresult maxrecords maxitems max top rowcount pagelimit itemsperpage rows"
    " count size take resultsperpage first num resultperpage limitsize pagecount maxcount maxpagesize"
    " pagesizelimit numresults numrows nbresults resultlimit recordsperpage entriesperpage results maxperpage n"
    " querylimit fetchsize listlimit maxnumresults maxnumberofresults numberofresults limitcount noofresults"
    " paginationlimit paginationperpage"
)
OFFSET: Final = words(
    "offset skip start startindex startat from pageoffset startposition startoffset resultoffset skipcount"
    " startrow startrecord startnum offsetcount firstresult rowoffset iteroffset paginationoffset startfrom"
)
CURSOR: Final = words(
    "cursor pagetoken nexttoken nextpagetoken continuationtoken marker after position skiptoken nextcursor"
    " pagecursor continue exclusivestartkey nextmarker startkey continuation nextpage startcursor pageaftercursor"
    " aftercursor pageafter paginationtoken exclusivestarttoken starttoken pagemarker scrollid nextpagecursor"
    " bookmark startingtoken pagestate continuationkey nextpagekey streamposition"
)
AFTER: Final = words("startingafter afterid lastid sinceid startafter startafterid idafter fromid pagestartingafter")
STRICT_PAGING: Final = words(
    "page pagenumber pageno pageindex pagenum currentpage limit perpage pagesize maxresults maxrecords maxitems"
    " offset skip startindex startat cursor pagetoken nexttoken nextpagetoken continuationtoken top itemsperpage"
    " pagelimit pageoffset pagecursor resultsperpage startingafter pageaftercursor"
)
"""Inputs that page even where the rows have such a member."""
SORT: Final = words(
    "sort sortby orderby ordering sortfield sortkey sortcolumn order sorting orderfield sortproperty"
    " sortattribute sortparam sidx sortname ordercolumn orderbyfield sortcol"
)
DIRECTION: Final = words(
    "direction sortorder sortdirection sortdir orderdirection order orderdir ascdesc dir sorttype sord ordertype"
    " sortbydirection orderbydirection sortmode orderbydir ordering sort orderingdirection"
)
SEARCH: Final = words(
    "q query search searchterm searchtext keyword keywords searchquery term searchstring text searchphrase s"
    " searchkeyword fulltext freetext quicksearch querytext querystring searchvalue filtertext contains textsearch"
    " searchkey searchfor generalsearch searchkeywords"
)
DIRECTION_VALUES: Final = words("asc desc ascending descending up down ascend descend 1 0")

NOISE: Final = words(
    "apikey apitoken accesstoken oauthtoken accesskey secretkey authtoken authkey apisecret subscriptionkey"
    " appkey xapikey authorization auth fields expand select format alt callback prettyprint quotauser userip"
    " uploadprotocol uploadtype xgafv apiversion pretty optpretty optfields optexpand optjsonp include includes"
    " includefields excludefields dryrun clienttoken clientrequesttoken idempotencykey idempotencytoken useragent"
    " accept contenttype acceptlanguage xamztarget xamzncclienttoken timeout timeoutseconds ifmatch ifnonematch"
    " xmsclientrequestid fieldmanager fieldvalidation allowwatchbookmarks watch resourceversion"
    " resourceversionmatch labelselector fieldselector sendinitialevents graceperiodseconds orphandependents"
    " propagationpolicy returnpartialsuccess updatemask readmask validateonly jsonp xrequestid supportsalldrives"
    " supportsteamdrives suppresswebhooks webidtype selectedfields xmsversion clientsecret embed outputformat"
    " responseformat returnformat fieldmask fieldset requestedfields metafields returnfields includedetails prefer"
    " oauthconsumerkey oauthsignature sig signature signedheaders xamzalgorithm xamzcredential xamzdate"
    " xamzsecuritytoken xamzsignature xamzsignedheaders awsaccesskeyid signaturemethod signatureversion"
    " securitytoken cachebuster nocache requestid clientrequestid xmsrequestid includeinherited concise verbose"
    " envelope paged returntotal includetotal includecount withtotal counttotal calculatetotal includetotalcount"
    " expandfields attributestoget projection projectionexpression includedeprecated onbehalfofcontentowner"
    " onbehalfofcontentownerchannel userproject requestreason paramsproperties partial responseview httpmethod"
)
"""About the transport or the presentation, whatever a resource calls its members."""
SOFT_NOISE: Final = words(
    "key token version action language lang locale view compact force async wait preview appid clientid output"
    " expands timezone tz currencyformat dateformat charset source mode notify sendnotification sendnotifications"
    " maxage session sessionid raw full details detailed extended style units deep cache depth hl gl cc json xml"
    " ver v site confirm silent debug trace redirect return returnurl redirecturi includedeleted includearchived"
    " includeall"
)
"""About the transport where the resource has no such member."""
BODY_NOISE: Final = words(
    "clienttoken clientrequesttoken idempotencykey idempotencytoken dryrun clientrequestid apikey accesstoken"
    " xamzclienttoken idempotencyid"
)
"""Members of a body that are about the transport."""

NOISE_HEADERS: Final = (
    r"^(x)?amz|^xms|^xgoog|^sec|auth|token|key$|apikey|secret|signature|accept|content|^ifm|^ifn|^ifunm|requestid|^trace|"
    r"correlation|idempot|version|language|locale|useragent|^date$|^host$|^origin$|^referer|^cookie|session|tenant|"
    r"^xorg|organi[sz]ation|^xaccount|accountid|clientid|^xclient|appid|^xapp|application|company|customerid|subscription|"
    r"^prefer$|^range$|^etag|timestamp|^xdate|^forward|^xforward|^xreal|ipaddress|device|currency|timezone|^xuser|userid|"
    r"csrf|xsrf|^xrequestedwith|requestedwith|psu|tpp|digest|certificate|encoding|^cache|channel|platform|partner|"
    r"merchant|workspace|environment|region|market|^store$|storecode|connection|compartment|impersonate|onbehalfof|domain|"
    r"username|integrationcode|consumer|apiid|ticket|nonce|sandbox|rapidapi|methodoverride|consent|^restrange|fapi|"
    r"^x(cm|hip|hiu)id$|svcname|sdk$|requester|userrole|operationid|requesttimeout|xconfirm|serviceid"
)
"""Headers that are about who calls, from where and how."""

AT_LEAST_WORDS: Final = words("min minimum gte ge since from after start begin lower newer starting earliest")
AT_MOST_WORDS: Final = words("max maximum lte le until to before end upper older ending latest till")
TIME_RANGES: Final = {
    "since": True, "until": False, "after": True, "before": False, "from": True, "to": False, "fromdate": True,
    "todate": False, "datefrom": True, "dateto": False, "startdate": True, "enddate": False, "starttime": True,
    "endtime": False, "starttimestamp": True, "endtimestamp": False, "begindate": True, "fromtime": True,
    "totime": False, "startdatetime": True, "enddatetime": False, "mindate": True, "maxdate": False, "timefrom": True,
    "timeto": False, "start": True, "end": False, "datestart": True, "dateend": False, "begin": True, "startingdate":
    True, "endingdate": False, "sincedate": True, "untildate": False, "afterdate": True, "beforedate": False,
    "mintime": True, "maxtime": False, "timemin": True, "timemax": False, "timestart": True, "timeend": False,
    "begintime": True, "startat": True, "endat": False, "startsat": True, "endsat": False, "datemin": True,
    "datemax": False,
}  # fmt: skip
"""Whether a bare range begins (or ends) there; which time it is about, only a description or a sole time can say."""

# --- Members ----------------------------------------------------------------------------------------------------------

REFERENCE_MEMBERS: Final = words("id gid uuid guid sid arn sha href self selflink login slug objectid resourceid")
"""A nested object with one of these is another resource, shown in short."""
IDENTITY_MEMBERS: Final = words("id uuid guid gid sid arn key slug")
LIST_MEMBERS: Final = words(
    "data items results result value values entries records resources elements content rows list objects hits"
    " entities response docs documents collection member members hydramember embedded payload resultset datalist"
    " searchresults"
)
"""Arrays of rows, whatever the resource is called."""
ROW_MEMBERS: Final = words(
    "data result item response resource object payload entity content body record embedded output"
)
"""Objects that hold the row, whatever it is called."""
META_MEMBERS: Final = words(
    "statusreason statusmessage statustext errorcode errormessage responsecode responsestatus responsemessage"
    " resultcode resultmessage requestuuid executiontime apiversion success ok status statuscode code message"
    " messages msg error errors warnings meta metadata links link pagination paging paginginfo pageinfo"
    " pagingmetadata kind etag requestid responsemetadata included unreachable unreachables selflink timestamp"
    " self object url uri version jsonapi facets aggregations took time start end page pages limit offset size"
    " more hasmore isend istruncated empty sort pageable number numberofelements expand warning query maxresults"
    " responsecontext visitorid eventid servertime first last schemas itemsperpage startindex iserror haserror"
    " issuccess issuccessful resultinfo paginator summary cursors elapsed duration prev previous next count total"
    " cursor searchid partialsuccess datetime responsetime server processingtime listcursor batch errordetails"
    " reason detail faults fault additionalinformation inlinecount perpage currentpage totalpages hasnextpage"
    " haspreviouspage params debug stat fieldtypes context hydraview hydrasearch hydratotalitems subscriptioninfo"
    " deprecation apicontext resultstatus missing failures"
)
"""What may stand beside rows without being part of them."""
META_PATTERN: Final = (
    r"^(total|num)?(count|total|pages?|records|results?|items|size)(count|total|returned|found|size)?$|^total|"
    r"(page|next|previous|prev|continuation)(token|cursor|link|url|uri|marker|page)|^odata|^at(odata|context)|"
    r"truncated$|hasmore|hasnext|hasprev|links?$|(cursor|marker)$|^next|^prev"
)
PAGING_OBJECTS: Final = words(
    "meta metadata pagination paging paginginfo pageinfo page pageable paginator resultinfo responsemetadata"
    " cursors pagingmetadata summary info resultset"
)
TOTAL: Final = words(
    "total totalcount totalresults totalitems totalrecords totalelements totalhits totalsize recordcount"
    " resultcount odatacount counttotal totalentries numfound totalnumber totalrows totalfound totalresultcount"
    " totalnumberofresults totalitemcount nbhits recordstotal hydratotalitems totalrecordcount totalobjects"
    " allcount totalcnt totalentities"
)
HERE: Final = words(
    "numberofelements returned itemcount resultsize numreturned countreturned returnedcount recordsreturned"
    " numitems resultsreturned currentcount itemsinpage"
)
COUNT: Final = words("count size length number num")
"""Of all rows or of those here: only more can tell."""
HAS_MORE: Final = words(
    "hasmore more istruncated truncated hasnextpage hasnext hasmoreitems moreavailable morerecords hasmoreresults"
    " morefollows hasmorerecords hasmoredata ismore"
)
NEXT_CURSOR: Final = words(
    "nextpagetoken nexttoken nextcursor continuationtoken nextmarker continue endcursor nextpagecursor"
    " nextcontinuationtoken scrollid cursor marker nextbookmark paginationtoken nextcontinuation nextkey pagetoken"
    " nextposition nextskiptoken cursornext after lastevaluatedkey"
)
NEXT_PAGE: Final = words("nextpage nextpagenumber pagenext nextpageno")
PAGE_MEMBERS: Final = words("page currentpage pagenumber pageno pageindex pagenum")
SIZE_MEMBERS: Final = words("perpage limit pagesize itemsperpage maxresults resultsperpage pagelimit recordsperpage")
OFFSET_MEMBERS: Final = words("offset startindex skip startat")
NUM_PAGES: Final = words(
    "totalpages pagecount numpages pagestotal numberofpages totalpagecount lastpage pages numberpages"
)
SUCCESS: Final = words("success ok issuccess issuccessful succeeded")
FAILURE: Final = words("error iserror haserror haserrors haserrored")
STATUS_CODES: Final = words("statuscode code httpstatus httpcode httpstatuscode responsecode status")
NOT_ROWS: Final = words("errors warnings links included messages error unreachable unreachables fieldtypes facets")
"""Arrays beside the rows."""

CREATED: Final = words(
    "createdat created createdon creationtime creationdate createtime datecreated createddate createddatetime"
    " creationtimestamp insertedat createdtime createdts createdatutc timecreated creationdatetime createdutc"
    " createdate createdatetime dateadded addedat insertdate timeofcreation creation createdtimestamp"
    " createtimestamp"
)
UPDATED: Final = words(
    "updatedat updated modified modifiedat lastmodified updatetime dateupdated lastupdated updatedon"
    " lastmodifieddatetime datemodified modifieddate lastupdatedat lastmodifieddate modifiedon updatedtime"
    " lastupdatetime lastmodifiedtime lastmodifiedat updateddate lastmodifiedtimestamp lastupdateddate"
    " lastupdatedtime updateddatetime lastmodificationtime lastmodificationdate lastchanged lastupdatedon"
    " changedat updatedtimestamp updatetimestamp modifiedtime lastupdate modificationdate modificationtime"
    " lastmodifiedon lastupdateddatetime timeupdated lastupdatedtimestamp modifieddatetime dateofmodification"
    " changed"
)
STATUS: Final = words(
    "status state lifecyclestate phase stage lifecyclestatus currentstatus currentstate jobstatus taskstatus"
    " runstatus workflowstatus workflowstate orderstatus paymentstatus instancestate instancestatus"
    " executionstatus provisioningstate statusname approvalstatus reviewstatus publishstatus publicationstatus"
    " operationalstate resourcestate jobstate condition activationstate"
)
"""Columns that hold a row's state; others may end in `status` or `state`."""

# --- States -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Transition:
    """What a verb does to a row's state. All words are squashed.

    Attributes:
        targets: Values that it leads to, the likeliest first, in every spelling.
        origins: Values from which alone it starts, where the verb itself says so; empty otherwise. Where a column has
            none of them, nothing is known.
        is_terminal: Whether a row that is there stays there: done twice, the verb is refused.
        flags: Names of boolean columns with the value that they get, the likeliest first.
        opposite: The verb that takes it back; empty without one.
    """

    targets: tuple[str, ...]
    origins: tuple[str, ...] = ()
    is_terminal: bool = False
    flags: tuple[tuple[str, bool], ...] = ()
    opposite: str = ""


def _leads_to(
    targets: str, flags: str = "", *, origins: str = "", unset: str = "", is_terminal: bool = False, opposite: str = ""
) -> Transition:
    pairs = [*((name, True) for name in flags.split()), *((name, False) for name in unset.split())]
    return Transition(tuple(targets.split()), tuple(origins.split()), is_terminal, tuple(pairs), opposite)


_PENDING: Final = (
    "pending waiting requested submitted review inreview underreview proposed open awaiting awaitingapproval"
    " pendingapproval waitingforapproval needsapproval pendingreview waitingforreview"
)
_PAUSED: Final = "paused suspended stopped halted onhold hold"
_DELETED: Final = "deleted archived trashed removed softdeleted"
_ENDED: Final = "closed resolved completed done solved finished"

TRANSITIONS: Final[Mapping[str, Transition]] = {
    "abort": _leads_to("aborted abort aborting cancelled canceled", "aborted isaborted", is_terminal=True),
    "accept": _leads_to("accepted", "accepted isaccepted", origins=_PENDING, is_terminal=True),
    "acknowledge": _leads_to("acknowledged acknowledge acked ack", "acknowledged isacknowledged"),
    "activate": _leads_to("active activated enabled", "active isactive activated enabled isenabled",
                          opposite="deactivate"),
    "approve": _leads_to("approved", "approved isapproved", origins=_PENDING, is_terminal=True),
    "archive": _leads_to("archived archive", "archived isarchived", is_terminal=True, opposite="unarchive"),
    "ban": _leads_to("banned blocked", "banned isbanned", opposite="unban"),
    "block": _leads_to("blocked", "blocked isblocked", opposite="unblock"),
    "cancel": _leads_to("cancelled canceled cancel cancelling canceling", "cancelled canceled iscancelled iscanceled",
                        is_terminal=True),
    "capture": _leads_to("captured succeeded", "captured iscaptured", is_terminal=True,
                         origins="uncaptured requirescapture authorized authorised"),
    "close": _leads_to("closed close", "closed isclosed", unset="open isopen", is_terminal=True, opposite="reopen"),
    "complete": _leads_to("completed complete done finished", "completed iscompleted complete done", is_terminal=True),
    "confirm": _leads_to("confirmed", "confirmed isconfirmed", is_terminal=True),
    "deactivate": _leads_to("inactive deactivated disabled", unset="active isactive activated enabled isenabled",
                            opposite="activate"),
    "decline": _leads_to("declined rejected", "declined isdeclined", origins=_PENDING, is_terminal=True),
    "deprecate": _leads_to("deprecated", "deprecated isdeprecated", opposite="undeprecate"),
    "disable": _leads_to("disabled inactive", "disabled isdisabled", unset="enabled isenabled active isactive",
                         opposite="enable"),
    "dismiss": _leads_to("dismissed", "dismissed isdismissed", is_terminal=True),
    "enable": _leads_to("enabled active", "enabled isenabled active isactive", unset="disabled isdisabled",
                        opposite="disable"),
    "expire": _leads_to("expired", "expired isexpired", is_terminal=True),
    "finalize": _leads_to("finalized finalised final open", "finalized isfinalized", origins="draft", is_terminal=True),
    "finish": _leads_to("finished completed complete done", "finished isfinished completed", is_terminal=True),
    "freeze": _leads_to("frozen", "frozen isfrozen", opposite="unfreeze"),
    "fulfill": _leads_to("fulfilled", "fulfilled isfulfilled", is_terminal=True),
    "hide": _leads_to("hidden", "hidden ishidden", unset="visible isvisible", opposite="unhide"),
    "lock": _leads_to("locked", "locked islocked", opposite="unlock"),
    "mute": _leads_to("muted", "muted ismuted", opposite="unmute"),
    "open": _leads_to("open opened", "open isopen", unset="closed isclosed"),
    "pause": _leads_to("paused pause pausing", "paused ispaused", opposite="resume"),
    "pay": _leads_to("paid", "paid ispaid", is_terminal=True),
    "pin": _leads_to("pinned", "pinned ispinned", opposite="unpin"),
    "publish": _leads_to("published live", "published ispublished", unset="draft isdraft", opposite="unpublish"),
    "reactivate": _leads_to("active reactivated", "active isactive enabled",
                            origins="inactive deactivated suspended disabled"),
    "reject": _leads_to("rejected declined denied", "rejected isrejected", origins=_PENDING, is_terminal=True),
    "reopen": _leads_to("reopened open opened active", origins=_ENDED, unset="closed isclosed", opposite="close"),
    "resolve": _leads_to("resolved", "resolved isresolved", is_terminal=True),
    "restore": _leads_to("active available restored", origins=_DELETED, opposite="archive",
                         unset="deleted isdeleted archived isarchived trashed istrashed"),
    "resume": _leads_to("resumed running active inprogress resuming", origins=_PAUSED, opposite="pause",
                        unset="paused ispaused suspended"),
    "revoke": _leads_to("revoked", "revoked isrevoked", is_terminal=True),
    "ship": _leads_to("shipped", "shipped isshipped", is_terminal=True),
    "star": _leads_to("starred", "starred isstarred", opposite="unstar"),
    "start": _leads_to("running started inprogress starting active", "running isrunning started", opposite="stop"),
    "stop": _leads_to("stopped stopping", "stopped isstopped", unset="running isrunning", opposite="start"),
    "submit": _leads_to("submitted pending inreview waitingforreview", "submitted issubmitted",
                        origins="draft new created open preparing", is_terminal=True),
    "suspend": _leads_to("suspended", "suspended issuspended", opposite="unsuspend"),
    "terminate": _leads_to("terminated terminating", "terminated isterminated", is_terminal=True),
    "trash": _leads_to("trashed trash", "trashed istrashed intrash", opposite="restore"),
    "unarchive": _leads_to("active open available unarchived", origins="archived", unset="archived isarchived",
                           opposite="archive"),
    "unban": _leads_to("active", origins="banned blocked", unset="banned isbanned", opposite="ban"),
    "unblock": _leads_to("active unblocked", origins="blocked", unset="blocked isblocked", opposite="block"),
    "undelete": _leads_to("active available", origins=_DELETED, unset="deleted isdeleted archived trashed"),
    "undeprecate": _leads_to("active", origins="deprecated", unset="deprecated isdeprecated", opposite="deprecate"),
    "unfreeze": _leads_to("active", origins="frozen", unset="frozen isfrozen", opposite="freeze"),
    "unhide": _leads_to("visible", "visible isvisible", origins="hidden", unset="hidden ishidden", opposite="hide"),
    "unlock": _leads_to("unlocked", origins="locked", unset="locked islocked", opposite="lock"),
    "unmute": _leads_to("active unmuted", origins="muted", unset="muted ismuted", opposite="mute"),
    "unpause": _leads_to("active running", origins=_PAUSED, unset="paused ispaused", opposite="pause"),
    "unpin": _leads_to("unpinned", origins="pinned", unset="pinned ispinned", opposite="pin"),
    "unpublish": _leads_to("unpublished draft", origins="published live", unset="published ispublished",
                           opposite="publish"),
    "unstar": _leads_to("unstarred", unset="starred isstarred", opposite="star"),
    "unsuspend": _leads_to("active", origins="suspended", unset="suspended issuspended", opposite="suspend"),
    "verify": _leads_to("verified", "verified isverified", origins="unverified pending pendingverification",
                        is_terminal=True),
    "void": _leads_to("voided void", "voided isvoided void", is_terminal=True),
    "withdraw": _leads_to("withdrawn", "withdrawn iswithdrawn", is_terminal=True),
}  # fmt: skip
"""By verb, its plain form; `verbs.VERB_FORMS` names others."""

INITIAL_STATES: Final = (
    "draft", "new", "created", "pending", "open", "opened", "queued", "todo", "requested", "submitted", "unpaid",
    "inactive", "active", "enabled", "scheduled", "available", "unread", "ready", "started", "running", "valid",
)  # fmt: skip
"""Values that something begins with, the surest first."""

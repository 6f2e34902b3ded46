from itertools import pairwise

import pytest

from environments.core.access import ROLE_PERMISSIONS, Permission, Role, Scope, role_permissions, scope_permissions


def test_each_role_may_more_than_the_one_before_it():
    roles = [Role.VIEWER, Role.REVIEWER, Role.OPERATOR, Role.ADMIN]

    for lower, higher in pairwise(roles):
        assert ROLE_PERMISSIONS[lower] < ROLE_PERMISSIONS[higher]


@pytest.mark.parametrize(("role", "adjudicates"), [("viewer", False), ("reviewer", True), ("operator", True)])
def test_lead_adjudicates_when_the_role_reviews(role, adjudicates):
    assert (Permission.ADJUDICATE in role_permissions(Role(role), is_lead=True)) is adjudicates
    assert Permission.ADJUDICATE not in role_permissions(Role(role), is_lead=False)


def test_scopes_add_up_and_only_admin_administers():
    assert scope_permissions([Scope.READ, Scope.JOBS]) == {Permission.VIEW, Permission.RUN_JOBS}
    assert scope_permissions([]) == set()
    for scope in set(Scope) - {Scope.ADMIN}:
        assert Permission.ADMINISTER not in scope_permissions([scope])

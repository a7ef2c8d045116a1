package page

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Who is told how runs end is seen, added, changed, tried and deleted by forms, by operators alone.
func TestNotifications_RulesByForms(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	rules := func() string {
		return s.one(`select coalesce(string_agg(concat_ws(' ', id, project, prefix, statuses, mail, webhook, command, unless_success_within), '; '), '')
			from bellhop.notice_rule`)
	}
	form := url.Values{"project": {"demo"}, "status": {"failed", "skipped"}, "mail": {"ops@example.org, b@example.org"},
		"within": {"1h"}, "back": {"/notifications"}}
	to := s.post(http.StatusSeeOther, "/do/rule", form)
	page := s.get(http.StatusOK, to)
	for _, want := range []string{"the rule holds from now on", "of demo", "ops@example.org, b@example.org", `within">1h`, `action="/do/unrule"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q:\n%s", want, page)
		}
	}
	if got, want := rules(), "1 demo  {failed,skipped} {ops@example.org,b@example.org} {} 01:00:00"; got != want {
		t.Errorf("the rule is %q, not %q", got, want)
	}
	// Its form has what it is, and gives that back.
	page = s.get(http.StatusOK, "/notifications?rule=1")
	for _, want := range []string{`name="rule" value="1"`, `value="skipped" checked`, `name="within" value="1h"`, "Change</button>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the form does not have %q", want)
		}
	}
	form.Set("rule", "1")
	form.Set("webhook", "https://example.org/hook")
	s.post(http.StatusSeeOther, "/do/rule", form)
	if got := rules(); !strings.Contains(got, "https://example.org/hook") || strings.Contains(got, ";") {
		t.Errorf("it is changed to %q", got)
	}
	s.post(http.StatusSeeOther, "/do/ruletest", form)
	if page = s.get(http.StatusOK, "/notifications"); strings.Count(page, "waiting") != 3 || !strings.Contains(page, "no running instance can send it") {
		t.Errorf("three messages do not wait:\n%s", page)
	}

	// What cannot be right is said, and nothing is written.
	for _, bad := range []url.Values{
		{}, {"mail": {"nobody"}}, {"webhook": {"ftp://x"}}, {"webhook": {"https://a:b@example.org"}}, {"mail": {"a@b.c"}, "within": {"soon"}},
		{"mail": {"a@b.c"}, "status": {"nothing"}}, {"mail": {"a@b.c"}, "within": {"-1h"}},
	} {
		s.post(http.StatusBadRequest, "/do/rule", bad)
	}
	form.Set("rule", "99")
	for _, verb := range []string{"rule", "unrule", "ruletest"} {
		s.post(http.StatusNotFound, "/do/"+verb, form)
	}
	form.Set("rule", "1")
	s.who = aReader
	if page = s.get(http.StatusOK, "/notifications"); strings.Contains(page, "example.org") || strings.Contains(page, `action="/do/`) {
		t.Error("a reader sees whom rules name, or a button")
	}
	for _, verb := range []string{"rule", "unrule", "ruletest"} {
		s.post(http.StatusForbidden, "/do/"+verb, form)
	}
	s.who = anOperator
	s.post(http.StatusSeeOther, "/do/unrule", form)
	if got := rules(); got != "" {
		t.Errorf("%q is left", got)
	}
}

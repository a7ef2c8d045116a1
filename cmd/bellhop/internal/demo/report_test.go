package demo

import (
	"strings"
	"testing"
)

func TestPsql_HidesPasswordsAndSurvivesAShell(t *testing.T) {
	t.Parallel()
	if got := psql("postgres://u:secret@h/d'x", ""); got != `psql 'postgres://u:xxxxx@h/d'\''x'` {
		t.Error(got)
	}
	if strings.ContainsAny(demoShow, "\"$`\\!") {
		t.Errorf("the query does not fit between double quotes: %s", demoShow)
	}
}

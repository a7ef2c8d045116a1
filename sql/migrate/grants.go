package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A function names the roles that may call it in the last comment line before it: "-- Grant: submitter reader". "none"
// leaves it to the owner. Without such a line it has PostgreSQL's default, EXECUTE for public.
var (
	grantLine    = regexp.MustCompile(`(?m)^-- Grant: (.*)\n(.*)$`)
	functionLine = regexp.MustCompile(`^create or replace function (bellhop\.[a-z_]+)\(`)
	grantRoles   = []string{"submitter", "reader", "operator", "scheduler", "attach", "worker"}
)

// oneOfAName drops functions with other arguments under the names that a script makes, all but the one of each name
// that was written last. An older version left them: with two of a name, each call with defaults would be ambiguous.
const oneOfAName = `do $$
declare
  old regprocedure;
begin
  for old in
    select f.oid
      from (select p.oid, row_number() over (partition by p.proname order by age(p.xmin)) as n
              from pg_proc p where p.pronamespace = 'bellhop'::regnamespace and p.proname = any ('{%s}')) f
     where f.n > 1
  loop
    execute format('drop function %%s', old);
  end loop;
end
$$;
`

// withGrants is a script and the statements that its grant lines stand for. A role that the server lacks is left out:
// the login that migrates may not have been allowed to make it.
func withGrants(text string) (string, error) {
	var called []string
	granted := map[string][]string{}
	for _, m := range grantLine.FindAllStringSubmatch(text, -1) {
		f := functionLine.FindStringSubmatch(m[2])
		if f == nil {
			return "", fmt.Errorf("a grant line must stand right before a function, not before %q", m[2])
		}
		called = append(called, f[1])
		if m[1] == "none" {
			continue
		}
		for _, role := range strings.Fields(m[1]) {
			if !slices.Contains(grantRoles, role) {
				return "", fmt.Errorf("%s is granted to %q; roles are %s, or none", f[1], role, strings.Join(grantRoles, ", "))
			}
			granted[role] = append(granted[role], f[1])
		}
	}
	if called == nil {
		return text, nil
	}
	var b strings.Builder
	names := strings.ReplaceAll(strings.Join(called, ","), "bellhop.", "")
	fmt.Fprintf(&b, "%s\n"+oneOfAName+"revoke all on function %s from public;\n", text, names, strings.Join(called, ", "))
	if len(granted) == 0 {
		return b.String(), nil
	}
	b.WriteString("do $$\nbegin\n")
	for _, role := range grantRoles {
		if list := granted[role]; list != nil {
			fmt.Fprintf(&b, "  if exists (select from pg_roles where rolname = 'bellhop_%s') then\n"+
				"    grant execute on function %s to bellhop_%[1]s;\n  end if;\n", role, strings.Join(list, ", "))
		}
	}
	b.WriteString("end\n$$;\n")
	return b.String(), nil
}

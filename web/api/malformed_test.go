package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"bellhop/config"
	"bellhop/scheduler/grammar"
)

// What cannot be a definition is refused in the same sentence whoever is given it: a file, the API, or PostgreSQL.
func TestWorkflows_WhatIsMalformedIsRefusedAlikeByFileAPIAndSQL(t *testing.T) {
	t.Parallel()
	s := open(t)
	step := func(fields string) string { return `"steps": [{"name": "a", "type": "t", ` + fields + `}]` }
	sensor := func(fields string) string { return `"sensor": {` + fields + `}, "steps": [{"name": "a", "type": "t"}]` }
	const how = "write level:name=exclusive, level:name=shared, level:*=shared (all), level:?=shared (unknown), or big"
	const explains = "; bellhop cron explain describes schedules"
	long := strings.Repeat("x", 1025)
	var keys []string
	for _, f := range grammar.Step.Fields {
		keys = append(keys, f.Name)
	}
	for _, x := range []struct{ fields, want string }{
		{step(`"locks": ["customer7"]`), `lock "customer7", character 10: there is no colon after a level; ` + how},
		{step(`"locks": ["customer:7"]`), `lock "customer:7", character 11: there is no = with a mode after the name; write customer:7=exclusive, or customer:7=shared`},
		{step(`"locks": ["customer:${RUN}"]`), `there is no = with a mode after the name; write customer:${RUN}=exclusive, or customer:${RUN}=shared`},
		{step(`"locks": ["customer:7=mine"]`), `lock "customer:7=mine", character 12: "mine" is not a valid mode; write customer:7=exclusive, or customer:7=shared`},
		{step(`"locks": ["cust omer:7=shared"]`), `lock "cust omer:7=shared", character 5: ' ' may not stand in a level: letters a to z, digits, _ and - may; ` + how},
		{step(`"locks": [":7=shared"]`), `lock ":7=shared", character 1: the level is empty; ` + how},
		{step(`"locks": ["big:7=shared"]`), `big is a lock, and not a level; ` + how},
		{step(`"locks": ["customer:=shared"]`), `lock "customer:=shared", character 10: the name is empty; write customer:NAME=shared, or customer:*=shared for all`},
		{step(`"locks": ["customer:` + long + `=shared"]`), `the name has 1025 bytes, and may have 1024; write a shorter one, a hash for instance`},
		{step(`"locks": ["` + long + `:x=shared"]`), `the level has 1025 bytes, and may have 1024; ` + how},
		{step(`"locks": "customer:7=shared"`), `steps[0].locks must be a list, not a string; write it like ["customer:7=exclusive"]`},
		{step(`"locks": [""]`), `steps[0].locks[0] is empty`},
		{step(`"args": "${DAX}"`), `there is no parameter DAX; name it under parameters, or write $${DAX} if the text is to hold that`},
		{step(`"args": "${"`), `${ without a name and a } behind it: "${"; write ${NAME}, or $${ where the text is to hold ${`},
		{step(`"args": "${steps.b.result}"`), `there is no step "b"; a step is named by its name`},
		{step(`"vars": {"X": "${steps.a.result.x}"}`), `step "a" cannot take its own result; leave it out`},
		{step(`"run_on": "${steps.b.result.host}"`), `${steps.b.result.host} may not stand in run_on; results are for args and vars`},
		{step(`"share": "${steps.b.result}"`), `${steps.b.result} may not stand in share; results are for args and vars`},
		{step(`"share": "${DAX}"`), `there is no parameter DAX`},
		{step(`"args": "${steps.b}"`), `${ without a name and a } behind it: "${"; write ${NAME}, or $${ where the text is to hold ${`},
		{`"steps": [{"name": "a", "type": "t"}, {"name": "b", "type": "t", "after": []}, {"name": "c", "type": "t", "after": ["b"]},
			{"name": "d", "type": "t", "after": ["c"], "args": "$${steps.x.result} ${steps.b.result} ${steps.a.result.n}"}]`,
			`step "d" takes the result of "a", and does not need it; name "a" in after`},
		{step(`"vars": {"DAY": "${DAX}"}`), `there is no parameter DAX`},
		{step(`"args": "a\nb"`), `there is a line break in the args; args are one line`},
		{step(`"args": [1]`), `steps[0].args must be a string, not a list`},
		{step(`"args": "x", "msq": "select 1"`), `a step has args or msq, and not both`},
		{step(`"msq": " "`), `the query is empty; leave it out`},
		{step(`"priority": 99`), `priority 99 is out of range; write -20 to 19`},
		{step(`"priority": "urgent"`), `steps[0].priority must be a whole number, not a string`},
		{step(`"max_attempts": -1`), `steps[0].max_attempts is -1; write 0 or more`},
		{step(`"timeout": 10`), `steps[0].timeout is 10 without a unit; write 10s, 10m or 10h`},
		{step(`"timeout": "soon"`), `steps[0].timeout: "soon" is not a valid duration; write it like 10s, 15m or 1h30m`},
		{step(`"timeout": "0s"`), `steps[0].timeout must be more than nothing; write it like 10s, 15m or 1h30m`},
		{step(`"timeout": "-1h"`), `steps[0].timeout is negative (-1h)`},
		{step(`"timeout": "1000000h"`), `steps[0].timeout is 1000000h, which is too much; write it like 10s, 15m or 1h30m`},
		{step(`"timeout": "51839999m70s"`), `steps[0].timeout is 51839999m70s, which is too much; write it like 10s, 15m or 1h30m`},
		{step(`"on_failure": "block"`), `on_failure cannot be "block"; known are fail, run`},
		{step(`"after": ["b"]`), `there is no step "b"; a step is named by its name`},
		{step(`"after": ["a"]`), `step "a" cannot come after itself; leave it out`},
		{step(`"vars": 7`), `steps[0].vars must hold names and values, not a number; write it like vars: {USERID: 7}`},
		{step(`"wherever_it_is": 7`), `unknown key "wherever_it_is" in steps[0]; known are ` + strings.Join(keys, ", ")},
		{`"steps": [{"name": "a", "type": "command"}]`, `a step cannot be of type command, which no agent runs`},
		{`"steps": [{"name": "a", "type": "t"}, {"name": "a", "type": "t"}]`, `there is a step "a" already, the 1st`},
		{`"steps": [{"name": "a", "type": "t"}, {"name": "b", "type": "t", "after": ["a", "a"]}]`, `"a" is named twice; leave it out`},
		{`"steps": [{"name": "a b", "type": "t"}]`, `"a b" cannot be a name; letters, digits, . _ and -, at most 100`},
		{`"steps": [{"type": "t"}]`, `steps[0].name is missing`},
		{`"steps": ["a"]`, `steps[0] must hold keys and values, not a string; its keys are name, type, args, msq, after,`},
		{`"steps": []`, `there are no steps; write one like - {name: fetch, type: sh, args: "…"}`},
		{`"steps": 7`, `steps must be a list, not a number; write it like - {name: fetch, type: sh, args: "…"}`},
		{`"project": "x"`, `steps is missing`},
		{`"active": "yes", ` + step(`"args": "x"`), `active must be true or false, not a string`},
		{`"parameters": {"1X": "a"}, ` + step(`"args": "x"`), `"1X" cannot be the name of a parameter; letters, digits and _ only`},
		{`"parameters": {"RUN": "a"}, ` + step(`"args": "x"`), `every run has a parameter RUN of its own; give it another name`},
		{`"parameters": {"X": [1]}, ` + step(`"args": "x"`), `parameters.X must be a string, not a list`},
		{sensor(`"cron": "61 * * * *"`), `minute "61": it is 0 to 59` + explains},
		{sensor(`"cron": "* * * foo *"`), `month "foo": it is 1 to 12, or JAN to DEC` + explains},
		{sensor(`"cron": "* * * * mon-9"`), `weekday "9": it is 0 to 7, or SUN to SAT` + explains},
		{sensor(`"cron": "5-1 * * * *"`), `minute "5-1": the range ends before it begins` + explains},
		{sensor(`"cron": "*/0 * * * *"`), `minute "*/0": a step is a number from 1 to 999999999, as in */10` + explains},
		{sensor(`"cron": "1,, * * * *"`), `minute "": it is 0 to 59` + explains},
		{sensor(`"cron": "* * * *"`), `"* * * *" has 4 fields: it takes 5 (minute hour day month weekday), or 6 with seconds first` + explains},
		{sensor(`"cron": "@reboot"`), `"@reboot" is not a valid schedule: there are @hourly, @daily, @weekly, @monthly and @yearly` + explains},
		{sensor(`"cron": "@daily", "zone": "Mars/Base"`), `"Mars/Base" is not a valid time zone: they are called like Europe/Prague, America/New_York, UTC` + explains},
		{sensor(`"cron": "@daily", "zone": "CEST"`), `"CEST" is not a valid time zone`},
		{sensor(`"cron": "@daily", "zone": "local"`), `"local" is not a valid time zone: name one, like Europe/Prague` + explains},
		{sensor(`"cron": "@daily", "catch_up": "twice"`), `catch_up cannot be "twice"; known are one, all, none`},
		{sensor(`"cron": "@daily", "host": "big1"`), `host belongs to a sensor of the kind file, and this is one of cron; leave it out`},
		{sensor(`"every": "10ms"`), `every 10ms is too often; write 1s or more`},
		{sensor(`"every": "1500ms"`), `does not fall on seconds; write whole seconds`},
		{sensor(`"every": "1m", "at_most": 3`), `at_most and per mean nothing without each other; write both, like at_most: 8, per: 1h`},
		{sensor(`"every": "1m", "at_most": 2000, "per": "1h"`), `at_most 2000 is out of range; write 1 to 1000`},
		{sensor(`"every": "1m", "http": true`), `the sensor has every and http; it has one of cron, every, workflow, table, notify, http, file and kafka`},
		{sensor(`"zone": "UTC"`), `the sensor has nothing that would start it; it has one of cron,`},
		{`"sensor": "daily", ` + step(`"args": "x"`), `sensor must hold keys and values, not a string; its keys are cron, zone, catch_up,`},
		{sensor(`"workflow": "w"`), `a workflow cannot wait for itself; every: with after_finish: true starts it again`},
		{sensor(`"workflow": "` + strings.Repeat("v", 2000) + `"`), `cannot be a name; letters, digits, . _ and -, at most 100`},
		{sensor(`"workflow": "v", "when": ["done"]`), `no run ends as "done"; known are succeeded, failed, skipped`},
		{sensor(`"table": "a b"`), `"a b" is not a valid name of a table; write it like shop.uploads`},
		{sensor(`"notify": "` + strings.Repeat("n", 64) + `"`), `notify has 64 bytes, and may have 63`},
		{sensor(`"kafka": "main", "topic": "a b"`), `topic "a b" is not a valid name of a topic; write it like {kafka: main, topic: uploads}`},
		{sensor(`"kafka": "main", "topic": "a", "catch_up": "one"`), `catch_up cannot be "one"; known are all, none`},
		{sensor(`"every": "1m", "after_finish": true, "catch_up": "all"`), `there are no slots here that could be missed; leave it out`},
		{sensor(`"http": true, "catch_up": "all"`), `catch_up belongs to a sensor of the kind cron or every or kafka, and this is one of http; leave it out`},
		{sensor(`"http": true, "queue": "two"`), `queue cannot be "two"; known are all, one`},
		{sensor(`"notify": "bellhop_due"`), `channel bellhop_due is bellhop's own; give it a name of its own`},
		{sensor(`"file": "*.csv"`), `"*.csv" is not a valid pattern of whole paths; write it like /srv/in/*.csv`},
		{sensor(`"file": "/srv/**/x"`), `** is not known; write one * for each folder`},
		{sensor(`"file": "/srv/x", "event": "size"`), `a file is not named by its "size"; known are path, version`},
		{sensor(`"kafka": "main"`), `topic is missing; write it like {kafka: main, topic: uploads}`},
		{step(`"args": "x"`) + `, "notify": [{"when": ["done"], "mail": ["a@b"]}]`, `no run ends as "done"; known are succeeded, failed, skipped`},
		{step(`"args": "x"`) + `, "notify": [{"when": ["failed"]}]`,
			`notify[0] names no recipient; write mail: [ops@example.org], webhook: URL or command: [NAME]`},
		{step(`"args": "x"`) + `, "notify": [{"mail": ["ops"]}]`, `"ops" is not a valid address; write it like ops@example.org`},
		{step(`"args": "x"`) + `, "notify": [{"webhook": "ftp://x"}]`,
			`notify[0].webhook: "ftp://x" is not a valid URL; write it like https://hooks.example.org/bellhop, with a token in its path, if any`},
		{step(`"args": "x"`) + `, "notify": [{"webhook": "https://u:p@x/"}]`,
			`notify[0].webhook: there is a password in it, which every reader of the rule would see; write it like https://`},
	} {
		text := `{"workflow": "w", ` + x.fields + `}`
		_, err := config.Workflows(config.File{Name: "w.yaml", Text: []byte(text)})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s\nas a file: %v\nwant %s", x.fields, err, x.want)
		}
		status, answer := s.ask("operator", "PUT", "/workflows/w", text)
		var problem struct{ Detail string }
		if err := unmarshal(answer, &problem); err != nil {
			t.Fatal(err)
		}
		if detail := problem.Detail; status != 422 || !strings.Contains(detail, x.want) {
			t.Errorf("%s\nby the API: %d %s\nwant %s", x.fields, status, answer, x.want)
		}
		_, err = s.conn.Exec(t.Context(), "select bellhop.workflow_apply($1::text::jsonb)", text)
		var refused *pgconn.PgError
		if !errors.As(err, &refused) || refused.Code != "23514" || refused.Hint == "" ||
			!strings.Contains(refused.Message, x.want) {
			t.Errorf("%s\nby SQL: %v\nwant %s", x.fields, err, x.want)
		}
	}
	if n := scan(s, "select count(*)::text from bellhop.workflow"); n != "0" {
		t.Errorf("%s of them were written", n)
	}
}

// What is right for one is right for all, and kept alike.
func TestWorkflows_WhatIsRightIsTakenAlikeByFileAPIAndSQL(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i, fields := range []string{
		`"sensor": {"cron": "*/5 8-17/3 1,15 jan-MAR mon-5", "zone": "Europe/Prague", "catch_up": "all"}, "parameters": {"A": "1", "M": "shared"},
		 "steps": [{"name": "a", "type": "t", "args": "$${x} ${A} $$ ${SLOT}", "locks": ["x:${A}=${M}", "${A}:y=z", "${A}", "big", "x:*=shared", "x:a:b=c=shared"],
		   "timeout": "1h30m", "priority": -20, "max_attempts": 3, "vars": {"X": "${A}"}, "on_failure": "run"},
		  {"name": "b", "type": "t", "msq": "select 1", "after": ["a"], "run_on": "${A}"}],
		 "notify": [{"mail": ["Ops <ops@example.org>"], "unless_success_within": "1h"}, {"webhook": "https://x.example.org/y", "when": ["skipped"]}, {"command": ["page"]}]`,
		`"project": "p", "active": false, "sensor": {"file": "/srv/in/*.csv", "event": "path", "stable": "500ms", "at_most": 3, "per": "1h"}, "steps": [{"name": "a", "type": "t"}]`,
		`"sensor": {"kafka": "main", "topic": "up", "match": {"k": "v"}, "catch_up": "none"}, "steps": [{"name": "a", "type": "t"}]`,
		`"sensor": {"every": "1m30s", "after_finish": true}, "steps": [{"name": "a", "type": "t", "args": ""}]`,
		`"sensor": {"cron": "@Daily", "zone": "America/Argentina/Buenos_Aires"}, "steps": [{"name": "a", "type": "t"}]`,
		`"sensor": {"cron": "*/10 * * * * ?", "zone": "UTC"}, "steps": [{"name": "a", "type": "t"}]`,
		`"sensor": null, "steps": [{"name": "a", "type": "t", "args": null}]`,
	} {
		text := fmt.Sprintf(`{"workflow": "w%d", %s}`, i, fields)
		s.must(200, "operator", "PUT", fmt.Sprintf("/workflows/w%d", i), text)
		first := scan(s, "select definition::text from bellhop.workflow where name = $1", fmt.Sprintf("w%d", i))
		text = fmt.Sprintf(`{"workflow": "v%d", %s}`, i, fields)
		if _, err := s.conn.Exec(t.Context(), "select bellhop.workflow_apply($1::text::jsonb)", text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if other := scan(s, "select definition::text from bellhop.workflow where name = $1", fmt.Sprintf("v%d", i)); first != other {
			t.Errorf("%s is kept as\n%s by the API, and as\n%s by SQL", fields, first, other)
		}
	}
}

func scan(s *site, text string, args ...any) (value string) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), text, args...).Scan(&value); err != nil {
		s.t.Fatal(err)
	}
	return value
}

package config

import (
	"slices"
	"strings"
	"testing"
)

type badFile struct {
	name string
	text string
	want []string // without the file's name
}

// badFiles is every mistake that has an expected wording.
var badFiles = slices.Concat(badValues, badYAML)

// badValues are right as YAML.
var badValues = []badFile{
	{
		"unknown keys at the top",
		`databse: {}
host: []
foo: 1
`,
		[]string{
			`1:1: unknown key "databse"; did you mean "database"?`,
			`2:1: unknown key "host"; did you mean "hosts"?`,
			`3:1: unknown key "foo"; known are database, instance, limits, hosts, locate, agents, policy, production, commands_from_database, listen, token_file, tokens, allowed_hosts, encryption, web, observability, sensors, fossology, smtp, notifications, retention`,
		},
	},
	{
		"unknown keys, and no second problem for the keys they were meant to be",
		`agents:
  - type: license
    comand: [a]
  - typ: b
    command: [b]
    max-per-host: 1
    cwd: /
`,
		[]string{
			`3:5: unknown key "comand" in agents[0]; did you mean "command"?`,
			`4:5: unknown key "typ" in agents[1]; did you mean "type"?`,
			`6:5: unknown key "max-per-host" in agents[1]; did you mean "max_per_host"?`,
			`7:5: unknown key "cwd" in agents[1]; known are type, command, mode, dialect, max, max_per_host, slots, resources, memory, cpu, weight, env, vars, workdir, user, timeout, db, stdout, retry, ends, locks, share, config, exclusive, local, nokill, noemail, verbose, engine, options, submit, find, poll, kill, logs, poll_every, submit_timeout, lost_after, call_timeout, submits`,
		},
	},
	{
		"templates of shares",
		`agents:
  - {type: a, command: [x], mode: exec, share: "${vars.CUSTOMER}"}
  - {type: b, command: [x], mode: exec, share: "${CUSTOMER}"}
  - {type: c, command: [x], mode: exec, share: "${args}"}
  - {type: d, command: [x], mode: exec, share: "", vars: [A]}
  - {type: e, command: [x], mode: exec, share: "e-${vars.A}", vars: ["*"]}
`,
		[]string{
			"2:48: agents[0].share: ${vars.CUSTOMER} goes by var CUSTOMER, which agents[0].vars does not take; write vars: [CUSTOMER]",
			`3:48: agents[1].share: "${CUSTOMER}", character 1: "${CUSTOMER}" stands for nothing; write ${args}, ${key} or ${vars.NAME}; $${ for the letters themselves`,
			`4:48: agents[2].share: "${args}" names no var, by which jobs could differ; write "${vars.CUSTOMER}"`,
		},
	},
	{
		"resources that no host has",
		`hosts:
  - {name: a, slots: 4, resources: {gpu: 2, ram: -1}}
  - {name: b, slots: 4, resources: {fpga: 1, 9x: 1, memory: 3}, only_types: [one]}
agents:
  - {type: one, command: [x], mode: exec, resources: {gpuu: 1}}
  - {type: two, command: [x], mode: exec, resources: {gpu: 3}}
  - {type: three, command: [x], mode: exec, resources: {fpga: 1}}
  - {type: four, command: [x], mode: exec, resources: {gpu: 0, fpga: many}}
  - {type: five, command: [x], mode: exec, resources: [gpu]}
  - {type: one2, command: [x], mode: exec, resources: {gpu: 1, gpu: 1}}
`,
		[]string{
			"2:50: hosts[0].resources.ram is -1; write 0 or more",
			`3:46: hosts[1].resources: "9x" is not a valid name of a resource; begin with a letter; use letters, digits and _ . -, up to 63 characters`,
			`3:53: hosts[1].resources: "memory" is not a valid name of a resource; write memory: beside resources, or take another name`,
			`5:54: agents[0].resources.gpuu: no host has a resource "gpuu"; did you mean "gpu"?`,
			"6:54: agents[1].resources.gpu is 3, and the most that a host has is 2 (a); write gpu: 2, or raise it under hosts",
			"7:56: agents[2].resources.fpga: no host that takes three has this resource; add resources: {fpga: 1} to a host that takes this type",
			"8:61: agents[3].resources.gpu is 0; write a number from 1 to 1000000",
			"8:70: agents[3].resources.fpga must be a whole number, not a string",
			"9:55: agents[4].resources must hold names and amounts, not a list; write it like resources: {gpu: 2}",
			`10:64: duplicate key "gpu" in agents[5].resources, first on line 10`,
		},
	},
	{
		"resources of which no host has all, and none at all",
		`hosts:
  - {name: a, slots: 4, resources: {gpu: 2}}
  - {name: b, slots: 4, resources: {fpga: 1}}
agents: [{type: one, command: [x], mode: exec, resources: {gpu: 1, fpga: 1}}]
`,
		[]string{"4:59: agents[0].resources: no single host has all of it; add what is missing to one of the hosts"},
	},
	{
		"resources without a host that has any",
		`agents: [{type: one, command: [x], mode: exec, resources: {gpu: 1}}]`,
		[]string{"1:59: agents[0].resources.gpu: no host has any resources; add resources: {gpu: 1} to a host"},
	},
	{
		"more slots than a host has",
		`hosts: [{name: a, slots: 2}, {name: b, slots: 8, only_types: [big]}]
agents:
  - {type: big, command: [x], mode: exec, slots: 8}
  - {type: two, command: [x], mode: exec, slots: 3}
  - {type: none, command: [x], mode: exec, slots: 0}
  - {type: less, command: [x], mode: exec, slots: -1}
  - {type: away, command: [x], mode: engine, engine: slurm, slots: 2}
`,
		[]string{
			"4:50: agents[1].slots is 3, and the most that a host has is 2 (a); write slots: 2, or raise it under hosts",
			"5:51: agents[2].slots is 0; write 1 or more",
			"6:51: agents[3].slots is -1; write 0 or more",
			"7:68: agents[4].slots: the jobs of an engine take nothing of a host; leave it out, or limit them with max",
		},
	},
	{
		"limits of what a child takes",
		`agents:
  - {type: a, command: [x], memory: 512}
  - {type: b, command: [x], memory: 2 XB, cpu: lots}
  - {type: c, command: [x], memory: 3kB, cpu: 0.001}
  - {type: d, command: [x], memory: 999999999999TB, cpu: 1025}
  - {type: e, command: [x], mode: engine, engine: slurm, memory: 1GB, cpu: 1}
`,
		[]string{
			`2:37: agents[0].memory is "512", and no size; write it like 512MB or 2GB`,
			`3:37: agents[1].memory is "2 XB", and no size; write it like 512MB or 2GB`,
			"3:48: agents[1].cpu must be a number, not a string",
			"4:37: agents[2].memory is 3kB: it is 1MB to 2TB; write it like 512MB or 2GB",
			"4:47: agents[2].cpu is 0.001: it is 0, or 0.01 to 1024",
			"5:37: agents[3].memory is 999999999999TB: it is 1MB to 2TB; write it like 512MB or 2GB",
			"5:58: agents[3].cpu is 1025: it is 0 to 1024",
			"6:66: agents[4].memory: the jobs of an engine take nothing of a host; leave it out, and tell the engine by options",
			"6:76: agents[4].cpu: the jobs of an engine take nothing of a host; leave it out, and tell the engine by options",
		},
	},
	{
		"resources of an engine",
		`hosts: [{name: a, slots: 4, resources: {gpu: 2}}]
agents: [{type: one, command: [x], mode: engine, engine: slurm, resources: {gpu: 1}}]
`,
		[]string{"2:76: agents[0].resources: the jobs of an engine take nothing of a host; leave it out, or limit them with max"},
	},
	{
		"locks by a var that the type does not take",
		`agents:
  - {type: a, command: [x], mode: exec, locks: ["customer:${vars.CUSTOMER}=exclusive", "db:${args}=shared"]}
  - {type: b, command: [x], mode: exec, vars: [DAY], locks: ["day:${vars.DAY}.${vars.ZONE}=shared"]}
  - {type: c, command: [x], mode: exec, vars: ["CUST*"], locks: ["customer:${vars.CUSTOMER}=exclusive"]}
`,
		[]string{
			"2:48: agents[0].locks: customer:${vars.CUSTOMER}=exclusive goes by var CUSTOMER, which agents[0].vars does not take; write vars: [CUSTOMER]",
			"3:61: agents[1].locks: day:${vars.DAY}.${vars.ZONE}=shared goes by var ZONE, which agents[1].vars does not take; write vars: [DAY, ZONE]",
		},
	},
	{
		"production with the scheduler's own login for queries",
		`listen: 127.0.0.1:8470
production: true
`,
		[]string{"2:13: production is true, and database.msq_url is not set: queries of MSQ jobs would run with the scheduler's own rights; " +
			"name a login of their own under database.msq_url"},
	},
	{
		"keys of one dialect, with another",
		`database: {msq_url: "postgres://low@h/b"}
agents:
  - {type: a, command: [x], exclusive: true, nokill: true}
  - {type: b, command: [x], mode: exec, db: true}
  - {type: c, command: [x], dialect: fossology, db: true}
`,
		[]string{
			"3:40: agents[0].exclusive: only agents of dialect fossology have it; leave it out, or write dialect: fossology",
			"3:54: agents[0].nokill: only agents of dialect fossology have it; leave it out, or write dialect: fossology",
			"4:45: agents[1].db: only agents of dialect classic can say DB:; leave it out, or write dialect: classic",
			"5:53: agents[2].db: only agents of dialect classic can say DB:; leave it out, or write dialect: classic",
		},
	},
	{
		"db without a login",
		`agents:
  - {type: a, command: [x], db: true}
`,
		[]string{"2:3: agent a has db: true, and there is no login for what it says with DB:; name a login of few rights under database.db_url, or msq_url"},
	},
	{
		"required keys",
		`agents:
  - {mode: warm}
  - type:
    command: [a]
hosts:
  - {slots: 1}
`,
		[]string{
			"2:5: agents[0].type is missing",
			"2:5: agents[0].command is missing",
			"3:5: agents[1].type is missing",
			"6:5: hosts[0].name is missing",
		},
	},
	{
		"durations",
		`limits: {idle: 15, window: 5m0, min_ready: soon, kill_after: 0s, start_timeout: -1s}
instance: {grace: 0, heartbeat: [], lag: 1.5}
agents:
  - {type: a, command: [x], timeout: 1d}
`,
		[]string{
			"1:16: limits.idle is 15 without a unit; write 15s, 15m or 15h",
			`1:28: limits.window: "5m0" is not a valid duration; write it like 10s, 15m or 1h30m`,
			`1:44: limits.min_ready: "soon" is not a valid duration; write it like 10s, 15m or 1h30m`,
			"1:62: limits.kill_after must be more than nothing; write it like 10s, 15m or 1h30m",
			"1:81: limits.start_timeout is negative (-1s)",
			"2:19: instance.grace is 0 without a unit; write 0s, 0m or 0h",
			"2:33: instance.heartbeat must be a duration, not a list; write it like 10s, 15m or 1h30m",
			"2:42: instance.lag is 1.5 without a unit; write 1.5s, 1.5m or 1.5h",
			`4:38: agents[0].timeout: "1d" is not a valid duration; write it like 10s, 15m or 1h30m`,
		},
	},
	{
		"counts",
		`limits: {deaths: '5'}
hosts:
  - {name: a, slots: -1}
  - {name: b, slots: 1.5}
  - {name: c, slots: 3000000000}
  - {name: d, slots: 99999999999999999999}
agents:
  - {type: a, command: [x], max: -1, max_per_host: many}
  - {type: b, command: [x], weight: 0}
  - {type: c, command: [x], weight: 101}
  - {type: d, command: [x], weight: 1.5}
`,
		[]string{
			"1:18: limits.deaths must be a whole number, not a string; leave out the quotes",
			"3:22: hosts[0].slots is -1; write 0 or more",
			"4:22: hosts[1].slots must be a whole number, not 1.5",
			"5:22: hosts[2].slots is 3000000000, which is too much",
			"6:22: hosts[3].slots is 99999999999999999999, which is too much",
			"8:34: agents[0].max is -1; write 0 or more",
			"8:52: agents[0].max_per_host must be a whole number, not a string",
			"9:37: agents[1].weight is 0; write a number from 1 to 100",
			"10:37: agents[2].weight is 101; write a number from 1 to 100",
			"11:37: agents[3].weight must be a whole number, not 1.5",
		},
	},
	{
		"lag too short for the default heartbeat",
		"instance: {lag: 5999ms}\n",
		[]string{
			"1:17: instance.lag (5.999s) is less than three heartbeats (2s each): a live instance would be taken for dead; write lag: 6s or more, or a shorter heartbeat",
		},
	},
	{
		"heartbeat too long for the default lag",
		"instance: {heartbeat: 4s}\n",
		[]string{
			"1:23: instance.lag (10s) is less than three heartbeats (4s each): a live instance would be taken for dead; write lag: 12s or more, or a shorter heartbeat",
		},
	},
	{
		"a wrong heartbeat says nothing about lag",
		"instance: {heartbeat: 0s, lag: 1s}\n",
		[]string{
			"1:23: instance.heartbeat must be more than nothing; write it like 10s, 15m or 1h30m",
		},
	},
	{
		"duplicate names",
		`agents:
  - {type: a, command: [x]}
  - {type: b, command: [x]}
  - {type: a, command: [x]}
hosts:
  - name: h
  - name: h
`,
		[]string{
			`4:12: agents[2].type: an agent of type "a" is already on line 2`,
			`7:11: hosts[1].name: a host "h" is already on line 6`,
		},
	},
	{
		"duplicate keys",
		`limits:
  idle: 1m
  'idle': 2m
limits: {}
agents: [{type: a, command: [x], env: {A: 1, A: 2}}]
`,
		[]string{
			`3:3: duplicate key "idle" in limits, first on line 2`,
			`4:1: duplicate key "limits", first on line 1`,
			`5:46: duplicate key "A" in agents[0].env, first on line 5`,
		},
	},
	{
		"commands",
		`agents:
  - {type: a, command: ./agents/license -n 5}
  - {type: b, command: "sort | uniq"}
  - {type: c, command: []}
  - {type: d, command: ['', x]}
  - {type: e, command: }
  - {type: f, command: {}}
  - {type: g, command: ''}
  - {type: h, command: [[x], ~, "a\0"]}
  - {type: i, command: [~/x]}
hosts: [{name: x, connect: ssh big1}]
`,
		[]string{
			"2:24: agents[0].command must be a list, not a string; write command: [./agents/license, -n, 5]",
			`3:24: agents[1].command must be a list, not a string; write command: [sh, -c, "sort | uniq"]`,
			"4:24: agents[2].command is empty; write command: [./agents/license]",
			"5:25: agents[3].command[0] is empty where the program should be",
			"6:5: agents[4].command is missing",
			"7:24: agents[5].command must be a list, not keys and values; write command: [./agents/license]",
			"8:24: agents[6].command must be a list, not a string; write command: [./agents/license]",
			"9:25: agents[7].command[0] must be a string, not a list",
			`9:30: agents[7].command[1] has no value; leave it out, or write "" for an empty one`,
			"9:33: agents[7].command[2] holds a zero byte, which no program can be given",
			"10:25: agents[8].command[0]: ~ is not expanded; write the path out",
			"11:28: hosts[0].connect must be a list, not a string; write connect: [ssh, big1]",
		},
	},
	{
		"modes and dialects",
		`agents:
  - {type: a, command: [x], mode: exce, dialect: xml}
  - {type: b, command: [x], mode: exec, dialect: json}
  - {type: c, command: [x], mode: execute, dialect: 1}
`,
		[]string{
			`2:35: agents[0].mode: unknown mode "exce"; did you mean "exec"?`,
			`2:50: agents[0].dialect: unknown dialect "xml"; known are auto, classic, json, fossology`,
			"3:50: agents[1].dialect: an agent of mode exec speaks none; leave it out, or write mode: warm",
			`4:35: agents[2].mode: unknown mode "execute"; known are warm, exec, engine`,
			"4:53: agents[2].dialect must be a string, not a number; put it in quotes",
		},
	},
	{
		"vars that choose what code runs",
		`agents:
  - type: a
    command: [x]
    vars: ['LD_*', LD_PRELOAD, PATH, BASH_ENV, ENV, IFS, 'DYLD_?', 'BASH_FUNC_*']
`,
		[]string{
			"4:12: agents[0].vars[0]: LD_* would let a job choose what code runs; set it under env, where only this file can",
			"4:20: agents[0].vars[1]: LD_PRELOAD would let a job choose what code runs; set it under env, where only this file can",
			"4:32: agents[0].vars[2]: PATH would let a job choose what code runs; set it under env, where only this file can",
			"4:38: agents[0].vars[3]: BASH_ENV would let a job choose what code runs; set it under env, where only this file can",
			"4:48: agents[0].vars[4]: ENV would let a job choose what code runs; set it under env, where only this file can",
			"4:53: agents[0].vars[5]: IFS would let a job choose what code runs; set it under env, where only this file can",
			"4:58: agents[0].vars[6]: DYLD_? would let a job choose what code runs; set it under env, where only this file can",
			"4:68: agents[0].vars[7]: BASH_FUNC_* would let a job choose what code runs; set it under env, where only this file can",
		},
	},
	{
		"vars that cannot be",
		`agents:
  - type: a
    command: [x]
    vars: ['[', 'A[', 'BELLHOP_*', TRACEPARENT, 'A=B', '', ~, USERID]
  - {type: b, command: [x], vars: USERID}
`,
		[]string{
			`4:12: agents[0].vars[0]: "[" is not a valid pattern; * ? and [a-z] may be used`,
			`4:17: agents[0].vars[1]: "A[" is not a valid pattern; * ? and [a-z] may be used`,
			"4:23: agents[0].vars[2]: BELLHOP_* is set by bellhop itself; leave it out",
			"4:36: agents[0].vars[3]: TRACEPARENT is set by bellhop itself; leave it out",
			`4:49: agents[0].vars[4]: "A=B" is not a valid name of a variable: it holds =`,
			"4:56: agents[0].vars[5] is empty",
			`4:60: agents[0].vars[6] has no value; leave it out, or write "" for an empty one`,
			"5:35: agents[1].vars must be a list, not a string; write it like [USERID]",
		},
	},
	{
		"env",
		`agents:
  - {type: a, command: [x], env: [A]}
  - {type: b, command: [x], env: {'A=B': c, '': d, X: ~, Y: []}}
  - {type: c, command: [x], env: {"n\0": x, Z: "\0"}}
`,
		[]string{
			"2:34: agents[0].env must hold names and values, not a list; write it like env: {LANG: C.UTF-8}",
			`3:35: agents[1].env: "A=B" is not a valid name of a variable: it is empty, or holds = or a zero byte`,
			`3:45: agents[1].env: "" is not a valid name of a variable: it is empty, or holds = or a zero byte`,
			`3:55: agents[1].env.X has no value; leave it out, or write "" for an empty one`,
			"3:61: agents[1].env.Y must be a string, not a list",
			`4:35: agents[2].env: "n\x00" is not a valid name of a variable: it is empty, or holds = or a zero byte`,
			"4:48: agents[2].env.Z holds a zero byte, which no program can be given",
		},
	},
	{
		"workdir and user",
		`agents:
  - {type: a, command: [x], workdir: ~/y, user: no-such-user-here}
  - {type: b, command: [x], workdir: [a], user: 0}
`,
		[]string{
			"2:38: agents[0].workdir: ~ is not expanded; write the path out",
			`2:49: agents[0].user: no account "no-such-user-here" on this machine; create it (useradd --system), or leave user out to run as the instance does`,
			"3:38: agents[1].workdir must be a string, not a list",
			"3:49: agents[1].user must be a string, not a number; put it in quotes",
		},
	},
	{
		"names of types",
		`agents:
  - {type: a b, command: [x]}
  - {type: a.b, command: [x]}
  - {type: '', command: [x]}
  - {type: command, command: [x]}
  - {type: 7, command: [x]}
  - {type: dummy, command: [x]}
  - {type: rjm, command: [x]}
`,
		[]string{
			`2:12: agents[0].type: "a b" is not a valid name of a type; use letters, digits and _ - :`,
			`3:12: agents[1].type: "a.b" is not a valid name of a type; use letters, digits and _ - :`,
			`4:12: agents[2].type: "" is not a valid name of a type; use letters, digits and _ - :`,
			`5:12: agents[3].type: "command" is the type of bellhop's own commands; choose another name`,
			"6:12: agents[4].type must be a string, not a number; put it in quotes",
			`7:12: agents[5].type: "dummy" is the type of jobs that do nothing, and need no agent; choose another name`,
			`8:12: agents[6].type: "rjm" is the agent of RJM's workers: bellhop rjmproc; choose another name`,
		},
	},
	{
		"names of hosts and instances",
		`instance: {name: a b}
hosts:
  - {name: ''}
  - {name: -x}
  - {name: 7}
  - {name: "a\nb"}
`,
		[]string{
			`1:18: instance.name: "a b" is not a valid name; use letters, digits and _ . : @ -, and begin with a letter, a digit or _`,
			`3:12: hosts[0].name: "" is not a valid name; use letters, digits and _ . : @ -, and begin with a letter, a digit or _`,
			`4:12: hosts[1].name: "-x" is not a valid name; use letters, digits and _ . : @ -, and begin with a letter, a digit or _`,
			"5:12: hosts[2].name must be a string, not a number; put it in quotes",
			`6:12: hosts[3].name holds a control character ('\n')`,
		},
	},
	{
		"unknown types, but not one whose agent is itself wrong",
		`hosts: [{name: h, only_types: [lisence, a.b, sort]}]
agents: [{type: license, command: [x]}, {type: a.b, command: [x]}]
`,
		[]string{
			`1:32: hosts[0].only_types[0]: unknown type "lisence"; did you mean "license"?`,
			`1:46: hosts[0].only_types[2]: unknown type "sort"; known are license, a.b`,
			`2:48: agents[1].type: "a.b" is not a valid name of a type; use letters, digits and _ - :`,
		},
	},
	{
		"a type where there are no agents",
		"hosts: [{name: h, only_types: [license]}]\n",
		[]string{
			`1:32: hosts[0].only_types[0]: unknown type "license"; no agents are configured`,
		},
	},
	{
		"priorities and serves",
		"hosts: [{name: h, only_priorities: [20, 'a b', -21, 0], serves: srv}]\n",
		[]string{
			`1:37: hosts[0].only_priorities[0]: "20" is not a valid priority; write a number from -20 to 19, or a name`,
			`1:41: hosts[0].only_priorities[1]: "a b" is not a valid priority; write a number from -20 to 19, or a name`,
			`1:48: hosts[0].only_priorities[2]: "-21" is not a valid priority; write a number from -20 to 19, or a name`,
			`1:65: hosts[0].serves must be a list, not a string; write it like ["srv:7"]`,
		},
	},
	{
		"connection strings, never repeated",
		"database: {url: 'mysql://u:secret@h/d', listen_url: secret, msq_url: [secret]}\n",
		[]string{
			`1:17: database.url begins with "mysql://", which is not PostgreSQL; write it like postgres://user@host:5432/name`,
			"1:53: database.listen_url is not a connection string; write it like postgres://user@host:5432/name",
			"1:70: database.msq_url must be a string, not a list",
		},
	},
	{
		"true and false",
		`production: yes
commands_from_database: 1
`,
		[]string{
			"1:13: production must be true or false, not a string",
			"2:25: commands_from_database must be true or false, not a number",
		},
	},
	{
		"prefixes that are no plain paths",
		`web: {prefix: jobs, trusted_proxies: [10.0.0.1/8, 0.0.0.0/0, "::/0", proxy, 10.0.0.1]}
`,
		[]string{
			`1:15: web.prefix: "jobs" is not a plain path; write /jobs`,
			`1:39: web.trusted_proxies[0]: 10.0.0.1/8 has an address in it, and not only a network; write 10.0.0.0/8, or the address alone`,
			`1:51: web.trusted_proxies[1]: 0.0.0.0/0 is every address: each client could claim another client's address; name the proxies alone, such as 127.0.0.1`,
			`1:62: web.trusted_proxies[2]: ::/0 is every address: each client could claim another client's address; name the proxies alone, such as 127.0.0.1`,
			`1:70: web.trusted_proxies[3]: "proxy" is neither an address nor a network; write 127.0.0.1, or a network such as 10.0.0.0/8`,
		},
	},
	{
		"a provider of identities with every mistake",
		`web:
  oidc:
    issuer: http://login.example.org
    url: jobs.example.org
    client_secret_file: ./secret
    client_secret_env: SECRET
    scopes: [email]
    session: 30s
    roles:
      operator: ops
      bellhop_operator: [admins]
      reader: []
`,
		[]string{
			`3:5: web.oidc.client_id is missing`,
			`3:5: web.oidc needs either client_secret_file or client_secret_env; write client_secret_file: ./oidc.secret, or client_secret_env: OIDC_SECRET: the secret itself does not stand here`,
			`3:13: web.oidc.issuer: "http://login.example.org" is not encrypted, and not on this machine; write it like https://login.example.org/realms/main`,
			`4:10: web.oidc.url: "jobs.example.org" is no address of a site; write it like https://jobs.example.org`,
			`7:13: web.oidc.scopes: without openid the provider sends no identity; add openid`,
			`8:14: web.oidc.session: 30s is no time for a session; write 1m to 12h; without it, a session ends with the ID token`,
			`10:17: web.oidc.roles.operator must be a list, not a string; write it like [ops, oncall]`,
			`11:7: web.oidc.roles: the role bellhop_operator stands twice; list all groups of a role in one place`,
			`12:7: web.oidc.roles.reader names no group; write it like {operator: [ops], reader: [staff]}, the role with the most rights first`,
		},
	},
	{
		"roles of people in the wrong shape",
		`web: {oidc: {issuer: "https://a.example", url: "https://b.example", client_id: x, client_secret_env: X, roles: [ops]}}
`,
		[]string{
			`1:112: web.oidc.roles must hold roles and their groups, not a list; write it like {operator: [ops], reader: [staff]}, the role with the most rights first`,
		},
	},
	{
		"the prefix of a whole address",
		"web: {prefix: 'https://jobs.example.org/jobs/', trusted_proxy: []}\n",
		[]string{
			`1:15: web.prefix: "https://jobs.example.org/jobs/" is not a plain path; write /jobs`,
			`1:49: unknown key "trusted_proxy" in web; did you mean "trusted_proxies"?`,
		},
	},
	{
		"a prefix that leads elsewhere",
		"web: {prefix: //evil.example, trusted_proxies: 10.0.0.1}\n",
		[]string{
			`1:15: web.prefix: "//evil.example" is not a plain path; write it like /jobs: names of letters, digits, - _ . and ~, with a slash before each, at most 100 characters`,
			`1:48: web.trusted_proxies must be a list, not a string; write it like [127.0.0.1, 10.0.0.0/8]`,
		},
	},
	{
		"listen without an address",
		"listen: 8470\n",
		[]string{
			"1:9: listen must be an address and a port; write it like 127.0.0.1:8470",
		},
	},
	{
		"listen without a port",
		"listen: localhost\n",
		[]string{
			"1:9: listen must be an address and a port; write it like 127.0.0.1:8470",
		},
	},
	{
		"listen with a named port",
		"listen: 127.0.0.1:http\n",
		[]string{
			`1:9: listen: "http" is not a valid port; write it like 127.0.0.1:8470`,
		},
	},
}

func TestParse_SaysWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	for _, c := range badFiles {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("/conf/bellhop.yaml", []byte(c.text))
			got := "no error"
			if err != nil {
				got = strings.ReplaceAll(err.Error(), "/conf/bellhop.yaml:", "")
			}
			if want := strings.Join(c.want, "\n"); got != want {
				t.Errorf("of\n%s\ngot\n%s\nwant\n%s", c.text, got, want)
			}
		})
	}
}

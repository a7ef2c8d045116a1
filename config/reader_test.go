package config

import "strings"

// badYAML are files of the wrong shape, or that are no YAML at all.
var badYAML = []badFile{
	{
		"sections of the wrong shape",
		`agents: {}
hosts: local
limits: []
`,
		[]string{
			"1:9: agents must be a list, not keys and values; write it like - {type: license, command: [./agents/license]}",
			"2:8: hosts must be a list, not a string; write it like - {name: local, slots: 4}",
			"3:9: limits must hold keys and values, not a list; its keys are deaths, window, idle, min_ready, kill_after, start_timeout, db_timeout, db_rows, db_bytes, result, silence, alive_every, alive_checks",
		},
	},
	{
		"a list as file",
		"- a\n",
		[]string{
			"1:1: the file must hold keys and values, not a list; its keys are database, instance, limits, hosts, locate, agents, policy, production, commands_from_database, listen, token_file, tokens, allowed_hosts, encryption, web, observability, sensors, fossology, smtp, notifications, retention",
		},
	},
	{
		"a word as file",
		"hello\n",
		[]string{
			"1:1: the file must hold keys and values, not a string; its keys are database, instance, limits, hosts, locate, agents, policy, production, commands_from_database, listen, token_file, tokens, allowed_hosts, encryption, web, observability, sensors, fossology, smtp, notifications, retention",
		},
	},
	{
		"a tab",
		"limits:\n\tidle: 1m\n",
		[]string{
			"2:1: YAML: a tab at the start of a line or value; indent with blanks",
		},
	},
	{
		"an open bracket",
		"hosts: [\n",
		[]string{
			"1:8: YAML: sequence end token ']' not found",
		},
	},
	{
		"an open quote",
		"listen: 'x\n",
		[]string{
			"1:9: YAML: could not find end character of single-quoted text",
		},
	},
	{
		"wrong indentation",
		`hosts:
- name: x
  slots: 4
 -name: y
`,
		[]string{
			"4:2: YAML: value is not allowed in this context",
		},
	},
	{
		"two documents",
		`--- {}
--- {}
`,
		[]string{
			"2:5: a second document in the file; leave out the line ---",
		},
	},
	{
		"not UTF-8",
		"# é\nlisten: \"é\xff\"\n",
		[]string{
			"2:11: not UTF-8; save the file as UTF-8",
		},
	},
	{
		"merge keys",
		"instance: {<<: {lag: 1m}}\n",
		[]string{
			"1:12: merge keys (<<) are not used here; write the keys out, or use an alias for a whole value",
		},
	},
	{
		"complex keys",
		`? a
: b
`,
		[]string{
			"1:1: a key must be a plain word; write it like name: value",
		},
	},
	{
		"tags and unknown anchors",
		`listen: !!str x
hosts: *h
`,
		[]string{
			"1:9: the YAML tag !!str is not used here; leave it out, and put a number that is to be a string in quotes",
			`2:8: no anchor of the name "h"; an anchor is set with &h further up`,
		},
	},
	{
		"names that hold line breaks",
		"agents: [{type: a, command: [x], env: {\"X\\nY\": ~}}]\n",
		[]string{
			"1:48: agents[0].env.X\ufffdY has no value; leave it out, or write \"\" for an empty one",
		},
	},
	{
		"an alias that holds a line break",
		"*\"00\\n0000\"",
		[]string{
			"1:1: no anchor of the name \"00\\n0000\"; an anchor is set with &00\ufffd0000 further up",
		},
	},
	{
		"an alias of itself",
		"agents: &a [*a]\n",
		[]string{
			"1:12: agents[0] must hold keys and values, not a list; its keys are type, command, mode, dialect, max, max_per_host, slots, resources, memory, cpu, weight, env, vars, workdir, user, timeout, db, stdout, retry, ends, locks, share, config, exclusive, local, nokill, noemail, verbose, engine, options, submit, find, poll, kill, logs, poll_every, submit_timeout, lost_after, call_timeout, submits",
		},
	},
	{
		"too large",
		strings.Repeat("#", maxSize+1),
		[]string{
			" is larger than 256 kB; is this the right file?",
		},
	},
	{
		"CRLF",
		"agents:\r\n  - type: a\r\n    comand: [x]\r\n",
		[]string{
			`3:5: unknown key "comand" in agents[0]; did you mean "command"?`,
		},
	},
	{
		"letters of more than one byte before it",
		"limits: {ü: 1, idel: 1m}\n",
		[]string{
			`1:10: unknown key "ü" in limits; known are deaths, window, idle, min_ready, kill_after, start_timeout, db_timeout, db_rows, db_bytes, result, silence, alive_every, alive_checks`,
			`1:16: unknown key "idel" in limits; did you mean "idle"?`,
		},
	},
	{
		"places after block and quoted strings of several lines",
		`agents:
  - type: a # a remark
    command:
      - sh
      - -c
      - |
        echo

        done
      - >-
        folded
        text
      - "quoted
         text"
    # a remark
    modus: warm
`,
		[]string{
			`16:5: unknown key "modus" in agents[0]; did you mean "mode"?`,
		},
	},
}

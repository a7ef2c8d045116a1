package grammar

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// definition are the objects that a definition of a workflow is made of.
var definition = []Object{Workflow, Step, Sensor, Notice}

// Objects are all that can be written, in the order of the reference.
var Objects = append([]Object{Submission, Edit, Filter}, definition...)

// DefinitionKeys is sql/functions/definition_keys.sql: the keys that SQL finds in a definition or a child job, and what
// their values may be.
func DefinitionKeys() string {
	var rows []string
	for _, o := range append(slices.Clone(definition), ChildJob) {
		for _, f := range o.Fields {
			example := "null"
			if slices.Contains([]Kind{List, Words, Pairs}, f.Kind) {
				example = quote("write it like " + f.Example)
			}
			least, most := "null", orNull(f.Most)
			if f.Most > 0 && (f.Kind == Whole || f.Kind == Count) {
				least = fmt.Sprint(f.Least)
			}
			rows = append(rows, fmt.Sprintf("    (%s, %s, %s, %t, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
				quote(o.Part), quote(f.Name), quote(string(f.Kind)), f.Needed, example, array(f.Kinds), array(f.Choices),
				patternOrNull(f.Pattern), least, most, orNull(f.MostBytes), textOrNull(f.wrong()), textOrNull(f.instead())))
		}
	}
	return `-- Made from scheduler/grammar by make generate.

-- definition_keys: the keys that each part of a definition, and a child job, may have, the kind of each value, and its
-- bounds. kinds are the kinds of sensors that may have the key. wrong is the sentence about a value, which stands for
-- %s, and hint says what to write instead.
-- Grant: scheduler
create or replace function bellhop.definition_keys() returns table (
  part text, n integer, key text, wants text, required boolean, example text, kinds text[], choices text[], pattern text, lowest integer, most integer,
  bytes integer, wrong text, hint text)
language plpgsql immutable parallel safe -- its plan is kept: SQL would make one for each query
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select k.part, row_number() over ()::integer, k.key, k.wants, k.required, k.example, k.kinds, k.choices, k.pattern, k.lowest, k.most, k.bytes, k.wrong, k.hint
    from (values
` + strings.Join(rows, ",\n") + `
    ) k (part, key, wants, required, example, kinds, choices, pattern, lowest, most, bytes, wrong, hint);
end
$$;
`
}

// orNull, textOrNull, patternOrNull and array write a value as a literal of SQL; an empty one is NULL.
func orNull(n int) string {
	if n == 0 {
		return "null::integer"
	}
	return fmt.Sprint(n)
}

func textOrNull(text string) string {
	if text == "" {
		return "null"
	}
	return quote(text)
}

func patternOrNull(p *regexp.Regexp) string {
	if p == nil {
		return "null"
	}
	return quote(p.String())
}

func array(list []string) string {
	if list == nil {
		return "null::text[]"
	}
	return quote("{" + strings.Join(list, ",") + "}")
}

// quote writes a text as a literal of SQL.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// arguments are SQL's types of a submission's values, by kind.
var arguments = map[Kind]string{
	Word: "text", Text: "text", Whole: "integer", Count: "integer", Long: "interval", Flag: "boolean", Words: "text[]",
	Pairs: "jsonb", Time: "timestamptz", ID: "bigint", IDs: "bigint[]",
}

// Columns are the arguments of bellhop.submit and their types, in lines of a dictionary of Python or JavaScript. The
// format writes a name and a type.
func Columns(format string) string {
	var lines []string
	line := ""
	for i, f := range Submission.Fields {
		text := fmt.Sprintf(format, f.Name, arguments[f.Kind])
		if i < len(Submission.Fields)-1 {
			text += ","
		}
		if line != "" && len(line)+len(text) > 110 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + text)
	}
	return strings.Join(append(lines, line), "\n")
}

// Reference is docs/reference.md: every field of every object.
func Reference() string {
	var b strings.Builder
	b.WriteString(`# Reference of fields

Made from scheduler/grammar by ` + "`make generate`" + `. Each field of what you write: its name in every face, its kind, its
bounds and its meaning. In SQL and REST a field has the name of the first column.

| kind | is |
|---|---|
| word, text | text; a word is not empty |
| whole, count | a whole number; a count is not negative |
| long | a duration, such as 90s or 1h30m; in SQL an interval |
| time | a point in time: 2026-12-24T18:00:00Z |
| flag | true or false |
| words, ids, list, json | lists |
| pairs | names and texts |
| part | an object |
`)
	for _, o := range Objects {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n", o.Name, o.Says)
		written := slices.Contains(o.Faces, Command)
		if written {
			b.WriteString("| field | command | Go | kind | |\n|---|---|---|---|---|\n")
		} else {
			b.WriteString("| field | kind | |\n|---|---|---|\n")
		}
		for _, f := range o.Fields {
			fmt.Fprintf(&b, "| `%s` |", f.Name)
			if written {
				fmt.Fprintf(&b, " %s | %s |", f.cell(Command, o), f.cell(Go, o))
			}
			fmt.Fprintf(&b, " %s | %s |\n", f.Kind, strings.ReplaceAll(f.meaning(), "|", `\|`))
		}
	}
	return b.String()
}

// cell is the field's name in a face, or why there is none.
func (f Field) cell(face Face, o Object) string {
	switch {
	case !slices.Contains(o.Faces, face):
		return "–"
	case f.Without[face] != "":
		return f.Without[face]
	case face == Command:
		return "`--" + f.In(face) + "`"
	}
	return "`" + f.In(face) + "`"
}

// meaning is the sentence with what is needed, the bounds and an example.
func (f Field) meaning() string {
	text := f.Sentence()
	if f.Needed {
		text += ". Required"
	}
	switch f.Kind {
	case Word, Text:
		text += atMost(f.Most, "characters") + atMost(f.MostBytes, "bytes")
	case JSON, Words, List:
		text += atMost(f.Most, "of them")
	default:
		switch {
		case f.Most != 0:
			text += fmt.Sprintf(". From %d to %d", f.Least, f.Most)
		case f.Least != 0:
			text += fmt.Sprintf(". At least %d", f.Least)
		}
	}
	if f.Example != "" {
		text += ". Example: `" + f.Example + "`"
	}
	return text
}

func atMost(n int, of string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(". At most %d %s", n, of)
}

package page

import "bytes"

// Where the rows of a log stand in a page (templates/job.html). What jobs and agents say
// is escaped, so neither stands in it.
var (
	logBegins = []byte(`<tbody id="log">`)
	logEnds   = []byte(`</tbody>`)
	rowBegins = []byte(`<tr id="`)
)

// sinceSent is what a browser that has one rendering of a page needs of the next: all of it,
// but for the rows of a log that it has. They stand as the first of them, which page.js reads:
// rows before that one go, and those that are sent come behind the rest.
func sinceSent(had, now []byte) []byte {
	_, have, _, ok := logRows(had)
	before, rows, after, too := logRows(now)
	if !ok || !too {
		return now
	}
	first, _, _ := bytes.Cut(rows[len(rowBegins):], rowBegins)
	first = rows[:len(rowBegins)+len(first)]
	at := bytes.Index(have, first)
	if at < 0 || !bytes.HasPrefix(rows, have[at:]) {
		return now
	}
	id, _, _ := bytes.Cut(first[len(rowBegins):], []byte(`"`))
	opens := []byte(`<tbody id="log" data-from="` + string(id) + `">`)
	return bytes.Join([][]byte{before, opens, rows[len(have)-at:], after}, nil)
}

// logRows gives the rows of the log in a page, and what stands around them; false: it has none.
func logRows(page []byte) (before, rows, after []byte, ok bool) {
	before, rest, ok := bytes.Cut(page, logBegins)
	if !ok {
		return nil, nil, nil, false
	}
	end := bytes.Index(rest, logEnds)
	if end < 0 {
		return nil, nil, nil, false
	}
	rows = bytes.TrimLeft(rest[:end], "\n")
	return before, rows, rest[end:], bytes.HasPrefix(rows, rowBegins)
}

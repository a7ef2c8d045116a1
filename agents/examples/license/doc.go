// Package license is an agent in Go that does real work: it is given a file,
// finds out which licence it is under and writes that into the table demo.file
// itself, as a foreign program would. It knows nothing of bellhop but the few
// words of the classic dialect.
//
// Its line is an item of
//
//	SELECT id, path, raw, kind FROM demo.file WHERE …
//
// so id="12" path="/srv/a/LICENSE" kind="licence". raw is there only for a path
// that is not UTF-8, and is the path then. kind="source" asks for the head of
// the file only.
//
// A file that cannot be read is no trouble of the agent's: that is what it
// writes down, and it says OK. When its own work fails (no database, a line
// that it does not understand) it dies, as the dialect wants, and the scheduler
// gives the line to another.
package license

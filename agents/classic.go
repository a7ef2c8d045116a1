package agents

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"bellhop/scheduler"
)

// parseClassic reads one line of the classic dialect. A line is a word, alone
// or followed by a blank or a colon, and text; a line without a known word is
// debug output.
func parseClassic(line []byte) remark {
	line = bytes.TrimSuffix(line, []byte{'\r'})
	if isOK(line) {
		return remark{word: wordOK}
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return remark{word: wordNothing}
	}
	end := bytes.IndexAny(line, " :")
	if end < 0 {
		end = len(line)
	}
	text := line[end:]
	if len(text) > 0 && text[0] == ':' {
		text = text[1:]
	}
	text = bytes.TrimPrefix(text, []byte{' '})
	switch string(line[:end]) {
	case "ERROR":
		return remark{word: wordLog, level: scheduler.LevelError, text: text}
	case "FATAL":
		return remark{word: wordLog, level: scheduler.LevelError, text: line}
	case "WARNING":
		return remark{word: wordLog, level: scheduler.LevelInfo, text: line}
	case "LOG":
		return remark{word: wordLog, level: scheduler.LevelInfo, text: text}
	case "Success":
		return remark{word: wordSuccess}
	case "ECHO":
		return remark{word: wordEcho, text: text}
	case "Heartbeat":
		return remark{word: wordNothing}
	case "ItemsProcessed":
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n >= 0 {
			return remark{word: wordItems, n: n}
		}
	case "DB":
		if bytes.HasPrefix(line, []byte("DB:")) {
			return remark{word: wordDB, text: bytes.TrimSpace(text)}
		}
	}
	return remark{word: wordDebug, text: line}
}

// isOK: OK is a word only when alone or followed by a blank. OK: or OKAY is
// some program's chatter, and must not finish a job.
func isOK(line []byte) bool {
	return len(line) >= 2 && line[0] == 'O' && line[1] == 'K' && (len(line) == 2 || line[2] == ' ')
}

// encodeClassic appends the line for an agent of the classic dialect.
func encodeClassic(b []byte, l *scheduler.Line) ([]byte, error) {
	if l.HasArgs {
		if strings.IndexByte(l.Args, '\n') >= 0 {
			return b, errors.New("the argument holds a line break, which the classic dialect cannot carry")
		}
		b = append(b, l.Args...)
	}
	return append(b, '\n'), nil
}

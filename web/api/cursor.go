package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
)

// A cursor is where a page ended, and the digest of the filter that it belongs to: under another it would skip jobs
// that were never shown. It gives no right: a caller that makes one up reads from another place.

func digestOf(filter any) [8]byte {
	text, _ := json.Marshal(filter) // a struct of words and times
	sum := sha256.Sum256(text)
	return [8]byte(sum[:8])
}

func writeCursor(filter any, at *int64) *string {
	if at == nil {
		return nil
	}
	d := digestOf(filter)
	text := base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(d[:], uint64(*at)))
	return &text
}

func readCursor(filter any, text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	d := digestOf(filter)
	if err != nil || len(raw) != 16 || [8]byte(raw[:8]) != d {
		return nil, refused(http.StatusUnprocessableEntity, "bad_cursor", "ask for the first page: leave out cursor",
			"this cursor is not valid, or belongs to another filter")
	}
	at := int64(binary.BigEndian.Uint64(raw[8:]))
	return &at, nil
}

package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// shortest is how many characters a token needs: 16 random ones are beyond guessing.
const shortest = 16

// ReadToken reads the token that a file holds, with or without a line's end.
// The file must be nobody's business but its owner's: mode 0600 or less.
func ReadToken(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return "", fmt.Errorf("token: others may read %s (mode %04o): chmod 600 %[1]s", path, mode)
	}
	text := make([]byte, 4<<10)
	n, _ := file.Read(text) // nothing to read is an empty token, which is refused
	return CheckToken(strings.TrimRight(string(text[:n]), "\r\n"))
}

// CheckToken refuses what is no token: one that is short enough to guess, or
// that no HTTP header can carry. The token itself is never in the error.
func CheckToken(token string) (string, error) {
	if len(token) < shortest {
		return "", fmt.Errorf("token: it has %d characters, and needs %d or more: head -c 24 /dev/urandom | base64",
			len(token), shortest)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("token: it holds a blank, a control character or one that is not ASCII, which no header can carry: head -c 24 /dev/urandom | base64")
	}
	return token, nil
}

// open is what is answered without a token: whoever restarts or routes around
// an instance needs no more than whether it is well.
var open = map[string]bool{"/healthz": true, "/readyz": true}

// guarded lets through who sends the token as "Authorization: Bearer TOKEN". An
// empty token lets everybody through. Digests are compared, so that the time
// that takes tells nothing, the token's length included.
func guarded(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(strings.TrimSpace(sent)))
		if !open[r.URL.Path] && (!strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="bellhop"`)
			http.Error(w, "a token is needed: Authorization: Bearer …", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

package web

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
)

// shortest is how many characters a token needs: 16 random ones are beyond guessing.
const shortest = 16

// ReadToken reads the token that a file holds.
func ReadToken(path string) (string, error) {
	text, err := ReadSecret(path)
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	return CheckToken(text)
}

// ReadSecret reads the line that a file holds, with or without its end. Only the owner of the file may have access:
// mode 0600 or less.
func ReadSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return "", fmt.Errorf("others may read %s (mode %04o): chmod 600 %[1]s", path, mode)
	}
	text := make([]byte, 4<<10)
	n, _ := file.Read(text) // nothing to read is an empty secret, which is refused
	return strings.TrimRight(string(text[:n]), "\r\n"), nil
}

// CheckToken refuses what is no token: one that is short enough to guess, or
// that no HTTP header can carry. The token itself is never in the error.
func CheckToken(token string) (string, error) {
	if len(token) < shortest {
		return "", fmt.Errorf("token: it has %d characters, and needs %d or more: head -c 24 /dev/urandom | base64",
			len(token), shortest)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New(
			"token: it holds a blank, a control character or one that is not ASCII, which no header can carry: head -c 24 /dev/urandom | base64",
		)
	}
	return token, nil
}

// Token is what a program sends to identify itself.
type Token struct {
	Name    string // for people: the secret is nowhere shown
	Role    string // of PostgreSQL, under which its requests are answered
	Secret  string
	Expires time.Time // zero: never
	Main    bool      // that of BELLHOP_TOKEN or token_file: with it every caller is asked
}

// tokens are known by their digests, so that the time which looking one up takes
// tells nothing, its length included.
type tokens struct {
	byDigest map[[sha256.Size]byte]Token
	main     bool
}

func newTokens(list []Token) tokens {
	t := tokens{byDigest: make(map[[sha256.Size]byte]Token, len(list))}
	for _, one := range list {
		t.byDigest[sha256.Sum256([]byte(one.Secret))] = one
		t.main = t.main || one.Main
	}
	return t
}

// identify reads "Bearer TOKEN".
func (t tokens) identify(sent string, now time.Time) (Identity, *Problem) {
	scheme, secret, _ := strings.Cut(sent, " ")
	one, known := t.byDigest[sha256.Sum256([]byte(strings.TrimSpace(secret)))]
	if !known || !strings.EqualFold(scheme, "Bearer") {
		return Identity{}, &Problem{
			Status: http.StatusUnauthorized,
			Code:   "wrong_token",
			Detail: "this token is not known here: Authorization: Bearer …",
			Next:   "tokens: in bellhop.yaml lists the valid ones",
		}
	}
	if !one.Expires.IsZero() && now.After(one.Expires) {
		return Identity{}, &Problem{
			Status: http.StatusUnauthorized,
			Code:   "expired_token",
			Detail: "the token " + one.Name + " has expired",
			Next:   "set another date, and another secret, under tokens: in bellhop.yaml",
		}
	}
	return Identity{Name: one.Name, Role: one.Role, Via: "token"}, nil
}

// sameText compares in a time that tells nothing.
func sameText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

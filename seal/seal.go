// Package seal encrypts what jobs are given, so that the database never has it in plain text. The text of an args, a
// var, a column or a result becomes an envelope, which programs with the same key open again. docs/encryption.md has
// the form of an envelope; bellhop.py and bellhop.js read and write the same.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// An envelope is mark, form, the key's id, and in base64 the salt and what AES-256-GCM makes of the text. Key and nonce
// of AES are drawn from the key and the salt by HKDF, so that a key may seal any number of texts.
const (
	mark = "bellhop:sealed:"
	form = "1"

	saltSize = 24
	tagSize  = 16
	ivSize   = 12

	// MaxText is how long a text may be, in bytes.
	MaxText = 16 << 20
	// maxBody is the same of the base64 in an envelope.
	maxBody = (saltSize + MaxText + tagSize + 2) / 3 * 4
)

// What is drawn from a key, and for what.
const (
	forText   = "bellhop sealed 1"
	forRepeat = "bellhop sealed 1 repeat"
)

// Place says of which job an envelope is, and where in it: it can be opened there alone.
type Place struct {
	Type string // of the job
	At   string // Args, Var, Item, Result or Step
}

// The places that envelopes have in a job.
const (
	Args   = "args"
	Result = "result"
)

// Var is the place of a variable.
func Var(name string) string { return "vars." + name }

// Item is the place of a column of a query's rows.
func Item(column string) string { return "item." + column }

// Step is the place of a step's output.
func Step(name string) string { return "steps." + name }

// ErrBroken is of an envelope that its key does not open: it was changed, or is of another type or place.
var ErrBroken = errors.New("it cannot be opened: it was sealed for another type or place, or changed since")

// NoKey is of an envelope whose key is not at hand, and may be elsewhere.
type NoKey struct {
	ID   string
	Have []string
}

func (e *NoKey) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("sealed with key %s, and no keys are here", e.ID)
	}
	return fmt.Sprintf("sealed with key %s, and the keys here are %s", e.ID, strings.Join(e.Have, ", "))
}

// KeyOf tells whether a text is an envelope, or the beginning of one, and with which key it was sealed. The id is empty
// where it cannot be read.
func KeyOf(text string) (id string, sealed bool) {
	rest, sealed := strings.CutPrefix(text, mark)
	if !sealed {
		return "", false
	}
	_, rest, _ = strings.Cut(rest, ":")
	if id, _, _ = strings.Cut(rest, ":"); !isID(id) {
		return "", true
	}
	return id, true
}

// Among reports whether there may be an envelope in a text, such as a JSON object of vars.
func Among(text string) bool { return strings.Contains(text, mark) }

// Shown is what people see of an envelope; any other text is shown as it is.
func Shown(text string) string {
	switch id, sealed := KeyOf(text); {
	case !sealed:
		return text
	case id == "":
		return "sealed, in a form that cannot be read"
	default:
		return "sealed with key " + id
	}
}

// Seal makes an envelope of a text. Two envelopes of one text differ. The errors are of the text: too long, not UTF-8,
// or with a byte that no job may have.
func (k *Keys) Seal(at Place, text string) (string, error) {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // it never fails
	return k.seal(at, text, salt)
}

// SealAgain is Seal for a job with a key of its own: the same text gives the same envelope, so that a second
// submission is known for the same.
func (k *Keys) SealAgain(at Place, jobKey, text string) (string, error) {
	m := hmac.New(sha256.New, k.list[0].repeat)
	m.Write([]byte(jobKey + "\x00" + at.Type + "\x00" + at.At + "\x00" + text))
	return k.seal(at, text, m.Sum(nil)[:saltSize])
}

func (k *Keys) seal(at Place, text string, salt []byte) (string, error) {
	if err := check(at, text); err != nil {
		return "", err
	}
	head := mark + form + ":" + k.list[0].id
	gcm, iv, err := k.list[0].open(salt)
	if err != nil {
		return "", err
	}
	return head + ":" + base64.StdEncoding.EncodeToString(gcm.Seal(salt, iv, []byte(text), bound(head, at))), nil
}

// check finds what an agent could not be given.
func check(at Place, text string) error {
	switch {
	case len(text) > MaxText:
		return fmt.Errorf("%s has %d bytes, and may have %d; put it where the agent can fetch it, and give its place", at.At, len(text), MaxText)
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not UTF-8; encode it, for example as base64", at.At)
	case strings.ContainsRune(text, 0):
		return fmt.Errorf("%s has a zero byte, which no agent can be given; encode it, for example as base64", at.At)
	case at.At == Args && strings.ContainsAny(text, "\r\n"):
		return errors.New(`args has a line break, and an agent reads one line; write the break as JSON does (\n)`)
	case strings.HasPrefix(text, mark):
		return fmt.Errorf("%s is sealed already; submit it without keys", at.At)
	}
	return nil
}

// Open gives the text of an envelope. A text that is none is given as it is. The error is a *NoKey where the key, or
// the form, is not known here, and else ErrBroken.
func (k *Keys) Open(at Place, text string) (string, error) {
	rest, sealed := strings.CutPrefix(text, mark)
	if !sealed {
		return text, nil
	}
	made, rest, _ := strings.Cut(rest, ":")
	id, body, whole := strings.Cut(rest, ":")
	if !whole || !isID(id) || !isID(made) || len(body) > maxBody || strings.ContainsAny(body, "\r\n") {
		return "", ErrBroken
	}
	if made != form {
		return "", &NoKey{ID: id + " in form " + made + " of envelopes (this program knows form " + form + ")", Have: k.IDs()}
	}
	with := k.named(id)
	if with == nil {
		return "", &NoKey{ID: id, Have: k.IDs()}
	}
	data, err := base64.StdEncoding.Strict().DecodeString(body)
	if err != nil || len(data) < saltSize+tagSize {
		return "", ErrBroken
	}
	gcm, iv, err := with.open(data[:saltSize])
	if err != nil {
		return "", err
	}
	plain, err := gcm.Open(nil, iv, data[saltSize:], bound(mark+form+":"+id, at))
	if err != nil {
		return "", ErrBroken
	}
	if check(at, string(plain)) != nil { // sealed by another program, which did not look
		return "", ErrBroken
	}
	return string(plain), nil
}

// bound is what an envelope is bound to besides its text.
func bound(head string, at Place) []byte { return []byte(head + "\x00" + at.Type + "\x00" + at.At) }

// open gives the cipher, and its nonce, of one envelope.
func (k *key) open(salt []byte) (cipher.AEAD, []byte, error) {
	drawn, err := hkdf.Key(sha256.New, k.secret, salt, forText, keySize+ivSize)
	if err != nil {
		return nil, nil, err
	}
	block, err := aes.NewCipher(drawn[:keySize])
	if err != nil {
		return nil, nil, err
	}
	gcm, err := cipher.NewGCM(block)
	return gcm, drawn[keySize:], err
}

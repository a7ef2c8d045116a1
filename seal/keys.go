package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

const (
	keySize = 32
	// maxFile bounds a file of keys, and so their number.
	maxFile = 64 << 10
	maxID   = 64
)

// Keys are the keys of a file: the first one seals, each of them opens. A nil *Keys opens nothing.
type Keys struct{ list []key }

type key struct {
	id     string
	secret []byte
	repeat []byte // drawn from it for SealAgain
}

// Read reads a file of keys: a line each, its id and in base64 its 32 bytes. Lines that are empty or begin with # say
// nothing. No error tells what is in the file.
func Read(file string) (*Keys, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noFile(file)
	} else if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the keys: %w", err)
	}
	keys, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("keys in %s: %w", file, err)
	}
	return keys, nil
}

// noFile is of a file of keys that is not there.
type noFile string

func (f noFile) Error() string {
	return fmt.Sprintf("there is no file of keys %s; make one: bellhop key new FILE", string(f))
}

func (noFile) Is(other error) bool { return other == fs.ErrNotExist }

// Parse reads the text of a file of keys.
func Parse(text []byte) (*Keys, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("the file is longer than %d bytes: is this a file of keys? Remove old ones", maxFile)
	}
	k := &Keys{}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		one, err := parseKey(words)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if k.named(one.id) != nil {
			return nil, fmt.Errorf("line %d: key %s is there twice; remove one", n, one.id)
		}
		k.list = append(k.list, one)
	}
	if len(k.list) == 0 {
		return nil, errors.New("there is no key; make one: bellhop key new FILE")
	}
	return k, nil
}

func parseKey(words []string) (key, error) {
	if len(words) != 2 {
		return key{}, errors.New("a line is KEYID BASE64, as bellhop key new writes it")
	}
	if !isID(words[0]) {
		return key{}, fmt.Errorf("a key's id has 1 to %d letters, digits, dots, - and _", maxID)
	}
	secret, err := base64.StdEncoding.Strict().DecodeString(words[1])
	if err != nil || len(secret) != keySize {
		return key{}, fmt.Errorf("key %s is not %d bytes in base64, as bellhop key new writes it", words[0], keySize)
	}
	repeat, err := hkdf.Key(sha256.New, secret, nil, forRepeat, keySize)
	return key{words[0], secret, repeat}, err
}

func isID(text string) bool {
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return text != "" && len(text) <= maxID
}

// NewKey makes a line of a file of keys. Without an id it gets one of its own.
func NewKey(id string) (line string, err error) {
	if id == "" {
		id = "k" + hex.EncodeToString(random(4))
	}
	if !isID(id) {
		return "", fmt.Errorf("%q is not an id of a key: it has 1 to %d letters, digits, dots, - and _", id, maxID)
	}
	return id + " " + base64.StdEncoding.EncodeToString(random(keySize)) + "\n", nil
}

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return b
}

// IDs are the ids of the keys, in the order of the file.
func (k *Keys) IDs() []string {
	if k == nil {
		return nil
	}
	ids := make([]string, len(k.list))
	for i := range k.list {
		ids[i] = k.list[i].id
	}
	return ids
}

// By is the same keys, of which the one of this id seals. The error is a *NoKey.
func (k *Keys) By(id string) (*Keys, error) {
	with := k.named(id)
	if with == nil {
		return nil, &NoKey{ID: id, Have: k.IDs()}
	}
	others := slices.DeleteFunc(slices.Clone(k.list), func(one key) bool { return one.id == id })
	return &Keys{list: append([]key{*with}, others...)}, nil
}

func (k *Keys) named(id string) *key {
	if k == nil {
		return nil
	}
	if i := slices.IndexFunc(k.list, func(one key) bool { return one.id == id }); i >= 0 {
		return &k.list[i]
	}
	return nil
}

// String keeps the keys out of logs.
func (k *Keys) String() string { return "keys " + strings.Join(k.IDs(), ", ") }

// GoString does the same for %#v.
func (k *Keys) GoString() string { return k.String() }

package seal_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bellhop/seal"
)

const first = "first AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n"

var mail = seal.Place{Type: "mail", At: seal.Args}

func keys(t *testing.T, text string) *seal.Keys {
	t.Helper()
	k, err := seal.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newKey(t *testing.T, id string) string {
	t.Helper()
	line, err := seal.NewKey(id)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func sealed(t *testing.T, k *seal.Keys, at seal.Place, text string) string {
	t.Helper()
	envelope, err := k.Seal(at, text)
	if err != nil {
		t.Fatal(err)
	}
	return envelope
}

func TestSeal_OpensWhatItSealed(t *testing.T) {
	t.Parallel()
	k := keys(t, first)
	for _, text := range []string{"", "a", "žluťoučký kůň", `{"order":42}`, strings.Repeat("x", 1<<20)} {
		a, b := sealed(t, k, mail, text), sealed(t, k, mail, text)
		if a == b {
			t.Errorf("two envelopes of %.20q are the same", text)
		}
		if got, err := k.Open(mail, a); err != nil || got != text {
			t.Errorf("%.20q came back as %.20q, %v", text, got, err)
		}
		if text != "" && strings.Contains(a, text) && len(text) > 1 {
			t.Errorf("%.20q is in its envelope", text)
		}
	}
}

// bellhop.py has made these: other programs read and write the same.
func TestSeal_TheFormOfAnEnvelopeStays(t *testing.T) {
	t.Parallel()
	k := keys(t, first)
	for _, c := range []struct {
		at             seal.Place
		text, envelope string
	}{
		{mail, "žluťoučký", "bellhop:sealed:1:first:tpdiNpIueaVYIB7Vco2zILkGg/f7+CHdvC+9uNeir7mhUrW6bnO+NsmO6USf1KLallALEzk="},
		{seal.Place{Type: "mail", At: seal.Var("TO")}, "", "bellhop:sealed:1:first:7Xy6x4dHsG8qieLrpviriP6DN4XNQD7LhRBLX3U9kVaZ52mJDJofHw=="},
	} {
		got, err := k.SealAgain(c.at, "mail.1", c.text)
		if err != nil || got != c.envelope {
			t.Errorf("%q of key mail.1 is sealed as %q, %v, want %q", c.text, got, err, c.envelope)
		}
		if text, err := k.Open(c.at, c.envelope); err != nil || text != c.text {
			t.Errorf("%s opens as %q, %v, want %q", c.envelope, text, err, c.text)
		}
	}
}

func TestSeal_AJobThatComesAgainIsSealedAlike_AnotherIsNot(t *testing.T) {
	t.Parallel()
	k, seen := keys(t, first), map[string]string{}
	for _, c := range [][4]string{
		{"mail", seal.Args, "k1", "x"}, {"mail", seal.Args, "k2", "x"}, {"mail", seal.Args, "k1", "y"},
		{"mail2", seal.Args, "k1", "x"}, {"mail", seal.Var("A"), "k1", "x"},
	} {
		once, err := k.SealAgain(seal.Place{Type: c[0], At: c[1]}, c[2], c[3])
		again, _ := k.SealAgain(seal.Place{Type: c[0], At: c[1]}, c[2], c[3])
		if err != nil || once != again {
			t.Errorf("%q is sealed as %q and %q, %v", c, once, again, err)
		}
		body := once[strings.LastIndex(once, ":")+1:][:32]
		if other, there := seen[body]; there {
			t.Errorf("%q and %s share a salt", c, other)
		}
		seen[body] = fmt.Sprint(c)
	}
}

func TestSeal_AnEnvelopeOpensInItsPlaceAlone(t *testing.T) {
	t.Parallel()
	k := keys(t, first)
	envelope := sealed(t, k, mail, "secret")
	for _, at := range []seal.Place{
		{Type: "mail2", At: seal.Args}, {Type: "mail", At: seal.Var("args")}, {Type: "mail", At: seal.Result},
		{Type: "mail", At: seal.Item("args")}, {Type: "mail", At: seal.Step("args")}, {Type: "", At: seal.Args},
	} {
		if text, err := k.Open(at, envelope); !errors.Is(err, seal.ErrBroken) {
			t.Errorf("at %v it opens as %q, %v", at, text, err)
		}
	}
}

// Property: whatever is changed in an envelope, or cut off, it does not open.
func TestSeal_NoChangedEnvelopeOpens(t *testing.T) {
	t.Parallel()
	k := keys(t, first)
	envelope := sealed(t, k, mail, "a secret of some length")
	at := strings.LastIndex(envelope, ":") + 1
	body, err := base64.StdEncoding.DecodeString(envelope[at:])
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(body) {
		changed := append([]byte(nil), body...)
		changed[bit/8] ^= 1 << (bit % 8)
		again := envelope[:at] + base64.StdEncoding.EncodeToString(changed)
		if text, err := k.Open(mail, again); !errors.Is(err, seal.ErrBroken) {
			t.Fatalf("with bit %d changed it opens as %q, %v", bit, text, err)
		}
	}
	luck := rand.New(rand.NewPCG(1, 2))
	for n := range envelope {
		short := envelope[:n]
		if text, err := k.Open(mail, short); err == nil && (text != short || strings.HasPrefix(short, "bellhop:sealed:")) {
			t.Fatalf("cut to %d bytes it opens as %q", n, text)
		}
		other := []byte(envelope)
		if other[n] = byte(luck.IntN(256)); other[n] == envelope[n] {
			continue
		}
		if text, err := k.Open(mail, string(other)); err == nil && text != string(other) {
			t.Fatalf("with byte %d as %q it opens as %q", n, other[n], text)
		}
	}
}

func TestSeal_KeysAreReplacedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	old := newKey(t, "old")
	before := sealed(t, keys(t, old), mail, "before")
	both := keys(t, newKey(t, "new")+old)
	after := sealed(t, both, mail, "after")
	if id, is := seal.KeyOf(after); id != "new" || !is {
		t.Errorf("the first key seals: got %s", after)
	}
	for envelope, text := range map[string]string{before: "before", after: "after"} {
		if got, err := both.Open(mail, envelope); got != text || err != nil {
			t.Errorf("%s opens as %q, %v", envelope, got, err)
		}
	}
	var lacks *seal.NoKey
	_, err := keys(t, old).Open(mail, after)
	if !errors.As(err, &lacks) || lacks.ID != "new" || !strings.Contains(err.Error(), "key new") {
		t.Errorf("without the new key: %v", err)
	}
	if _, err := (*seal.Keys)(nil).Open(mail, after); !errors.As(err, &lacks) {
		t.Errorf("without any keys: %v", err)
	}
	if _, err := keys(t, newKey(t, "new")).Open(mail, after); !errors.Is(err, seal.ErrBroken) {
		t.Errorf("with another key of the same id: %v", err)
	}
}

func TestKeys_OneOfThemSealsAndAllOpen(t *testing.T) {
	t.Parallel()
	both := keys(t, newKey(t, "new")+newKey(t, "old"))
	by, err := both.By("old")
	if err != nil {
		t.Fatal(err)
	}
	envelope := sealed(t, by, mail, "x")
	if id, _ := seal.KeyOf(envelope); id != "old" || !slices.Equal(by.IDs(), []string{"old", "new"}) {
		t.Errorf("%v have sealed with key %s", by, id)
	}
	if text, err := both.Open(mail, envelope); text != "x" || err != nil {
		t.Errorf("it opens as %q, %v", text, err)
	}
	if id, _ := seal.KeyOf(sealed(t, both, mail, "x")); id != "new" {
		t.Errorf("the keys that it is made of seal with %s", id)
	}
	var lacks *seal.NoKey
	if _, err := both.By("third"); !errors.As(err, &lacks) || lacks.ID != "third" {
		t.Errorf("by a key that is not there: %v", err)
	}
}

func TestSeal_RefusesTextsThatNoAgentCouldGet(t *testing.T) {
	t.Parallel()
	k := keys(t, first)
	for text, want := range map[string]string{
		"a\nb": "line break", "a\rb": "line break", "a\x00": "zero byte", "\xff": "not UTF-8",
		strings.Repeat("x", seal.MaxText+1): "16777216", sealed(t, k, mail, "x"): "sealed already",
	} {
		if _, err := k.Seal(mail, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want an error with %q", text, err, want)
		}
	}
	if _, err := k.Seal(seal.Place{Type: "mail", At: seal.Var("A")}, "a\nb"); err != nil {
		t.Errorf("a var may have several lines: %v", err)
	}
}

func TestShown_NamesTheKeyAndNothingElse(t *testing.T) {
	t.Parallel()
	envelope := sealed(t, keys(t, first), mail, "secret")
	for text, want := range map[string]string{
		envelope: "sealed with key first", envelope[:40]: "sealed with key first",
		"bellhop:sealed:":      "sealed, in a form that cannot be read",
		"bellhop:sealed:1:é:x": "sealed, in a form that cannot be read", "plain": "plain", "": "", "a bellhop:sealed:": "a bellhop:sealed:",
	} {
		if got := seal.Shown(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestKeys_BadFiles(t *testing.T) {
	t.Parallel()
	secret := strings.Fields(first)[1]
	for text, want := range map[string]string{
		"": "there is no key", "# only words\n\n": "there is no key", "a\n": "line 1: a line is KEYID BASE64",
		"# one\na b c\n": "line 2: a line is KEYID BASE64", "a/b " + secret: "a key's id", "a AAAA": "is not 32 bytes",
		"a " + secret[:40] + "!!!=": "is not 32 bytes", first + first: "line 2: key first is there twice",
		strings.Repeat("#", 64<<10+1): "longer than 65536 bytes", strings.Repeat("i", 65) + " " + secret: "1 to 64 letters",
	} {
		_, err := seal.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want an error with %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), secret[:20]) {
			t.Errorf("%.40q: the error tells the key: %v", text, err)
		}
	}
	_, err := seal.Read(filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "bellhop key new") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestKeys_AreNotPrinted(t *testing.T) {
	t.Parallel()
	k := keys(t, "# of the shop\n"+first)
	for _, text := range []string{fmt.Sprint(k), fmt.Sprintf("%+v", k), fmt.Sprintf("%#v", k)} {
		if text != "keys first" {
			t.Errorf("printed as %q", text)
		}
	}
}

// FuzzOpen: no text opens that was not sealed, and none ends the program.
func FuzzOpen(f *testing.F) {
	k, err := seal.Parse([]byte(first))
	if err != nil {
		f.Fatal(err)
	}
	envelope, _ := k.SealAgain(mail, "k", "x") // the same in each process of the fuzzer
	for _, text := range []string{envelope, "bellhop:sealed:1:first:", "bellhop:sealed:2:first:AAAA", "bellhop:sealed::", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := k.Open(mail, text)
		_, sealed := seal.KeyOf(text)
		if opens := err == nil && text != envelope; opens && (sealed || got != text) {
			t.Errorf("%q opens as %q", text, got)
		}
	})
}

// FuzzParse: a file of keys is read, or refused.
func FuzzParse(f *testing.F) {
	f.Add([]byte(first))
	f.Add([]byte("# a\n\nb c d"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := seal.Parse(text); err == nil && len(k.IDs()) == 0 {
			t.Errorf("%q has no key, and is no mistake", text)
		}
	})
}

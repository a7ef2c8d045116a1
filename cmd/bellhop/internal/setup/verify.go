package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"aead.dev/minisign"
	"github.com/spf13/cobra"

	"bellhop/cmd/bellhop/internal/cli"
)

const (
	sumsName  = "SHA256SUMS"
	signature = ".minisig"
	// mostSums bounds the files that are read as a whole: a list of sums, a signature, a key.
	mostSums = 1 << 20
)

// VerifyCommand checks a file of a release: its sum, and the signature of the sums.
func VerifyCommand(a *cli.App) *cobra.Command {
	key := cli.ReleaseKey
	c := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a file of a release: its sum, and the signature of that",
		Long: `Check a file of a release. SHA256SUMS and SHA256SUMS.minisig are to lie beside it, as they
were released. The signature is one of minisign's: minisign -Vm SHA256SUMS -p KEY says the same.

The key is that of this program's own release. A program that was not released knows none, and needs --key.`,
		Example: "  bellhop verify bellhop_1.0.0_amd64.deb\n  bellhop verify --key bellhop.pub bellhop_1.0.0_linux_amd64.tar.gz",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return verify(a, key, args[0]) },
	}
	c.Flags().StringVar(&key, "key", key, "the public `key` of minisign, or a file with it")
	return c
}

func verify(a *cli.App, key, path string) error {
	public, err := publicKey(key)
	if err != nil {
		return cli.Usage("verify", err.Error(), "bellhop verify --key FILE.pub "+path)
	}
	dir := filepath.Dir(path)
	sums, err := readSmall(filepath.Join(dir, sumsName))
	if err != nil {
		return cli.Failed(cli.ExitSystem, "verify", "get "+sumsName+" and "+sumsName+signature+" of the same release, and put both beside the file", "%s", err)
	}
	signed, err := readSmall(filepath.Join(dir, sumsName+signature))
	if err != nil {
		return cli.Failed(cli.ExitSystem, "verify", "get "+sumsName+signature+" of the same release, and put it beside the file", "%s", err)
	}
	if !minisign.Verify(public, sums, signed) {
		return cli.Failed(cli.ExitUnwell, "verify", "do not install it; get the release again",
			"%s is not what key %s signed", sumsName, public)
	}
	want, err := sumIn(sums, filepath.Base(path))
	if err != nil {
		return cli.Failed(cli.ExitUnwell, "verify", "do not install it; get the release again", "%s", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return cli.Failed(cli.ExitSystem, "verify", "bellhop verify FILE", "%s", err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return cli.Failed(cli.ExitSystem, "verify", "bellhop verify FILE", "%s", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return cli.Failed(cli.ExitUnwell, "verify", "do not install it; get the release again",
			"%s has the sum %s, and %s says %s", path, got, sumsName, want)
	}
	return a.Printf("ok: %s is what key %s signed\n", path, public)
}

// publicKey reads a key, or the file with it.
func publicKey(text string) (key minisign.PublicKey, err error) {
	if text == "" {
		return key, errors.New("this program was not released, and knows no key")
	}
	if err := key.UnmarshalText([]byte(text)); err == nil {
		return key, nil
	}
	b, err := readSmall(text)
	if errors.Is(err, fs.ErrNotExist) {
		return key, fmt.Errorf("%q is neither a key of minisign nor a file", text)
	}
	if err != nil {
		return key, err
	}
	if err := key.UnmarshalText(b); err != nil {
		return key, fmt.Errorf("%s has no key of minisign: %w", text, err)
	}
	return key, nil
}

// sumIn finds the sum of a file by its name: "SUM  NAME" on a line.
func sumIn(sums []byte, name string) (string, error) {
	for line := range bytes.Lines(sums) {
		if sum, of, ok := bytes.Cut(bytes.TrimSpace(line), []byte("  ")); ok && string(of) == name {
			return string(sum), nil
		}
	}
	return "", fmt.Errorf("%s has no line of %s: it is not of this release", sumsName, name)
}

func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostSums+1))
	if err == nil && len(b) > mostSums {
		err = fmt.Errorf("%s is longer than %d bytes", path, mostSums)
	}
	return b, err
}

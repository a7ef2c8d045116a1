package scheduler

import "testing"

// Only https, and http that does not leave this machine, keep secrets.
func TestEncrypted(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"https://login.example.org": true, "https://10.0.0.1:8443/a": true, "http://127.0.0.1:8470": true,
		"http://localhost:1": true, "http://[::1]:1/x": true,
		"http://login.example.org": false, "http://localhost.evil.example": false, "http://127.0.0.1.evil.example": false,
		"http://10.0.0.1": false, "ftp://127.0.0.1": false, "127.0.0.1": false, "https://": false, "": false,
		"http://127.0.0.1@evil.example/": false, "javascript:alert(1)": false,
	} {
		if got := Encrypted(address); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
}

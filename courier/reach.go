package courier

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// unreached is why no message came to a server, host:port, in words for people. A URL, which may hold a
// secret, is left out.
func unreached(server string, err error) error {
	why := ""
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var posted *url.Error
	errors.As(err, &posted)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		why = "DNS does not know the name " + dns.Name
	case errors.As(err, &dns):
		why = "DNS did not answer about the name " + dns.Name
	case errors.As(err, &cert):
		why = "its certificate is not trusted: " + cert.Err.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		why = "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		why = "no route to it"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, syscall.ETIMEDOUT):
		why = "no answer in time"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), posted != nil && closedIdle(posted.Err):
		why = "it closed the connection"
	case errors.As(err, &op):
		why = op.Err.Error()
	case posted != nil:
		why = posted.Err.Error()
	default:
		return fmt.Errorf("%s: %s", server, strings.TrimPrefix(err.Error(), "dial failed: "))
	}
	return fmt.Errorf("cannot reach %s: %s", server, why)
}

// closedIdle tells whether the server closed a connection before the request was on it. Package net/http has no
// exported error for this.
func closedIdle(err error) bool { return err.Error() == "http: server closed idle connection" }

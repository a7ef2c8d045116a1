// Package fossology answers the TCP port of FOSSology's scheduler: the front
// end and fo_cli say a few words of text there, to have the queue looked at,
// jobs killed, held and released, and to see what goes on. It reads the words
// and writes the answers; what they do is for its Desk.
package fossology

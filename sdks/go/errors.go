package mcptest

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind says what kind of failure an [Error] is. Compare with [errors.Is]:
//
//	if errors.Is(err, mcptest.ErrUpstreamGone) { … }
type Kind string

// The kinds of failures.
const (
	// ErrBinary: mcptest cannot be started, or has ended.
	ErrBinary Kind = "binary"
	// ErrTimeout: mcptest did not answer in time; it was stopped, and the server with it. A server
	// that hangs is ErrUpstream.
	ErrTimeout Kind = "timeout"
	// ErrContract: mcptest sent something that this version of the SDK does not know.
	ErrContract Kind = "contract"
	// ErrVersion: mcptest has another version; the message says which side to upgrade.
	ErrVersion Kind = "version"
	// ErrClosed: the connection was closed, before the call or while it waited.
	ErrClosed Kind = "closed"
	// ErrUpstream: the server refused the request ([Error.ServerCode]), did not answer in time (its
	// [Error.Fault] is "timeout"), or its answer cannot be used.
	ErrUpstream Kind = "upstream"
	// ErrUpstreamGone: the server could not be started or reached, or has exited.
	ErrUpstreamGone Kind = "upstream_gone"
	// ErrRefused: mcptest refused the request: a file that is not a cassette, an upload that failed,
	// mistakes in a suite.
	ErrRefused Kind = "refused"
)

func (k Kind) Error() string { return string(k) }

// An Error is a call that failed in mcptest or in the server behind it. An error that a tool
// reports is not an Error but a [Verdict] without success.
type Error struct {
	Kind   Kind
	Method string // the request that failed, such as "mcp.call"

	// Of ErrUpstream, ErrUpstreamGone and ErrRefused: what mcptest answered. Data is the error of
	// the server, or has details; nil if there is none.
	Code int64
	Said string
	Data JSON

	message string
}

func (e *Error) Error() string { return e.message }

// Is reports whether target is the kind of this error.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

// Fault returns what happened to the server or its answer, such as "timeout" or
// "exited_during_call": one of the kinds in docs/faults.md. It is "" if the server itself answered
// with an error, and for failures of mcptest.
func (e *Error) Fault() string {
	return readString(e.details()["kind"])
}

// ServerCode returns the code of the error with which the server answered, such as -32602. ok is
// whether it did.
func (e *Error) ServerCode() (code int64, ok bool) {
	if e.Kind != ErrUpstream || e.Fault() != "" {
		return 0, false
	}
	raw := e.details()["code"]
	ok = len(raw) > 0 && string(raw) != "null" && json.Unmarshal(raw, &code) == nil
	return code, ok
}

// details returns the members of Data.
func (e *Error) details() (members map[string]json.RawMessage) {
	_ = json.Unmarshal(e.Data, &members)
	return members
}

// isRefusal reports whether this is an answer of the binary, after which it can be used.
func (e *Error) isRefusal() bool {
	return e.Kind == ErrUpstream || e.Kind == ErrUpstreamGone || e.Kind == ErrRefused
}

const (
	mayHaveRun = "it may have taken effect anyway"
	drift      = "the mcptest binary and this SDK are of different releases"
)

func newError(kind Kind, method, format string, values ...any) *Error {
	return &Error{Kind: kind, Method: method, message: fmt.Sprintf(format, values...)}
}

// newDrift is for an answer that this version of the contract does not know.
func newDrift(method, format string, values ...any) *Error {
	return newError(ErrContract, method, "contract drift: "+format+"; "+drift, values...)
}

// newRefusal is for an error response.
func newRefusal(method string, code int64, said string, data JSON) *Error {
	kind := ErrRefused
	switch code {
	case -32000:
		kind = ErrUpstream
	case -32001:
		kind = ErrUpstreamGone
	}
	lines := []string{said}
	if said == "" {
		lines[0] = fmt.Sprintf("%s was refused without a message (code %d)", method, code)
	}
	lines = append(lines, describeData(data)...)
	return &Error{
		Kind: kind, Method: method, Code: code, Said: said, Data: data,
		message: visible(strings.Join(lines, "\n"), true),
	}
}

// describeData returns what helps to understand a refusal. Data without a kind is the server's own.
func describeData(data JSON) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || readString(members["kind"]) == "" {
		return nil
	}
	var lines []string
	if hint := readString(members["hint"]); hint != "" {
		lines = append(lines, "hint: "+fieldNames.Replace(hint))
	}
	if readString(members["effect"]) == "indefinite" {
		lines = append(lines, mayHaveRun)
	}
	var words []string
	if json.Unmarshal(members["command"], &words) == nil && len(words) > 0 {
		lines = append(lines, "command: "+quoteWords(words))
	}
	if ended := readString(members["exit_status"]); ended != "" {
		lines = append(lines, "ended: "+ended)
	}
	if stderr := strings.TrimSpace(readString(members["stderr"])); stderr != "" {
		lines = append(lines, "stderr of the server:\n  "+strings.ReplaceAll(stderr, "\n", "\n  "))
	}
	return lines
}

// fieldNames replaces what the binary calls its options by the fields of [Server].
var fieldNames = strings.NewReplacer(
	`--start-timeout, or "startupTimeout" in the config`, "StartTimeout",
	"--start-timeout", "StartTimeout",
	"--timeout", "Timeout",
	"--spec-version", "Revision",
	"--server-command", "Command",
	"--cwd", "Dir",
	"--url", "URL",
	"--bearer-env", "BearerEnv",
	"--header-env", "HeaderEnv",
	"--ca-file", "CAFile",
)

// readString returns a JSON string, "" for any other value.
func readString(raw json.RawMessage) string {
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}

// excerpt returns the beginning of text from outside, as a message can show it.
func excerpt(raw []byte) string {
	const most = 200
	text := string(raw)
	if len(text) > 4*most {
		text = text[:4*most]
	}
	shown := []rune(visible(text, false))
	if len(shown) > most || len(text) < len(raw) {
		if len(shown) > most {
			shown = shown[:most]
		}
		return string(shown) + "…"
	}
	return string(shown)
}

// visible returns the text with every character that cannot be seen written as an escape: control
// characters, terminal escapes, bidirectional overrides, bytes that are not UTF-8. In text of
// several lines, newlines and tabs are kept.
func visible(text string, hasLines bool) string {
	var shown strings.Builder
	for i, char := range text {
		size := utf8.RuneLen(char)
		if char == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		switch {
		case char == utf8.RuneError && size == 1:
			fmt.Fprintf(&shown, `\x%02x`, text[i])
		case hasLines && (char == '\n' || char == '\t'), unicode.IsPrint(char):
			shown.WriteRune(char)
		case char == '\n':
			shown.WriteString(`\n`)
		case char == '\r':
			shown.WriteString(`\r`)
		case char == '\t':
			shown.WriteString(`\t`)
		case char < 0x100:
			fmt.Fprintf(&shown, `\x%02x`, char)
		case char < 0x10000:
			fmt.Fprintf(&shown, `\u%04x`, char)
		default:
			fmt.Fprintf(&shown, `\U%08x`, char)
		}
	}
	return shown.String()
}

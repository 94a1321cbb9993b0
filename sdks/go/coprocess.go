package mcptest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// coprocessProtocolVersion is the version of the channel that this SDK speaks. A test compares it
// with that of the binary and of the other SDKs.
const coprocessProtocolVersion = 2

// Version is the release of this SDK.
const Version = "0.1.0"

const (
	maxRequestBytes = 64 << 20
	maxAnswerBytes  = 64<<20 + 64<<10

	defaultLimit   = 60 * time.Second
	handshakeLimit = 10 * time.Second
	shutdownLimit  = 10 * time.Second
	// How long a killed process may take to be gone.
	killLimit = 5 * time.Second
	// How long the output of a binary may stay open after it has ended, and the other way around.
	endLimit = 500 * time.Millisecond

	keptStderrBytes = 4 << 10
	keptWarnings    = 100
)

// A coprocess is one running mcptest binary. Requests are sent one at a time, in the order in which
// they are made.
type coprocess struct {
	limit         time.Duration // for requests without one of their own
	warn          func(string)
	binaryVersion string
	isReady       bool // the handshake was answered

	process *os.Process
	stdin   io.WriteCloser
	stdout  io.Closer
	stderr  *stderrTail
	lines   chan line
	exited  chan struct{} // closed when the process has ended; then state is set
	state   *os.ProcessState
	stopped chan struct{} // closed when nothing is read any more

	turn   chan struct{} // full while a request is under way; its owner has the next two
	lastID int
	broken error // why no request can be sent; nil while one can

	closed    chan struct{}
	closeOnce sync.Once
	stopOnce  sync.Once
}

// A line is what the binary wrote to its standard output; with an error, what there was before it.
type line struct {
	raw []byte
	err error
}

var errTooLong = fmt.Errorf("a line of more than %d bytes", maxAnswerBytes)

// startCoprocess starts the binary with these options, and performs the handshake. warn gets each
// warning of the binary at the end.
func startCoprocess(ctx context.Context, options, variables []string, warn func(string)) (*coprocess, error) {
	command, err := binaryCommand()
	if err != nil {
		return nil, err
	}
	if warn == nil {
		warn = func(text string) { fmt.Fprintln(os.Stderr, "mcptest: "+text) }
	}
	c := &coprocess{
		limit:   defaultLimit,
		warn:    warn,
		lines:   make(chan line),
		exited:  make(chan struct{}),
		stopped: make(chan struct{}),
		turn:    make(chan struct{}, 1),
		closed:  make(chan struct{}),
	}
	cmd := exec.Command(command[0], append(command[1:], options...)...)
	cmd.Env = append(os.Environ(), variables...)
	cmd.SysProcAttr = newProcessGroup()
	stdin, inErr := cmd.StdinPipe()
	stdout, outErr := cmd.StdoutPipe()
	stderr, errErr := cmd.StderrPipe()
	if err := firstError(inErr, outErr, errErr); err != nil {
		return nil, c.describeStart(command, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, c.describeStart(command, err)
	}
	c.process, c.stdin, c.stdout = cmd.Process, stdin, stdout
	c.stderr = &stderrTail{pipe: stderr, drained: make(chan struct{})}
	go func() {
		// Not cmd.Wait, which closes the pipes before they are read to the end.
		c.state, _ = cmd.Process.Wait()
		// What a wrapper around the binary has left.
		killGroup(cmd.Process)
		close(c.exited)
	}()
	go c.stderr.drain()
	go c.readLines(stdout)
	if err := c.handshake(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func firstError(found ...error) error {
	for _, err := range found {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *coprocess) describeStart(command []string, err error) error {
	const advice = "install mcptest, or set MCPTEST_BIN to its path"
	return newError(ErrBinary, "", "the mcptest binary cannot be started with %s: %s; %s",
		visible(quoteWords(command), false), visible(err.Error(), false), advice)
}

// binaryCommand returns what MCPTEST_BIN names, else mcptest on the path.
func binaryCommand() ([]string, error) {
	named := strings.TrimSpace(os.Getenv("MCPTEST_BIN"))
	if named == "" {
		return []string{"mcptest"}, nil
	}
	if _, err := os.Stat(named); err == nil {
		// A path may contain spaces.
		return []string{named}, nil
	}
	return splitBinary(named)
}

func splitBinary(text string) ([]string, error) {
	words, err := splitWords(text)
	if err == nil && words[0] == "" {
		err = errors.New("its first word is empty")
	}
	if err != nil {
		return nil, newError(ErrBinary, "", "MCPTEST_BIN cannot be split into words: %s: %s", err, excerpt([]byte(text)))
	}
	return words, nil
}

func (c *coprocess) handshake(ctx context.Context) error {
	const method = "coprocess/handshake"
	params := map[string]any{
		"protocol_version": coprocessProtocolVersion, "sdk": "go", "sdk_version": Version,
	}
	result, err := c.requestWithin(ctx, handshakeLimit, method, params)
	var refusal *Error
	if errors.As(err, &refusal) && refusal.isRefusal() {
		switch refusal.Code {
		case -32601:
			return describeUpgrade(method, "coprocess", 1, coprocessProtocolVersion)
		case -32602:
			return newError(ErrVersion, method, "%s", visible(refusal.Said, false))
		}
		return newError(ErrContract, method, "the mcptest binary refused %s: %s (code %d)",
			method, visible(refusal.Said, false), refusal.Code)
	}
	if err != nil {
		return err
	}
	var answer map[string]json.RawMessage
	var theirs int
	_ = json.Unmarshal(result, &answer)
	if raw := answer["protocol_version"]; string(raw) == "null" || json.Unmarshal(raw, &theirs) != nil {
		return newDrift(method, "%s was answered with %s", method, excerpt(result))
	}
	if theirs != coprocessProtocolVersion {
		return describeUpgrade(method, "coprocess", theirs, coprocessProtocolVersion)
	}
	members := newObject(json.RawMessage(result), "protocol_version", "binary_version")
	c.binaryVersion = members.text("binary_version")
	if members.problem != "" {
		return newDrift(method, "%s was answered with another shape: %s", method, members.problem)
	}
	c.isReady = true
	return nil
}

func describeUpgrade(method, channel string, theirs, ours int) *Error {
	advice := "Upgrade the mcptest binary (or pin the SDK to the matching release)."
	if theirs > ours {
		advice = "Upgrade the go SDK (or pin the mcptest binary to the matching release)."
	}
	return newError(ErrVersion, method, "mcptest binary speaks %s v%d; this SDK needs v%d. %s", channel, theirs, ours, advice)
}

// Requests

// request returns the result of a request; params may be nil.
func (c *coprocess) request(ctx context.Context, method string, params any) (JSON, error) {
	return c.requestWithin(ctx, c.limit, method, params)
}

func (c *coprocess) requestWithin(ctx context.Context, limit time.Duration, method string, params any) (JSON, error) {
	message := struct {
		Version string          `json:"jsonrpc"`
		ID      int             `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{Version: "2.0", Method: method}
	if params != nil {
		raw, err := encode("params", params)
		if err != nil {
			return nil, err
		}
		message.Params = raw
	}
	if size := len(message.Params); size > maxRequestBytes-1024 {
		return nil, fmt.Errorf("%s was not sent: its params have %d bytes, and a request has up to %d", method, size, maxRequestBytes)
	}
	// Waiting senders are served in order.
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s was not sent: %w", method, ctx.Err())
	case <-c.closed:
		return nil, c.describeClosed(method)
	}
	select {
	case <-c.closed:
		return nil, c.describeClosed(method)
	default:
	}
	if c.broken != nil {
		return nil, c.broken
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("%s was not sent: %w", method, err)
	}
	if c.lastID > 0 {
		select {
		case early := <-c.lines:
			if early.err != nil {
				_, err := c.readAnswer(method, early)
				return nil, c.fail(err)
			}
			return nil, c.fail(newDrift(method, "before %s was sent, there was the answer %s", method, excerpt(early.raw)))
		default:
		}
	}
	c.lastID++
	message.ID = c.lastID
	raw, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	return c.exchange(ctx, limit, method, append(raw, '\n'))
}

// exchange writes one line and reads one, at the same time.
func (c *coprocess) exchange(ctx context.Context, limit time.Duration, method string, request []byte) (JSON, error) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		// An error is the end of the binary, and the reader reports that.
		_, _ = c.stdin.Write(request)
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	lines, exited, ending := c.lines, c.exited, (<-chan time.Time)(nil)
	var result JSON
	var refusal error
	for written != nil || lines != nil {
		select {
		case <-written:
			written = nil
		case got := <-lines:
			lines = nil
			var err *Error
			if result, err = c.readAnswer(method, got); err != nil {
				if !err.isRefusal() {
					return nil, c.fail(err)
				}
				refusal = err
			}
		case <-exited:
			// Its last answer may still be in the pipe.
			exited, ending = nil, time.After(endLimit)
		case <-ending:
			if lines == nil {
				return result, refusal
			}
			return nil, c.fail(c.describeEnd(method, line{err: io.EOF}))
		case <-timer.C:
			return nil, c.fail(describeTimeout(method, limit))
		case <-c.closed:
			return nil, c.fail(newError(ErrClosed, method, "the connection was closed before %s was answered", method))
		case <-ctx.Done():
			const advice = "its answer may still come, so mcptest was stopped; connect again"
			_ = c.fail(newError(ErrClosed, method, "%s was cancelled; %s", method, advice))
			return nil, fmt.Errorf("%s was cancelled; %s: %w", method, mayHaveRun, ctx.Err())
		}
	}
	return result, refusal
}

func describeTimeout(method string, limit time.Duration) *Error {
	text := fmt.Sprintf("the mcptest binary did not answer %s within %g s, and was stopped", method, limit.Seconds())
	if strings.HasPrefix(method, "mcp.") || method == "suite.run" {
		text += "; " + mayHaveRun
	}
	return newError(ErrTimeout, method, "%s", text)
}

func (c *coprocess) describeClosed(method string) error {
	return newError(ErrClosed, method, "the connection is closed, so %s was not sent; connect again", method)
}

// fail stops the binary; every later request gets the same error.
func (c *coprocess) fail(err *Error) error {
	c.broken = err
	c.stop()
	return err
}

// refuse ends the connection because of a result that the contract does not know.
func (c *coprocess) refuse(err *Error) error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.broken != nil {
		return err
	}
	return c.fail(err)
}

// readAnswer checks a response. A refusal is the answer; any other error ends the connection.
func (c *coprocess) readAnswer(method string, got line) (JSON, *Error) {
	if errors.Is(got.err, errTooLong) {
		return nil, newError(ErrContract, method, "the mcptest binary answered %s with %s; it begins with %s", method, got.err, excerpt(got.raw))
	}
	if got.err != nil {
		return nil, c.describeEnd(method, got)
	}
	members, err := parseObject(got.raw)
	if err != nil {
		const advice = "is MCPTEST_BIN the mcptest binary, and does nothing else write to its standard output?"
		return nil, newError(ErrContract, method, "the mcptest binary answered %s with a line that is not a response: %s (%s); %s",
			method, excerpt(got.raw), visible(err.Error(), false), advice)
	}
	names := []string{"jsonrpc", "id", "result"}
	failure, hasError := members["error"]
	if hasError {
		names[2] = "error"
	}
	envelope := checkMembers(got.raw, members, names...)
	if envelope.text("jsonrpc") != "2.0" && envelope.problem == "" {
		envelope.problem = fmt.Sprintf("jsonrpc is %s", excerpt(members["jsonrpc"]))
	}
	var refusal *Error
	if hasError && envelope.problem == "" {
		if refusal, envelope.problem = readRefusal(method, failure); envelope.problem == "" && string(members["id"]) == "null" {
			return nil, newError(ErrContract, method, "the mcptest binary could not read %s: %s", method, visible(refusal.Said, false))
		}
	}
	if id := envelope.integer("id"); envelope.problem == "" && id != c.lastID {
		envelope.problem = fmt.Sprintf("it has the id %d, not %d", id, c.lastID)
	}
	if envelope.problem != "" {
		return nil, newDrift(method, "the answer to %s is not a response: %s", method, envelope.problem)
	}
	if refusal != nil {
		return nil, refusal
	}
	if result := compact(members["result"]); result != nil {
		return result, nil
	}
	return JSON("null"), nil
}

// readRefusal reads the error of a response.
func readRefusal(method string, raw json.RawMessage) (*Error, string) {
	names := []string{"code", "message", "data"}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members)
	data, hasData := members["data"]
	if !hasData {
		names = names[:2]
	}
	fields := newObject(raw, names...)
	var code int64
	fields.read("code", &code)
	refusal := newRefusal(method, code, fields.text("message"), compact(data))
	return refusal, fields.problem
}

// describeEnd is for a binary that ended, or closed its output, before it answered.
func (c *coprocess) describeEnd(method string, last line) *Error {
	how, code := "it closed its standard output", 0
	select {
	case <-c.exited:
		how, code = c.state.String(), c.state.ExitCode()
	case <-time.After(endLimit):
	}
	select {
	case <-c.stderr.drained:
	case <-time.After(endLimit):
	}
	said := strings.TrimSpace(c.stderr.tail())
	if refusal := findUsageError(said); !c.isReady && code == 2 && refusal != "" {
		return newError(ErrBinary, method, "mcptest refused to start: %s (%s)", refusal, how)
	}
	text := fmt.Sprintf("the mcptest binary ended before it answered %s: %s", method, how)
	if len(last.raw) > 0 {
		text += "; half an answer was received: " + excerpt(last.raw)
	}
	if said != "" {
		text += "; its last words: " + said
	}
	return newError(ErrBinary, method, "%s", text)
}

// findUsageError returns what the binary says about its command line, with the names of this SDK.
func findUsageError(stderr string) string {
	const mark = "error: "
	if at := strings.Index("\n"+stderr, "\n"+mark); at >= 0 {
		return fieldNames.Replace(stderr[at+len(mark):])
	}
	return ""
}

// Reading

func (c *coprocess) readLines(stdout io.Reader) {
	reader := bufio.NewReaderSize(stdout, 64<<10)
	for {
		raw, err := readLine(reader)
		if err == nil && len(bytes.Trim(raw, " \t\r")) == 0 {
			continue
		}
		select {
		case c.lines <- line{raw, err}:
		case <-c.stopped:
			return
		}
		if err != nil {
			return
		}
	}
}

// readLine returns the next line without its newline; with an error, what there was before it.
func readLine(reader *bufio.Reader) ([]byte, error) {
	var parts [][]byte
	size := 0
	for {
		part, err := reader.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte("\n"))
		if size += len(part); size > maxAnswerBytes {
			return append(parts, part)[0], errTooLong
		}
		// Parts, because a slice that grows needs several times the memory of a long line.
		parts = append(parts, bytes.Clone(part))
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.Join(parts, nil), err
		}
	}
}

// stderrTail drains the standard error of the binary, and keeps its end and its warnings.
type stderrTail struct {
	pipe    io.ReadCloser
	drained chan struct{}

	mutex    sync.Mutex
	kept     []byte
	warnings []string
	more     int // warnings that were not kept
}

func (s *stderrTail) drain() {
	defer close(s.drained)
	reader := bufio.NewReaderSize(s.pipe, keptStderrBytes)
	for isBeginning := true; ; {
		part, err := reader.ReadSlice('\n')
		s.mutex.Lock()
		s.kept = append(s.kept, part...)
		// Not for each line: there may be many, and short ones.
		if len(s.kept) > 16*keptStderrBytes {
			s.kept = append(s.kept[:0], endOf(s.kept)...)
		}
		if isBeginning && bytes.HasPrefix(part, []byte("warning: ")) {
			if len(s.warnings) < keptWarnings {
				s.warnings = append(s.warnings, visible(strings.TrimSpace(string(part)), false))
			} else {
				s.more++
			}
		}
		s.mutex.Unlock()
		isBeginning = err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

func (s *stderrTail) tail() string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return visible(string(endOf(s.kept)), true)
}

func endOf(kept []byte) []byte {
	if surplus := len(kept) - keptStderrBytes; surplus > 0 {
		return kept[surplus:]
	}
	return kept
}

func (s *stderrTail) takeWarnings() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	taken := s.warnings
	if s.more > 0 {
		taken = append(taken, fmt.Sprintf("warning: and %d more warnings", s.more))
	}
	s.warnings, s.more = nil, 0
	return taken
}

// Ending

// close has the binary stop the server and end. A request that waits fails.
func (c *coprocess) close() {
	c.closeOnce.Do(func() {
		select {
		case c.turn <- struct{}{}:
			close(c.closed)
		default:
			close(c.closed)
			// The request that is under way notices, and stops the binary.
			c.turn <- struct{}{}
		}
		defer func() { <-c.turn }()
		if c.broken == nil && c.isReady {
			c.shutDown()
		}
		c.stop()
		select {
		case <-c.stderr.drained:
		case <-time.After(endLimit):
		}
		_ = c.stderr.pipe.Close()
		for _, warning := range c.stderr.takeWarnings() {
			c.warn(warning)
		}
	})
}

// shutDown asks the binary to end, and waits until it has.
func (c *coprocess) shutDown() {
	go func() {
		request := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"mcp.shutdown"}`+"\n", c.lastID+1)
		_, _ = io.WriteString(c.stdin, request)
		_ = c.stdin.Close()
	}()
	timer := time.NewTimer(shutdownLimit)
	defer timer.Stop()
	for {
		select {
		case <-c.lines:
		case <-c.exited:
			return
		case <-timer.C:
			c.warn(fmt.Sprintf("warning: the mcptest binary did not end within %g s, and was killed", shutdownLimit.Seconds()))
			return
		}
	}
}

// stop kills the binary if it runs, and reads nothing more.
func (c *coprocess) stop() {
	c.stopOnce.Do(func() {
		close(c.stopped)
		select {
		case <-c.exited:
		default:
			killGroup(c.process)
		}
		_ = c.stdin.Close()
		select {
		case <-c.exited:
		case <-time.After(killLimit):
		}
		_ = c.stdout.Close()
	})
}

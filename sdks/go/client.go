// Package mcptest tests MCP servers with go test: by hand, and with the tests of a suite file. It
// starts the mcptest binary (MCPTEST_BIN, else mcptest on the path), which does the work.
//
//	func TestFindsABook(t *testing.T) {
//		server := mcptest.Start(t, mcptest.Server{Command: []string{"python3", "shelf_server.py"}})
//		found, err := server.CallTool(context.Background(), "find_book", mcptest.Args{"id": 1})
//		…
//	}
//
//	func TestSuite(t *testing.T) { mcptest.Register(t, mcptest.Config{Suite: "mcptest.yaml"}) }
package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Server says which server to test, and how. Command or URL is needed.
type Server struct {
	// Command starts the server. It is run without a shell.
	Command []string
	// Dir is the working folder of the server; "" is the current one.
	Dir string
	// Env has variables that are added to the environment of the server.
	Env map[string]string
	// Secrets names variables in Env, or in the environment, whose values are hidden in messages,
	// besides those in Env with names such as SHOP_TOKEN.
	Secrets []string

	// URL is that of a server on HTTP. With a Command, the Command starts it, and {port} in both
	// is a free port.
	URL string
	// BearerEnv names the environment variable with the token for URL.
	BearerEnv string
	// HeaderEnv has headers for URL, each with the environment variable of its value.
	HeaderEnv map[string]string
	// CAFile has additional CA certificates to trust (PEM).
	CAFile string

	// Revision is the protocol revision to use, such as "2025-06-18"; "" negotiates one.
	Revision string
	// Timeout limits each answer of the server (default: 30 s).
	Timeout time.Duration
	// StartTimeout limits the start of the server (default: 5 s, 20 s for package runners).
	StartTimeout time.Duration

	// Cache is the mode of [Client.SetCache] from the start.
	Cache CacheMode
	// Record and Replay name a cassette, in use from the start. A replay needs no server.
	Record, Replay string

	// Warn gets the warnings of mcptest when the connection is closed: a rule that the server
	// violated, an upload that failed. By default, Start logs them to the test, and Connect prints
	// them to standard error. Close waits for it, so it must not call Close.
	Warn func(string)
}

// A CacheMode says how results of tools are cached across connections.
type CacheMode string

// The modes of the cache.
const (
	CacheOff       CacheMode = "off"        // every call goes to the server
	CacheReadWrite CacheMode = "read_write" // cached results are used, new ones are cached
	CacheReadOnly  CacheMode = "read_only"  // cached results are used, new ones are not cached
	CacheRefresh   CacheMode = "refresh"    // every call goes to the server, and its result is cached
)

// A CassetteMode says what a cassette is used for.
type CassetteMode string

// The modes of a cassette.
const (
	CassetteOff    CassetteMode = "off"
	CassetteRecord CassetteMode = "record" // requests and answers are written to the file
	CassetteReplay CassetteMode = "replay" // requests are answered from the file, without the server
)

// A Client is a connection to a server. Goroutines may share it: calls are sent one at a time, in order.
type Client struct{ coprocess *coprocess }

const (
	defaultTimeout      = 30 * time.Second
	defaultStartTimeout = 20 * time.Second
	longestLimit        = 24 * time.Hour
	// The limit of the binary ends first, so that it can report what happened.
	slack = 15 * time.Second
)

// Start connects to the server and closes the connection when the test ends. If that fails, so
// does the test.
func Start(t testing.TB, server Server) *Client {
	t.Helper()
	var log warningLog
	if server.Warn == nil {
		server.Warn = log.add
	}
	client, err := Connect(context.Background(), server)
	if err != nil {
		log.print(t)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Helper()
		_ = client.Close()
		log.print(t)
	})
	return client
}

// A warningLog keeps warnings until they are printed at a line of the user.
type warningLog struct {
	mutex sync.Mutex
	texts []string
}

func (l *warningLog) add(text string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.texts = append(l.texts, text)
}

func (l *warningLog) print(t testing.TB) {
	t.Helper()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, text := range l.texts {
		t.Log(text)
	}
	l.texts = nil
}

// Connect starts mcptest, has it start the server, and returns when the server is initialized.
// Close the connection; the server is stopped then.
func Connect(ctx context.Context, server Server) (*Client, error) {
	forbidCaching()
	options, variables, err := server.options()
	if err != nil {
		return nil, err
	}
	coprocess, err := startCoprocess(ctx, options, variables, server.Warn)
	if err != nil {
		return nil, err
	}
	coprocess.limit = orDefault(server.Timeout, defaultTimeout) + orDefault(server.StartTimeout, defaultStartTimeout) + slack
	client := &Client{coprocess}
	if err := client.prepare(ctx, server); err != nil {
		coprocess.close()
		return nil, err
	}
	return client, nil
}

func orDefault(given, usual time.Duration) time.Duration {
	if given == 0 {
		return usual
	}
	return given
}

func (c *Client) prepare(ctx context.Context, server Server) error {
	if server.Cache != "" {
		if err := c.SetCache(ctx, server.Cache); err != nil {
			return err
		}
	}
	if server.Record != "" {
		if err := c.SetCassette(ctx, CassetteRecord, server.Record); err != nil {
			return err
		}
	}
	if server.Replay != "" {
		if err := c.SetCassette(ctx, CassetteReplay, server.Replay); err != nil {
			return err
		}
	}
	_, err := c.requestObject(ctx, "mcp.initialize", nil)
	return err
}

// options returns the command line of the binary after its name, and variables for its environment.
func (s Server) options() (words, variables []string, err error) {
	switch {
	case s.URL == "" && (len(s.Command) == 0 || s.Command[0] == ""):
		return nil, nil, errors.New("mcptest.Server has no server: set Command or URL")
	case s.Record != "" && s.Replay != "":
		return nil, nil, errors.New("mcptest.Server has both Record and Replay: a cassette is recorded or replayed")
	case s.Timeout < 0 || s.StartTimeout < 0:
		return nil, nil, errors.New("mcptest.Server has a limit below zero: Timeout and StartTimeout are positive")
	case s.Timeout > longestLimit || s.StartTimeout > longestLimit:
		return nil, nil, errors.New("mcptest.Server has a limit of more than 24 hours, and mcptest accepts no longer Timeout or StartTimeout")
	}
	env, err := s.environment()
	if err != nil {
		return nil, nil, err
	}
	if info, err := os.Stat(s.Dir); s.Dir != "" && (err != nil || !info.IsDir()) {
		return nil, nil, fmt.Errorf("mcptest.Server has the Dir %q, and there is no such folder", s.Dir)
	}
	words = []string{"exec", "--connection-server"}
	if len(s.Command) > 0 {
		words = append(words, "--server-command", quoteWords(s.Command))
	}
	add := func(option, value string) {
		if value != "" {
			words = append(words, option, value)
		}
	}
	add("--url", s.URL)
	add("--bearer-env", s.BearerEnv)
	for _, header := range sortedKeys(s.HeaderEnv) {
		add("--header-env", header+"="+s.HeaderEnv[header])
	}
	add("--ca-file", s.CAFile)
	add("--spec-version", s.Revision)
	add("--cwd", s.Dir)
	add("--timeout", formatLimit(s.Timeout))
	add("--start-timeout", formatLimit(s.StartTimeout))
	for _, word := range words {
		if strings.ContainsRune(word, 0) {
			return nil, nil, fmt.Errorf("mcptest.Server has a NUL character in %q, which no command line can have", word)
		}
	}
	if len(env) > 0 {
		raw, err := encode("mcptest.Server", map[string]any{"set": env, "secrets": append([]string{}, s.Secrets...)})
		if err != nil {
			return nil, nil, err
		}
		variables = []string{"MCPTEST_SERVER_ENV=" + string(raw)}
	}
	return words, variables, nil
}

// environment returns Env, with the secrets that only the environment has.
func (s Server) environment() (map[string]string, error) {
	env := make(map[string]string, len(s.Env)+len(s.Secrets))
	for _, name := range sortedKeys(s.Env) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return nil, fmt.Errorf("mcptest.Server has %q in Env, which cannot be the name of a variable", name)
		}
		if strings.ContainsRune(s.Env[name], 0) {
			return nil, fmt.Errorf("mcptest.Server has a NUL character in Env[%q], which no variable can have", name)
		}
		env[name] = s.Env[name]
	}
	for _, name := range s.Secrets {
		if _, found := env[name]; found {
			continue
		}
		value, found := os.LookupEnv(name)
		if !found {
			return nil, fmt.Errorf("mcptest.Server has %q in Secrets, and there is no such variable: set it in Env, or in the environment", name)
		}
		env[name] = value
	}
	if len(env) > 0 && len(s.Command) == 0 {
		return nil, errors.New("mcptest.Server has Env or Secrets for a server that is not started: set Command, or leave them out")
	}
	return env, nil
}

func formatLimit(limit time.Duration) string {
	if limit == 0 {
		return ""
	}
	return fmt.Sprintf("%dms", (limit+time.Millisecond-1)/time.Millisecond)
}

// BinaryVersion returns the version of the mcptest binary.
func (c *Client) BinaryVersion() string { return c.coprocess.binaryVersion }

// Close has mcptest stop the server and end. A call that waits fails with ErrClosed. It returns nil,
// and may be called more than once.
func (c *Client) Close() error {
	c.coprocess.close()
	return nil
}

// CallTool calls a tool. An error that the tool reports is a verdict without success. If ctx ends
// while the call waits, mcptest and the server are stopped.
func (c *Client) CallTool(ctx context.Context, name string, arguments Args) (*Verdict, error) {
	verdict, err := c.callTool(ctx, name, arguments)
	return verdict, nameCall(err, "CallTool", name)
}

func (c *Client) callTool(ctx context.Context, name string, arguments Args) (*Verdict, error) {
	raw, err := encodeArguments(arguments)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	result, err := c.coprocess.request(ctx, "mcp.call", map[string]any{"tool": name, "arguments": raw})
	if err != nil {
		return nil, err
	}
	return readVerdict(result, time.Since(began))
}

// nameCall says in an error which call has failed.
func nameCall(err error, call, name string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", call, excerpt([]byte(name)), err)
}

func encodeArguments(arguments Args) (json.RawMessage, error) {
	if arguments == nil {
		return json.RawMessage("{}"), nil
	}
	return encode("arguments", arguments)
}

// ListTools returns the tools of the server, all pages of them.
func (c *Client) ListTools(ctx context.Context) ([]JSON, error) {
	return c.requestList(ctx, "mcp.listTools", "tools")
}

// ListResources returns the resources of the server, all pages of them.
func (c *Client) ListResources(ctx context.Context) ([]JSON, error) {
	return c.requestList(ctx, "mcp.listResources", "resources")
}

// ReadResource returns the result of the server.
func (c *Client) ReadResource(ctx context.Context, uri string) (JSON, error) {
	result, err := c.requestObject(ctx, "mcp.readResource", map[string]any{"uri": uri})
	return result, nameCall(err, "ReadResource", uri)
}

// GetPrompt returns the result of the server. Without arguments (nil), none are sent.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments Args) (JSON, error) {
	params := map[string]any{"name": name}
	if arguments != nil {
		raw, err := encodeArguments(arguments)
		if err != nil {
			return nil, nameCall(err, "GetPrompt", name)
		}
		params["arguments"] = raw
	}
	result, err := c.requestObject(ctx, "mcp.callPrompt", params)
	return result, nameCall(err, "GetPrompt", name)
}

// Initialize returns what the server answered to the handshake, which is not repeated.
func (c *Client) Initialize(ctx context.Context) (JSON, error) {
	return c.requestObject(ctx, "mcp.initialize", nil)
}

// SetCache has results of tools cached across connections, or no longer.
func (c *Client) SetCache(ctx context.Context, mode CacheMode) error {
	_, err := c.requestObject(ctx, "mcp.cache.set_mode", map[string]any{"mode": mode})
	return err
}

// SetCassette records requests and answers to a file, or replays one without the server. CassetteOff
// has no path.
func (c *Client) SetCassette(ctx context.Context, mode CassetteMode, path string) error {
	params := map[string]any{"mode": mode}
	if path != "" {
		params["path"] = path
	}
	_, err := c.requestObject(ctx, "mcp.cassette.set_mode", params)
	return err
}

// UploadTo has calls delivered to a file: or HTTP target, by Flush and by Close.
func (c *Client) UploadTo(ctx context.Context, target string) error {
	_, err := c.requestObject(ctx, "mcp.reporter.setUpload", map[string]any{"enabled": true, "target": target})
	return err
}

// StopUploads queues no further calls; those that are queued are still delivered.
func (c *Client) StopUploads(ctx context.Context) error {
	_, err := c.requestObject(ctx, "mcp.reporter.setUpload", map[string]any{"enabled": false})
	return err
}

// Flush delivers the calls since the last time, and returns how many there were.
func (c *Client) Flush(ctx context.Context) (int, error) {
	const method = "mcp.reporter.flush"
	result, err := c.requestObject(ctx, method, nil)
	if err != nil {
		return 0, err
	}
	answer := newObject(json.RawMessage(result), "flushed")
	count := answer.integer("flushed")
	if answer.problem != "" {
		return 0, newDrift(method, "the result of %s is another: %s", method, answer.problem)
	}
	return count, nil
}

func (c *Client) requestObject(ctx context.Context, method string, params any) (JSON, error) {
	result, err := c.coprocess.request(ctx, method, params)
	if err == nil && result[0] != '{' {
		return nil, newDrift(method, "the result of %s cannot be %s", method, excerpt(result))
	}
	return result, err
}

func (c *Client) requestList(ctx context.Context, method, name string) ([]JSON, error) {
	result, err := c.requestObject(ctx, method, nil)
	if err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	var entries []JSON
	_ = json.Unmarshal(result, &members)
	if raw := members[name]; string(raw) == "null" || json.Unmarshal(raw, &entries) != nil {
		return nil, newDrift(method, "the result of %s cannot be %s", method, excerpt(result))
	}
	return entries, nil
}

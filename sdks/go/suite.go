package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// suiteChannelVersion is the version of the suite channel that this SDK speaks.
const suiteChannelVersion = 1

// UnsupportedLanes are the lanes of a suite that no SDK can drive. Register reports each of them
// as a skipped test.
var UnsupportedLanes = []string{"agents", "compliance", "security", "evals"}

// laneCliHint returns the reason to skip a lane, with the command that runs it. suite is a word of
// a shell.
func laneCliHint(lane, suite string) string {
	command := "run " + suite
	switch lane {
	case "compliance":
		command = "compliance run --from-suite " + suite
	case "evals":
		command = "eval " + suite
	}
	return fmt.Sprintf("lane %q is not drivable over the SDK channel; run: mcptest %s", lane, command)
}

// A Config says which tests to register.
type Config struct {
	// Suite is the path of a suite, a test file, a contract or a folder: anything that
	// "mcptest run" accepts. It is relative to the folder of the test.
	Suite string
}

// Register runs every test of a suite as a subtest, named SERVER::NAME. What cannot be run over
// this channel is a skipped subtest that says which command runs it.
func Register(t *testing.T, config Config) {
	t.Helper()
	ctx := context.Background()
	var log warningLog
	suite, err := openSuite(ctx, config.Suite, log.add)
	if err != nil {
		log.print(t)
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Helper()
		_ = suite.Close()
		log.print(t)
	})
	list, err := suite.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, warning := range list.Warnings {
		t.Log("warning: " + visible(warning, true))
	}
	for _, test := range list.Tests {
		test := test
		t.Run(test.ID, func(t *testing.T) {
			t.Helper()
			suite.runInside(t, test)
		})
	}
	for _, lane := range list.Lanes {
		skip(t, "lanes::"+lane.Lane, laneCliHint(lane.Lane, quoteWord(list.File)))
	}
	for _, left := range list.Left {
		skip(t, left.Name, left.Reason)
	}
}

func skip(t *testing.T, name, reason string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Helper()
		t.Skip(visible(reason, true))
	})
}

func (s *Suite) runInside(t *testing.T, test SuiteTest) {
	t.Helper()
	if test.Skip != "" {
		t.Skip(visible(test.Skip, true))
	}
	result, err := s.Run(context.Background(), test.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, note := range result.Notes {
		// What mcptest prints for a failure has its notes.
		if !strings.Contains(result.Text, note) {
			t.Log("note: " + visible(note, true))
		}
	}
	switch result.Status {
	case "passed":
	case "skipped":
		t.Skip(visible(result.Text, true))
	default:
		t.Error("\n" + visible(result.Text, true))
	}
}

// A Suite is an mcptest that runs the tests of a file one at a time, in any order. Register is all
// that go test needs; use a Suite with other test runners.
type Suite struct {
	coprocess *coprocess
	mutex     sync.Mutex
	list      *SuiteList // nil until it is known
}

// unknownTestLimit is for tests that were not listed.
const unknownTestLimit = 10 * time.Minute

// A SuiteList is what a suite has.
type SuiteList struct {
	File     string // its path, relative to the current folder
	Tests    []SuiteTest
	Lanes    []SuiteLane // those that cannot be driven over this channel
	Left     []SuiteLeft // what is judged for a whole run only
	Warnings []string
}

// A SuiteTest is one test of a suite.
type SuiteTest struct {
	ID     string // SERVER::NAME, unique
	Server string
	Name   string
	File   string
	Line   int
	Tags   []string
	Skip   string        // the reason for skipping it; "" if it is run
	Limit  time.Duration // longer than it can take
}

// A SuiteLane is a lane of a suite that cannot be driven over this channel.
type SuiteLane struct {
	Lane string
	Line int
}

// A SuiteLeft is something that is judged for a whole run only, such as a gate.
type SuiteLeft struct {
	Name   string
	Reason string // has the command that judges it
}

// A SuiteResult is the verdict on one test.
type SuiteResult struct {
	Status   string // "passed", "failed", "error" or "skipped"
	Text     string // what "mcptest run" prints for a test that did not pass
	File     string
	Line     int
	Duration time.Duration
	Notes    []string
}

// OpenSuite starts mcptest with a suite. No server is started before the first test that needs it.
func OpenSuite(ctx context.Context, file string) (*Suite, error) {
	return openSuite(ctx, file, nil)
}

func openSuite(ctx context.Context, file string, warn func(string)) (*Suite, error) {
	forbidCaching()
	if file == "" {
		return nil, errors.New("there is no suite: give the path of a file or a folder")
	}
	if strings.ContainsRune(file, 0) {
		return nil, fmt.Errorf("the path of the suite has a NUL character, which no path can have: %q", file)
	}
	coprocess, err := startCoprocess(ctx, []string{"exec", "--suite-server", file}, nil, warn)
	if err != nil {
		return nil, err
	}
	return &Suite{coprocess: coprocess}, nil
}

// Close stops mcptest and all servers of the suite. It returns nil, and may be called more than once.
func (s *Suite) Close() error {
	s.coprocess.close()
	return nil
}

// List returns the tests of the suite, and what cannot be run over this channel.
func (s *Suite) List(ctx context.Context) (*SuiteList, error) {
	const method = "suite.list"
	if list := s.known(); list != nil {
		return list, nil
	}
	result, err := s.coprocess.request(ctx, method, nil)
	if err != nil {
		return nil, err
	}
	list, refused := readList(method, result)
	if refused != nil {
		return nil, s.coprocess.refuse(refused)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.list = list
	return list, nil
}

// known returns the list if it was received. The mutex is not held while a request waits, which
// its context may end.
func (s *Suite) known() *SuiteList {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.list
}

func readList(method string, result JSON) (*SuiteList, *Error) {
	var members map[string]json.RawMessage
	var theirs int
	_ = json.Unmarshal(result, &members)
	if raw := members["version"]; string(raw) == "null" || json.Unmarshal(raw, &theirs) != nil {
		return nil, newDrift(method, "%s was answered with %s", method, excerpt(result))
	}
	if theirs != suiteChannelVersion {
		return nil, describeUpgrade(method, "suite channel", theirs, suiteChannelVersion)
	}
	problem := ""
	check := func(o *object) {
		if problem == "" {
			problem = o.problem
		}
	}
	all := newObject(json.RawMessage(result), "version", "file", "tests", "lanes", "left", "warnings")
	list := &SuiteList{File: all.text("file"), Warnings: all.texts("warnings")}
	seen := map[string]bool{}
	for _, raw := range all.list("tests") {
		one := newObject(raw, "id", "server", "name", "file", "line", "tags", "skip", "limit_ms")
		test := SuiteTest{
			ID: one.text("id"), Server: one.text("server"), Name: one.text("name"), File: one.text("file"),
			Line: one.integer("line"), Tags: one.texts("tags"), Skip: one.text("skip"),
			Limit: milliseconds(one.number("limit_ms")),
		}
		if seen[test.ID] && one.problem == "" {
			one.problem = fmt.Sprintf("two tests have the id %s", excerpt([]byte(test.ID)))
		}
		check(one)
		seen[test.ID] = true
		list.Tests = append(list.Tests, test)
	}
	for _, raw := range all.list("lanes") {
		one := newObject(raw, "lane", "line")
		list.Lanes = append(list.Lanes, SuiteLane{one.text("lane"), one.integer("line")})
		check(one)
	}
	for _, raw := range all.list("left") {
		one := newObject(raw, "name", "reason")
		list.Left = append(list.Left, SuiteLeft{one.text("name"), one.text("reason")})
		check(one)
	}
	check(all)
	if problem != "" {
		return nil, newDrift(method, "%s was answered with another shape: %s", method, problem)
	}
	return list, nil
}

// Run runs one test by its ID, and waits as long as it can take. How long that is, List finds out;
// before that, it is 10 minutes.
func (s *Suite) Run(ctx context.Context, id string) (*SuiteResult, error) {
	const method = "suite.run"
	raw, err := s.coprocess.requestWithin(ctx, s.limit(id), method, map[string]any{"id": id})
	if err != nil {
		return nil, err
	}
	one := newObject(json.RawMessage(raw), "status", "text", "file", "line", "duration_ms", "notes")
	result := &SuiteResult{
		Status: one.text("status"), Text: one.text("text"), File: one.text("file"), Line: one.integer("line"),
		Duration: milliseconds(one.number("duration_ms")), Notes: one.texts("notes"),
	}
	switch result.Status {
	case "passed", "failed", "error", "skipped":
	default:
		if one.problem == "" {
			one.problem = fmt.Sprintf("there is no status %s", excerpt([]byte(result.Status)))
		}
	}
	if one.problem != "" {
		return nil, newDrift(method, "%s was answered with another shape: %s", method, one.problem)
	}
	return result, nil
}

// limit returns how long to wait for a test.
func (s *Suite) limit(id string) time.Duration {
	if list := s.known(); list != nil {
		for _, test := range list.Tests {
			if test.ID == id {
				return test.Limit + slack
			}
		}
	}
	return unknownTestLimit
}

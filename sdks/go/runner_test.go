//go:build unix

package mcptest_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"mcptest"
)

// TestHelperProcess is what other tests run in a process of its own, to see what go test shows. By
// itself it does nothing.
func TestHelperProcess(t *testing.T) {
	switch os.Getenv("MCPTEST_HELPER") {
	case "suite":
		mcptest.Register(t, mcptest.Config{Suite: os.Getenv("MCPTEST_SUITE")})
	case "start":
		mcptest.Start(t, mcptest.Server{Command: []string{"./no-such-server"}})
		t.Error("this is not reached")
	case "warn":
		server := shelf
		server.Timeout = 300 * time.Millisecond
		client := mcptest.Start(t, server) // here
		_, err := client.CallTool(ctx, "hang", mcptest.Args{"seconds": 1})
		checkSays(t, err, mcptest.ErrUpstream)
	case "forget":
		if _, err := mcptest.Connect(ctx, shelf); err != nil {
			t.Fatal(err)
		}
		os.Exit(0)
	case "hang":
		_, err := mcptest.Start(t, shelf).CallTool(ctx, "hang", nil)
		t.Error(err)
	}
}

// helper returns the command that runs TestHelperProcess, and the file to which its servers report.
func helper(t *testing.T, what string, words ...string) (*exec.Cmd, string) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	journal := filepath.Join(t.TempDir(), "journal")
	command := exec.Command(program, append([]string{"-test.v", "-test.run=^TestHelperProcess$"}, words...)...)
	command.Env = append(os.Environ(), "MCPTEST_HELPER="+what, "JOURNAL="+journal)
	return command, journal
}

func runSuite(t *testing.T, file string, words ...string) (output, journal string) {
	t.Helper()
	command, journal := helper(t, "suite", words...)
	command.Env = append(command.Env, "MCPTEST_SUITE="+file)
	raw, _ := command.CombinedOutput()
	return string(raw), journal
}

func readJournal(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// checkGone waits until none of the servers in a journal is left.
func checkGone(t *testing.T, journal string) {
	t.Helper()
	found := regexp.MustCompile(`(?m)^\w+ (\d+)$`).FindAllStringSubmatch(journal, -1)
	if found == nil {
		t.Fatal("no server was started")
	}
	for _, each := range found {
		pid, _ := strconv.Atoi(each[1])
		for deadline := time.Now().Add(5 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("the server %d is still there after 5 s", pid)
			}
		}
	}
}

func checkOutput(t *testing.T, output string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(output, want) {
			t.Errorf("this is missing:\n%s\n\nin:\n%s", want, output)
		}
	}
}

func TestRegisterReportsEverythingThatASuiteHas(t *testing.T) {
	t.Parallel()
	output, journal := runSuite(t, "testdata/suite/mcptest.yaml")
	checkOutput(t, output,
		"--- PASS: TestHelperProcess/upper::adds_a_book ",
		"--- PASS: TestHelperProcess/lower::adds_/_finds ",
		"--- FAIL: TestHelperProcess/lower::expects_too_much ",
		"--- FAIL: TestHelperProcess/upper::breaks ",
		"--- SKIP: TestHelperProcess/upper::is_not_written_yet ",
		"--- SKIP: TestHelperProcess/lanes::agents ",
		"--- SKIP: TestHelperProcess/lanes::evals ",
		"--- SKIP: TestHelperProcess/coverage_gate ",
		": the tool has no argument for it\n",
		": judged for a whole run only; run: mcptest run testdata/suite/mcptest.yaml\n",
		`: lane "agents" is not drivable over the SDK channel; run: mcptest run testdata/suite/mcptest.yaml`+"\n",
		`: lane "evals" is not drivable over the SDK channel; run: mcptest eval testdata/suite/mcptest.yaml`+"\n",
		"the server ended (exit status 3)",
	)
	// The failure is shown at the line of Register, in the words of the binary.
	failure := regexp.MustCompile(`(?m)^    runner_test\.go:\d+: \n` + regexp.QuoteMeta(
		`        result.content[0].text: differs
          expected  "there is no book 405"
          actual    "there is no book 404"
                                        ^
        
        testdata/suite/mcptest.yaml:18
`))
	if !failure.MatchString(output) {
		t.Errorf("the failure is missing in:\n%s", output)
	}
	if count := strings.Count(output, "    --- "); count != 8 {
		t.Errorf("there are %d subtests, want 8", count)
	}
	checkGone(t, readJournal(t, journal))
}

func TestOneTestByNameStartsOnlyItsServer(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]string{"upper::adds_a_book": "upper", "lower::adds_/_finds": "lower"} {
		output, journal := runSuite(t, "testdata/suite/mcptest.yaml", "-test.run=^TestHelperProcess$/^"+strings.ReplaceAll(name, "/", "$/^")+"$")
		checkOutput(t, output, "--- PASS: TestHelperProcess/"+name+" ")
		check(t, "the number of subtests", strings.Count(output, "    --- "), 1)
		started := readJournal(t, journal)
		if !strings.HasPrefix(started, server+" ") || strings.Count(started, "\n") != 1 {
			t.Errorf("these servers were started: %q, want %s", started, server)
		}
	}
}

func TestASuiteWithMistakesFailsOnceWithAllOfThem(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcptest.yaml")
	text := "servers: {a: {command: [python3]}}\ntols: []\ntools: [{name: x, server: b, tool: y}]\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	output, _ := runSuite(t, path)
	checkOutput(t, output, "--- FAIL: TestHelperProcess ", "tols", "runner_test.go:")
	if strings.Contains(output, "    --- ") {
		t.Errorf("there are subtests:\n%s", output)
	}
}

func TestAPathWithASpaceIsQuotedInTheReasons(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "my suite")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "servers: {a: {command: [python3]}}\nagents: [{name: x, server: a, prompt: y}]\n"
	if err := os.WriteFile(filepath.Join(folder, "mcptest.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	output, _ := runSuite(t, filepath.Join(folder, "mcptest.yaml"))
	checkOutput(t, output, "--- SKIP: TestHelperProcess/lanes::agents ", "my suite/mcptest.yaml'\n")
}

func TestASuiteByHand(t *testing.T) {
	t.Parallel()
	suite, err := mcptest.OpenSuite(ctx, "testdata/suite/mcptest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Close()
	list, err := suite.List(ctx)
	if err != nil {
		t.Fatal(err)
	}
	first := list.Tests[0]
	if len(list.Tests) != 5 || first.ID != "upper::adds a book" || first.Line != 6 || first.Limit < time.Second {
		t.Errorf("the tests are %+v", list.Tests)
	}
	result, err := suite.Run(ctx, "lower::expects too much")
	if err != nil || result.Status != "failed" || result.Line != 18 || !strings.HasSuffix(result.Text, "mcptest.yaml:18") {
		t.Errorf("the result is %+v (error: %v)", result, err)
	}
	_, err = suite.Run(ctx, "lower::expects too mch")
	checkSays(t, err, mcptest.ErrRefused, "did you mean")
}

// writeSuite returns the path of a suite with these tests of the shelf.
func writeSuite(t *testing.T, tests string) string {
	t.Helper()
	server, err := filepath.Abs("testdata/shelf_server.py")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcptest.yaml")
	text := fmt.Sprintf("servers: {shelf: {command: [python3, %q]}}\ntools:%s", server, tests)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNotesAreShownOnce(t *testing.T) {
	t.Parallel()
	output, _ := runSuite(t, writeSuite(t, `
  - {name: fails, server: shelf, tool: find_book, args: {id: 7}}
  - {name: breaks, server: shelf, tool: crash}
  - {name: passes, server: shelf, tool: look}
`))
	for _, note := range []string{`note: the tool reported an error: "there is no book 7"`, "note: a fresh server was started"} {
		if count := strings.Count(output, note); count != 1 {
			t.Errorf("%q is shown %d times in:\n%s", note, count, output)
		}
	}
}

func TestWarningsAreShownAtTheLineOfTheTest(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("runner_test.go")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(source), " // here\n")
	line := strings.Count(before, "\n") + 1
	command, _ := helper(t, "warn")
	raw, _ := command.CombinedOutput()
	checkOutput(t, string(raw), fmt.Sprintf("runner_test.go:%d: warning: the server answered after its time was up", line))

	// Of a suite: that of Register.
	before, _, _ = strings.Cut(string(source), `os.Getenv("MCPTEST_SUITE")`)
	line = strings.Count(before, "\n") + 1
	output, _ := runSuite(t, writeSuite(t, `
  - {name: hangs, server: shelf, tool: hang, args: {seconds: 1}, timeout: 300ms}
  - {name: looks, server: shelf, tool: look}
`))
	checkOutput(t, output, fmt.Sprintf("runner_test.go:%d: warning: ", line))
}

func TestStartFailsTheTest(t *testing.T) {
	t.Parallel()
	command, _ := helper(t, "start")
	raw, err := command.CombinedOutput()
	if err == nil {
		t.Error("the test passed")
	}
	checkOutput(t, string(raw), "--- FAIL: TestHelperProcess ", "runner_test.go:", "no-such-server")
	if strings.Contains(string(raw), "not reached") {
		t.Error("the test went on")
	}
}

func TestAForgottenConnectionLeavesNothing(t *testing.T) {
	t.Parallel()
	command, journal := helper(t, "forget")
	if raw, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, raw)
	}
	checkGone(t, readJournal(t, journal))
}

func TestSignalsLeaveNothing(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, os.Kill} {
		command, journal := helper(t, "hang")
		var output bytes.Buffer
		command.Stdout = &output
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		waitForFile(t, journal)
		// Until the call is under way.
		time.Sleep(500 * time.Millisecond)
		if err := command.Process.Signal(signal); err != nil {
			t.Error(err)
		}
		if err := command.Wait(); err == nil || strings.Contains(output.String(), "PASS") {
			t.Errorf("after %v the test passed: %s", signal, output.String())
		}
		checkGone(t, readJournal(t, journal))
	}
}

func TestTheTimeLimitOfGoTestLeavesNothing(t *testing.T) {
	t.Parallel()
	command, journal := helper(t, "hang", "-test.timeout=3s")
	raw, _ := command.CombinedOutput()
	checkOutput(t, string(raw), "panic: test timed out")
	checkGone(t, readJournal(t, journal))
}

func waitForFile(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if raw, err := os.ReadFile(path); err == nil && bytes.HasSuffix(raw, []byte("\n")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no server was started within 20 s")
		}
	}
}

// go test repeats the result of an earlier run if nothing has changed that it knows of. It does not
// know the server, here in a folder outside of the module.
func TestResultsAreNotCached(t *testing.T) {
	t.Parallel()
	sdk, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	server, err := os.ReadFile("testdata/shelf_server.py")
	if err != nil {
		t.Fatal(err)
	}
	const suite = `
servers: {shelf: {command: [python3, ../bin/shelf_server.py]}}
tools: [{name: x, server: shelf, tool: add_book, args: {title: Emma}, expect: [{target: result.structuredContent.id, matcher: {exact: 1}}]}]
`
	const shelf = `mcptest.Server{Command: []string{"python3", "../bin/shelf_server.py"}}`
	const ask = `
	added, err := server.CallTool(context.Background(), "add_book", mcptest.Args{"title": "Emma"})
	if err != nil || added.Data.String() != "{\"id\":1}" {
		t.Fatal(added, err)
	}`
	for name, each := range map[string]struct{ code, wrong string }{
		"no server": {`func TestNothing(t *testing.T) { _, _ = context.Background(), mcptest.Version }`, "ok"},
		"Register": {`var _ context.Context
func TestSuite(t *testing.T) { mcptest.Register(t, mcptest.Config{Suite: "mcptest.yaml"}) }`, "FAIL"},
		"Start": {`func TestStart(t *testing.T) {
	server := mcptest.Start(t, ` + shelf + `)` + ask + `
}`, "FAIL"},
		"TestMain": {`var server *mcptest.Client
func TestMain(m *testing.M) {
	server, _ = mcptest.Connect(context.Background(), ` + shelf + `)
	m.Run()
}
func TestConnect(t *testing.T) {` + ask + `
}`, "FAIL"},
		// Nothing is sent while the tests run.
		"only TestMain": {`func TestMain(m *testing.M) {
	_, err := mcptest.Connect(context.Background(), ` + shelf + `)
	if err != nil {
		panic(err)
	}
	m.Run()
}
func TestNothing(t *testing.T) {}`, "ok"},
	} {
		name, each := name, each
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			// go test caches nothing that has read a file of the last seconds.
			old := time.Now().Add(-time.Hour)
			write := func(name, text string) {
				path := filepath.Join(folder, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, old, old); err != nil {
					t.Fatal(err)
				}
			}
			write("shop/go.mod", "module shop\n\ngo 1.20\n\nrequire mcptest v0.0.0\n\nreplace mcptest => "+sdk+"\n")
			write("shop/mcptest.yaml", suite)
			write("shop/shop_test.go", "package shop\n\nimport (\n\"context\"\n\"testing\"\n\n\"mcptest\"\n)\n\n"+each.code)
			write("bin/shelf_server.py", string(server))
			run := func() string {
				command := exec.Command("go", "test", ".")
				command.Dir = filepath.Join(folder, "shop")
				raw, _ := command.CombinedOutput()
				return string(raw)
			}
			first, second := run(), run()
			if !strings.HasPrefix(first, "ok") || !strings.HasPrefix(second, "ok") {
				t.Fatalf("the first run said %q, the second %q", first, second)
			}
			check(t, "that the second result is cached", strings.Contains(second, "cached"), name == "no server")
			write("bin/shelf_server.py", strings.Replace(string(server), "len(SHELF)}", "7}", 1))
			if third := run(); !strings.Contains(third, each.wrong) {
				t.Errorf("with another server, it said %q, want %s", third, each.wrong)
			}
		})
	}
}

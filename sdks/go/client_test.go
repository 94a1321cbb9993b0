//go:build unix

package mcptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcptest"
)

var (
	ctx   = context.Background()
	shelf = mcptest.Server{Command: []string{"python3", "shelf_server.py"}, Dir: "testdata"}
)

// call calls a tool that must answer.
func call(t *testing.T, server *mcptest.Client, tool string, arguments mcptest.Args) *mcptest.Verdict {
	t.Helper()
	verdict, err := server.CallTool(ctx, tool, arguments)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func checkSays(t *testing.T, err error, kind error, words ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Fatalf("the error is %v, want one that is %v", err, kind)
	}
	for _, each := range words {
		if !strings.Contains(err.Error(), each) {
			t.Errorf("the error does not say %q: %v", each, err)
		}
	}
}

func TestVerdictOfASuccess(t *testing.T) {
	server := mcptest.Start(t, shelf)
	added := call(t, server, "add_book", mcptest.Args{"title": "Dubliners"})
	var book struct{ ID int }
	if err := added.Data.Decode(&book); err != nil {
		t.Fatal(err)
	}
	check(t, "the id", book.ID, 1)
	check(t, "the data", added.Data, `{"id":1}`)
	check(t, "the answer", added.Raw, `{"content":[{"type":"text","text":"added"}],"structuredContent":{"id":1},"isError":false}`)

	found := call(t, server, "find_book", mcptest.Args{"id": book.ID})
	if !found.Success || !found.HasText || found.Text != "Dubliners" || found.Error != "" || found.Data != nil {
		t.Errorf("the verdict is %+v", found)
	}
	if found.Duration <= 0 || found.Duration > 10*time.Second {
		t.Errorf("it took %v", found.Duration)
	}
	if err := found.Data.Decode(&book); err == nil {
		t.Error("there is no data, and it was decoded")
	}
}

func TestVerdictOfAFailure(t *testing.T) {
	verdict := call(t, mcptest.Start(t, shelf), "find_book", mcptest.Args{"id": 404})
	if verdict.Success || verdict.Error != "there is no book 404" {
		t.Errorf("the verdict is %+v", verdict)
	}
}

func TestReceivedJSONIsAnArgument(t *testing.T) {
	server := mcptest.Start(t, shelf)
	added := call(t, server, "add_book", mcptest.Args{"title": mcptest.JSON(`"Emma"`)})
	var book map[string]mcptest.JSON
	if err := added.Data.Decode(&book); err != nil {
		t.Fatal(err)
	}
	check(t, "the text", call(t, server, "find_book", mcptest.Args{"id": book["id"]}).Text, "Emma")
}

func TestListsResourcesAndPrompts(t *testing.T) {
	server := mcptest.Start(t, shelf)
	tools, err := server.ListTools(ctx)
	if err != nil || len(tools) != 5 {
		t.Fatalf("there are %d tools (error: %v), want 5", len(tools), err)
	}
	var tool struct{ Name string }
	if err := tools[1].Decode(&tool); err != nil || tool.Name != "find_book" {
		t.Errorf("the second tool is %v (error: %v)", tool, err)
	}
	resources, err := server.ListResources(ctx)
	if err != nil || len(resources) != 1 {
		t.Fatalf("the resources are %v (error: %v)", resources, err)
	}
	read, err := server.ReadResource(ctx, "shelf://first")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "the resource", read, `{"contents":[{"uri":"shelf://first","text":"Emma"}]}`)
	for _, each := range []struct {
		arguments mcptest.Args
		want      string
	}{{nil, "Review a book."}, {mcptest.Args{"title": "Emma"}, "Review Emma."}} {
		prompt, err := server.GetPrompt(ctx, "review", each.arguments)
		if err != nil || !strings.Contains(prompt.String(), each.want) {
			t.Errorf("the prompt is %s (error: %v), want %s", prompt, err, each.want)
		}
	}
	answer, err := server.Initialize(ctx)
	if err != nil || !strings.Contains(answer.String(), `"name":"shelf"`) {
		t.Errorf("the server answered %s (error: %v)", answer, err)
	}
	if server.BinaryVersion() == "" {
		t.Error("the binary has no version")
	}
}

func TestFolderAndVariables(t *testing.T) {
	server := shelf
	server.Env = map[string]string{"SHELF_NAME": "Ærø"}
	folder, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	check(t, "the text", call(t, mcptest.Start(t, server), "look", nil).Text, folder+" Ærø")
}

func TestSecretsAreHidden(t *testing.T) {
	server := shelf
	server.Env = map[string]string{"SHELF_TOKEN": "hunter2-hunter2"}
	server.Secrets = []string{"SHELF_TOKEN"}
	_, err := mcptest.Start(t, server).CallTool(ctx, "crash", nil)
	checkSays(t, err, mcptest.ErrUpstreamGone, "crashing with", "exit status 3")
	var ours *mcptest.Error
	if !errors.As(err, &ours) || strings.Contains(err.Error()+ours.Data.String(), "hunter2") {
		t.Errorf("the secret is in %v", err)
	}
}

func TestAServerThatCannotStart(t *testing.T) {
	_, err := mcptest.Connect(ctx, mcptest.Server{Command: []string{"./no-such-server"}})
	checkSays(t, err, mcptest.ErrUpstreamGone, "no-such-server")
}

func TestAServerThatExits(t *testing.T) {
	server := mcptest.Start(t, shelf)
	_, err := server.CallTool(ctx, "crash", nil)
	checkSays(t, err, mcptest.ErrUpstreamGone, "CallTool crash: ", "exit status 3", "may have taken effect", "crashing with None\n  \tat the shelf")
	var ours *mcptest.Error
	var details struct {
		Kind     string
		ExitCode int `json:"exit_code"`
	}
	if !errors.As(err, &ours) || ours.Data.Decode(&details) != nil {
		t.Fatalf("the error is %#v", err)
	}
	check(t, "the method", ours.Method, "mcp.call")
	check(t, "the code", ours.Code, -32001)
	check(t, "the exit code", details.ExitCode, 3)
	check(t, "the fault", ours.Fault(), "exited_during_call")
	if code, ok := ours.ServerCode(); ok {
		t.Errorf("the server did not answer, and its code is %d", code)
	}
	_, err = server.CallTool(ctx, "find_book", mcptest.Args{"id": 1})
	checkSays(t, err, mcptest.ErrUpstreamGone)
}

func TestTheLimitOfTheServer(t *testing.T) {
	server := shelf
	server.Timeout = 300 * time.Millisecond
	client := mcptest.Start(t, server)
	_, err := client.CallTool(ctx, "hang", mcptest.Args{"seconds": 1})
	checkSays(t, err, mcptest.ErrUpstream, "CallTool hang: ", "300 ms", "may have taken effect")
	check(t, "the fault", faultOf(err), "timeout")
}

func TestAnErrorOfTheServer(t *testing.T) {
	client := mcptest.Start(t, shelf)
	for want, ask := range map[string]func(string) error{
		"CallTool refuse: ": func(name string) error {
			_, err := client.CallTool(ctx, name, nil)
			return err
		},
		"ReadResource refuse: ": func(name string) error {
			_, err := client.ReadResource(ctx, name)
			return err
		},
		"GetPrompt refuse: ": func(name string) error {
			_, err := client.GetPrompt(ctx, name, nil)
			return err
		},
	} {
		err := ask("refuse")
		checkSays(t, err, mcptest.ErrUpstream, want, "not today")
		check(t, "the fault", faultOf(err), "")
		var ours *mcptest.Error
		errors.As(err, &ours)
		code, ok := ours.ServerCode()
		check(t, "the code of the server", fmt.Sprint(code, ok), "-32050 true")
	}
}

func faultOf(err error) string {
	var ours *mcptest.Error
	if !errors.As(err, &ours) {
		return fmt.Sprintf("none in %v", err)
	}
	return ours.Fault()
}

func TestABadRevisionIsRefusedByTheBinary(t *testing.T) {
	server := shelf
	server.Revision = "yesterday"
	_, err := mcptest.Connect(ctx, server)
	checkSays(t, err, mcptest.ErrBinary, "exit status 2", "yesterday")
	if !strings.HasPrefix(err.Error(), "mcptest refused to start: Revision takes auto or one of ") {
		t.Errorf("the error is %v", err)
	}
	_, err = mcptest.Connect(ctx, mcptest.Server{URL: "http://127.0.0.1:1/", BearerEnv: "NO_SUCH_TOKEN"})
	checkSays(t, err, mcptest.ErrBinary, "refused to start: BearerEnv names", "NO_SUCH_TOKEN", "help: export")
}

func TestAHintNamesTheFieldOfTheLimit(t *testing.T) {
	sleeper := mcptest.Server{Command: []string{"sleep", "60"}, StartTimeout: 300 * time.Millisecond}
	_, err := mcptest.Connect(ctx, sleeper)
	checkSays(t, err, mcptest.ErrUpstreamGone, "hint: ", "StartTimeout")
	if strings.Contains(err.Error(), "--start-timeout") || strings.Contains(err.Error(), "startupTimeout") {
		t.Errorf("the hint has names of the command line: %v", err)
	}
}

func TestASecretOfTheEnvironment(t *testing.T) {
	t.Setenv("SHELF_TOKEN", "hunter2-hunter2")
	server := shelf
	server.Secrets = []string{"SHELF_TOKEN"}
	_, err := mcptest.Start(t, server).CallTool(ctx, "crash", nil)
	checkSays(t, err, mcptest.ErrUpstreamGone, "crashing with")
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the secret is in %v", err)
	}
}

func TestCancelling(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	server := shelf
	server.Env = map[string]string{"JOURNAL": journal}
	client := mcptest.Start(t, server)
	for _, each := range []struct {
		name string
		make func() (context.Context, context.CancelFunc)
		want error
	}{
		{"a deadline that has passed", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 0)
		}, context.DeadlineExceeded},
		{"a deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 300*time.Millisecond)
		}, context.DeadlineExceeded},
	} {
		limited, cancel := each.make()
		_, err := client.CallTool(limited, "hang", nil)
		cancel()
		checkSays(t, err, each.want, "mcp.call")
	}
	checkGone(t, readJournal(t, journal))
	_, err := client.CallTool(ctx, "look", nil)
	checkSays(t, err, mcptest.ErrClosed, "cancelled")
}

func TestACancelledCallThatWasNotSentChangesNothing(t *testing.T) {
	client := mcptest.Start(t, shelf)
	first := make(chan error)
	go func() {
		_, err := client.CallTool(ctx, "hang", mcptest.Args{"seconds": 1})
		first <- err
	}()
	time.Sleep(300 * time.Millisecond)
	limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err := client.CallTool(limited, "look", nil)
	checkSays(t, err, context.DeadlineExceeded, "mcp.call was not sent")
	if err := <-first; err != nil {
		t.Error(err)
	}
	call(t, client, "look", nil)
}

func TestClosing(t *testing.T) {
	journal := filepath.Join(t.TempDir(), "journal")
	server := shelf
	server.Env = map[string]string{"JOURNAL": journal}
	client, err := mcptest.Connect(ctx, server)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error)
	go func() {
		_, err := client.CallTool(ctx, "hang", nil)
		waiting <- err
	}()
	time.Sleep(300 * time.Millisecond)
	for i := 0; i < 2; i++ {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	}
	checkSays(t, <-waiting, mcptest.ErrClosed, "mcp.call")
	_, err = client.ListTools(ctx)
	checkSays(t, err, mcptest.ErrClosed, "mcp.listTools")
	checkGone(t, readJournal(t, journal))
}

func TestGoroutinesShareAConnection(t *testing.T) {
	client := mcptest.Start(t, shelf)
	call(t, client, "add_book", mcptest.Args{"title": "Emma"})
	call(t, client, "add_book", mcptest.Args{"title": "Ulysses"})
	var all sync.WaitGroup
	for i := 0; i < 20; i++ {
		all.Add(1)
		go func(number int) {
			defer all.Done()
			found, err := client.CallTool(ctx, "find_book", mcptest.Args{"id": number})
			if want := []string{"Emma", "Ulysses"}[number-1]; err != nil || found.Text != want {
				t.Errorf("found %+v (error: %v), want %s", found, err, want)
			}
		}(i%2 + 1)
	}
	all.Wait()
}

func TestCassettes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.ndjson")
	server := shelf
	server.Record = path
	client := mcptest.Start(t, server)
	call(t, client, "add_book", mcptest.Args{"title": "Emma"})
	_ = client.Close()

	replayed := mcptest.Start(t, mcptest.Server{Command: []string{"no-such-server"}, Replay: path})
	check(t, "the data", call(t, replayed, "add_book", mcptest.Args{"title": "Emma"}).Data, `{"id":1}`)
	_, err := replayed.CallTool(ctx, "add_book", mcptest.Args{"title": "Ulysses"})
	checkSays(t, err, mcptest.ErrUpstream, `recorded "Emma", asked "Ulysses"`)

	err = mcptest.Start(t, shelf).SetCassette(ctx, mcptest.CassetteReplay, "client_test.go")
	checkSays(t, err, mcptest.ErrRefused, "client_test.go")
}

func TestCaching(t *testing.T) {
	t.Setenv("MCPTEST_CACHE_DIR", t.TempDir())
	server := shelf
	server.Cache = mcptest.CacheReadWrite
	for i := 0; i < 2; i++ {
		// The second server has an empty shelf as well, and is not asked.
		client := mcptest.Start(t, server)
		check(t, "the data", call(t, client, "add_book", mcptest.Args{"title": "Emma"}).Data, `{"id":1}`)
		check(t, "the text", call(t, client, "find_book", mcptest.Args{"id": 1}).Text, "Emma")
		if err := client.SetCache(ctx, mcptest.CacheOff); err != nil {
			t.Error(err)
		}
		found := call(t, client, "find_book", mcptest.Args{"id": 1})
		check(t, "success without the cache", found.Success, i == 0)
	}
}

func TestUploads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.ndjson")
	client := mcptest.Start(t, shelf)
	if err := client.UploadTo(ctx, "file:"+path); err != nil {
		t.Fatal(err)
	}
	call(t, client, "add_book", mcptest.Args{"title": "Emma"})
	count, err := client.Flush(ctx)
	if err != nil || count != 1 {
		t.Errorf("%d calls were delivered (error: %v), want 1", count, err)
	}
	if err := client.StopUploads(ctx); err != nil {
		t.Error(err)
	}
	call(t, client, "add_book", mcptest.Args{"title": "Ulysses"})
	_ = client.Close()
	raw, err := os.ReadFile(path)
	if err != nil || strings.Count(string(raw), "\n") != 1 || !strings.Contains(string(raw), "Emma") {
		t.Errorf("the file has %q (error: %v)", raw, err)
	}
}

func TestArgumentsThatJSONCannotExpress(t *testing.T) {
	client := mcptest.Start(t, shelf)
	type book struct {
		Title string
		Pages float64
	}
	cycle := map[string]any{}
	cycle["a"], cycle["b"] = cycle, cycle
	for place, value := range map[string]any{
		"arguments.x[1]":                []any{1, math.Inf(1)},
		"arguments.x.deep.er":           map[string]any{"deep": map[string]any{"er": math.NaN()}},
		"arguments.x[0].Title":          []book{{Title: "\xff"}},
		"arguments.x.Pages":             &book{Pages: math.NaN()},
		`the key "\xff" in arguments.x`: map[string]int{"\xff": 1},
		"arguments.x":                   func() {},
		"arguments":                     cycle,
		"arguments.x.raw":               map[string]any{"raw": mcptest.JSON("\"\xff\"")},
		"arguments.x.keys":              map[string]any{"keys": mcptest.JSON(`{"a":1,"a":2}`)},
		"arguments.x.number":            map[string]any{"number": json.RawMessage("1e999")},
		"params":                        mcptest.JSON(strings.Repeat("[", 198) + strings.Repeat("]", 198)),
	} {
		_, err := client.CallTool(ctx, "look", mcptest.Args{"x": value})
		if err == nil || !strings.HasPrefix(err.Error(), "CallTool look: "+place+" cannot be sent as JSON: ") {
			t.Errorf("the error is %v, want one about %s", err, place)
		}
		var ours *mcptest.Error
		if errors.As(err, &ours) {
			t.Errorf("this is not a failure of mcptest: %v", err)
		}
	}
	var unsupported *json.UnsupportedValueError
	if _, err := client.GetPrompt(ctx, "review", mcptest.Args{"x": math.NaN()}); !errors.As(err, &unsupported) {
		t.Errorf("the error is %v", err)
	}
	// A character that stands for such bytes is fine, and so is nesting as deep as is allowed.
	deep := mcptest.JSON(strings.Repeat("[", 197) + strings.Repeat("]", 197))
	call(t, client, "look", mcptest.Args{"x": "\ufffd", "y": mcptest.JSON(`"\ufffd"`), "z": deep})
}

func TestServersThatMakeNoSense(t *testing.T) {
	for want, server := range map[string]mcptest.Server{
		"set Command or URL":   {},
		"recorded or replayed": {Command: []string{"x"}, Record: "a", Replay: "b"},
		"below zero":           {Command: []string{"x"}, Timeout: -1},
		"more than 24 hours":   {Command: []string{"x"}, StartTimeout: math.MaxInt64},
		"NUL":                  {Command: []string{"a\x00b"}},
		`"A=B" in Env`:         {Command: []string{"x"}, Env: map[string]string{"A=B": "c"}},
		`"" in Env`:            {Command: []string{"x"}, Env: map[string]string{"": "c"}},
		`Env["A"]`:             {Command: []string{"x"}, Env: map[string]string{"A": "\x00"}},
		"NO_SUCH_SECRET":       {Command: []string{"x"}, Secrets: []string{"NO_SUCH_SECRET"}},
		"set Command, or":      {URL: "http://127.0.0.1:1/", Env: map[string]string{"A": "b"}},
		`Dir "/nowhere"`:       {Command: []string{"x"}, Dir: "/nowhere"},
		`Dir "client_test.go"`: {Command: []string{"x"}, Dir: "client_test.go"},
	} {
		var ours *mcptest.Error
		if _, err := mcptest.Connect(ctx, server); err == nil || !strings.Contains(err.Error(), want) || errors.As(err, &ours) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

func TestSuitesThatMakeNoSense(t *testing.T) {
	for want, file := range map[string]string{"there is no suite": "", "NUL": "a\x00b"} {
		if _, err := mcptest.OpenSuite(ctx, file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

func TestNoBinary(t *testing.T) {
	t.Setenv("MCPTEST_BIN", "/nowhere/mcptest")
	_, err := mcptest.Connect(ctx, shelf)
	checkSays(t, err, mcptest.ErrBinary, "/nowhere/mcptest", "MCPTEST_BIN")
	_, err = mcptest.OpenSuite(ctx, "mcptest.yaml")
	checkSays(t, err, mcptest.ErrBinary, "/nowhere/mcptest", "MCPTEST_BIN")
}

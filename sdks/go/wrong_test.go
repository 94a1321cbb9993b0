//go:build unix

package mcptest_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcptest"
)

// useWrongBinary has the next connections use a binary with a fault, and returns its journal.
func useWrongBinary(t *testing.T, fault string) string {
	t.Helper()
	journal := filepath.Join(t.TempDir(), "journal")
	t.Setenv("JOURNAL", journal)
	t.Setenv("MCPTEST_BIN", "python3 testdata/wrong_binary.py "+fault)
	return journal
}

func TestABinaryInAnotherProcessGroupIsKilled(t *testing.T) {
	journal := useWrongBinary(t, "group")
	limited, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := mcptest.Connect(limited, shelf)
	checkSays(t, err, context.DeadlineExceeded, "mcp.initialize")
	checkGone(t, readJournal(t, journal))
}

func TestALongKeyThatOccursTwiceIsShownInPart(t *testing.T) {
	useWrongBinary(t, "keys")
	_, err := mcptest.Connect(ctx, shelf)
	checkSays(t, err, mcptest.ErrContract, "kkk", "occurs twice")
	if len(err.Error()) > 1000 {
		t.Errorf("the message has %d bytes", len(err.Error()))
	}
}

func TestAnAnswerThatIsNestedTooDeep(t *testing.T) {
	useWrongBinary(t, "deep")
	_, err := mcptest.Connect(ctx, shelf)
	checkSays(t, err, mcptest.ErrContract, "up to 200 levels")
}

func TestALongLineBeforeARequest(t *testing.T) {
	useWrongBinary(t, "long")
	client := mcptest.Start(t, shelf)
	// Until it is received.
	time.Sleep(time.Second)
	_, err := client.ListTools(ctx)
	checkSays(t, err, mcptest.ErrContract, "mcp.listTools", "a line of more than")
}

func TestCallsOfASuiteThatWaitCanBeCancelled(t *testing.T) {
	useWrongBinary(t, "silent")
	suite, err := mcptest.OpenSuite(ctx, "mcptest.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer suite.Close()
	go func() { _, _ = suite.List(ctx) }()
	time.Sleep(300 * time.Millisecond)
	limited, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	failed := make(chan error, 2)
	go func() {
		_, err := suite.List(limited)
		failed <- err
	}()
	go func() {
		_, err := suite.Run(limited, "a::b")
		failed <- err
	}()
	for i := 0; i < 2; i++ {
		select {
		case err := <-failed:
			checkSays(t, err, context.DeadlineExceeded, "was not sent")
		case <-time.After(5 * time.Second):
			t.Fatal("a call waits although its context has ended")
		}
	}
}

func TestRegisterShowsNoControlCharacters(t *testing.T) {
	useWrongBinary(t, "texts")
	output, _ := runSuite(t, "mcptest.yaml")
	const shown = `\x1b[2J\r\x07\u202e` + "\n"
	checkOutput(t, output, "warning: mistake"+shown, "note: remark"+shown, "  text"+shown+"        f:1\n", "skip"+shown, "reason"+shown)
	if strings.ContainsAny(output, "\x1b\r\x07\u202e") {
		t.Errorf("there are control characters in %q", output)
	}
}

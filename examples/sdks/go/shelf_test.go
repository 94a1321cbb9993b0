package shelf

import (
	"context"
	"errors"
	"testing"
	"time"

	"mcptest"
)

// The tests of mcptest.yaml, each as a subtest.
func TestSuite(t *testing.T) {
	mcptest.Register(t, mcptest.Config{Suite: "mcptest.yaml"})
}

// The same server, asked from Go.
var server = mcptest.Server{Command: []string{"go", "run", "./shelf"}, StartTimeout: time.Minute}

func TestABookIsFoundAgain(t *testing.T) {
	ctx := context.Background()
	shelf := mcptest.Start(t, server)

	added, err := shelf.CallTool(ctx, "add_book", mcptest.Args{"title": "Ulysses"})
	if err != nil {
		t.Fatal(err)
	}
	var book struct{ ID int }
	if err := added.Data.Decode(&book); err != nil {
		t.Fatal(err)
	}

	found, err := shelf.CallTool(ctx, "find_book", mcptest.Args{"id": book.ID})
	if err != nil {
		t.Fatal(err)
	}
	if !found.Success || found.Text != "Ulysses" {
		t.Errorf("found %q (error: %q), want Ulysses", found.Text, found.Error)
	}
}

func TestAMissingBookIsAnErrorOfTheTool(t *testing.T) {
	shelf := mcptest.Start(t, server)
	found, err := shelf.CallTool(context.Background(), "find_book", mcptest.Args{"id": 404})
	if err != nil {
		t.Fatal(err)
	}
	if found.Success || found.Error != "there is no book 404" {
		t.Errorf("success: %v, error: %q", found.Success, found.Error)
	}
}

func TestAServerThatStopsIsNoticed(t *testing.T) {
	shelf := mcptest.Start(t, server)
	_, err := shelf.CallTool(context.Background(), "find_book", mcptest.Args{"id": "one"})
	if !errors.Is(err, mcptest.ErrUpstreamGone) {
		t.Errorf("got %v, want a server that has exited", err)
	}
}

func TestToolsAreDescribed(t *testing.T) {
	tools, err := mcptest.Start(t, server).ListTools(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range tools {
		var tool struct{ Name, Description string }
		if err := each.Decode(&tool); err != nil {
			t.Fatal(err)
		}
		if tool.Description == "" {
			t.Errorf("%s has no description", tool.Name)
		}
	}
}

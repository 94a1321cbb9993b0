package mcptest

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
)

// A Verdict is what came of the call of a tool.
type Verdict struct {
	// Success is whether the tool reported no error. An isError that is neither true nor false is
	// not a success.
	Success bool
	// Text has the text blocks, joined by newlines; HasText is false if there are none.
	Text    string
	HasText bool
	// Data is the structured content; nil if there is none.
	Data JSON
	// Error is the text of the error that the tool reported; "" if there is none.
	Error string
	// Duration is how long the answer took.
	Duration time.Duration
	// Raw is the whole answer.
	Raw JSON
}

// readVerdict types a result of mcp.call: a verdict of the binary, or the answer of the server.
func readVerdict(result JSON, took time.Duration) (*Verdict, error) {
	const method = "mcp.call"
	var answer map[string]json.RawMessage
	if json.Unmarshal(result, &answer) != nil || answer == nil {
		return nil, newDrift(method, "the result of %s cannot be %s", method, excerpt(result))
	}
	if _, declared := answer["success"]; declared {
		return readDeclared(result)
	}
	verdict := &Verdict{
		Success:  true,
		Data:     compact(answer["structuredContent"]),
		Duration: took,
		Raw:      result,
	}
	verdict.Text, verdict.HasText = joinText(answer["content"])
	switch flag := string(answer["isError"]); flag {
	case "", "false":
	case "true":
		verdict.Success = false
		verdict.Error = verdict.Text
		if verdict.Error == "" {
			verdict.Error = "the tool reported an error"
		}
	default:
		verdict.Success = false
		verdict.Error = fmt.Sprintf("isError is %s, neither true nor false", excerpt([]byte(flag)))
	}
	return verdict, nil
}

func readDeclared(result JSON) (*Verdict, error) {
	fields := newObject(json.RawMessage(result), "success", "data", "text", "error", "duration_ms")
	verdict := &Verdict{Data: compact(fields.members["data"]), Raw: result}
	fields.read("success", &verdict.Success)
	verdict.Duration = milliseconds(fields.number("duration_ms"))
	if string(fields.members["text"]) != "null" {
		verdict.Text, verdict.HasText = fields.text("text"), true
	}
	if string(fields.members["error"]) != "null" {
		verdict.Error = fields.text("error")
	}
	if fields.problem != "" {
		return nil, newDrift("mcp.call", "the result of mcp.call has success and is not a verdict: %s", fields.problem)
	}
	return verdict, nil
}

func joinText(content json.RawMessage) (text string, found bool) {
	var blocks []json.RawMessage
	_ = json.Unmarshal(content, &blocks)
	var texts []string
	for _, block := range blocks {
		var members map[string]json.RawMessage
		_ = json.Unmarshal(block, &members)
		var text any
		_ = json.Unmarshal(members["text"], &text)
		if words, isText := text.(string); isText && readString(members["type"]) == "text" {
			texts = append(texts, words)
		}
	}
	return strings.Join(texts, "\n"), texts != nil
}

// milliseconds is a number of milliseconds as a duration, which holds up to 292 years.
func milliseconds(number float64) time.Duration {
	const longest = 100 * 365 * 24 * time.Hour
	nanoseconds := math.Round(number * float64(time.Millisecond))
	return time.Duration(math.Max(0, math.Min(nanoseconds, float64(longest))))
}

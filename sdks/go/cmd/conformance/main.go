// The adapter for the conformance kit: plays the scenarios of protocol/coprocess/kit.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"time"

	"mcptest"
)

type object = map[string]any

type scenario struct {
	Name      string            `json:"name"`
	Open      string            `json:"open"`
	Command   []string          `json:"command"`
	File      string            `json:"file"`
	TimeoutMS float64           `json:"timeout_ms"`
	Options   options           `json:"options"`
	Do        []json.RawMessage `json:"do"`
}

type options struct {
	TimeoutMS      float64           `json:"timeout_ms"`
	StartTimeoutMS float64           `json:"start_timeout_ms"`
	Revision       string            `json:"revision"`
	Cache          string            `json:"cache"`
	Record         string            `json:"record"`
	Replay         string            `json:"replay"`
	Dir            string            `json:"cwd"`
	Env            map[string]string `json:"env"`
	Secrets        []string          `json:"secrets"`
	URL            string            `json:"url"`
	BearerEnv      string            `json:"bearer_env"`
	HeaderEnv      map[string]string `json:"header_env"`
	CAFile         string            `json:"ca_file"`
}

// player has what a scenario has opened.
type player struct {
	client *mcptest.Client
	suite  *mcptest.Suite
}

// What scenarios have forgotten; it is neither closed nor collected.
var forgotten []player

func main() {
	input := bufio.NewReader(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var given scenario
		if err := json.Unmarshal(line, &given); err != nil {
			panic(err)
		}
		if err := output.Encode(object{"name": given.Name, "did": play(given)}); err != nil {
			panic(err)
		}
	}
}

func play(given scenario) []any {
	did := []any{}
	p := &player{}
	if given.Open != "none" {
		version, err := p.open(given)
		if err != nil {
			return append(did, describe(err))
		}
		did = append(did, object{"opened": version})
	}
	for _, step := range given.Do {
		did = append(did, p.do(step))
	}
	p.close()
	return did
}

func (p *player) open(given scenario) (version string, err error) {
	ctx := context.Background()
	switch given.Open {
	case "suite":
		if p.suite, err = mcptest.OpenSuite(ctx, given.File); err != nil {
			return "", err
		}
		return p.suite.BinaryVersion(), nil
	case "connect":
		o := given.Options
		p.client, err = mcptest.Connect(ctx, mcptest.Server{
			Command: given.Command, Dir: o.Dir, Env: o.Env, Secrets: o.Secrets,
			URL: o.URL, BearerEnv: o.BearerEnv, HeaderEnv: o.HeaderEnv, CAFile: o.CAFile,
			Revision: o.Revision, Timeout: milliseconds(o.TimeoutMS), StartTimeout: milliseconds(o.StartTimeoutMS),
			Cache: mcptest.CacheMode(o.Cache), Record: o.Record, Replay: o.Replay,
		})
	default:
		p.client, err = mcptest.OpenCoprocess(ctx, mcptest.Server{Command: given.Command}, milliseconds(given.TimeoutMS))
	}
	if err != nil {
		return "", err
	}
	return p.client.BinaryVersion(), nil
}

func (p *player) close() {
	if p.client != nil {
		_ = p.client.Close()
	}
	if p.suite != nil {
		_ = p.suite.Close()
	}
}

func milliseconds(number float64) time.Duration {
	return time.Duration(number * float64(time.Millisecond))
}

func describe(err error) object {
	// All errors but those about arguments have a type.
	found := object{"kind": "arguments", "message": err.Error()}
	var ours *mcptest.Error
	switch {
	case errors.As(err, &ours):
		found["kind"] = string(ours.Kind)
		if ours.Code != 0 || ours.Said != "" {
			found["code"], found["said"], found["data"] = ours.Code, ours.Said, ours.Data
		}
	case errors.Is(err, context.Canceled):
		found["kind"] = "cancelled"
	}
	return object{"error": found}
}

// do performs one step.
func (p *player) do(raw json.RawMessage) object {
	var step map[string]json.RawMessage
	must(json.Unmarshal(raw, &step))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var waits, cancels float64
	if given, found := step["after_ms"]; found {
		must(json.Unmarshal(given, &waits))
		time.Sleep(milliseconds(waits))
	}
	if given, found := step["cancel_ms"]; found {
		must(json.Unmarshal(given, &cancels))
		timer := time.AfterFunc(milliseconds(cancels), cancel)
		defer timer.Stop()
	}
	for verb, given := range step {
		if verb == "after_ms" || verb == "cancel_ms" {
			continue
		}
		did, err := p.perform(ctx, verb, given)
		if err != nil {
			return describe(err)
		}
		return did
	}
	return object{"error": object{"kind": "unsupported", "message": "there is no step"}}
}

func (p *player) perform(ctx context.Context, verb string, raw json.RawMessage) (object, error) {
	var given struct {
		Method, Tool, Name, URI, Mode, Path, Target, ID, Lane string
		Suite                                                 *string
		Params                                                json.RawMessage
		Arguments                                             map[string]json.RawMessage
	}
	var texts []string
	switch verb {
	case "parallel", "quote", "split":
	default:
		must(json.Unmarshal(raw, &given))
	}
	result := func(value any, err error) (object, error) { return object{"result": value}, err }
	switch verb {
	case "request":
		return result(p.client.Request(ctx, given.Method, given.Params))
	case "call":
		return verdict(p.client.CallTool(ctx, given.Tool, arguments(given.Arguments)))
	case "bad_call":
		return verdict(p.client.CallTool(ctx, given.Tool, mcptest.Args{"degrees": []any{1, math.NaN()}}))
	case "list_tools":
		return result(p.client.ListTools(ctx))
	case "list_resources":
		return result(p.client.ListResources(ctx))
	case "read_resource":
		return result(p.client.ReadResource(ctx, given.URI))
	case "get_prompt":
		return result(p.client.GetPrompt(ctx, given.Name, arguments(given.Arguments)))
	case "initialize":
		return result(p.client.Initialize(ctx))
	case "set_cache":
		return result(nil, p.client.SetCache(ctx, mcptest.CacheMode(given.Mode)))
	case "set_cassette":
		return result(nil, p.client.SetCassette(ctx, mcptest.CassetteMode(given.Mode), given.Path))
	case "upload_to":
		return result(nil, p.client.UploadTo(ctx, given.Target))
	case "stop_uploads":
		return result(nil, p.client.StopUploads(ctx))
	case "flush":
		return result(p.client.Flush(ctx))
	case "list":
		list, err := p.suite.List(ctx)
		if err != nil {
			return nil, err
		}
		return result(describeList(list), nil)
	case "run":
		one, err := p.suite.Run(ctx, given.ID)
		if err != nil {
			return nil, err
		}
		return result(object{
			"status": one.Status, "text": one.Text, "file": one.File, "line": one.Line,
			"duration_ms": inMilliseconds(one.Duration), "notes": one.Notes,
		}, nil)
	case "close":
		p.close()
		return object{"closed": true}, nil
	case "forget":
		forgotten = append(forgotten, *p)
		*p = player{}
		return object{"forgotten": true}, nil
	case "parallel":
		return object{"parallel": p.doAll(raw)}, nil
	case "lanes":
		return result(mcptest.UnsupportedLanes, nil)
	case "lane":
		suite := "<suite>"
		if given.Suite != nil {
			suite = mcptest.QuoteWord(*given.Suite)
		}
		return result(mcptest.LaneCliHint(given.Lane, suite), nil)
	case "quote":
		must(json.Unmarshal(raw, &texts))
		return result(mcptest.QuoteWords(texts), nil)
	case "split":
		var text string
		must(json.Unmarshal(raw, &text))
		return result(mcptest.SplitBinary(text))
	}
	return object{"error": object{"kind": "unsupported", "message": fmt.Sprintf("there is no step %q", verb)}}, nil
}

func (p *player) doAll(raw json.RawMessage) []object {
	var steps []json.RawMessage
	must(json.Unmarshal(raw, &steps))
	did := make([]object, len(steps))
	var all sync.WaitGroup
	for i := range steps {
		i := i
		all.Add(1)
		go func() {
			defer all.Done()
			did[i] = p.do(steps[i])
		}()
	}
	all.Wait()
	return did
}

func arguments(given map[string]json.RawMessage) mcptest.Args {
	if given == nil {
		return nil
	}
	args := mcptest.Args{}
	for name, value := range given {
		args[name] = value
	}
	return args
}

func verdict(v *mcptest.Verdict, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	found := object{
		"success": v.Success, "text": nil, "data": v.Data, "error": nil,
		"duration_ms": inMilliseconds(v.Duration), "raw": v.Raw,
	}
	if v.HasText {
		found["text"] = v.Text
	}
	if v.Error != "" {
		found["error"] = v.Error
	}
	return object{"verdict": found}, nil
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func describeList(list *mcptest.SuiteList) object {
	tests, lanes, left := []object{}, []object{}, []object{}
	for _, each := range list.Tests {
		tests = append(tests, object{
			"id": each.ID, "server": each.Server, "name": each.Name, "file": each.File, "line": each.Line,
			"tags": each.Tags, "skip": each.Skip, "limit_ms": inMilliseconds(each.Limit),
		})
	}
	for _, each := range list.Lanes {
		lanes = append(lanes, object{"lane": each.Lane, "line": each.Line})
	}
	for _, each := range list.Left {
		left = append(left, object{"name": each.Name, "reason": each.Reason})
	}
	return object{"file": list.File, "tests": tests, "lanes": lanes, "left": left, "warnings": list.Warnings}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

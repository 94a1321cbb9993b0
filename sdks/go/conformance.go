//go:build conformance

package mcptest

import (
	"context"
	"encoding/json"
	"time"
)

// The parts that the adapter for the conformance kit needs, and users do not.

// OpenCoprocess starts the binary without asking for the server.
func OpenCoprocess(ctx context.Context, server Server, limit time.Duration) (*Client, error) {
	options, variables, err := server.options()
	if err != nil {
		return nil, err
	}
	coprocess, err := startCoprocess(ctx, options, variables, server.Warn)
	if err != nil {
		return nil, err
	}
	if limit > 0 {
		coprocess.limit = limit
	}
	return &Client{coprocess}, nil
}

// Request sends any request.
func (c *Client) Request(ctx context.Context, method string, params json.RawMessage) (JSON, error) {
	if params == nil {
		return c.coprocess.request(ctx, method, nil)
	}
	return c.coprocess.request(ctx, method, params)
}

// BinaryVersion returns the version of the mcptest binary.
func (s *Suite) BinaryVersion() string { return s.coprocess.binaryVersion }

var (
	QuoteWord   = quoteWord
	QuoteWords  = quoteWords
	SplitBinary = splitBinary
	LaneCliHint = laneCliHint
)

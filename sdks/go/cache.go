package mcptest

import (
	"os"
	"strings"
	"sync"
)

// testLog is the file to which this test process reports what it reads, for go test; "" without one.
// It is taken from the command line, because TestMain may connect before flags are parsed.
var testLog = findTestLog(os.Args)

func findTestLog(words []string) string {
	for _, word := range words {
		if path := strings.TrimPrefix(word, "-test.testlogfile="); path != word {
			return path
		}
	}
	return ""
}

var loseTestLog sync.Once

// forbidCaching has go test run the tests again the next time, instead of repeating their result:
// it cannot know whether the server has changed. Without its log, go test caches no result. A link
// also works before the log is created.
func forbidCaching() {
	if testLog == "" {
		return
	}
	loseTestLog.Do(func() {
		link := testLog + ".mcptest"
		if os.Symlink(os.DevNull, link) == nil {
			_ = os.Rename(link, testLog)
		}
	})
}

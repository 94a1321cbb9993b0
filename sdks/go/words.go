package mcptest

import (
	"errors"
	"strings"
)

// quoteWords returns the words as one text that a shell splits into the same words.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = quoteWord(word)
	}
	return strings.Join(quoted, " ")
}

func quoteWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'"'"'`) + "'"
}

// splitWords splits a command line at white space, except inside of quotes. A backslash escapes
// the next character; between double quotes only a double quote and another backslash.
func splitWords(text string) ([]string, error) {
	words := []string{}
	var word strings.Builder
	var quote rune // the quote that is open
	inWord, escaped := false, false
	for _, char := range text {
		switch {
		case escaped:
			if quote == '"' && char != '"' && char != '\\' {
				word.WriteRune('\\')
			}
			word.WriteRune(char)
			escaped = false
		case char == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0:
			if char == quote {
				quote = 0
			} else {
				word.WriteRune(char)
			}
		case char == '"' || char == '\'':
			quote, inWord = char, true
		case strings.ContainsRune(" \t\r\n", char):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(char)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote does not end")
	}
	if escaped {
		return nil, errors.New("it ends with a backslash")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"unicode/utf8"
)

// Args are the arguments of a tool or a prompt: anything that encoding/json can write.
type Args map[string]any

// JSON is a value as it was received, without white space between its parts. nil is no value.
type JSON []byte

// Decode stores the value in what into points to, as [json.Unmarshal] does.
func (j JSON) Decode(into any) error {
	if j == nil {
		return errors.New("there is no value to decode")
	}
	return json.Unmarshal(j, into)
}

// String returns the value as text.
func (j JSON) String() string { return string(j) }

// MarshalJSON returns the value unchanged, so that it can be an argument of the next call.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == nil {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps a copy of the value.
func (j *JSON) UnmarshalJSON(raw []byte) error {
	*j = append(JSON(nil), raw...)
	return nil
}

// compact returns a copy of a valid value without white space; nil for null and for no value.
func compact(raw json.RawMessage) JSON {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var shorter bytes.Buffer
	shorter.Grow(len(raw))
	if json.Compact(&shorter, raw) != nil {
		return JSON(raw)
	}
	return shorter.Bytes()
}

// Reading

var errNotUTF8 = errors.New("it is not UTF-8")

// parseObject returns the members of a line of JSON. encoding/json accepts more than the contract
// does: keys that occur twice, numbers that no double holds, deep nesting, and bytes that are not
// UTF-8.
func parseObject(line []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if !utf8.Valid(line) {
		return nil, errNotUTF8
	}
	if err := json.Unmarshal(line, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, errors.New("it is null")
	}
	return members, checkContract(line, maxLevels)
}

// maxLevels is how deep a line may be nested.
const maxLevels = 200

// checkContract looks through valid JSON, which has up to this many levels.
func checkContract(valid []byte, levels int) error {
	var objects []map[string]bool // the keys of each open object; nil for an array
	for at := 0; at < len(valid); at++ {
		if len(objects) > levels {
			return fmt.Errorf("it is nested too deep: a line has up to %d levels", maxLevels)
		}
		switch char := valid[at]; {
		case char == '{':
			objects = append(objects, map[string]bool{})
		case char == '[':
			objects = append(objects, nil)
		case char == '}' || char == ']':
			objects = objects[:len(objects)-1]
		case char == '"':
			begin := at
			for at++; valid[at] != '"'; at++ {
				if valid[at] == '\\' {
					at++
				}
			}
			rest := bytes.TrimLeft(valid[at+1:], " \t\r\n")
			if len(rest) == 0 || rest[0] != ':' {
				continue
			}
			key, keys := readString(valid[begin:at+1]), objects[len(objects)-1]
			if keys[key] {
				return fmt.Errorf("the key %s occurs twice", excerpt(valid[begin:at+1]))
			}
			keys[key] = true
		case char == '-' || '0' <= char && char <= '9':
			begin := at
			for at+1 < len(valid) && bytes.IndexByte([]byte("+-.eE0123456789"), valid[at+1]) >= 0 {
				at++
			}
			if _, err := strconv.ParseFloat(string(valid[begin:at+1]), 64); err != nil {
				return fmt.Errorf("no double holds the number %s", excerpt(valid[begin:at+1]))
			}
		}
	}
	return nil
}

// object is a result with a shape that the contract declares, while its members are read.
type object struct {
	members map[string]json.RawMessage
	problem string // the first one
}

// newObject reads an object that has exactly these members.
func newObject(raw json.RawMessage, names ...string) *object {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return &object{problem: fmt.Sprintf("%s is not an object", excerpt(raw))}
	}
	return checkMembers(raw, members, names...)
}

func checkMembers(raw []byte, members map[string]json.RawMessage, names ...string) *object {
	o := &object{members: members}
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
		if _, found := o.members[name]; !found && o.problem == "" {
			o.problem = fmt.Sprintf("there is no member %q in %s", name, excerpt(raw))
		}
	}
	for _, name := range sortedKeys(o.members) {
		if !known[name] {
			o.problem = fmt.Sprintf("there is an unknown member %s in %s", excerpt([]byte(strconv.Quote(name))), excerpt(raw))
			break
		}
	}
	return o
}

// read stores a member, which is not null, in what into points to.
func (o *object) read(name string, into any) {
	raw := o.members[name]
	if o.problem != "" {
		return
	}
	if string(raw) == "null" || json.Unmarshal(raw, into) != nil {
		o.problem = fmt.Sprintf("the member %q cannot be %s", name, excerpt(raw))
	}
}

func (o *object) text(name string) (text string) {
	o.read(name, &text)
	return text
}

func (o *object) integer(name string) (number int) {
	o.read(name, &number)
	return number
}

func (o *object) number(name string) (number float64) {
	o.read(name, &number)
	return number
}

func (o *object) list(name string) (entries []json.RawMessage) {
	o.read(name, &entries)
	return entries
}

func (o *object) texts(name string) []string {
	texts := []string{}
	for _, entry := range o.list(name) {
		var text string
		if string(entry) == "null" || json.Unmarshal(entry, &text) != nil {
			o.problem = fmt.Sprintf("in the member %q there cannot be %s", name, excerpt(entry))
			break
		}
		texts = append(texts, text)
	}
	return texts
}

// Writing

// encode returns a value as JSON. An error says where the value is that JSON cannot express.
func encode(name string, value any) (json.RawMessage, error) {
	raw, err := marshal(value)
	// encoding/json writes bytes that are not UTF-8 as this escape, and the character as itself.
	if err == nil && !bytes.Contains(raw, []byte(`\ufffd`)) {
		return raw, nil
	}
	place, problem := (&finder{left: 100_000}).find(name, reflect.ValueOf(value))
	switch {
	case err != nil && problem == nil:
		return nil, fmt.Errorf("%s cannot be sent as JSON: %w", name, err)
	case problem != nil:
		return nil, fmt.Errorf("%s cannot be sent as JSON: %w", place, problem)
	}
	return raw, nil
}

// marshal is json.Marshal, and checks what that takes unchanged from values that are JSON already.
func marshal(value any) (json.RawMessage, error) {
	raw, err := json.Marshal(value)
	if err == nil && !utf8.Valid(raw) {
		err = errNotUTF8
	}
	if err == nil {
		// One level is that of the request.
		err = checkContract(raw, maxLevels-1)
	}
	return raw, err
}

// A finder looks for the first value that JSON cannot express. Values may contain themselves: left
// bounds how many it looks at, and depth how deep.
type finder struct{ left, depth int }

// find returns the place of the value, and why JSON cannot express it.
func (f *finder) find(place string, value reflect.Value) (string, error) {
	for value.Kind() == reflect.Interface || value.Kind() == reflect.Pointer {
		value = value.Elem()
		f.left--
		if f.left < 0 {
			return place, nil
		}
	}
	f.left--
	f.depth++
	defer func() { f.depth-- }()
	if !value.IsValid() || f.left < 0 || f.depth > 200 {
		return place, nil
	}
	if _, isMarshaler := value.Interface().(json.Marshaler); isMarshaler {
		_, err := marshal(value.Interface())
		return place, err
	}
	switch value.Kind() {
	case reflect.String:
		if !utf8.ValidString(value.String()) {
			return place, errNotUTF8
		}
	case reflect.Map:
		keys := value.MapKeys()
		sort.Slice(keys, func(i, j int) bool { return fmt.Sprint(keys[i]) < fmt.Sprint(keys[j]) })
		for _, key := range keys {
			name := fmt.Sprint(key)
			if !utf8.ValidString(name) {
				return fmt.Sprintf("the key %q in %s", name, place), errNotUTF8
			}
			if where, err := f.find(place+"."+name, value.MapIndex(key)); err != nil {
				return where, err
			}
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < value.Len() && f.left > 0; i++ {
			if where, err := f.find(fmt.Sprintf("%s[%d]", place, i), value.Index(i)); err != nil {
				return where, err
			}
		}
	case reflect.Struct:
		for i := 0; i < value.NumField(); i++ {
			field := value.Type().Field(i)
			if !field.IsExported() || field.Tag.Get("json") == "-" {
				continue
			}
			if where, err := f.find(place+"."+field.Name, value.Field(i)); err != nil {
				return where, err
			}
		}
	case reflect.Float32, reflect.Float64:
		if math.IsNaN(value.Float()) || math.IsInf(value.Float(), 0) {
			return place, &json.UnsupportedValueError{Value: value, Str: fmt.Sprint(value.Float())}
		}
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128:
		return place, &json.UnsupportedTypeError{Type: value.Type()}
	}
	return place, nil
}

func sortedKeys[V any](values map[string]V) []string {
	keys := make([]string, 0, len(values))
	for key := range values {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}

package mcptest;

import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Strict JSON. Objects are maps, arrays are lists; integers are {@code Integer}, {@code Long} or {@code BigInteger},
 * whichever is the first that holds them, and other numbers are {@code Double}.
 */
final class Json {
    /** How deep the contract lets a frame be nested. */
    static final int MAX_DEPTH = 200;

    private Json() {}

    /** Not JSON; the message says why, and at which byte. */
    static final class SyntaxException extends Exception {
        private static final long serialVersionUID = 1L;

        SyntaxException(String why, int at) {
            super(why + " at byte " + at);
        }
    }

    static Object parse(byte[] line) throws SyntaxException {
        return new Reader(line).read();
    }

    /** The value in ASCII, so that no encoding of the platform can change it. */
    static String write(Object value) {
        // Twice as deep: what was read may be shown inside of something else.
        return write(value, "", -MAX_DEPTH);
    }

    /**
     * The same for a value inside of a frame.
     *
     * @throws IllegalArgumentException if JSON cannot express it; {@code name} begins the path to the culprit
     */
    static String write(Object value, String name, int depth) {
        StringBuilder out = new StringBuilder();
        append(out, value, name, depth);
        return out.toString();
    }

    private static void append(StringBuilder out, Object value, String path, int depth) {
        if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long
                || value instanceof Short || value instanceof Byte || value instanceof BigInteger) {
            out.append(value);
        } else if (value instanceof CharSequence || value instanceof Character) {
            appendString(out, value.toString());
        } else if (value instanceof BigDecimal || value instanceof Double || value instanceof Float) {
            if (!Double.isFinite(((Number) value).doubleValue())) {
                throw new IllegalArgumentException(path + " is " + value + ", which JSON cannot express");
            }
            out.append(value);
        } else if (value instanceof Map<?, ?> map) {
            checkDepth(path, depth);
            char before = '{';
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                if (!(entry.getKey() instanceof String key)) {
                    throw new IllegalArgumentException(
                            path + " has a key that is not a string: " + Words.quoteLine(String.valueOf(entry.getKey())));
                }
                out.append(before);
                appendString(out, key);
                out.append(':');
                append(out, entry.getValue(), path.isEmpty() ? key : path + "." + key, depth + 1);
                before = ',';
            }
            out.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof Collection<?> list) {
            checkDepth(path, depth);
            out.append('[');
            int at = 0;
            for (Object each : list) {
                out.append(at > 0 ? "," : "");
                append(out, each, path + "[" + at++ + "]", depth + 1);
            }
            out.append(']');
        } else if (value.getClass().isArray()) {
            List<Object> list = new ArrayList<>();
            for (int at = 0; at < Array.getLength(value); at++) {
                list.add(Array.get(value, at));
            }
            append(out, list, path, depth);
        } else {
            throw new IllegalArgumentException(path + " is a " + value.getClass().getName()
                    + ", which JSON cannot express; use maps, lists, strings, numbers, booleans and null");
        }
    }

    private static void checkDepth(String path, int depth) {
        if (depth >= MAX_DEPTH) {
            String shown = path.length() > 80 ? path.substring(0, 80) + "…" : path;
            throw new IllegalArgumentException(
                    shown + " is nested deeper than " + MAX_DEPTH + " levels; does it contain itself?");
        }
    }

    private static void appendString(StringBuilder out, String text) {
        out.append('"');
        for (int at = 0; at < text.length(); at++) {
            char c = text.charAt(at);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c >= ' ' && c < 0x7f) {
                out.append(c);
            } else if (c == '\n') {
                out.append("\\n");
            } else {
                out.append("\\u");
                for (int shift = 12; shift >= 0; shift -= 4) {
                    out.append(Character.forDigit(c >> shift & 0xf, 16));
                }
            }
        }
        out.append('"');
    }

    /** Reads one value from bytes, without a copy of the whole line: lines can be large. */
    private static final class Reader {
        private final byte[] line;
        private int at;

        Reader(byte[] line) {
            this.line = line;
        }

        Object read() throws SyntaxException {
            Object value = readValue(0);
            skipSpace();
            if (at < line.length) {
                throw new SyntaxException("more than one value", at);
            }
            return value;
        }

        private Object readValue(int depth) throws SyntaxException {
            skipSpace();
            switch (peek()) {
                case '{':
                    return readObject(depth);
                case '[':
                    return readArray(depth);
                case '"':
                    return readString();
                case 't':
                    return readWord("true", true);
                case 'f':
                    return readWord("false", false);
                case 'n':
                    return readWord("null", null);
                default:
                    return readNumber();
            }
        }

        private Object readObject(int depth) throws SyntaxException {
            enter(depth);
            Map<String, Object> members = new LinkedHashMap<>();
            skipSpace();
            if (peek() == '}') {
                at++;
                return Collections.unmodifiableMap(members);
            }
            while (true) {
                skipSpace();
                int began = at;
                String key = readString();
                if (members.containsKey(key)) {
                    throw new SyntaxException("a key that occurs twice", began);
                }
                skipSpace();
                expect(':');
                members.put(key, readValue(depth + 1));
                skipSpace();
                if (peek() != ',') {
                    expect('}');
                    return Collections.unmodifiableMap(members);
                }
                at++;
            }
        }

        private Object readArray(int depth) throws SyntaxException {
            enter(depth);
            List<Object> entries = new ArrayList<>();
            skipSpace();
            if (peek() == ']') {
                at++;
                return Collections.unmodifiableList(entries);
            }
            while (true) {
                entries.add(readValue(depth + 1));
                skipSpace();
                if (peek() != ',') {
                    expect(']');
                    return Collections.unmodifiableList(entries);
                }
                at++;
            }
        }

        private void enter(int depth) throws SyntaxException {
            if (depth >= MAX_DEPTH) {
                throw new SyntaxException("nested deeper than " + MAX_DEPTH + " levels", at);
            }
            at++;
        }

        private String readString() throws SyntaxException {
            expect('"');
            int began = at;
            boolean isPlain = true;
            while (peek() != '"') {
                if (line[at] >= 0 && line[at] < ' ') {
                    throw new SyntaxException("a control character in a string", at);
                }
                if (line[at] == '\\') {
                    isPlain = false;
                    at++;
                    peek();
                }
                at++;
            }
            int end = at++;
            return isPlain ? decode(began, end) : unescape(began, end);
        }

        private String unescape(int began, int end) throws SyntaxException {
            StringBuilder text = new StringBuilder();
            int plain = began;
            for (int from = began; from < end; from++) {
                if (line[from] != '\\') {
                    continue;
                }
                text.append(decode(plain, from));
                from++;
                int which = "\"\\/bfnrt".indexOf(line[from]);
                if (which >= 0) {
                    text.append("\"\\/\b\f\n\r\t".charAt(which));
                } else if (line[from] == 'u' && from + 4 < end) {
                    int code = 0;
                    for (int digit = 1; digit <= 4; digit++) {
                        int value = line[from + digit] < 0 ? -1 : Character.digit(line[from + digit], 16);
                        if (value < 0) {
                            throw new SyntaxException("an invalid escape", from);
                        }
                        code = code * 16 + value;
                    }
                    text.append((char) code);
                    from += 4;
                } else {
                    throw new SyntaxException("an invalid escape", from);
                }
                plain = from + 1;
            }
            return text.append(decode(plain, end)).toString();
        }

        private String decode(int began, int end) throws SyntaxException {
            try {
                // The decoder of a charset refuses invalid bytes; String's constructor replaces them.
                return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(line, began, end - began)).toString();
            } catch (CharacterCodingException error) {
                throw new SyntaxException("invalid UTF-8", began);
            }
        }

        private Object readWord(String word, Object value) throws SyntaxException {
            for (int each = 0; each < word.length(); each++) {
                if (at + each >= line.length || line[at + each] != word.charAt(each)) {
                    throw new SyntaxException("not JSON", at);
                }
            }
            at += word.length();
            return value;
        }

        private Object readNumber() throws SyntaxException {
            int began = at;
            at += peek() == '-' ? 1 : 0;
            if (peek() == '0') {
                at++;
            } else {
                readDigits();
            }
            boolean isInteger = true;
            if (at < line.length && line[at] == '.') {
                isInteger = false;
                at++;
                readDigits();
            }
            if (at < line.length && (line[at] == 'e' || line[at] == 'E')) {
                isInteger = false;
                at++;
                at += peek() == '+' || peek() == '-' ? 1 : 0;
                readDigits();
            }
            String text = new String(line, began, at - began, StandardCharsets.US_ASCII);
            if (!isInteger) {
                double value = Double.parseDouble(text);
                if (Double.isInfinite(value)) {
                    throw new SyntaxException("a number that no double holds", began);
                }
                return value;
            }
            if (text.length() > 18) {
                // The time that a BigInteger takes grows with the square of its length.
                if (text.length() > 4300) {
                    throw new SyntaxException("a number of more than 4300 digits", began);
                }
                BigInteger value = new BigInteger(text);
                return value.bitLength() < 64 ? (Object) value.longValueExact() : value;
            }
            long value = Long.parseLong(text);
            return value == (int) value ? (Object) (int) value : (Object) value;
        }

        private void readDigits() throws SyntaxException {
            int began = at;
            while (at < line.length && line[at] >= '0' && line[at] <= '9') {
                at++;
            }
            if (at == began) {
                throw new SyntaxException("not JSON", at);
            }
        }

        private int peek() throws SyntaxException {
            if (at >= line.length) {
                throw new SyntaxException("an end too early", at);
            }
            return line[at];
        }

        private void expect(char c) throws SyntaxException {
            if (peek() != c) {
                throw new SyntaxException("not JSON", at);
            }
            at++;
        }

        private void skipSpace() {
            while (at < line.length && isSpace(line[at])) {
                at++;
            }
        }
    }

    static boolean isSpace(byte c) {
        return c == ' ' || c == '\t' || c == '\r' || c == '\n';
    }
}

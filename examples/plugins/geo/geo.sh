#!/bin/sh
# A plugin that knows how far places are from each other, for any POSIX shell with awk.
#
# `near` is given a place {"lat": …, "lon": …} as actual and "LAT,LON,KM" as expected; the place
# is right when it lies within that many kilometres. geo.py and geo.mjs do the same.
#
# The shell reads the lines, because some awks read ahead and would wait for more of them. One
# awk answers one request. It first notes what stands at each path of the JSON, as it is written:
# value["params.actual.lat"] is 48.86, value["method"] is "near" with its quotes.

LC_ALL=C
export LC_ALL

# shellcheck disable=SC2016  # the dollar signs are for awk
program='
function look() { while (substr($0, at, 1) ~ /[ \t\r]/) at++; return substr($0, at, 1) }

function read_text(   from) {
    from = at++
    while (at <= length($0) && substr($0, at, 1) != "\"") at += substr($0, at, 1) == "\\" ? 2 : 1
    return substr($0, from, ++at - from)
}

function read_value(path,   from, key, count) {
    if (look() == "{" || look() == "[") {
        value[path] = look()
        at++
        while (at <= length($0) && look() !~ /[]}]/) {
            if (look() == ",") at++
            key = ++count
            if (value[path] == "{") { look(); key = read_text(); look(); at++ }
            gsub(/"/, "", key)
            read_value(path == "" ? key : path "." key)
        }
        at++
    } else if (look() == "\"") value[path] = read_text()
    else {
        from = at
        while (substr($0, at, 1) ~ /[-+.0-9A-Za-z]/) at++
        value[path] = substr($0, from, at - from)
        if (at == from) at++
    }
}

function is_number(text) { return text ~ /^-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?$/ }

function is_place(lat, lon) {
    return is_number(lat) && is_number(lon) && lat ^ 2 <= 90 ^ 2 && lon ^ 2 <= 180 ^ 2
}

# Along the great circle, by the haversine formula.
function distance_km(lat, lon, other_lat, other_lon,   degree, h) {
    degree = atan2(0, -1) / 180
    h = sin((other_lat - lat) * degree / 2) ^ 2
    h += cos(lat * degree) * cos(other_lat * degree) * sin((other_lon - lon) * degree / 2) ^ 2
    if (h > 1) h = 1
    return 2 * 6371 * atan2(sqrt(h), sqrt(1 - h))
}

function result(passes, message) {
    passes = passes ? "true" : "false"
    printf "{\"id\":%s,\"result\":{\"pass\":%s,\"message\":\"%s\"}}\n", value["id"], passes, message
}

function error(code, message) {
    printf "{\"id\":%s,\"error\":{\"code\":%d,\"message\":\"%s\"}}\n", value["id"], code, message
}

function near(   expected, is_text, is_right, part, lat, lon, away) {
    expected = value["params.expected"]
    is_text = gsub(/^" *| *"$/, "", expected)
    is_right = split(expected, part, / *, */) == 3 && is_place(part[1], part[2])
    if (!is_text || !is_right || !is_number(part[3]) || part[3] < 0) {
        error(-32602, "expected must be LAT,LON,KM, such as 48.85,2.35,10")
        return
    }
    lat = value["params.actual.lat"]
    lon = value["params.actual.lon"]
    if (!is_place(lat, lon)) {
        result(0, "this is no place: lat and lon are missing or wrong")
        return
    }
    away = distance_km(lat, lon, part[1], part[2])
    result(away <= part[3], sprintf("%.1f km away, %s km are allowed", away, part[3]))
}

{
    at = 1
    read_value("")
    method = substr(value["method"], 2, length(value["method"]) - 2)
    if (method == "near") near()
    else error(-32601, "there is no method " method)
}
'

while IFS= read -r line; do
    printf '%s\n' "$line" | awk "$program"
done

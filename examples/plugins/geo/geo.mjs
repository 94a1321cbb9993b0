// A plugin that knows how far places are from each other, for Node; no packages needed.
//
// `near` is given a place {"lat": …, "lon": …} as actual and "LAT,LON,KM" as expected; the place
// is right when it lies within that many kilometres. geo.py and geo.sh do the same.

import { createInterface } from "node:readline";

const EARTH_KM = 6371;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;
const NUMBER = " *(-?[0-9]+(?:\\.[0-9]+)?(?:[eE][-+]?[0-9]+)?) *";
const EXPECTED = new RegExp(`^${NUMBER},${NUMBER},${NUMBER}$`);

class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const isWithin = (degrees, most) => typeof degrees === "number" && Math.abs(degrees) <= most;
const isPlace = (lat, lon) => isWithin(lat, 90) && isWithin(lon, 180);

const radians = (degrees) => (degrees * Math.PI) / 180;

// Along the great circle, by the haversine formula.
function distanceKm(lat, lon, otherLat, otherLon) {
  const [a, b] = [radians(lat), radians(otherLat)];
  const [halfLat, halfLon] = [(b - a) / 2, radians(otherLon - lon) / 2];
  const h = Math.sin(halfLat) ** 2 + Math.cos(a) * Math.cos(b) * Math.sin(halfLon) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.sqrt(Math.min(1, h)));
}

function near(params) {
  const expected = params?.expected;
  const found = typeof expected === "string" ? EXPECTED.exec(expected) : null;
  const [lat, lon, km] = found ? found.slice(1).map(Number) : [0, 0, -1];
  if (!isPlace(lat, lon) || km < 0) {
    throw new Refused(INVALID_PARAMS, "expected must be LAT,LON,KM, such as 48.85,2.35,10");
  }
  const place = params.actual;
  if (!isPlace(place?.lat, place?.lon)) {
    return { pass: false, message: "this is no place: lat and lon are missing or wrong" };
  }
  const away = distanceKm(place.lat, place.lon, lat, lon);
  return { pass: away <= km, message: `${away.toFixed(1)} km away, ${found[3]} km are allowed` };
}

function answer({ id, method, params }) {
  try {
    if (method !== "near") throw new Refused(METHOD_NOT_FOUND, `there is no method ${method}`);
    return { id, result: near(params) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { id, error: { code: error.code, message: error.message } };
  }
}

// The process ends by itself when its input does.
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(answer(JSON.parse(line)))}\n`);
}

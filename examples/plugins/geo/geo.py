"""A plugin that knows how far places are from each other, in Python.

`near` is given a place {"lat": …, "lon": …} as actual and "LAT,LON,KM" as expected; the place
is right when it lies within that many kilometres. geo.mjs and geo.sh do the same.
"""

from __future__ import annotations

import json
import math
import re
import sys
from typing import Any

EARTH_KM = 6371.0
METHOD_NOT_FOUND, INVALID_PARAMS = -32601, -32602
NUMBER = r" *(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?) *"


class Refused(Exception):
    """A request that cannot be answered with a verdict."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def is_place(lat: Any, lon: Any) -> bool:
    are_numbers = type(lat) in (int, float) and type(lon) in (int, float)
    return are_numbers and abs(lat) <= 90 and abs(lon) <= 180


def distance_km(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Along the great circle, by the haversine formula."""
    a, b = math.radians(lat), math.radians(other_lat)
    half_lat, half_lon = (b - a) / 2, math.radians(other_lon - lon) / 2
    h = math.sin(half_lat) ** 2 + math.cos(a) * math.cos(b) * math.sin(half_lon) ** 2
    return 2 * EARTH_KM * math.asin(math.sqrt(min(1.0, h)))


def near(params: Any) -> dict[str, Any]:
    expected = params.get("expected") if isinstance(params, dict) else None
    found = re.fullmatch(",".join([NUMBER] * 3), expected) if isinstance(expected, str) else None
    lat, lon, km = map(float, found.groups()) if found else (0.0, 0.0, -1.0)
    if found is None or not is_place(lat, lon) or km < 0:
        raise Refused(INVALID_PARAMS, "expected must be LAT,LON,KM, such as 48.85,2.35,10")
    place = params.get("actual")
    if not isinstance(place, dict) or not is_place(place.get("lat"), place.get("lon")):
        return {"pass": False, "message": "this is no place: lat and lon are missing or wrong"}
    away = distance_km(place["lat"], place["lon"], lat, lon)
    return {"pass": away <= km, "message": f"{away:.1f} km away, {found[3]} km are allowed"}


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        reply: dict[str, Any] = {"id": request["id"]}
        try:
            if request["method"] != "near":
                raise Refused(METHOD_NOT_FOUND, f"there is no method {request['method']}")
            reply["result"] = near(request.get("params"))
        except Refused as refusal:
            reply["error"] = {"code": refusal.code, "message": str(refusal)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
